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
from chainrules.scipy.delegated import both
from chainrules_core import Array, decompose, linear_rule, pair_rule, primitive, thunk

BLOCK = 64


@primitive
def in_steps(values: Any, rows: int, back: bool) -> Any:
    """The matrices in which each row begins one element later: v[i + j], or each row reversed."""
    if back:  # the same as rows and values from the end
        values = np.ascontiguousarray(values[..., ::-1])
    windows = np.lib.stride_tricks.sliding_window_view(values, np.shape(values)[-1] - rows + 1, -1)
    return np.array(windows[..., ::-1, :] if back else windows, order="C")


@primitive
def sums_of_steps(x: Any, back: bool) -> Any:
    """The sums along the diagonals, from the upper left corner on; or the upper right one.

    A few rows at a time are written into a buffer with zeros behind them, of which each row, read
    with one column less, begins one element later.
    """
    x = x[..., ::-1, :] if back else x
    *stack, m, n = np.shape(x)
    if m > n:
        x, m, n = np.ascontiguousarray(x.mT), n, m
    size = min(m, BLOCK)
    sums = np.zeros((*stack, m + n - 1), x.dtype)
    buffer = np.zeros((*stack, size * (n + size)), x.dtype)
    rows = np.reshape(buffer, (*stack, size, n + size))[..., :n]
    steps = np.reshape(buffer[..., :-size], (*stack, size, n + size - 1))
    ones = np.ones(size, x.dtype)
    for i in range(0, m, size):
        count = min(size, m - i)
        rows[..., :count, :] = x[..., i : i + count, :]
        sums[..., i : i + n + count - 1] += ones[:count] @ steps[..., :count, : n + count - 1]
    return sums[..., ::-1] if back else sums


linear_rule(in_steps, lambda x_bar, values, rows, back: sums_of_steps(x_bar, back))
linear_rule(sums_of_steps, lambda bar, x, back: in_steps(bar, np.shape(x)[-2], back))


def vector(x: Any) -> Any:
    """A flat array: SciPy flattens columns and rows where it does not take stacks."""
    x = np.asarray(x)
    return x if np.ndim(x) > 0 else np.reshape(x, (1,))


def first_row(c: Any, r: Any) -> Any:
    """The first row that goes with the first column `c`, if none is given."""
    return conj(c) if r is None else vector(r)


def in_stacks(c: Any, r: Any) -> tuple[Any, Any]:
    """Column and row with the same stack before them; where there is none, flat."""
    if np.ndim(c) == np.ndim(r) == 1:
        return c, r
    stack = np.broadcast_shapes(np.shape(c)[:-1], np.shape(r)[:-1])
    return (
        np.broadcast_to(c, (*stack, np.shape(c)[-1])),
        np.broadcast_to(r, (*stack, np.shape(r)[-1])),
    )


@decompose(both(linalg.toeplitz), shaped_by=(0, 1))
def toeplitz_body(c, r=None):
    c = vector(c)
    c, r = in_stacks(c, first_row(c, r))
    if np.shape(c)[-1] == 0 or np.shape(r)[-1] == 0:
        return np.zeros((*np.shape(c), np.shape(r)[-1]), np.result_type(c, r))
    return in_steps(np.concatenate([r[..., :0:-1], c], -1), np.shape(c)[-1], True)


@decompose(both(linalg.hankel), shaped_by=(0, 1))
def hankel_body(c, r=None):
    c = np.ravel(np.asarray(c))
    r = np.zeros_like(c) if r is None else np.ravel(np.asarray(r))
    if np.size(c) == 0 or np.size(r) == 0:
        return np.zeros((np.size(c), np.size(r)), np.result_type(c, r))
    return in_steps(np.concatenate([c, r[1:]]), np.size(c), False)


@decompose(both(linalg.circulant), shaped_by=(0,))
def circulant_body(c):
    c = vector(c)
    if np.shape(c)[-1] == 0:
        return np.zeros((*np.shape(c), 0), c.dtype)
    return in_steps(np.concatenate([c[..., 1:], c], -1), np.shape(c)[-1], True)


# ---------------------------------------------------------------------------------------- systems


def diagonal_sums(x: Any, y: Any) -> Any:
    """The sums along the diagonals of X Yᴴ, from the upper right corner on."""
    if np.shape(x)[-1] == 1:
        return np.correlate(x[:, 0], y[:, 0], "full")
    return sums_of_steps(np.matmul(x, adjoint(y)), True)


@primitive
def toeplitz_solution(c: Any, r: Any, b: Any) -> Any:
    """T⁻¹ B, for one matrix; `b` is a matrix."""
    return linalg.solve_toeplitz((c, r), b, check_finite=False)


def transposed_pair(c: Any, r: Any) -> tuple[Any, Any]:
    """First column and row of the adjoint; the first element is that of the column."""
    return conj(np.concatenate([c[:1], r[1:]])), conj(c)


@pair_rule(toeplitz_solution, Array, Array, Array)
def toeplitz_solution_rule(c, r, b):
    y = toeplitz_solution(c, r, b)

    def toeplitz_solution_pushforward(c_dot, r_dot, b_dot):
        moved = np.matmul(linalg.toeplitz(c_dot, r_dot), y)
        return toeplitz_solution(c, r, b_dot - moved)

    def toeplitz_solution_pullback(y_bar):
        b_bar = toeplitz_solution(*transposed_pair(c, r), y_bar)
        n = np.shape(c)[0]

        def sums():
            return diagonal_sums(-b_bar, y)

        def c_bar():
            return sums()[n - 1 :]

        def r_bar():
            sums_of = sums()[n - 1 :: -1]
            return np.concatenate([np.zeros_like(sums_of[:1]), sums_of[1:]])

        return thunk(c_bar), thunk(r_bar), b_bar

    return y, toeplitz_solution_pushforward, toeplitz_solution_pullback


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
