"""Sums and means, with weights and without NaNs.

A sum y = Σ x has x̄_i = ȳ: each summand gets the cotangent, as a broadcast view. A mean of n has
x̄_i = ȳ / n. A weighted mean y = Σ w x / Σ w has x̄ = w ȳ / Σ w and, as ∂y/∂w = (x - y) / Σ w,
w̄ = (x - y) ȳ / Σ w. The fast paths are in
:mod:`chainrules.reductions.fast_sums`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.reductions.axes import (
    UNSET,
    Rules,
    chosen,
    count,
    divisor,
    every,
    is_given,
    kept,
    options_of,
    present,
    reduced_axes,
    rounds,
    scaled,
    spread,
)
from chainrules.reductions.fast_sums import with_fast_mean, with_fast_sum
from chainrules_core import (
    AbstractZero,
    NoTangent,
    Numeric,
    Tangent,
    ZeroTangent,
    conj,
    frule,
    rrule,
    thunk,
    unbroadcast,
    unthunk,
)
from chainrules_core.authoring import fit, precise, spread_to


def sum_rules(f: Callable, summands: Callable) -> Rules:
    """Return the rules of a sum; ``initial`` is one more summand of every result.

    `summands` returns ``where`` less what `f` leaves out by itself.
    """

    def sum_rrule(a, initial=UNSET, *, axis=None, dtype=None, keepdims=False, where=True):
        shape = np.shape(a)
        options = options_of(keepdims=keepdims, initial=initial, where=where)
        y = f(a, axis=axis, dtype=dtype, **options)
        where = summands(a, where)

        def sum_pullback(y_bar):
            if rounds(dtype):
                return ZeroTangent(), ZeroTangent()
            a_bar = spread_to(chosen(kept(y_bar, shape, axis), where), shape)
            return a_bar, np.sum(y_bar) if is_given(initial) else NoTangent()

        return y, sum_pullback

    def sum_frule(dots, a, initial=UNSET, *, axis=None, dtype=None, keepdims=False, where=True):
        a_dot, initial_dot = dots
        options = options_of(keepdims=keepdims, where=where)
        y = f(a, axis=axis, dtype=dtype, **options, **options_of(initial=initial))
        if rounds(dtype):
            return y, ZeroTangent()
        y_dot: Any = ZeroTangent()
        if not isinstance(a_dot, AbstractZero):
            options = options_of(keepdims=keepdims, where=summands(a, where))
            y_dot = np.sum(a_dot, axis=axis, dtype=dtype, **options)
        if is_given(initial) and not isinstance(initial_dot, AbstractZero):
            y_dot = y_dot + np.broadcast_to(initial_dot, np.shape(y))
        return y, y_dot

    return sum_rrule, sum_frule


# -------------------------------------------------------------------------------------------- mean


def mean_bar(y_bar: Any, shape: tuple[int, ...], axis: Any, where: Any = True) -> Any:
    """The cotangent of what was averaged over ``where``."""
    share = kept(y_bar, shape, axis) / divisor(count(shape, axis, where), y_bar)
    return spread_to(chosen(share, where), shape)


def mean_rules(f: Callable, elements: Callable) -> Rules:
    """Return the rules of a mean.

    `elements` returns ``where`` less what `f` leaves out by itself.
    """

    def mean_rrule(a, *, axis=None, dtype=None, keepdims=False, where=True):
        shape = np.shape(a)
        y = f(a, axis=axis, dtype=dtype, **options_of(keepdims=keepdims, where=where))
        where = elements(a, where)

        def mean_pullback(y_bar):
            return ZeroTangent() if rounds(dtype) else mean_bar(y_bar, shape, axis, where)

        return y, mean_pullback

    def mean_frule(dots, a, *, axis=None, dtype=None, keepdims=False, where=True):
        (a_dot,) = dots
        y = f(a, axis=axis, dtype=dtype, **options_of(keepdims=keepdims, where=where))
        if rounds(dtype):
            return y, ZeroTangent()
        where = elements(a, where)
        if f is np.mean:
            options = options_of(keepdims=keepdims, where=where)
            return y, np.mean(a_dot, axis=axis, dtype=dtype, **options)
        n = divisor(count(np.shape(a), axis, where), a_dot)
        shares = chosen(a_dot, where) / n
        return y, np.sum(shares, axis=axis, dtype=dtype, **options_of(keepdims=keepdims))

    return mean_rrule, mean_frule


for _f, (_rrule, _frule) in {
    np.sum: with_fast_sum(*sum_rules(np.sum, every)),
    np.nansum: sum_rules(np.nansum, present),
    np.mean: with_fast_mean(*mean_rules(np.mean, every)),
    np.nanmean: mean_rules(np.nanmean, present),
}.items():
    rrule.register(_f, Numeric, lists=True, shaped_by=(0,))(_rrule)
    frule.register(_f, Numeric, lists=True)(_frule)


# ----------------------------------------------------------------------------------- weighted mean


class WeightAxes:
    """Which axes of an array its weights are for.

    Weights of the array's own shape are one for each element; others have the shape of the axes
    that are averaged, in the order in which ``axis`` names them.
    """

    def __init__(self, shape: tuple[int, ...], weights: tuple[int, ...], axis: Any) -> None:
        self.shape, self.axis = shape, axis
        self.axes = None if weights == shape else reduced_axes(len(shape), axis)

    def laid(self, w: Any) -> Any:
        """Put the axes of weights where the array has them."""
        if self.axes is None:
            return w
        return np.reshape(np.transpose(w, np.argsort(self.axes)), self._lengths())

    def spread(self, w: Any) -> tuple[Any, Any]:
        """Return the weights in place, and their sums."""
        w = self.laid(w)
        return w, np.sum(np.broadcast_to(w, self.shape), axis=self.axis, keepdims=True)

    def gathered(self, w_bar: Any) -> Any:
        """Undo `laid`, adding up what belongs to the same weight."""
        if self.axes is None:
            return w_bar
        summed = unbroadcast(w_bar, self._lengths())
        summed = np.reshape(summed, [self.shape[i] for i in sorted(self.axes)])
        return np.transpose(summed, np.argsort(np.argsort(self.axes)))

    def _lengths(self) -> tuple[int, ...]:
        return tuple([n if i in (self.axes or ()) else 1 for i, n in enumerate(self.shape)])


def average(a: Any, weights: Any, axis: Any, returned: bool, keepdims: Any) -> Any:
    options = options_of(axis=axis, weights=weights, returned=returned, keepdims=keepdims)
    return np.average(a, **options)


@rrule.register(np.average, Numeric, lists=True, shaped_by=(0,))
def average_rrule(a, weights=None, *, axis=None, returned=False, keepdims=False):
    result = average(a, weights, axis, returned, keepdims)
    y = result[0] if returned else result
    a, weights = precise(y, (a, weights))
    shape = np.shape(a)

    def average_pullback(y_bar):
        y_bar, total_bar = map(unthunk, y_bar) if returned else (y_bar, ZeroTangent())
        if not is_given(weights):
            a_bar = y_bar if isinstance(y_bar, AbstractZero) else mean_bar(y_bar, shape, axis)
            return a_bar, NoTangent()
        along = WeightAxes(shape, np.shape(weights), axis)
        w, total = along.spread(weights)
        share: Any = ZeroTangent()
        if not isinstance(y_bar, AbstractZero):
            share = kept(y_bar, shape, axis) / conj(total)

        def pull_weights():
            w_bar = share
            if not isinstance(share, AbstractZero):
                w_bar = scaled(conj(a - kept(y, shape, axis)), share)
            if not isinstance(total_bar, AbstractZero):
                w_bar = w_bar + spread(total_bar, shape, axis)
            return w_bar if isinstance(w_bar, AbstractZero) else along.gathered(w_bar)

        def pull_a():
            return conj(w) * share

        return thunk(pull_a), thunk(pull_weights)

    return result, average_pullback


@frule.register(np.average, Numeric, lists=True)
def average_frule(dots, a, weights=None, *, axis=None, returned=False, keepdims=False):
    a_dot, w_dot = dots
    result = average(a, weights, axis, returned, keepdims)
    y = result[0] if returned else result
    a, weights = precise(y, (a, weights))
    options = options_of(keepdims=keepdims)
    y_dot: Any = ZeroTangent()
    total_dot: Any = ZeroTangent()
    shape = np.shape(a)
    if not is_given(weights):
        y_dot = np.mean(a_dot, axis=axis, **options)
    else:
        along = WeightAxes(shape, np.shape(weights), axis)
        w, total = along.spread(weights)
        if not isinstance(a_dot, AbstractZero):
            y_dot = np.sum(w / total * a_dot, axis=axis, **options)
        if not isinstance(w_dot, AbstractZero):
            w_dot = along.laid(w_dot)
            deviation = a - kept(y, shape, axis)
            y_dot = y_dot + np.sum(deviation * (w_dot / total), axis=axis, **options)
            total_dot = np.sum(np.broadcast_to(w_dot, shape), axis=axis, **options)
    if returned:
        return result, Tangent[tuple](fit(y_dot, y), fit(total_dot, result[1]))
    return result, fit(y_dot, y)
