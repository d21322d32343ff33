"""Machine code: the cotangents of a stencil are added to overlapping ranges in one pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff.structured.native.arrays.updates import RangeUpdates

RNG = np.random.default_rng(5)


def line(a: Any, w: Any) -> Any:
    a, b = a.copy(), a.copy()
    for t in range(len(w)):
        b[1:-1] = w[t] * (a[:-2] - 2.0 * a[1:-1] + 0.5 * a[2:])
        a[1:-1] += b[:-2] * b[2:] + w[0]
    return np.sum(a * a)


def apart(a: Any, w: Any) -> Any:
    """Ranges that share nothing, or only an end; and all of an array."""
    s = 0.0
    for t in range(len(w)):
        b = np.sin(a)
        s = s + np.sum(b[:2] * b[-2:]) * w[t] + np.sum(b[1:4] * w[0] + b[3:6]) + np.sum(b * b)
    return s


def between(a: Any, w: Any) -> Any:
    """Reads and writes of the array between its updates."""
    a = a.copy()
    for t in range(len(w)):
        c = a[1:] * a[:-1]
        a[:-1] = c * w[t] + a[1:]
        a[2:-1] = a[1:-2] - a[3:] * np.cos(c[2:])
    return np.sum(a * a)


def plane(a: Any, w: Any) -> Any:
    a = a.copy()
    for t in range(len(w)):
        b = a * w[t]
        a[1:-1, 1:-1] = b[1:-1, :-2] + b[1:-1, 2:] - b[2:, 1:-1] * b[:-2, 1:-1] + a[1:-1, 1:-1]
        a[:2, 1:] -= b[-2:, :-1] + b[1:3, 1:]
    return np.sum(a * a)


def turned(a: Any, w: Any) -> Any:
    """The same memory in another order of the axes."""
    a = a.copy()
    for t in range(len(w)):
        b = w[t] * a
        a[1:, 1:] = b.T[1:, 1:] * b[1:, 1:] + b.T[:-1, 1:] + b[::-1, :][1:, :-1]
        a += np.sin(b.T) + b
    return np.sum(a * a)


def space(a: Any, w: Any) -> Any:
    a = a.copy()
    for t in range(len(w)):
        c = a[1:-1, 1:-1, 1:-1]
        x = a[2:, 1:-1, 1:-1] - 2.0 * c + a[:-2, 1:-1, 1:-1]
        z = a[1:-1, 1:-1, 2:] * c - a[1:-1, :-2, 1:-1]
        a[1:-1, 1:-1, 1:-1] = c + w[t] * (x + z)
    return np.sum(a * a)


CASES = [
    (line, [(40,), (3,), (5,)], float), (line, [(30,), (4,)], np.float32),
    (apart, [(9,), (6,), (30,)], float), (between, [(30,), (4,), (5,)], float),
    (turned, [(4, 4)], float), (plane, [(6, 20), (3, 3)], float), (plane, [(4, 3)], np.float32),
    (space, [(4, 5, 9), (3, 3, 3)], float),
]  # fmt: skip


@pytest.mark.parametrize("f, shapes, dtype", CASES)
def test_gradients(
    f: Callable, shapes: list, dtype: type, check_machine_code: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    counts, original = [], RangeUpdates.write
    monkeypatch.setattr(
        RangeUpdates,
        "write",
        lambda e, *given: counts.append(len(given[-1])) or original(e, *given),
    )
    for shape in shapes:
        a, w = RNG.random(shape).astype(dtype), RNG.random(3).astype(dtype)
        check_machine_code(f, lambda a=a, w=w: (a, w), 1e-11 if dtype is float else 2e-5)
    assert f is turned or max(counts) >= 2
