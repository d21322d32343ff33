"""Rules found by the types of arguments: precedence, ties, opt-outs, requirements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
import pytest

from chainrules_core import (
    AmbiguousRuleError,
    HasForwardMode,
    HasReverseMode,
    NoRuleError,
    NoTangent,
    PullbackArityError,
    RuleConfig,
    RuleDefinitionError,
    RuleResultError,
    frule,
    instance_of,
    linear_rule,
    non_differentiable,
    opt_out,
    primitive,
    require_frule,
    require_rrule,
    rrule,
    scalar_rule,
)


def target(*args: Any, **kwargs: Any) -> Any:
    return 1.0


class MyArray(np.ndarray):
    pass


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    for table in (rrule, frule):
        if table.methods(target):
            table.unregister(target)


def register(mark: str, *types: Any, **options: Any) -> None:
    def rule(*args: Any) -> tuple[Any, Callable]:
        def rule_pullback(y_bar: Any) -> tuple:
            return (NoTangent(),) * (len(args) - bool(options))

        return mark, rule_pullback

    rrule.register(target, *types, **options)(rule)


def found(*args: Any, config: RuleConfig | None = None) -> Any:
    result = rrule(target, *args) if config is None else rrule(config, target, *args)
    return None if result is None else result[0]


def test_the_most_specific_rule_is_found() -> None:
    register("any")
    register("number", (int, float, complex))
    register("int", int)
    register("two", float, float)
    register("integral", Integral, str)
    assert found() == "any"
    assert found("text") == "any"
    assert found(2.0) == found(2j) == "number"
    assert found(True) == found(2) == "int"
    assert found(2.0, "x") == "number"
    assert found(2.0, 3.0) == found(np.float64(2.0), 3.0) == "two"


def test_unions_and_any_number() -> None:
    register("texts", [str])
    register("union", int | float, (str, bytes))
    assert found("a") == found("a", "b", "c") == "texts"
    assert found("a", 1) is None
    assert found(1, b"") == found(2.0, "") == "union"


def test_a_tie_is_an_error_where_it_is_met_and_in_the_check() -> None:
    register("left", int, object)
    register("right", object, int)
    assert found(1, "") == "left"
    assert found("", 1) == "right"
    with pytest.raises(AmbiguousRuleError, match=r"target\(int, int\) equally well"):
        found(1, 1)
    assert [f for f, _, _ in rrule.lookup_ambiguities() if f is target] == [target]
    register("both", int, int)
    assert found(1, 1) == "both"
    assert not [f for f, _, _ in rrule.lookup_ambiguities() if f is target]


def test_float64_is_a_float_and_a_numpy_number() -> None:
    register("python", float)
    register("numpy", np.floating)
    with pytest.raises(AmbiguousRuleError):
        found(np.float64(1.0))


def test_the_same_types_replace() -> None:
    register("old", float)
    version = rrule.version
    register("new", float)
    assert rrule.version > version
    assert found(1.0) == "new"
    assert len(rrule.methods(target)) == 1


def test_opt_outs() -> None:
    register("arrays", np.ndarray, np.ndarray)
    mine = np.zeros(2).view(MyArray)
    assert found(mine, mine) == "arrays"
    opt_out(rrule, target, MyArray)
    assert found(mine, mine) is None
    assert found(mine, np.zeros(2)) is None
    assert found(np.zeros(2), mine) == "arrays"
    assert rrule.is_opted_out(target, MyArray, MyArray)
    assert not rrule.is_opted_out(target, np.ndarray, np.ndarray)
    assert [r.f for r in rrule.opted_out() if r.f is target] == [target]
    register("again", MyArray, MyArray)
    assert found(mine, mine) == "again"
    rrule.unregister(target, MyArray)
    assert found(mine, np.zeros(2)) == "arrays"


class Engine(RuleConfig):
    capabilities = frozenset({HasReverseMode})


class Forward(RuleConfig):
    capabilities = frozenset({HasForwardMode})


def test_a_rule_that_asks_for_the_engine_goes_first() -> None:
    register("plain", float)
    register("engine", requires=HasReverseMode)
    assert found(1.0) == "plain"
    assert found(1.0, config=Engine()) == "engine"
    assert found(1.0, config=Forward()) == "plain"
    register("own", config=Engine)
    assert found(1.0, config=Engine()) in ("own", "engine")
    with pytest.raises(NotImplementedError, match="HasForwardMode"):
        Engine().frule_via_ad((), target)


@pytest.mark.parametrize("wrong", [type, object, 3, "name"])
def test_what_cannot_have_a_rule(wrong: Any) -> None:
    with pytest.raises(RuleDefinitionError):
        rrule.register(wrong)(lambda x: None)


@pytest.mark.parametrize("types", [("float",), (3,), ([float], int), (float, ("int",))])
def test_types_of_a_rule_are_types(types: tuple) -> None:
    with pytest.raises(RuleDefinitionError, match="type"):
        rrule.register(target, *types)(lambda *x: None)


def test_bound_methods_and_instances_are_keyed_by_their_class() -> None:
    class Scale:
        def __init__(self, k: float) -> None:
            self.k = k

        def __call__(self, x: float) -> float:
            return self.k * x

        def method(self, x: float) -> float:
            return self.k * x

    class Child(Scale):
        pass

    class Other(Scale):
        def __call__(self, x: float) -> float:
            return 0.0

    for key in (instance_of(Scale), Scale.method):

        @rrule.register(key)
        def scale_rrule(scale: Scale, x: float) -> tuple[float, Callable]:
            def scale_pullback(y_bar: float) -> tuple:
                return {"k": x * y_bar} and NoTangent(), scale.k * y_bar * 10

            return scale.k * x, scale_pullback

    for f in (Scale(2.0), Scale(2.0).method, Child(2.0), Child(2.0).method):
        y, pullback = rrule(f, 3.0)
        assert (y, pullback(1.0)) == (6.0, (NoTangent(), 20.0))
    assert rrule(Other(2.0), 3.0) is None
    assert rrule(Scale.method, Scale(2.0), 3.0)[1](1.0) == (NoTangent(), NoTangent(), 20.0)
    with pytest.raises(RuleDefinitionError, match="given with an object"):
        rrule.register(Scale(1.0))(lambda *a: None)
    rrule.unregister(Scale.__call__)
    rrule.unregister(Scale.method)


def test_hooks_and_version() -> None:
    seen: list[str] = []
    remove = rrule.on_new_rule(lambda rule: seen.append(rule.name))
    before = len(seen)
    register("a", float)
    assert seen[before:] == [rrule.methods(target)[0].name]
    remove()
    register("b", int)
    assert len(seen) == before + 1
    version = rrule.version
    rrule.refresh_rules()
    assert rrule.version == version + 1


def test_missing_rules_are_named_with_what_there_is() -> None:
    register("float", float)
    assert rrule(target, "text") is None
    assert frule((NoTangent(), 1.0), target, 1.0) is None
    with pytest.raises(NoRuleError, match=r"No rrule of .*target takes \(str\).*It has:.*float"):
        require_rrule(target, "text")
    with pytest.raises(NoRuleError, match="no frule at all"):
        require_frule((NoTangent(), 1.0), target, 1.0)


@pytest.mark.parametrize("result", [3.0, (1.0,), (1.0, 2.0, 3.0), [1.0, None]])
def test_a_rule_returns_a_pair(result: Any) -> None:
    rrule.register(target, float)(lambda x: result)
    with pytest.raises(RuleResultError, match="must return a pair"):
        rrule(target, 1.0)


def test_the_number_of_cotangents() -> None:
    rrule.register(target)(lambda a, b: (1.0, lambda y_bar: (1.0, 2.0, 3.0, 4.0)))
    with pytest.raises(PullbackArityError, match="returned 4 cotangents for 2 arguments"):
        rrule(target, 1.0, 2.0)[1](1.0)


def test_frule_takes_as_many_tangents_as_arguments() -> None:
    scalar_rule(target, lambda y, x: 2.0)
    with pytest.raises(TypeError, match="was given 3 tangents for 1 arguments"):
        frule((NoTangent(), 1.0, 1.0), target, 1.0)
    with pytest.raises(TypeError, match="one tuple"):
        frule(target, 1.0)


@pytest.mark.parametrize(
    "define",
    [
        lambda: scalar_rule(target),
        lambda: scalar_rule(target, (1, 2), (1,)),
        lambda: scalar_rule(target, lambda y: y),
        lambda: scalar_rule(target, lambda y, x, s, t: y, setup=lambda y, x: y),
        lambda: linear_rule(target),
        lambda: linear_rule(target, lambda y_bar, x: y_bar, argnums=(0, 1)),
        lambda: linear_rule(target, lambda b, x, y: b, lambda b, x, y: b, add_into=lambda *a: None),
    ],
)
def test_definitions_that_do_not_fit(define: Callable) -> None:
    with pytest.raises(RuleDefinitionError):
        define()


def test_non_differentiable_for_some_types_only() -> None:
    non_differentiable(target, str)
    assert rrule(target, "a", 1)[1](1.0) == (NoTangent(),) * 3
    assert frule((NoTangent(), NoTangent()), target, "a") == (1.0, NoTangent())
    assert rrule(target, 1) is None


def test_a_primitive_reaches_the_protocol() -> None:
    calls: list[Any] = []

    class Traced:
        def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
            return NotImplemented

        def __array_function__(self, f: Any, types: Any, args: Any, kwargs: Any) -> Any:
            calls.append((f, args))
            return "traced"

    @primitive
    def double(x: Any) -> Any:
        return 2 * x

    assert double(3.0) == 6.0
    traced = Traced()
    assert double(traced) == "traced"
    assert calls == [(double, (traced,))]


def test_a_parameter_by_keyword_alone_is_not_taken_for_another_in_its_place() -> None:
    def var(a: Any, axis: Any = None, *, mean: Any = None) -> Any:
        return a, axis, mean

    @rrule.register(var)
    def var_rrule(a: Any, mean: Any = None, *, axis: Any = None) -> tuple[Any, Callable]:
        return var(a, axis, mean=mean), lambda y_bar: (a, mean)

    assert rrule(var, 1.0, axis=0)[0] == (1.0, 0, None)
    assert rrule(var, 1.0, 0)[0] == (1.0, 0, None)
    assert rrule(var, 1.0, mean=2.0)[0] == (1.0, None, 2.0)
    rrule.unregister(var)
