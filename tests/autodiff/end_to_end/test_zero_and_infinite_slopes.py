"""Where a derivative is zero, infinite, or shared: the stated value, and never NaN by accident."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import compile, gradient, hessian, jvp, pullback

# --------------------------------------------------------------------------------- strong zeros


@pytest.mark.parametrize(
    "f, x, expected",
    [
        (lambda x: np.sum(np.where(x > 0, np.log(x), 0.0)), [0.0, 2.0], [0.0, 0.5]),
        (lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)), [0.0, 4.0], [0.0, 0.25]),
        (lambda x: np.sum(np.where(x > 0, 1 / x, x)), [0.0, 2.0], [1.0, -0.25]),
        (lambda x: np.sum(np.where(x > 0, x / x, x)), [0.0, 1.0], [1.0, 0.0]),
        (lambda x: np.sum(np.where(x < 10, np.exp(x), x)), [1e4, 0.0], [1.0, 1.0]),
        (lambda x: np.sum(np.where(x != 0, x * np.log(x), 0.0)), [0.0, 1.0], [0.0, 1.0]),
        (lambda x: np.sum(np.where(x > 0, x**0.5, 0.0)), [0.0, 4.0], [0.0, 0.25]),
        (lambda x: np.where(x[0] > 0, np.log(x[0]), x[1]), [0.0, 2.0], [0.0, 1.0]),
    ],
    ids=["log", "sqrt", "inverse", "ratio", "exp", "xlogx", "power", "scalar"],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value", "ignore:overflow")
def test_the_branch_not_taken_contributes_nothing(f: Callable, x: list, expected: list) -> None:
    np.testing.assert_allclose(gradient(f, np.array(x)), expected)


@pytest.mark.parametrize("choose", [np.maximum, np.fmax, lambda x, low: np.clip(x, low, None)])
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_a_bound_hides_infinite_slopes_at_all_levels(choose: Callable) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sqrt(choose(x, 0.0)))

    x, v = np.array([-1.0, 4.0, 1.0]), np.array([0.3, 1.0, 0.2])
    slope, second = [0.0, 0.25, 0.5], np.diag([0.0, -1 / 32, -0.25])
    found = jvp(lambda x: gradient(f, x), (x,), (v,))
    np.testing.assert_allclose(found[0], slope)
    np.testing.assert_allclose(found[1], second @ v)
    np.testing.assert_allclose(hessian(f, x), second)
    np.testing.assert_allclose(gradient(lambda x: gradient(f, x) @ v, x), second @ v)


def _unary() -> list[Callable]:
    named = dict.fromkeys(f for _, f in sorted(vars(np).items()) if isinstance(f, np.ufunc))
    return [
        *[f for f in named if "d->d" in f.types],
        *[abs, np.sinc, np.i0, np.nan_to_num],
        lambda x: np.abs(x + 1j * x),
        lambda x: np.angle(x + 1j * x),
        lambda x: np.clip(x, -1.0, 1.0),
        lambda x: np.hypot(x, 0.7) * np.maximum(x, 0.7),
    ]


@pytest.mark.parametrize("f", _unary(), ids=lambda f: getattr(f, "__name__", "function"))
@pytest.mark.parametrize("how", [gradient, lambda f, x: compile(lambda x: gradient(f, x))(x)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_nan_that_is_not_chosen_contributes_nothing(how: Callable, f: Callable) -> None:
    x = np.array([np.nan, 0.4, np.inf, -np.inf])
    found = how(lambda x: np.sum(np.where(np.isfinite(x), f(x), 0.0)), x)
    expected = gradient(lambda x: np.sum(f(x)), x[1:2])
    np.testing.assert_allclose(found, [0.0, expected[0], 0.0, 0.0])


@pytest.mark.filterwarnings("ignore:invalid value")
def test_the_branch_not_taken_contributes_nothing_to_a_complex_number() -> None:
    def f(z: complex) -> Any:
        x = np.real(z)
        return np.imag(z) + np.where(x > 0, np.sqrt(x), 3 * x)

    assert gradient(f, -0.2 + 0.5j) == 3 + 1j
    assert pullback(f, -0.2 + 0.5j)[1](1.0) == 3 + 1j


_STEEP = [
    (lambda x: np.sum(np.sqrt(np.array([0.0, 4.0]) * x)), [3.0, 1.0], [0.0, 1.0]),
    (lambda x: np.sum(np.sqrt(x * np.array([0, 4]))), [3.0, 1.0], [0.0, 1.0]),
    (lambda x: np.sum(np.cbrt(np.arange(2.0) * x)), 8.0, 1 / 12),
    (lambda x: np.sqrt(0.0 * x) + math.sqrt(x * 0.0), 3.0, 0.0),
    (lambda x: np.sqrt(np.maximum(x, 0.0)), -1.0, 0.0),
    (lambda x: np.sum(np.sqrt(np.maximum(x, 0.0))), [-1.0, 0.25], [0.0, 1.0]),
    (lambda x: math.sqrt(max(x, 0.0)), -1.0, 0.0),
    # A slope that only vanishes here is no constant.
    (lambda x: np.cbrt(x**3), 0.0, np.nan),
    (lambda x: np.sum(np.cbrt(x**3)), [0.0, 2.0], [np.nan, 1.0]),
]


@pytest.mark.parametrize("f, x, expected", _STEEP)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("how", [gradient, lambda f, x: compile(lambda x: gradient(f, x))(x)])
def test_what_does_not_change_has_no_slope_however_steep_what_follows_is(
    how: Callable, f: Callable, x: Any, expected: Any
) -> None:
    x = np.array(x) if isinstance(x, list) else x
    np.testing.assert_allclose(how(f, x), expected)


@pytest.mark.parametrize(
    "f, x, expected",
    [
        (np.sqrt, 0.0, np.inf),
        (lambda x: x**0.5, 0.0, np.inf),
        (lambda x: np.sqrt(x[0]), np.zeros(1), [np.inf]),
        (lambda x: x[0] ** 0.5, np.zeros(1), [np.inf]),
        (lambda x: np.sum(x**0.5), np.zeros(1), [np.inf]),
        (lambda x: x**0, 0.0, 0.0),
        (lambda x: x**1, 0.0, 1.0),
        (lambda x: x**2, 0.0, 0.0),
        (lambda x: np.sum(x**2), np.zeros(2), [0.0, 0.0]),
        (lambda p: 0.0**p, 2.0, 0.0),
        (abs, 0.0, 0.0),
        (lambda x: np.sum(np.abs(x)), np.zeros(2), [0.0, 0.0]),
        (lambda x: 1.0 / x[0], np.array([1e-300]), [-np.inf]),
        (lambda x: x[0] / x[1], np.array([2.0**-1000, 2.0**-1000]), [2.0**1000, -(2.0**1000)]),
        (lambda x: x * 0.0, np.inf, 0.0),
    ],
)
def test_edges_give_the_stated_derivative_and_no_warning(f: Any, x: Any, expected: Any) -> None:
    """Warnings are errors in these tests: an edge of the derivative must not make one."""
    np.testing.assert_array_equal(gradient(f, x), expected)


@pytest.mark.parametrize(
    "f, x, expected",
    [
        (np.prod, [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
        (np.prod, [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]),
        (np.linalg.norm, [0.0, 0.0], [0.0, 0.0]),
        (np.max, [2.0, 2.0, 1.0], [0.5, 0.5, 0.0]),
        (np.min, [2.0, 1.0, 1.0], [0.0, 0.5, 0.5]),
        (np.std, [2.0, 2.0], [0.0, 0.0]),
    ],
    ids=["prod", "prod of zeros", "norm", "max", "min", "std"],
)
def test_reductions_at_their_edges(f: Any, x: list, expected: list) -> None:
    np.testing.assert_array_equal(gradient(f, np.array(x)), expected)
