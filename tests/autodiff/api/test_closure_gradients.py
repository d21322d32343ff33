"""Gradients with respect to what a function has captured."""

import math

import numpy as np
import pytest

from autodiff import ArgumentError, captured_gradient


def model(slope, weights, options):
    def feature(x):
        return math.tanh(slope * x)

    def loss(x):
        return feature(x) * np.sum(weights * options["scale"]) + len(options["name"])

    return loss


def test_gradients_have_the_names_and_shapes_of_the_variables():
    weights, options = np.array([1.0, 2.0]), {"scale": 3.0, "name": "abc"}
    found = captured_gradient(model(0.5, weights, options), 2.0)
    t = math.tanh(1.0)
    assert set(found) == {"feature.slope", "weights", "options"}
    assert found["feature.slope"] == pytest.approx((1 - t * t) * 2.0 * 9.0)
    np.testing.assert_allclose(found["weights"], [3.0 * t, 3.0 * t])
    assert found["options"]["scale"] == pytest.approx(3.0 * t)
    assert found["options"]["name"] is None
    assert options == {"scale": 3.0, "name": "abc"}


def test_arguments_are_constants():
    a = np.float32(2.0)
    found = captured_gradient(lambda x, *, power: a * x**power, 3.0, power=2)
    assert found == {"a": 9.0}
    assert found["a"].dtype == np.float32


def test_a_function_that_calls_itself():
    c = 1.5

    def power(n):
        return 1.0 if n == 0 else c * power(n - 1)

    assert captured_gradient(power, 3) == {"c": pytest.approx(3 * 1.5**2)}


def test_functions_that_share_a_variable_share_its_gradient():
    c = 1.5
    steps = [lambda t: c * t, lambda t: t + c]

    class Last:
        def go(self, t):
            return t**2 * c

    last = Last().go

    def f(x):
        for step in steps:
            x = step(x)
        return last(x) + c

    def plain(c):
        return (c * 2.0 + c) ** 2 * c + c

    with pytest.raises(ArgumentError):
        captured_gradient(last, 2.0)
    expected = (plain(c + 1e-6) - plain(c - 1e-6)) / 2e-6
    assert captured_gradient(f, 2.0) == {"c": pytest.approx(expected)}


@pytest.mark.parametrize("f", [math.sin, model, lambda x: x], ids=["builtin", "global", "nothing"])
def test_nothing_captured_is_an_error(f):
    with pytest.raises(ArgumentError, match=r"captured"):
        captured_gradient(f, 2.0)
