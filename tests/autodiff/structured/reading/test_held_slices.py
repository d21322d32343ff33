"""Slices in variables, in calls of `slice`, and in ``np.s_``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

X = np.linspace(0.3, 1.4, 12)


def of_vectors(x: Any) -> Any:
    even, odd, y, total = slice(None, None, 2), np.s_[1::2], x.copy(), 0.0
    for n in (12, 8, 4):
        part = slice(0, n)
        low, high = y[part][even], y[part][odd]
        y[part] = np.concatenate([low + high, low - high]) * 0.5
        total += np.sum(y[slice(n // 2, n)] ** 2)
        y[even] *= 0.9
        y[odd] = y[odd] * x[0]
    return total + np.sum(y * x)


def of_matrices(x: Any) -> Any:
    u = np.outer(x, x)
    inner, left = np.s_[1:-1, 1:-1], np.s_[1:-1, :-2]
    for _ in range(4):
        u[inner] += 0.1 * (u[left] - 2.0 * u[inner] + u[1:-1, slice(2, None)])
    return np.sum(u * u)


def of_lists(x: Any) -> Any:
    items, total = [v * v for v in x], 0.0
    for i in range(0, 9, 3):
        window = slice(i, i + 4)
        total += sum(items[window]) * x[i]
        items[window] = [v * 0.5 for v in items[window]]
    pair = (x[0], x[1], x[2])
    last = slice(1, None)
    return total + sum(pair[last])


@pytest.mark.parametrize("f", [of_vectors, of_matrices, of_lists], ids=lambda f: f.__name__)
def test_gradients(f: Callable, check_two_calls: Callable, check_arrays: Callable) -> None:
    check_two_calls(f, X)
    check_arrays(f, X)
