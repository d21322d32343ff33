"""``sosfilt``: a cascade of sections, each of them an ``lfilter`` of second order.

With the notation of `filtering`, the cotangents of a section follow from its input, its output
and E, which is the filter 1/a backwards in time. E of the section before comes from it by one more
filter of second order, b of this section over a of that. So a section costs one filter forward,
but for the last, whose output is known, and one backward. SciPy takes the fourth coefficient of a
section for granted to be 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import signal

from chainrules.linalg.spectral import part
from chainrules.scipy.delegated import both, register_body, trace_body
from chainrules.scipy.signal.filtering import lagged_products
from chainrules_core import AbstractZero, Array, Tangent, frule, rrule, thunk
from chainrules_core.define import primitive


def sections(sos: Any) -> list[tuple[Any, Any]]:
    """Return b and a of each section."""
    one = np.ones(1, sos.dtype)
    return [(row[:3], np.concatenate([one, row[4:]])) for row in sos]


@primitive
def cascade(sos: Any, x: Any) -> Any:
    """Filter along the last axis from rest."""
    return signal.sosfilt(sos, x, -1)


@primitive
def cascade_from(sos: Any, x: Any, zi: Any) -> Any:
    """Filter along the last axis from states, one for each section; return the last states, too."""
    return signal.sosfilt(sos, x, -1, zi)


def at_rest(sos: Any, x: Any) -> Any:
    return np.zeros((np.shape(sos)[0], *np.shape(x)[:-1], 2), np.result_type(sos, x))


def cascade_adjoints(sos: Any, x: Any, zi: Any, y: Any, y_bar: Any, zf_bar: Any) -> tuple:
    """The cotangents of all coefficients, section by section, of x and of the states."""
    parts, us = sections(sos), [x]
    for (b, a), z in list(zip(parts, zi, strict=True))[:-1]:
        us.append(signal.lfilter(b, a, us[-1], -1, z)[0])
    us.append(y)
    # In reversed time, the nearest first, what comes after the end is the past.
    reversed_bar, past = np.flip(y_bar, -1), np.zeros_like(zf_bar[0])
    b_conj, rows, z_bars = np.eye(3, dtype=sos.dtype)[0], [], []
    for s in reversed(range(len(parts))):
        a, after = np.conj(parts[s][1]), zf_bar[s]
        nearest = b_conj[1:] * past[..., :1] - a[1:] * after[..., :1]
        farther = b_conj[2:] * past[..., 1:] - a[2:] * after[..., 1:]
        state = np.concatenate([nearest[..., :1] + farther, nearest[..., 1:]], -1)
        reversed_bar, _ = signal.lfilter(b_conj, a, reversed_bar, -1, state)
        E = np.concatenate([np.flip(reversed_bar, -1), after], -1)
        of_b, of_a = lagged_products(E, us[s], 3), lagged_products(E, us[s + 1], 3)
        rows.append(np.concatenate([of_b, np.zeros(1, of_b.dtype), -of_a[1:]]))
        z_bars.append(E[..., :2])
        b_conj, past = np.conj(parts[s][0]), after
    n = np.shape(x)[-1]
    x_bar = b_conj[0] * E[..., :n] + b_conj[1] * E[..., 1 : n + 1] + b_conj[2] * E[..., 2:]
    return np.stack(rows[::-1]), x_bar, np.stack(z_bars[::-1])


@rrule.register(cascade, Array, Array)
def cascade_rrule(sos, x):
    y = cascade(sos, x)

    def cascade_pullback(y_bar):
        known = []

        def sos_bar():
            none = at_rest(sos, y)
            of_sos, of_x, _ = cascade_adjoints(sos, x, none, y, y_bar, none)
            known.append(of_x)
            return of_sos

        def x_bar():
            # Without that of the coefficients it is the same cascade backwards in time.
            if known:
                return known[0]
            return np.flip(cascade(np.conj(sos), np.flip(y_bar, -1)), -1)

        return thunk(sos_bar), thunk(x_bar)

    return y, cascade_pullback


@frule.register(cascade, Array, Array)
def cascade_frule(dots, sos, x):
    none = at_rest(sos, x)
    return cascade(sos, x), moved_cascade((*dots, none), sos, x, none)[0]


def moved_cascade(dots: tuple, sos: Any, x: Any, zi: Any) -> tuple[Any, Any]:
    """The tangents of the output and of the last states."""
    sos_dot, moved, zi_dot = dots
    if isinstance(sos_dot, AbstractZero):
        return cascade_from(sos, moved, zi_dot)
    zero, states = np.zeros(1, sos.dtype), []
    for (b, a), row, z, z_dot in zip(sections(sos), sos_dot, zi, zi_dot, strict=True):
        y, _ = signal.lfilter(b, a, x, -1, z)
        a_dot, none = np.concatenate([zero, row[4:]]), np.zeros_like(z)
        own, own_state = signal.lfilter(b, a, moved, -1, z_dot)
        of_b, b_state = signal.lfilter(row[:3], a, x, -1, none)
        of_a, a_state = signal.lfilter(a_dot, a, y, -1, none)
        x, moved = y, own + of_b - of_a
        states.append(own_state + b_state - a_state)
    return moved, np.stack(states)


@rrule.register(cascade_from, Array, Array, Array)
def cascade_from_rrule(sos, x, zi):
    y = cascade_from(sos, x, zi)

    def cascade_from_pullback(bars):
        y_bar, zf_bar = part(bars, 0), part(bars, 1)
        y_bar = np.zeros_like(y[0]) if y_bar is None else y_bar
        zf_bar = np.zeros_like(y[1]) if zf_bar is None else zf_bar
        return cascade_adjoints(sos, x, zi, y[0], y_bar, zf_bar)

    return y, cascade_from_pullback


@frule.register(cascade_from, Array, Array, Array)
def cascade_from_frule(dots, sos, x, zi):
    y = cascade_from(sos, x, zi)
    likes = (sos, x, zi)
    dots = [
        np.zeros_like(like) if k and isinstance(dot, AbstractZero) else dot
        for k, (dot, like) in enumerate(zip(dots, likes, strict=True))
    ]
    return y, Tangent[tuple](*moved_cascade(tuple(dots), sos, x, zi))


@register_body(signal.sosfilt)
def sosfilt_body(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    sos, x = np.atleast_2d(sos), np.asarray(x)
    lines = np.moveaxis(x, axis, -1)
    if zi is None:
        return np.moveaxis(cascade(sos, lines), -1, axis)
    # Of the states the first axis is that of the sections.
    own = axis if axis < 0 else axis + 1
    y, zf = cascade_from(sos, lines, np.moveaxis(np.asarray(zi), own, -1))
    return np.moveaxis(y, -1, axis), np.moveaxis(zf, -1, own)


# Compiled code of older versions of SciPy, beneath it, does not take arrays that may be traced.
trace_body(*both(signal.sosfiltfilt))
