"""Functions that bring their own derivative: custom_gradient, custom_vjp, custom_jvp."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import custom_gradient, custom_jvp, custom_vjp, gradient, hessian, pushforward
from tests.helpers import check_gradient

X = np.array([0.3, -0.2, 0.5])
V = np.array([1.0, -2.0, 0.5])


@custom_gradient
def scaled_sine(x: Any, y: Any) -> Any:
    s = np.sin(x)

    def scaled_sine_pullback(z_bar: Any) -> Any:
        return z_bar * np.cos(x) * y, np.sum(z_bar * s)

    return s * y, scaled_sine_pullback


@custom_gradient
def of_nest(d: Any) -> Any:
    x, y = d["x"], d["y"]

    def of_nest_pullback(bars: Any) -> Any:
        return {"x": bars[0] * y + bars[1], "y": bars[0] * x, "name": None}

    return (x * y, x + 0.0), of_nest_pullback


@custom_gradient
def to_a_power(x: Any, *, n: int) -> Any:
    return x**n, lambda y_bar: n * y_bar * x ** (n - 1)


@custom_vjp
def product_vjp(x: Any, y: Any) -> Any:
    return np.exp(x) * y


product_vjp.defvjp(
    lambda x, y: (np.exp(x) * y, (np.exp(x), y)),
    lambda kept, z_bar: (z_bar * kept[0] * kept[1], np.sum(z_bar * kept[0])),
)


@functools.partial(custom_vjp, nondiff_argnums=(0, 2))
def applied_vjp(f: Callable, x: Any, n: int) -> Any:
    return f(x) * n


applied_vjp.defvjp(
    lambda f, x, n: (f(x) * n, x),
    lambda f, n, x, z_bar: (z_bar * np.cos(x) * n,),
)


@custom_jvp
def product_jvp(x: Any, y: Any) -> Any:
    return np.exp(x) * y


@product_jvp.defjvp
def product_jvp_rule(primals: Any, tangents: Any) -> Any:
    (x, y), (x_dot, y_dot) = primals, tangents
    return product_jvp(x, y), np.exp(x) * y * x_dot + np.exp(x) * y_dot


@custom_jvp
def nest_jvp(d: Any) -> Any:
    return d["x"] * d["y"], d["x"]


@nest_jvp.defjvp
def nest_jvp_rule(primals: Any, tangents: Any) -> Any:
    (d,), (d_dot,) = primals, tangents
    return nest_jvp(d), (d_dot["x"] * d["y"] + d["x"] * d_dot["y"], d_dot["x"])


@custom_jvp
def by_argument(x: Any, y: Any) -> Any:
    return np.sin(x) * y


by_argument.defjvps(
    lambda x_dot, z, x, y: np.cos(x) * y * x_dot,
    lambda y_dot, z, x, y: np.sin(x) * y_dot,
)


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def applied_jvp(f: Callable, x: Any) -> Any:
    return f(x)


applied_jvp.defjvp(lambda f, primals, tangents: (f(primals[0]), np.cos(primals[0]) * tangents[0]))


class Spring:
    def __init__(self, k: float) -> None:
        self.k = k

    @custom_gradient
    def force(self, x: Any) -> Any:
        return self.k * x, lambda y_bar: (None, self.k * y_bar)


PROGRAMS: dict[str, Callable] = {
    "two arguments": lambda x: np.sum(scaled_sine(x, x[1]) ** 2),
    "by name": lambda x: np.sum(scaled_sine(y=x[0], x=x)),
    "option": lambda x: np.sum(to_a_power(x, n=3)),
    "nest": lambda x: np.sum(of_nest({"x": x, "y": x * 2, "name": "n"})[0] ** 2),
    "parts": lambda x: (lambda r: np.sum(r[0] * r[1]))(of_nest({"x": x, "y": x, "name": "n"})),
    "method": lambda x: np.sum(Spring(2.0).force(x) ** 2),
    "vjp": lambda x: np.sum(product_vjp(x, x[0]) ** 2),
    "vjp, constants": lambda x: np.sum(applied_vjp(np.sin, x, 3) ** 2),
    "jvp": lambda x: np.sum(product_jvp(x, x[0]) ** 2),
    "jvp, nest": lambda x: (lambda r: np.sum(r[0] * r[1]))(nest_jvp({"x": x[0], "y": x})),
    "jvp, by argument": lambda x: np.sum(by_argument(x, x[1]) ** 2),
    "jvp, constants": lambda x: np.sum(applied_jvp(np.sin, x) ** 3),
}


def vjp_made_inside(x: Any) -> Any:
    """Its pullback is code of a traced function, in which ``np.array`` makes tracers."""

    @custom_vjp
    def weighted(p: Any) -> Any:
        return p[0] ** 2 * p[1]

    def forward(p: Any) -> Any:
        return weighted(p), np.array([p[0], p[1]])

    def backward(p: Any, y_bar: Any) -> tuple:
        return (np.array([2 * p[0] * p[1] * y_bar, p[0] ** 2 * y_bar]),)

    weighted.defvjp(forward, backward)
    return weighted(x[:2]) ** 2 + weighted(x[1:]) * x[0]


def jvp_made_inside(x: Any) -> Any:
    @custom_jvp
    def squares(p: Any) -> Any:
        return np.array([p[0] * p[1], p[1] ** 2])

    @squares.defjvp
    def squares_jvp(primals: tuple, tangents: tuple) -> tuple:
        (p,), (p_dot,) = primals, tangents
        jacobian = np.zeros((2, 2))
        jacobian[0, 0], jacobian[0, 1], jacobian[1, 1] = p[1], p[0], 2 * p[1]
        return squares(p), jacobian @ p_dot

    return np.sum(squares(x[:2]) * squares(x[1:]))


def gradient_made_inside(x: Any) -> Any:
    @custom_gradient
    def weighted(nest: dict) -> Any:
        def pullback(y_bar: Any) -> dict:
            a, b = nest["a"], nest["b"]
            return {"a": np.array([2 * y_bar * a[0] * b, 0.0]), "b": y_bar * a[0] ** 2}

        return nest["a"][0] ** 2 * nest["b"], pullback

    return weighted({"a": x[:2], "b": x[2]}) * x[1]


def hook_made_inside(x: Any) -> Any:
    return np.sum(autodiff.cotangent_hook(x, lambda x_bar: np.zeros(3) + x_bar) ** 2)


PROGRAMS |= {
    "vjp, made inside": vjp_made_inside,
    "jvp, made inside": jvp_made_inside,
    "gradient, made inside": gradient_made_inside,
    "hook, made inside": hook_made_inside,
}


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_derivatives_in_all_modes(f: Callable, differences: Callable) -> None:
    expected = differences(f, X)
    np.testing.assert_allclose(gradient(f, X), expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(pushforward(f, X)[1](V), expected @ V, rtol=1e-6, atol=1e-7)
    second = differences(lambda x: np.sum(gradient(f, x) * V), X)
    over_reverse = gradient(lambda x: np.sum(gradient(f, x) * V), X)
    np.testing.assert_allclose(over_reverse, second, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(hessian(f, X) @ V, second, rtol=1e-5, atol=1e-6)
    twice_forward = pushforward(lambda x: pushforward(f, x)[1](V), X)[1](V)
    np.testing.assert_allclose(twice_forward, V @ second, rtol=1e-5, atol=1e-6)


def test_the_given_derivative_is_used() -> None:
    wrong = custom_gradient(lambda x: (x * 2, lambda y_bar: 7 * y_bar))
    assert gradient(wrong, 1.0) == 7.0
    assert autodiff.derivative(wrong, 1.0) == 7.0
    wrong_jvp = custom_jvp(lambda x: x * 2)
    wrong_jvp.defjvp(lambda primals, tangents: (primals[0] * 2, 7 * tangents[0]))
    assert gradient(wrong_jvp, 1.0) == 7.0
    assert autodiff.derivative(wrong_jvp, 1.0) == 7.0


def test_without_a_gradient_it_is_the_function() -> None:
    assert to_a_power(2.0, n=3) == 8.0
    assert product_vjp(0.0, 2.0) == 2.0
    assert product_jvp(0.0, 2.0) == 2.0
    assert scaled_sine.__name__ == "scaled_sine"


def test_a_raw_pullback_and_zeros_are_understood() -> None:
    from chainrules_core import NoTangent, ZeroTangent

    raw = custom_gradient(lambda x, y: (x * y, lambda b: (NoTangent(), b * y, b * x)))
    assert gradient(raw, 2.0, 3.0) == (3.0, 2.0)
    zero = custom_gradient(lambda x, y: (x * y, lambda b: (ZeroTangent(), None)))
    assert gradient(zero, 2.0, 3.0) == (0.0, 0.0)


def test_a_value_of_an_outer_level_may_be_captured() -> None:
    def f(x: Any) -> Any:
        squared = custom_gradient(lambda y: (y * y * x, lambda b: 2 * b * y * x))
        return gradient(squared, 3.0)

    assert gradient(f, 2.0) == pytest.approx(6.0)
    assert autodiff.derivative(f, 2.0) == pytest.approx(6.0)


def test_precision_stays() -> None:
    found = gradient(lambda x: np.sum(scaled_sine(x, np.float32(2.0))), np.float32([1.0, 2.0]))
    assert found.dtype == np.float32


def captures(x: Any) -> Any:
    return np.sum(custom_gradient(lambda y: (y * x[0], lambda b: b * x[0]))(x))


def captures_all(x: Any) -> Any:
    return np.sum(custom_gradient(lambda y: (y * x[0], lambda b: b * x[0]))(np.ones(3)))


@pytest.mark.parametrize(
    "f, says",
    [
        (captures, "has captured a traced value"),
        (captures_all, "has captured a traced value"),
        (custom_gradient(lambda x: x * 2), r"must return a pair \(y, pullback\); it returned a"),
        (
            custom_gradient(lambda x: (x, lambda b: (b, b, b))),
            "its 1 arguments; it returned 3",
        ),
        (custom_gradient(lambda x: (x, lambda b: None)), "it returned a NoneType"),
        (custom_gradient(lambda x: (x, lambda b: np.ones(7))), r"its shape is \(7,\), not \(3,\)"),
        (custom_gradient(lambda x: (x, lambda b: "b")), "it is not a number or array"),
        (lambda x: to_a_power(x, n=x[0]), "was given as n. Make that a positional argument"),
        (lambda x: applied_vjp(np.sin, 2.0, x), "nondiff_argnums"),
        (custom_vjp(lambda x: x), r"call its defvjp\(fwd, bwd\) first"),
        (custom_jvp(lambda x: x), r"call its defjvp\(jvp\) first"),
    ],
)
def test_errors(f: Callable, says: str) -> None:
    with pytest.raises(autodiff.DifferentiationError, match=says):
        gradient(lambda x: np.sum(f(x)), X)


@pytest.mark.parametrize("decorator", [custom_gradient, custom_vjp, custom_jvp])
def test_not_a_function(decorator: Callable) -> None:
    with pytest.raises(TypeError, match=f"{decorator.__name__} takes a function, not float"):
        decorator(3.0)


class Weights:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


def weighted(x: Any) -> Any:
    return x[0].a * 10 + x[1].b * 100 + x[2] * 1000


of_shared = custom_jvp(weighted)
of_shared.defjvp(lambda primals, tangents: (weighted(primals[0]), weighted(tangents[0])))


@custom_gradient
def of_shared_in_reverse(x: Any) -> Any:
    def pullback(y_bar: Any) -> Any:
        return [Weights(10 * y_bar, 0.0), Weights(0.0, 100 * y_bar), 1000 * y_bar]

    return weighted(x), pullback


@pytest.mark.parametrize("rule", [of_shared, of_shared_in_reverse])
def test_an_object_that_stands_in_several_places(rule: Callable) -> None:
    def f(a: Any, c: Any) -> Any:
        shared = Weights(a, 2 * a)
        return rule([shared, shared, c])

    assert gradient(f, 1.0, 2.0) == (210.0, 1000.0)
    assert autodiff.derivative(f, 1.0, 2.0, argnums=0) == 210.0
    assert autodiff.derivative(f, 1.0, 2.0, argnums=1) == 1000.0


def written(a: Any) -> Any:
    a[1] = 9.0
    return a


@pytest.mark.parametrize("body", [lambda a: a, lambda a: a[:2], lambda a: [a, a], written])
def test_what_is_returned_of_an_argument_without_tangent_is_that_argument(body: Callable) -> None:
    @autodiff.custom_jvp
    def g(a: Any) -> Any:
        return body(a)

    g.defjvp(lambda primals, tangents: (body(primals[0]), body(tangents[0])))

    def f(x: Any) -> Any:
        y = x * 1.0
        parts = g(y)
        (parts if isinstance(parts, np.ndarray) else parts[0])[0] = 7.0
        return np.sum(y**2)

    x = np.array([1.0, 2.0, 3.0])
    assert autodiff.pushforward(f, x)[0] == f(x)


def _rows(a: Any) -> Any:
    b = a * 2.0
    return [b[:2], b[1:]]


def written_part(a: Any) -> Any:
    a[1] = 9.0
    return a[:2]


@pytest.mark.parametrize(
    "body, is_traced, is_followed",
    [
        (lambda a: {"k": a}, False, True),
        (lambda a: {"k": a[:2]}, False, True),
        (lambda a: {"k": a[:2]}, True, True),
        (_rows, False, False),
        (_rows, True, False),
        (lambda a: [a * 2.0] * 2, True, False),
        (written_part, False, False),
    ],
)
def test_a_write_into_a_result_that_shares_memory_is_followed_or_refused(
    body: Callable, is_traced: bool, is_followed: bool
) -> None:
    @autodiff.custom_jvp
    def g(a: Any) -> Any:
        return body(a)

    g.defjvp(lambda primals, tangents: (body(primals[0]), body(tangents[0])))

    def f(x: Any) -> Any:
        a = x * 1.0 if is_traced else np.array([1.0, 2.0, 3.0])
        y = a * x
        made = g(a)
        parts = [made] if isinstance(made, np.ndarray) else [*getattr(made, "values", made.copy)()]
        parts[0][1] = 7.0
        return np.sum(y**2) + np.sum(parts[-1] ** 2) + np.sum(a * x)

    x = np.array([1.1, 0.6, -0.4])
    if is_followed:
        check_gradient(f, x)
        return
    with pytest.raises(autodiff.MutationError, match="shares its memory"):
        gradient(f, x)


class Held:
    def __init__(self, a: Any) -> None:
        self.a = a


@pytest.mark.parametrize(
    "holder, within",
    [
        (lambda a: [a], lambda h: h[0]),
        (lambda a: {"k": (a,)}, lambda h: h["k"][0]),
        (Held, lambda h: h.a),
    ],
)
def test_a_write_within_a_container_without_tangents_is_not_seen_by_pullbacks(
    holder: Callable, within: Callable
) -> None:
    @autodiff.custom_vjp
    def g(held: Any) -> None:
        within(held)[1] = 9.0

    g.defvjp(lambda held: (g.__wrapped__(held), None), lambda residuals, y_bar: (None,))

    def f(x: Any) -> Any:
        a = np.array([1.0, 2.0, 3.0])
        y = a * x
        g(holder(a))
        return np.sum(y**2) + np.sum(a * x)

    check_gradient(f, np.array([1.1, 0.6, -0.4]))


def appended(held: Any) -> None:
    held.append(3.0)


def replaced(held: Any) -> None:
    held[0] = np.zeros(3)


def with_a_new_key(held: Any) -> None:
    held["z"] = 5.0


def with_a_new_attribute(held: Any) -> None:
    held.a = 7.0


@pytest.mark.parametrize("is_traced", [False, True])
@pytest.mark.parametrize(
    "change, holder",
    [
        (appended, lambda a: [a]),
        (replaced, lambda a: [a]),
        (replaced, lambda a: [a, [a]]),
        (with_a_new_key, lambda a: {"k": a}),
        (with_a_new_attribute, Held),
    ],
)
def test_a_change_of_a_container_by_a_function_with_a_rule_is_refused(
    change: Callable, holder: Callable, is_traced: bool
) -> None:
    @autodiff.custom_jvp
    def g(held: Any) -> Any:
        change(held)
        return 1.0

    g.defjvp(lambda primals, tangents: (g.__wrapped__(*primals), 0.0))

    def f(x: Any) -> Any:
        held = holder(x * 1.0 if is_traced else np.ones(3))
        return g(held) * np.sum(x)

    for differentiate in (gradient, pushforward, autodiff.compile(lambda f, x: gradient(f, x))):
        with pytest.raises(autodiff.MutationError, match="changes a"):
            differentiate(f, np.array([1.1, 0.6, -0.4]))


class Cached(Held):
    @functools.cached_property
    def twice(self) -> Any:
        return self.a * 2.0


def test_lists_without_traced_values_may_change_and_objects_may_cache() -> None:
    @autodiff.custom_vjp
    def g(held: Any, log: Any) -> Any:
        log.append(1.0)
        return held.twice

    def forward(held: Any, log: Any) -> Any:
        log.append(1.0)
        return held.twice, None

    g.defvjp(forward, lambda residuals, y_bar: ({"a": 2.0 * y_bar}, None))

    def f(x: Any) -> Any:
        log = [0.5]
        return np.sum(x * g(Cached(np.ones(3)), log)) + sum(log)

    check_gradient(f, np.array([1.1, 0.6, -0.4]))
