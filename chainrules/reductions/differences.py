"""Differences of neighbours, and slopes made of them.

A difference y_i = x_{i+1} - x_i has the adjoint x̄_i = ȳ_{i-1} - ȳ_i: the negative difference of ȳ
between two zeros.

`np.gradient` takes the slopes p = diff(f) / h of the intervals and, inside, weighs the two beside a
point by the lengths h of the other one: y_i = p_i - w_i c_i with c_i = p_i - p_{i-1} and
w_i = h_i / (h_{i-1} + h_i). At the ends it takes the nearest slope p_0 (``edge_order=1``), or
extrapolates: p_0 - (1 - w_1) c_1, and p_{n-2} + w_{n-2} c_{n-2}.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from chainrules.reductions.axes import UNSET, is_given, options_of, precision, reduced_axes
from chainrules_core import (
    AbstractZero,
    NoTangent,
    Numeric,
    Tangent,
    ZeroTangent,
    conj,
    frule,
    linear_rule,
    primitive,
    rrule,
    thunk,
    unthunk,
)
from chainrules_core.authoring import fit, in_steps, natural
from chainrules_core.operations.scattering import scatter


@primitive
def diff_adjoint(y_bar: Any, axis: int) -> Any:
    """The adjoint of one difference along ``axis``.

    Examples
    --------
    >>> diff_adjoint(np.array([1.0, 5.0]), 0)
    array([-1., -4.,  5.])
    """
    n = y_bar.shape[axis]
    shape = list(y_bar.shape)
    shape[axis] += 1
    if n == 0:
        return np.zeros(shape, y_bar.dtype)
    x_bar = np.empty(shape, y_bar.dtype)
    np.subtract(0, slab(y_bar, 0, 1, axis), out=slab(x_bar, 0, 1, axis))
    if n > 1:
        before, after = slab(y_bar, 0, n - 1, axis), slab(y_bar, 1, n, axis)
        np.subtract(before, after, out=slab(x_bar, 1, n, axis))
    slab(x_bar, n, n + 1, axis)[...] = slab(y_bar, n - 1, n, axis)
    return x_bar


@in_steps(diff_adjoint, of_arrays=True)
def diff_adjoint_in_steps(y_bar: Any, axis: int) -> Any:
    shape = list(np.shape(y_bar))
    shape[axis] += 1
    before = (slice(None),) * (axis % len(shape))
    ahead, behind = [
        scatter(y_bar, (*before, part), tuple(shape), np.dtype(np.float64))
        for part in (slice(1, None), slice(None, -1))
    ]
    return ahead - behind


linear_rule(diff_adjoint, lambda x_bar, y_bar, axis: np.diff(x_bar, axis=axis))


# -------------------------------------------------------------------------------------------- diff


def slab(x: Any, start: int, stop: int, axis: int) -> Any:
    """The part of an array between two places of an axis."""
    index = [slice(None)] * np.ndim(x)
    index[axis] = slice(start, stop)
    return x[tuple(index)]


def margin(x: Any, axis: int) -> int:
    """The length along the axis of an array put before or after another; of a number, one."""
    if not is_given(x):
        return 0
    return np.shape(x)[axis] if np.ndim(x) else 1


def with_length(x: Any, axis: int, length: int) -> tuple[int, ...]:
    """Return the shape of `x` with another length of an axis."""
    lengths = list(np.shape(x))
    lengths[axis] = length
    return tuple(lengths)


def margin_bar(x: Any, bar: Any) -> Any:
    """The cotangent of what was put before or after, from that of its place."""
    if not is_given(x):
        return NoTangent()
    return bar if np.ndim(x) else np.sum(bar)


@rrule.register(np.diff, Numeric, lists=True, shaped_by=(0, 1, 2))
def diff_rrule(a, prepend=UNSET, append=UNSET, *, n=1, axis=-1):
    y = np.diff(a, n, axis, **options_of(prepend=prepend, append=append))
    before, length = margin(prepend, axis), np.shape(a)[axis] if n else 0
    whole = before + length + margin(append, axis)

    def diff_pullback(y_bar):
        if n == 0:  # nothing was put before or after either
            return y_bar, ZeroTangent(), ZeroTangent()
        if whole <= n:  # too few for a difference
            y_bar = np.zeros(with_length(y, axis, whole))
        else:
            for _ in range(n):
                y_bar = diff_adjoint(y_bar, axis)
        if prepend is UNSET and append is UNSET:
            return y_bar, NoTangent(), NoTangent()
        end = before + length
        return (
            slab(y_bar, before, end, axis),
            margin_bar(prepend, slab(y_bar, 0, before, axis)),
            margin_bar(append, slab(y_bar, end, np.shape(y_bar)[axis], axis)),
        )

    return y, diff_pullback


@frule.register(np.diff, Numeric, lists=True)
def diff_frule(dots, a, prepend=UNSET, append=UNSET, *, n=1, axis=-1):
    y = np.diff(a, n, axis, **options_of(prepend=prepend, append=append))
    margins = {
        name: natural(dot, value)
        for name, dot, value in zip(("prepend", "append"), dots[1:], (prepend, append), strict=True)
        if is_given(value)
    }
    a_dot = dots[0]
    return y, fit(np.diff(a_dot, n, axis, **margins), y)


# ----------------------------------------------------------------------------------------- ediff1d


@rrule.register(np.ediff1d, Numeric, lists=True, shaped_by=(0, 1, 2))
def ediff1d_rrule(ary, to_end=None, to_begin=None):
    shape = np.shape(ary)
    size = int(np.prod(shape))
    begin = 0 if to_begin is None else int(np.size(to_begin))
    stop = begin + max(size - 1, 0)

    def ediff1d_pullback(y_bar):
        if size == 0:
            bars: list[Any] = [np.zeros(shape)]
        else:
            bars = [np.reshape(diff_adjoint(y_bar[begin:stop], 0), shape)]
        for value, bar in ((to_end, y_bar[stop:]), (to_begin, y_bar[:begin])):
            bars.append(NoTangent() if value is None else np.reshape(bar, np.shape(value)))
        return tuple(bars)

    return np.ediff1d(ary, to_end, to_begin), ediff1d_pullback


@frule.register(np.ediff1d, Numeric, lists=True)
def ediff1d_frule(dots, ary, to_end=None, to_begin=None):
    y = np.ediff1d(ary, to_end, to_begin)
    ends = {
        name: np.reshape(natural(dot, value), (-1,))
        for name, dot, value in zip(
            ("to_end", "to_begin"), dots[1:], (to_end, to_begin), strict=True
        )
        if is_given(value)
    }
    middle = np.diff(np.reshape(dots[0], (-1,)))
    parts = [ends.get("to_begin"), middle, ends.get("to_end")]
    return y, fit(np.concatenate([p for p in parts if p is not None]), y)


# ---------------------------------------------------------------------------------------- gradient


UNIT = 1.0
"""The distance where none is given."""


class Slopes:
    """`np.gradient` along one axis: of values `f` with that axis last, at distances `h`.

    `h` is a number or has one element for each interval.
    """

    def __init__(self, f: Any, h: Any, edge_order: int) -> None:
        self.f, self.h = f, h
        self.is_second_order = edge_order == 2
        self.is_uniform = np.ndim(h) == 0
        inner = max(np.shape(f)[-1] - 2, 0)
        if self.is_uniform:  # one weight for all
            self.w = np.full(min(inner, 1), 0.5, precision(f))
        else:
            self.w = h[1:] / (h[:-1] + h[1:])

    def slopes(self) -> Any:
        """The slopes of the intervals."""
        return np.diff(self.f, axis=-1) / self.h

    def mixed(self, p: Any) -> Any:
        """The result for the slopes `p` of the intervals; it is linear in them."""
        c = np.diff(p, axis=-1)
        start, end = p[..., :1], p[..., -1:]
        if self.is_second_order:
            start = start - (1 - self.w[:1]) * c[..., :1]
            end = end + self.w[-1:] * c[..., -1:]
        return np.concatenate([start, p[..., 1:] - self.w * c, end], axis=-1)

    def push(self, f_dot: Any, h_dot: Any) -> Any:
        """The tangent of the result."""
        y_dot: Any = ZeroTangent()
        p_dot: Any = ZeroTangent()
        if not isinstance(f_dot, AbstractZero):
            p_dot = np.diff(f_dot, axis=-1) / self.h
        if not isinstance(h_dot, AbstractZero):
            p = self.slopes()
            p_dot = p_dot - p * (h_dot / self.h)
            if not self.is_uniform:
                total = self.h[:-1] + self.h[1:]
                w_dot = (h_dot[1:] * self.h[:-1] - self.h[1:] * h_dot[:-1]) / (total * total)
                v = np.diff(p, axis=-1) * w_dot
                none = np.zeros_like(p[..., :1])
                start, end = (v[..., :1], v[..., -1:]) if self.is_second_order else (none, none)
                y_dot = np.concatenate([start, -v, end], axis=-1)
        return y_dot if isinstance(p_dot, AbstractZero) else y_dot + self.mixed(p_dot)

    def pull_slopes(self, y_bar: Any) -> Any:
        """The cotangent of the slopes of the intervals."""
        one, w = np.ones(1, precision(y_bar)), conj(self.w)
        if self.is_uniform:  # half of each neighbour, but all of the ends
            first, last = y_bar[..., :1], y_bar[..., -1:]
            wide = np.concatenate([2 * first, y_bar[..., 1:-1], 2 * last], axis=-1)
            p_bar = 0.5 * (wide[..., :-1] + wide[..., 1:])
        else:
            right, left = np.concatenate([one, 1 - w]), np.concatenate([w, one])
            p_bar = right * y_bar[..., :-1] + left * y_bar[..., 1:]
        if self.is_second_order:
            start, end = (1 - w[:1]) * y_bar[..., :1], w[-1:] * y_bar[..., -1:]
            p_bar = p_bar + at_start(np.concatenate([start, -start], axis=-1), p_bar)
            p_bar = p_bar + at_end(np.concatenate([-end, end], axis=-1), p_bar)
        return p_bar

    def pull_values(self, y_bar: Any) -> Any:
        """The cotangent of the values."""
        p_bar = self.pull_slopes(y_bar)
        return diff_adjoint(p_bar if self.h is UNIT else p_bar / conj(self.h), -1)

    def pull_distances(self, y_bar: Any) -> Any:
        """The cotangent of the distances."""
        p, h = conj(self.slopes()), conj(self.h)
        h_bar = -p * self.pull_slopes(y_bar) / h
        if self.is_uniform:
            return np.sum(h_bar)
        c = np.diff(p, axis=-1)
        w_bar = -c * y_bar[..., 1:-1]
        if self.is_second_order:
            w_bar = w_bar + at_start(c[..., :1] * y_bar[..., :1], w_bar)
            w_bar = w_bar + at_end(c[..., -1:] * y_bar[..., -1:], w_bar)
        rows = tuple(range(np.ndim(y_bar) - 1))
        h_bar, w_bar = np.sum(h_bar, axis=rows), np.sum(w_bar, axis=rows)
        total = h[:-1] + h[1:]
        w_bar = w_bar / (total * total)
        return h_bar - at_start(w_bar * h[1:], h_bar) + at_end(w_bar * h[:-1], h_bar)


def at_start(part: Any, whole: Any) -> Any:
    """`part`, and zeros up to the length of `whole`."""
    n = np.shape(part)[-1]
    return np.concatenate([part, np.zeros_like(whole[..., n:])], axis=-1)


def at_end(part: Any, whole: Any) -> Any:
    """Zeros, then `part`, in the length of `whole`."""
    rest = np.shape(whole)[-1] - np.shape(part)[-1]
    return np.concatenate([np.zeros_like(whole[..., :rest]), part], axis=-1)


def distances(spacing: Any) -> Any:
    """The distances that a spacing stands for: itself, or the differences of coordinates."""
    return np.diff(spacing) if np.ndim(spacing) else spacing


def spacing_of(k: int, spacings: tuple) -> int | None:
    """Which of the spacings belongs to the k-th axis; None where none are given."""
    if not spacings:
        return None
    return 0 if len(spacings) == 1 else k


def along(f: Any, spacings: tuple, k: int, axis: int, edge_order: int) -> Slopes:
    """The slopes along the k-th of the axes."""
    place = spacing_of(k, spacings)
    h = UNIT if place is None else distances(spacings[place])
    return Slopes(np.swapaxes(f, axis, -1), h, edge_order)


@rrule.register(np.gradient, Numeric, lists=True, shaped_by=(0,))
def gradient_rrule(f, *spacings, axis=None, edge_order=1):
    y = np.gradient(f, *spacings, axis=axis, edge_order=edge_order)
    axes = reduced_axes(np.ndim(f), axis)

    def slopes_and_bars(y_bar):
        """Yield the slopes, their cotangent, the axis and the spacing, for each axis."""
        for k, one in enumerate(axes):
            bar = unthunk(y_bar[k]) if isinstance(y, tuple) else y_bar
            if not isinstance(bar, AbstractZero):
                slopes = along(f, spacings, k, one, edge_order)
                yield slopes, np.swapaxes(bar, one, -1), one, spacing_of(k, spacings)

    def pull_f(y_bar):
        f_bar: Any = ZeroTangent()
        for slopes, bar, one, _ in slopes_and_bars(y_bar):
            f_bar = f_bar + np.swapaxes(slopes.pull_values(bar), one, -1)
        return f_bar

    def pull_spacing(place, y_bar):
        spacing_bar: Any = ZeroTangent()
        for slopes, bar, _, own in slopes_and_bars(y_bar):
            if own == place:
                h_bar = slopes.pull_distances(bar)
                spacing_bar = spacing_bar + (h_bar if slopes.is_uniform else diff_adjoint(h_bar, 0))
        return spacing_bar

    def gradient_pullback(y_bar):
        by_spacing = [thunk(partial(pull_spacing, k, y_bar)) for k in range(len(spacings))]
        return thunk(lambda: pull_f(y_bar)), *by_spacing

    return y, gradient_pullback


@frule.register(np.gradient, Numeric, lists=True)
def gradient_frule(dots, f, *spacings, axis=None, edge_order=1):
    y = np.gradient(f, *spacings, axis=axis, edge_order=edge_order)
    f_dot = dots[0]
    y_dots = []
    for k, one in enumerate(reduced_axes(np.ndim(f), axis)):
        place = spacing_of(k, spacings)
        h_dot: Any = ZeroTangent()
        if place is not None and not isinstance(dots[1 + place], AbstractZero):
            h_dot = distances(dots[1 + place])
        moved = f_dot if isinstance(f_dot, AbstractZero) else np.swapaxes(f_dot, one, -1)
        y_dot = along(f, spacings, k, one, edge_order).push(moved, h_dot)
        y_dots.append(y_dot if isinstance(y_dot, AbstractZero) else np.swapaxes(y_dot, one, -1))
    if isinstance(y, tuple):
        return y, Tangent[tuple](*[fit(d, part) for d, part in zip(y_dots, y, strict=True)])
    return y, fit(y_dots[0], y)
