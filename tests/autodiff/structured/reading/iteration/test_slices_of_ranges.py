"""Slices of ranges, and lists of tuples of integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from tests.helpers import check_gradient

X = np.sin(np.arange(1.0, 13.0))


def sweeps(x: Any) -> Any:
    y, total = x.copy(), 0.0
    for step in (1, -1, 2, -3):
        for i in range(len(x))[::step]:
            y[i] += 0.3 * y[i - 1] * x[i]
        total += np.sum(y)
    return total


def bounds(x: Any) -> Any:
    total, over = 0.0, range(20, 2, -2)
    for low in (None, 2, -3, 30):
        for high in (None, 5, -2, -30):
            for by in (None, 1, 2, -1, -3):
                for i in over[low:high:by]:
                    total = 0.9 * total + x[i % 12] * i
    return total


def varying_bounds(x: Any) -> Any:
    total = 0.0
    for k in range(-5, 6):
        part = range(12)[k : 9 - k : 3 - 2 * (k % 2)]
        for i in part:
            total = 0.5 * total + x[i] ** 2
        total += len(part) * x[0]
    return total


def forward_or_backward(x: Any) -> Any:
    y, total = x.copy(), 0.0
    for k in range(5):
        order = range(1, 12, 2) if k % 2 else reversed(range(1, 12, 3))
        for i in order:
            y[i] += 0.3 * y[i - 1] * x[i]
        for i in reversed(range(k)) if x[k] > 0.0 else reversed(range(k, 11)):
            total = 0.9 * total + y[i] * x[i + 1]
    return total


def lists_of_integers(x: Any) -> Any:
    total = 0.0
    for place in [(i, i + 1, (i * 7) % 12) for i in range(11)]:
        total += np.sum(x[list(place)]) ** 2
    for i in range(4):
        (n,) = list(x.shape)
        total += x[n - i - 1] ** 3
    return total


@pytest.mark.parametrize(
    "f", [sweeps, bounds, varying_bounds, lists_of_integers, forward_or_backward]
)
def test_slices(f: Callable, runs: list[str]) -> None:
    check_gradient(f, X)
    assert f.__name__ in runs


@pytest.mark.parametrize("n", [3, 4])
def test_an_iterator_ends_and_a_range_does_not(n: int, traced: Callable) -> None:
    def twice(x: Any) -> Any:
        order, total = range(4) if n % 2 else reversed(range(4)), 0.0
        for k in (1.0, 2.0, 3.0):
            for i in order:
                total = 0.5 * total + k * x[i] ** 2
        return total

    np.testing.assert_allclose(gradient(twice, X), traced(twice, X), rtol=1e-12)
