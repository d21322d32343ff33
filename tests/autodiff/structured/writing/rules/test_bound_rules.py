"""Which rule a program takes for a call: one of the user's is not passed over."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.runtime import Structured
from chainrules_core import frule, rrule, scalar_rule
from chainrules_core.authoring import expression

X = np.array([0.3, -0.4, 1.2])


@pytest.mark.parametrize(
    "f, call",
    [(operator.pow, lambda x: x**2), (math.hypot, lambda x: math.hypot(x, 1.0))],
    ids=["pow", "hypot"],
)
def test_rules_of_the_users_for_powers_and_distances(f: Callable, call: Callable) -> None:
    def total(x: Any) -> Any:
        s = 0.0
        for i in range(len(x)):
            s = s + call(x[i])
        return s

    before = gradient(total, X)
    rrule.register(f, float, (int, float))(
        lambda x, other: (f(x, other), lambda y_bar: (100.0 * y_bar, 0.0))
    )
    rrule.register(f, np.float64, (int, float))(
        lambda x, other: (f(x, other), lambda y_bar: (100.0 * y_bar, 0.0))
    )
    try:
        np.testing.assert_allclose(gradient(total, X), np.full(X.shape, 100.0))
        assert not np.allclose(before, 100.0)
    finally:
        rrule.unregister(f, float, (int, float))
        rrule.unregister(f, np.float64, (int, float))


def test_rules_of_the_users_for_sizes_of_arrays() -> None:
    def total(x: Any) -> Any:
        s = 0.0
        for i in range(len(x)):
            s = s + np.sum(np.abs(x[i : i + 2]))
        return s

    before = gradient(total, X)
    held = rrule.methods(np.absolute)
    rrule.register(np.absolute, np.ndarray)(lambda x: (np.abs(x), lambda y_bar: 100.0 * y_bar))
    try:
        assert np.all(gradient(total, X)[1:] == 200.0)
        assert not np.any(before == 200.0)
    finally:
        rrule.unregister(np.absolute, np.ndarray)
    assert rrule.methods(np.absolute) == held


def test_an_expression_beside_a_rule_is_written(runs: list[str]) -> None:
    def ramp(x: Any) -> Any:
        return np.maximum(x, 0.0)

    ramp.__module__ = "scipy"  # functions of libraries are called, not read

    def total(x: Any) -> Any:
        s = 0.0
        for i in range(len(x)):
            s = s + x[i] * ramp(x[i])
        return s

    rrule.register(ramp)(lambda x: (ramp(x), lambda y_bar: y_bar * (x > 0.0)))
    try:
        by_rule = Structured(total, (None,), (X,), (0,)).source
        expression(ramp, lambda y, x: 1.0 * (x > 0.0))
        written = Structured(total, (None,), (X,), (0,)).source
        assert " > 0.0)" in written
        assert " > 0.0)" not in by_rule
        np.testing.assert_allclose(gradient(total, X), 2 * X * (X > 0), rtol=1e-12)
        assert runs == ["total"]
    finally:
        rrule.unregister(ramp)


def test_slopes_that_are_infinite_numbers(runs: list[str]) -> None:
    def jump(x: Any) -> Any:
        return np.maximum(x, 0.0)

    def scaled(x: Any) -> Any:
        return 2.0 * x

    for f in (jump, scaled):
        f.__module__ = "scipy"  # functions of libraries are called, not read
    scalar_rule(jump, lambda y, x: (x < math.inf) * 1.0 + 0.0 * (x == -math.inf))
    scalar_rule(scaled, math.inf)

    def total(x: Any) -> Any:
        s = 0.0
        for i in range(len(x)):
            s = s + x[i] * jump(x[i]) + 0.0 * scaled(x[i])
        return s

    try:
        np.testing.assert_allclose(gradient(total, X), jump(X) + X)
        assert "total" in runs
    finally:
        for f in (jump, scaled):
            rrule.unregister(f)
            frule.unregister(f)
