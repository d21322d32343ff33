"""Functions of NumPy are called without their Python code: results and gradients are the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import value_and_gradient
from autodiff.structured.runtime import Structured
from autodiff.structured.writing.rules.direct_calls import mean_of, norm_of

X = np.sin(np.arange(1.0, 43.0)).reshape(6, 7)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (130,), (5, 9), (33, 17, 3), (0, 4)])
def test_same_bits(shape: tuple[int, ...]) -> None:
    whole = np.random.default_rng(0).normal(size=shape)
    for x in (whole, whole[::2], whole.T, np.asfortranarray(whole), whole[::-1]):
        for found, expected in ((mean_of(x), np.mean(x)), (norm_of(x), np.linalg.norm(x))):
            assert type(found) is type(expected)
            assert found.tobytes() == expected.tobytes()


def totals(x: Any) -> Any:
    s = 0.0
    for row in x:
        s = s + np.sum(row) * row.sum() + np.mean(row) ** 2 + np.linalg.norm(row - s)
        s = s + np.max(row) * row.min() + np.prod(row[:3])
    return s


def along_axes(x: Any) -> Any:
    s = 0.0
    for k in range(3):
        y = x - k * np.max(x, axis=1, keepdims=True)
        y = y / np.sum(np.exp(y), 1)[:, None]
        s = s + y.sum(axis=0, keepdims=True)[0] @ np.mean(y, axis=0) + np.amin(y, 0)[k]
        s = s + np.sum(np.outer(y[0], y[1]) * k) + np.sum(x, axis=(0, 1))
    return s


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", [totals, along_axes])
def test_gradients(kernel: Callable, dtype: type, runs: list[str], traced: Callable) -> None:
    x = X.astype(dtype)
    value, found = value_and_gradient(kernel, x)
    expected = traced(kernel, x)
    np.testing.assert_allclose(found, expected, rtol=1e-10 if dtype == np.float64 else 2e-3)
    assert found.dtype == dtype
    assert value == kernel(x)
    assert runs == [kernel.__name__]


def powers(x: Any) -> Any:
    s = 0.0
    for i in range(5):
        for j in range(3):
            s += x[i, j] ** (i - j) * x[i, 0] ** i
    return s


def test_powers_of_floats_by_integers(runs: list[str], traced: Callable) -> None:
    for x in (np.abs(X), X):
        value, found = value_and_gradient(powers, x)
        np.testing.assert_allclose(found, traced(powers, x), rtol=1e-12)
        assert value == powers(x)
    assert runs == ["powers"] * 2


def test_the_sources() -> None:
    source = Structured(totals, (None,), (X,), (0,)).source
    assert source.count("reduce") == 5
    assert source.count("raise Changed") == 1  # the kind of a product is looked at
