"""The page "FAQ"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from chainrules_core import (
    HasReverseMode,
    NoRuleError,
    NoTangent,
    RuleConfig,
    ZeroTangent,
    frule,
    require_frule,
    require_rrule,
    rrule,
    rrule_via_ad,
    scalar_rule,
    thunk,
    unthunk,
)
from chainrules_core.testing import TestConfig, check_frule, check_rrule, check_scalar
from tests.helpers import run_python

# --------------------------------------------------------------------------- symbols: bars and dots


def test_a_pullback_takes_the_bar_of_the_output_and_gives_those_of_the_inputs() -> None:
    def square(x: float) -> float:
        return x * x

    scalar_rule(square, lambda y, x: 2 * x)
    y, y_dot = frule((NoTangent(), 10.0), square, 3.0)
    assert (y, y_dot) == (9.0, 60.0)
    y, pullback = rrule(square, 3.0)
    assert (y, pullback(10.0)) == (9.0, (NoTangent(), 60.0))


# ---------------------------------------------------------------- why rrule returns the primal too


def test_another_way_to_the_answer_may_give_what_the_pullback_needs() -> None:
    """Reason 1: a determinant by factors, which the pullback uses again."""
    factored: list[int] = []

    def determinant(A: np.ndarray) -> float:
        return np.linalg.det(A)

    @rrule.register(determinant, np.ndarray)
    def determinant_rrule(A: np.ndarray) -> tuple[float, Callable]:
        factored.append(1)
        Q, R = np.linalg.qr(A)
        y = float(np.linalg.det(Q) * np.prod(np.diag(R)))

        def determinant_pullback(y_bar: float) -> tuple:
            return NoTangent(), y_bar * y * np.linalg.solve(R, Q.T).T

        return y, determinant_pullback

    A = np.array([[2.0, 1.0], [0.5, 3.0]])
    check_rrule(determinant, A)
    factored.clear()
    value, back = autodiff.pullback(determinant, A)
    back(1.0)
    back(2.0)
    assert factored == [1]
    assert value == pytest.approx(determinant(A))


@pytest.mark.parametrize("x", [0.3, -1.2])
def test_the_output_may_be_used_in_the_pullback(x: float) -> None:
    """Reason 2: tan and the sigmoid."""
    calls: list[float] = []

    def sigmoid(x: float) -> float:
        calls.append(x)
        return 1.0 / (1.0 + np.exp(-x))

    scalar_rule(sigmoid, lambda y, x: y * (1 - y))
    check_scalar(sigmoid, x)
    calls.clear()
    assert autodiff.gradient(sigmoid, x) == pytest.approx(sigmoid(x) * (1 - sigmoid(x)))
    assert len(calls) == 3  # one by the rule, two by this test


def test_one_operation_may_give_both_the_primal_and_its_derivative() -> None:
    """Reason 3: x' = a x solved by Euler steps, its sensitivity in the same loop."""
    steps: list[int] = []

    def solve(a: float) -> float:
        x = 1.0
        for _ in range(10):
            x = x + 0.1 * a * x
        return x

    @frule.register(solve, float)
    def solve_frule(dots: tuple, a: float) -> tuple[float, float]:
        x, x_dot = 1.0, 0.0
        for step in range(10):
            steps.append(step)
            x, x_dot = x + 0.1 * a * x, x_dot + 0.1 * (dots[0] * x + a * x_dot)
        return x, x_dot

    y, y_dot = frule((NoTangent(), 1.0), solve, 0.7)
    assert len(steps) == 10
    assert y == pytest.approx(solve(0.7))
    assert y_dot == pytest.approx(autodiff.gradient(solve, 0.7))
    check_frule(solve, 0.7)


# -------------------------------------------------------------------------------- keyword arguments


def total(x: np.ndarray, *, axis: int | None = None, weight: float = 1.0) -> Any:
    return weight * np.sum(x, axis=axis)


@pytest.fixture
def rule_of_total() -> None:
    @rrule.register(total, np.ndarray)
    def total_rrule(x: np.ndarray, *, axis: int | None = None, weight: float = 1.0) -> tuple:
        def total_pullback(y_bar: Any) -> tuple:
            y_bar = y_bar if axis is None else np.expand_dims(y_bar, axis)
            return NoTangent(), np.broadcast_to(weight * y_bar, x.shape)

        return total(x, axis=axis, weight=weight), total_pullback

    @frule.register(total, np.ndarray)
    def total_frule(
        dots: tuple, x: np.ndarray, *, axis: int | None = None, weight: float = 1.0
    ) -> tuple:
        return total(x, axis=axis, weight=weight), total(dots[0], axis=axis, weight=weight)


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": 1, "weight": 2.0}])
def test_keyword_arguments_have_no_cotangent(rule_of_total: None, options: dict) -> None:
    x = np.arange(6.0).reshape(2, 3)
    y, pullback = rrule(total, x, **options)
    bars = pullback(np.ones_like(y))
    assert len(bars) == 2  # for the function and for x
    assert bars[0] is NoTangent()
    check_rrule(total, x, fkwargs=options)


def test_keyword_arguments_have_no_perturbation(rule_of_total: None) -> None:
    x = np.ones((2, 3))
    y, y_dot = frule((NoTangent(), x), total, x, axis=0)
    np.testing.assert_array_equal(y_dot, y)
    with pytest.raises(TypeError, match="3 tangents for 1 argument"):
        frule((NoTangent(), x, 1.0), total, x, axis=0)


@pytest.mark.parametrize("with_rule", [True, False])
def test_the_engine_takes_keyword_arguments_for_constants(
    request: pytest.FixtureRequest, with_rule: bool
) -> None:
    if with_rule:
        request.getfixturevalue("rule_of_total")
    g = autodiff.gradient(total, np.ones(3), weight=2.0)
    np.testing.assert_array_equal(g, [2.0, 2.0, 2.0])


def test_a_traced_value_in_an_option_is_an_error_and_no_silent_zero(rule_of_total: None) -> None:
    from autodiff.dispatch.call import call

    def body(w: float) -> Any:
        return call(total, (np.ones(3),), {"weight": w})

    def both(x: np.ndarray, w: float) -> Any:
        return call(total, (x,), {"weight": w})

    for run in (
        lambda: autodiff.gradient(both, np.ones(3), 2.0),
        lambda: autodiff.gradient(body, 2.0),
    ):
        with pytest.raises(autodiff.DifferentiationError, match="weight"):
            run()


# ------------------------------------------------------------------------ ZeroTangent and NoTangent


def fst(x: float, y: float) -> float:
    return x


def access(xs: list, n: int) -> float:
    return xs[n]


def test_zero_means_that_a_perturbation_changes_nothing() -> None:
    @rrule.register(fst)
    def fst_rrule(x: float, y: float) -> tuple[float, Callable]:
        def fst_pullback(z_bar: float) -> tuple:
            return NoTangent(), z_bar, ZeroTangent()

        return fst(x, y), fst_pullback

    assert fst(10, 5) == fst(10, 5.1) == 10
    assert rrule(fst, 10.0, 5.0)[1](1.0) == (NoTangent(), 1.0, ZeroTangent())
    assert autodiff.gradient(fst, 10.0, 5.0) == (1.0, 0.0)
    check_rrule(fst, 10.0, 5.0)


def test_no_tangent_means_that_a_perturbation_is_an_error() -> None:
    @rrule.register(access, list, int)
    def access_rrule(xs: list, n: int) -> tuple[float, Callable]:
        from chainrules_core import Tangent

        def access_pullback(y_bar: float) -> tuple:
            parts = [ZeroTangent()] * len(xs)
            parts[n] = y_bar
            return NoTangent(), Tangent[list](*parts), NoTangent()

        return access(xs, n), access_pullback

    assert access([10, 20, 30], 1) == 20
    with pytest.raises(TypeError):
        access([10, 20, 30], 1.1)  # type: ignore[arg-type]
    xs = [10.0, 20.0, 30.0]
    _, xs_bar, n_bar = rrule(access, xs, 1)[1](1.0)
    assert n_bar is NoTangent()
    assert list(xs_bar) == [ZeroTangent(), 1.0, ZeroTangent()]
    assert autodiff.gradient(access, xs, 1, argnums=0) == [0.0, 1.0, 0.0]
    check_rrule(access, xs, 1)


def test_both_act_the_same_when_added() -> None:
    for zero in (ZeroTangent(), NoTangent()):
        assert zero + 2.0 == 2.0
        assert 2.0 + zero == 2.0
        np.testing.assert_array_equal(np.ones(2) + zero, np.ones(2))


def test_the_wrong_one_of_the_two_does_no_harm() -> None:
    @rrule.register(fst)
    def fst_rrule(x: float, y: float) -> tuple[float, Callable]:
        def fst_pullback(z_bar: float) -> tuple:
            return ZeroTangent(), z_bar, NoTangent()

        return fst(x, y), fst_pullback

    assert autodiff.gradient(fst, 10.0, 5.0) == (1.0, 0.0)


# --------------------------------------------------------------------------- where there is no rule


def nameless(x: Any) -> Any:
    return x


def test_without_a_rule_the_answer_is_none() -> None:
    assert rrule(nameless, 1.0) is None
    assert frule((NoTangent(), 1.0), nameless, 1.0) is None


@pytest.mark.parametrize("mode", ["rrule", "frule"])
def test_the_error_for_a_missing_rule_says_what_there_is(mode: str) -> None:
    def ask(x: Any) -> None:
        if mode == "rrule":
            require_rrule(nameless, x)
        else:
            require_frule((NoTangent(), x), nameless, x)

    with pytest.raises(
        NoRuleError, match=rf"No {mode} of .*nameless takes \(float\).*no {mode} at all"
    ):
        ask(1.0)
    scalar_rule(nameless, 1, types=(complex,))
    with pytest.raises(
        NoRuleError, match=r"takes \(float\).*It has: .*nameless\(complex\).*test_faq"
    ):
        ask(1.0)
    with pytest.raises(NoRuleError, match=rf"@{mode}\.register"):
        ask("text")
    ask(1j)


def test_a_rule_may_call_back_into_the_engine() -> None:
    """The way out where a rule for a function argument would be needed."""

    def twice(f: Callable, x: float) -> float:
        return f(f(x))

    engines: list[RuleConfig] = []

    @rrule.register(twice, requires=HasReverseMode)
    def twice_rrule(config: RuleConfig, f: Callable, x: float) -> tuple[float, Callable]:
        engines.append(config)
        y, inner = rrule_via_ad(config, f, x)
        z, outer = rrule_via_ad(config, f, y)

        def twice_pullback(z_bar: float) -> tuple:
            _, y_bar = outer(z_bar)
            _, x_bar = inner(unthunk(y_bar))
            return NoTangent(), NoTangent(), x_bar

        return z, twice_pullback

    assert rrule(twice, np.sin, 0.5) is None  # without an engine there is no rule
    _, pullback = rrule(TestConfig(), twice, np.sin, 0.5)
    expected = np.cos(np.sin(0.5)) * np.cos(0.5)
    assert unthunk(pullback(1.0)[2]) == pytest.approx(expected)
    engines.clear()
    assert autodiff.gradient(twice, np.sin, 0.5)[1] == pytest.approx(expected)
    assert [config.has(HasReverseMode) for config in engines] == [True]


# ------------------------------------------------------------------------------ core and the rest


def test_the_core_defines_rules_and_has_none() -> None:
    code = (
        "import sys, numpy as np, chainrules_core as c\n"
        "assert c.rrule(np.sin, 1.0) is None\n"
        "assert not {'chainrules', 'autodiff', 'scipy'} & set(sys.modules)\n"
        "import chainrules\n"
        "assert c.rrule(np.sin, 1.0) is not None and 'autodiff' not in sys.modules"
    )
    run_python("-c", code)


# --------------------------------------------------------------------------------- removing a thunk


@pytest.mark.parametrize("delay", [thunk, lambda compute: compute()], ids=["thunk", "value"])
def test_a_rule_without_its_thunks_gives_the_same(delay: Callable) -> None:
    def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a @ b

    @rrule.register(product)
    def product_rrule(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, Callable]:
        def product_pullback(y_bar: np.ndarray) -> tuple:
            return NoTangent(), delay(lambda: y_bar @ b.T), delay(lambda: a.T @ y_bar)

        return product(a, b), product_pullback

    a, b = np.arange(4.0).reshape(2, 2), np.array([[1.0, 2.0], [0.0, -1.0]])
    check_rrule(product, a, b)
    _, back = autodiff.pullback(product, a, b)
    a_bar, b_bar = back(np.ones((2, 2)))
    np.testing.assert_array_equal(a_bar, np.ones((2, 2)) @ b.T)
    np.testing.assert_array_equal(b_bar, a.T @ np.ones((2, 2)))
