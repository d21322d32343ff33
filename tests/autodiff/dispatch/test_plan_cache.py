"""Cached plans: what they are valid for, what invalidates them, what they keep and who owns it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import gradient, hvp
from autodiff.dispatch import plan_cache
from autodiff.dispatch.call import call
from autodiff.trace.linearize import Linearised
from chainrules_core import Array, NoTangent, frule, linear_rule, opt_out, rrule, scalar_rule

X = np.array([0.3, -0.7, 0.5])
LARGE = np.linspace(-1.0, 1.0, 5000)


def scaled(x: Any, factor: float = 2.0, *, offset: float = 0.0) -> Any:
    return x * factor + offset


@pytest.fixture
def rule_of_scaled() -> Iterator[list]:
    calls: list = []

    @rrule.register(scaled, Array)
    def scaled_rrule(x: Any, *, factor: float = 2.0, offset: float = 0.0) -> Any:
        calls.append(factor)

        def scaled_pullback(x_bar: Any) -> Any:
            return x_bar * factor

        return scaled(x, factor, offset=offset), scaled_pullback

    yield calls
    if rrule.entry(scaled) is not None:
        rrule.unregister(scaled)


@pytest.mark.parametrize(
    "call, slope",
    [
        (lambda x: scaled(x), 2.0),
        (lambda x: scaled(x, 3.0), 3.0),
        (lambda x: scaled(x, factor=3.0), 3.0),
        (lambda x: scaled(x=x, factor=4.0), 4.0),
        (lambda x: scaled(x, offset=1.0), 2.0),
        (lambda x: scaled(factor=5.0, offset=1.0, x=x), 5.0),
    ],
)
def test_calls_of_any_form(call: Callable, slope: float, rule_of_scaled: list) -> None:
    for _ in range(3):
        np.testing.assert_array_equal(gradient(lambda x: np.sum(call(x)), X), slope * np.ones(3))
    assert rule_of_scaled == [slope] * 3


def test_a_rule_that_comes_or_goes_takes_effect_at_once(rule_of_scaled: list) -> None:
    def f(x: Any) -> Any:
        return np.sum(scaled(x))

    def g(x: Any) -> Any:
        return np.sum(x * gradient(f, x))

    assert gradient(f, X)[0] == 2.0
    rrule.register(scaled, Array)(lambda x: (scaled(x), lambda y_bar: 7.0 * y_bar))
    assert gradient(f, X)[0] == 7.0
    assert gradient(g, X)[0] == 7.0
    opt_out(rrule, scaled, np.ndarray)
    assert gradient(f, X)[0] == 2.0
    rrule.unregister(scaled)
    linear_rule(scaled, lambda y_bar, x: 9.0 * y_bar, types=(Array,))
    assert gradient(f, X)[0] == 9.0
    rrule.unregister(scaled)
    frule.unregister(scaled)
    scalar_rule(scaled, lambda y, x: 11.0)
    assert gradient(f, X)[0] == 11.0
    frule.unregister(scaled)


def test_a_traced_option_is_an_error_also_where_a_plain_one_has_a_plan(
    rule_of_scaled: list,
) -> None:
    def f(x: Any, factor: Any) -> Any:
        return np.sum(scaled(x, factor))

    assert gradient(lambda x: f(x, 3.0), X)[0] == 3.0
    with pytest.raises(autodiff.DifferentiationError, match="factor"):
        gradient(f, X, 3.0)


def test_an_option_that_the_rule_does_not_name() -> None:
    for _ in range(2):
        assert gradient(lambda x: np.sum(np.sort(x) * np.arange(3)), X)[1] == 0.0
        np.testing.assert_array_equal(
            gradient(lambda x: np.sum(x, where=np.array([True, False, True])), X), [1, 0, 1]
        )


def test_other_arguments_traced_need_other_plans() -> None:
    a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([5.0, 6.0])

    def f(a: Any, b: Any) -> Any:
        return np.sum(np.dot(a, b))

    for _ in range(2):
        np.testing.assert_array_equal(gradient(lambda a: f(a, b), a), [[5, 6], [5, 6]])
        np.testing.assert_array_equal(gradient(lambda b: f(a, b), b), [4, 6])
        by_a, by_b = gradient(f, a, b)
        np.testing.assert_array_equal(by_a, [[5, 6], [5, 6]])
        np.testing.assert_array_equal(by_b, [4, 6])


def test_a_linear_function_keeps_its_argument_as_a_space() -> None:
    kept: list = []

    def f(x: Any) -> Any:
        y = x * 2.0
        kept.append(weakref.ref(y._value))
        return np.sum(np.reshape(y, (-1,))[1:])

    traced = Linearised(f, (np.ones((50, 2)),), {}, None)
    gc.collect()
    assert kept[0]() is None
    assert traced.gradients()[0].sum() == 198.0


def test_plans_are_found_again() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.cumsum(x)[1:])

    gradient(f, X)
    known = len(plan_cache._plans)
    gradient(f, X + 1.0)
    assert len(plan_cache._plans) == known


def test_what_a_ufunc_made_in_passing_holds_is_not_kept_alive() -> None:
    made: list[weakref.ref] = []

    class Held:
        pass

    def f(x: Any) -> Any:
        held = Held()
        made.append(weakref.ref(held))
        return np.sum(np.frompyfunc(lambda v: v * v if held else v, 1, 1)(x).astype(float))

    for _ in range(6):
        np.testing.assert_allclose(gradient(f, X), 2 * X)
    gc.collect()
    assert not any(held() for held in made)


def test_functions_without_rules_are_not_kept_alive() -> None:
    def f(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return np.sum(y * y)

        made.append(weakref.ref(inner))
        return call(inner, (x,))

    made: list = []
    gradient(f, X)
    gc.collect()
    assert made[0]() is None


def test_the_hook_sees_cotangents_that_stay() -> None:
    seen: list = []

    def keep(bar: Any) -> Any:
        seen.append((bar, bar.copy()))
        return bar

    def f(x: Any) -> Any:
        y = autodiff.cotangent_hook(np.exp(x) * x, keep)
        z = autodiff.cotangent_hook(-(y * y), keep)
        return np.sum(np.sin(z) * y)

    gradient(f, LARGE)
    assert len(seen) == 2
    for bar, copy in seen:
        np.testing.assert_array_equal(bar, copy)


def test_what_a_pullback_keeps_stays() -> None:
    kept: list = []

    def noted(x: Any) -> Any:
        return x * 3.0

    @rrule.register(noted, Array)
    def noted_rrule(x: Any) -> Any:
        def noted_pullback(y_bar: Any) -> Any:
            bar = 3.0 * y_bar
            kept.append((bar, bar.copy()))
            kept.append((y_bar, y_bar.copy()))
            return bar

        return noted(x), noted_pullback

    try:
        gradient(lambda x: np.sum(np.exp(-noted(x)) + noted(np.sin(x) * x)), LARGE)
    finally:
        rrule.unregister(noted)
    for bar, copy in kept:
        np.testing.assert_array_equal(bar, copy)


CHAINS: dict[str, Callable[[Any], Any]] = {
    "twice": lambda x: np.sum(x * x * np.exp(-x * x)),
    "minus": lambda x: np.sum((-x) * x - (1.0 - x) * np.sin(x)),
    "quotients": lambda x: np.sum(x / (2.0 + x) + (x + 1.0) / (3.0 - x)),
    "one cotangent for two": lambda x: np.sum(np.tanh(x + np.sin(x)) - (x + x)),
    "a number among": lambda x: np.sum(x * x[3] + np.cos(x) / (x[1] + 4.0)),
    "kept": lambda x: np.sum(np.exp(np.exp(x * 0.5))),
    "powers": lambda x: np.sum((x - 3.0) ** 2 + (x + 2.0) ** 1.5),
    "products of matrices": lambda x: np.sum(np.tanh(np.dot(x[:50, None], x[None, :60]))),
    "branches": lambda x: np.sum(np.where(x > 0.1, x * x, -x) * np.maximum(x, 0.2)),
    "in place": lambda x: _in_place(x),
}


def _in_place(x: Any) -> Any:
    y = x * 2.0
    y *= x
    y[1:-1] += x[2:]
    return np.sum(y * y)


@pytest.mark.parametrize("x", [LARGE, LARGE[::500]], ids=["large", "small"])
@pytest.mark.parametrize("name", CHAINS)
def test_gradients_and_products_with_hessians(name: str, x: np.ndarray) -> None:
    f = CHAINS[name]
    x = x + 0.013  # away from corners
    if name == "products of matrices" and x.size < 60:
        x = np.concatenate([x] * 6)
    v = np.cos(np.arange(x.size))
    before = x.copy()
    found = gradient(f, x)
    np.testing.assert_array_equal(x, before)
    assert not np.may_share_memory(found, x)
    h = 1e-5
    slope = (f(x + h * v) - f(x - h * v)) / (2 * h)
    np.testing.assert_allclose(np.dot(found, v), slope, rtol=1e-6)
    expected = (gradient(f, x + h * v) - gradient(f, x - h * v)) / (2 * h)
    np.testing.assert_allclose(hvp(f, x, v), expected, rtol=1e-5, atol=1e-6)


def test_gradients_of_two_arguments_do_not_share_memory() -> None:
    by_a, by_b = gradient(lambda a, b: np.sum((a + b) * 1.0), LARGE, LARGE + 1.0)
    by_a[0] = 100.0
    assert by_b[0] == 1.0


def test_a_view_made_by_a_plan_sees_writes() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        view = np.reshape(y, (3, 1))
        part = y[1:]
        y[1] = x[0] * x[0]
        return np.sum(view * view) + np.sum(part)

    h = 1e-6
    expected = [(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(gradient(f, X), expected, rtol=1e-6, atol=1e-9)


def test_a_constant_written_after_its_use() -> None:
    c = np.ones(3)

    def f(x: Any) -> Any:
        y = np.dot(c, x)
        c[0] = 2.0
        return y

    for _ in range(2):
        c[0] = 1.0
        np.testing.assert_array_equal(gradient(f, X), 1.0)
    c = np.ones(30_000)
    for _ in range(2):
        with pytest.raises(autodiff.MutationError):
            gradient(f, np.tile(X, 10_000))


def test_a_large_argument_changed_by_another_name_is_refused() -> None:
    x0 = np.linspace(0.0, 1.0, 50_000)

    def f(x: Any) -> Any:
        y = np.sum(x * x)
        x0[0] = 7.0
        return y

    with pytest.raises(autodiff.MutationError, match="written into"):
        gradient(f, x0)
    with pytest.raises(autodiff.MutationError, match="written into"):
        autodiff.pullback(f, x0)
    np.testing.assert_array_equal(x0, np.linspace(0.0, 1.0, 50_000))


def test_a_large_argument_written_into_is_left_alone() -> None:
    x0 = np.linspace(0.0, 1.0, 50_000)
    before = x0.copy()

    def f(x: Any) -> Any:
        x[0] = 3.0
        x *= 2.0
        return np.sum(x * x)

    np.testing.assert_allclose(gradient(f, x0), np.r_[0.0, 8 * before[1:]])
    np.testing.assert_array_equal(x0, before)


@pytest.mark.parametrize("value", [float, np.float64, np.float32, np.array])
def test_levels(value: Callable) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * x + np.dot(x, x))

    x = value(0.7)
    inner = gradient(lambda z: f(z) * 1.0, x)
    assert np.shape(inner) == ()
    first = gradient(lambda z: gradient(f, z) * 2.0, x)
    second = autodiff.derivative(lambda z: gradient(f, z) * 2.0, float(x))
    expected = 2.0 * (2.0 * np.cos(0.7) - 0.7 * np.sin(0.7) + 2.0)
    np.testing.assert_allclose(first, expected, rtol=1e-5)
    np.testing.assert_allclose(second, expected, rtol=1e-5)


def test_a_rule_without_its_own_cotangent_in_both_forms() -> None:
    def half(x: Any, y: Any) -> Any:
        return x * 0.5

    for made in (lambda b: (b * 0.5, NoTangent()), lambda b: (NoTangent(), b * 0.5, NoTangent())):
        rrule.register(half, Array)(lambda x, y, made=made: (half(x, y), lambda b: made(b)))
        try:
            np.testing.assert_array_equal(gradient(lambda x: np.sum(half(x, 1.0)), X), [0.5] * 3)
        finally:
            rrule.unregister(half)


def test_nested_options_that_are_changed_afterwards() -> None:
    a = np.arange(6.0).reshape(2, 3)

    def f(x: Any) -> Any:
        total = 0.0
        for axes, widths, order in (([[1], [0]], [(0, 1), (1, 0)], [1, 0]),) * 3:
            y = np.tensordot(x, a, axes=axes)
            z = np.transpose(np.pad(x, widths), order)
            w = np.transpose(x, order)
            axes[0], widths[0], order[:] = [0], (2, 2), [0, 1]
            total = total + np.sum(y * y) + np.sum(z**3) + np.sum(w.ravel() * np.arange(6.0))
            axes[0], widths[0], order[:] = [1], (0, 1), [1, 0]
        return total

    x = np.linspace(-1.0, 1.0, 6).reshape(3, 2)
    plan_cache._plans.clear()
    expected = 3 * (2 * x @ a @ a.T + 3 * x**2 + np.arange(6.0).reshape(2, 3).T)
    for _ in range(2):
        np.testing.assert_allclose(gradient(f, x), expected, rtol=1e-12, atol=1e-12)
    assert {key[0] for key, plan in plan_cache._plans.items() if plan} >= {np.tensordot, np.pad}


def test_nests_with_traced_values_or_arrays_are_no_options() -> None:
    nest = plan_cache.nest_of_options
    assert nest(([1, (2, "a")], None, 1.5)) == ([1, (2, "a")], None, 1.5)
    assert nest([np.arange(2)]) is None
    seen = []
    gradient(lambda x: seen.append(nest([1, (x,)])) or x * 2.0, 1.0)
    assert seen == [None]
