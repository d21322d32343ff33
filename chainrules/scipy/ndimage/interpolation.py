"""Splines evaluated between grid points: ``map_coordinates``, ``affine_transform``, ``zoom``, ....

At a coordinate t along an axis a spline of order p reads p+1 coefficients, from the place
⌊t⌋ - p//2 on for odd p (⌊t + ½⌋ for even), with the values of the centred B-spline β_p as weights.
By the Cox-de Boor recursion on the grid, with the centre at 0,

    β_p(u) = ((½(p+1) + u) β_{p-1}(u + ½) + (½(p+1) - u) β_{p-1}(u - ½)) / p.

Along several axes the weights multiply. A coordinate beyond the ends is first brought inside by the
mode; places that are read beyond them are brought inside in the same way, where "constant" and
"wrap" mirror at the ends.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from chainrules.scipy.ndimage.kernels import kernel

NEAREST, WRAP, REFLECT, MIRROR, CONSTANT, GRID_WRAP, GRID_CONSTANT = range(7)
OUTSIDE = -1.0


def inside(t: Any, n: int, mode: int) -> Any:
    """Bring coordinates inside an axis of length `n`; `OUTSIDE` where there is a constant."""
    if mode == GRID_CONSTANT:
        return t
    if mode == CONSTANT:
        return np.where((t < 0) | (t > n - 1), OUTSIDE, t)
    if mode == NEAREST:
        return np.clip(t, 0, n - 1)
    if mode == WRAP:
        if n <= 1:
            return 0 * t
        period = n - 1
        below = t + period * (np.floor(-t / period) + 1)
        above = t - period * np.floor(t / period)
        return np.where(t < 0, below, np.where(t > n - 1, above, t))
    if mode == GRID_WRAP:
        return np.where((t < 0) | (t > n - 1), t - n * np.floor(t / n), t)
    if mode == MIRROR:
        if n <= 1:
            return 0 * t
        t = np.abs(t)
        period = 2 * n - 2
        t = t - period * np.floor(t / period)
        return np.where(t >= n, period - t, t)
    period = 2 * n
    t = np.where(t < 0, -1 - t, t)
    t = t - period * np.floor(t / period)
    return np.where(t >= n, period - 1 - t, t)


def places(start: np.ndarray, n: int, mode: int) -> tuple[np.ndarray, np.ndarray]:
    """Return places that are read, brought inside, and which of them there are."""
    there = np.ones(start.shape, bool)
    if mode in (CONSTANT, WRAP):
        mode = MIRROR
    if mode == GRID_CONSTANT:
        there = (start >= 0) & (start < n)
        return np.clip(start, 0, n - 1), there
    return inside(start, n, mode).astype(int), there


def weights(u: Any, order: int) -> list[Any]:
    """Return the weights of the coefficients that are read; `u` is t minus the first place."""
    # β_order at u - k, for k = 0 ... order, from β_0 upwards.
    values = [np.ones(np.shape(u))]
    for p in range(1, order + 1):
        half = (p + 1) / 2
        # Of the lower order the centre lies half a place to the right.
        shifted = u - (order - p) / 2
        wider = []
        for k in range(p + 1):
            v = shifted - k
            left = values[k - 1] if k > 0 else 0
            right = values[k] if k < p else 0
            wider.append(((half + v) * right + (half - v) * left) / p)
        values = wider
    return values


def evaluated(c: Any, coordinates: list, order: int, mode: int, cval: Any, npad: int) -> Any:
    """Return the values of a spline with coefficients `c`.

    The coordinates along each axis broadcast to the shape of the result.
    """
    outside: Any = False
    read = []
    for n, t in zip(np.shape(c), coordinates, strict=True):
        t = inside(t + npad, n, mode) if mode != GRID_CONSTANT else t + npad
        if mode == CONSTANT:
            outside = outside | (t == OUTSIDE)
            t = np.where(t == OUTSIDE, 0.0, t)
        first = np.floor(t if order % 2 else t + 0.5).astype(int) - order // 2
        taps = weights(t - first, order)
        read.append([(*places(first + k, n, mode), taps[k]) for k in range(order + 1)])
    total: Any = 0.0
    for taps in itertools.product(*read):
        index = tuple([place for place, _, _ in taps])
        value = c[index]
        if mode == GRID_CONSTANT:
            there = np.all(np.broadcast_arrays(*[t for _, t, _ in taps]), axis=0)
            value = np.where(there, value, cval)
        for _, _, weight in taps:
            value = value * weight
        total = total + value
    return np.where(outside, cval, total) if mode == CONSTANT else total


@kernel("geometric_transform")
def geometric_transform_body(
    input, mapping, coordinates, matrix, shift, output, order, mode, cval, npad, extra, keywords
):
    if mapping is not None:
        found = [mapping(place, *extra, **keywords) for place in np.ndindex(output.shape)]
        stacked = np.stack([np.stack(list(t)) for t in found])
        axes = [np.reshape(stacked[:, i], output.shape) for i in range(np.ndim(input))]
    elif coordinates is not None:
        axes = [coordinates[i] for i in range(np.ndim(input))]
    else:
        grid = np.indices(output.shape, dtype=float)
        axes = [
            sum(matrix[i, j] * grid[j] for j in range(output.ndim)) + shift[i]
            for i in range(np.ndim(input))
        ]
    output[...] = evaluated(input, axes, int(order), int(mode), cval, int(npad))


@kernel("zoom_shift")
def zoom_shift_body(input, zoom, shift, output, order, mode, cval, npad, grid_mode):
    axes = []
    for i, n in enumerate(output.shape):
        t = np.reshape(np.arange(n, dtype=float), [-1 if j == i else 1 for j in range(output.ndim)])
        if shift is not None:
            t = t + shift[i]
        if zoom is not None:
            t = (t + 0.5) * zoom[i] - 0.5 if grid_mode else t * zoom[i]
        axes.append(t)
    output[...] = evaluated(input, axes, int(order), int(mode), cval, int(npad))
