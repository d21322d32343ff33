"""The sweep has the cotangent of a variable where that is live, and no statement elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import gradient
from autodiff.structured.runtime import Structured

X = np.array([0.3, -0.7, 0.5, 1.2, 0.1, -0.2, 0.9, 0.4])
Y = np.cos(np.arange(8.0))


def chosen(x: Any, y: Any) -> Any:
    total = a = b = 0.0
    for i in range(8):
        if x[i] > 0.2:
            a = x[i] * y[i]
        elif i % 3 == 0:
            b = a + y[i]
            a = 0.5
        else:
            total += a * b
        total += max(a, y[i]) * min(b, x[i])
    return total + a


def last_of_inner(x: Any, y: Any) -> Any:
    total, s = 0.0, x
    for i in range(4):
        s = y * x[i]
        for k in range(i):
            s = s * x + y[k]
            if k == 2:
                break
        total = total + np.sum(s * s)
    return total + s[0]


def never_taken(x: Any, y: Any) -> Any:
    s, t = x * y, y
    for i in range(5):
        if y[i] > 10.0:
            s = t + x
            t = s * 2.0
        r = s * x[i]
        for _ in range(i - 10):
            r = r + t
        s = r + 1.0
    return np.sum(s)


def swapped(x: Any, y: Any) -> Any:
    a, b = x, y
    old = y
    for i in range(6):
        a, b = b, a * x[i]
        if i % 2:
            a, old = old, a
    return np.sum(a) + 2.0 * np.sum(b)


def rebound_before_it_is_read(x: Any, y: Any) -> Any:
    u, w = x, x * y
    for i in range(3):
        w = u * y[i]
        u = w + x
        w = u * u
    w = w + u
    u = y
    return np.sum(w) * np.sum(u)


def while_there_is_more(x: Any, y: Any) -> Any:
    s, n, before = x[0], 0, y
    while s < 3.0 and n < 7:
        n += 1
        if n == 6:
            break
        t = before * x[n]
        before = t + y
        s = s + 0.1 + t[n] ** 2
    return s + np.sum(before)


def the_argument_itself(x: Any, y: Any) -> Any:
    for i in range(3):
        if y[i] > 5.0:
            x = x * y
    for _ in range(2):
        y = y[::-1][:, None][:, 0].T
    return np.sum(x + y)


KERNELS = (
    chosen, last_of_inner, never_taken, swapped, rebound_before_it_is_read, while_there_is_more,
    the_argument_itself,
)  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients(kernel: Callable, dtype: type, runs: list[str], traced: Callable) -> None:
    args = X.astype(dtype), Y.astype(dtype)
    expected = traced(kernel, *args)
    compiled = autodiff.compile(lambda *a: gradient(kernel, *a), backend="python")
    for found in (gradient(kernel, *args), compiled(*args), compiled(*args)):
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == dtype
            np.testing.assert_allclose(a, b, rtol=1e-10 if dtype == np.float64 else 1e-4, atol=1e-6)
    assert kernel.__name__ in runs


def test_gradients_are_arrays_of_their_own(runs: list[str]) -> None:
    def program(x: Any, y: Any) -> Any:
        for _ in range(3):
            x, y = y, x
        return np.sum(x + y)

    a, b = gradient(program, X, Y)
    assert not np.shares_memory(a, b)
    assert "program" in runs[-1]


def test_the_sources() -> None:
    def sweep_of(kernel: Callable) -> str:
        return Structured(kernel, (None,) * 2, (X, Y), (0, 1)).source.split("def backward")[1]

    # A cotangent is bound by what comes first, and not added to zero.
    sweep = sweep_of(rebound_before_it_is_read)
    assert "u_6_b = u_6_b +" not in sweep
    assert sweep.count("u_6_b = 0.0") == 0
    assert sweep.count("w_7_b = 0.0") == 1  # the loop may have no iterations
    assert "own(" not in sweep_of(the_argument_itself)  # views of all elements have cotangents
