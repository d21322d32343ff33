"""The sweep of sums and products of rows that are overwritten later, or stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

X = np.cos(np.arange(42.0)).reshape(6, 7) * 0.7
W = np.sin(np.arange(42.0)).reshape(6, 7) + 1.5


def rows_that_stay(x: Any, w: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        t = 2.0 + x[i] ** 2 - 0.1 * y[i - 1]
        y[i] = x[i] / t + np.sin(t) * w[i]
    return np.sum(y * y)


def read_before_it_is_overwritten(x: Any, w: Any) -> Any:
    y = x.copy()
    for i in range(1, len(x)):
        t = y[i] * 2.0 - w[i]
        y[i] = np.sin(t) * t
        u = y[i] * w[i] + 1.0
        y[i] = u * u / (1.0 + t * t)
    return np.sum(y * y)


def overwritten_by_a_later_iteration(x: Any, w: Any) -> Any:
    y = x.copy()
    for i in range(len(x) - 1):
        t = y[i + 1] - y[i] * w[i]
        y[i + 1] = np.cos(t) * w[i] + t**2
    return np.sum(y * w)


def overwritten_after_the_loop(x: Any, w: Any) -> Any:
    y, s = x.copy(), 0.0
    for i in range(len(x)):
        t = y[i] * w[i] + 1.0
        s = s + np.sum(np.exp(-t * t) / t)
    y[2:4] = 7.0
    y *= w
    return s + np.sum(y)


def overwritten_by_a_view(x: Any, w: Any) -> Any:
    y, s = x.copy(), 0.0
    part = y[1:3]
    for i in range(4):
        t = y[i] * y[i + 1] - w[i]
        s = s + np.sum(np.sin(t) * t)
        part[:] = part * 0.5 + t
    return s + np.sum(y)


def numbers_of_an_iteration(x: Any, w: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        c = x[i, 0] * w[0, i] + i
        t = c * w[i] - x[i] * s
        s = s + np.sum(np.tanh(t) * t) * 0.1
    return s


def one_inside_another(x: Any, w: Any) -> Any:
    y = x.copy()
    for i in range(1, len(x)):
        t = x[i] - w[i - 1]
        u = t * t + 0.5
        v = u * t - w[i]
        y[i] = np.sin(v) * u + y[i - 1] * v / u
    return np.sum(y * y)


def rebound_arrays(x: Any, w: Any) -> Any:
    for _ in range(4):
        t = x * 2.0 - w
        x = np.sin(t) * t + x * t
    return np.sum(x * x)


KERNELS = [
    rows_that_stay, read_before_it_is_overwritten, overwritten_by_a_later_iteration,
    overwritten_after_the_loop, overwritten_by_a_view, numbers_of_an_iteration, one_inside_another,
    rebound_arrays,
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients(kernel: Callable, dtype: type, check_machine_code: Callable) -> None:
    rtol = 1e-10 if dtype is np.float64 else 1e-3
    check_machine_code(kernel, lambda: (X.astype(dtype), W.astype(dtype)), rtol)
