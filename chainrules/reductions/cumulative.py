"""Running sums, and the trapezoidal rule.

Every element goes into all sums from its own on, so the adjoint of a running sum is the running
sum from the other end. The trapezoidal rule Σ d_i (y_i + y_{i+1}) / 2 is linear in the values and
in the distances d_i = x_{i+1} - x_i.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.reductions.axes import Rules, along_last, chosen, every, from_last, present, rounds
from chainrules.reductions.differences import diff_adjoint
from chainrules_core import (
    AbstractZero,
    NoTangent,
    Numeric,
    ZeroTangent,
    conj,
    frule,
    pair_rule,
    rrule,
    thunk,
    unbroadcast,
)
from chainrules_core.authoring import fit


def reversed_sums(y_bar: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """Sum from the end, along ``axis`` or over the flat array."""
    if axis is None:
        return np.reshape(np.cumsum(y_bar[::-1])[::-1], shape)
    return np.flip(np.cumsum(np.flip(y_bar, axis), axis=axis), axis)


def running_sum_rules(f: Callable, default_axis: Any = None, elements: Callable = every) -> Rules:
    """Return the rules of a running sum; ``include_initial`` puts a constant 0 before it.

    `elements` returns which elements `f` adds.
    """

    def value(a: Any, axis: Any, dtype: Any, include_initial: bool) -> Any:
        options = {"include_initial": True} if include_initial else {}
        return f(a, axis=axis, dtype=dtype, **options)

    def running_rrule(a, *, axis=default_axis, dtype=None, include_initial=False):
        shape, where = np.shape(a), elements(a, True)

        def running_pullback(y_bar):
            if rounds(dtype):
                return ZeroTangent()
            y_bar = along_last(y_bar, axis)
            if include_initial:
                y_bar = y_bar[..., 1:]
            sums = np.cumsum(y_bar[..., ::-1], axis=-1)[..., ::-1]
            return chosen(from_last(sums, shape, axis), where)

        return value(a, axis, dtype, include_initial), running_pullback

    def running_frule(dots, a, *, axis=default_axis, dtype=None, include_initial=False):
        y = value(a, axis, dtype, include_initial)
        if rounds(dtype):
            return y, ZeroTangent()
        return y, value(chosen(dots[0], elements(a, True)), axis, dtype, include_initial)

    return running_rrule, running_frule


for _f in (np.cumsum, np.cumulative_sum, np.nancumsum):
    _rrule, _frule = running_sum_rules(_f, elements=present if _f is np.nancumsum else every)
    rrule.register(_f, Numeric, lists=True, shaped_by=(0,))(_rrule)
    frule.register(_f, Numeric, lists=True)(_frule)


# ------------------------------------------------------------------------------- trapezoidal rule


class Trapezoids:
    """The sums of neighbours and the distances that the rule multiplies."""

    def __init__(self, y: Any, x: Any, dx: Any, axis: int) -> None:
        self.y, self.x, self.axis = y, x, axis
        self.x_is_given = x is not None
        self.distances = self.differences(x) if self.x_is_given else dx

    def differences(self, x: Any) -> Any:
        """The distances between coordinates; one axis of them lies along ``axis``."""
        if np.ndim(x) != 1:
            return np.diff(x, axis=self.axis)
        lengths = [1] * np.ndim(self.y)
        lengths[self.axis] = -1
        return np.reshape(np.diff(x), lengths)

    def neighbours(self, y: Any) -> Any:
        """The sum of each two neighbours, halved."""
        y = np.swapaxes(y, self.axis, -1)
        return np.swapaxes((y[..., 1:] + y[..., :-1]) / 2, self.axis, -1)

    def pull_y(self, share: Any) -> Any:
        """Hand what each interval has to its two ends."""
        shape = np.shape(self.y)
        intervals = [1] * len(shape)
        intervals[self.axis] = max(shape[self.axis] - 1, 0)
        half = conj(self.distances) / 2
        half = np.broadcast_to(half, np.broadcast_shapes(np.shape(half), intervals))
        half = np.swapaxes(half, self.axis, -1)
        none = np.zeros_like(half[..., :1])
        ends = np.concatenate([half, none], axis=-1) + np.concatenate([none, half], axis=-1)
        bar = np.swapaxes(ends, self.axis, -1) * share
        return unbroadcast(np.broadcast_to(bar, np.broadcast_shapes(np.shape(bar), shape)), shape)

    def pull_distances(self, share: Any) -> Any:
        """The cotangent of the distances."""
        bar = share * conj(self.neighbours(self.y))
        return unbroadcast(bar, np.shape(self.distances))

    def pull_x(self, share: Any) -> Any:
        """The cotangent of the coordinates."""
        if np.size(self.x) == 0:
            return np.zeros_like(self.x)
        bar = self.pull_distances(share)
        if np.ndim(self.x) == 1:
            return diff_adjoint(np.reshape(bar, (-1,)), -1)
        return diff_adjoint(bar, self.axis)


_TRAPEZOID = tuple(getattr(np, name) for name in ("trapezoid", "trapz") if name in dir(np))


def trapezoid_rules(f: Callable) -> None:
    """Register the rules of the trapezoidal rule."""

    @pair_rule(f, Numeric, lists=True, shaped_by=(0, 1, 2))
    def trapezoid_rule(y, x=None, dx=1.0, *, axis=-1):
        r = f(y, x, dx, axis)

        def trapezoid_pushforward(y_dot, x_dot, dx_dot):
            t = Trapezoids(y, x, dx, axis)
            r_dot: Any = ZeroTangent()
            if not isinstance(y_dot, AbstractZero):
                moved = t.distances * t.neighbours(y_dot)
                r_dot = np.sum(moved, axis=axis)
            d_dot: Any = ZeroTangent()
            if t.x_is_given and not isinstance(x_dot, AbstractZero):
                d_dot = t.differences(x_dot)
            elif not t.x_is_given and not isinstance(dx_dot, AbstractZero):
                d_dot = dx_dot
            if not isinstance(d_dot, AbstractZero):
                r_dot = r_dot + np.sum(d_dot * t.neighbours(t.y), axis=axis)
            return fit(r_dot, r)

        def trapezoid_pullback(r_bar):
            t = Trapezoids(y, x, dx, axis)
            share = np.expand_dims(r_bar, axis)
            y_bar = thunk(lambda: t.pull_y(share))
            if x is None:
                return y_bar, NoTangent(), thunk(lambda: t.pull_distances(share))
            return y_bar, thunk(lambda: t.pull_x(share)), ZeroTangent()

        return r, trapezoid_pushforward, trapezoid_pullback


for _f in _TRAPEZOID:
    trapezoid_rules(_f)
