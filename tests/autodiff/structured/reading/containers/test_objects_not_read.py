"""Objects that change or are kept, and that no program reads: they are traced."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
import pytest

from tests.autodiff.structured.reading.containers.test_objects_in_memory import (
    Body,
    Point,
    State,
    X,
)
from tests.helpers import check_gradient


class Odd:
    g = 2.0

    def __init__(self, x: Any, has_own: bool) -> None:
        self.x = x
        if has_own:
            self.g = 3.0


class Registered:
    def __init__(self, x: Any, everybody: list) -> None:
        self.x = x
        everybody.append(self)


class Parent:
    def __init__(self) -> None:
        self.last: Any = None


class Child:
    def __init__(self, parent: Parent, x: Any) -> None:
        self.x = x
        parent.last = self


@dataclass
class WithInit:
    x: Any
    k: InitVar[Any] = 2.0
    y: Any = 0.0

    def __post_init__(self, k: Any) -> None:
        self.y = self.x * k


def some_have_what_the_class_has(x: Any) -> Any:
    those = []
    for i in range(4):
        those.append(Odd(x[0, 0] * i, False))
    those.append(Odd(x[0, 1], True))
    return sum(o.x * o.g for o in those)


def one_gets_what_the_class_has(x: Any) -> Any:
    those = []
    for i in range(4):
        those.append(Odd(x[0, 0] * i, False))
    those[1].g = x[1, 1]
    return sum(o.x * o.g for o in those)


def kept_by_its_init(x: Any) -> Any:
    those: list = []
    for i in range(4):
        Registered(x[0, 0] * i, those)
    return sum(o.x for o in those)


def kept_by_another_object(x: Any) -> Any:
    parents = [Parent() for _ in range(2)]
    for i in range(4):
        c = Child(parents[i % 2], x[0, 0] * i)
        c.x = c.x * 2.0
    return parents[0].last.x + parents[1].last.x


def bound_anew_by_the_operand(x: Any) -> Any:
    bodies = [Body(x[i], x[i] * 0.1) for i in range(len(x))]

    def doubled(b: Any) -> Any:
        b.p = b.p * 2.0
        return b.p

    for b in bodies:
        b.p += doubled(b)
    return sum(np.sum(b.p) for b in bodies)


def of_two_classes(x: Any) -> Any:
    those: list = []
    for i in range(4):
        if i % 2:
            those.append(Point(x[0, 0], x[0, 1]))
        else:
            those.append(State(x[0, 0], x[0, 1]))
    return sum(b.v for b in those)


def equal(x: Any) -> Any:
    points = [Point(x[i, 0], x[i, 1]) for i in range(len(x))]
    total = 0.0
    for a in points:
        if a == points[0]:
            total += a.p
    return total


def replaced_with_a_variable(x: Any) -> Any:
    w = WithInit(x[0, 0])
    for _ in range(3):
        w = dataclasses.replace(w, x=w.x * 1.1, k=3.0)
    return w.y


NOT_READ = [
    some_have_what_the_class_has, one_gets_what_the_class_has, kept_by_its_init,
    kept_by_another_object, bound_anew_by_the_operand, of_two_classes, equal,
    replaced_with_a_variable,
]  # fmt: skip


@pytest.mark.parametrize("f", NOT_READ, ids=lambda f: f.__name__)
def test_what_is_not_read_is_traced(f: Callable, runs: list[str]) -> None:
    check_gradient(f, X)
    assert f.__name__ not in runs
