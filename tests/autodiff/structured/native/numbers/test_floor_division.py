"""Machine code: remainders and quotients of floats, steps, and products that are 0 at 0."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

from autodiff import gradient
from autodiff.structured.runtime import Structured

VALUES = [0.7, -0.7, 5.5, -5.5, 0.3, 1e-300, 6.0, -6.0, 1e17, 0.1, -0.1, 2.9999999999999996]
DIVISORS = [0.3, -0.3, 2.0, -2.0, 0.1, 1e-3, 3.0, 7e300, -7e300]


def floats(x: Any, d: list) -> Any:
    s = 0.0
    for a in d:
        y = x * 1.0
        s = s + math.sin(y % a) * (y // a + 0.5) + math.fmod(y, a) + (y * a) % 0.7
    return s


def arrays(x: Any, d: Any) -> Any:
    s = 0.0
    for k in range(len(d)):
        s = s + np.sum(np.sin(np.mod(x, d[k])) * (x // d[k])) + np.sum(np.fmod(x, d))
        s = s + np.sum(np.remainder(d, x[k]) * np.floor_divide(d, x[k]))
    return s


def steps(x: Any, d: Any) -> Any:
    s = 0.0
    for k in range(len(d)):
        s = s + np.sum(x * np.heaviside(x - d[k], 0.5)) + np.sum(scipy.special.xlogy(x**2, d**2))
        s = (
            s
            + np.sum(scipy.special.entr(d**2 * x[k] ** 2))
            + scipy.special.xlog1py(x[k], d[k] ** 2)
        )
    return s


@pytest.mark.parametrize("f", [arrays, steps])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_of_arrays(f: Callable, dtype: type, made: list[Structured], traced: Callable) -> None:
    x, d = np.cos(np.arange(1.0, 8.0)).astype(dtype), np.sin(np.arange(2.0, 9.0)).astype(dtype)
    expected = traced(f, x, d)
    for _ in range(3):
        for a, b in zip(gradient(f, x, d), expected, strict=True):
            assert a.dtype == dtype
            np.testing.assert_allclose(a, b, rtol=1e-11 if dtype is np.float64 else 1e-4)
    assert not made[0].native.why
    assert not made[0].bailouts


def test_of_floats(made: list[Structured], traced: Callable) -> None:
    d = np.array(DIVISORS[:6])
    for x in VALUES:
        expected = traced(floats, x, d)
        for _ in range(2):
            for a, b in zip(gradient(floats, x, d), expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-11)
    assert not made[0].native.why
    assert not made[0].bailouts


@pytest.mark.parametrize("f", [operator.mod, operator.floordiv])
def test_to_the_last_bit(f: Callable, made: list[Structured]) -> None:
    """A branch tells whether a value is the one that Python has, and which sign a zero has."""

    def same(x: Any, xs: Any, ys: Any, expected: Any) -> Any:
        s = 0.0
        for k in range(len(xs)):
            y = f(xs[k] * 1.0, ys[k])
            if y == expected[k] and math.copysign(1.0, y) == math.copysign(1.0, expected[k]):
                s = s + x
        return s

    pairs = [(x, y) for x in (*VALUES, 0.0, -0.0) for y in DIVISORS]
    xs, ys = np.array(pairs).T
    expected = np.array([f(x, y) for x, y in pairs])
    for _ in range(2):
        assert gradient(same, 1.0, xs, ys, expected, argnums=0) == len(pairs)
    assert not made[0].native.why
    assert not made[0].bailouts


def test_division_by_zero() -> None:
    def f(x: Any, d: Any) -> Any:
        s = 0.0
        for k in range(3):
            s = s + (x * k) % d
        return s

    assert gradient(f, 2.5, 1.0)[0] == 3.0
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            gradient(f, 2.5, 0.0)
        with np.errstate(all="ignore"):
            assert np.isnan(gradient(f, np.float64(2.5), np.float64(0.0))[1])
