"""The page "On writing good rrule / frule methods"."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from chainrules_core import (
    NoTangent,
    RuleDefinitionError,
    Tangent,
    Thunk,
    ZeroTangent,
    derivatives_given_output,
    frule,
    instance_of,
    linear_rule,
    non_differentiable,
    opt_out,
    rrule,
    scalar_rule,
    thunk,
    unthunk,
)
from chainrules_core.testing import (
    RuleCheckError,
    check_frule,
    check_rrule,
    check_rule,
    check_scalar,
)

# ------------------------------------------------------------------------------------ constructors


class Celsius:
    """A class to be constructed under differentiation."""

    def __init__(self, kelvin: float) -> None:
        self.degrees = kelvin - 273.15


class Fahrenheit(Celsius):
    """A subclass: its constructor is another one."""


def register_constructor(cls: type) -> None:
    @rrule.register(cls, float)
    def constructor_rrule(x: float) -> tuple[Any, Callable]:
        def constructor_pullback(y_bar: Any) -> tuple:
            return NoTangent(), y_bar.degrees

        return cls(x), constructor_pullback


def test_a_rule_for_a_constructor_is_keyed_by_its_class() -> None:
    register_constructor(Celsius)
    y, pullback = rrule(Celsius, 300.0)
    assert type(y) is Celsius
    assert pullback(Tangent[Celsius](degrees=2.0)) == (NoTangent(), 2.0)
    assert {r.f for r in rrule.methods(Celsius)} == {Celsius}


def test_a_rule_for_one_constructor_captures_no_other() -> None:
    register_constructor(Celsius)
    for other in (Fahrenheit, float, complex, list, type("Celsius", (), {})):
        assert rrule(other, 300.0) is None or rrule.methods(other)[0].f is other
    assert rrule(Fahrenheit, 300.0) is None
    assert rrule(type, 300.0) is None


@pytest.mark.parametrize("everything", [type, object])
@pytest.mark.parametrize(
    "define",
    [
        lambda f: rrule.register(f)(lambda x: None),
        lambda f: frule.register(f)(lambda dots, x: None),
        lambda f: scalar_rule(f, 1),
        lambda f: linear_rule(f, lambda y_bar, x: y_bar),
        lambda f: non_differentiable(f),
        lambda f: opt_out(rrule, f),
    ],
    ids=["rrule", "frule", "scalar_rule", "linear_rule", "non_differentiable", "opt_out"],
)
def test_a_rule_for_every_constructor_at_once_is_refused(everything: type, define: Any) -> None:
    with pytest.raises(RuleDefinitionError, match=f"{everything.__name__} would be .* every class"):
        define(everything)


def test_the_engine_uses_the_rule_of_a_constructor() -> None:
    register_constructor(Celsius)
    y, back = autodiff.pullback(Celsius, 300.0)
    assert type(y) is Celsius
    assert y.degrees == Celsius(300.0).degrees
    assert back(Tangent[Celsius](degrees=2.0)) == 2.0


def test_a_constructor_without_rule_runs_its_init() -> None:
    assert autodiff.gradient(lambda k: Celsius(k).degrees * 2.0, 300.0) == 2.0


def test_the_rule_of_a_constructor_is_used_inside_another_function() -> None:
    used: list[float] = []

    @rrule.register(Celsius, float)
    def celsius_rrule(k: float) -> tuple[Any, Callable]:
        used.append(k)

        def celsius_pullback(y_bar: Any) -> tuple:
            return NoTangent(), y_bar.degrees

        return Celsius(k), celsius_pullback

    assert autodiff.gradient(lambda k: Celsius(k).degrees * 2.0, 300.0) == 2.0
    assert used == [300.0]


def test_a_rule_for_instances_is_not_one_for_the_constructor() -> None:
    class Power:
        def __init__(self, n: float) -> None:
            self.n = n

        def __call__(self, x: float) -> float:
            return x**self.n

    @rrule.register(instance_of(Power), Power, float)
    def power_rrule(power: Power, x: float) -> tuple[float, Callable]:
        y = power(x)

        def power_pullback(y_bar: float) -> tuple:
            return NoTangent(), Tangent[Power](n=y * np.log(x) * y_bar), power.n * y / x * y_bar

        return y, power_pullback

    assert rrule(Power, 2.0) is None
    y, pullback = rrule(Power(3.0), 2.0)
    own_bar, x_bar = pullback(1.0)
    assert (y, x_bar) == (8.0, 12.0)
    assert own_bar.n == pytest.approx(8 * np.log(2))
    assert autodiff.gradient(Power(3.0), 2.0) == 12.0


# ----------------------------------------------------------------------------------- zero and one


def test_work_is_not_done_for_a_zero() -> None:
    pulled: list[Any] = []

    def g(x: float) -> float:
        return 2.0 * x

    @rrule.register(g)
    def g_rrule(x: float) -> tuple[float, Callable]:
        def g_pullback(y_bar: float) -> tuple:
            pulled.append(y_bar)
            return NoTangent(), 2.0 * y_bar

        return g(x), g_pullback

    for zero in (ZeroTangent(), NoTangent()):
        assert rrule(g, 3.0)[1](zero)[1] == ZeroTangent()
        assert autodiff.pullback(g, 3.0)[1](zero) == 0.0
    assert pulled == []


def test_a_zero_from_one_rule_ends_the_chain_to_the_next() -> None:
    """An engine hands a ZeroTangent to no pullback: all of them are linear."""
    from autodiff.dispatch.call import call

    pulled: list[Any] = []

    def first(x: float) -> float:
        return 3.0 * x

    def second(y: float) -> float:
        return np.sign(y)

    @rrule.register(first)
    def first_rrule(x: float) -> tuple[float, Callable]:
        def first_pullback(y_bar: float) -> tuple:
            pulled.append(y_bar)
            return NoTangent(), 3.0 * y_bar

        return first(x), first_pullback

    @rrule.register(second)
    def second_rrule(y: float) -> tuple[float, Callable]:
        def second_pullback(z_bar: float) -> tuple:
            return NoTangent(), ZeroTangent()

        return float(second(y)), second_pullback

    assert autodiff.gradient(lambda x: call(second, (call(first, (x,)),)), 2.0) == 0.0
    assert pulled == []


def test_one_is_a_partial_that_costs_no_multiplication() -> None:
    def shifted(x: np.ndarray) -> np.ndarray:
        return x + 5.0

    scalar_rule(shifted, 1)
    y_bar = np.array([1.0, 2.0])
    assert unthunk(rrule(shifted, np.ones(2))[1](y_bar)[1]) is y_bar
    check_rule(shifted, np.ones(2))


# ---------------------------------------------------------------------------------------- thunks


def outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.multiply.outer(a, b)


def register_outer(work: list[str], *, good: bool) -> None:
    def a_bar_of(y_bar: np.ndarray, b: np.ndarray) -> np.ndarray:
        work.append("a")
        return y_bar @ b

    @rrule.register(outer)
    def outer_rrule(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, Callable]:
        def outer_pullback(y_bar: np.ndarray) -> tuple:
            def b_bar() -> np.ndarray:
                work.append("b")
                return y_bar.T @ a

            if good:
                a_bar = thunk(lambda: a_bar_of(y_bar, b))
            else:
                done = a_bar_of(y_bar, b)
                a_bar = thunk(lambda: done)
            return NoTangent(), a_bar, thunk(b_bar)

        return outer(a, b), outer_pullback


@pytest.mark.parametrize(
    "argnums, expected", [(0, ["a"]), (1, ["b"]), ((0, 1), ["a", "b"])], ids=["a", "b", "both"]
)
def test_what_is_wrapped_in_a_thunk_is_done_where_it_is_wanted(
    argnums: Any, expected: list[str]
) -> None:
    work: list[str] = []
    register_outer(work, good=True)
    _, back = autodiff.pullback(outer, np.ones(2), np.ones(3), argnums=argnums)
    back(np.ones((2, 3)))
    assert work == expected


def test_a_thunk_of_a_variable_delays_nothing() -> None:
    """The page's bad example: the value is there before the thunk is."""
    work: list[str] = []
    register_outer(work, good=False)
    rrule(outer, np.ones(2), np.ones(3))[1](np.ones((2, 3)))
    assert work == ["a"]
    check_rrule(outer, np.ones(2), np.ones(3))  # bad, but not wrong


def test_a_thunk_used_twice_is_computed_once() -> None:
    work: list[str] = []
    register_outer(work, good=True)
    _, a_bar, _ = rrule(outer, np.ones(2), np.ones(3))[1](np.ones((2, 3)))
    assert isinstance(a_bar, Thunk)
    assert work == []
    np.testing.assert_array_equal(a_bar + a_bar, [6.0, 6.0])
    np.testing.assert_array_equal(unthunk(a_bar), [3.0, 3.0])
    assert work == ["a"]


# ------------------------------------------------------------------------------------- code style


def foo(x: float) -> float:
    return x * x


@pytest.fixture
def named_pullback() -> None:
    @rrule.register(foo)
    def foo_rrule(x: float) -> tuple[float, Callable]:
        def foo_pullback(y_bar: Any) -> tuple:
            if y_bar == 13.0:
                raise ArithmeticError("an error inside the pullback")
            return NoTangent(), 2 * x * y_bar

        return foo(x), foo_pullback


def test_the_name_of_a_pullback_is_shown(named_pullback: None) -> None:
    result = rrule(foo, 2)
    assert result[0] == 4
    assert "foo_pullback" in repr(result)


@pytest.mark.parametrize(
    "pull", [lambda: rrule(foo, 2.0)[1](13.0), lambda: autodiff.pullback(foo, 2.0)[1](13.0)],
    ids=["rrule", "engine"],
)  # fmt: skip
def test_an_error_in_a_pullback_shows_its_name_in_the_traceback(
    named_pullback: None, pull: Callable
) -> None:
    with pytest.raises(ArithmeticError) as caught:
        pull()
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].name == "foo_pullback"
    assert frames[-1].filename == __file__


def test_the_tools_name_their_pullbacks_too() -> None:
    scalar_rule(foo, lambda y, x: 2 * x)
    assert "foo_pullback" in repr(rrule(foo, 2.0))


# ------------------------------------------------------------------------------- non_differentiable


def times(*args: Any) -> Any:
    """Join strings, multiply numbers: what ``*`` does in the page's language."""
    result = args[0]
    for a in args[1:]:
        result = result + a if isinstance(result, str) else result * a
    return result


def test_non_differentiable_for_some_types_of_arguments_only() -> None:
    non_differentiable(times, [str])
    y, pullback = rrule(times, "chain", "rules")
    assert y == "chainrules"
    assert pullback(1.0) == (NoTangent(), NoTangent(), NoTangent())
    dots = (NoTangent(), NoTangent(), NoTangent())
    assert frule(dots, times, "chain", "rules") == ("chainrules", NoTangent())
    assert rrule(times, 1, 2, 3) is None
    assert frule((*dots, NoTangent()), times, 1, 2, 3) is None
    assert autodiff.gradient(times, 2.0, 3.0, 4.0) == (12.0, 8.0, 6.0)


def test_a_rule_for_other_types_stands_beside_it() -> None:
    non_differentiable(times, str, [str])
    scalar_rule(times, lambda y, a, b: b, lambda y, a, b: a, types=((int, float), (int, float)))
    assert rrule(times, "a", "b", "c")[1](1.0) == (NoTangent(),) * 4
    assert rrule(times, 2, 3)[1](1.0) == (NoTangent(), 3.0, 2.0)
    assert rrule(times, "a", 2) is None


def test_keywords_are_forwarded() -> None:
    def label(*parts: str, sep: str = "") -> str:
        return sep.join(parts)

    non_differentiable(label, [str])
    assert rrule(label, "a", "b", sep="-")[0] == "a-b"
    assert frule((NoTangent(),) * 3, label, "a", "b", sep="-") == ("a-b", NoTangent())


# ------------------------------------------------------------------------------------- scalar_rule


@pytest.mark.parametrize(
    "f, partials, points",
    [
        (lambda x: x**3, (lambda y, x: 3 * x**2,), [(2.0,), (-1.0,)]),
        (lambda x, y: x / y, (lambda z, x, y: 1 / y, lambda z, x, y: -z / y), [(2.0, 3.0)]),
        (
            lambda x, y, z: x * y + z,
            (lambda w, x, y, z: y, lambda w, x, y, z: x, 1),
            [(2.0, 3.0, 4.0), (1.0, -1.0, 0.5)],
        ),
        (lambda x, n: x, (1, ZeroTangent()), [(2.0, 3.0)]),
    ],
    ids=["one", "two", "three", "a zero"],
)
def test_one_call_defines_both_rules_of_any_number_of_arguments(
    f: Callable, partials: tuple, points: list
) -> None:
    scalar_rule(f, *partials)
    for point in points:
        check_rule(f, *point)
        bars = autodiff.gradient(f, *point)
        expected = derivatives_given_output(f(*point), f, *point)[0]
        np.testing.assert_allclose(np.ravel(bars), [float(d) for d in expected])


def test_a_rule_of_one_argument_holds_for_complex_numbers_too() -> None:
    def f(z: complex) -> complex:
        return z * z + z

    scalar_rule(f, lambda y, z: 2 * z + 1)
    for z in (0.3, 0.3 - 0.5j):
        check_scalar(f, z)


def test_several_outputs() -> None:
    def polar(r: float, t: float) -> tuple[float, float]:
        return r * np.cos(t), r * np.sin(t)

    scalar_rule(
        polar,
        (lambda y, r, t, s: s[0], lambda y, r, t, s: -r * s[1]),
        (lambda y, r, t, s: s[1], lambda y, r, t, s: r * s[0]),
        setup=lambda y, r, t: (np.cos(t), np.sin(t)),
    )
    check_rule(polar, 2.0, 0.7)
    y, y_dot = frule((NoTangent(), 1.0, 0.0), polar, 2.0, 0.7)
    assert isinstance(y_dot, Tangent[tuple])
    np.testing.assert_allclose(list(y_dot), [np.cos(0.7), np.sin(0.7)])
    value, back = autodiff.pullback(polar, 2.0, 0.7)
    assert value == y
    np.testing.assert_allclose(back((1.0, 0.0)), [np.cos(0.7), -2 * np.sin(0.7)])
    np.testing.assert_allclose(back((0.0, 1.0)), [np.sin(0.7), 2 * np.cos(0.7)])
    np.testing.assert_allclose(back((None, 1.0)), [np.sin(0.7), 2 * np.cos(0.7)])


def test_scalar_rule_needs_one_partial_for_each_argument() -> None:
    with pytest.raises(RuleDefinitionError, match="one partial for each argument"):
        scalar_rule(foo, (1, 2), (1,))
    with pytest.raises(RuleDefinitionError, match="called with the output"):
        scalar_rule(foo, lambda x: 2 * x)


# ------------------------------------------------------------------------------------------- tests


def test_finite_differences_find_a_mistake_that_a_derivation_would_repeat() -> None:
    def cube(x: float) -> float:
        return x**3

    scalar_rule(cube, lambda y, x: 2 * x**2)
    with pytest.raises(RuleCheckError, match="cube"):
        check_rrule(cube, 2.0)
    with pytest.raises(RuleCheckError, match="cube"):
        check_frule(cube, 2.0)
