"""Splines between grid points: ``map_coordinates``, ``affine_transform``, ``zoom``, ....

A coordinate beyond the ends is first brought inside by the mode, which is traced; what the spline
is there says `sampling`. Where the coordinates along each axis depend on the place along it alone,
one axis is evaluated after the other.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from chainrules.scipy.ndimage.kernels import along, kernel
from chainrules.scipy.ndimage.sampling import CONSTANT, GRID_CONSTANT, OUTSIDE, inside, spline


def evaluated(c: Any, coordinates: Any, order: int, mode: int, cval: Any, npad: int) -> Any:
    """Return the values of a spline with coefficients `c` at places, an array for all axes."""
    at = [inside(t + npad, n, mode) for n, t in zip(np.shape(c), coordinates, strict=True)]
    outside = are_outside(at, mode)
    read = spline(beyond_zero(c, mode, cval), np.stack(within(at, mode)), order, mode)
    return filled(read, outside, mode, cval)


def evaluated_on_grid(
    c: Any, coordinates: list, order: int, mode: int, cval: Any, npad: int
) -> Any:
    """The same where the coordinates along each axis are those of a grid: axis after axis."""
    at = [inside(t + npad, n, mode) for n, t in zip(np.shape(c), coordinates, strict=True)]
    ndim = np.ndim(c)
    columns = [np.reshape(t, along(-1, axis, ndim, 1)) for axis, t in enumerate(at)]
    outside = are_outside(columns, mode)
    read = beyond_zero(c, mode, cval)
    for axis, t in enumerate(within(at, mode)):
        lines = spline(np.moveaxis(read, axis, 0), t[None], order, mode)
        read = np.moveaxis(lines, 0, axis)
    return filled(read, outside, mode, cval)


def are_outside(at: list, mode: int) -> Any:
    """Which places are outside, where there is a constant."""
    return functools.reduce(np.logical_or, [t == OUTSIDE for t in at]) if mode == CONSTANT else None


def within(at: list, mode: int) -> list:
    """The coordinates, but 0 for those outside."""
    return [np.where(t == OUTSIDE, 0.0, t) for t in at] if mode == CONSTANT else at


def beyond_zero(c: Any, mode: int, cval: Any) -> Any:
    """The coefficients such that they are 0 beyond the ends; the weights add up to 1."""
    return c - cval if mode == GRID_CONSTANT else c


def filled(read: Any, outside: Any, mode: int, cval: Any) -> Any:
    if mode == GRID_CONSTANT:
        return read + cval
    return np.where(outside, cval, read) if mode == CONSTANT else read


@kernel("geometric_transform")
def geometric_transform_body(
    input, mapping, coordinates, matrix, shift, output, order, mode, cval, npad, extra, keywords
):
    if mapping is not None:
        found = [mapping(place, *extra, **keywords) for place in np.ndindex(output.shape)]
        stacked = np.stack([np.stack(list(t)) for t in found])
        at = np.reshape(stacked.T, (np.ndim(input), *output.shape))
    elif coordinates is not None:
        at = coordinates
    else:
        grid = np.indices(output.shape, dtype=float)
        column = (-1,) + (1,) * output.ndim
        at = np.tensordot(matrix, grid, 1) + np.reshape(shift, column)
    output[...] = evaluated(input, at, int(order), int(mode), cval, int(npad))


@kernel("zoom_shift")
def zoom_shift_body(input, zoom, shift, output, order, mode, cval, npad, grid_mode):
    axes = []
    for i, n in enumerate(output.shape):
        t = np.arange(n, dtype=float)
        if shift is not None:
            t = t + shift[i]
        if zoom is not None:
            t = (t + 0.5) * zoom[i] - 0.5 if grid_mode else t * zoom[i]
        axes.append(t)
    output[...] = evaluated_on_grid(input, axes, int(order), int(mode), cval, int(npad))
