"""Toeplitz matrices, by their first columns and rows.

A system with one has the cotangents of any system, M̄ = -B̄ Xᴴ, summed along the diagonals.
The adjoint of a Toeplitz matrix is one again. Products with them are traced: they are made
by Fourier transforms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.matrices import adjoint, column, conj
from chainrules.scipy.delegated import register_body
from chainrules_core import Array, decompose, frule, rrule, thunk
from chainrules_core.define import primitive


def at(values: Any, places: Any) -> Any:
    """The matrices with these elements of stacks of vectors."""
    return values[..., places]


def vector(x: Any) -> Any:
    """A flat array: SciPy flattens columns and rows where it does not take stacks."""
    x = np.asarray(x)
    return x if np.ndim(x) > 0 else np.reshape(x, (1,))


def first_row(c: Any, r: Any) -> Any:
    """The first row that goes with the first column `c`, if none is given."""
    return conj(c) if r is None else vector(r)


def differences(m: int, n: int) -> Any:
    """I - j, for the elements of a matrix."""
    return np.arange(m)[:, None] - np.arange(n)


def in_stacks(c: Any, r: Any) -> tuple[Any, Any]:
    """Column and row with the same stack before them; where there is none, flat."""
    if np.ndim(c) == np.ndim(r) == 1:
        return c, r
    stack = np.broadcast_shapes(np.shape(c)[:-1], np.shape(r)[:-1])
    return (
        np.broadcast_to(c, (*stack, np.shape(c)[-1])),
        np.broadcast_to(r, (*stack, np.shape(r)[-1])),
    )


@register_body(linalg.toeplitz)
def toeplitz_body(c, r=None):
    c = vector(c)
    c, r = in_stacks(c, first_row(c, r))
    m, n = np.shape(c)[-1], np.shape(r)[-1]
    values = np.concatenate([r[..., :0:-1], c], -1)
    return at(values, differences(m, n) + n - 1)


@register_body(linalg.hankel)
def hankel_body(c, r=None):
    c = np.ravel(np.asarray(c))
    r = np.zeros_like(c) if r is None else np.ravel(np.asarray(r))
    m, n = np.shape(c)[0], np.shape(r)[0]
    values = np.concatenate([c, r[1:]])
    return at(values, np.arange(m)[:, None] + np.arange(n))


@register_body(linalg.circulant)
def circulant_body(c):
    c = vector(c)
    n = np.shape(c)[-1]
    return at(c, differences(n, n) % max(n, 1))


# ---------------------------------------------------------------------------------------- systems


def diagonal_sums(x: Any) -> Any:
    """The sums along the diagonals of square matrices, from the lower left corner on."""
    n = np.shape(x)[-1]
    stack = np.shape(x)[:-2]
    wide = np.concatenate([x, np.zeros_like(x)], -1)[..., ::-1, :]
    skewed = np.reshape(wide, (*stack, 2 * n * n))[..., : n * (2 * n - 1)]
    return np.sum(np.reshape(skewed, (*stack, n, 2 * n - 1)), -2)


@primitive
def toeplitz_solution(c: Any, r: Any, b: Any) -> Any:
    """T⁻¹ B, for one matrix; `b` is a matrix."""
    return linalg.solve_toeplitz((c, r), b, check_finite=False)


def transposed_pair(c: Any, r: Any) -> tuple[Any, Any]:
    """First column and row of the adjoint; the first element is that of the column."""
    return conj(np.concatenate([c[:1], r[1:]])), conj(c)


@rrule.register(toeplitz_solution, Array, Array, Array)
def toeplitz_solution_rrule(c, r, b):
    y = toeplitz_solution(c, r, b)

    def toeplitz_solution_pullback(y_bar):
        b_bar = toeplitz_solution(*transposed_pair(c, r), y_bar)
        n = np.shape(c)[0]

        def sums():
            return diagonal_sums(-np.matmul(b_bar, adjoint(y)))

        def c_bar():
            return sums()[n - 1 :: -1]

        def r_bar():
            sums_of = sums()[n - 1 :]
            return np.concatenate([np.zeros_like(sums_of[:1]), sums_of[1:]])

        return thunk(c_bar), thunk(r_bar), b_bar

    return y, toeplitz_solution_pullback


@frule.register(toeplitz_solution, Array, Array, Array)
def toeplitz_solution_frule(dots, c, r, b):
    c_dot, r_dot, b_dot = dots
    y = toeplitz_solution(c, r, b)
    moved = np.matmul(linalg.toeplitz(c_dot, r_dot), y)
    return y, toeplitz_solution(c, r, b_dot - moved)


@decompose(linalg.solve_toeplitz)
def solve_toeplitz_body(c_or_cr, b, check_finite=True):
    if isinstance(c_or_cr, tuple):
        c, r = [vector(x) for x in c_or_cr]
    else:
        c = vector(c_or_cr)
        r = conj(c)
    b = np.asarray(b)
    if np.ndim(c) > 1 or np.ndim(r) > 1 or np.ndim(b) > 2:
        matrices = linalg.toeplitz(c, r)
        return linalg.solve(matrices, b)
    if np.ndim(b) == 1:
        return toeplitz_solution(c, r, column(b))[:, 0]
    return toeplitz_solution(c, r, b)
