"""Loops whose first turn is read by itself: a variable is of another kind before it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from tests.helpers import check_direction

X = 1.5 + np.cos(np.arange(12.0))
M = np.sin(np.arange(36.0)).reshape(12, 3)


def decays(x: Any, m: Any) -> Any:
    last, intensity, total = None, 0.0, 0.0
    for t in x:
        if last is not None:
            intensity = math.exp(-abs(t - last)) * (1.0 + intensity)
        total += math.log(0.5 + intensity)
        last = t
    return total + last


def largest(x: Any, m: Any) -> Any:
    best, where = None, None
    for i, v in enumerate(x):
        if best is None or v * m[i, 0] > best:
            best, where = v * m[i, 0], m[i]
    return best * where[1] + where[2]


def sums_of_arrays(x: Any, m: Any) -> Any:
    total = 0
    for k in range(2):
        part = 0.0
        for i in range(len(x)):
            part = part + x[i] * m[i]
        total = total + part * part * m[k]
    return np.sum(total)


def ends_early(x: Any, m: Any) -> Any:
    y, old = x[0], None
    for i in range(1, len(x)):
        y = y * m[i, 1] + x[i]
        if old is not None and abs(y - old) < 0.5:
            y = y * 2.0
            break
        old = y
        if y > 3.0:
            continue
        y = y + 0.1 * m[i, 0]
    return y


def ends_at_once(x: Any, m: Any) -> Any:
    r = None
    for i in range(len(x)):
        r = x[i] * m[i, 0] if r is None else r * 0.5 + x[i]
        if x[0] > 2.0:
            break
    return r


def until_small(x: Any, m: Any) -> Any:
    step, y, n = None, x[0], 0
    while step is None or abs(step) > 1e-3:
        step = (y * y - x[1]) / (2.0 * y)
        y = y - step
        n += 1
        if n > 20:
            break
    return y * m[0, 1] + step


def states(x: Any, m: Any) -> Any:
    state = None
    total = 0.0
    for i in range(len(x)):
        state = m[i] * x[0] if state is None else np.tanh(state + x[i] * m[i])
        for j in range(3):
            total += state[j] * x[i]
    return total


PROGRAMS = [decays, largest, sums_of_arrays, ends_early, ends_at_once, until_small, states]


@pytest.mark.parametrize("f", PROGRAMS)
def test_what_tracing_gives(f: Callable, check_program: Callable) -> None:
    check_program(f, X, M, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("f", PROGRAMS)
def test_differences(f: Callable) -> None:
    check_direction(f, X, M)


def of_each(x: Any, m: Any, n: int) -> Any:
    last = None
    for i in range(n):
        last = x[i] if last is None else last * x[i]
    return x[0] if last is None else last + m[0, 0]


def test_without_turns(traced: Callable) -> None:
    for n in (3, 0, 1, 2):
        expected = traced(lambda x, m, n=n: of_each(x, m, n), X, M)
        for x, y in zip(gradient(lambda x, m, n=n: of_each(x, m, n), X, M), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)
