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

from chainrules.scipy.delegated import both, trace_body
from chainrules.scipy.signal.filters.filtering import lagged_products
from chainrules_core import AbstractZero, Array, Tangent, decompose, frule, primitive, rrule, thunk
from chainrules_core.authoring import parts


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


def backward(sos: Any, y_bar: Any, zf_bar: Any) -> list:
    """E of each section."""
    found = []
    # In reversed time, the nearest first, what comes after the end is the past.
    bar, past = np.flip(y_bar, -1), np.zeros_like(zf_bar[0])
    b = np.eye(3, dtype=sos.dtype)[0]
    for (own_b, own_a), after in reversed(list(zip(sections(sos), zf_bar, strict=True))):
        a = np.conj(own_a)
        nearest = b[1:] * past[..., :1] - a[1:] * after[..., :1]
        farther = b[2:] * past[..., 1:] - a[2:] * after[..., 1:]
        state = np.concatenate([nearest[..., :1] + farther, nearest[..., 1:]], -1)
        bar, _ = signal.lfilter(b, a, bar, -1, state)
        found.append(np.concatenate([np.flip(bar, -1), after], -1))
        b, past = np.conj(own_b), after
    return found[::-1]


def input_bar(sos: Any, first: Any) -> Any:
    """The cotangent of the input, from E of the first section."""
    if np.ndim(first) == 1 and np.size(first) > 2:
        return np.correlate(first, sos[0, :3], "valid")
    b, n = np.conj(sos[0, :3]), np.shape(first)[-1] - 2
    return b[0] * first[..., :n] + b[1] * first[..., 1 : n + 1] + b[2] * first[..., 2:]


def coefficients_bar(sos: Any, x: Any, zi: Any, y: Any, Es: list) -> Any:
    """The cotangents of all coefficients, section by section."""
    us, rows = [x], []
    for (b, a), z in list(zip(sections(sos), zi, strict=True))[:-1]:
        us.append(signal.lfilter(b, a, us[-1], -1, z)[0])
    for E, before, after in zip(Es, us, [*us[1:], y], strict=True):
        of_b, of_a = lagged_products(E, before, 3), lagged_products(E, after, 3)
        rows.append(np.concatenate([of_b, np.zeros(1, of_b.dtype), -of_a[1:]]))
    return np.stack(rows)


@rrule.register(cascade, Array, Array)
def cascade_rrule(sos, x):
    y = cascade(sos, x)

    def cascade_pullback(y_bar):
        known = []

        def sos_bar():
            none = at_rest(sos, y)
            Es = backward(sos, y_bar, none)
            known.append(Es[0])
            return coefficients_bar(sos, x, none, y, Es)

        def x_bar():
            # Without that of the coefficients it is the same cascade backwards in time.
            if known:
                return input_bar(sos, known[0])
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
        y_bar, zf_bar = parts(bars, 2)
        y_bar = np.zeros_like(y[0]) if y_bar is None else y_bar
        zf_bar = np.zeros_like(y[1]) if zf_bar is None else zf_bar
        Es = backward(sos, y_bar, zf_bar)
        sos_bar = thunk(lambda: coefficients_bar(sos, x, zi, y[0], Es))
        return sos_bar, input_bar(sos, Es[0]), np.stack([E[..., :2] for E in Es])

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


@decompose(both(signal.sosfilt))
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
