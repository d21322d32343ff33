"""Expressions fused in nested differentiation: Hessian-vector products, pushforwards."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, hessian, hvp, pushforward
from autodiff.dispatch import dispatch_cache
from autodiff.intercept.source import fusion_sites
from autodiff.structured.settings import Settings
from chainrules_core import frule, rrule, scalar_rule
from tests.helpers import forget_fused

X = np.array([0.3, -0.7, 0.5, 1.1, -1.6, 0.9])
V = np.array([1.0, 0.5, -2.0, 0.25, 0.75, -1.5])
C = np.array([1.2, 0.4, 1.7, 0.9, 0.6, 2.0])
W = np.cos(np.arange(18.0)).reshape(3, 6)


pytestmark = pytest.mark.usefixtures("fused_at_once")


def often(f: Callable) -> Any:
    for _ in range(4):
        made = f()
    return made


def written(f: Callable) -> list:
    """Return what is written for levels while `f` runs."""
    forget_fused()
    often(f)
    found = [way for site in fusion_sites._all for way in site.levels.values()]
    return [way for way in found if way is not operator.call]


def one_by_one(monkeypatch: pytest.MonkeyPatch, f: Callable) -> Any:
    """Return what `f` gives where nothing is written."""
    with monkeypatch.context() as patch:
        patch.setattr(dispatch_cache, "OFTEN", 10**9)
        forget_fused()
        made = f()
    forget_fused()
    return made


def by_differences(f: Callable, x: np.ndarray, v: np.ndarray) -> Any:
    h = 1e-6
    return (gradient(f, x + h * v) - gradient(f, x - h * v)) / (2 * h)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def number_beside(x):
    s = np.sum(x)
    return np.sum(np.sin(x * s) + s / C - x * 3.0) + s * s * 0.5


def number_alone(x):
    s = np.sum(x * x)
    return np.sum(C * s + s - 2 * x * x)


def softmax(x):
    e = np.exp(x - np.max(x))
    p = e / np.sum(e) + 0.0 * e
    return -np.sum(p * np.log(p) * 2)


def written_into(x):
    y = x * 1.0
    z = y * y * C + y
    y[1] = 3.0 * x[0]
    return np.sum(z * y * 2 + y)


def in_place(x):
    y = x * 2.0 + 1.0
    z = y * y * C + y
    y *= 2
    y += x
    return np.sum(z * y * 2 + y * y * y)


def views(x):
    y = x + 0.0
    w = y[1:4]
    z = w * w * 2 + w
    w[0] = x[0]
    return np.sum(z * w * w + 1) + np.sum(y * y * y - y)


def steps(x):
    y = x * C + 1
    for i in range(3):
        y = y * y * 0.3 + x * 0.1
        y[i] = x[i] * 2 + y[i + 1] * y[i]
    return np.sum(y * x + y)


FUNCTIONS = [
    rosenbrock,
    number_beside,
    number_alone,
    softmax,
    written_into,
    in_place,
    views,
    steps,
    lambda x: np.sum(1 / (1 + np.exp(-x)) * C - x * x),
    lambda x: np.sum(np.where(x > 0, np.sqrt(np.abs(x) + 1) * x, x * x * C)),
    lambda x: np.sum(np.maximum(x * C, 0.1) * x - 2 * x),
    lambda x: np.sum(np.abs(x) * x * 3 - np.tanh(x) / C),
    lambda x: np.sum(W * x**2 + np.cos(W * x)),
    lambda x: np.sum((x[:, None] - x[None, :]) ** 2 * np.exp(-x)[:, None]),
    lambda x: np.sum(-x * -C + (-x) ** 2 * C),
    lambda x: np.sum(np.hypot(x, C) * np.arctan2(x, C) - np.logaddexp(x, C) * x),
    lambda x: np.sum(np.expm1(x) * np.log1p(x * x) - np.sinh(x) / np.cosh(x)),
    lambda x: np.sum((x < 0) * x * x + (x > 1) * x),
    lambda x: np.sum(np.power(np.abs(x) + 1, C) * 2**x - x),
    lambda x: np.sum(x * x * x - (x + 2) * (x + 2)),
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_hessian_times_vector(f: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = one_by_one(monkeypatch, lambda: hvp(f, X, V))
    found = often(lambda: hvp(f, X, V))
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(found, by_differences(f, X, V), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(hessian(f, X) @ V, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_pushforward(f: Callable) -> None:
    y, push = pushforward(f, X)
    found = often(lambda: push(V))
    np.testing.assert_allclose(found, gradient(f, X) @ V, rtol=1e-12, atol=1e-13)
    assert y == f(X)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_the_gradient_before_and_behind(f: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "enabled", False)  # programs have other last bits
    before = often(lambda: gradient(f, X))
    often(lambda: hvp(f, X, V))
    np.testing.assert_array_equal(often(lambda: gradient(f, X)), before)
    forget_fused()
    often(lambda: hvp(f, X, V))
    np.testing.assert_array_equal(often(lambda: gradient(f, X)), before)


def test_code_is_written() -> None:
    assert written(lambda: hvp(rosenbrock, X, V))
    assert written(lambda: pushforward(rosenbrock, X)[1](V))
    assert written(lambda: hvp(number_beside, X, V))


def test_not_for_large_arrays() -> None:
    x = np.linspace(0.1, 1.0, 5000)
    found = often(lambda: hvp(rosenbrock, x, x))
    np.testing.assert_allclose(found, by_differences(rosenbrock, x, x), rtol=1e-5, atol=1e-4)


def test_a_zero_wins_over_an_infinite_slope(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        return np.sum(np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)) * x * 2.0, 0.0 * x))

    x = np.array([0.0, 4.0, 0.0, 1.0])
    expected = one_by_one(monkeypatch, lambda: hvp(f, x, np.ones(4)))
    np.testing.assert_array_equal(often(lambda: hvp(f, x, np.ones(4))), expected)
    np.testing.assert_allclose(expected, [0.0, 0.75, 0.0, 1.5])


def test_where_the_slopes_are_infinite_all_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        return np.sum(np.sqrt(x * x - x * x) * 0.0 + x * x * x)

    expected = one_by_one(monkeypatch, lambda: hvp(f, X, V))
    np.testing.assert_array_equal(often(lambda: hvp(f, X, V)), expected)


def test_a_constant_that_is_written_into_afterwards_counts_as_it_was() -> None:
    def f(x):
        c = C
        y = np.sum(x * x * c + x * c)
        c[0] = 5.0
        return y

    before = C.copy()
    try:
        for _ in range(4):
            C[:] = before
            np.testing.assert_allclose(hvp(f, X, V), 2.0 * before * V)
    finally:
        C[:] = before


def test_another_rule_in_forward_mode_holds_there() -> None:
    def wave(x):
        return np.sin(x)

    scalar_rule(wave, lambda y, x: np.cos(x))

    @frule.register(wave, np.ndarray)
    def wave_frule(dots, x):
        return np.sin(x), 10.0 * dots[0]

    try:
        found = often(lambda: pushforward(lambda x: 2.0 * wave(x) + x * x, X)[1](V))
    finally:
        rrule.unregister(wave)
        frule.unregister(wave)
    np.testing.assert_allclose(found, 20.0 * V + 2 * X * V)


def test_another_rule_for_an_operator_in_forward_mode() -> None:
    def f(x):
        return np.cbrt(x) * 2.0 + x

    before = often(lambda: pushforward(f, X)[1](V))
    entry = frule.entry(np.cbrt)
    rules = list(entry.rules)

    @frule.register(np.cbrt, np.ndarray)
    def cbrt_frule(dots, x):
        return np.cbrt(x), 10.0 * dots[0]

    try:
        np.testing.assert_allclose(often(lambda: pushforward(f, X)[1](V)), 21.0 * V)
    finally:
        frule.unregister(np.cbrt)
        for rule in rules:
            frule.add(rule)
    np.testing.assert_array_equal(often(lambda: pushforward(f, X)[1](V)), before)


def test_three_levels() -> None:
    def third(x):
        return np.sum(hvp(lambda z: np.sum(z**4 * 2.0 + C * z**3), x, V) * V)

    expected = (48.0 * X + 6.0 * C) * V * V
    np.testing.assert_allclose(often(lambda: gradient(third, X)), expected)
    pushed = often(lambda: pushforward(third, X)[1](np.ones(6)))
    np.testing.assert_allclose(pushed, np.sum(expected))


def test_single_precision() -> None:
    x = X.astype(np.float32)
    found = often(lambda: hvp(rosenbrock, x, V.astype(np.float32)))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, hvp(rosenbrock, X, V), rtol=1e-3, atol=1e-3)


def test_complex_values(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        z = x * 1j * C + x
        return np.sum(np.real(z * z * np.conj(z)) + np.abs(z) * x)

    expected = one_by_one(monkeypatch, lambda: hvp(f, X, V))
    np.testing.assert_allclose(often(lambda: hvp(f, X, V)), expected, rtol=1e-13)
