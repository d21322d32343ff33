"""Machine code: numbers that are Python floats before a loop, and float32 in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import value_and_gradient
from autodiff.structured.runtime import Structured


def added(x: Any, n: int) -> Any:
    total = 0.0
    for i in range(n):
        total += x[i] * 1.1
    return total


def added_to_an_integer(x: Any, n: int) -> Any:
    total = 0
    for i in range(n):
        total = total + x[i] * 1.1
    return total * 0.1


def of_two_numbers(x: Any, n: int) -> Any:
    a, b = 1.0, 0.3
    for i in range(n):
        a, b = (b * 0.7 + 0.1) / (1.0 + a * a), -a * x[i] - 1 / (abs(b) + 2)
    return a * 3 + b


def compared(x: Any, n: int) -> Any:
    best, hits = 0.1, 0.0
    for i in range(n):
        if best < 0.1 or best == 0.1 or 2 * best > x[i]:
            hits += best * 0.3
        best = x[i] if x[i] > best else best * 0.9
        if best != 0.3:
            best = best + 1e-3
    return best + hits


def in_a_list(x: Any, n: int) -> Any:
    made = [1.0]
    for i in range(n):
        made.append(made[-1] * 0.5 + x[i] if i % 3 else made[i] / 3)
    return sum(made)


def of_powers(x: Any, n: int) -> Any:
    y = 1.3
    for i in range(n):
        y = 0.5 * (y + abs(y - x[i]) ** 2 / y) + y**1.5 / 7
        y = min(y, 2.5)
    return y


def of_thresholds(x: Any, n: int) -> Any:
    """Numbers that compare differently in double precision."""
    s, count = 0.0, 0.0
    for i in range(n):
        s = x[i % 4] * 1
        if s == 0.1:
            count += s * 2
        if s < 0.1:
            count += s * 5
        if s >= 0.3:
            count += s * 7
    return count + s


KERNELS = [
    added, added_to_an_integer, of_two_numbers, compared, in_a_list, of_powers, of_thresholds,
]  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, 60])
@pytest.mark.parametrize("kernel", KERNELS)
def test_they_have_the_class_and_the_bits_of_the_function(
    kernel: Callable, n: int, made: list[Structured], traced: Callable
) -> None:
    x = np.cos(np.arange(60.0)).astype(np.float32)
    x[:2] = 0.1, 0.3

    def loss(x: Any) -> Any:
        y = kernel(x * 1, n)
        return np.sum(x * x) + y, y

    expected = kernel(x * 1, n)
    slope = traced(lambda x: loss(x)[0], x)
    for _ in range(3):
        (_, found), bar = value_and_gradient(loss, x, has_aux=True)
        assert type(found) is type(expected)
        assert found == expected
        assert bar.dtype == np.float32
        np.testing.assert_allclose(bar, slope, rtol=2e-5, atol=2e-6)
    assert all(p.native is not None for p in made), [p.why for p in made]
    assert not any(p.bailouts for p in made)
