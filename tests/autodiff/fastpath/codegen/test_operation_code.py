"""Code for elementwise operations: in expressions, on values of all kinds, with later writes."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import gradient, jacobian
from autodiff.dispatch import dispatch_cache
from tests.helpers import forget_decisions

X = np.array([0.3, -0.7, 0.5, 1.1])
C = np.array([1.2, 0.4, 1.7, 0.9])
W = np.cos(np.arange(8.0)).reshape(2, 4)


@pytest.fixture(autouse=True)
def written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch_cache, "OFTEN", 1)
    forget_decisions()


def one_by_one(monkeypatch: pytest.MonkeyPatch, f: Callable) -> Any:
    """Return what `f` gives where nothing is written."""
    with monkeypatch.context() as patch:
        patch.setattr(dispatch_cache, "OFTEN", 10**9)
        forget_decisions()
        made = f()
    forget_decisions()
    return made


ARRAYS = [
    lambda x, c: np.minimum(x * 2.0 + c, 1e999) * 3.0 - x / -1e999,
    lambda x, c: x * c + c * x - x / c,
    lambda x, c: 1 / (1 + np.exp(-x)) * c,
    lambda x, c: np.tanh(x * x) * x + 2.0 * c,
    lambda x, c: (x * x) ** 2 * 0.5 - x**3 + 2.0**c,
    lambda x, c: -(-x * c) + -x,
    lambda x, c: np.maximum(x * 2.0, c * x) + np.minimum(x, c),
    lambda x, c: x[1:] * c[:-1] + 2 * x[1:] - x[:-1],
    lambda x, c: (c * c + 1.0) * x + c,
    lambda x, c: x + x + x * x - c * c,
    lambda x, c: (x - c) * (x - c) / (x + 3.0) + 1,
    lambda x, c: np.log(c + 1.5) ** c - np.hypot(x, c),
    lambda x, c: (x[0] + x[1]) * c + x[2] * x,
    lambda x, c: x[:, None] * c * 3.0 + x,
    lambda x, c: np.negative(np.square(x)) * c - np.reciprocal(c),
    lambda x, c: x[0] * c + np.exp(-c / x[3]) * x[1],
    lambda x, c: -0.5 * x / (c[0] * c[0]) + x * np.sin(c[1] * 2.0) * c[1],
    lambda x, c: x[0] * W + x[3] * c[0] * W - c[1] / 3.0,
    lambda x, c: (x[:, None] - c) * 2.0 + c / x[:, None] * W[1],
    lambda x, c: W * x + c * W * 2.0 - np.maximum(x, W) * W,
    lambda x, c: (W * x + c) / (1.0 + np.exp(-W * x)) * x[1] - c[0] * x[2],
    lambda x, c: np.sqrt(x[3] * c[0]) * x + np.exp(x[1]) ** 1.5 * c + 1,
    lambda x, c: x[:, None] * c + x * 3.0,
    lambda x, c: np.sqrt(x[3] * c[0]) * x + np.abs(x[1]) ** 1.5 * c + 1,
    lambda x, c: W * x + c * W * 2.0 - np.maximum(x, 0.1) * W,
    lambda x, c: np.sqrt(np.abs(x) + 1.0) * np.arctan2(x, c + 2.0),
    lambda x, c: x.reshape(2, 2) * c.reshape(2, 2) + 1.0 / c.reshape(2, 2),
]
NUMBERS = [
    lambda x, c: x * c + c * x - x / c,
    lambda x, c: 1 / (1 + math.exp(-x)) * c,
    lambda x, c: np.sin(x * c) * x + 2.0 * c,
    lambda x, c: (x * x) ** 2 * 0.5 - x**3 + 2.0**c,
    lambda x, c: -(-x * c) + -x,
    lambda x, c: math.sqrt(x + 1.0) * math.log(c + x) - c**x,
    lambda x, c: (x - c) * (x - c) / (x + 3.0) + 1,
    lambda x, c: (x * 3.0 + c) / 1e999 + x * x * c,
    lambda x, c: np.array([x, c, x * 2])[1] * 2.0 + x + c * np.array([x, c])[0],
]


@pytest.mark.parametrize("f", ARRAYS)
def test_arrays(f: Callable, check_modes: Callable) -> None:
    check_modes(f, X, C)
    value, _ = autodiff.pullback(f, X, C)
    np.testing.assert_array_equal(value, f(X, C))
    rows = jacobian(lambda x: f(x, C), X)
    np.testing.assert_allclose(rows, jacobian(lambda x: f(x, C) * 1.0, X.copy()))
    for i in np.ndindex(np.shape(value)):
        single = gradient(lambda x, i=i: f(x, C)[i], X)
        np.testing.assert_allclose(rows[i], single, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("f", NUMBERS)
def test_numbers(f: Callable, check_modes: Callable) -> None:
    for x, c in ((0.7, 1.3), (np.float64(1.9), 0.4)):
        check_modes(lambda z, c=c: f(z[()], c), np.array(x))
        check_modes(lambda z, x=x: f(x, z[()]), np.array(c))
        value, _ = autodiff.pullback(f, x, c)
        assert value == f(x, c)


def test_code_is_written() -> None:
    gradient(lambda x: np.sum(x * C + np.sin(x)), X)
    for f in (operator.mul, np.sin):
        assert dispatch_cache.ways_of(f)


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda x: np.sum(np.where(x > 0, np.log(x) * 2.0 + x, 0.0)), np.array([0.0, 1.0, -1.0])),
        (lambda x: np.sum(np.sqrt(x) * 0.0 * x + x), np.array([0.0, 4.0])),
        (lambda x: np.sum((x - x) / (x * 0.0 + 1.0) * np.exp(x * 800.0)), np.array([1.0, 0.5])),
        (lambda x: x * 0.0 * (1.0 / x) + x, 1e-320),
        (lambda x: (x * x) * math.sqrt(x) + x, 0.0),
        (lambda x: 0.0 * x * x + x, math.inf),
        (lambda x: (x * 1e300) * 1e300 * 0.0 + x, 2.0),
        (lambda x: np.sum((x * 1e300) * 1e300 * 0.0 + x), np.array([2.0])),
        (lambda x: (x - 1.0) ** 2 * math.inf if x > 5 else (x - 1.0) * (x - 1.0) + 2.0, 1.0),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_zeros_and_infinities_are_those_of_single_operations(
    f: Callable, x: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = one_by_one(monkeypatch, lambda: gradient(f, x))
    for _ in range(3):
        found = gradient(f, x)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "x",
    [
        X.astype(np.float32), X + 1j, np.array(0.4), X.reshape(2, 2).T, X[::2], 0.4, 0.3 + 1j,
        np.float32(0.3), np.zeros(0), np.linspace(0.1, 1.0, 5000), np.asfortranarray(np.eye(3)),
    ],
)  # fmt: skip
def test_other_values_in_the_same_expression(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any, c: Any) -> Any:
        return np.sum(np.real(np.sin(x) * c + x * x * 0.5 - x / 3.0))

    for _ in range(3):
        gradient(f, X, 0.5)
    for c in (0.5, 2, np.float64(0.3), np.asarray(x) * 2.0, True):
        expected = one_by_one(monkeypatch, lambda c=c: gradient(f, x, c, argnums=0))
        for _ in range(3):
            found = gradient(f, x, c, argnums=0)
        assert type(found) is type(expected)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_pullback_may_be_called_again_and_changes_nothing_of_others() -> None:
    def f(x: Any, c: Any) -> Any:
        return x * c + c + x

    for _ in range(3):
        value, back = autodiff.pullback(f, X, C)
    y_bar = np.arange(4.0)
    first, second = back(y_bar), back(y_bar)
    np.testing.assert_array_equal(y_bar, np.arange(4.0))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
        a[...] = 7.0
    np.testing.assert_allclose(back(y_bar)[0], y_bar * (C + 1.0))
    np.testing.assert_array_equal(value, f(X, C))


def test_writes_after_an_expression() -> None:
    def f(x: Any) -> Any:
        a = x * 1.0
        y = a * a + np.exp(a) * 2.0
        a[0] = 5.0
        z = np.exp(y * 0.1 + 0.0)
        y[1] = 0.0
        return np.sum(z) + np.sum(y) + np.sum(a)

    def expected(x: Any) -> Any:
        d = 2 * x + 2 * np.exp(x)
        y = x * x + 2 * np.exp(x)
        of_y = 0.1 * np.exp(0.1 * y) + np.array([1.0, 0.0, 1.0, 1.0])
        return d * of_y + np.array([0.0, 1.0, 1.0, 1.0])

    for _ in range(3):
        np.testing.assert_allclose(gradient(f, X), expected(X))


def test_constants_that_are_written_into_afterwards_count_as_they_were() -> None:
    c = C.copy()

    def f(x: Any) -> Any:
        y = x * c + c * x
        c[0] = 9.0
        return np.sum(y)

    for _ in range(3):
        c[:] = C
        np.testing.assert_allclose(gradient(f, X), 2.0 * C)
    c = np.tile(C, 10_000)
    for _ in range(3):
        with pytest.raises(autodiff.MutationError):
            gradient(f, np.tile(X, 10_000))


def test_broken_powers_of_negative_numbers() -> None:
    def f(x: Any) -> Any:
        y = (x - 2.0) ** 0.5 * 3.0
        return y.real * y.real + y.imag * y.imag

    def of_array(x: Any) -> Any:
        y = (x - 2.0) ** 0.5 * 3.0 + C
        return np.sum(np.real(y * np.conj(y)))

    for x in (3.0, 3.0, 3.0, 1.0, 3.0, 1.0):
        np.testing.assert_allclose(gradient(f, x), 9.0 if x > 2 else -9.0)
        slope = (of_array(x + 1e-5) - of_array(x - 1e-5)) / 2e-5
        np.testing.assert_allclose(gradient(of_array, x), slope, rtol=1e-7)


def test_an_array_without_axes_in_the_place_of_another() -> None:
    def powers(x: Any, n: int) -> Any:
        if n == 0:
            return np.asarray(n, float)  # what operations make of it are numbers
        return powers(x * 0.5, n - 1) * 0.3 + x

    def f(x: Any) -> Any:
        return np.sum(powers(x, 3))

    for _ in range(4):
        np.testing.assert_allclose(gradient(f, X), 1 + 0.15 + 0.15**2)


def test_an_array_without_axes_beside_others() -> None:
    def f(x: Any) -> Any:
        def q(a: Any, b: Any) -> Any:
            return a * -0.13 + b

        return np.sum(q(np.asarray(2.0), x)) + np.sum(q(x, x))

    for _ in range(4):
        np.testing.assert_allclose(gradient(f, X), np.full(4, 1.87))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.minimum(x + 1.0, 2.0),
        lambda x: np.maximum(np.positive(x), 0.1),
        lambda x: np.maximum(x + 0.0, x - 0.0),
        lambda x: 2.0 - np.minimum(x - 0.5, 0.2),
    ],
)
def test_a_slope_that_is_a_truth_value(f: Callable) -> None:
    expected = (f(0.3 + 1e-6) - f(0.3 - 1e-6)) / 2e-6
    for _ in range(4):
        np.testing.assert_allclose(gradient(f, 0.3), expected, rtol=1e-8)


@pytest.mark.parametrize("ignored", ["over", "under", "divide", "invalid", None])
def test_derivatives_of_numbers_do_not_warn(ignored: str | None) -> None:
    """What only the derivatives would warn of decides no branch of the program."""
    huge = np.float64(1e200)

    def caught(k: Any) -> Any:
        with np.errstate(all="warn"), warnings.catch_warnings():
            warnings.simplefilter("error")
            if ignored is not None:
                np.seterr(**{ignored: "ignore"})
            try:
                y = k * huge * 1e120
            except RuntimeWarning:
                return k * k
        return 2.0 * k * k + 0.0 * np.isfinite(y)

    for k in (1.7, np.float64(1.7), 1e-300, 0.0):
        with np.errstate(all="ignore"):
            expected = _outcome(caught, k)
            found = [_outcome(autodiff.value_and_gradient, caught, k)[0] for _ in range(30)]
            assert found == [expected] * 30


def _outcome(f: Callable, *args: Any) -> Any:
    try:
        return f(*args)
    except ArithmeticError as error:
        return type(error)
