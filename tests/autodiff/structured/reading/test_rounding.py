"""Integers made of values that depend on the variables: cells, bins and places in tables."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import gradient
from autodiff.errors import LostValueError

X = np.array([0.3, 4.55, 2.6, 1.1])


def cells(x: Any) -> Any:
    density = np.zeros(7)
    for k in range(len(x)):
        c = int(x[k])
        w = x[k] - c
        density[c] += 1 - w
        density[c + 1] += w * w
    slope = np.gradient(density)
    s = 0.0
    for k in range(len(x)):
        s += slope[math.floor(x[k])] * x[k]
    return s


def table(x: Any) -> Any:
    values = np.arange(8.0) ** 2
    s = 0.0
    for k in range(len(x)):
        i = math.ceil(x[k] * 1.5)
        j = round(x[k])
        s += values[i] * x[k] - (math.trunc(x[k]) + j) * x[k] ** 2
    return s


def turns(x: Any) -> Any:
    s = x[0]
    for _ in range(int(x[1])):
        s = s * x[2]
    return s


@pytest.mark.parametrize("f", [cells, table, turns])
def test_cells_and_tables(f: Callable, runs: list[str], traced: Callable) -> None:
    found = gradient(f, X.copy())
    assert runs == [f.__name__]
    np.testing.assert_allclose(found, traced(f, X.copy()), rtol=1e-12)
    h = 1e-6
    for k, e in enumerate(np.eye(4)):
        slope = (f(X + h * e) - f(X - h * e)) / (2 * h)
        assert found[k] == pytest.approx(slope, rel=1e-6, abs=1e-7)


def steps(x: Any) -> Any:
    s = 0
    for k in range(len(x)):
        s += int(x[k])
    return float(s)


def test_a_result_by_integers_alone_has_no_gradient_and_needs_no_warning(traced: Callable) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not np.any(gradient(steps, X))
        assert not np.any(traced(steps, X))


def test_an_integer_that_holds_all_digits_is_an_error() -> None:
    large = X.copy()
    assert np.all(np.isfinite(gradient(cells, large)))
    large[1] = 2.0**53
    with pytest.raises(LostValueError):
        gradient(table, large)


def rounded_to_digits(x: Any) -> Any:
    s = 0.0
    for k in range(len(x)):
        s += round(x[k], 1) * x[k]
    return s


def test_rounding_to_digits_is_traced(runs: list[str], traced: Callable) -> None:
    np.testing.assert_allclose(gradient(rounded_to_digits, X), traced(rounded_to_digits, X))
    assert runs == []


def test_all_tiers_agree() -> None:
    expected = gradient(cells, X)
    autodiff.automatic_compile(True)
    slope = autodiff.compile(lambda x: gradient(cells, x))
    for shift in (0.0, 0.05, 1.1, -0.2):
        x = X + shift
        np.testing.assert_allclose(slope(x), gradient(cells, x), rtol=1e-12)
    np.testing.assert_allclose(slope(X), expected, rtol=1e-12)


def parts_of(x: Any) -> Any:
    s = 0.0
    for k in range(len(x)):
        s += x[k] * (math.floor(x[k] * 1e16) / 1e16) + x[k] * math.ceil(x[k])
    return s


def remainders(x: Any) -> Any:
    s = 0.0
    for k in range(len(x)):
        s += x[k] * (math.trunc(x[k] * 1e17 + 1e18) % 3)
    return s


@pytest.mark.parametrize("f", [parts_of, remainders])
def test_one_that_is_used_where_it_is_made(f: Callable) -> None:
    with pytest.raises(LostValueError):
        gradient(f, X)
