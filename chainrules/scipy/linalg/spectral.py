"""Eigenvalues and eigenvectors, by the formulas of `chainrules.linalg.spectral`.

Left vectors are the right ones of Aᴴ. The general problem A V = B V Λ is that of C = B⁻¹ A.
Its vectors have length one, but a phase of LAPACK's own: in reverse a gradient that depends
on it is declared as missing, forward it stands still.

The Hermitian one with B = L Lᴴ is that of C = L⁻¹ A L⁻ᴴ, V = L⁻ᴴ U (type 1), or of C = Lᴴ A
L with V = L⁻ᴴ U (type 2) or V = L U (type 3), as LAPACK solves it. One triangle is read of
A and of B. Of a part of the spectrum the vectors turn into all others as well; those are
computed when they are needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.cholesky import cholesky_adjoint
from chainrules.linalg.gaps import negligible, over_gaps, unequal
from chainrules.linalg.matrices import (
    adjoint,
    conj,
    diagonal,
    diagonal_matrix,
    half_triangle,
    hermitian as hermitian_part,
    row,
)
from chainrules.linalg.spectral import (
    column_scaled,
    general_adjoint,
    general_tangent,
    hermitian_adjoint,
    hermitian_tangent,
)
from chainrules.linalg.triangular import right_upper, solve_lower, solve_upper
from chainrules.scipy.linalg.structure import hermitian, onto_hermitian
from chainrules_core import (
    Array,
    NoTangent,
    NotImplementedTangent,
    Tangent,
    not_implemented,
    pair_rule,
)
from chainrules_core.authoring import part, parts

# ----------------------------------------------------------------------------------------- general

HOMOGENEOUS = "homogeneous eigenvalues have no rule: call with homogeneous_eigvals=False"
PENCIL = "the vectors of scipy.linalg.eig(a, b), or second derivatives of values, with a singular b"
PHASE = (
    "the loss depends on the phases that LAPACK gave to the vectors of scipy.linalg.eig(a, b): "
    "take their absolute values, or products that have no phase"
)


def free_adjoint(w: Any, v: Any, w_bar: Any, v_bar: Any) -> Any:
    """As `general_adjoint`, for vectors of length one whose phase is arbitrary."""
    if v_bar is None:
        return general_adjoint(w, v, w_bar, None)
    vh = adjoint(v)
    along = np.sum(conj(v) * v_bar, -2, keepdims=True)
    if np.iscomplexobj(v) and not np.all(negligible(1j * np.imag(along), v_bar)):
        return not_implemented(PHASE)
    n = np.matmul(vh, v_bar - v * np.real(along))
    inner = over_gaps(n, n, conj(w), unequal(w_bar))
    if w_bar is not None:
        inner = inner + diagonal_matrix(w_bar)
    return np.linalg.solve(vh, np.matmul(inner, vh))


def free_tangent(w: Any, v: Any, a_dot: Any) -> tuple[Any, Any]:
    """As `general_tangent`, for vectors of length one that do not turn their phase."""
    e = np.linalg.solve(v, np.matmul(a_dot, v))
    v_dot = np.matmul(v, over_gaps(e, e, w))
    return diagonal(e), v_dot - v * np.sum(conj(v) * v_dot, -2, keepdims=True)


def decomposed(a: Any, b: Any, left: bool, right: bool, options: dict) -> tuple:
    """What SciPy returns, values, and left and right vectors; of those one at least."""
    found = linalg.eig(a, b, left, right or not left, **options)
    w, *vectors = found
    vl = vectors[0] if left else None
    vr = vectors[-1] if right or not left else None
    if not left and not right:
        return w, w, vl, vr
    return found, w, vl, vr


def eig_cotangents(a: Any, b: Any, w: Any, vl: Any, vr: Any, bars: tuple) -> Any:
    """Ā, and B̄ if there is one."""
    w_bar, vl_bar, vr_bar = bars
    adjoint_of = general_adjoint if b is None else free_adjoint
    of_right = of_left = None
    if vr is not None and (w_bar is not None or vr_bar is not None):
        of_right = adjoint_of(w, vr, w_bar, vr_bar)
    if vl is not None and (vl_bar is not None or (vr is None and w_bar is not None)):
        wh_bar = conj(w_bar) if vr is None and w_bar is not None else None
        of_left = adjoint_of(conj(w), vl, wh_bar, vl_bar)
    for bar in (of_right, of_left):
        if isinstance(bar, NotImplementedTangent):
            return bar, bar
    a_bar: Any = 0
    b_bar: Any = 0
    if of_right is not None:
        a_bar = of_right if b is None else np.linalg.solve(adjoint(b), of_right)
        if b is not None:
            b_bar = -np.matmul(a_bar, adjoint(np.linalg.solve(b, a)))
    if of_left is not None:  # of B⁻ᴴ Aᴴ
        ah_bar = of_left if b is None else np.linalg.solve(b, of_left)
        a_bar = a_bar + adjoint(ah_bar)
        if b is not None:
            bh_bar = np.matmul(ah_bar, adjoint(np.linalg.solve(adjoint(b), adjoint(a))))
            b_bar = b_bar - adjoint(bh_bar)
    if of_right is None and of_left is None:
        return np.zeros_like(a), np.zeros_like(a)
    return a_bar, b_bar


def is_singular(b: Any) -> bool:
    """Whether B⁻¹ is beyond the precision: some eigenvalues of (A, B) are infinite."""
    return not np.linalg.cond(b) < 1 / np.finfo(np.asarray(b).dtype).eps


def values_of_singular_pencil(a: Any, b: Any) -> tuple:
    """λ̇ᵢ = uᵢᴴ (Ȧ - λᵢ Ḃ) vᵢ / uᵢᴴ B vᵢ, by left and right vectors; NaN for infinite ones."""
    w, u, v = linalg.eig(a, b, left=True, right=True)
    is_finite = np.isfinite(w)
    finite = np.where(is_finite, w, 0)
    scale = np.where(is_finite, np.sum(conj(u) * np.matmul(b, v), -2), 1)

    def values_pushforward(a_dot, b_dot):
        moved = [np.sum(conj(u) * np.matmul(dot, v), -2) for dot in (a_dot, b_dot)]
        return np.where(is_finite, (moved[0] - finite * moved[1]) / scale, np.nan)

    def values_pullback(w_bar):
        d = np.where(is_finite, w_bar / conj(scale), np.where(w_bar == 0, 0, np.nan))
        return np.matmul(u * row(d), adjoint(v)), -np.matmul(u * row(d * conj(finite)), adjoint(v))

    return w, values_pushforward, values_pullback


def singular_pencil(a: Any, b: Any, left: bool, right: bool, options: dict) -> tuple:
    """As `values_of_singular_pencil`, where vectors are returned too, which have no derivative."""
    y = linalg.eig(a, b, left, right, **options)
    w, push, pull = values_of_singular_pencil(a, b)
    if not left and not right:
        return w, push, pull
    missing = not_implemented(PENCIL)

    def pencil_pushforward(a_dot, b_dot):
        return Tangent[type(y)](push(a_dot, b_dot), *[missing] * (len(y) - 1))

    def pencil_pullback(y_bar):
        w_bar, *others = parts(y_bar, len(y))
        if any(bar is not None for bar in others):
            return missing, missing
        return (np.zeros_like(a), np.zeros_like(b)) if w_bar is None else pull(w_bar)

    return y, pencil_pushforward, pencil_pullback


@pair_rule(linalg.eig, Array, lists=True)
def eig_rule(
    a, b=None, *, left=False, right=True, overwrite_a=False, overwrite_b=False,
    check_finite=True, homogeneous_eigvals=False,
):  # fmt: skip
    options = {"check_finite": check_finite, "homogeneous_eigvals": homogeneous_eigvals}
    if b is not None and not homogeneous_eigvals and is_singular(b):
        return singular_pencil(a, b, left, right, options)
    y, w, vl, vr = decomposed(a, b, left, right, options)

    def eig_pushforward(a_dot, b_dot):
        if homogeneous_eigvals:
            missing = not_implemented(HOMOGENEOUS)
            return Tangent[type(y)](*[missing] * len(y)) if left or right else missing
        w_dot, vl_dot, vr_dot = eig_tangents(a, b, w, vl, vr, (a_dot, b_dot))
        if not left and not right:
            return w_dot
        return Tangent[type(y)](w_dot, *([vl_dot] if left else []), *([vr_dot] if right else []))

    def eig_pullback(y_bar):
        if homogeneous_eigvals:
            return not_implemented(HOMOGENEOUS), not_implemented(HOMOGENEOUS)
        if not left and not right:
            bars = (y_bar, None, None)
        else:
            vl_bar = part(y_bar, 1) if left else None
            bars = (part(y_bar, 0), vl_bar, part(y_bar, 1 + left) if right else None)
        a_bar, b_bar = eig_cotangents(a, b, w, vl, vr, bars)
        return a_bar, NoTangent() if b is None else b_bar

    return y, eig_pushforward, eig_pullback


def eig_tangents(a: Any, b: Any, w: Any, vl: Any, vr: Any, dots: tuple) -> tuple:
    """The tangents of the values, and of the left and right vectors."""
    a_dot, b_dot = dots
    if b is None:
        tangent, c_dot, ch_dot = general_tangent, a_dot, adjoint(a_dot)
    else:
        tangent = free_tangent
        c_dot = np.linalg.solve(b, a_dot - np.matmul(b_dot, np.linalg.solve(b, a)))
        bh, ah = adjoint(b), adjoint(a)
        moved = np.matmul(adjoint(b_dot), np.linalg.solve(bh, ah))
        ch_dot = np.linalg.solve(bh, adjoint(a_dot) - moved)
    w_dot = vl_dot = vr_dot = None
    if vl is not None:
        w_dot, vl_dot = tangent(conj(w), vl, ch_dot)
        w_dot = conj(w_dot)
    if vr is not None:
        w_dot, vr_dot = tangent(w, vr, c_dot)
    return w_dot + 0 * w, fitted(vl, vl_dot), fitted(vr, vr_dot)


def fitted(v: Any, v_dot: Any) -> Any:
    """Real where the vectors are: SciPy's eigenvalues are complex in any case."""
    return v_dot if v is None or np.iscomplexobj(v) else np.real(v_dot)


@pair_rule(linalg.eigvals, Array, lists=True)
def eigvals_rule(a, b=None, *, overwrite_a=False, check_finite=True, homogeneous_eigvals=False):
    return eig_rule(
        a, b, right=False, check_finite=check_finite, homogeneous_eigvals=homogeneous_eigvals
    )


# ------------------------------------------------------------------------- a part of the spectrum


def is_part(v: Any) -> bool:
    """Whether some of the vectors are missing."""
    return np.shape(v)[-1] < np.shape(v)[-2]


def completed(w: Any, v: Any, whole: Any) -> tuple[Any, Any, slice]:
    """All values and vectors, those that are known as they are, and where those stand."""
    m = np.shape(w)[-1]
    if not is_part(v):
        return w, v, slice(0, m)
    w_all, v_all = whole()
    start = int(np.argmin(np.abs(np.reshape(w_all, (-1, np.shape(w_all)[-1]))[0] - first_of(w))))
    w = np.concatenate([w_all[..., :start], w, w_all[..., start + m :]], -1)
    v = np.concatenate([v_all[..., :start], v, v_all[..., start + m :]], -1)
    return w, v, slice(start, start + m)


def first_of(w: Any) -> Any:
    return np.reshape(w, (-1, np.shape(w)[-1]))[0, 0]


def padded(x: Any, n: int, where: slice) -> Any:
    """The cotangent of all, from that of some."""
    if x is None or np.shape(x)[-1] == n:
        return x
    stack = np.shape(x)[:-1]
    before = np.zeros((*stack, where.start), x.dtype)
    after = np.zeros((*stack, n - where.stop), x.dtype)
    return np.concatenate([before, x, after], -1)


# --------------------------------------------------------------------------------------- Hermitian


class Hermitian:
    """A solved Hermitian eigenproblem: what both modes need of it."""

    def __init__(self, a: Any, b: Any, w: Any, v: Any, lower: bool, type: int) -> None:
        self.a, self.b, self.w, self.v, self.lower, self.type = a, b, w, v, lower, type
        self.real_row = 0 if lower else -1

    def whole(self) -> tuple[Any, Any]:
        """All values and vectors, as LAPACK gives them."""
        return linalg.eigh(self.a, self.b, lower=self.lower, type=self.type, check_finite=False)

    def all(self) -> tuple[Any, Any, slice]:
        """All of them, and where the known ones stand."""
        return completed(self.w, self.v, self.whole)

    def factor(self) -> Any:
        """L, of B."""
        c = linalg.cholesky(self.b, self.lower, check_finite=False)
        return c if self.lower else adjoint(c)

    def cotangents(self, w_bar: Any, v_bar: Any) -> Any:
        """Ā, and B̄ if there is one."""
        if np.size(self.w) == 0 or (w_bar is None and v_bar is None):
            zero = np.zeros_like(self.a)
            return zero, zero
        w, v, where = self.w, self.v, None
        if v_bar is not None:
            w, v, where = self.all()
            n = np.shape(w)[-1]
            w_bar, v_bar = padded(w_bar, n, where), padded(v_bar, n, where)
        if self.b is None:
            a_bar = hermitian_adjoint(w, v, w_bar, v_bar, self.real_row)
            return onto_hermitian(a_bar, self.lower), None
        return self._general_cotangents(w, v, w_bar, v_bar)

    def _general_cotangents(self, w: Any, v: Any, w_bar: Any, v_bar: Any) -> Any:
        factor = self.factor()
        upper = adjoint(factor)
        u = solve_lower(factor, v) if self.type == 3 else np.matmul(upper, v)
        u_bar = l_bar = None
        if v_bar is not None and self.type == 3:
            u_bar, l_bar = np.matmul(upper, v_bar), np.matmul(v_bar, adjoint(u))
        elif v_bar is not None:
            u_bar = solve_lower(factor, v_bar)
            l_bar = -np.matmul(v, adjoint(u_bar))
        c_bar = hermitian_part(hermitian_adjoint(w, u, w_bar, u_bar, self.real_row))
        # C C̄ and C̄ C, with C = U Λ Uᴴ
        if self.type == 1:
            a_bar = adjoint(solve_upper(upper, adjoint(solve_upper(upper, c_bar))))
            c_c = np.matmul(np.matmul(c_bar, u) * row(w), adjoint(u))
            moved = -2 * solve_upper(upper, c_c)
        else:
            a_bar = np.matmul(np.matmul(factor, c_bar), upper)
            c_c = np.matmul(u, column_scaled(w, np.matmul(adjoint(u), c_bar)))
            moved = 2 * solve_upper(upper, c_c)
        b_bar = cholesky_adjoint(factor, moved if l_bar is None else moved + l_bar)
        b_bar = b_bar if self.lower else adjoint(b_bar)
        return onto_hermitian(a_bar, self.lower), b_bar

    def tangents(self, a_dot: Any, b_dot: Any) -> tuple[Any, Any]:
        """The tangents of values and vectors."""
        w, v, where = self.all()
        a_dot = hermitian(a_dot, self.lower)
        if self.b is None:
            w_dot, v_dot = hermitian_tangent(w, v, a_dot, self.real_row)
            return w_dot[..., where], v_dot[..., where]
        factor = self.factor()
        upper = adjoint(factor)
        u = solve_lower(factor, v) if self.type == 3 else np.matmul(upper, v)
        c = np.matmul(u * row(w), adjoint(u))
        x = solve_lower(factor, hermitian(b_dot, self.lower))
        k = half_triangle(solve_lower(factor, adjoint(x)))  # L⁻¹ L̇
        kc = np.matmul(adjoint(k) if self.type != 1 else k, c)
        if self.type == 1:
            c_dot = right_upper(solve_lower(factor, a_dot), upper) - kc - adjoint(kc)
        else:
            c_dot = np.matmul(np.matmul(upper, a_dot), factor) + kc + adjoint(kc)
        w_dot, u_dot = hermitian_tangent(w, u, c_dot, self.real_row)
        if self.type == 3:
            v_dot = np.matmul(factor, np.matmul(k, u) + u_dot)
        else:
            v_dot = solve_upper(upper, u_dot - np.matmul(adjoint(k), u))
        return w_dot[..., where], v_dot[..., where]


@pair_rule(linalg.eigh, Array, lists=True)
def eigh_rule(
    a, b=None, *, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False, type=1,
    check_finite=True, subset_by_index=None, subset_by_value=None, driver=None,
):  # fmt: skip
    if np.size(a) == 0:
        return None
    y = linalg.eigh(
        a, b, lower=lower, type=type, check_finite=check_finite, subset_by_index=subset_by_index,
        subset_by_value=subset_by_value, driver=driver,
    )  # fmt: skip
    w, v = y

    def eigh_pushforward(a_dot, b_dot):
        if np.size(w) == 0:
            w_dot, v_dot = np.zeros_like(w), np.zeros_like(v)
        else:
            w_dot, v_dot = Hermitian(a, b, w, v, lower, type).tangents(a_dot, b_dot)
        return w_dot if eigvals_only else Tangent[_class(y)](w_dot, v_dot)

    def eigh_pullback(y_bar):
        bars = (y_bar, None) if eigvals_only else parts(y_bar, 2)
        a_bar, b_bar = Hermitian(a, b, w, v, lower, type).cotangents(*bars)
        return a_bar, NoTangent() if b is None else b_bar

    return w if eigvals_only else y, eigh_pushforward, eigh_pullback


_class = type  # `type` is an option of these functions


@pair_rule(linalg.eigvalsh, Array, lists=True)
def eigvalsh_rule(
    a, b=None, *, lower=True, overwrite_a=False, overwrite_b=False, type=1, check_finite=True,
    subset_by_index=None, subset_by_value=None, driver=None,
):  # fmt: skip
    return eigh_rule(
        a, b, lower=lower, eigvals_only=True, type=type, check_finite=check_finite,
        subset_by_index=subset_by_index, subset_by_value=subset_by_value, driver=driver,
    )  # fmt: skip
