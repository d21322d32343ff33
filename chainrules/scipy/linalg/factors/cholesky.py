"""The Cholesky factor, and systems with it.

SciPy reads one triangle, by default the upper one, and the gradient is with respect to what
is read (see `chainrules.linalg.cholesky`, whose formulas these are). Up to SciPy 1.17
``cho_factor`` leaves the other triangle of its argument in place, and so it is a part of
the output like any other; later it is zero.

With A = L Lᴴ a system X = A⁻¹ B has B̄ = A⁻¹ X̄ and Ā = -B̄ Xᴴ, hence L̄ = (Ā + Āᴴ) L in
its triangle.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.cholesky import cholesky_adjoint, cholesky_tangent
from chainrules.linalg.matrices import adjoint, column
from chainrules.scipy.linalg.structure import strict, triangle
from chainrules_core import Array, NoTangent, Tangent, decompose, pair_rule, primitive, thunk
from chainrules_core.authoring import in_steps, is_foreign, part

KEEPS_OTHER = linalg.cho_factor(np.array([[1.0, 0.0], [0.5, 1.0]]))[0][1, 0] != 0.0
"""Whether this SciPy's ``cho_factor`` leaves the other triangle of its argument in place."""


def factor_adjoint(c: Any, c_bar: Any, lower: bool) -> Any:
    """The cotangent of what is read, from that of the factor."""
    if lower:
        return cholesky_adjoint(c, c_bar)
    return adjoint(cholesky_adjoint(adjoint(c), adjoint(c_bar)))


def factor_tangent(c: Any, a_dot: Any, lower: bool) -> Any:
    """The tangent of the factor, from that of the matrix."""
    if lower:
        return cholesky_tangent(c, a_dot)
    return adjoint(cholesky_tangent(adjoint(c), adjoint(a_dot)))


@pair_rule(linalg.cholesky, Array, lists=True)
def cholesky_rule(a, *, lower=False, overwrite_a=False, check_finite=True):
    y = linalg.cholesky(a, lower, check_finite=check_finite)

    def cholesky_pushforward(a_dot):
        return factor_tangent(y, a_dot, lower)

    def cholesky_pullback(y_bar):
        return factor_adjoint(y, y_bar, lower)

    return y, cholesky_pushforward, cholesky_pullback


@pair_rule(linalg.cho_factor, Array, lists=True)
def cho_factor_rule(a, *, lower=False, overwrite_a=False, check_finite=True):
    y = linalg.cho_factor(a, lower, check_finite=check_finite)

    def cho_factor_pushforward(a_dot):
        c_dot = factor_tangent(triangle(y[0], lower), a_dot, lower)
        if KEEPS_OTHER:
            c_dot = c_dot + strict(a_dot, not lower)
        return Tangent[type(y)](c_dot, NoTangent())

    def cho_factor_pullback(y_bar):
        c_bar = part(y_bar, 0)
        if c_bar is None:
            return np.zeros_like(a)
        # For plain finite numbers it does not matter what is in the other triangle.
        c, bar = y[0], c_bar
        if is_foreign(c) or is_foreign(bar) or not check_finite:
            c, bar = triangle(c, lower), triangle(bar, lower)
        in_triangle = np.tri(np.shape(a)[-1], dtype=bool)
        a_bar = factor_adjoint(c, bar, lower)
        other_bar = c_bar if KEEPS_OTHER else 0.0
        return np.where(in_triangle if lower else in_triangle.T, a_bar, other_bar)

    return y, cho_factor_pushforward, cho_factor_pullback


@primitive
def cho_solution(c: Any, b: Any, lower: bool) -> Any:
    """Solve with a factor; `b` is a matrix."""
    return linalg.cho_solve((c, lower), b)


@in_steps(cho_solution)
def cho_solution_in_steps(c: Any, b: Any, lower: bool) -> Any:
    first, second = (0, 2) if lower else (2, 0)
    x = linalg.solve_triangular(c, b, trans=first, lower=lower)
    return linalg.solve_triangular(c, x, trans=second, lower=lower)


@in_steps(linalg.cho_factor)
def cho_factor_in_steps(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    if np.ndim(a) != 2:
        return NotImplemented
    in_triangle = np.tri(np.shape(a)[-1], dtype=bool)
    factor = linalg.cholesky(a, lower, check_finite=check_finite)
    other = a if KEEPS_OTHER else 0.0
    return np.where(in_triangle if lower else in_triangle.T, factor, other), lower


@pair_rule(cho_solution, Array, Array, broadcasts=True)
def cho_solution_rule(c, b, *, lower):
    y = cho_solution(c, b, lower)

    def cho_solution_pushforward(c_dot, b_dot):
        factor, factor_dot = triangle(c, lower), triangle(c_dot, lower)
        if not lower:
            factor, factor_dot = adjoint(factor), adjoint(factor_dot)
        moved = np.matmul(factor_dot, np.matmul(adjoint(factor), y))
        moved = moved + np.matmul(factor, np.matmul(adjoint(factor_dot), y))
        return cho_solution(c, b_dot - moved, lower)

    def cho_solution_pullback(y_bar):
        b_bar = cho_solution(c, y_bar, lower)

        def c_bar():
            a_bar = -np.matmul(b_bar, adjoint(y))
            both, factor = a_bar + adjoint(a_bar), triangle(c, lower)
            return triangle(np.matmul(both, factor) if lower else np.matmul(factor, both), lower)

        return thunk(c_bar), b_bar

    return y, cho_solution_pushforward, cho_solution_pullback


@in_steps(linalg.cho_solve)
def cho_solve_in_steps(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    c, lower = c_and_lower
    if np.ndim(c) != 2:
        return NotImplemented
    return cho_solution_in_steps(np.asarray(c), np.asarray(b), bool(np.all(lower)))


@decompose(linalg.cho_solve)
def cho_solve_body(c_and_lower, b, overwrite_b=False, check_finite=True):
    c, lower = c_and_lower
    c, b, lower = np.asarray(c), np.asarray(b), bool(np.all(lower))
    if np.ndim(b) == 1:
        return cho_solution(c, column(b), lower)[..., 0]
    return cho_solution(c, b, lower)
