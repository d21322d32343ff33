"""Largest and smallest elements.

Elements that tie share the derivative equally, ``initial`` among them: where n of them equal the
result, ∂y/∂x_i = 1/n (:mod:`chainrules.reductions.ties`). Where the result is NaN, the NaNs of the
argument share it. Its fast paths are in :mod:`chainrules.reductions.fast_extrema`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.reductions.axes import UNSET, Rules, every, is_given, options_of, present
from chainrules.reductions.fast_extrema import FastTies, fast_value, placed, small_bar
from chainrules.reductions.ties import has_gaps
from chainrules_core import AbstractZero, NoTangent, Numeric, ZeroTangent, frule, rrule
from chainrules_core.authoring import fit


def extremum_rules(f: Callable, elements: Callable) -> Rules:
    """Return the rules of a reduction by maximum or minimum.

    `elements` returns ``where`` less what `f` leaves out by itself.
    """
    value = fast_value(f)

    def extremum_rrule(a, initial=UNSET, *, axis=None, keepdims=False, where=True):
        y = value(a, initial, axis, keepdims, where)

        def extremum_pullback(y_bar):
            a_bar = small_bar(a, y, y_bar, axis, where, initial)
            if a_bar is not None:
                return a_bar, NoTangent()
            # A NaN is equal to nothing, so it has to be left out only where the result is one.
            some = elements(a, where) if has_gaps(y) else where
            ties = FastTies(a, y, axis, some, initial)
            own = ties.pull_initial(y_bar) if is_given(initial) else NoTangent()
            return ties.pull(y_bar), own

        return y, extremum_pullback

    def extremum_frule(dots, a, initial=UNSET, *, axis=None, keepdims=False, where=True):
        a_dot, initial_dot = dots
        y = value(a, initial, axis, keepdims, where)
        ties = FastTies(a, y, axis, elements(a, where) if has_gaps(y) else where, initial)
        y_dot: Any = ZeroTangent()
        if not isinstance(a_dot, AbstractZero):
            y_dot = ties.push(a_dot, keepdims)
        if is_given(initial) and not isinstance(initial_dot, AbstractZero):
            own = np.where(ties.initial, initial_dot, 0) / ties.n
            y_dot = y_dot + np.reshape(own, np.shape(y))
        return y, fit(y_dot, y)

    return extremum_rrule, extremum_frule


_EXTREMA = [(f, every) for f in (np.max, np.amax, np.min, np.amin)]
for _f, _elements in [*_EXTREMA, (np.nanmax, present), (np.nanmin, present)]:
    _rrule, _frule = extremum_rules(_f, _elements)
    rrule.register(_f, Numeric, lists=True, shaped_by=(0,))(_rrule)
    frule.register(_f, Numeric, lists=True)(_frule)


@rrule.register(np.ptp, Numeric, lists=True, shaped_by=(0,))
def ptp_rrule(a, *, axis=None, keepdims=False):
    y, top, bottom = ends(a, axis, keepdims)

    def ptp_pullback(y_bar):
        largest, smallest = FastTies(a, top, axis), FastTies(a, bottom, axis)
        flat = np.any(np.equal(y, 0))  # then elements are largest and smallest at once
        if largest.places is None or smallest.places is None or flat:
            return largest.pull(y_bar) - smallest.pull(y_bar)
        values = [
            np.broadcast_to(ties.at_places(ties.shares(bar)), np.shape(ties.places))
            for ties, bar in ((largest, y_bar), (smallest, -y_bar))
        ]
        places = np.concatenate([largest.places, smallest.places])
        return placed(np.concatenate(values), places, largest.shape)

    return y, ptp_pullback


@frule.register(np.ptp, Numeric, lists=True)
def ptp_frule(dots, a, *, axis=None, keepdims=False):
    y, top, bottom = ends(a, axis, keepdims)
    y_dot = FastTies(a, top, axis).push(dots[0], keepdims) - FastTies(a, bottom, axis).push(
        dots[0], keepdims
    )
    return y, fit(y_dot, y)


def ends(a: Any, axis: Any, keepdims: Any) -> tuple[Any, Any, Any]:
    """Return what ``ptp`` gives, and the largest and smallest elements that it is made of."""
    options = options_of(keepdims=keepdims)
    top, bottom = np.max(a, axis=axis, **options), np.min(a, axis=axis, **options)
    return np.subtract(top, bottom), top, bottom
