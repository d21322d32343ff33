"""Splines on a grid, read at any places, and how they change with these.

At a coordinate t along an axis a spline of order p reads p+1 coefficients, from the place
⌊t⌋ - p//2 on for odd p (⌊t + ½⌋ for even). With f the distance to the knot before, their weights
are

    w_j = ((f + p - j) w'_{j-1} + (1 - f + j) w'_j) / p,  w' being those of order p-1,

which is the Cox-de Boor recursion on a grid of knots. Along several axes the weights multiply.
The derivative of w_j is w'_{j-1} - w'_j, so those of the spline, of any order, are read in the same
way. Many splines side by side are read by a sparse matrix.

Places that are read beyond the ends are brought inside as the mode says, where "constant" and
"wrap" mirror at the ends; in "grid-constant" there is 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from chainrules_core import Array, frule, pair_rule, primitive, rrule, thunk
from chainrules_core.authoring import is_foreign

Slopes = tuple[int, ...]

NEAREST, WRAP, REFLECT, MIRROR, CONSTANT, GRID_WRAP, GRID_CONSTANT = range(7)
OUTSIDE = -1.0


def inside(t: Any, n: int, mode: int) -> Any:
    """Bring coordinates inside an axis of length `n`; `OUTSIDE` where there is a constant."""
    if mode in (NEAREST, GRID_CONSTANT):
        return t  # what is read there is dealt with
    if mode == CONSTANT:
        return np.where((t >= 0) & (t <= n - 1), t, OUTSIDE)  # NaN is outside
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


def places(start: np.ndarray, n: int, mode: int) -> tuple[np.ndarray, Any]:
    """Return places that are read, brought inside, and 0 for those that there are not, or 1."""
    beyond = (start < 0) | (start >= n)
    if not np.any(beyond):
        return start, 1
    if mode in (GRID_CONSTANT, NEAREST):
        return np.clip(start, 0, n - 1), ~beyond if mode == GRID_CONSTANT else 1
    mirrored = inside(start[beyond], n, MIRROR if mode in (CONSTANT, WRAP) else mode)
    start = start.copy()
    start[beyond] = np.clip(mirrored, 0, n - 1)
    return start, 1


def cubic(f: Any, order: int) -> list[Any]:
    """Return the weights up to third order: what the recursion gives, as few products."""
    if order == 0:
        return [np.ones(np.shape(f))]
    g = 1 - f
    if order == 1:
        return [g, f]
    if order == 2:
        first, last = g * g / 2, f * f / 2
        return [first, 1 - first - last, last]
    last = f * f * f / 6
    third = (1 + 3 * f * (1 + f * g)) / 6
    first = g * g * g / 6
    return [first, 1 - first - third - last, third, last]


def weights(f: Any, order: int) -> list[Any]:
    """Return the weights of the coefficients that are read, `f` behind the knot before it."""
    found = cubic(f, min(order, 3))
    for p in range(4, order + 1):
        carried: Any = 0.0
        for j, weight in enumerate(found):
            part = weight / p
            found[j] = carried + (1 + j - f) * part
            carried = (f + p - j - 1) * part
        found.append(carried)
    return found


def derivative_weights(f: Any, order: int, slopes: int) -> list[Any]:
    """Return the derivatives of the weights."""
    if slopes > order:
        return [np.zeros(np.shape(f))] * (order + 1)
    found = weights(f, order - slopes)
    for _ in range(slopes):
        found = [a - b for a, b in zip([0, *found], [*found, 0], strict=True)]
    return found


class Taps:
    """The coefficients that are read at some places: along each axis one for each weight.

    Attributes
    ----------
    offsets : list of list of array
        For each axis and weight, how far what is read is from the first element, of a flat array.
    """

    def __init__(self, t: np.ndarray, shape: tuple[int, ...], order: int, mode: int) -> None:
        self.order, self.offsets = order, []
        self._fractions: list = []
        self._there: list = []
        self._known: dict = {}
        half = 0.0 if order % 2 else 0.5
        for axis, (n, at) in enumerate(zip(shape, t, strict=True)):
            knot = np.floor(at + half)
            self._fractions.append(at - knot + half)
            first = np.where(np.isfinite(knot), knot, 0).astype(int) - order // 2
            found = [places(first + k, n, mode) for k in range(order + 1)]
            stride = math.prod(shape[axis + 1 :])
            self.offsets.append([place * stride for place, _ in found])
            self._there.append([there for _, there in found])

    def weights(self, axis: int, slopes: int) -> list[np.ndarray]:
        """Return the weights along an axis, or their derivatives."""
        if (axis, slopes) not in self._known:
            found = derivative_weights(self._fractions[axis], self.order, slopes)
            pairs = zip(found, self._there[axis], strict=True)
            self._known[axis, slopes] = [
                w if type(there) is int else w * there for w, there in pairs
            ]
        return self._known[axis, slopes]

    def read(self, c: np.ndarray, wanted: set[Slopes], axis: int = 0, at: Any = 0) -> dict:
        """Return the sums of flat coefficients for some orders of derivatives."""
        last = axis == len(self.offsets) - 1
        rest = {slopes[1:] for slopes in wanted}
        factors = [(slopes, slopes[1:], self.weights(axis, slopes[0])) for slopes in wanted]
        sums: dict[Slopes, Any] = {}
        for k, offset in enumerate(self.offsets[axis]):
            there = at + offset if axis else offset
            inner = {(): c.take(there)} if last else self.read(c, rest, axis + 1, there)
            for slopes, own, weights in factors:
                if k:
                    sums[slopes] += inner[own] * weights[k]
                else:
                    sums[slopes] = inner[own] * weights[k]
        return sums

    def add(self, c: np.ndarray, y: Any, slopes: Slopes, axis: int = 0, at: Any = 0) -> None:
        """Add to flat coefficients what is due to the values `y`."""
        last = axis == len(self.offsets) - 1
        pairs = zip(self.offsets[axis], self.weights(axis, slopes[axis]), strict=True)
        for offset, weight in pairs:
            there = at + offset if axis else offset
            if last:
                np.add.at(c, there, y * weight)
            else:
                self.add(c, y * weight, slopes, axis + 1, there)

    def matrix(self, n: int, slopes: Slopes) -> Any:
        """Return the matrix that reads along a single axis."""
        index, data = np.stack(self.offsets[0], -1), np.stack(self.weights(0, slopes[0]), -1)
        count = len(index)
        starts = np.arange(count + 1) * (self.order + 1)
        return sparse.csr_array((data.ravel(), index.ravel(), starts), shape=(count, n))


BLOCK = 2**14
"""For so many places at a time the offsets and weights stay in the processor's cache."""


def taps_of(t: Any, shape: tuple[int, ...], order: int, mode: int) -> list[Taps]:
    """What is read at places, of coefficients of a shape: block by block, if it is one spline."""
    ndim = len(t)
    t = np.reshape(t, (ndim, -1))
    size = BLOCK if len(shape) == ndim else max(1, t.shape[1])
    starts = range(0, max(1, t.shape[1]), size)
    return [Taps(t[:, i : i + size], shape[:ndim], order, mode) for i in starts]


def read_all(blocks: list[Taps], c: Any, wanted: list[Slopes], shape: tuple[int, ...]) -> list:
    """Return the values and derivatives that are wanted of one spline, each of a shape."""
    flat, orders = np.ravel(c), set(wanted)
    found = [taps.read(flat, orders) for taps in blocks]
    return [np.reshape(np.concatenate([f[one] for f in found]), shape) for one in wanted]


def values(blocks: list[Taps], c: Any, t: Any, slopes: Slopes) -> Any:
    """The values at the places `t`."""
    if c.ndim == len(t):
        return read_all(blocks, c, [slopes], t.shape[1:])[0]
    found = blocks[0].matrix(len(c), slopes) @ np.reshape(c, (len(c), -1))
    return np.reshape(found, (*t.shape[1:], *c.shape[len(t) :]))


def coefficients_bar(
    blocks: list[Taps], y: Any, t: Any, shape: tuple[int, ...], slopes: Slopes
) -> Any:
    """The adjoint of `values` by the coefficients, of a shape."""
    if len(shape) > len(t):
        matrix = blocks[0].matrix(shape[0], slopes)
        return np.reshape(matrix.T @ np.reshape(y, (matrix.shape[0], -1)), shape)
    c, y = np.zeros(math.prod(shape), np.result_type(y, float)), np.ravel(y)
    for k, taps in enumerate(blocks):
        taps.add(c, y[k * BLOCK : (k + 1) * BLOCK], slopes)
    return np.reshape(c, shape)


@primitive
def spline(c: Any, t: Any, order: int, mode: int, slopes: Slopes | None = None) -> Any:
    """Return the values of a spline, or its derivatives of orders `slopes` along each axis.

    Parameters
    ----------
    c : array
        The coefficients on a grid. On one axis, there may be many splines side by side, along the
        other axes of the array.
    t : array
        The coordinates, for each axis an array.
    """
    return values(taps_of(t, c.shape, order, mode), c, t, slopes or (0,) * len(t))


@primitive
def spread(
    y: Any, t: Any, shape: tuple[int, ...], order: int, mode: int, slopes: Slopes | None = None
) -> Any:
    """The adjoint of `spline` by the coefficients, which have a shape."""
    return coefficients_bar(taps_of(t, shape, order, mode), y, t, shape, slopes or (0,) * len(t))


def moves(c: Any, t: Any, order: int, mode: int, slopes: Slopes | None, taps: Any = None) -> list:
    """Return the derivatives of the values by the coordinates along each axis."""
    wanted = steeper(slopes, len(t))
    if taps is None or is_foreign(c) or np.ndim(c) > len(t):
        return [spline(c, t, order, mode, more) for more in wanted]
    return read_all(taps, c, wanted, t.shape[1:])  # all at once


def steeper(slopes: Slopes | None, ndim: int) -> list[Slopes]:
    """The orders of derivatives, with one more along each axis in turn."""
    slopes = slopes or (0,) * ndim
    return [tuple([s + (k == axis) for k, s in enumerate(slopes)]) for axis in range(ndim)]


def along_others(x: Any, ndim: int) -> Any:
    """Sum over what lies side by side."""
    return np.sum(x, tuple(range(ndim, np.ndim(x))))


def beside(t: Any, y: Any) -> Any:
    """Places, or tangents of them, with as many axes as there are in values."""
    return np.reshape(t, (*np.shape(t), *(1,) * (np.ndim(y) - np.ndim(t))))


@rrule.register(spline, Array, Array)
def spline_rrule(c, t, *, order, mode, slopes=None):
    shape, own = np.shape(c), slopes or (0,) * len(t)
    taps = None if is_foreign(c) or is_foreign(t) else taps_of(t, shape, order, mode)
    y = spline(c, t, order, mode, slopes) if taps is None else values(taps, c, t, own)

    def spline_pullback(y_bar):
        def c_bar():
            if taps is None or is_foreign(y_bar):
                return spread(y_bar, t, shape, order, mode, slopes)
            return coefficients_bar(taps, y_bar, t, shape, own)

        def t_bar():
            turned = [y_bar * np.conj(m) for m in moves(c, t, order, mode, slopes, taps)]
            return np.stack([along_others(np.real(part), t.ndim - 1) for part in turned])

        return thunk(c_bar), thunk(t_bar)

    return y, spline_pullback


@frule.register(spline, Array, Array)
def spline_frule(dots, c, t, *, order, mode, slopes=None):
    c_dot, t_dot = dots
    y = spline(c, t, order, mode, slopes)
    y_dot = spline(c_dot, t, order, mode, slopes)
    for dot, move in zip(t_dot, moves(c, t, order, mode, slopes), strict=True):
        y_dot = y_dot + beside(dot, y) * move
    return y, y_dot


@pair_rule(spread, Array, Array)
def spread_rule(y, t, *, shape, order, mode, slopes=None):
    def spread_pushforward(y_dot, t_dot):
        c_dot = spread(y_dot, t, shape, order, mode, slopes)
        for dot, more in zip(t_dot, steeper(slopes, len(t)), strict=True):
            c_dot = c_dot + spread(y * beside(dot, y), t, shape, order, mode, more)
        return c_dot

    def spread_pullback(c_bar):
        def t_bar():
            turned = [np.conj(y) * m for m in moves(c_bar, t, order, mode, slopes)]
            return np.stack([along_others(np.real(part), t.ndim - 1) for part in turned])

        return thunk(lambda: spline(c_bar, t, order, mode, slopes)), thunk(t_bar)

    return spread(y, t, shape, order, mode, slopes), spread_pushforward, spread_pullback
