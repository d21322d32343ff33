"""Determinants.

Jacobi: the derivative of det A is tr(adj(A) Ȧ), with adj(A) the adjugate, the transposed cofactors;
it is det(A) A⁻¹ where A is regular, and exists where it is not. So Ā = ȳ adj(A)ᴴ. For log|det A|
and the sign (or phase) s: Ā = (Re l̄ + i Im(conj(s) s̄)) A⁻ᴴ.

With singular values, A = U S Vᴴ and adj(A) = det(U Vᴴ) V adj(S) Uᴴ, where adj(S) has the products
of all but one singular value on its diagonal: that is exact at singular matrices too. The
derivative of the adjugate itself, for second derivatives, is tr(A⁻¹Ȧ) adj(A) - A⁻¹ Ȧ adj(A), or by
the singular values, with P_ij the product of all but s_i and s_j and E = Uᴴ Ȧ V: det(U Vᴴ) V M Uᴴ
with M_ij = -P_ij E_ij and M_ii = Σ_{j≠i} P_ij E_jj.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.linalg.matrices import adjoint, column, conj, diagonal, diagonal_matrix, row
from chainrules_core import Array, NoTangent, Tangent, non_differentiable, pair_rule, primitive
from chainrules_core.authoring import is_foreign, parts


@pair_rule(np.linalg.det, Array, lists=True)
def det_rule(a):
    lu = factored(a)
    y = np.linalg.det(a) if lu is None else lu.det()

    def det_pushforward(a_dot):
        return np.sum(conj(adjugate_adjoint(a, y, lu)) * a_dot, (-2, -1))

    def det_pullback(y_bar):
        return times(y_bar, adjugate_adjoint(a, y, lu))

    return y, det_pushforward, det_pullback


def adjugate_adjoint(a: Any, det: Any, lu: Factored | None) -> Any:
    """adj(A)ᴴ; with the factors of A at hand, adj(A) is det(A) A⁻¹."""
    inverse = None if lu is None else lu.inverse_adjoint()
    return adjoint(adjugate(a, det)) if inverse is None else times(conj(det), inverse)


def times(numbers: Any, matrices: Any) -> Any:
    """One number times each matrix."""
    if np.ndim(numbers) == 0:
        return numbers * matrices
    return matrices_of(numbers) * matrices


# ---------------------------------------------------------------------------------------- slogdet


def inverse_or_infinity(a: Any, sign: Any) -> Any:
    """A⁻¹; of singular matrices adj(A)/0: log|det A| falls without bound towards them."""
    singular = sign == 0
    if not (np.any(singular) if np.ndim(singular) else singular):
        return np.linalg.inv(a)
    singular = np.expand_dims(singular, (-2, -1))
    regular = np.where(singular, np.eye(np.shape(a)[-1]), a)
    cofactors = adjugate(a)
    infinite = np.where(cofactors == 0, 0, np.copysign(np.inf, np.real(cofactors)))
    return np.where(singular, infinite, np.linalg.inv(regular))


SlogdetResult = type(np.linalg.slogdet(np.eye(1)))


@pair_rule(np.linalg.slogdet, Array, lists=True)
def slogdet_rule(a):
    lu = factored(a)
    y = np.linalg.slogdet(a) if lu is None else SlogdetResult(*lu.slogdet())

    def slogdet_pushforward(a_dot):
        inverse = None if lu is None else lu.inverse_adjoint()
        transposed = inverse_or_infinity(a, y.sign).mT if inverse is None else conj(inverse)
        change = np.sum(transposed * a_dot, (-2, -1))
        log_dot = np.real(change)
        sign_dot = y.sign * (1j * np.imag(change) if np.iscomplexobj(a) else 0)
        return Tangent[type(y)](sign_dot, log_dot)

    def slogdet_pullback(y_bar):
        sign_bar, log_bar = parts(y_bar, 2)
        log_bar = 0 * np.real(y.sign) if log_bar is None else np.real(log_bar)
        if np.iscomplexobj(a) and sign_bar is not None:
            log_bar = log_bar + 1j * np.imag(conj(y.sign) * sign_bar)
        inverse = None if lu is None else lu.inverse_adjoint()
        if inverse is None:
            inverse = adjoint(inverse_or_infinity(a, y.sign))
        a_bar = times(log_bar, inverse)
        if np.ndim(y.sign) == 0 and y.sign != 0:
            return a_bar
        unused = np.equal(log_bar, 0) & np.equal(y.sign, 0)  # 0 times infinity is 0 here
        return np.where(np.expand_dims(unused, (-2, -1)), 0, a_bar) if np.any(unused) else a_bar

    return y, slogdet_pushforward, slogdet_pullback


# ---------------------------------------------------------------------------------------- adjugate


@primitive
def adjugate(a: Any, det: Any = None) -> Any:
    """The transposed matrix of cofactors, of singular matrices too; `det` is det(A), if known."""
    x = inverse_if_regular(a)
    if x is not None:
        return times(np.linalg.det(a) if det is None else det, x)
    u, s, vh = decomposed(a)
    return times(phase(u, vh), np.matmul(adjoint(vh) * row(products_without(s, 1)), adjoint(u)))


def decomposed(a: np.ndarray) -> tuple:
    """The singular value decompositions; NaN of what is not finite, for which LAPACK may hang."""
    is_finite = np.isfinite(a).all((-2, -1))
    if is_finite.all():
        return tuple(np.linalg.svd(a))
    u, s, vh = np.linalg.svd(np.where(matrices_of(is_finite), a, 0))
    unknown = np.where(is_finite, 0.0, np.nan).astype(s.dtype)
    return u + matrices_of(unknown), s + unknown[..., None], vh + matrices_of(unknown)


def matrices_of(numbers: np.ndarray) -> np.ndarray:
    """Numbers as matrices of one element."""
    return np.expand_dims(numbers, (-2, -1))


def inverse_if_regular(a: np.ndarray) -> np.ndarray | None:
    """The inverses; None if one of the matrices is singular or nearly so."""
    try:
        x = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return None
    return x if is_safe(a, x) else None


def largest(a: np.ndarray) -> Any:
    """The largest modulus in each matrix."""
    if np.iscomplexobj(a):
        return np.max(np.abs(a), (-2, -1), initial=0)
    return np.maximum(np.max(a, (-2, -1), initial=0), -np.min(a, (-2, -1), initial=0))


def is_safe(a: np.ndarray, x: np.ndarray) -> bool:
    """Whether the inverses x are good for more than half their digits."""
    limit = math.sqrt(np.finfo(x.dtype).eps)
    if a.ndim == 2:  # no element is larger than the square root of the sum of squares
        squares = float(np.vdot(a, a).real), float(np.vdot(x, x).real)
        if math.sqrt(squares[0]) * math.sqrt(squares[1]) * limit < 1:
            return True
    with np.errstate(all="ignore"):
        size = largest(a) * largest(x)
    return bool(np.all(size * limit < 1))


@primitive
def is_regular(a: Any) -> bool:
    """Whether the inverses of all matrices may be used."""
    return inverse_if_regular(a) is not None


non_differentiable(is_regular)


def phase(u: Any, vh: Any) -> Any:
    """det(U Vᴴ): of modulus one."""
    return np.linalg.det(np.matmul(u, vh))


def products_without(s: Any, omitted: int) -> Any:
    """The products of all s but each one, or (as matrix) all but each two; the diagonal is zero."""
    n = np.shape(s)[-1]
    eye = np.eye(n, dtype=bool)
    if omitted == 1:
        return np.prod(np.where(eye, 1, row(s)), -1)
    left_out = eye[:, None, :] | eye[None, :, :]
    return np.where(eye, 0, np.prod(np.where(left_out, 1, row(row(s))), -1))


def through_singular_values(s: Any, e: Any) -> Any:
    """M: the derivative of adj(S) in the direction E."""
    p = products_without(s, 2)
    on_diagonal = np.matmul(p, column(diagonal(e)))[..., 0]
    return diagonal_matrix(on_diagonal) - p * e


@pair_rule(adjugate, Array)
def adjugate_rule(a, det=None):
    y = adjugate(a, det)

    def adjugate_pushforward(a_dot, det_dot):
        if is_regular(a):
            x = np.linalg.inv(a)
            x_a_dot = np.matmul(x, a_dot)
            return times(np.trace(x_a_dot, 0, -2, -1), y) - np.matmul(x_a_dot, y)
        u, s, vh = decomposed(a)
        m = through_singular_values(s, np.matmul(np.matmul(adjoint(u), a_dot), adjoint(vh)))
        return times(phase(u, vh), np.matmul(np.matmul(adjoint(vh), m), adjoint(u)))

    def adjugate_pullback(y_bar):
        yh = adjoint(y)
        if is_regular(a):
            x_y_bar = np.matmul(adjoint(np.linalg.inv(a)), y_bar)
            a_bar = times(np.trace(x_y_bar, 0, -2, -1), yh) - np.matmul(x_y_bar, yh)
        else:
            u, s, vh = decomposed(a)
            m = through_singular_values(s, np.matmul(np.matmul(vh, y_bar), u))
            a_bar = times(conj(phase(u, vh)), np.matmul(np.matmul(u, m), vh))
        return a_bar, NoTangent()

    return y, adjugate_pushforward, adjugate_pullback


# ----------------------------------------------------------------------------- one factorisation

LARGE = 48
"""From this size on the factorisation is what a determinant costs."""


class Factored:
    """P A = L U of each matrix: what determinants are made of, and then the inverses.

    NumPy keeps its factorisation to itself, and the inverse would need another one. LAPACK inverts
    the factors in two thirds of the time that solving for all unit vectors takes.
    """

    def __init__(self, a: np.ndarray, getri: Callable, lwork: int, factors: list) -> None:
        self.a, self.getri, self.lwork = a, getri, lwork
        self.factors = factors  # of each matrix: L and U in one, and the pivots

    def slogdet(self) -> tuple[Any, Any]:
        """The sign, or phase, of the determinants, and the logarithms of their moduli."""
        d = np.stack([np.diagonal(lu) for lu, _ in self.factors])
        swaps = np.stack([pivots for _, pivots in self.factors]) != np.arange(d.shape[-1])
        size = np.abs(d)
        sign = np.prod(d / size, -1) * (-1) ** np.count_nonzero(swaps, -1)
        shape = self.a.shape[:-2]
        log = np.reshape(np.sum(np.log(size), -1), shape)
        return np.reshape(sign.astype(self.a.dtype), shape)[()], log[()]

    def det(self) -> Any:
        """The determinants."""
        sign, log = self.slogdet()
        return sign * np.exp(log)

    def inverse_adjoint(self) -> Any:
        """A⁻ᴴ; None if a matrix is nearly singular."""
        # LAPACK's matrices are stored by columns: their transposes are stacked without a detour.
        made = [self.getri(lu, pivots, lwork=self.lwork)[0].T for lu, pivots in self.factors]
        x = made[0] if self.a.ndim == 2 else np.reshape(np.stack(made), self.a.shape)
        return conj(x) if is_safe(self.a, x) else None


def factored(a: Any) -> Factored | None:
    """Factorise large regular matrices; None for all others, and for traced ones."""
    if is_foreign(a) or a.ndim < 2 or not LARGE <= a.shape[-1] == a.shape[-2] or not a.size:
        return None
    if a.dtype.char not in "fdFD":
        return None
    from scipy.linalg import get_lapack_funcs  # where it is needed: it takes a while to load

    getrf, getri, workspace = get_lapack_funcs(("getrf", "getri", "getri_lwork"), (a,))
    found = [getrf(one) for one in a.reshape(-1, *a.shape[-2:])]
    if any(info for _, _, info in found):
        return None
    lwork = int(np.real(workspace(a.shape[-1])[0]))
    return Factored(a, getri, lwork, [(lu, pivots) for lu, pivots, _ in found])
