"""``isinstance``, ``type`` and ``hasattr`` in loops: of containers, and by metaclasses."""

from __future__ import annotations

import abc
import collections
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from tests.helpers import check_gradient

X = np.array([0.7, 0.45, 0.9])
IS_STRICT = {"now": False}


class _ByValue(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return float(x) > 0.5


class Large(metaclass=_ByValue):
    """Its instances are the numbers above 0.5."""


class _ByState(type):
    def __instancecheck__(cls, x: Any) -> bool:
        return not IS_STRICT["now"]


class Allowed(metaclass=_ByState):
    pass


class Weight(abc.ABC):  # noqa: B024 - classes are registered with it
    pass


def by_value(xs: Any) -> Any:
    total = 0.0
    for i, x in enumerate(xs):
        total += x * x * (i + 1) if isinstance(float(i) / 2, Large) else x
    return total


def by_state(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        total += x * x if isinstance(1.0, Allowed) else 3.0 * x
    return total


def by_register(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        total += x * x if isinstance(1, (Weight, str)) else 3.0 * x
    return total


def by_class(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        if isinstance(x, (str, numbers.Real)) and not isinstance(x, (int, complex)):
            total += x * x
    return total


class Shape:
    pass


class Line(Shape):
    pass


class Round(Shape):
    pass


class Disc(Round):
    pass


OUTSIDE = Disc()


def by_outside(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        total += x * x if isinstance(OUTSIDE, Round) else 3.0 * x
    return total


def slope(f: Callable) -> Any:
    return autodiff.gradient(lambda x: f(x) * 1.0, X)


def test_a_metaclass_may_look_at_the_value() -> None:
    for _ in range(3):
        check_gradient(by_value, X)


def test_a_metaclass_may_look_at_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    np.testing.assert_allclose(slope(by_state), 2 * X)
    monkeypatch.setitem(IS_STRICT, "now", True)
    np.testing.assert_allclose(slope(by_state), np.full(3, 3.0))


def test_classes_are_registered_later() -> None:
    np.testing.assert_allclose(slope(by_register), np.full(3, 3.0))
    Weight.register(int)
    np.testing.assert_allclose(slope(by_register), 2 * X)


CHANGES = [(Disc, "__bases__", (Line,)), (OUTSIDE, "__class__", Line)]


@pytest.mark.parametrize("owner, name, new", CHANGES, ids=["bases", "class"])
def test_the_class_or_its_bases_change(owner: Any, name: str, new: Any, runs: list[str]) -> None:
    np.testing.assert_allclose(slope(by_outside), 2 * X)
    assert runs == ["by_outside"]
    before = getattr(owner, name)
    setattr(owner, name, new)
    try:
        np.testing.assert_allclose(slope(by_outside), np.full(3, 3.0))
    finally:
        setattr(owner, name, before)


def test_what_the_class_alone_decides_is_known(runs: list[str]) -> None:
    np.testing.assert_allclose(slope(by_class), 2 * X)
    assert runs == ["by_class"]


def code(x: Any) -> float:
    """Tell the classes of values apart."""
    if type(x) is tuple:
        return 1.0
    if type(x) is collections.deque:
        return 2.0
    if type(x) is dict:
        return 3.0
    if type(x) is collections.defaultdict:
        return 4.0
    return 5.0 if isinstance(x, list) else 6.0


def of_tuple(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        ys = tuple(xs)
        total += x * x * code(ys) + (0.0 if hasattr(ys, "__dict__") else x)
    return total


def of_comprehension(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        total += x * x * code(tuple(y * x for y in xs)[1:])
    return total


def of_bounded(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        total += x * x * code(collections.deque(xs, 2))
    return total


def of_dict(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        d = {}
        for i in range(len(xs)):
            d[i] = x
        total += x * d[0] * code(d) + (0.0 if hasattr(d, "__dict__") else x)
    return total


def of_default(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        d = collections.defaultdict(float)
        for i in range(len(xs)):
            d[i % 2] += x
        total += x * d[0] * code(d) * (2.0 if isinstance(d, collections.defaultdict) else 1.0)
    return total


def of_numbers(xs: Any) -> Any:
    total = 0.0
    for x in xs:
        total += x * x * ((2.0 if hasattr(x, "item") else 3.0) + hasattr(1.0, "__name__"))
    return total


CONTAINERS = [of_tuple, of_comprehension, of_bounded, of_dict, of_default, of_numbers]


@pytest.mark.parametrize("f", CONTAINERS, ids=lambda f: f.__name__)
def test_containers_are_of_the_classes_that_python_gives(
    f: Callable, check_sweep: Callable
) -> None:
    check_sweep(f, X)
