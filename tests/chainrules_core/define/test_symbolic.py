"""What a partial derivative reads and returns: the same in every version of Python."""

from __future__ import annotations

import dis
import functools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from chainrules_core import frule, rrule, scalar_rule
from chainrules_core.define.partial import Partial
from chainrules_core.define.symbolic import traced

FACTOR = 3.0
CALLS: list[Any] = []


def noted(x: Any) -> Any:
    CALLS.append(x)
    return x


def capturing() -> Callable:
    inner = 2.0
    return lambda y, a, b: inner * a


@pytest.mark.parametrize(
    "function, reads",
    [
        (lambda y, a, b: 1.0, set()),
        (lambda y, a, b: b, {2}),
        (lambda y, a, b: a * b, {1, 2}),
        (lambda y, a, b: a + b + y, {0, 1, 2}),
        (lambda y, a, b: np.cos(a), {1}),
        (lambda y, a, b: -np.sin(b) * y, {0, 2}),
        (lambda y, a, b: np.where(a > b, 1.0, 0.0), {1, 2}),
        (lambda y, a, b: np.multiply(a, b, where=y), {0, 1, 2}),
        (lambda y, a, b: a[..., 1:b], {1, 2}),
        (lambda y, a, b: FACTOR * a, {1}),
        (lambda y, a, b: noted(a), {1}),
        (lambda y, a, b: (y, [b]), {0, 2}),
        (lambda y, a, b: (y, b)[1], {2}),
        (lambda y, a, b: a.real + y.shape[0], {0, 1}),
        (lambda y, *rest: rest[1], {2}),
        (lambda y, a, b, n=2: a**n, {1}),
        (capturing(), {1}),
    ],
)
def test_what_is_read(function: Callable, reads: set) -> None:
    assert set(Partial(function, 3).reads) == reads
    assert not CALLS


def branching(y: Any, a: Any, b: Any) -> Any:
    return a if FACTOR else b


def catching(y: Any, a: Any, b: Any) -> Any:
    try:
        return 1 / a
    except ZeroDivisionError:
        return b


def swallowing(y: Any, a: Any, b: Any) -> Any:
    try:  # noqa: SIM105
        float(a)
    except:  # noqa: E722
        pass
    return b


def writing(y: Any, a: Any, b: Any) -> Any:
    global FACTOR
    FACTOR = a
    return b


def handing_on(y: Any, a: Any, b: Any) -> Any:
    return np.vectorize(lambda t: t * a)(b)


@pytest.mark.parametrize(
    "function",
    [
        branching, catching, swallowing, writing, handing_on, np.add, math.hypot,
        functools.partial(lambda k, y, a, b: a, 1),
        lambda y, a, b: 1.0 if a is None else 2.0,
        lambda y, a, b: a if y is b else 2.0,
        lambda y, a, b: 1.0 if y is b else 2.0,
        lambda y, a, b: b if a else y,
        lambda y, a, b: b if a > 0 else y,
        lambda y, a, b: a and b,
        lambda y, a, b: sum(a * t for t in b),
        lambda y, a, b: [t * y for t in a],
        lambda y, a, b: {a: b},
        lambda y, a, b: f"{a}",
        lambda y, a, b: b in (a,),
        lambda y, a, b: locals()["a"],
        lambda y, a, b: eval("a"),
        lambda y, a, b: sys._getframe().f_locals["a"],
        lambda y, a: a,
    ],
)  # fmt: skip
def test_where_it_is_not_clear_everything_counts_as_read(function: Callable) -> None:
    assert traced(function, 3) is None
    partial = Partial(function, 3)
    assert set(partial.reads) == {0, 1, 2}
    assert partial.returns is None
    assert FACTOR == 3.0


@pytest.mark.parametrize(
    "function, returns",
    [
        (lambda y, a, b: y, 0),
        (lambda y, a, b: b, 2),
        (lambda y, a, b: (b,)[0], 2),
        (lambda y, a, b: +b, None),
        (lambda y, a, b: b * 1, None),
        (lambda y, a, b: FACTOR, None),
        (lambda y, a, b, n=2: n, None),
        (lambda y, a, b: 1.0, None),
    ],
)
def test_what_is_returned_as_it_is(function: Callable, returns: int | None) -> None:
    assert Partial(function, 3).returns == returns


def test_bytecode_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dis, "get_instructions", None)
    assert set(Partial(lambda y, a, b: a * b, 3).reads) == {1, 2}


def test_what_a_setup_makes_is_no_constant() -> None:
    def scaled(x: Any) -> Any:
        return 2.0 * x * x

    scalar_rule(scaled, lambda y, x, slope: slope, setup=lambda y, x: 4.0 * x)
    try:
        rule = rrule.entry(scaled).rules[0]
        assert set(rule.partials[0][0].reads) == {2}
        # 0 · Inf: that x is 0 here says nothing of what follows.
        _, pull = rule.record((np.array([0.0, 1.0]),), {}, (0,))
        with np.errstate(invalid="ignore"):
            (bar,) = pull(np.array([np.inf, 1.0]))
        assert np.isnan(bar[0])
        assert bar[1] == 4.0
    finally:
        rrule.unregister(scaled)
        frule.unregister(scaled)


def test_a_method_can_be_a_partial_derivative() -> None:
    class Slopes:
        def of_square(self, y: Any, x: Any) -> Any:
            return 2 * x

    def square(x: Any) -> Any:
        return x * x

    scalar_rule(square, Slopes().of_square)
    try:
        assert rrule(square, 2.0)[1](3.0)[1] == 12.0
    finally:
        rrule.unregister(square)
        frule.unregister(square)


def test_a_symbol_that_is_looked_at_later_has_no_attributes() -> None:
    result = Partial(lambda y, x: x * y, 2).result
    assert result is not None
    for name in ("__dict__", "_fields", "anything"):
        assert not hasattr(result, name)
