"""Numbers in a row, and grids of them.

A row from a to b is (1 - t) a + t b with t from 0 to 1 (`linspace`), or base to that power
(`logspace`), or y = a^(1-t) b^t, for which ∂y/∂a = (1 - t) y / a and ∂y/∂b = t y / b (`geomspace`).
How many numbers there are is constant, also where a float step decides it (`arange`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.creation import ARRAY_LIKE, UNSET, rounds, unstacked
from chainrules.shapes.reshaping import shape_of
from chainrules_core import (
    AbstractZero,
    Array,
    Number,
    ProjectTo,
    Tangent,
    ZeroTangent,
    conj,
    frule,
    pair_rule,
    rrule,
    unbroadcast,
    unthunk,
)
from chainrules_core.authoring import array_of, is_foreign, natural

ZERO = ZeroTangent()


def steps(num: int, endpoint: bool) -> int:
    """Return how many steps there are from start to stop."""
    return num - 1 if endpoint else num


def parts_of_stop(num: int, endpoint: bool, ndim: int) -> np.ndarray:
    """Return t for each number of a row, as a column before an array with `ndim` axes."""
    t = np.arange(num) / max(steps(num, endpoint), 1)
    return np.reshape(t, (num,) + (1,) * ndim)


class Ends:
    """The two ends of a row: numbers, arrays or lists; their cotangents in their own form."""

    def __init__(self, *ends: Any) -> None:
        self.spaces = [ProjectTo(end) for end in ends]
        self.shapes = [shape_of(end) for end in ends]

    def back(self, *bars: Any) -> tuple:
        """Sum what has been broadcast, and put it in the form of each argument."""
        return tuple(
            [
                unstacked(unbroadcast(bar, shape), space)
                for bar, shape, space in zip(bars, self.shapes, self.spaces, strict=True)
            ]
        )


def interpolation_back(row_bar: Any, num: int, endpoint: bool, axis: int) -> tuple[Any, Any]:
    """Pull back from a row to its two ends (broadcast against each other)."""
    if np.ndim(row_bar) > 1:
        row_bar = np.moveaxis(row_bar, axis, 0)
    places = np.arange(float(num))
    weighted = (
        np.dot(places, row_bar) if np.ndim(row_bar) == 1 else np.tensordot(places, row_bar, 1)
    )
    stop_bar = weighted / max(steps(num, endpoint), 1)
    return np.sum(row_bar, axis=0) - stop_bar, stop_bar


# ---------------------------------------------------------------------------------------- linspace


@pair_rule(np.linspace, ARRAY_LIKE, ARRAY_LIKE)
def linspace_rule(
    start: Any,
    stop: Any,
    *,
    num: int = 50,
    endpoint: Any = True,
    retstep: Any = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    y = np.linspace(start, stop, num, endpoint, retstep, dtype, axis)
    ends = Ends(start, stop)

    def linspace_pushforward(start_dot: Any, stop_dot: Any) -> Any:
        start_dot, stop_dot = natural(start_dot, start), natural(stop_dot, stop)
        row_dot: Any = ZERO
        if not rounds(dtype):
            row_dot = np.linspace(start_dot, stop_dot, num, endpoint, axis=axis)
            row_dot = row_dot.astype((y[0] if retstep else y).dtype)
        if not retstep:
            return row_dot
        step_dot = (array_of(stop_dot) - array_of(start_dot)) / max(steps(num, endpoint), 1)
        return Tangent[tuple](row_dot, step_dot if steps(num, endpoint) > 0 else ZERO)

    def linspace_pullback(y_bar: Any) -> Any:
        row_bar, step_bar = (unthunk(y_bar[0]), unthunk(y_bar[1])) if retstep else (y_bar, ZERO)
        start_bar = stop_bar = ZERO
        if not isinstance(row_bar, AbstractZero) and not rounds(dtype):
            start_bar, stop_bar = interpolation_back(row_bar, num, endpoint, axis)
        if not isinstance(step_bar, AbstractZero) and steps(num, endpoint) > 0:
            step_bar = step_bar / steps(num, endpoint)
            start_bar, stop_bar = start_bar - step_bar, stop_bar + step_bar
        return ends.back(start_bar, stop_bar)

    return y, linspace_pushforward, linspace_pullback


# --------------------------------------------------------------------------- logspace and geomspace


def exponents_and_base(
    start: Any, stop: Any, base: Any, num: int, endpoint: Any, axis: int
) -> tuple[Any, Any]:
    """Return the exponents of a logspace, and its base so that it broadcasts against them."""
    if np.ndim(base) > 0:
        ndim = max(len(shape_of(a)) for a in (start, stop, base))
        start, stop, base = (
            np.reshape(a, (1,) * (ndim - np.ndim(a)) + np.shape(a)) for a in (start, stop, base)
        )
        base = np.expand_dims(base, axis)
    return np.linspace(start, stop, num, endpoint, axis=axis), base


@rrule.register(np.logspace, ARRAY_LIKE, ARRAY_LIKE)
def logspace_rrule(
    start: Any,
    stop: Any,
    base: Any = None,
    *,
    num: int = 50,
    endpoint: Any = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    b = 10.0 if base is None else base
    y = np.logspace(start, stop, num, endpoint, b, dtype, axis)
    ends = Ends(start, stop, b)

    def logspace_pullback(y_bar: Any) -> Any:
        if rounds(dtype):
            return (ZERO,) * (2 if base is None else 3)
        u, wide = exponents_and_base(start, stop, b, num, endpoint, axis)
        u_bar = conj(y * np.log(wide)) * y_bar
        bars = ends.back(*interpolation_back(u_bar, num, endpoint, axis), ZERO)
        if base is None:
            return bars[:2]
        base_bar = conj(u * np.power(wide, u - 1)) * y_bar
        if np.ndim(b):
            base_bar = np.sum(base_bar, axis=axis)
        return *bars[:2], ends.back(ZERO, ZERO, base_bar)[2]

    return y, logspace_pullback


@frule.register(np.logspace, ARRAY_LIKE, ARRAY_LIKE)
def logspace_frule(
    dots: tuple,
    start: Any,
    stop: Any,
    base: Any = 10.0,
    *,
    num: int = 50,
    endpoint: Any = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    y = np.logspace(start, stop, num, endpoint, base, dtype, axis)
    if rounds(dtype):
        return y, ZERO

    u, wide = exponents_and_base(start, stop, base, num, endpoint, axis)
    start_dot, stop_dot = natural(dots[0], start), natural(dots[1], stop)
    u_dot, _ = exponents_and_base(start_dot, stop_dot, base, num, endpoint, axis)
    y_dot = y * np.log(wide) * u_dot
    if len(dots) > 2:
        base_dot = natural(dots[2], base)
        base_dot = np.reshape(base_dot, np.shape(wide)) if np.ndim(base) else base_dot
        y_dot = y_dot + u * np.power(wide, u - 1) * base_dot
    return y, y_dot.astype(y.dtype)


@pair_rule(np.geomspace, ARRAY_LIKE, ARRAY_LIKE)
def geomspace_rule(
    start: Any,
    stop: Any,
    *,
    num: int = 50,
    endpoint: Any = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    y = np.geomspace(start, stop, num, endpoint, dtype, axis)
    ends = Ends(start, stop)

    def geomspace_pushforward(start_dot: Any, stop_dot: Any) -> Any:
        if rounds(dtype):
            return ZERO
        logs_dot = np.linspace(
            array_of(natural(start_dot, start)) / array_of(start),
            array_of(natural(stop_dot, stop)) / array_of(stop),
            num,
            endpoint,
            axis=axis,
        )
        return (y * logs_dot).astype(y.dtype)

    def geomspace_pullback(y_bar: Any) -> Any:
        if rounds(dtype):
            return ZERO, ZERO
        start_bar, stop_bar = interpolation_back(conj(y) * y_bar, num, endpoint, axis)
        return ends.back(start_bar / conj(array_of(start)), stop_bar / conj(array_of(stop)))

    return y, geomspace_pushforward, geomspace_pullback


# ------------------------------------------------------------------------------------------ arange


@pair_rule(np.arange, Number)
def arange_rule(start: Any, stop: Any = UNSET, step: Any = UNSET, **options: Any) -> Any:
    args = tuple([a for a in (start, stop, step) if a is not UNSET])
    y = np.arange(*args, **options)

    def arange_pushforward(start_dot: Any, stop_dot: Any, step_dot: Any) -> Any:
        if rounds(y.dtype):
            return ZERO
        y_dot = np.zeros(len(y), y.dtype)
        if len(args) > 1 and stop is not None:
            y_dot = y_dot + natural(start_dot, start)
        if step is not UNSET:
            y_dot = y_dot + np.arange(len(y)) * natural(step_dot, step)
        return y_dot.astype(y.dtype)

    def arange_pullback(y_bar: Any) -> Any:
        if rounds(y.dtype):
            bars = (ZERO, ZERO, ZERO)
        elif step is UNSET:
            bars = (np.sum(y_bar), ZERO, ZERO)
        else:
            total, moment = sum_and_moment(y_bar)
            bars = (total, ZERO, moment)
        if len(args) == 1 or stop is None:
            bars = (ZERO, *bars[1:])
        return bars[: len(args)] if len(args) > 1 else bars[0]

    return y, arange_pushforward, arange_pullback


ROW = 1024
"""So many numbers share a row of weights."""


def sum_and_moment(x: Any) -> tuple[Any, Any]:
    """Return Σ x_i and Σ i x_i: long vectors cut into rows, by one product of matrices.

    Examples
    --------
    >>> sum_and_moment(np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), np.float64(8.0))
    """
    n = np.size(x)
    count = n // ROW
    if count < 2 or is_foreign(x):
        return np.sum(x), np.dot(np.arange(n, dtype=x.dtype), x)
    weights = np.stack([np.ones(ROW, x.dtype), np.arange(ROW, dtype=x.dtype)], axis=1)
    rows = np.matmul(np.reshape(x[: count * ROW], (count, ROW)), weights)
    sums, within = rows[:, 0], rows[:, 1]
    rest = x[count * ROW :]
    after = np.arange(count * ROW, n, dtype=x.dtype)
    moment = ROW * np.dot(np.arange(count, dtype=x.dtype), sums) + np.sum(within)
    return np.sum(sums) + np.sum(rest), moment + np.dot(after, rest)


# ----------------------------------------------------------------------------- meshgrid and vander


@rrule.register(np.meshgrid, [*ARRAY_LIKE])
def meshgrid_rrule(*xi: Any, copy: Any = True, sparse: Any = False, indexing: Any = "xy") -> Any:
    y = np.meshgrid(*xi, copy=copy, sparse=sparse, indexing=indexing)
    own = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        own[:2] = 1, 0
    ends = Ends(*xi)

    def meshgrid_pullback(y_bar: Any) -> Any:
        bars = []
        for i, shape in enumerate(ends.shapes):
            bar = unthunk(y_bar[i])
            if not isinstance(bar, AbstractZero):
                others = tuple([axis for axis in range(len(xi)) if axis != own[i]])
                bar = np.reshape(np.sum(bar, axis=others), shape)
            bars.append(bar)
        return ends.back(*bars)

    return y, meshgrid_pullback


@frule.register(np.meshgrid, [*ARRAY_LIKE])
def meshgrid_frule(
    dots: tuple, *xi: Any, copy: Any = True, sparse: Any = False, indexing: Any = "xy"
) -> Any:
    y = np.meshgrid(*xi, copy=copy, sparse=sparse, indexing=indexing)
    moved = [natural(dot, x) for dot, x in zip(dots, xi, strict=True)]
    y_dot = np.meshgrid(*moved, copy=copy, sparse=sparse, indexing=indexing)
    return y, Tangent[type(y)](*y_dot)


def vander_slopes(x: Any, n: int, increasing: bool) -> Any:
    """Return the derivatives p x^(p-1) of the columns x^p of a Vandermonde matrix."""
    powers = np.vander(x, max(n - 1, 0), increasing=True) * np.arange(1, max(n, 1))
    slopes = np.concatenate([np.zeros((np.shape(x)[0], min(n, 1))), powers], axis=1)
    return slopes if increasing else slopes[:, ::-1]


@pair_rule(np.vander, Array)
def vander_rule(x: Any, *, N: int | None = None, increasing: bool = False) -> Any:
    n = np.shape(x)[0] if N is None else N

    y = np.vander(x, N, increasing)

    def vander_pushforward(x_dot: Any) -> Any:
        return vander_slopes(x, n, increasing).astype(y.dtype) * np.expand_dims(x_dot, 1)

    def vander_pullback(y_bar: Any) -> Any:
        return np.sum(conj(vander_slopes(x, n, increasing)) * y_bar, axis=1)

    return y, vander_pushforward, vander_pullback
