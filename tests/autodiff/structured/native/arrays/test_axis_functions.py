"""Machine code: cumulative sums and products, sorts, interpolation and convolution."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, value_and_gradient
from autodiff.structured.runtime import Structured
from tests.autodiff.structured.columns_and_tables import PROGRAMS

X = np.cos(np.arange(30.0)).reshape(5, 6) * 1.3
W = np.sin(np.arange(6.0)) + 0.3


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients(f: Callable, made: list[Structured], traced: Callable) -> None:
    # One of its own: other tests look at its NumPy source.
    f = types.FunctionType(f.__code__.replace(), f.__globals__, f.__name__)
    for x, w in ((X, W), (X[::-1], 0.8 * W)):
        expected = traced(f, x, w)
        for _ in range(3):
            for a, b in zip(gradient(f, x, w), expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    assert made[0].native is not None, made[0].why
    assert not made[0].native.why
    assert not made[0].bailouts


def test_sorts(made: list[Structured], traced: Callable) -> None:
    def f(x: Any, w: Any) -> Any:
        s = 0.0
        for k in range(2):
            s = s + np.sum(np.sort(x * (k + 1)) * w) + np.sum(x[np.argsort(-x)] * w**2)
        return s

    rng = np.random.default_rng(1)
    for n in (5, 1, 2, 3, 7, 64, 100):
        x, w = rng.permutation(np.arange(float(n))) * 0.7, np.arange(1.0, n + 1)
        expected = traced(f, x, w)
        for _ in range(2):
            for a, b in zip(gradient(f, x, w), expected, strict=True):
                np.testing.assert_array_equal(a, b)
    assert not made[0].native.why
    assert not made[0].bailouts


def test_equal_elements(made: list[Structured], traced: Callable) -> None:
    """A stable sort keeps their order. That of another sort is unknown: machine code bails out."""

    def stable(x: Any, w: Any) -> Any:
        s = 0.0
        for _ in range(2):
            s = s + np.sum(np.sort(x) * w) + np.sum(x[np.argsort(x, kind="stable")] * w)
        return s

    def other(x: Any, w: Any) -> Any:
        s = 0.0
        for _ in range(2):
            s = s + np.sum(x[np.argsort(x)] * w)
        return s

    x, w = np.array([2.0, 1.0, 2.0, 1.0, 1.0, -0.0, 0.0]), np.arange(1.0, 8.0)
    for f, bailouts in ((stable, 0), (other, 2)):
        made.clear()
        expected = traced(f, x, w)
        for _ in range(2):
            for a, b in zip(gradient(f, x, w), expected, strict=True):
                np.testing.assert_array_equal(a, b)
        assert made[0].bailouts == bailouts
    x[3] = np.nan
    for f in (stable, other):
        with np.errstate(all="ignore"):
            for a, b in zip(gradient(f, x, w), traced(f, x, w), strict=True):
                np.testing.assert_array_equal(a, b)


def test_running_products_of_zeros(traced: Callable) -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for k in range(2):
            s = s + np.sum(np.cumprod(x) * (k + 1))
        return s

    for x in (
        np.array([1.5, 0.0, 2.0]),
        np.array([1e-300, 1e-20, 2.0]),
        np.array([1.5, 2.0, -1.0]),
    ):
        for _ in range(2):
            np.testing.assert_allclose(gradient(f, x), traced(f, x), rtol=1e-12)


def test_tables_that_are_not_in_order(traced: Callable) -> None:
    def f(x: Any, xp: Any, fp: Any) -> Any:
        s = 0.0
        for k in range(2):
            s = s + np.sum(np.interp(x * (k + 1), xp, fp) ** 2)
        return s

    x, fp = np.array([0.2, 1.0, 3.0, -4.0]), np.array([1.0, 3.0, -2.0])
    for xp in (np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 2.0])):
        expected = traced(f, x, xp, fp)
        for _ in range(2):
            for a, b in zip(gradient(f, x, xp, fp), expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12)


def test_searches_in_what_is_not_sorted(made: list[Structured], traced: Callable) -> None:
    def f(u: Any, x: Any) -> Any:
        s = 0.0
        for _ in range(2):
            places = np.searchsorted(u, x)
            s = s + np.sum(places * x) + np.sum(places * u[0]) + np.sum(np.interp(x, u, u))
        return s

    rng = np.random.default_rng(0)
    for _ in range(5):
        u, x = rng.normal(size=7), rng.normal(size=9)
        for a, b in zip(gradient(f, np.sort(u), x), traced(f, np.sort(u), x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11)
        assert value_and_gradient(f, u, x)[0] == f(u, x)
    assert made[0].bailouts


def test_axes_of_one_element_behind_a_branch(made: list[Structured], traced: Callable) -> None:
    """A variable that crosses a branch is known to be broadcast."""

    def f(x: Any) -> Any:
        s = 0.0
        for k in range(3):
            top = np.max(x * k, axis=1, keepdims=True)
            if np.all(top < 100.0):
                s = s + np.sum(np.exp(x - top) / np.sum(x * x, axis=1, keepdims=True))
        return s

    expected = traced(f, X)
    for _ in range(3):
        np.testing.assert_allclose(gradient(f, X), expected, rtol=1e-11)
    assert not made[0].native.why
    assert not made[0].bailouts
