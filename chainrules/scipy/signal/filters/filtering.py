"""Recursive filters: ``lfilter``. What is a cascade of it is in `cascades`.

With K the larger number of coefficients, z the initial state (K-1 values), N samples, and full
convolutions, ``lfilter`` solves a * y + a₀ (0, z_f) = b * x + a₀ (z, 0) for the output y and the
final state z_f: the first N equations are the recursion, the other K-1 say what is left of it. (It
is the transposed direct form: the state is what the past still adds to the future.)

All is linear in (y, z_f) for fixed a, so pulling back is solving with the transposed matrix once:
with E of length N+K-1,

    Σ_k conj(a_k) E_{n+k} = ȳ_n  for n < N,    conj(a₀) E_{N+i} = z̄_f,i,

which is the filter 1/a backwards in time, from a state that z̄_f gives. Then

    x̄_n = Σ_k conj(b_k) E_{n+k},   b̄_k = Σ_n conj(x_n) E_{n+k},   ā_k = -Σ_n conj(y_n) E_{n+k},

z̄ = conj(a₀) E, as much of it as there is state, and ā₀ has the states' part as well.

Pushing forward, (ẏ, ż_f) is the filter's output for ẋ and ż, plus that of b's tangent for x, minus
that of a's tangent for y.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import signal

from chainrules.scipy.delegated import both
from chainrules.transforms.convolution import line
from chainrules.transforms.linear import fitted
from chainrules_core import (
    AbstractZero,
    NoTangent,
    Numeric,
    Tangent,
    ZeroTangent,
    frule,
    rrule,
    thunk,
    unbroadcast,
    unthunk,
)


def last(x: Any, axis: int) -> Any:
    return np.moveaxis(x, axis, -1)


def concrete(bar: Any, shape: tuple[int, ...], dtype: Any, axis: int) -> Any:
    """A cotangent with its axis at the end; zeros for none."""
    return np.zeros(shape, dtype) if isinstance(bar, AbstractZero) else last(bar, axis)


FEW = 16
"""For so many lags, products of vectors are quicker than a correlation."""


def lagged_products(E: Any, x: Any, count: int) -> Any:
    """Return Σ_n conj(x_n) E_{n+k} for the first k, summed over all other axes."""
    n = np.shape(x)[-1]
    if np.ndim(x) == 1 and count <= FEW:
        return np.stack([np.vdot(x, E[k : k + n]) for k in range(count)])
    if np.ndim(x) == 1:
        return np.correlate(E[: n + count - 1], x, "valid") if n else np.zeros(count, E.dtype)
    x = np.conj(x)
    return np.stack([np.sum(x * E[..., k : k + n]) for k in range(count)])


def backwards(a: Any, y_bar: Any, zf_bar: Any) -> Any:
    """Solve the transposed recursion; time is the last axis."""
    a, order = np.conj(a), np.size(a) - 1
    after = zf_bar / a[0]
    reversed_bar = np.flip(y_bar, -1)
    if order == 0:
        return np.concatenate([y_bar / a[0], after], -1)
    # E after the end is the past of the reversed filter, the nearest first.
    past = fitted(after, order, -1) if np.shape(after)[-1] < order else after[..., :order]
    left = [-np.sum(a[i + 1 :] * past[..., : order - i], -1) / a[0] for i in range(order)]
    one = np.ones(1, a.dtype)
    E, _ = signal.lfilter(one, a, reversed_bar, zi=np.stack(left, -1))
    return np.concatenate([np.flip(E, -1), after], -1)


@rrule.register(both(signal.lfilter), Numeric, Numeric, Numeric, lists=True, shaped_by=(0, 2, 3))
def lfilter_rrule(b, a, x, zi=None, *, axis=-1):
    y = signal.lfilter(b, a, x, axis, zi)
    taps = np.size(b), np.size(a)
    order = max(taps) - 1
    b_shape, a_shape = np.shape(b), np.shape(a)

    def lfilter_pullback(bars):
        a_line, b_line = line(a), line(b)
        xs, ys = last(x, axis), last(y if zi is None else y[0], axis)
        n = np.shape(xs)[-1]
        y_bar = unthunk(bars) if zi is None else unthunk(bars[0])
        zf_bar = ZeroTangent() if zi is None else unthunk(bars[1])
        dtype = ys.dtype
        states = (*np.shape(xs)[:-1], order)
        y_bar = concrete(y_bar, np.shape(ys), dtype, axis)
        zf_bar = concrete(zf_bar, states, dtype, axis)
        E = backwards(a_line, y_bar, zf_bar)

        def b_bar():
            return np.reshape(lagged_products(E, xs, taps[0]), b_shape)

        def zi_bar():
            return np.conj(a_line[0]) * E[..., :order]

        def a_bar():
            bar = -lagged_products(E, ys, taps[1])
            if zi is not None:
                first = np.sum(np.conj(last(zi, axis)) * E[..., :order])
                first = first - np.sum(np.conj(last(y[1], axis)) * E[..., n:])
                bar = np.concatenate([bar[:1] + first, bar[1:]])
            return np.reshape(bar, a_shape)

        def x_bar():
            if np.ndim(E) == 1 and n:
                return np.correlate(E[: n + taps[0] - 1], b_line, "valid")
            one = np.ones(1, b_line.dtype)
            bar = signal.lfilter(np.conj(b_line), one, np.flip(E[..., : n + taps[0] - 1], -1))
            bar = np.flip(bar, -1)[..., :n]
            return np.moveaxis(bar, -1, axis)

        def state_bar():
            return unbroadcast(np.moveaxis(zi_bar(), -1, axis), np.shape(zi))

        z_bar = NoTangent() if zi is None else thunk(state_bar)
        return thunk(b_bar), thunk(a_bar), thunk(x_bar), z_bar

    return y, lfilter_pullback


@frule.register(both(signal.lfilter), Numeric, Numeric, Numeric, lists=True)
def lfilter_frule(dots, b, a, x, zi=None, *, axis=-1):
    b_dot, a_dot, x_dot, zi_dot = dots
    y = signal.lfilter(b, a, x, axis, zi)
    taps = max(np.size(b), np.size(a))
    if zi is None:
        y_dot = signal.lfilter(b, a, x_dot, axis)
        y_dot = y_dot + signal.lfilter(b_dot, a, x, axis) - signal.lfilter(a_dot, a, y, axis)
        return y, y_dot
    # The states' part of the derivative by a₀.
    shape = [1] * np.ndim(x)
    shape[axis] = -1
    b_dot, a_dot = fitted(line(b_dot), taps, 0), fitted(line(a_dot), taps, 0)
    a_line = line(a)
    zero = np.zeros((1,) * np.ndim(x), x.dtype)
    empty = np.broadcast_to(zero, [taps - 1 if i == axis % np.ndim(x) else n
                                   for i, n in enumerate(np.shape(x))])  # fmt: skip
    terms = [
        signal.lfilter(b, a, x_dot, axis, zi_dot + a_dot[0] / a_line[0] * zi),
        signal.lfilter(b_dot, a, x, axis, empty),
        signal.lfilter(-a_dot, a, y[0], axis, empty),
    ]
    y_dot = terms[0][0] + terms[1][0] + terms[2][0]
    zf_dot = terms[0][1] + terms[1][1] + terms[2][1] - a_dot[0] / a_line[0] * y[1]
    return y, Tangent[tuple](y_dot, zf_dot)
