"""Functions of matrices.

The derivative of f at A in the direction E is the upper right block of f([[A, E], [0, A]]);
its adjoint is the derivative of z → conj f(conj z) at Aᴴ (N. Higham, *Functions of
Matrices*, 2008, chapter 3). For the exponential SciPy has it as ``expm_frechet``. Two
functions solve equations instead:

    square root:  X Ẋ + Ẋ X = Ȧ;        sign:  N Ṡ + Ṡ N = Ȧ - S Ȧ S, where N = A S.

On the branch cut of a power or logarithm, the negative axis, for powers of singular matrices, and
for functions of which no more is known than what they are called with, A is diagonalised: with
A = V Λ V⁻¹ and E = V⁻¹ Ȧ V the derivative is V (F ∘ E) V⁻¹, F_ij = (f(λ_i) - f(λ_j))/(λ_i - λ_j),
or f' where eigenvalues coincide (Ju. Daleckii and M. Krein, 1965).

The trigonometric and hyperbolic functions are traced down to the exponential.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.gaps import coinciding, differences
from chainrules.linalg.matrices import adjoint, column, conj, diagonal, diagonal_matrix, real, row
from chainrules.scipy.delegated import both
from chainrules.scipy.linalg.equations import sylvester
from chainrules_core import (
    Array,
    HasForwardMode,
    HasReverseMode,
    NoTangent,
    Tangent,
    frule,
    frule_via_ad,
    non_differentiable,
    not_implemented,
    pair_rule,
    primitive,
    rrule,
    rrule_via_ad,
    thunk,
)
from chainrules_core.authoring import is_foreign, part


def block(a: Any, e: Any) -> Any:
    """[[A, E], [0, A]]."""
    above = np.concatenate([a, e], -1)
    return np.concatenate([above, np.concatenate([np.zeros_like(a), a], -1)], -2)


def frechet(f: Callable, a: Any, e: Any) -> Any:
    """The derivative of f at A in the direction E."""
    n = np.shape(a)[-1]
    return f(block(a, e))[..., :n, n:]


def as_real_as(y: Any, y_dot: Any) -> Any:
    """The real part, where the value was found to be real."""
    return y_dot if np.iscomplexobj(y) else real(y_dot)


# ---------------------------------------------------------------------------------- diagonalised

DEFECTIVE = (
    "the derivative of a function of a matrix without a basis of eigenvectors (or nearly so), on "
    "the negative axis for a power or logarithm, for a power of a singular matrix, or for "
    "scipy.linalg.funm"
)


@primitive
def is_hermitian(a: Any) -> bool:
    return bool(np.all(a == adjoint(a)))


@primitive
def is_defective(v: Any) -> bool:
    """Whether half the digits are lost by changing to this basis."""
    return bool(np.any(np.linalg.cond(v) * np.sqrt(np.finfo(v.dtype).eps) > 1))


@primitive
def is_on_cut(a: Any) -> bool:
    """Whether an eigenvalue is a negative number."""
    w = np.linalg.eigvals(a)
    tolerance = np.sqrt(np.finfo(w.dtype).eps)
    return bool(np.any((w.real < 0) & (np.abs(w.imag) <= tolerance * np.abs(w.real))))


@primitive
def is_singular(a: Any) -> bool:
    """Whether an eigenvalue is zero, up to rounding."""
    w = np.abs(np.linalg.eigvals(a))
    return bool(np.any(w <= 4 * w.shape[-1] * np.finfo(w.dtype).eps * np.max(w, -1, keepdims=True)))


for question in (is_hermitian, is_defective, is_on_cut, is_singular):
    non_differentiable(question)


def diagonalised(a: Any) -> tuple[Any, Any, Any]:
    """Λ, V and V⁻¹; traced, by ``eig``: changes of `a` need not keep it Hermitian."""
    if not is_foreign(a) and is_hermitian(a):
        w, v = np.linalg.eigh(a)
        return w, v, adjoint(v)
    w, v = np.linalg.eig(a)
    return w, v, np.linalg.inv(v)


def divided(w: Any, values: Any, slopes: Any) -> Any:
    """F: the divided differences of a function."""
    same = coinciding(w)
    quotient = differences(values) / np.where(same, 1, differences(w))
    return np.where(same, (row(slopes) + column(slopes)) / 2, quotient)


def along(v: Any, f: Any, inverse: Any, a_dot: Any) -> Any:
    """V (F ∘ V⁻¹ Ȧ V) V⁻¹."""
    e = np.matmul(np.matmul(inverse, a_dot), v)
    return np.matmul(np.matmul(v, f * e), inverse)


class OnCut:
    """The derivative of a function at a matrix with negative eigenvalues, of their values."""

    def __init__(self, a: Any, f: Callable, slope: Callable) -> None:
        w, self.v, self.inverse = diagonalised(a)
        z = w + 0j
        self.f = divided(w, f(z), slope(z))

    def tangent(self, a_dot: Any) -> Any:
        """The tangent of the function."""
        if is_defective(self.v):
            return not_implemented(DEFECTIVE)
        return along(self.v, self.f, self.inverse, a_dot)

    def cotangent(self, y_bar: Any) -> Any:
        """The cotangent of the matrix."""
        if is_defective(self.v):
            return not_implemented(DEFECTIVE)
        return along(adjoint(self.inverse), conj(self.f), adjoint(self.v), y_bar)


# ------------------------------------------------------------------------------- the exponential


def expm_derivative(a: Any, e: Any) -> Any:
    if np.ndim(a) == 2 and np.size(a):
        y_dot = linalg.expm_frechet(a, e, compute_expm=False, check_finite=False)
        return y_dot.astype(np.result_type(a, e), copy=False)  # it is made in double precision
    return frechet(linalg.expm, a, e)


@pair_rule(linalg.expm, Array, lists=True)
def expm_rule(A):
    def expm_pushforward(A_dot):
        return expm_derivative(A, A_dot)

    def expm_pullback(y_bar):
        return expm_derivative(adjoint(A), y_bar)

    return linalg.expm(A), expm_pushforward, expm_pullback


# --------------------------------------------------------------------- roots, signs, logarithms


def register_function(f: Callable, tangent: Callable, cotangent: Callable) -> None:
    """Register the rules of a function of one matrix, which may return an estimate of its error.

    ``tangent(a, y, a_dot)`` and ``cotangent(a, y, y_bar)`` are its derivative and the adjoint.
    """

    @pair_rule(f, Array, lists=True)
    def matrix_function_rule(A, **options):
        y = f(A, **options)
        several = isinstance(y, (tuple, list))

        def matrix_function_pushforward(A_dot):
            if not isinstance(y, (tuple, list)):
                return as_real_as(y, tangent(A, y, A_dot))
            y_dot = as_real_as(y[0], tangent(A, y[0], A_dot))
            return Tangent[type(y)](y_dot, NoTangent())

        def matrix_function_pullback(y_bar):
            bar = part(y_bar, 0) if several else y_bar
            if bar is None:
                return np.zeros_like(A)
            return cotangent(A, y[0] if several else y, bar)

        return y, matrix_function_pushforward, matrix_function_pullback


VERTICAL = "the square root of a singular matrix, whose slope is infinite"


def sqrtm_tangent(a: Any, y: Any, a_dot: Any) -> Any:
    if is_singular(a):
        return not_implemented(VERTICAL)
    return sylvester(y, y, a_dot)


def sqrtm_cotangent(a: Any, y: Any, y_bar: Any) -> Any:
    if is_singular(a):
        return not_implemented(VERTICAL)
    yh = adjoint(y)
    return sylvester(yh, yh, y_bar)


UNSIGNED = "the sign of a singular matrix, which jumps"


def signm_tangent(a: Any, y: Any, a_dot: Any) -> Any:
    if is_singular(a):
        return not_implemented(UNSIGNED)
    n = np.matmul(a, y)
    return sylvester(n, n, a_dot - np.matmul(np.matmul(y, a_dot), y))


def signm_cotangent(a: Any, y: Any, y_bar: Any) -> Any:
    if is_singular(a):
        return not_implemented(UNSIGNED)
    n, yh = adjoint(np.matmul(a, y)), adjoint(y)
    x = sylvester(n, n, y_bar)
    return x - np.matmul(np.matmul(yh, x), yh)


def log_on_cut(a: Any) -> OnCut:
    return OnCut(a, np.log, lambda z: 1 / z)


def logm_tangent(a: Any, y: Any, a_dot: Any) -> Any:
    if np.iscomplexobj(y) and is_on_cut(a):
        return log_on_cut(a).tangent(a_dot)
    return frechet(linalg.logm, a, a_dot)


def logm_cotangent(a: Any, y: Any, y_bar: Any) -> Any:
    if np.iscomplexobj(y) and is_on_cut(a):
        return log_on_cut(a).cotangent(y_bar)
    return frechet(linalg.logm, adjoint(a), y_bar)


register_function(linalg.sqrtm, sqrtm_tangent, sqrtm_cotangent)
register_function(linalg.signm, signm_tangent, signm_cotangent)
register_function(linalg.logm, logm_tangent, logm_cotangent)


# --------------------------------------------------------------------------------------- powers


def needs_eigenvalues(a: Any, y: Any) -> bool:
    """Whether the block matrix has no power, or none with the derivative in it."""
    return (np.iscomplexobj(y) and is_on_cut(a)) or is_singular(a)


def power_on_cut(a: Any, t: Any) -> OnCut:
    return OnCut(a, lambda z: z**t, lambda z: t * z ** (t - 1))


def by_power(t: Any) -> Callable:
    return lambda a: linalg.fractional_matrix_power(a, t)


@pair_rule(linalg.fractional_matrix_power, Array, lists=True)
def fractional_matrix_power_rule(A, t):
    y = linalg.fractional_matrix_power(A, t)

    def fractional_matrix_power_pushforward(a_dot, t_dot):
        if needs_eigenvalues(A, y):
            y_dot = power_on_cut(A, t).tangent(a_dot)
        else:
            y_dot = frechet(by_power(t), A, a_dot)
        if not isinstance(t_dot, NoTangent) and np.any(t_dot != 0):
            y_dot = y_dot + t_dot * np.matmul(linalg.logm(A), y)
        return as_real_as(y, y_dot)

    def fractional_matrix_power_pullback(y_bar):
        def a_bar():
            if needs_eigenvalues(A, y):
                return power_on_cut(A, t).cotangent(y_bar)
            return frechet(by_power(t), adjoint(A), y_bar)

        return thunk(a_bar), thunk(lambda: np.sum(real(conj(np.matmul(linalg.logm(A), y)) * y_bar)))

    return y, fractional_matrix_power_pushforward, fractional_matrix_power_pullback


# ------------------------------------------------------------------------------ any function


def off_diagonal(x: Any) -> Any:
    return np.where(np.eye(np.shape(x)[-1], dtype=bool), 0, x)


def parts(A: Any) -> tuple[Any, Any, Any]:
    """Λ (complex, as ``funm`` has it), V and V⁻¹."""
    w, v, inverse = diagonalised(A)
    return w + 0j, v, inverse


def funm_rrule(config, A, func, *, disp=True):
    if np.ndim(A) != 2:
        return None
    y = linalg.funm(A, func, disp)

    def funm_pullback(y_bar):
        bar = y_bar if disp else part(y_bar, 0)
        if bar is None:
            return np.zeros_like(A), NoTangent()
        w, v, inverse = parts(A)
        if is_defective(v):
            return not_implemented(DEFECTIVE), not_implemented(DEFECTIVE)
        values, pull = rrule_via_ad(config, func, w)
        slopes = conj(pull(np.ones_like(values))[1] + 0 * w)
        m = np.matmul(np.matmul(adjoint(v), bar), adjoint(inverse))
        func_bar, w_bar = pull(as_real_as(values, diagonal(m)))
        inner = conj(off_diagonal(divided(w, values, slopes))) * m
        inner = inner + diagonal_matrix(w_bar + 0 * w)
        return np.matmul(np.matmul(adjoint(inverse), inner), adjoint(v)), func_bar

    return y, funm_pullback


def funm_frule(config, dots, A, func, *, disp=True):
    if np.ndim(A) != 2:
        return None
    a_dot, func_dot = dots
    y = linalg.funm(A, func, disp)
    w, v, inverse = parts(A)
    if is_defective(v):
        y_dot = not_implemented(DEFECTIVE)
    else:
        values, slopes = frule_via_ad(config, (NoTangent(), np.ones_like(w)), func, w)
        e = np.matmul(np.matmul(inverse, a_dot), v)
        _, moved = frule_via_ad(config, (func_dot, diagonal(e) + 0 * w), func, w)
        inner = off_diagonal(divided(w, values, slopes + 0 * w)) * e
        inner = inner + diagonal_matrix(moved + 0 * w)
        y_dot = as_real_as(y if disp else y[0], np.matmul(np.matmul(v, inner), inverse))
    return y, y_dot if disp else Tangent[tuple](y_dot, NoTangent())


for _funm in both(linalg.funm):
    rrule.register(_funm, Array, Callable, requires={HasReverseMode})(funm_rrule)
    frule.register(_funm, Array, Callable, requires={HasForwardMode})(funm_frule)
