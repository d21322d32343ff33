"""Inverses and linear systems.

From A X = B follows Ȧ X + A Ẋ = Ḃ, so Ẋ = A⁻¹(Ḃ - Ȧ X): B̄ = A⁻ᴴ X̄ and Ā = -B̄ Xᴴ. The inverse is
the case B = 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules.linalg.matrices import adjoint, column, conj, row
from chainrules.linalg.triangular import solve_lower, solve_upper, triangle_of
from chainrules_core import Array, pair_rule, thunk


@pair_rule(np.linalg.inv, Array, lists=True)
def inv_rule(a):
    y = np.linalg.inv(a)

    def inv_pushforward(a_dot):
        return -np.matmul(np.matmul(y, a_dot), y)

    def inv_pullback(y_bar):
        yh = adjoint(y)
        return -np.matmul(np.matmul(yh, y_bar), yh)

    return y, inv_pushforward, inv_pullback


def solve_vectors(a: Any, b: Any) -> Any:
    """Solve for a stack of vectors (``solve`` takes an array of two axes for one matrix)."""
    if np.ndim(b) == 1 and triangle_of(a) is None:
        return np.linalg.solve(a, b)
    return solve_matrices(a, column(b))[..., 0]


def solve_matrices(a: Any, b: Any) -> Any:
    """Solve for stacks of matrices; a triangular system takes no factorisation."""
    triangle = triangle_of(a)
    if triangle is None or np.ndim(b) != 2:
        return np.linalg.solve(a, b)
    return (solve_lower if triangle == "lower" else solve_upper)(a, b)


def matvec(a: Any, x: Any) -> Any:
    """Matrix times vector, for stacks of both."""
    return np.matmul(a, column(x))[..., 0]


@pair_rule(np.linalg.solve, Array, Array, broadcasts=True, lists=True)
def solve_rule(a, b):
    y = np.linalg.solve(a, b)
    of_vector = np.ndim(b) == 1

    def solve_pushforward(a_dot, b_dot):
        if np.ndim(b) == 1:
            return solve_vectors(a, b_dot - matvec(a_dot, y))
        return solve_matrices(a, b_dot - np.matmul(a_dot, y))

    def solve_pullback(y_bar):
        if of_vector:
            b_bar = solve_vectors(adjoint(a), y_bar)
            return thunk(lambda: -column(b_bar) * row(conj(y))), b_bar
        b_bar = solve_matrices(adjoint(a), y_bar)
        return thunk(lambda: -np.matmul(b_bar, adjoint(y))), b_bar

    return y, solve_pushforward, solve_pullback


# -------------------------------------------------------------------------------- tensor equations


def as_matrix_equation(a: Any, b: Any, axes: Any) -> tuple[Any, Any, tuple[int, ...], list[int]]:
    """Return matrix, right side, shape of the solution, and how the axes of `a` were permuted."""
    order = list(range(np.ndim(a)))
    for axis in axes or ():
        order.remove(axis)
        order.append(axis)
    a = np.transpose(a, order)
    shape = np.shape(a)[np.ndim(b) :]
    n = math.prod(shape)
    return np.reshape(a, (n, n)), np.reshape(b, (n,)), shape, order


@pair_rule(np.linalg.tensorsolve, Array, Array, lists=True)
def tensorsolve_rule(a, b, *, axes=None):
    matrix, right, shape, order = as_matrix_equation(a, b, axes)
    x = np.linalg.solve(matrix, right)
    shape_a, shape_b = tuple([np.shape(a)[axis] for axis in order]), np.shape(b)

    def tensorsolve_pushforward(a_dot, b_dot):
        matrix_dot, right_dot, _, _ = as_matrix_equation(a_dot, b_dot, axes)
        x_dot = np.linalg.solve(matrix, right_dot - np.matmul(matrix_dot, x))
        return np.reshape(x_dot, shape)

    def tensorsolve_pullback(y_bar):
        right_bar = np.linalg.solve(adjoint(matrix), np.reshape(y_bar, np.shape(x)))

        def a_bar():
            matrix_bar = -column(right_bar) * conj(x)
            return np.transpose(np.reshape(matrix_bar, shape_a), np.argsort(order))

        return thunk(a_bar), np.reshape(right_bar, shape_b)

    return np.reshape(x, shape), tensorsolve_pushforward, tensorsolve_pullback


@pair_rule(np.linalg.tensorinv, Array, lists=True)
def tensorinv_rule(a, *, ind=2):
    y = np.linalg.tensorinv(a, ind)
    n = math.prod(np.shape(a)[ind:])
    shape = np.shape(a)

    def tensorinv_pushforward(a_dot):
        matrix = np.reshape(y, (n, n))
        y_dot = -np.matmul(np.matmul(matrix, np.reshape(a_dot, (n, n))), matrix)
        return np.reshape(y_dot, np.shape(y))

    def tensorinv_pullback(y_bar):
        yh = adjoint(np.reshape(y, (n, n)))
        a_bar = -np.matmul(np.matmul(yh, np.reshape(y_bar, (n, n))), yh)
        return np.reshape(a_bar, shape)

    return y, tensorinv_pushforward, tensorinv_pullback
