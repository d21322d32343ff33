"""Functions of integers in machine code: those of `math`, and conversions of arrays of floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff

X = np.sin(np.arange(9.0)) + 1.4


def coefficients(x: Any) -> Any:
    total = 0.0
    for n in range(len(x)):
        for k in range(n + 2):
            weight = math.comb(n + 40, k) / math.factorial(n) + math.perm(n, k) * 1e-3
            total += x[n] ** 2 * weight + math.comb(n + 20, n + 18) * x[k % 9]
    return total


def gammas(x: Any) -> Any:
    total = 0.0
    for k in range(len(x)):
        total += math.gamma(x[k] + 0.5) * math.lgamma(x[k] + 2.0)
    return total


def places(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        i = np.floor(3.0 * x - k).astype(int)
        counts = (3.7 * np.cos(np.arange(9.0) + k)).astype(np.int64)
        total += np.sum(x[i] * counts) + np.sum(x[np.abs(counts)] ** 2)
        total += np.sum(x[np.clip(counts + k, 0, 5)] * x[np.clip(np.arange(9) - k, 3, 1 + k)])
    return total


def ranges(x: Any) -> Any:
    total = 0.0
    for k in range(-5, 6):
        order = range(k, 8, 3) if k % 2 else range(8, k, -1 - k % 3)
        for i in order:
            total = 0.9 * total + x[i] * len(order)
        for i in range(3) if k % 3 else reversed(range(k + 1)):
            total = 0.8 * total + x[i] ** 2
    return total


@pytest.mark.parametrize("f", [coefficients, gammas, places, ranges])
def test_functions(f: Callable, check_machine_code: Callable) -> None:
    check_machine_code(lambda x: f(x) * 1.0, lambda: (X * 1.0,), rtol=1e-11, kernel=f)


def test_large_results(made: list, traced: Callable) -> None:
    """Machine code has integers of 64 bits, and steps aside for others."""

    def long(x: Any) -> Any:
        total = 0.0
        for k in range(3):
            total += x[k] * (math.factorial(20 + k) // math.factorial(18))
            total += x[k] ** 2 * math.comb(70, 35 - k)
        return total

    for _ in range(2):
        found = autodiff.gradient(long, X)
        np.testing.assert_allclose(found, traced(long, X), rtol=1e-12)


@pytest.mark.parametrize("n", [-1, 2])
def test_errors_are_those_of_python(n: int) -> None:
    def negative(x: Any) -> Any:
        total = 0.0
        for k in range(3):
            total += x[k] * math.comb(n, k - 1)
        return total

    with pytest.raises(ValueError, match="non-negative"):
        autodiff.gradient(negative, X)
