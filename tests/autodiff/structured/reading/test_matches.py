"""Statements `match` with patterns for sequences, mappings and classes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.helpers import check_gradient

X = np.array([0.7, 0.45, 0.9, 0.31, 0.62, 0.55])


class Shape:
    def __init__(self, r: Any) -> None:
        self.r = r


class Circle(Shape):
    pass


class Square(Shape):
    pass


@dataclass
class Box:
    w: Any
    h: Any = 2.0
    inside: Any = None


class Move(NamedTuple):
    name: str
    by: float


class Noted:
    """Counts how often its attribute is asked for."""

    def __init__(self, x: Any) -> None:
        self.x = x

    @property
    def r(self) -> Any:
        self.x = self.x * 2.0
        return self.x


def area(s: Any) -> Any:
    match s:
        case Circle(r=r):
            return 3.14 * r * r
        case Square(r=r) if r > 0.6:
            return r * r
        case Shape():
            return s.r
        case Box(w, inside=Box(v, h=4.0)):
            return w * v
        case Box(w, h) | Box(w, h):
            return w * h


def classes(x: Any) -> Any:
    total = 0.0
    for k in range(6):
        total += area(Circle(x[0] * k)) + area(Square(x[k])) * area(Box(x[1]))
        total += area(Box(x[2], inside=Box(x[3], 4.0)))
    return total


def area_of(s: Any) -> Any:
    match s:
        case Circle(r=r):
            return 3.14 * r * r
        case Square(r=r) if r > 0.6:
            return r * r
        case Shape():
            return s.r
        case Box(w, inside=Box(v, h=4.0)):
            return w * v
        case Box(w, h):
            return w * h


def classes_and_parts(x: Any) -> Any:
    total = 0.0
    for k in range(6):
        total += area_of(Circle(x[0] * k)) + area_of(Square(x[k])) * area_of(Box(x[1]))
        total += area_of(Box(x[2], inside=Box(x[3], 4.0)))
    return total


def sequences(x: Any) -> Any:
    commands = [("move", 1), ("turn", (2, 3)), ["move", 3], ("stop",), "move", Move("move", 2.0)]
    v = x[0]
    for _ in range(4):
        for command in commands:
            match command:
                case ("move", n):
                    v = v + n * x[1]
                case ("turn", [a, b]):
                    v = v * 0.5**a + b * x[2]
                case ("stop",):
                    v = v * x[3]
                case _:
                    v = v * 0.9
    return v


def arrays_are_none(x: Any) -> Any:
    v = 0.0
    for k in range(3):
        match x[k : k + 2]:
            case [a, b]:
                v = v + a * b
            case whole:
                v = v + whole[0] * k
    return v


def one_in_another(x: Any) -> Any:
    items = [("a", ("b", 1.0)), ("c", 2.0), ("a", ("d", 3.0)), None, 4.0, Circle(x[1])]
    v = 0.0
    for k in range(3):
        for item in items:
            match item:
                case ("a", inner):
                    match inner:
                        case ("b", w):
                            v = v + w * x[k]
                        case (_, w):
                            v = v - w * x[k + 1]
                case (_, w):
                    v = v * w
                case None:
                    v = v + x[5]
                case Circle(r=r):
                    v = v + r
                case other:
                    v = v * other * 0.2
    return v


def of_lists(x: Any) -> Any:
    rows: list = []
    total = 0.0
    for k in range(4):
        rows.append(x[k])
        match rows:
            case [a]:
                total += a
            case [a, b]:
                total += a * b
            case other:
                total += other[-1] ** 2
    return total


def asked_once(x: Any) -> Any:
    total, a = 0.0, Noted(x[0])
    for k in range(3):
        match a:
            case Noted(r=5.0):
                total += 1.0
            case Noted(r=v):
                total += v * x[k]
    return total


def of_a_class(x: Any) -> Any:
    s = x[0] * 1.0
    for _ in range(3):
        match s:
            case float():
                s = s + x[1]
            case _:
                s = s * 2.0
    return s


def mappings(x: Any) -> Any:
    parts = [
        {"kind": "spring", "n": 2, "at": (0, 1)}, {"kind": "mass", "m": 0.5}, {"kind": "spring"},
        {"kind": "mass", "n": 1},
    ]  # fmt: skip
    s = x[0] * 1.0
    for _ in range(3):
        for part in parts:
            match part:
                case {"kind": "spring", "n": n, "at": (i, j)}:
                    s = s + n * x[i] * x[j]
                case {"kind": "mass", "m": m}:
                    s = s * m + x[2]
                case {"kind": "spring" | "wire"}:
                    s = s * x[3]
                case {}:
                    s = s - x[4]
    return s


@pytest.mark.parametrize(
    "f",
    [
        mappings, of_a_class, classes_and_parts, sequences, arrays_are_none, one_in_another,
        of_lists, asked_once,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_gradients(f: Callable, check_sweep: Callable, check_with_machine_code: Callable) -> None:
    check_sweep(f, X)
    check_with_machine_code(f, X)


def of_a_deque(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        match deque([x[k], x[0]]):
            case [a, b]:
                total += a * b
            case _:
                total += 1.0
    return total


@pytest.mark.parametrize("f", [classes, of_a_deque], ids=lambda f: f.__name__)
def test_others_are_right(f: Callable) -> None:
    check_gradient(f, X)
