"""Pseudoinverse and least squares.

While its rank stays what it is, the pseudoinverse Y of A has the derivative

    Ẏ = -Y Ȧ Y + Y Yᴴ Ȧᴴ (1 - A Y) + (1 - Y A) Ȧᴴ Yᴴ Y

(G. Golub and V. Pereyra, *The differentiation of pseudo-inverses and nonlinear least squares
problems*, 1973), and least squares X = Y B follow from it, those of least norm included:

    Ẋ = Y (Ḃ - Ȧ X) + Y Yᴴ Ȧᴴ (B - A X) + (1 - Y A) Ȧᴴ Yᴴ X.

The products are ordered so that nothing larger than A itself is made.

That is for a rank that A has up to rounding. Where a tolerance cuts off more, Y is V f(S) Uᴴ of
A = U S Vᴴ, with f(s) = 1/s for the kept values, and 0 for the others, which stay cut off. Then
Vᴴ Ẏ U = α ∘ E + β ∘ Eᴴ with E = Uᴴ Ȧ V. For kept i and j it is α_ij = -1/s_i s_j and β_ij = 0; for
a kept one k and a cut one c, in either order, β = 1/(s_k² - s_c²) and α = β s_c / s_k; for two cut
ones both are 0. No gaps but that between the kept values and the others count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.linalg.gaps import negligible
from chainrules.linalg.matrices import (
    adjoint,
    column,
    completed,
    conj,
    onto_triangle,
    real,
    row,
)
from chainrules.linalg.singular import values_adjoint, values_tangent
from chainrules.linalg.triangular import solve_lower, solve_upper
from chainrules_core import (
    Array,
    NoTangent,
    Tangent,
    ZeroTangent,
    non_differentiable,
    pair_rule,
    primitive,
)
from chainrules_core.authoring import NO_VALUE, parts

# -------------------------------------------------------------------------------------------- pinv


@pair_rule(np.linalg.pinv, Array, lists=True)
def pinv_rule(a, *, rcond=None, hermitian=False, rtol=NO_VALUE):
    y = np.linalg.pinv(a, rcond, hermitian, rtol=rtol)

    def pinv_pushforward(a_dot):
        return (
            pinv_tangent(completed(a), y, completed(a_dot))
            if hermitian
            else pinv_tangent(a, y, a_dot)
        )

    def pinv_pullback(y_bar):
        a_bar = pinv_adjoint(completed(a) if hermitian else a, y, y_bar)
        return onto_triangle(a_bar) if hermitian else a_bar

    return y, pinv_pushforward, pinv_pullback


@primitive
def cuts(a: Any, y: Any) -> bool:
    """Whether Y is the pseudoinverse of less than A, by more than rounding."""
    rest = a - np.matmul(np.matmul(a, y), a)
    return not np.all(negligible(rest, a))


@primitive
def kept_values(a: Any, y: Any) -> Any:
    """Which singular values Y inverts."""
    rank = np.rint(np.real(np.trace(np.matmul(a, y), axis1=-2, axis2=-1)))
    return np.arange(min(np.shape(a)[-2:])) < np.expand_dims(rank, -1)


for question in (cuts, kept_values):
    non_differentiable(question)


class CutOff:
    """A pseudoinverse of some of the singular values: α and β, and what lies outside of U and V."""

    def __init__(self, a: Any, y: Any) -> None:
        self.y, self.kept = y, kept_values(a, y)
        self.u, s, vh = np.linalg.svd(a, full_matrices=False)
        self.v = adjoint(vh)
        both = column(self.kept) & row(self.kept)
        one = column(self.kept) != row(self.kept)
        large = np.where(self.kept, s, 1)
        mixed = column(self.kept) & one
        k, c = np.where(mixed, column(s), row(s)), np.where(mixed, row(s), column(s))
        self.beta = np.where(one, 1 / np.where(one, k * k - c * c, 1), 0)
        inverse = -1 / (column(large) * row(large))
        self.alpha = np.where(both, inverse, self.beta * c / np.where(one, k, 1))

    def outside(self, x: Any, basis: Any) -> Any:
        """What of the columns of `x` is not in a space."""
        return x - np.matmul(basis, np.matmul(adjoint(basis), x))

    def tangent(self, a_dot: Any) -> Any:
        """The tangent of Y."""
        u, v, y, yh = self.u, self.v, self.y, adjoint(self.y)
        ah_dot = adjoint(a_dot)
        e = np.matmul(np.matmul(adjoint(u), a_dot), v)
        inside = np.matmul(np.matmul(v, self.alpha * e + self.beta * adjoint(e)), adjoint(u))
        beyond_u = np.matmul(np.matmul(y, yh), adjoint(self.outside(a_dot, u)))
        return inside + beyond_u + np.matmul(self.outside(ah_dot, v), np.matmul(yh, y))

    def cotangent(self, y_bar: Any) -> Any:
        """The cotangent of A."""
        u, v, y, yh = self.u, self.v, self.y, adjoint(self.y)
        k = np.matmul(np.matmul(adjoint(v), y_bar), u)
        inside = np.matmul(np.matmul(u, self.alpha * k + self.beta * adjoint(k)), adjoint(v))
        beyond_u = np.matmul(self.outside(adjoint(y_bar), u), np.matmul(y, yh))
        return inside + beyond_u + np.matmul(np.matmul(yh, y), adjoint(self.outside(y_bar, v)))


def pinv_tangent(a: Any, y: Any, a_dot: Any) -> Any:
    """-YȦY + YYᴴȦᴴ(1 - AY) + (1 - YA)ȦᴴYᴴY."""
    if cuts(a, y):
        return CutOff(a, y).tangent(a_dot)
    yh, ah_dot = adjoint(y), adjoint(a_dot)
    if np.shape(a)[-2] >= np.shape(a)[-1]:
        g, h = np.matmul(np.matmul(y, yh), ah_dot), np.matmul(y, a_dot)
        inner = adjoint(h) - h - np.matmul(g, a) - np.matmul(np.matmul(y, a), adjoint(h))
        return g + np.matmul(inner, y)
    g, h = np.matmul(ah_dot, np.matmul(yh, y)), np.matmul(a_dot, y)
    inner = adjoint(h) - h - np.matmul(a, g) - np.matmul(adjoint(h), np.matmul(a, y))
    return g + np.matmul(y, inner)


def pinv_adjoint(a: Any, y: Any, y_bar: Any) -> Any:
    """-YᴴȲYᴴ + YᴴY(Ȳᴴ - ȲᴴYA) + (1 - AY)ȲᴴYYᴴ."""
    if cuts(a, y):
        return CutOff(a, y).cotangent(y_bar)
    yh, yh_bar = adjoint(y), adjoint(y_bar)
    if np.shape(a)[-2] >= np.shape(a)[-1]:
        g = np.matmul(y, yh_bar)
        inner = g - np.matmul(g, np.matmul(y, a)) - adjoint(g)
        return np.matmul(yh, inner) + np.matmul(yh_bar - np.matmul(a, g), np.matmul(y, yh))
    g = np.matmul(yh_bar, y)
    inner = g - np.matmul(np.matmul(a, y), g) - adjoint(g)
    return np.matmul(inner, yh) + np.matmul(np.matmul(yh, y), yh_bar - np.matmul(g, a))


# ------------------------------------------------------------------------------------------- lstsq


class PseudoInverse:
    """The pseudoinverse Y of A as ``lstsq`` has it, and its adjoint, as linear maps.

    At full rank by a QR factorisation of A or, if it is wide, of Aᴴ.
    """

    def __init__(self, a: Any, rank: int, rcond: Any) -> None:
        m, n = np.shape(a)
        self.is_tall = m >= n
        self.is_full = rank == min(m, n)
        if self.is_full:
            self.q, self.r = np.linalg.qr(a if self.is_tall else adjoint(a))
        else:
            if rcond is None or rcond < 0:
                rcond = np.finfo(float).eps * (max(m, n) if rcond is None else 1)
            self.y = np.linalg.pinv(a, rcond)

    def cuts(self, a: Any) -> bool:
        """Whether singular values were cut off that are not zero."""
        return not self.is_full and cuts(a, self.y)

    def times(self, x: Any) -> Any:
        """Y X."""
        if not self.is_full:
            return np.matmul(self.y, x)
        return self._inverse_r_qh(x) if self.is_tall else self._q_inverse_rh(x)

    def adjoint_times(self, x: Any) -> Any:
        """Yᴴ X."""
        if not self.is_full:
            return np.matmul(adjoint(self.y), x)
        return self._q_inverse_rh(x) if self.is_tall else self._inverse_r_qh(x)

    def singular_values_adjoint(self, a: Any, s_bar: Any) -> Any:
        """Ā for the singular values of A: those of R, which has fewer rows."""
        if not self.is_full:
            return values_adjoint(*np.linalg.svd(a, full_matrices=False), s_bar)
        bar = np.matmul(self.q, values_adjoint(*np.linalg.svd(self.r), s_bar))
        return bar if self.is_tall else adjoint(bar)

    def _inverse_r_qh(self, x: Any) -> Any:
        return solve_upper(self.r, np.matmul(adjoint(self.q), x))

    def _q_inverse_rh(self, x: Any) -> Any:
        return np.matmul(self.q, solve_lower(adjoint(self.r), x))


def as_columns(x: Any) -> Any:
    return column(x) if np.ndim(x) == 1 else x


@pair_rule(np.linalg.lstsq, Array, Array, lists=True)
def lstsq_rule(a, b, *, rcond=None):
    fit = np.linalg.lstsq(a, b, rcond)
    x, residuals, rank, _ = fit
    x = as_columns(x)

    def lstsq_pushforward(a_dot, b_dot):
        y = PseudoInverse(a, rank, rcond)
        x_dot, squares_dot = solution_tangents(a, b, x, y, a_dot, b_dot)
        s_dot = values_tangent(*np.linalg.svd(a, full_matrices=False), a_dot)
        residuals_dot = squares_dot if np.size(residuals) else residuals
        return Tangent[tuple](
            np.reshape(x_dot, np.shape(fit[0])), residuals_dot, NoTangent(), s_dot
        )

    def lstsq_pullback(y_bar):
        return solution_cotangents(fit, a, b, lambda: PseudoInverse(a, rank, rcond), y_bar)

    return fit, lstsq_pushforward, lstsq_pullback


def solution_tangents(
    a: Any, b: Any, x: Any, y: PseudoInverse, a_dot: Any, b_dot: Any
) -> tuple[Any, Any]:
    """Ẋ, and the tangents of the sums of squares of B - A X."""
    if y.cuts(a):
        b, b_dot = as_columns(b), as_columns(b_dot)
        return np.matmul(pinv_tangent(a, y.y, a_dot), b) + y.times(b_dot), np.zeros(0)
    ah_dot = adjoint(a_dot)
    rest = as_columns(b) - np.matmul(a, x)
    moved = as_columns(b_dot) - np.matmul(a_dot, x)
    bent = np.matmul(ah_dot, y.adjoint_times(x))
    inner = moved + y.adjoint_times(np.matmul(ah_dot, rest)) - np.matmul(a, bent)
    return bent + y.times(inner), 2 * np.sum(real(conj(rest) * moved), 0)


def solution_cotangents(
    fit: tuple, a: Any, b: Any, pseudoinverse: Callable, y_bar: Any
) -> tuple[Any, Any]:
    """Ā and B̄ from those of the solution, the sums of squares and the singular values."""
    x, residuals, rank, _ = fit
    x = as_columns(x)
    x_bar, residuals_bar, _, s_bar = parts(y_bar, 4)
    a_bar = b_bar = ZeroTangent()
    rest = as_columns(b) - np.matmul(a, x)
    y: Any = pseudoinverse() if x_bar is not None or s_bar is not None else None
    if x_bar is not None:
        x_bar = as_columns(x_bar)
        b_bar = y.adjoint_times(x_bar)
    if x_bar is not None and y.cuts(a):
        a_bar = pinv_adjoint(a, y.y, np.matmul(x_bar, adjoint(as_columns(b))))
    elif x_bar is not None:
        a_bar = np.matmul(rest, adjoint(y.times(b_bar))) - np.matmul(b_bar, adjoint(x))
        if rank < np.shape(a)[1]:  # else the last factor is zero
            left = x_bar - np.matmul(adjoint(a), b_bar)
            a_bar = a_bar + np.matmul(y.adjoint_times(x), adjoint(left))
    if residuals_bar is not None and np.size(residuals):
        rest_bar = 2 * real(residuals_bar) * rest
        b_bar = b_bar + rest_bar
        a_bar = a_bar - np.matmul(rest_bar, adjoint(x))
    if s_bar is not None:
        a_bar = a_bar + y.singular_values_adjoint(a, s_bar)
    return a_bar, b_bar if isinstance(b_bar, ZeroTangent) else np.reshape(b_bar, np.shape(b))
