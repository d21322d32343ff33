"""checkpoint: the same derivatives with less memory, or a clear error."""

from __future__ import annotations

import functools
import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import checkpoint, gradient, hessian, pushforward
from autodiff.structured.settings import Settings

X = np.array([0.3, -0.2, 0.5])
V = np.array([1.0, -2.0, 0.5])


def step(h: Any, w: Any) -> Any:
    return np.tanh(w * h + 0.1)


def chain(x: Any) -> Any:
    h = np.ones(3)
    for _ in range(4):
        h = checkpoint(step)(h, x)
    return np.sum(h**2)


def at_once(x: Any) -> Any:
    return np.sum(checkpoint(step, x, w=x * 2))


def captured(x: Any) -> Any:
    return checkpoint(lambda s: s * np.sum(np.sin(x)))(2.0)


def nests(x: Any) -> Any:
    @checkpoint
    def g(p: Any, *, scale: Any) -> Any:
        return {"a": p["u"] * scale, "b": (p["v"], 3, "text")}

    r = g({"u": x, "v": x[0] * x[1]}, scale=x[2])
    return np.sum(r["a"]) * r["b"][0] * r["b"][1]


class Model:
    def __init__(self, w: Any) -> None:
        self.w = w

    def __call__(self, x: Any) -> Any:
        return np.sum(self.w * x)

    def method(self, x: Any) -> Any:
        return np.sin(np.sum(self.w * x))


def objects(x: Any) -> Any:
    m = Model(x)
    return checkpoint(m)(x) + checkpoint(m.method)(x * 2) + checkpoint(Model.method)(m, x)


def partials(x: Any) -> Any:
    p = functools.partial(lambda a, b, c=x: np.sum(a * b * c), x)
    return checkpoint(p)(x + 1)


def recursion(x: Any) -> Any:
    def power(n: int, y: Any) -> Any:
        return y if n == 0 else power(n - 1, y * np.sin(x))

    return np.sum(checkpoint(power)(3, x))


def functions_in_functions(x: Any) -> Any:
    scale = {"s": x[0]}

    def inner(y: Any) -> Any:
        return y * scale["s"]

    return np.sum(checkpoint(lambda y: inner(inner(y)))(x))


def given_function(x: Any) -> Any:
    return checkpoint(lambda f, y: f(y) * y[0])(lambda y: np.sum(y * x), x)


def python_body(x: Any) -> Any:
    def g(y: Any) -> Any:
        out = np.zeros(3)
        for i in range(3):
            out[i] = math.sin(y[i]) * x[0]
        return out

    return np.sum(checkpoint(g)(x) ** 2)


def inside(x: Any) -> Any:
    def a(y: Any) -> Any:
        return np.sin(y) * x

    return np.sum(checkpoint(lambda y: checkpoint(a)(checkpoint(a)(y)))(x))


def with_gradient_inside(x: Any) -> Any:
    return np.sum(checkpoint(lambda y: gradient(lambda z: np.sum(z**3 * x), y))(x))


def buffer_changed_later(x: Any) -> Any:
    buffer = np.ones(3)
    buffer[0] = 2.0
    y = checkpoint(lambda z: z * buffer)(x)
    buffer[1] = 5.0
    return np.sum(y * buffer)


def argument_changed_later(x: Any) -> Any:
    y = x * 2
    z = checkpoint(np.sin)(y)
    y[0] = 7.0
    return np.sum(y * z)


def twice_the_same(x: Any) -> Any:
    return np.sum(checkpoint(lambda a, b: a * b)(x, x))


def unused(x: Any) -> Any:
    y, _ = checkpoint(lambda a, b: (a * 2, b * 3))(x, x[0])
    return np.sum(y)


def nothing_traced(x: Any) -> Any:
    return np.sum(checkpoint(np.cos)(np.ones(3)) * x * checkpoint(math.sin)(0.5))


PROGRAMS = [
    chain, at_once, captured, nests, objects, partials, recursion, functions_in_functions,
    given_function, python_body, inside, with_gradient_inside, buffer_changed_later,
    argument_changed_later, twice_the_same, unused, nothing_traced,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_value_and_first_derivatives(f: Callable, differences: Callable) -> None:
    expected = differences(f, X)
    value, found = autodiff.value_and_gradient(f, X)
    assert value == pytest.approx(f(X), rel=1e-13)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(pushforward(f, X)[1](V), expected @ V, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("f", PROGRAMS)
def test_second_derivatives(f: Callable, differences: Callable) -> None:
    expected = differences(lambda x: np.sum(gradient(f, x) * V), X)
    over_reverse = gradient(lambda x: np.sum(gradient(f, x) * V), X)
    np.testing.assert_allclose(over_reverse, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(hessian(f, X) @ V, expected, rtol=1e-5, atol=1e-6)
    reverse_over_forward = gradient(lambda x: pushforward(f, x)[1](V), X)
    np.testing.assert_allclose(reverse_over_forward, expected, rtol=1e-5, atol=1e-6)


def test_it_is_the_same_function_without_a_gradient() -> None:
    doubled = checkpoint(lambda x: x * 2)
    assert doubled(1.5) == 3.0
    assert type(checkpoint(np.zeros)(3)) is np.ndarray
    assert checkpoint(step).__name__ == "step"


def test_precision_stays() -> None:
    x = X.astype(np.float32)
    assert gradient(lambda x: np.sum(checkpoint(np.sin)(x)), x).dtype == np.float32


def test_the_pullback_may_be_called_again() -> None:
    _, back = autodiff.pullback(checkpoint(np.sin), X)
    np.testing.assert_array_equal(back(V), back(V))
    np.testing.assert_allclose(back(V), V * np.cos(X))


def test_complex_values() -> None:
    z = X + 1j * V
    f = checkpoint(lambda z: np.exp(z) * z)
    expected = gradient(lambda z: np.sum(np.abs(np.exp(z) * z)), z)
    np.testing.assert_allclose(gradient(lambda z: np.sum(np.abs(f(z))), z), expected)


def test_memory_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "enabled", False)  # loops are traced
    weights, start = np.linspace(-0.5, 0.5, 20), np.ones((200, 20))

    def steps(h: Any, w: Any, n: int) -> Any:
        for _ in range(n):
            h = np.tanh(h * w)
        return h

    def in_segments(w: Any) -> Any:
        h = start
        for _ in range(10):
            h = checkpoint(steps)(h, w, 10)
        return np.sum(h)

    def peak(f: Callable) -> float:
        f(weights)
        tracemalloc.start()
        try:
            gradient(f, weights)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    # 20 of 100 steps and what the engine needs itself.
    assert peak(in_segments) < 0.4 * peak(lambda w: np.sum(steps(start, w, 100)))


# -- what cannot be right is an error --------------------------------------------------------

LEAKED: list[Any] = []


def through_a_global(x: Any) -> Any:
    LEAKED.append(x)
    return np.sum(checkpoint(lambda y: LEAKED[-1] * y)(x))


def writes_into_its_argument(x: Any) -> Any:
    def g(y: Any) -> Any:
        y[0] = 1.0
        return y * 2

    return np.sum(checkpoint(g)(x * 1))


def writes_into_a_captured_buffer(x: Any) -> Any:
    buffer = np.zeros(3)

    def g(y: Any) -> Any:
        buffer[0] = y[0]
        return y * 2

    return np.sum(checkpoint(g)(x)) + buffer[0]


def writes_into_a_view_it_returned(x: Any) -> Any:
    y = checkpoint(lambda z: z[1:])(x)
    y[0] = 3.0
    return np.sum(y * x[1])


def writes_into_what_it_returned_a_view_of(x: Any) -> Any:
    y = checkpoint(lambda z: z)(x)
    x[0] = 3.0
    return np.sum(y * x[0])


def random(x: Any) -> Any:
    return np.sum(checkpoint(lambda y: y * np.random.rand(3))(x))  # noqa: NPY002 - that is the test


def leaves_something_in_a_list(x: Any) -> Any:
    log: list[Any] = []

    def g(y: Any) -> Any:
        log.append(np.sum(y * y))
        return y * 2

    return np.sum(checkpoint(g)(x)) + log[0]


COUNT = [0]


def counts(x: Any) -> Any:
    def g(y: Any) -> Any:
        COUNT[0] += 1
        return y * COUNT[0]

    return np.sum(checkpoint(g)(x))


@pytest.mark.parametrize(
    "f, error, says",
    [
        (through_a_global, autodiff.DifferentiationError, "neither among its arguments"),
        (writes_into_its_argument, autodiff.MutationError, "writes into an array"),
        (writes_into_a_captured_buffer, autodiff.MutationError, "writes into an array"),
        (writes_into_a_view_it_returned, autodiff.MutationError, "shares its memory"),
        (writes_into_what_it_returned_a_view_of, autodiff.MutationError, "shares its memory"),
        (random, autodiff.DifferentiationError, "random"),
        (counts, autodiff.DifferentiationError, "another value"),
        (leaves_something_in_a_list, autodiff.LeakedTracerError, "has ended"),
    ],
)
def test_errors(f: Callable, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        gradient(f, X)


def test_not_a_function() -> None:
    with pytest.raises(TypeError, match="checkpoint takes a function, not float"):
        checkpoint(3.0)


def test_a_generator_made_inside_from_a_seed_is_fine(differences: Callable) -> None:
    def f(x: Any) -> Any:
        noisy = checkpoint(lambda y, seed: y**2 * np.random.default_rng(seed).random(3))
        return np.sum(noisy(x, 3))

    np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-6)


def test_a_write_into_an_argument_that_is_returned_under_compile() -> None:
    def f(x: Any) -> Any:
        y = checkpoint(lambda v: v[:2], x)
        y[0] = 3.0
        return np.sum(x**2) + np.sum(y**3)

    with pytest.raises(autodiff.MutationError, match="shares its memory"):
        autodiff.compile(lambda x: gradient(f, x))(X)
