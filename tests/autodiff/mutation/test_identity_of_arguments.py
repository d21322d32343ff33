"""Objects, lists and dicts that are given answer questions about identity as without the engine.

Each program is a way to know an object by two names, and a way to ask which one it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from tools.fuzz import judge

_HEAD = """
import numpy as np
class Body:
    def __init__(self, mass): self.mass = mass
one, other = Body(0.5), Body(2.0)
bodies = [one, other]
names = {one: 3.0, other: 4.0}
"""
_GIVEN = {
    "object": ("m", "one", "other"),
    "in a list": ("m[0]", "[one]", "[other]"),
    "in a dict": ("m['a']", "{'a': one}", "{'a': other}"),
}
_KNOWN = {"a global": "one", "in a global list": "bodies[0]", "another argument": "k"}
_ASKED = {
    "is": "3.0 if {a} is {b} else 5.0",
    "is not": "3.0 if {a} is not {b} else 5.0",
    "==": "3.0 if {a} == {b} else 5.0",
    "!=": "3.0 if {a} != {b} else 5.0",
    "in a list": "3.0 if {a} in [{b}] else 5.0",
    "not in a tuple": "3.0 if {a} not in ({b}, 1) else 5.0",
    "in a set": "3.0 if {a} in {{{b}}} else 5.0",
    "index": "[{b}, {a}].index({a}) + 1.0",
    "count": "[{b}, {b}].count({a}) + 1.0",
    "key": "{{{b}: 3.0, None: 2.0}}[{a} if {a} is {b} else None]",
    "outer key": "names[{a}] + names[{b}]",
    "get": "{{{b}: 3.0}}.get({a}, 7.0)",
    "id": "3.0 if id({a}) == id({b}) else 5.0",
    "loop": "sum(p.mass for p in bodies if p is not {a}) + 1.0",
    "store": "stored({a}, {b})",
}
_STORED = """
def stored(a, b):
    table = {a: 1.0}
    table[b] = 3.0
    return table[a] + len(table)
"""


def _program(given: str, known: str, asked: str) -> tuple[Callable, list[tuple]]:
    place, first, second = _GIVEN[given]
    answer = _ASKED[asked].format(a=place, b=_KNOWN[known])
    source = (
        _HEAD
        + _STORED
        + f"""
def program(x, m, k):
    total = 0.0
    for v in x:
        total = total + v * {place}.mass * ({answer}) + 0.1 * k.mass
    return total
ARGUMENTS = None
CALLS = [({first}, one), ({second}, one), ({first}, other), ({second}, other)]
"""
    )
    f, _ = judge.load(source, f"<identity {given} {known} {asked}>")
    return f, f.__globals__["CALLS"]


def _value_by(f: Callable, how: str) -> Callable:
    def by_gradient(*args: Any) -> Any:
        return autodiff.value_and_gradient(f, *args)[0]

    def by_pushforward(*args: Any) -> Any:
        return autodiff.pushforward(f, *args)[0]

    if how == "compiled":
        return autodiff.compile(f, backend="python")
    if how == "compiled gradient":
        return autodiff.compile(by_gradient, backend="python")
    return by_gradient if how == "gradient" else by_pushforward


@pytest.mark.parametrize("how", ["gradient", "pushforward", "compiled", "compiled gradient"])
@pytest.mark.parametrize("known", _KNOWN)
@pytest.mark.parametrize("given", _GIVEN)
def test_an_object_is_the_one_that_was_given(given: str, known: str, how: str) -> None:
    x = np.array([0.5, -1.5])
    for asked in _ASKED:
        f, calls = _program(given, known, asked)
        found = _value_by(f, how)
        for m, k in [*calls, *calls]:
            assert found(x, m, k) == pytest.approx(f(x, m, k)), (given, asked)


def test_a_list_is_the_one_that_was_given() -> None:
    def f(xs: list, ys: list) -> Any:
        return sum(xs) * (3.0 if xs is ys else 5.0) + ys[0]

    xs = [1.0, 2.0]
    assert autodiff.value_and_gradient(f, xs, xs) == (10.0, ([3.0, 3.0], [1.0, 0.0]))
    assert autodiff.value_and_gradient(f, xs, list(xs)) == (16.0, ([5.0, 5.0], [1.0, 0.0]))


def test_an_object_is_the_one_that_was_given_in_a_derivative_inside() -> None:
    f, ((one, _), (other, _), *_) = _program("object", "a global", "is")

    def slope(x: Any, m: Any) -> Any:
        return autodiff.gradient(f, x, m, one)[1].mass

    x = np.array([0.5, -1.5])
    assert autodiff.value_and_gradient(slope, x, one)[0] == pytest.approx(-3.0)
    assert autodiff.value_and_gradient(slope, x, other)[0] == pytest.approx(-5.0)


_CHOSEN = {1, 2}


def test_a_set_is_the_one_that_was_given() -> None:
    def f(x: Any, chosen: set) -> Any:
        return np.sum(x) * (3.0 if chosen is _CHOSEN else 5.0) * len(chosen)

    x = np.array([0.5, 1.5])
    compiled = autodiff.compile(f, backend="python")
    for chosen in (_CHOSEN, {1, 2}, _CHOSEN, {1}):
        assert compiled(x, chosen) == f(x, chosen)
