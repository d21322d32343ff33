"""What classes have besides methods: class methods, setters of properties, ``super()``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from tests.helpers import check_gradient

X = np.array([0.9, 0.4, 1.6, 0.7, 1.2])


class Base:
    n = 3.0

    def __init__(self) -> None:
        super().__init__()
        self.z: Any = 0.0

    @classmethod
    def of(cls, v: Any) -> Any:
        made = cls()
        made.z = v * cls.n
        return made

    @classmethod
    def twice(cls, v: Any) -> Any:
        return cls.power(v) * 2

    @staticmethod
    def power(v: Any) -> Any:
        return v * v

    @property
    def p(self) -> Any:
        return self.z * 2

    @p.setter
    def p(self, v: Any) -> None:
        self.z = v / 2 + 0.05

    def f(self, y: Any) -> Any:
        return self.z + y


class Derived(Base):
    n = 5.0

    def __init__(self, q: float = 1.5) -> None:
        super().__init__()
        self.q = q

    @property
    def p(self) -> Any:
        return super().p * self.q

    @staticmethod
    def power(v: Any) -> Any:
        return v * v * v

    def f(self, y: Any) -> Any:
        return super().f(y) * Base.f(self, y) + super().n


class Left(Base):
    def f(self, y: Any) -> Any:
        return super().f(y) * 2


class Right(Base):
    def f(self, y: Any) -> Any:
        return super().f(y) + y * y


class Both(Left, Right):
    def f(self, y: Any) -> Any:
        above = super()
        return above.f(y) * 1.5


class Holder:
    def __init__(self, y: Any) -> None:
        self._y = y

    @property
    def y(self) -> Any:
        return self._y

    @y.setter
    def y(self, value: Any) -> None:
        self._y = value

    def __secret(self, v: Any) -> Any:
        return v * 2.0

    def open(self, v: Any) -> Any:
        return self.__secret(v)


class Inside(Base):
    def f(self, y: Any) -> Any:
        return sum([super(Inside, self).f(v) for v in (y, y)])

    def by_function(self, y: Any) -> Any:
        def above() -> Any:
            return super(Inside, self).f(y)

        return above()


@dataclass(frozen=True)
class Fixed:
    k: Any

    @property
    def p(self) -> Any:
        return self.k

    @p.setter
    def p(self, v: Any) -> None:
        raise ValueError


OUTSIDE = Derived()


def setter(x: Any) -> Any:
    a = Base()
    a.p = x[0]
    for v in x:
        a.p = a.p * v
        a.p += v
    return a.p


def setter_in_a_branch(x: Any) -> Any:
    a = Base()
    a.p = 1.0
    for v in x:
        if v > 1:
            a.p = a.p * v
        else:
            a.z = a.p + v
    return a.p


def setter_in_a_list(x: Any) -> Any:
    every = [Base.of(v) for v in x]
    for k in range(len(x)):
        every[k].p = every[k - 1].p * x[0]
    return every[0].p * every[3].p


def setter_with_an_alias(x: Any) -> Any:
    y = x * 2
    a = Holder(y)
    for k in range(3):
        a.y = y
        a.y[k] = a.y[k + 1] * x[k]
    return (a.y * y).sum()


def setter_of_new_arrays(x: Any) -> Any:
    a = Holder(x * 2)
    b = a.y
    for _ in range(3):
        a.y = a.y * x
        b = b + a.y
    a.y[0] = x[1]
    return (a.y * b).sum()


def several_bases(x: Any) -> Any:
    a, total = Both(), 0.0
    for v in x:
        a.p = v * a.z + v
        total = total + a.f(v) * a.p
    return total


def class_methods(x: Any) -> Any:
    total = 0.0
    for v in x:
        a = Derived.of(v)
        total = total + a.f(x[0]) * a.p * Derived.twice(v) * a.twice(v) + Base.twice(v) * Base.n
    return total


def in_a_list(x: Any) -> Any:
    total = 0.0
    for a in [Derived.of(v) for v in x]:
        total = total + a.f(x[0]) * a.p
    return total


def from_outside(x: Any) -> Any:
    total = 0.0
    for v in x:
        total = total + OUTSIDE.f(v) * (OUTSIDE.p + OUTSIDE.of(v).z)
    return total


READ = [
    setter, setter_in_a_branch, setter_in_a_list, setter_with_an_alias, setter_of_new_arrays,
    several_bases, class_methods, in_a_list, from_outside,
]  # fmt: skip


@pytest.mark.parametrize("f", READ, ids=lambda f: f.__name__)
def test_classes_are_read(f: Callable, runs: list[str], check_arrays: Callable) -> None:
    check_gradient(f, X)
    assert f.__name__ in runs
    check_arrays(f, X)
    check_arrays(f, np.concatenate([X, X + 0.15]))


def super_in_a_comprehension(x: Any) -> Any:
    a, total = Inside(), 0.0
    for v in x:
        total = total + a.f(v)
    return total


def super_in_a_function(x: Any) -> Any:
    a, total = Inside(), 0.0
    for v in x:
        total = total + a.by_function(v)
    return total


def name_of_a_class_alone(x: Any) -> Any:
    a, total = Holder(x), 0.0
    for v in x:
        total = total + a.open(v)
    return total


def name_of_a_class(x: Any) -> Any:
    total = 0.0
    for v in x:
        total = total + v * len(Base.__name__)
    return total


NOT_READ = [super_in_a_comprehension, super_in_a_function, name_of_a_class_alone, name_of_a_class]


@pytest.mark.parametrize("f", NOT_READ, ids=lambda f: f.__name__)
def test_what_is_not_read_is_traced(f: Callable, runs: list[str]) -> None:
    check_gradient(f, X)
    assert f.__name__ not in runs


def test_a_class_may_change_between_calls(
    monkeypatch: pytest.MonkeyPatch, runs: list[str], traced: Callable
) -> None:
    gradient(class_methods, X)
    assert "class_methods" in runs

    def check(cls: type, name: str, new: Any) -> None:
        monkeypatch.setattr(cls, name, new)
        for _ in range(2):
            found = gradient(class_methods, X)
            np.testing.assert_allclose(found, traced(class_methods, X), rtol=1e-11)

    check(Base, "f", lambda self, y: self.z * y)
    check(Derived, "power", staticmethod(lambda v: v))
    check(Base, "n", 7.0)
    check(Base, "of", classmethod(lambda cls, v: cls(v * v)))


def test_what_may_not_be_set_is_an_error() -> None:
    def no_setter(x: Any) -> Any:
        a = Derived()
        for v in x:
            a.p = v
        return a.z

    def frozen(x: Any) -> Any:
        a = Fixed(x[0])
        for v in x:
            a.p = v
        return a.p

    for f in (no_setter, frozen):
        for _ in range(2):
            with pytest.raises(AttributeError):
                gradient(f, X)
