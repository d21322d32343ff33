"""What rules may return, and what the engine makes of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import gradient, pullback
from autodiff.dispatch.call import call
from chainrules_core import (
    NoTangent,
    Tangent,
    decompose,
    linear_rule,
    non_differentiable,
    opt_out,
    rrule,
    thunk,
)
from tests.helpers import Data, Pair

X = np.array([1.0, -2.0, 3.0])


# ------------------------------------------------------------------------------- finding the rule


def test_rules_are_found_by_the_types_of_the_values() -> None:
    used: list[str] = []

    def f(x: Any) -> Any:
        return np.sum(x * 1.0)

    for kind in (float, np.ndarray, complex):

        @rrule.register(f, kind)
        def f_rrule(x: Any, kind: type = kind) -> tuple[Any, Callable]:
            used.append(kind.__name__)

            def f_pullback(y_bar: Any) -> Any:
                return y_bar * np.ones(np.shape(x))

            return float(np.real(f(x))), f_pullback

    gradient(f, 2.0)
    gradient(f, np.float64(2.0))
    gradient(f, X)
    gradient(f, 1j)
    gradient(lambda x: call(f, (x[0],)), X)
    assert used == ["float", "float", "ndarray", "complex", "float"]
    gradient(lambda x: gradient(f, x) * x, 3.0)
    assert set(used[5:]) == {"float"}
    assert gradient(f, np.float32(2.0)) == 1.0  # by its body


def test_a_rule_may_decline() -> None:
    def f(x: float) -> float:
        return x * x

    @rrule.register(f)
    def f_rrule(x: float) -> Any:
        if x < 0:
            return None
        return f(x), lambda y_bar: 100.0 * y_bar

    assert gradient(f, 3.0) == 100.0
    assert gradient(f, -3.0) == -6.0


def test_methods_bound_and_not() -> None:
    class Model:
        def __init__(self, w: float) -> None:
            self.w = w

        def loss(self, x: float) -> float:
            return self.w * x

    @rrule.register(Model.loss)
    def loss_rrule(self: Model, x: float) -> tuple[float, Callable]:
        def loss_pullback(y_bar: float) -> tuple:
            return NoTangent(), Tangent[Model](w=10 * x * y_bar), 10 * self.w * y_bar

        return self.w * x, loss_pullback

    m = Model(2.0)
    assert gradient(m.loss, 3.0) == 20.0
    model_bar, x_bar = gradient(Model.loss, m, 3.0)
    assert (model_bar.w, x_bar) == (30.0, 20.0)
    assert gradient(lambda w: call(Model(w).loss, (3.0,)), 2.0) == 30.0


@pytest.mark.parametrize("own", [(), (NoTangent(),)], ids=["short form", "raw form"])
def test_an_argument_left_to_its_default_has_its_place_in_the_pullback(own: tuple) -> None:
    def f(a: float, b: float = 3.0, c: float = 4.0) -> float:
        return a * b * c

    @rrule.register(f)
    def f_rrule(a: float, b: float = 3.0, c: float = 4.0) -> tuple[float, Callable]:
        def f_pullback(y_bar: float) -> tuple:
            return *own, b * c * y_bar, a * c * y_bar, a * b * y_bar

        return f(a, b, c), f_pullback

    assert gradient(f, 2.0, 5.0, 6.0) == (30.0, 12.0, 10.0)
    assert gradient(f, 2.0, 5.0) == (20.0, 8.0)
    assert gradient(f, 2.0) == 12.0
    assert gradient(lambda c: call(f, (2.0,), {"c": c}), 4.0) == 6.0
    assert rrule(f, 2.0)[1](1.0) == (NoTangent(), 12.0)


def test_arguments_by_name() -> None:
    def f(a: float, b: float = 3.0, *, scale: float = 1.0) -> float:
        return scale * a * b

    @rrule.register(f)
    def f_rrule(a: float, b: float = 3.0, *, scale: float = 1.0) -> tuple[float, Callable]:
        def f_pullback(y_bar: float) -> tuple:
            return scale * b * y_bar * 10, scale * a * y_bar * 10

        return f(a, b, scale=scale), f_pullback

    assert gradient(lambda a: call(f, (a,)), 2.0) == 30.0
    assert gradient(lambda b: call(f, (2.0,), {"b": b}), 3.0) == 20.0
    assert gradient(lambda a, b: call(f, (), {"b": b, "a": a}), 2.0, 3.0) == (30.0, 20.0)
    assert gradient(lambda a: call(f, (a,), {"scale": 2.0}), 2.0) == 60.0
    with pytest.raises(autodiff.DifferentiationError, match="scale"):
        gradient(lambda s: call(f, (2.0,), {"scale": s}), 1.0)


def test_rules_of_functions_of_any_number_of_arguments() -> None:
    def total(*parts: float) -> float:
        return sum(parts)

    @rrule.register(total, [float])
    def total_rrule(*parts: float) -> tuple[float, Callable]:
        return total(*parts), lambda y_bar: tuple(10.0 * y_bar for _ in parts)

    assert gradient(total, 1.0, 2.0, 3.0) == (10.0, 10.0, 10.0)
    assert gradient(lambda x: call(total, (x, 1.0, x)), 2.0) == 20.0


def test_a_rule_of_any_number_of_arguments_for_a_function_of_two() -> None:
    """The seeds write their first rule so: ``rrule(::typeof(foo), args...; kwargs...)``."""

    def multiply(a: float, b: float, *, scale: float = 1.0) -> float:
        return a * b * scale

    @rrule.register(multiply)
    def multiply_rrule(*args: float, **kwargs: float) -> tuple[float, Callable]:
        def multiply_pullback(y_bar: float) -> tuple:
            return NoTangent(), 10.0 * args[1] * y_bar, 10.0 * args[0] * y_bar

        return multiply(*args, **kwargs), multiply_pullback

    assert gradient(multiply, 2.0, 3.0) == (30.0, 20.0)
    assert gradient(lambda b: call(multiply, (2.0,), {"b": b}), 3.0) == 20.0


def test_a_rule_of_two_arguments_for_a_function_of_any_number() -> None:
    def multiply(*factors: float) -> float:
        return factors[0] * factors[1]

    @rrule.register(multiply)
    def multiply_rrule(a: float, b: float) -> tuple[float, Callable]:
        return a * b, lambda y_bar: (b * y_bar, a * y_bar)

    assert rrule(multiply, 2.0, 3.0) is not None
    assert rrule(multiply, 2.0, 3.0, 4.0) is None


def test_opt_out_and_decompose() -> None:
    def f(x: Any) -> Any:
        return np.sum(x * x)

    rrule.register(f)(lambda x: (f(x), lambda y_bar: 0.0 * x))
    np.testing.assert_array_equal(gradient(f, X), np.zeros(3))
    opt_out(rrule, f, np.ndarray)
    np.testing.assert_array_equal(gradient(f, X), 2 * X)

    def hidden(x: Any) -> Any:
        raise AssertionError("the body is not run")

    @decompose(hidden)
    def hidden_body(x: Any) -> Any:
        return np.sum(x * x)

    np.testing.assert_array_equal(gradient(hidden, X), 2 * X)
    np.testing.assert_array_equal(gradient(lambda x: np.sum(gradient(hidden, x) * X), X), 2 * X)


def test_non_differentiable_functions_are_constant() -> None:
    def count(x: Any) -> Any:
        return x * 3.0

    non_differentiable(count)
    assert gradient(lambda x: call(count, (x,)) * x, 2.0) == 6.0
    np.testing.assert_array_equal(gradient(lambda x: np.sum(call(count, (x,)) * x), X), 3 * X)


def test_linear_rules_refuse_what_they_are_not_linear_in() -> None:
    def scaled(x: Any, s: float) -> Any:
        return x * s

    linear_rule(scaled, lambda y_bar, x, s: y_bar * s, argnums=(0,))
    np.testing.assert_array_equal(
        gradient(lambda x: np.sum(call(scaled, (x, 2.0))), X), np.full(3, 2.0)
    )
    with pytest.raises(autodiff.DifferentiationError, match=r"scaled as s"):
        gradient(lambda s: np.sum(call(scaled, (X, s))), 2.0)


# -------------------------------------------------------------------------------- several outputs


@pytest.mark.parametrize("container", [tuple, list, dict, Pair, Data])
def test_outputs_of_several_parts(container: type) -> None:
    def make(a: Any, b: Any) -> Any:
        if container is dict:
            return {"a": a, "b": b}
        return container((a, b)) if container in (tuple, list) else container(a, b)

    def parts(x: Any) -> Any:
        return make(x * x, 3.0 * x)

    def part(bar: Any, k: str) -> Any:
        return bar["ab".index(k) if container in (tuple, list) else k]

    @rrule.register(parts)
    def parts_rrule(x: Any) -> tuple[Any, Callable]:
        def parts_pullback(y_bar: Any) -> Any:
            assert isinstance(y_bar, Tangent[container])
            return 2 * x * part(y_bar, "a") + 3.0 * part(y_bar, "b")

        return parts(x), parts_pullback

    def first(y: Any) -> Any:
        return y["a"] if container is dict else y.a if container in (Pair, Data) else y[0]

    def second(y: Any) -> Any:
        return y["b"] if container is dict else y.b if container in (Pair, Data) else y[1]

    def ruled(x: Any) -> Any:
        return call(parts, (x,))

    assert gradient(lambda x: first(ruled(x)), 5.0) == 10.0
    assert gradient(lambda x: second(ruled(x)), 5.0) == 3.0
    assert gradient(lambda x: first(ruled(x)) * second(ruled(x)), 5.0) == 225.0
    assert gradient(lambda x: 0.0 * x + float(ruled(x) is None), 5.0) == 0.0
    y, back = pullback(parts, 5.0)
    assert y == make(25.0, 15.0)
    assert back(make(1.0, 10.0)) == 40.0


def test_parts_that_are_constant_or_traced_twice() -> None:
    def parts(x: Any) -> Any:
        return x * 2.0, "text", 7, x * x, None

    @rrule.register(parts)
    def parts_rrule(x: Any) -> tuple[Any, Callable]:
        def parts_pullback(y_bar: Any) -> Any:
            return 2.0 * y_bar[0] + 2 * x * y_bar[3]

        return parts(x), parts_pullback

    def f(x: Any) -> Any:
        a, text, n, b, none = call(parts, (x,))
        assert (text, n, none) == ("text", 7, None)
        return a * b * n + a

    assert gradient(f, 3.0) == pytest.approx(7 * 6 * 9 + 2)
    assert gradient(lambda x: gradient(f, x), 3.0) == pytest.approx(7 * 12 * 3)


# ------------------------------------------------------------------------------- complex and nested


def test_a_complex_rule_by_hand() -> None:
    def modulus(z: Any) -> Any:
        return (z * np.conj(z)).real

    @rrule.register(modulus)
    def modulus_rrule(z: Any) -> tuple[Any, Callable]:
        def modulus_pullback(y_bar: Any) -> Any:
            return 2 * z * y_bar.real

        return modulus(z), modulus_pullback

    assert gradient(modulus, 3 + 4j) == 6 + 8j
    assert gradient(lambda x: call(modulus, (x * (1 + 1j),)), 3.0) == 12.0


def test_rules_by_hand_are_differentiated_in_turn() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.exp(x) * x)

    @rrule.register(f)
    def f_rrule(x: Any) -> tuple[Any, Callable]:
        e = np.exp(x)

        def f_pullback(y_bar: Any) -> Any:
            return thunk(lambda: y_bar * e * (1 + x))

        return np.sum(e * x), f_pullback

    h = gradient(lambda x: np.sum(gradient(f, x) * X), X)
    np.testing.assert_allclose(h, np.exp(X) * (2 + X) * X)


def test_partial_and_callable_objects() -> None:
    def f(w: float, x: float, *, n: int) -> float:
        return w * x**n

    assert gradient(functools.partial(f, 2.0, n=3), 2.0) == 24.0

    class Power:
        def __init__(self, n: int) -> None:
            self.n = n

        def __call__(self, x: float) -> float:
            return x**self.n

    assert gradient(Power(3), 2.0) == 12.0
    for g, x, expected in (
        (np.sum, X, np.ones(3)),
        (np.linalg.norm, X[:1], [1.0]),
        (np.exp, 0.0, 1.0),
    ):
        np.testing.assert_allclose(gradient(g, x), expected)
