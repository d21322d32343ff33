"""``upfirdn``: zeros put between the samples, a filter, and every so many outputs kept.

Before it the signal is continued by the mode: as NumPy pads, with the sign changing at each end
("antisymmetric"), on the straight line through the two samples at the end ("smooth"), or on the one
through the first and the last sample ("line"). What resamples by it is traced.

With 0 beyond the ends, y_i = Σ_j h_{i d - j u} x_j for `up` u and `down` d: the adjoint is the same
function, with the two exchanged and the filter reversed and conjugated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import signal

from chainrules.scipy.delegated import both
from chainrules.scipy.private import Private
from chainrules.scipy.signal.convolution import are_few, few_sums
from chainrules.transforms.linear import fitted
from chainrules_core import decompose, linear_rule, primitive
from chainrules_core.authoring import is_foreign

_upfirdn = Private("signal._upfirdn")

PADDING = {"symmetric": "symmetric", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}


def continued(x: Any, width: int, mode: str, cval: Any) -> Any:
    """Continue the last axis on both sides."""
    widths = [(0, 0)] * (np.ndim(x) - 1) + [(width, width)]
    n = np.shape(x)[-1]
    if mode == "constant":
        return np.pad(x - cval, widths) + cval
    if mode in PADDING:
        return np.pad(x, widths, PADDING[mode])
    if mode == "antireflect":
        return np.pad(x, widths, "reflect", reflect_type="odd")
    if mode == "antisymmetric":
        signs = np.where((np.arange(-width, n + width) // n) % 2, -1.0, 1.0)
        return signs.astype(np.finfo(x.dtype).dtype) * np.pad(x, widths, "symmetric")
    first, last = x[..., :1], x[..., -1:]
    if mode == "line":
        before = after = (last - first) / max(n - 1, 1)
    else:
        before, after = x[..., 1:2] - first, last - x[..., -2:-1]
    steps = np.arange(1, width + 1, dtype=np.finfo(x.dtype).dtype)
    return np.concatenate([first - steps[::-1] * before, x, last + steps * after], axis=-1)


@primitive
def filtered(h: Any, x: Any, up: int, down: int) -> Any:
    """``upfirdn`` along the last axis, with 0 beyond the ends."""
    return signal.upfirdn(h, x, up, down)


def x_adjoint(y_bar, h, x, up, down):
    taps, n = np.shape(h)[0], x.shape[-1]
    # So many zeros that output j lies at a multiple of `up`.
    lead = -(taps - 1) % up
    back = np.concatenate([np.zeros(lead, h.dtype), np.conj(h[::-1])])
    start = (taps - 1 + lead) // up
    return fitted(filtered(back, y_bar, down, up)[..., start : start + n], n, -1)


def with_gaps(x: Any, step: int) -> Any:
    """Put zeros between elements, such that they are `step` apart."""
    gaps = np.zeros((*np.shape(x), step - 1), x.dtype)
    spread = np.concatenate([x[..., None], gaps], axis=-1)
    return np.reshape(spread, (*np.shape(x)[:-1], np.shape(x)[-1] * step))


SHORT = 512
"""For so many taps products of vectors are quicker than Fourier transforms."""


def dots_of_phases(y_bar: np.ndarray, x: np.ndarray, taps: int, up: int, down: int) -> np.ndarray:
    """Return Σ ȳ_i conj(x_j) over all i, j with i down - j up = k, for each tap k.

    With i go on by `up` those pairs of one tap, with j by `down` (less what both have in common);
    so they are dot products of parts of the signals that are so far apart.
    """
    shared = math.gcd(up, down)
    step_i, step_j = up // shared, down // shared
    of_y = [np.ascontiguousarray(y_bar[r::step_i]) for r in range(step_i)]
    of_x = [np.ascontiguousarray(x[r::step_j]) for r in range(step_j)]
    found = np.zeros(taps, np.result_type(y_bar, x))
    for i in range(step_i):
        for k in range(i * down % shared, taps, shared):
            if (i * down - k) % up:
                continue
            j = (i * down - k) // up
            begin, (place, phase) = max(0, -(j // step_j)), divmod(j, step_j)
            left, right = of_y[i][begin:], of_x[phase][place + begin :]
            count = min(left.size, right.size)
            found[k] = np.vdot(right[:count], left[:count])
    return found


def h_adjoint(y_bar, h, x, up, down):
    taps, n = h.shape[0], np.shape(x)[-1]
    if np.ndim(x) == 1 and taps <= SHORT and not is_foreign(y_bar) and not is_foreign(x):
        return dots_of_phases(y_bar, x, taps, up, down)
    spread = fitted(with_gaps(y_bar, down), taps + n * up - 1, -1)
    x = np.conj(x)
    if are_few(taps, n * up):
        sums = few_sums(spread, np.flip(with_gaps(x, up), -1))
        return np.sum(sums, tuple(range(x.ndim - 1)))
    axes, spread = list(range(x.ndim)), fitted(spread, taps + n * up, -1)
    lags = [spread[..., k : k + n * up : up] for k in range(taps)]
    return np.stack([np.einsum(x, axes, lag, axes, []) for lag in lags])


linear_rule(filtered, h_adjoint, x_adjoint)


def upfirdn_body(h, x, up=1, down=1, axis=-1, mode="constant", cval=0):
    h, x, up, down, mode = np.asarray(h), np.asarray(x), int(up), int(down), mode.lower()
    dtype = np.result_type(h.dtype, x.dtype, np.float32)
    h, x = h.astype(dtype), np.moveaxis(x.astype(dtype), axis, -1)
    taps, n = np.shape(h)[0], np.shape(x)[-1]
    # As far as the filter reaches, and a whole number of outputs.
    width = -(-((taps - 1) // up + 1) // down) * down
    y = filtered(h, continued(x, width, mode, cval), up, down)[..., width * up // down :]
    return np.moveaxis(y[..., : _upfirdn._output_len(taps, n, up, down)], -1, axis)


for _f in both(signal.upfirdn):
    decompose(_f, shaped_by=(0, 1))(upfirdn_body)
