"""Linear interpolation in the cells of a grid.

The values at the corners of a place's cell are joined along one axis after the other: with u the
distance from the near side, in widths of the cell, V = (1 - u) V₀ + u V₁.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import RegularGridInterpolator

from chainrules.scipy.interpolate.kernels import kernel
from chainrules.scipy.private import Private
from chainrules_core import (
    Array,
    NoTangent,
    decompose,
    frule,
    ignore_derivatives,
    primitive,
    rrule,
    thunk,
)
from chainrules_core.authoring import scatter

_rgi = Private("interpolate._rgi")


def corners(indices: Any) -> tuple:
    """Return where the corners of all cells are: of the axes the first tell near from far."""
    n = len(indices)
    sides = np.stack([indices, indices + (indices >= 0)], axis=1)  # an axis of one node has -1
    return tuple(
        np.reshape(sides[a], (1,) * a + (2,) + (1,) * (n - 1 - a) + (-1,)) for a in range(n)
    )


def joined(at_corners: Any, distances: Any) -> list:
    """Return the values at corners, at edges, and so on to those at the places."""
    found = [at_corners]
    for u in distances:
        near, far = found[-1]
        found.append((1 - u) * near + u * far)
    return found


@primitive
def multilinear(values: Any, distances: Any, indices: Any) -> Any:
    """Interpolate `values` in the cells that begin at `indices`, a row for each axis."""
    return joined(values[corners(indices)], shaped(distances, values))[-1]


def shaped(distances: Any, values: Any) -> Any:
    """Return distances with axes for what the values have beyond those of the grid."""
    return np.reshape(distances, np.shape(distances) + (1,) * (np.ndim(values) - len(distances)))


@rrule.register(multilinear, Array, Array)
def multilinear_rrule(values, distances, indices):
    places, away = corners(indices), shaped(distances, values)
    stages = joined(values[places], away)
    y = stages.pop()

    def multilinear_pullback(y_bar):
        stages_, away_ = stages, away
        if not np.all(np.isfinite(ignore_derivatives(y))):
            # Places without a value, such as NaN, have no part in a gradient.
            trailing = tuple(range(1, np.ndim(y_bar)))
            silent = np.all(ignore_derivatives(y_bar) == 0, axis=trailing, keepdims=True)
            away_ = np.where(silent, 0.0, away)
            stages_ = [np.where(silent, 0.0, stage) for stage in stages]
        bars, bar = [], y_bar
        for stage, u in zip(stages_[::-1], away_[::-1], strict=True):
            by_u = np.real(bar * np.conj(stage[1] - stage[0]))
            of_places = np.ndim(by_u) - np.ndim(y_bar)
            bars.append(np.sum(by_u, axis=tuple(a for a in range(np.ndim(by_u)) if a != of_places)))
            bar = np.stack([(1 - u) * bar, u * bar])
        values_bar = thunk(lambda: scatter(bar, places, np.shape(values), values.dtype))
        return values_bar, np.stack(bars[::-1]), NoTangent()

    return y, multilinear_pullback


@frule.register(multilinear, Array, Array)
def multilinear_frule(dots, values, distances, indices):
    values_dot, distances_dot = dots[:2]
    places = corners(indices)
    away, away_dot = shaped(distances, values), shaped(distances_dot, values)
    y, y_dot = values[places], values_dot[places]
    for u, u_dot in zip(away, away_dot, strict=True):
        y_dot = (1 - u) * y_dot[0] + u * y_dot[1] + u_dot * (y[1] - y[0])
        y = (1 - u) * y[0] + u * y[1]
    return y, y_dot


@kernel("find_indices", _rgi)
def find_indices_body(grid, xi):
    found, below, above = [], [], []
    for x, points in zip(ignore_derivatives(xi), grid, strict=True):
        n = np.shape(points)[0]
        if n == 1:
            found.append(np.full(np.shape(x), -1))
            below.append(x)
            above.append(x + 1.0)
            continue
        place = np.searchsorted(ignore_derivatives(points), x, "right") - 1
        place = np.clip(place, 0, n - 2)
        found.append(place)
        below.append(points[place])
        above.append(points[place + 1])
    start = np.stack(below)
    return np.stack(found), (xi - start) / (np.stack(above) - start)


@kernel("evaluate_linear_2d", _rgi)
def evaluate_linear_2d_body(values, indices, norm_distances, grid, out):
    out[...] = multilinear(values, norm_distances, indices)
    return out


@decompose(RegularGridInterpolator._evaluate_linear)
def evaluate_linear_body(self, indices, norm_distances):
    values = self._values if hasattr(self, "_values") else self.values  # SciPy before 1.16
    return multilinear(values, norm_distances, indices)
