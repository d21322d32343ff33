"""The Cholesky factor of a long band matrix, in blocks; narrow real bands are in `narrow`.

Cut into blocks that are no smaller than the band is wide, A = L Lᴴ has blocks D_i on the diagonal
of L and C_i below them only, with D_i D_iᴴ = A_ii - C_{i-1} C_{i-1}ᴴ and C_i = A_{i+1,i} D_i⁻ᴴ. The
derivatives go through these equations, as in `chainrules.linalg.cholesky` for dense matrices. All
of it costs as many products of blocks as there are blocks, so it is O(n).

Storage is LAPACK's for the lower half: lb[k, j] = a[j + k, j].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.matrices import adjoint, completed, half_triangle, halves, onto_triangle
from chainrules.scipy.linalg.bands.narrow import factor_change, factor_change_adjoint, is_narrow
from chainrules_core import Array, pair_rule, primitive
from chainrules_core.authoring import is_foreign

BLOCK = 32
"""Blocks are at least as large; for plain numbers, of which many are dealt with at once, half."""


def in_matrix(shape: tuple[int, int]) -> np.ndarray:
    """Which elements of the lower half of a band are in the matrix."""
    rows, n = shape
    return np.arange(n) + np.arange(rows)[:, None] < n


def within(lb: Any) -> Any:
    """The lower half of a band, with 0 for what is not in the matrix."""
    return np.where(in_matrix(np.shape(lb)), lb, 0)


@primitive
def band_factor(lb: Any) -> Any:
    """The factor of a Hermitian matrix given by the lower half of its band."""
    return within(linalg.cholesky_banded(lb, lower=True))


def size_of_blocks(lb: Any) -> int:
    return max(BLOCK, np.shape(lb)[0] - 1)


def blocks(lb: Any) -> tuple[Any, Any]:
    """The blocks on the diagonal and those below them, of a triangular matrix."""
    (rows, n), size = np.shape(lb), size_of_blocks(lb)
    count = -(-n // size)
    inside = in_matrix((rows, n))
    padded = np.pad(np.where(inside, lb, 0), [(0, 0), (0, count * size - n)])
    r, c = np.indices((size, size))
    columns = np.arange(count)[:, None, None] * size + c
    found = []
    for k, here in ((r - c, columns), (size + r - c, columns[:-1])):
        there = (k >= 0) & (k < rows)
        found.append(np.where(there, padded[np.where(there, k, 0), here], 0))
    return found[0], found[1]


def band(diagonal: Any, below: Any, shape: tuple[int, int]) -> Any:
    """The band that these blocks have in a matrix: what they have outside does not count."""
    rows, n = shape
    size = np.shape(diagonal)[-1]
    k, j = np.indices((rows, n))
    i, c = j // size, j % size
    r = k + c
    inside, is_below = k + j < n, r >= size
    last = np.shape(below)[0] - 1
    of_diagonal = diagonal[i, np.minimum(r, size - 1), c]
    of_below = below[np.minimum(i, last), np.where(is_below, r - size, 0), c]
    return np.where(inside, np.where(is_below, of_below, of_diagonal), 0)


def factor_blocks(y: Any) -> tuple[Any, Any, Any]:
    """D, the inverses of D, and C."""
    d, c = blocks(y)
    missing = np.shape(d)[0] * np.shape(d)[1] - np.shape(y)[1]
    if missing:  # beyond the end there is the identity
        ones = np.zeros(np.shape(d)[:2])
        ones[-1, np.shape(d)[1] - missing :] = 1
        d = d + ones[..., None] * np.eye(np.shape(d)[1])
    return d, np.linalg.inv(d), c


def band_factor_adjoint(y: Any, y_bar: Any) -> Any:
    """The cotangent of the band, from that of its factor."""
    d, inverse, c = factor_blocks(y)
    d_bar, c_bar = blocks(y_bar)
    phi = halves(np.shape(d)[-1], d.dtype)
    on_diagonal, below = [], []
    carried: Any = 0
    for i in reversed(range(np.shape(d)[0])):
        inner = phi * np.matmul(adjoint(d[i]), d_bar[i] - carried)
        s = np.matmul(np.matmul(adjoint(inverse[i]), inner), inverse[i])
        s = s + adjoint(s)
        on_diagonal.append(phi * s)
        if i:
            bar = np.matmul(c_bar[i - 1] - np.matmul(s, c[i - 1]), inverse[i - 1])
            below.append(bar)
            carried = np.matmul(adjoint(bar), c[i - 1])
    return band(np.stack(on_diagonal[::-1]), np.stack(below[::-1]), np.shape(y))


# --------------------------------------------------------------------------- for plain numbers


class Blocks:
    """The blocks on the diagonal and those below them of a band, as views of one array.

    A band that is stored column after column, each with zeros behind it, has its blocks in it with
    rows that begin one element earlier each.
    """

    def __init__(self, shape: tuple[int, int], size: int, dtype: Any) -> None:
        rows, n = shape
        count, width = -(-n // size), 3 * size
        stored = np.zeros((count * size + 2, width), dtype)
        self.by_column = stored[1 : n + 1, :rows]
        step = stored.itemsize
        transposed = np.lib.stride_tricks.as_strided(
            stored[1:], (count, size, 2 * size), (size * width * step, (width - 1) * step, step)
        )
        self.diagonal, self.below = transposed[..., :size].mT, transposed[:-1, :, size:].mT


def plain_blocks(lb: np.ndarray, size: int, ones: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The blocks of a triangular matrix; beyond its end there are `ones` on the diagonal."""
    n, found = lb.shape[1], Blocks(lb.shape, size, lb.dtype)
    found.by_column[...] = within(lb).T
    diagonal = found.diagonal.copy()
    if ones:
        last = np.arange(n - (len(diagonal) - 1) * diagonal.shape[1], diagonal.shape[1])
        diagonal[-1, last, last] = 1
    return diagonal, found.below.copy()


@primitive
def plain_adjoint(y: Any, y_bar: Any) -> Any:
    """The same as `band_factor_adjoint`, for plain numbers.

    Let G be the Hermitian matrix of which the cotangent is the band, and W = C D⁻¹. Then
    G_{i+1,i} = ½ C̄ D⁻¹ - G_{i+1,i+1} W, and G_ii = R + Wᴴ G_{i+1,i+1} W, where R has no G in it. So
    all but two products for each block are made for all blocks at once.
    """
    size = max(BLOCK // 2, len(y) - 1)
    d, c = plain_blocks(y, size, ones=True)
    d_bar, c_bar = plain_blocks(y_bar, size)
    phi = halves(d.shape[-1], d.dtype)
    (trtri,) = linalg.get_lapack_funcs(("trtri",), (d,))
    inverse = np.stack([trtri(block.T, lower=0)[0].T for block in d])
    x = np.matmul(adjoint(d), d_bar)
    half = np.matmul(adjoint(c), c_bar)
    x[:-1] += half
    x *= phi
    x = (x + adjoint(x)) / 2
    half /= 2
    x[:-1] -= half
    g = np.matmul(np.matmul(adjoint(inverse), x), inverse)
    w, k = np.matmul(c, inverse[:-1]), np.matmul(c_bar, inverse[:-1]) / 2
    g[:-1] -= np.matmul(adjoint(k), w)
    wh, product = adjoint(w), np.empty_like(phi, g.dtype)
    for i in reversed(range(len(w))):
        g[i] += np.matmul(wh[i], np.matmul(g[i + 1], w[i], out=product))
    found = Blocks(y.shape, len(phi), g.dtype)
    found.diagonal[...] = onto_triangle(g)
    found.below[...] = 2 * (k - np.matmul(g[1:], w))
    return np.where(in_matrix(y.shape), found.by_column.T, 0)


@pair_rule(band_factor, Array)
def band_factor_rule(lb):
    y = band_factor(lb)

    def band_factor_pushforward(lb_dot):
        if is_narrow(y):
            return factor_change(y, within(lb_dot))
        d, inverse, c = factor_blocks(y)
        d_dot, c_dot = blocks(lb_dot)
        on_diagonal, below = [], []
        for i in range(np.shape(d)[0]):
            change = completed(d_dot[i])
            if i:
                product = np.matmul(below[i - 1], adjoint(c[i - 1]))
                change = change - product - adjoint(product)
            inner = np.matmul(np.matmul(inverse[i], change), adjoint(inverse[i]))
            moved = np.matmul(d[i], half_triangle(inner))
            on_diagonal.append(moved)
            if i < np.shape(c)[0]:
                bar = c_dot[i] - np.matmul(c[i], adjoint(moved))
                below.append(np.matmul(bar, adjoint(inverse[i])))
        return band(np.stack(on_diagonal), np.stack(below), np.shape(y))

    def band_factor_pullback(y_bar):
        if is_narrow(y):
            return factor_change_adjoint(y, within(y_bar))
        if not is_foreign(y) and not is_foreign(y_bar):
            return plain_adjoint(y, y_bar)
        return band_factor_adjoint(y, y_bar)

    return y, band_factor_pushforward, band_factor_pullback
