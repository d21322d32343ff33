"""Programs with functions that are made of others: columns, powers, weights, exponentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

from autodiff import gradient, value_and_gradient
from tests.autodiff.structured.columns_and_tables import PROGRAMS, exponentials
from tests.helpers import check_direction

X = np.cos(np.arange(30.0)).reshape(5, 6) * 1.3
W = np.sin(np.arange(6.0)) + 0.3


@pytest.mark.parametrize("f", PROGRAMS)
def test_same_bits(f: Callable, check_two_calls: Callable) -> None:
    check_two_calls(f, X, W)


@pytest.mark.parametrize("f", PROGRAMS)
def test_by_differences(f: Callable) -> None:
    check_direction(f, X, W)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_exponentials_of_what_is_not_finite(bad: float, traced: Callable) -> None:
    w = W.copy()
    w[2] = bad
    with np.errstate(all="ignore"):
        expected = traced(exponentials, X, w)
        for _ in range(2):
            for a, b in zip(gradient(exponentials, X, w), expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-11)


def test_a_row_that_is_taken_is_a_copy(traced: Callable) -> None:
    def f(m: Any, s: Any) -> Any:
        t = 0.0
        m = m * 1.0
        for i in range(2):
            y = np.take(m, i, axis=0)
            y[...] = y * s
            t = t + np.sum(m * m) + np.sum(y)
        return t

    m = np.arange(1.0, 5.0).reshape(2, 2)
    for x, y in zip(gradient(f, m, 3.0), traced(f, m, 3.0), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_numbers_take_the_dtype_of_arrays(dtype: Any) -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for _ in range(2):
            s = s + np.sum(np.abs(np.r_[x, 1.0]) ** 2) + np.sum(np.abs(np.r_[x, x]))
        return s

    x = np.array([1.5, -0.3], dtype)
    value, found = value_and_gradient(f, x)
    assert value.dtype == f(x).dtype == np.float32
    assert value == f(x)
    assert found.dtype == dtype


def test_weights_that_sum_to_zero() -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for _ in range(2):
            s = s + np.average(x, weights=x)
        return s

    assert np.all(np.isfinite(gradient(f, np.array([1.0, 2.0]))))
    with pytest.raises(ZeroDivisionError):
        gradient(f, np.array([1.0, -1.0]))


def test_weights_of_another_shape() -> None:
    def f(x: Any, w: Any) -> Any:
        s = 0.0
        for _ in range(2):
            s = s + np.average(x, weights=w)
        return s

    x = np.array([1.0, 2.0, 3.0])
    assert np.all(np.isfinite(gradient(f, x, x)[0]))
    with pytest.raises(TypeError):
        gradient(f, x, np.array([2.0]))


def test_numbers_at_equal_distances(traced: Callable) -> None:
    """One number, none, and two ends that are the same."""

    def f(x: Any, n: int) -> Any:
        s = 0.0
        for k in range(2):
            s = s + np.sum(np.linspace(x[k], x[1], n)) + np.sum(np.linspace(x[0], x[0], 3))
        return s

    for n in (5, 2, 1, 0):
        expected = traced(lambda x, n=n: f(x, n), W)
        np.testing.assert_array_equal(gradient(f, W, n, argnums=0), expected)


def test_ties_share() -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for k in range(2):
            s = s + scipy.special.logsumexp(np.array([x, x, x - k]))
        return s

    np.testing.assert_allclose(gradient(f, 1.5), 2.0, rtol=1e-12)


def test_floats_are_not_compared_by_identity() -> None:
    """``x in (x,)`` is true of a NaN that is the same object: such a search is traced."""

    def f(x: Any) -> Any:
        s = 0.0
        for k in range(3):
            y = x * k
            s = s + x if y in (y, 1.0) else s
        return s

    assert gradient(f, 2.0) == 3.0
    assert gradient(f, float("nan")) == 3.0
