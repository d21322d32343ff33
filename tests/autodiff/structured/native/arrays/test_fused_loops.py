"""Machine code: statements over one shape share a loop, unless one writes what others use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff.structured.native.arrays.fused_loops import FusedLoops


def carried(x: Any, w: Any) -> Any:
    for t in range(len(w)):
        y = w[t] * x * (1.0 - x)
        x = 0.5 * (x + y)
    return np.sum(x)


def two_states(q: Any, w: Any) -> Any:
    p = 0.5 * q
    for t in range(len(w)):
        p = p - w[t] * np.sin(q)
        q = q + 0.1 * p
    return np.sum(q * p)


def exchanged(x: Any, w: Any) -> Any:
    y = 2.0 * x
    for t in range(len(w)):
        x, y = y * w[t], x
    return np.sum(x * y)


def shared(x: Any, w: Any) -> Any:
    """Expressions that several statements read, before and after one that reads memory."""
    x = x.copy()
    for t in range(len(w)):
        a = np.exp(-x)
        b = a * a + w[t]
        x[0] = b[1] + a[2]
        c = a + b * x
        x = 0.5 * (c - a) / (1.0 + b)
    return np.sum(x * x)


def in_place(x: Any, w: Any) -> Any:
    x, y = x.copy(), 0.5 * x
    for t in range(len(w)):
        y += w[t] * x
        x *= 0.5 + 0.1 * y
        y -= 0.1 * x * x
        x[...] = y + 0.1 * x
    return np.sum(x * y)


def shifted(x: Any, w: Any) -> Any:
    """Writes and reads of neighbouring elements, which must not share a loop."""
    x = x.copy()
    for t in range(len(w)):
        y = x * w[t]
        x[1:] = y[:-1] + 0.5 * x[1:]
        y[:-1] = x[1:] * y[:-1]
        z = y[1:] * x[:-1]
        y[1:] = z
        x[:-1] += z
        x[::-1] *= 0.5 + 0.1 * y
    return np.sum(x * y)


def views(x: Any, w: Any) -> Any:
    """Several names for one array, and rows of it."""
    a = np.outer(w, x)
    for t in range(1, len(w)):
        row, before = a[t], a[t - 1]
        other = row
        row *= 0.5 + before
        other += w[t] * before
        before[...] = row * other
        a[0] += before * row
    return np.sum(a * a)


def branches(x: Any, w: Any) -> Any:
    y = x * 0.5
    for t in range(len(w)):
        z = x * y
        if t % 2:
            x = z + w[t]
            y = z * x
        else:
            y = y - z
            for _ in range(2):
                z = z * 0.5 + y
        x = x + 0.1 * z
    return np.sum(x * y)


def axes(x: Any, w: Any) -> Any:
    """A vector, and it as a row of a matrix: the sweep adds to its shadow by both shapes."""
    a, v, z = np.outer(x, x), x * 0.5, x * 1.0
    for t in range(len(w)):
        z = v * (z * a[t])
        a[:, :] -= 0.3 * (v[None, :] - a.T)
    return np.sum(np.sin(a)) + np.sum(z) + np.sum(w)


def parts(x: Any, w: Any) -> Any:
    """Ranges of an array and of a part of it that begins at its first element."""
    x = x.copy()
    y = 0.5 * x
    for _ in range(len(w)):
        head = y[:3]
        head[:] += x[:3]
        y[2:] += x[2:] * 0.3
        x[:3] = head[:] * 0.5
        x[1:] -= y[:-1] * 0.2
    return np.sum(x * x) + np.sum(y) + np.sum(w)


def listed(x: Any, w: Any) -> Any:
    """An array that is changed by way of a list."""
    x = x.copy()
    for t in range(len(w)):
        y = x * w[t]
        held = [y, x]
        z = y + x
        first = held[0]
        first *= z
        x = 0.5 * (y + z)
    return np.sum(x * x)


def swapped(x: Any, w: Any) -> Any:
    a = np.outer(x, 1.0 + x)
    for t in range(len(w)):
        b = a.T * w[t]
        a = a + b
        b = b * a
        a = 0.5 * a.T - 0.1 * b
    return np.sum(a * a)


def reduced(x: Any, w: Any) -> Any:
    for t in range(len(w)):
        y = x * w[t]
        z = np.tanh(y)
        s = np.sum(y * z)
        x = y + 0.1 * s * z * np.sum(z)
    return np.sum(x * x)


def condition(x: Any, w: Any) -> Any:
    for t in range(len(w)):
        low = x < w[t]
        y = np.where(low, x * x, 1.5 - x)
        x = np.where(low, y, 0.5 * (x + y))
    return np.sum(x)


def mixed(x: Any, w: Any) -> Any:
    """An array of float64 and one that may be of float32."""
    x, z = x.copy(), np.zeros(len(x))
    for t in range(len(w)):
        x[...] = z * w[t] + x
        z = z + 0.3 * x
    return np.sum(z * x)


CASES = [carried, two_states, exchanged, shared, in_place, shifted, views, branches, swapped,
         reduced, condition, listed, mixed, axes, parts]  # fmt: skip
FUSED = {carried, two_states, shared, in_place, branches, swapped, condition}


@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize("f", CASES)
def test_gradients(
    f: Callable, dtype: type, check_machine_code: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, original = [0], FusedLoops._emit
    monkeypatch.setattr(
        FusedLoops, "_emit", lambda e, group: counts.append(len(group)) or original(e, group)
    )
    rng = np.random.default_rng(7)
    for n in (5, 40):
        x, w = rng.random(n).astype(dtype), rng.random(4).astype(dtype)
        check_machine_code(f, lambda x=x, w=w: (x, w), 1e-11 if dtype is float else 2e-5)
    assert max(counts) > 1 or f not in FUSED
