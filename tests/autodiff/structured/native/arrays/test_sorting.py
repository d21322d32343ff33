"""Sorts along axes, medians, quantiles, and other functions that are lowered to simpler ones."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, value_and_gradient
from autodiff.structured.runtime import Structured
from tests.helpers import check_direction

X = np.cos(np.arange(30.0)).reshape(5, 6) * 1.3
W = np.sin(np.arange(6.0)) + 0.3


def sorts(x: Any, w: Any) -> Any:
    s = 0.0
    for k in range(1, 3):
        s = s + np.sum(np.sort(x) * w) + np.sum(np.sort(x * k, axis=0) * w**2)
        s = s + np.sum(np.sort(x, axis=None) ** 3) + np.sum(np.sort(x.T, axis=0)[1] * k)
        y = x * k
        y.sort(axis=0)
        z = x * w
        z.sort()
        s = s + np.sum(y * z) + np.sum(x[:, 0] * np.argsort(x, axis=0, kind="stable")[:, k])
    return s


def medians(x: Any, w: Any) -> Any:
    s = 0.0
    for k in range(1, 4):
        s = s + np.median(x * k) * np.median(w) + np.median(x[0, : k + 2]) ** 2
        s = s + np.sum(np.median(x, axis=0) * w) + np.sum(np.median(x[:k], axis=0) ** 2)
        s = s + np.sum(np.median(x, axis=1) * x[:, k]) + np.sum(np.median(x[:, :k], axis=-1))
    return s


def quantiles(x: Any, w: Any) -> Any:
    s = 0.0
    for k in range(1, 4):
        s = s + np.quantile(w * k, 0.3) * np.percentile(x, 70) + np.percentile(w[:k], 35.5)
        s = s + np.sum(np.percentile(w, [5, 50, 90.0]) ** 2) + np.quantile(x[k], 1.0)
        s = s + np.sum(np.quantile(x, 0.6, axis=0) * w) - np.quantile(x[:, k], 0.0, axis=0)
        s = s + np.sum(np.percentile(x, 12.5, axis=1) * x[:, k])
    return s


def others(x: Any, w: Any) -> Any:
    s = 0.0
    for k in range(1, 4):
        angles = np.unwrap(w * 9.0 * k) + np.unwrap(x[k] * 8.0)
        s = s + np.sum(angles**2) * 0.01 + np.sum(np.cumsum(x * k) ** 2) * 0.01
        s = s + np.sum(np.diff(w, n=2) * w[k]) + np.sum(np.diff(x, 2, 0) ** 2 * w)
        s = s + np.sum(np.roll(x, k) * x) + np.sum(np.correlate(w, x[k, :k]) ** 2)
        s = s + np.sum(np.correlate(w, x[k], "full")) * w[k]
        s = s + np.sum(np.trapezoid(x, axis=0) * w) + np.sum(np.trapezoid(x, dx=0.1, axis=1))
        s = s + np.sum(np.trapezoid(x, np.arange(5.0) ** 2, axis=0) * w)
        s = s + np.sum(np.arange(0.5, 4.6, 0.7) ** 2) * x[k, k] * np.arange(3.0, -2, -0.3)[k]
    return s


PROGRAMS = [sorts, medians, quantiles, others]


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients(f: Callable, check_machine_code: Callable) -> None:
    check_direction(f, X, W)
    check_machine_code(f, lambda: (X, W), rtol=1e-10, atol=1e-12)
    check_machine_code(f, lambda: (X[::-1] * 1.1, 0.8 * np.flip(W).copy()), rtol=1e-10, atol=1e-12)


ALONE: dict[str, Callable] = {
    "sort": lambda x: np.sort(x),
    "sort_first": lambda x: np.sort(x, axis=0),
    "median": lambda x: np.median(x, axis=0),
    "median_last": lambda x: np.median(x, axis=1),
    "quantile": lambda x: np.quantile(x, 0.37, axis=0),
    "percentile_last": lambda x: np.percentile(x, 62, axis=1),
    "cumsum": lambda x: np.cumsum(x),
    "roll": lambda x: np.roll(x, -3),
    "diff": lambda x: np.diff(x, n=2, axis=0),
}


def _in_loop(g: Callable) -> Callable:
    """Return a program that writes a function of an array into another array."""

    def loop(x: Any) -> Any:
        y = g(x) * 0.0
        for _ in range(2):
            y = g(x)
        return y

    # One of its own: a function has a few programs only.
    code = loop.__code__.replace()
    return types.FunctionType(code, loop.__globals__, "loop", None, loop.__closure__)


@pytest.mark.parametrize("name", ALONE)
def test_values_are_those_of_numpy(name: str, made: list[Structured]) -> None:
    g = ALONE[name]
    f = _in_loop(g)

    def loss(x: Any) -> Any:
        y = f(x)
        return np.sum(y * 1.0), y

    rng = np.random.default_rng(0)
    for shape in [(1, 1), (2, 3), (3, 2), (7, 5), (8, 33), (40, 4)]:
        random = rng.normal(size=shape)
        for x in (random, np.round(random), np.abs(random) * 1e200, random[::-1]):
            for _ in range(2):
                (_, y), slopes = value_and_gradient(loss, x, has_aux=True)
                np.testing.assert_array_equal(y, g(x))
                assert slopes.shape == x.shape
    assert made
    # Differences of one row are of no rows, and written anew each time.
    assert name == "diff" or all(p.native is not None and not p.native.why for p in made)


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite(name: str, bad: float, traced: Callable) -> None:
    x = np.cos(np.arange(20.0)).reshape(4, 5)
    x[2, 3] = bad
    f = _in_loop(ALONE[name])

    def loss(x: Any) -> Any:
        return np.sum(f(x)[:1] * 1.0)

    with np.errstate(all="ignore"):
        expected = traced(loss, x)
        for _ in range(3):
            np.testing.assert_allclose(gradient(loss, x), expected, rtol=1e-12)


@pytest.mark.parametrize("q", [None, 0.5])
def test_of_nothing(q: float | None, traced: Callable) -> None:
    def f(x: Any, w: Any) -> Any:
        s = 0.0
        for k in range(3):
            s = s + (np.median(x[k + 4 :]) if q is None else np.quantile(x[k + 4 :], q)) * w[k]
        return s

    for way in (traced, gradient, gradient):
        with pytest.raises((IndexError, RuntimeWarning)), np.errstate(all="ignore"):
            way(f, W[:5], W)
