"""check_registry sees what no test of a single rule can, and knows which rules were exercised."""

from abc import ABC, abstractmethod

import numpy as np
import pytest

from chainrules_core import frule, non_differentiable, opt_out, rrule, scalar_rule
from chainrules_core.testing import (
    check_registry,
    check_rrule,
    exercised_rules,
    load_exercised,
    registry_problems,
    rule_id,
    save_exercised,
)
from chainrules_core.testing.record import forget_exercised

HERE = "test_registry.py"


def ours(rule):
    return HERE in rule.defined_at


def problems(**options):
    return [(p.kind, p.name.rpartition(".")[2]) for p in registry_problems(only=ours, **options)]


def pair(x):
    return x, lambda y_bar: y_bar


def register_both(f, *types, rule=pair):
    rrule.register(f, *types)(rule)
    frule.register(f, *types)(lambda dots, *args: (args[0], dots[0]))


@pytest.fixture(autouse=True)
def clean():
    yield
    for table in (rrule, frule):
        for f in {rule.f for rule in table.methods() if ours(rule)}:
            table.unregister(f)
    assert problems() == []


def test_good_rules():
    def f(x):
        return x

    register_both(f)
    assert problems() == []
    check_registry(only=ours)


def test_ambiguous():
    def f(a, b):
        return a

    for types in ((float, object), (object, float)):
        rrule.register(f, *types)(lambda a, b: (a, lambda v: (v, v)))
        frule.register(f, *types)(lambda dots, a, b: (a, dots[0]))
    assert problems() == [("ambiguous", "f"), ("ambiguous", "f")]
    with pytest.raises(AssertionError, match=r"two frules match \(float, object\) and \(obj"):
        check_registry(only=ours)


def test_constructor():
    class Base(ABC):
        @abstractmethod
        def area(self):
            pass

    register_both(Base)
    assert problems() == [("constructor", "Base"), ("constructor", "Base")]


def test_arity():
    def one(x, *, scale=1.0):
        return x

    def any_number(*xs):
        return xs

    rrule.register(one)(lambda x, y: None)
    frule.register(one)(lambda dots, x, *, scael=1.0: None)
    register_both(any_number, rule=lambda x, y, z: None)
    assert problems() == [("arity", "one"), ("arity", "one")]
    with pytest.raises(AssertionError) as caught:
        check_registry(only=ours)
    assert "takes 2 arguments, the function at most 1" in str(caught.value)
    assert "has options that the function has not: scael" in str(caught.value)
    register_both(one, float, float, rule=lambda x: None)
    assert ("arity", "one") in problems()


def test_options_of_a_rule_for_several_functions():
    def narrow(x):
        return x

    def wide(x, *, axis=None):
        return x

    def sized(x, *, axis=None, size=1):
        return x

    for f in (narrow, wide, sized):
        rrule.register(f)(lambda x, *, axis=None, size=1: None)
        frule.register(f)(lambda dots, x, *, axis=None: None)
    assert problems() == []
    rrule.unregister(sized)
    frule.unregister(sized)
    assert problems() == [("arity", "narrow")]
    non_differentiable(narrow)


def test_arity_of_a_ufunc():
    unary = np.frompyfunc(lambda x: x, 1, 1)
    rrule.register(unary)(lambda x, y: None)
    frule.register(unary)(lambda dots, x: None)
    assert [kind for kind, _ in problems()] == ["arity"]


def test_partner():
    def f(x):
        return x

    def g(x):
        return x

    rrule.register(f)(pair)
    frule.register(g)(lambda dots, x: (x, dots[0]))
    opt_out(frule, f, str)
    assert problems() == [("partner", "f"), ("partner", "g")]
    name = next(iter(registry_problems(only=ours))).name
    check_registry({("partner", name), ("partner", name[:-1] + "g")}, only=ours)
    check_registry(lambda p: p.kind == "partner", only=ours)
    with pytest.raises(AssertionError, match=r"allowed: .*no problem of the kind 'arity'"):
        check_registry(
            {("partner", name), ("partner", name[:-1] + "g"), ("arity", name)}, only=ours
        )


def test_replaced():
    def f(x):
        return x

    def g(x):
        return x

    register_both(f)
    rrule.register(f)(pair)
    assert problems() == [("replaced", "f")]
    rrule.unregister(f)
    rrule.register(f)(pair)
    assert problems() == []
    scalar_rule((g, g), 1)
    assert problems() == [("replaced", "g"), ("replaced", "g")]


def test_untested(tmp_path):
    def f(x):
        return 2 * x

    def g(x):
        return 3 * x

    scalar_rule((f, g), 2)
    non_differentiable(len, int)
    forget = exercised_rules()
    assert sorted(problems(tested=forget))[:2] == [("untested", "f"), ("untested", "f")]
    check_rrule(f, 1.0)
    (rule,) = rrule.methods(f)
    assert rule_id("rrule", rule) in exercised_rules()
    assert rule_id("frule", rule) not in exercised_rules()
    assert sorted(problems(tested=exercised_rules())) == [
        ("untested", "f"),
        ("untested", "g"),
        ("untested", "g"),
        ("untested", "len"),
        ("untested", "len"),
    ]
    save_exercised(tmp_path / "workers" / "1.json")
    before = exercised_rules()
    forget_exercised()
    assert exercised_rules() == frozenset()
    assert load_exercised((tmp_path / "workers").glob("*.json")) == before
    save_exercised(tmp_path / "2.json")
    assert load_exercised([tmp_path / "2.json"]) == frozenset()
    for path in (tmp_path / "workers").glob("*.json"):
        restored = load_exercised([path])
    assert restored == before


def test_rule_id_does_not_name_the_machine():
    def f(x):
        return x

    register_both(f, (float, int), [str])
    (rule,) = rrule.methods(f)
    assert "/" not in rule_id("rrule", rule)
    assert "(float|int, str) test_registry.py:" in rule_id("rrule", rule)
