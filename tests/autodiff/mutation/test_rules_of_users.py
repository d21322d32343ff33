"""Functions that may return their argument: a rule of the user's is obeyed there, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from chainrules_core import NoTangent, frule, rrule

X = np.arange(1.0, 5.0).reshape(2, 2)
FUNCTIONS = [
    np.squeeze, np.real, np.asarray, np.asanyarray, np.ascontiguousarray, np.atleast_1d,
    np.atleast_2d, np.real_if_close,
]  # fmt: skip


@pytest.mark.parametrize("way", ["as called", "compiled", "automatically", "method", "jvp"])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_a_rule_of_the_users(f: Callable, way: str) -> None:
    def loss(x: Any) -> Any:
        is_method = way == "method" and f is np.squeeze
        return np.sum(np.sin(x.squeeze() if is_method else f(x)) * x)

    def tripled(x: Any) -> tuple:
        return f(x), lambda bar: (NoTangent(), 3.0 * bar)

    rrule.register(f, np.ndarray)(tripled)
    frule.register(f, np.ndarray)(lambda dots, x: (f(x), 3.0 * dots[-1]))
    was_on = autodiff.automatic_compile(way == "automatically")
    try:
        slope = lambda x: autodiff.gradient(loss, x)  # noqa: E731
        if way == "compiled":
            slope = autodiff.compile(slope)
        if way == "jvp":
            slope = lambda x: autodiff.jvp(loss, (x,), (np.ones_like(x),))[1]  # noqa: E731
        expected = np.sin(X) + 3.0 * np.cos(X) * X
        for _ in range(20):
            np.testing.assert_allclose(slope(X), np.sum(expected) if way == "jvp" else expected)
    finally:
        rrule.unregister(f, np.ndarray)
        frule.unregister(f, np.ndarray)
        autodiff.automatic_compile(was_on)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_the_built_in_rules_return_the_argument(f: Callable) -> None:
    seen: list[bool] = []

    def loss(x: Any) -> Any:
        x = x * 1.0
        seen.append((f(x) is x) == (f(X) is X))
        return np.sum(f(x) ** 2)

    np.testing.assert_allclose(autodiff.gradient(loss, X), 2 * X)
    assert all(seen)
