"""Numbers and arrays of lower precision in programs: a float64 gradient has all of its digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured import calls

X = np.array([0.3, -1.2, 0.7, 2.5])
W = np.array([0.1, 0.2, 0.3, 0.7], np.float32)
K = np.float32(0.1)


def elements(x: Any) -> Any:
    s = 0.0
    for i in range(4):
        s = s + W[i] / 3 * x[i] ** 2
    return s


def constants(x: Any) -> Any:
    s = 0.0
    for i in range(4):
        s = s + K * np.sin(x[i]) * i
    return s


def products(x: Any) -> Any:
    s = 0.0
    for i in range(4):
        s = s + (W @ x) * x[i] + np.dot(x, W) ** 2
    return s


def exponents(x: Any) -> Any:
    s = 0.0
    for i in range(4):
        s = s + abs(x[i]) ** W[i] + x[i] / W[i] + np.hypot(x[i], K)
    return s


def arrays(x: Any) -> Any:
    y = x * W
    for i in range(4):
        y = y * W + K * x
        y[i] = y[i] * K
    return np.sum(y * x)


@pytest.mark.parametrize("native", [float("inf"), -1.0])
@pytest.mark.parametrize("f", [elements, constants, products, exponents, arrays])
def test_factors_of_single_precision(
    f: Callable, native: float, traced: Callable, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls.Settings, "native", native)
    for _ in range(2):
        np.testing.assert_allclose(gradient(f, X), traced(f, X), rtol=1e-14)
    assert f.__name__ in runs
    assert gradient(f, X.astype(np.float32)).dtype == np.float32
