"""debug_nans: the first call that makes a NaN or Inf is named, with its line."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import NonFiniteError, debug_nans, derivative, gradient, hessian, pushforward

X = np.array([4.0, 0.0, 1.0])


def loop(x: Any) -> Any:
    s = 0.0
    for i in range(3):
        s += math.sqrt(x[i])  # here
    return s


def buffer(x: Any) -> Any:
    out = np.zeros(3)
    out[1:] = np.sqrt(x[1:])  # here
    return np.sum(out)


@pytest.mark.parametrize(
    "run, says",
    [
        (
            lambda: gradient(lambda x: np.sum(np.log(x)), X),
            r"numpy.log made an Inf at \(1,\) out of",
        ),
        (lambda: gradient(lambda x: np.sum(x / (x - x)), X), "operator.truediv made an Inf at"),
        (lambda: gradient(lambda x: np.sum(np.log(-x)), X), r"numpy.log made a NaN at \(0,\)"),
        (
            lambda: gradient(lambda x: np.sum(np.sqrt(x)), X),
            r"pullback of numpy.sqrt made an Inf for",
        ),
        (lambda: gradient(loop, X), "the pullback of math.sqrt made an Inf for argument"),
        (
            lambda: gradient(buffer, X),
            r"pullback of numpy.sqrt made an Inf for argument .* at \(0,\)",
        ),
        (lambda: pushforward(loop, X)[1](np.ones(3)), "math.sqrt made an Inf in its tangent"),
        (lambda: derivative(lambda x: x**0.5, 0.0), "operator.pow made an Inf in its tangent"),
        (
            lambda: gradient(lambda x: gradient(lambda z: z**1.5, x), 0.0),
            "operator.pow made an Inf",
        ),
        (lambda: gradient(lambda x: np.log(x["a"]), {"a": 0.0}), "numpy.log made an Inf out of"),
    ],
)
def test_the_call_is_named(run: Callable, says: str) -> None:
    with debug_nans(), pytest.raises(NonFiniteError, match=says):
        run()


@pytest.mark.parametrize("f", [loop, buffer])
def test_the_line_is_that_of_the_call(f: Callable) -> None:
    with open(__file__, encoding="utf-8") as file:
        lines = file.read().splitlines()
    with debug_nans(), pytest.raises(FloatingPointError) as caught:
        gradient(f, X)
    first = f.__code__.co_firstlineno
    line = next(i for i, text in enumerate(lines, 1) if i > first and "# here" in text)
    assert f"line {line}, in {f.__name__}" in caught.value.where
    assert str(caught.value).endswith(caught.value.where)


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda x: np.sum(np.sin(x) * x), X),
        (lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)), X),  # 0 · Inf is no NaN here
        (lambda x: np.min(np.minimum(np.inf, x)), X),
        (lambda x: np.sum(x * 2), np.array([np.nan, 1.0])),  # it was there before
        (lambda x: float(len("abc")) * x**2, 3.0),
        (lambda x: np.linalg.norm(x) * x[0], X),
    ],
)
def test_what_is_fine_is_as_without(f: Callable, x: Any) -> None:
    expected = gradient(f, x)
    with debug_nans():
        np.testing.assert_array_equal(gradient(f, x), expected)


def test_second_derivatives_are_as_without() -> None:
    with debug_nans():
        np.testing.assert_allclose(hessian(lambda x: np.sum(x**3), X), np.diag(6 * X))


def test_inf_may_be_let_through() -> None:
    with debug_nans(infs=False):
        np.testing.assert_array_equal(
            gradient(lambda x: np.sum(np.sqrt(x)), X), [0.25, np.inf, 0.5]
        )
        with pytest.raises(NonFiniteError, match="made a NaN"):
            gradient(lambda x: np.sum(np.log(-x)), X)


def test_it_ends_with_the_block() -> None:
    with debug_nans():
        pass
    assert gradient(lambda x: np.sum(np.sqrt(x)), X)[1] == np.inf
    with pytest.raises(NonFiniteError), debug_nans():
        gradient(lambda x: np.sum(np.sqrt(x)), X)
    assert gradient(lambda x: np.sum(np.sqrt(x)), X)[1] == np.inf


def test_a_pullback_made_inside_is_looked_at_outside() -> None:
    with debug_nans():
        _, back = autodiff.pullback(np.sqrt, X)
    with pytest.raises(NonFiniteError):
        back(np.ones(3))
