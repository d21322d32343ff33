"""gradient, value_and_gradient, pullback, derivative: their options, seeds and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import (
    compile,
    derivative,
    gradient,
    pullback,
    pushforward,
    ravel,
    value_and_gradient,
)
from chainrules_core import NoTangent, Tangent, ZeroTangent, thunk
from tests.helpers import Data, Pair, differences

X = np.array([1.0, -2.0, 3.0])


class Plain:
    def __init__(self, a: Any, b: Any) -> None:
        self.a = a
        self.b = b


@pytest.mark.parametrize(
    "argnums, expected",
    [
        (None, (6.0, 3.0, 2.0)),
        (0, 6.0),
        (-1, 2.0),
        ((1,), (3.0,)),
        ((2, 0), (2.0, 6.0)),
        ((0, 0), (6.0, 6.0)),
        ([1, -1], (3.0, 2.0)),
        (np.int64(1), 3.0),
    ],
)
def test_argnums(argnums: Any, expected: Any) -> None:
    found = gradient(lambda a, b, c: a * b * c, 1.0, 2.0, 3.0, argnums=argnums)
    assert found == expected


def test_has_aux() -> None:
    (value, aux), g = value_and_gradient(
        lambda x: (x * x, {"triple": [3 * x], "text": "t", "array": x * np.ones(2)}),
        2.0,
        has_aux=True,
    )
    assert (value, g) == (4.0, 4.0)
    assert aux["triple"] == [6.0]
    assert type(aux["triple"][0]) is float
    assert type(aux["array"]) is np.ndarray


def test_keyword_arguments_are_constants() -> None:
    assert gradient(lambda x, *, n, w: w * x**n, 2.0, n=3, w=2.0) == 24.0


def test_what_cannot_be_perturbed_has_none() -> None:
    assert gradient(lambda x, s, n: x * len(s) * n["n"], 2.0, "ab", {"n": 3}) == (
        6.0,
        None,
        {"n": None},
    )


@pytest.mark.parametrize(
    "output, seed, expected",
    [
        (lambda x: (x, x * x), (1.0, 10.0), 61.0),
        (lambda x: (x, x * x), [1.0, 10.0], 61.0),
        (lambda x: [x, (x * x, "text")], [1.0, (10.0, None)], 61.0),
        (lambda x: {"a": x, "b": x * x}, {"a": 1.0, "b": 10.0}, 61.0),
        (lambda x: {"a": x, "b": x * x}, {"b": 10.0, "a": None}, 60.0),
        (lambda x: Pair(x, x * x), Pair(1.0, 10.0), 61.0),
        (lambda x: Pair(x, x * x), Tangent[Pair](b=10.0), 60.0),
        (lambda x: Data(x, x * x), Data(1.0, 10.0), 61.0),
        (lambda x: Data(x, x * x), Tangent[Data](a=1.0), 1.0),
        (lambda x: Plain(x, x * x), Tangent[Plain](b=10.0), 60.0),
        (lambda x: (x, x, x), (1.0, 2.0, 3.0), 6.0),
        (lambda x: (x, 5.0), (1.0, 100.0), 1.0),
        (lambda x: (x, x * x), Tangent[tuple](ZeroTangent(), 10.0), 60.0),
        (lambda x: (x, x * x), ZeroTangent(), 0.0),
        (lambda x: (x, x * x), NoTangent(), 0.0),
        (lambda x: (x, x * x), thunk(lambda: (thunk(lambda: 1.0), 10.0)), 61.0),
        (lambda x: (), (), 0.0),
        (lambda x: None, None, 0.0),
    ],
)
def test_a_pullback_takes_seeds_in_the_nesting_of_the_output(
    output: Callable, seed: Any, expected: float
) -> None:
    _, back = pullback(output, 3.0)
    assert back(seed) == expected
    assert back(seed) == expected


def test_a_pullback_returns_the_nesting_of_its_arguments() -> None:
    y, back = pullback(lambda p, x: p["w"] * x + p["b"], {"w": 2.0, "b": X}, X, argnums=(1, 0))
    np.testing.assert_array_equal(y, 3 * X)
    x_bar, p_bar = back(np.array([1.0, 0.0, 2.0]))
    np.testing.assert_array_equal(x_bar, [2.0, 0.0, 4.0])
    assert p_bar["w"] == 7.0
    np.testing.assert_array_equal(p_bar["b"], [1.0, 0.0, 2.0])


@pytest.mark.parametrize(
    "f, expected",
    [
        (lambda x: x**3, 12.0),
        (lambda x: 5.0, 0.0),
        (lambda x: x * X, X),
        (lambda x: x * x * np.ones((2, 1)), np.full((2, 1), 4.0)),
        (lambda x: np.array([1j, 2.0]) * x, np.array([1j, 2.0])),
        (lambda x: (2 + 1j) * x, 2 + 1j),
        (lambda x: (x, x * x), (1.0, 4.0)),
        (lambda x: {"a": x, "b": [x * X]}, {"a": 1.0, "b": [X]}),
        (lambda x: Pair(x * x, 1.0), Pair(4.0, 0.0)),
    ],
    ids=[
        "scalar",
        "constant",
        "array",
        "matrix",
        "complex array",
        "complex",
        "tuple",
        "dict",
        "pair",
    ],
)
def test_derivative(f: Callable, expected: Any) -> None:
    found = derivative(f, 2.0)
    if isinstance(expected, dict):
        assert found["a"] == expected["a"]
        np.testing.assert_allclose(found["b"][0], expected["b"][0])
        return
    np.testing.assert_allclose(found, expected)
    assert isinstance(found, (type(expected), np.generic))


def test_an_array_of_objects_has_no_gradient_beside_an_argument_that_has_one() -> None:
    words = np.array(["a", None, 3], object)
    assert gradient(lambda x, words: x * x * len(words), 2.0, words) == (12.0, None)
    assert gradient(lambda words, x: x * x * len(words), words, 2.0) == (None, 12.0)


def writes_into_the_argument_of_a_pullback(x: Any) -> Any:
    _, back = pullback(lambda v: v**2, x)
    x[0] = 5.0
    return np.sum(back(np.ones(3)) ** 2) + np.sum(x**3)


def writes_into_the_value_of_a_pullback(x: Any) -> Any:
    (y, z), back = pullback(lambda v: (v, v[1:]), x)
    y *= 3.0
    z[0] = 7.0
    return np.sum(x**2) + np.sum(y**3) + np.sum(back((y, z)))


def writes_into_the_value_of_a_pushforward(x: Any) -> Any:
    y, push = pushforward(lambda v: v, x)
    y[0] = 5.0
    return np.sum(x**2) + np.sum(y**3) + np.sum(push(y * y))


def writes_into_a_nest_made_of_a_vector(x: Any) -> Any:
    vector, nest = ravel({"a": x, "b": x * 2})
    made = nest(vector)
    made["a"][1] = 4.0
    return np.sum(vector**3) + np.sum(made["a"] ** 2)


@pytest.mark.parametrize(
    "f",
    [
        writes_into_the_argument_of_a_pullback,
        writes_into_the_value_of_a_pullback,
        writes_into_the_value_of_a_pushforward,
        writes_into_a_nest_made_of_a_vector,
    ],
)
def test_later_writes_in_an_outer_derivative_or_a_recording(f: Callable) -> None:
    expected = differences(lambda x: f(x.copy()), X)
    np.testing.assert_allclose(gradient(f, X), expected, rtol=1e-6)
    np.testing.assert_allclose(gradient(lambda x: f(x * 1.0), X), expected, rtol=1e-6)
    compiled, of_gradient = compile(f), compile(lambda x: gradient(f, x))
    for _ in range(2):
        np.testing.assert_allclose(compiled(X.copy()), f(X.copy()))
        np.testing.assert_allclose(of_gradient(X.copy()), expected, rtol=1e-6)


def test_the_value_of_a_compiled_pullback_is_a_copy() -> None:
    compiled = compile(lambda x: pullback(lambda v: (v, v[1:]), x)[0])
    for _ in range(2):
        assert not any(np.shares_memory(y, X) for y in compiled(X))
