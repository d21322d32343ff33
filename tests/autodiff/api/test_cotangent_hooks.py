"""cotangent_hook: seen, replaced, refused."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import cotangent_hook, gradient, hessian, jacobian, pushforward

X = np.array([1.0, 2.0, 3.0])


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any


@pytest.fixture
def seen() -> list[Any]:
    return []


def test_what_the_hook_sees_is_the_cotangent(seen: list[Any]) -> None:
    found = gradient(lambda x: np.sum(cotangent_hook(x, seen.append) ** 2), X)
    np.testing.assert_array_equal(found, 2 * X)
    assert len(seen) == 1
    np.testing.assert_array_equal(seen[0], 2 * X)


@pytest.mark.parametrize(
    "f, x, expected",
    [
        (lambda x: cotangent_hook(x, lambda g: 10 * g) ** 2, 3.0, 60.0),
        (lambda x: cotangent_hook(x, lambda g: 0) ** 2, 3.0, 0.0),
        (lambda x: x * cotangent_hook(x, lambda g: 10 * g), 3.0, 33.0),
        (lambda x: np.sum(cotangent_hook(x, lambda g: np.clip(g, -3, 3)) ** 2), X, [2.0, 3.0, 3.0]),
        (lambda x: np.sum(cotangent_hook(x[1:], lambda g: g * 2)), X, [0.0, 2.0, 2.0]),
        (lambda x: cotangent_hook(np.float32(x), lambda g: g * 2), 3.0, 2.0),
        (lambda x: cotangent_hook(3, print) * x, 2.0, 3.0),
        (lambda x: cotangent_hook("text", print) and x, 2.0, 1.0),
    ],
)
def test_what_the_hook_returns_goes_on(f: Callable, x: Any, expected: Any) -> None:
    np.testing.assert_allclose(gradient(f, x), expected)


@pytest.mark.parametrize(
    "wrapped, use, saw",
    [
        (lambda x: (x, x * x), lambda t: t[0] * t[1], (9.0, 3.0)),
        (lambda x: [x, 2, "s"], lambda t: t[0] * t[1], [2.0, None, None]),
        (lambda x: {"a": x, "b": (x, x)}, lambda t: t["b"][1] * 5, {"a": 0.0, "b": (0.0, 5.0)}),
        (lambda x: Pair(x, "s"), lambda t: t.a * 4, Pair(4.0, None)),
    ],
)
def test_nests(wrapped: Callable, use: Callable, saw: Any, seen: list[Any]) -> None:
    gradient(lambda x: use(cotangent_hook(wrapped(x), seen.append)), 3.0)
    assert seen == [saw]


@pytest.mark.parametrize(
    "hook, expected",
    [
        (lambda g: {"a": g["a"] * 2, "b": g["b"]}, 3.0 * 2 + 6.0),
        (lambda g: {"a": None, "b": (7.0, None)}, 7.0 * 6.0),
        (lambda g: {"a": 1.0, "b": (0, None)}, 1.0),
    ],
)
def test_nests_replaced(hook: Callable, expected: float) -> None:
    def f(x: Any) -> Any:
        t = cotangent_hook({"a": x, "b": (x * x, "s")}, hook)
        return t["a"] * (t["b"][0] / 3.0)

    # At 3 the cotangents are 3 of a, which is x, and 1 of b, whose derivative is 6.
    assert gradient(f, 3.0) == pytest.approx(expected)


def test_forward_mode_passes_tangents_unchanged(seen: list[Any]) -> None:
    _, push = pushforward(lambda x: cotangent_hook(x, seen.append) ** 2, X)
    np.testing.assert_array_equal(push(np.ones(3)), 2 * X)
    assert seen == []


def test_a_value_without_a_cotangent_is_not_seen(seen: list[Any]) -> None:
    gradient(lambda x: x + 0.0 * len([cotangent_hook(x, seen.append)]), 2.0)
    assert seen == []


def test_it_returns_the_value_itself() -> None:
    nest = ([1.0], "s")
    assert cotangent_hook(nest, print) is nest


def test_writes_are_seen_through_it(seen: list[Any]) -> None:
    def f(x: Any) -> Any:
        y = cotangent_hook(x, seen.append)
        y[0] = 5.0
        return np.sum(x**2) + np.sum(y)

    np.testing.assert_allclose(gradient(f, X), [0.0, 5.0, 7.0])


def test_second_derivatives_are_those_of_the_hook(differences: Callable) -> None:
    def inner(x: Any) -> Any:
        return gradient(lambda z: cotangent_hook(z, lambda g: g * math.sin(g)) ** 3, x)

    expected = differences(lambda x: inner(float(x)), 1.3)
    np.testing.assert_allclose(gradient(inner, 1.3), expected, rtol=1e-6)
    np.testing.assert_allclose(autodiff.derivative(inner, 1.3), expected, rtol=1e-6)


def test_hessian_and_jacobian() -> None:
    def doubled(x: Any) -> Any:
        return cotangent_hook(x, lambda g: 2.0 * g) ** 3

    np.testing.assert_allclose(hessian(lambda x: np.sum(doubled(x)), X), np.diag(12 * X))
    np.testing.assert_allclose(jacobian(doubled, X, mode="reverse"), np.diag(6 * X**2))


@pytest.mark.parametrize(
    "x, use, returned, says",
    [
        (X, np.sum, "text", "returned a str"),
        (X, np.sum, np.ones(2), r"its shape is \(2,\), not \(3,\)"),
        (X, np.sum, (1.0, 2.0), "returned a tuple"),
        (2.0, lambda y: y, np.ones(3), "returned a ndarray"),
        ([1.0, 2.0], lambda y: y[0], [1.0], "it has 1 parts, and the value 2"),
        ([1.0, 2.0], lambda y: y[0], 3.0, "returned a float"),
    ],
)
def test_what_is_no_cotangent_is_refused(x: Any, use: Callable, returned: Any, says: str) -> None:
    with pytest.raises(autodiff.DifferentiationError, match=says):
        gradient(lambda x: use(cotangent_hook(x, lambda g: returned)), x)


def test_an_error_of_the_hook_is_its_own() -> None:
    def check(g: Any) -> None:
        raise ValueError("too large")

    with pytest.raises(ValueError, match="too large"):
        gradient(lambda x: cotangent_hook(x, check), 2.0)


@pytest.mark.parametrize("x", [3.0, "text"])
def test_a_hook_that_is_no_function_is_refused(x: Any) -> None:
    with pytest.raises(autodiff.ArgumentError, match="the second argument is a str"):
        cotangent_hook(x, "x")
    with pytest.raises(autodiff.ArgumentError, match="the second argument is a str"):
        gradient(lambda x: cotangent_hook(x, "x"), 3.0)
