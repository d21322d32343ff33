"""``np.convolve`` and ``np.correlate``.

A full convolution y_k = Σ a_i v_{k-i} is linear in either sequence, and its adjoints correlate:
ā_i = Σ ȳ_{i+j} conj(v_j), which is the correlation of ȳ with v where they overlap completely. The
modes "same" and "valid" return a part of the full convolution, the same number of outputs cut off
on either side (one more at the end, if odd): there ȳ is 0.

A correlation Σ a_{i+k} conj(v_i) is the convolution of a with v reversed and conjugated. Where v is
the longer one, NumPy correlates the other way round and reverses the result, so that the odd output
is cut off at the other end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_core import Numeric, linear_rule

# Numbers for modes are from the time of Numeric; NumPy still takes them.
MODES = {0: "valid", 1: "same", 2: "full"}


def line(x: Any) -> Any:
    """A sequence; a number is one of length one."""
    return np.reshape(x, (1,)) if np.ndim(x) == 0 else x


def offset(mode: Any, n: int, m: int) -> int:
    """Return how much of a full convolution is cut off before its part."""
    mode = MODES.get(mode, mode)
    shorter = min(n, m)
    return {"full": 0, "same": (shorter - 1) // 2, "valid": shorter - 1}[mode]


def whole(y_bar: Any, start: int, size: int) -> Any:
    """The cotangent of a full convolution from that of its part: zeros around it."""
    if np.size(y_bar) == size:
        return y_bar
    if type(y_bar) is np.ndarray:  # in a tenth of the time
        made = np.zeros(size, y_bar.dtype)
        made[start : start + y_bar.size] = y_bar
        return made
    return np.pad(y_bar, (start, size - start - np.size(y_bar)))


def full_bar(y_bar: Any, a: Any, v: Any, mode: Any) -> Any:
    """The cotangent of the full convolution of arrays or spaces."""
    n, m = np.size(a), np.size(v)
    return whole(y_bar, offset(mode, n, m), n + m - 1)


def full_correlation_bar(y_bar: Any, a: Any, v: Any, mode: Any) -> Any:
    """The cotangent of the full correlation of arrays or spaces."""
    n, m = np.size(a), np.size(v)
    start = offset(mode, n, m)
    return whole(y_bar, start if n >= m else n + m - 1 - start - np.size(y_bar), n + m - 1)


def convolve_a_bar(y_bar, a, v, *, mode="full"):
    bar = np.correlate(full_bar(y_bar, a, v, mode), line(v), "valid")
    return np.reshape(bar, a.shape)


def convolve_v_bar(y_bar, a, v, *, mode="full"):
    bar = np.correlate(full_bar(y_bar, a, v, mode), line(a), "valid")
    return np.reshape(bar, v.shape)


def correlate_a_bar(y_bar, a, v, *, mode="valid"):
    bar = np.convolve(full_correlation_bar(y_bar, a, v, mode), line(v), "valid")
    return np.reshape(bar, a.shape)


def correlate_v_bar(y_bar, a, v, *, mode="valid"):
    bar = np.correlate(full_correlation_bar(y_bar, a, v, mode), line(a), "valid")
    return np.reshape(np.conj(bar)[::-1], v.shape)


linear_rule(np.convolve, convolve_a_bar, convolve_v_bar, types=(Numeric, Numeric), lists=True)
linear_rule(np.correlate, correlate_a_bar, correlate_v_bar, types=(Numeric, Numeric), lists=True)
