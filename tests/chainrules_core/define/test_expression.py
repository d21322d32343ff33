"""Partial derivatives as expressions, beside a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from chainrules_core import RuleDefinitionError, frule, rrule
from chainrules_core.authoring import expression


def ramp(x: Any) -> Any:
    return np.maximum(x, 0.0)


def ramp_rrule(x: Any) -> tuple[Any, Callable]:
    return ramp(x), lambda y_bar: y_bar * np.greater(x, 0.0)


@pytest.fixture(autouse=True)
def _ramp_has_a_rule() -> Iterator[None]:
    rrule.register(ramp, float)(ramp_rrule)
    rrule.register(ramp, np.ndarray)(ramp_rrule)
    yield
    rrule.unregister(ramp)


def test_all_rules_of_the_function_have_it():
    assert not any(rule.expressions for rule in rrule.methods(ramp))
    expression(ramp, lambda y, x: 1.0 * (x > 0.0))
    found = [rule.expressions["real", 1] for rule in rrule.methods(ramp)]
    assert len(found) == 2
    assert found[0] is found[1]
    assert found[0].partials[0][0](3.0, 3.0) == 1.0


def test_a_rule_that_replaces_one_has_none():
    expression(ramp, lambda y, x: 1.0 * (x > 0.0))
    rrule.register(ramp, float)(ramp_rrule)
    assert [bool(rule.expressions) for rule in rrule.methods(ramp)] == [True, False]
    expression(ramp, 7.0)
    found = [rule.expressions["real", 1].partials[0][0] for rule in rrule.methods(ramp)]
    assert [partial.constant for partial in found] == [None, 7.0]  # what has one keeps it


def test_each_kind_of_arguments_has_its_own():
    expression(ramp, lambda y, x: 1.0 * (x > 0.0))
    expression(ramp, 2.0, of="real number")
    (held, _) = [rule.expressions for rule in rrule.methods(ramp)]
    assert set(held) == {("real", 1), ("real number", 1)}
    assert held["real number", 1].partials[0][0].constant == 2.0


def test_forward_mode_is_left_alone():
    expression(ramp, lambda y, x: 1.0 * (x > 0.0))
    assert not frule.methods(ramp)


@pytest.mark.parametrize(
    "give, message",
    [
        (lambda: expression(ramp, 1.0, of="integers"), "of='integers'"),
        (lambda: expression(lambda x: x, 1.0), "has no rrule"),
        (lambda: expression(ramp, (1.0,), (2.0,)), "one output"),
        (lambda: expression(ramp), "expression for"),
        (lambda: expression(ramp, lambda y: y), "expression for"),
    ],
    ids=["kind", "no rule", "outputs", "nothing", "arity"],
)
def test_what_is_no_expression(give: Callable, message: str):
    with pytest.raises(RuleDefinitionError, match=message):
        give()
    assert not any(rule.expressions for rule in rrule.methods(ramp))
