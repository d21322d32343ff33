"""Splines evaluated between grid points: ``map_coordinates``, ``affine_transform``, ``zoom``, ....

At a coordinate t along an axis a spline of order p reads p+1 coefficients, from the place
⌊t⌋ - p//2 on for odd p (⌊t + ½⌋ for even). With f the distance to the knot before, their weights
are

    w_j = ((f + p - j) w'_{j-1} + (1 - f + j) w'_j) / p,  w' being those of order p-1,

which is the Cox-de Boor recursion on a grid of knots. Along several axes the weights multiply. A
coordinate beyond the ends is first brought inside by the mode; places that are read beyond them are
brought inside in the same way, where "constant" and "wrap" mirror at the ends.
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
    if mode in (NEAREST, GRID_CONSTANT):
        return t  # what is read there is dealt with
    if mode == CONSTANT:
        return np.where((t < 0) | (t > n - 1), OUTSIDE, t)
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
    if mode == NEAREST:
        return np.clip(start, 0, n - 1), there
    return inside(start, n, mode).astype(int), there


def weights(f: Any, order: int) -> list[Any]:
    """Return the weights of the coefficients that are read, `f` behind the knot before it."""
    found = [np.ones(np.shape(f))]
    for p in range(1, order + 1):
        before, after = [0, *found], [*found, 0]
        found = [((f + p - j) * before[j] + (1 - f + j) * after[j]) / p for j in range(p + 1)]
    return found


def evaluated(c: Any, coordinates: list, order: int, mode: int, cval: Any, npad: int) -> Any:
    """Return the values of a spline with coefficients `c`.

    The coordinates along each axis broadcast to the shape of the result.
    """
    outside: Any = False
    read = []
    for n, t in zip(np.shape(c), coordinates, strict=True):
        t = inside(t + npad, n, mode)
        if mode == CONSTANT:
            outside = outside | (t == OUTSIDE)
            t = np.where(t == OUTSIDE, 0.0, t)
        half = 0.0 if order % 2 else 0.5
        knot = np.floor(t + half)
        first = knot.astype(int) - order // 2
        taps = weights(t - knot + half, order)
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
