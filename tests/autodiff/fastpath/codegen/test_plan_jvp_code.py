"""Generated code for linear functions and scalar operations in nested and forward mode."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, hvp, pushforward, vhp
from autodiff.structured.settings import Settings
from chainrules_core import frule, linear_rule, rrule

X = np.array([0.3, -0.7, 0.5, 1.1, 1.6, 0.9])
V = np.array([1.0, 0.5, -2.0, 0.25, 0.75, -1.5])
C = np.array([1.2, 0.4, 1.7, 0.9, 0.6, 2.0])
A = np.sin(np.arange(24.0)).reshape(4, 6)


def elements(x):
    t = 0.0
    for i in range(5):
        t = t * x[i] + x[i + 1] ** 2 / (1.0 + x[i] * x[i]) - abs(x[i]) * 0.5
    return t


def written_views(x):
    r = x.reshape(2, 3) * 1.0
    row, column = r[0], r[:, 1]
    a, b = np.sum(row**2), np.sum(column**3)
    row[1] = x[5] * x[4]
    return a * b + np.sum(r**2) + column[0] * row[1]


def matrix(x):
    m = np.outer(x, x)
    return np.sum(m[1] * m[:, 2]) + np.sum(m[1:3, ::2] ** 2) + m[2, 3] * m[-1, -1] ** 2


def softmax(x):
    e = np.exp(x - np.max(x))
    p = e / np.sum(e) + 0.0 * e
    return -np.sum(p * np.log(p) * 2)


def in_place(x):
    y = x * 2.0 + 1.0
    z = y * y * C + y
    y *= 2
    y += x
    return np.sum(z * y * 2 + y * y * y)


def steps(x):
    y = x * C + 1
    for i in range(3):
        y = y * y * 0.3 + x * 0.1
        y[i] = x[i] * 2 + y[i + 1] * y[i]
    return np.sum(y * x + y)


FUNCTIONS: list[Callable] = [
    elements,
    written_views,
    matrix,
    lambda x: np.sum(x[1:] * x[:-1]) + np.sum(x[::-1] ** 3),
    lambda x: np.sum(np.dot(A, x) ** 3) + np.dot(x, x) * x[0],
    lambda x: np.sum((A @ x) ** 2 * np.flip(x[:4])),
    lambda x: np.sum(np.roll(x, 2) * x) + np.sum(np.roll(x, shift=1, axis=0) ** 3),
    lambda x: np.sum(np.transpose(np.outer(x, x))[0] * x) + np.sum(x.reshape(3, 2).T[1] ** 3),
    lambda x: np.sum(np.broadcast_to(x, (2, 6)) ** 3) + np.sum(np.expand_dims(x, 1) ** 2 * A[:, 0]),
    lambda x: math.sin(x[0]) * x[1] + math.exp(x[2]) / x[3] + x[4] * 2.0 - 1.0,
    lambda x: np.sin(x[0]) * np.exp(x[1]) ** x[4] - np.hypot(x[2], x[3]) + 2.0 ** x[5],
    lambda x: -x[0] * x[1] / x[3] - (1.0 - x[2]) ** 3 + math.sqrt(x[4]) * x[5] ** -1,
    lambda x: np.mean((x - np.mean(x)) ** 3) + np.sum(np.sum(np.outer(x, x), axis=1) ** 2),
    lambda x: np.sum(np.mean(np.outer(x, x), axis=0, keepdims=True) ** 2 * x),
    lambda x: np.linalg.norm(x) * x[0] * x[1] + np.log(np.sum(np.exp(x))),
    lambda x: np.sum(x[np.array([0, 0, 3])] ** 3) + np.sum(np.where(x > 0.6, x, 2.0) ** 2),
    softmax,
    in_place,
    steps,
    lambda x: np.sum(np.sin(x * np.sum(x)) + np.sum(x) / C - x * 3.0),
    lambda x: np.sum(np.where(x > 0, np.sqrt(np.abs(x) + 1) * x, x * x * C)),
    lambda x: np.sum((x[:, None] - x[None, :]) ** 2 * np.exp(-x)[:, None]),
    lambda x: np.sum(np.hypot(x, C) * np.arctan2(x, C) - np.logaddexp(x, C) * x),
    lambda x: np.sum((x < 0) * x * x + (x > 1) * np.tanh(x) / C),
    lambda x: np.sum(np.power(np.abs(x) + 1, C) * 2**x - np.maximum(x * C, 0.1)),
]


@pytest.fixture(autouse=True)
def _traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a program is made of loops depends on how long tracing takes."""
    monkeypatch.setattr(Settings, "enabled", False)


def often(f: Callable) -> Any:
    for _ in range(40):  # so that code is written on the way
        made = f()
    return made


def by_differences(f: Callable) -> Any:
    h = 1e-6
    return (gradient(f, X + h * V) - gradient(f, X - h * V)) / (2 * h)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_against_differences(f: Callable) -> None:
    first = hvp(f, X, V)
    found = often(lambda: hvp(f, X, V))
    np.testing.assert_allclose(found, by_differences(f), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found, first, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(often(lambda: vhp(f, X, V)), found, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_pushforward(f: Callable) -> None:
    push = pushforward(f, X)[1]
    np.testing.assert_allclose(often(lambda: push(V)), gradient(f, X) @ V, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_gradients_are_what_they_were(f: Callable) -> None:
    before = gradient(f, X)
    often(lambda: hvp(f, X, V))
    np.testing.assert_array_equal(often(lambda: gradient(f, X)), before)


def test_three_levels() -> None:
    def third(x):
        return np.sum(hvp(lambda z: np.sum(z**4 * 2.0 + C * z**3), x, V) * V)

    expected = (48.0 * X + 6.0 * C) * V * V
    np.testing.assert_allclose(often(lambda: gradient(third, X)), expected)
    pushed = often(lambda: pushforward(third, X)[1](np.ones(6)))
    np.testing.assert_allclose(pushed, np.sum(expected))


def test_single_precision() -> None:
    x, v = X.astype(np.float32), V.astype(np.float32)
    found = often(lambda: hvp(softmax, x, v))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, hvp(softmax, X, V), rtol=1e-3, atol=1e-3)


def test_a_zero_wins_on_levels_of_numbers() -> None:
    def f(x):
        return math.sqrt(x[0]) * 0.0 + x[1] ** 3 + np.sqrt(x[2]) * x[3] * x[2]

    x = np.array([0.0, 2.0, 0.0, 3.0])
    first = hvp(f, x, np.array([1.0, 1.0, 0.0, 0.0]))
    np.testing.assert_array_equal(often(lambda: hvp(f, x, np.array([1.0, 1.0, 0.0, 0.0]))), first)


def test_division_by_zero_is_python_s_own() -> None:
    def f(x):
        return x * x / (x - x)

    for _ in range(40):
        with pytest.raises(ZeroDivisionError):
            hvp(f, 2.0, 1.0)


def test_other_numbers_in_the_same_place() -> None:
    def f(x):
        return x * x * x

    often(lambda: hvp(f, 2.0, 1.0))
    assert often(lambda: hvp(f, np.float64(2.0), 1.0)) == 12.0
    assert type(often(lambda: hvp(f, np.float32(2.0), 1.0))) is np.float32
    assert often(lambda: hvp(lambda x: np.sum(f(x)), np.array([2.0, 1.0]), np.ones(2))).sum() == 18
    assert often(lambda: hvp(f, 2.0, 1.0)) == 12.0


def test_another_rule_in_forward_mode_holds() -> None:
    def twice(x):
        return x + x

    def f(x):
        return np.sum(twice(x) ** 2)

    linear_rule(twice, lambda y_bar, x: 2 * y_bar, types=(np.ndarray,))
    try:
        np.testing.assert_array_equal(often(lambda: hvp(f, X, V)), 8 * V)

        @frule.register(twice, np.ndarray)
        def twice_frule(dots, x):
            return x + x, 10.0 * dots[0]

        np.testing.assert_allclose(often(lambda: pushforward(f, X)[1](V)), 40 * X @ V)
        often(lambda: gradient(f, X))
        np.testing.assert_allclose(often(lambda: pushforward(f, X)[1](V)), 40 * X @ V)
    finally:
        rrule.unregister(twice)
        frule.unregister(twice)
