"""``isinstance`` in loops, where a metaclass answers for its classes."""

from __future__ import annotations

import abc
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


def test_what_the_class_alone_decides_is_known(runs: list[str]) -> None:
    np.testing.assert_allclose(slope(by_class), 2 * X)
    assert runs == ["by_class"]
