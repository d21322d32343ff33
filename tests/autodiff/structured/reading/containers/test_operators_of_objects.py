"""Objects that nobody changes once they are made, in loops, and operators of their classes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.runtime import Structured
from tests.helpers import check_direction

X = 1.5 + np.cos(np.arange(12.0))
M = np.sin(np.arange(36.0)).reshape(12, 3)


@dataclass(frozen=True)
class Vec:
    """A vector of the plane."""

    x: Any
    y: Any = 0.5

    def __add__(self, other: Vec) -> Vec:
        return Vec(self.x + other.x, self.y + other.y)

    def __sub__(self, other: Vec) -> Vec:
        return Vec(self.x - other.x, self.y - other.y)

    def __mul__(self, k: Any) -> Vec:
        return Vec(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __neg__(self) -> Vec:
        return Vec(-self.x, -self.y)

    @property
    def size(self) -> Any:
        """How long it is."""
        return math.hypot(self.x, self.y)


class Point(NamedTuple):
    """A named tuple with operators; ``*`` of numbers alone."""

    x: Any
    y: Any

    def __add__(self, other: Any) -> Point:  # type: ignore[override]
        return Point(self.x + other[0], self.y + other[1])

    def __sub__(self, other: Point) -> Point:
        return Point(self.x - other.x, self.y - other.y)

    def __mul__(self, k: Any) -> Point:  # type: ignore[override]
        return Point(self.x * k, self.y * k)

    __rmul__ = __mul__  # type: ignore[assignment]

    def __neg__(self) -> Point:
        return Point(-self.x, -self.y)


class Ordered(NamedTuple):
    """A named tuple whose class decides what is equal, and what is less."""

    x: Any

    def __eq__(self, other: object) -> bool:
        return True

    def __lt__(self, other: Any) -> bool:
        return False

    __hash__ = tuple.__hash__


class Dual:
    """A number with a slope."""

    unit = 1.0

    def __init__(self, value: Any, slope: Any = 0.0) -> None:
        self.value = value
        self.slope = slope

    def __mul__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(
                self.value * other.value, self.value * other.slope + self.slope * other.value
            )
        return Dual(self.value * other, self.slope * other)

    def __radd__(self, other: Any) -> Dual:
        return Dual(self.value + other * self.unit, self.slope)

    def __truediv__(self, other: Any) -> Dual:
        return Dual(self.value / other, self.slope / other)


class Complex:
    """A number of the plane whose parts are arrays."""

    def __init__(self, re: Any, im: Any) -> None:
        self.re, self.im = re, im

    def __matmul__(self, other: Complex) -> Complex:
        return Complex(
            self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re
        )

    def __pow__(self, n: int) -> Complex:
        made = self
        for _ in range(n - 1):
            made = made @ self
        return made

    def abs2(self) -> Any:
        return np.sum(self.re * self.re + self.im * self.im)


class Counter:
    """An object that changes."""

    def __init__(self, start: Any) -> None:
        self.total = start

    def __add__(self, other: Any) -> Counter:
        made = Counter(self.total)
        made.total = made.total + other
        return made


def orbit(x: Any, m: Any) -> Any:
    p, v = Vec(x[0], x[1]), Vec(m[0, 0])
    for i in range(8):
        force = p * (-x[2] / p.size**3)
        v += 0.1 * force
        p = p + v * 0.1 - (-Vec(m[i, 1], m[i, 2])) * 0.01
    return p.size + v.x


def duals(x: Any, m: Any) -> Any:
    y = Dual(x[0], 1.0)
    for i in range(5):
        y = y * y / 3.0 if m[i, 0] > 0.05 else x[i] + y * m[i, 1]
    return y.value * y.slope


def rows(x: Any, m: Any) -> Any:
    z = Complex(m[0], m[1])
    total = 0.0
    for i in range(3):
        z = z @ Complex(m[i], x[:3] * 0.5)
        total += (z**2).abs2()
    return total + z.re[0]


def paths(x: Any, m: Any) -> Any:
    best = None
    for i in range(4):
        p = Vec(x[i], m[i, 0])
        q = Vec(x[i + 1], m[i, 1])
        d = (p - q).size
        if best is None or d > best:
            best = d
    return best


def helpers(x: Any, m: Any) -> Any:
    def middle(p: Vec, q: Vec) -> Vec:
        return (p + q) * 0.5

    p = Vec(x[0], x[1])
    for i in range(4):
        p = middle(p, Vec(m[i, 0], x[i]))
        for j in range(2):
            p = middle(p, Vec(x[j], p.x))
    return p.x * p.y


class Filter:
    def __init__(self, state: Any) -> None:
        self.state = state

    def __lshift__(self, value: Any) -> Filter:
        return Filter(0.5 * self.state + value * value)


def filtered(x: Any, m: Any) -> Any:
    state = Filter(m[0, 0])
    for i in range(4):
        state = state << x[i] * m[i, 1]
        state <<= x[i + 1]
    return state.state * x[0]


def points(x: Any, m: Any) -> Any:
    p, total = Point(x[0], m[0, 0]), 0.0
    for i in range(1, 8):
        q = 2.0 * p + (x[i], 1.5) - Point(m[i, 1], x[0]) * 0.5
        p += -q
        total += p[0] * p[-1] + q.y
    return total / 1e4


PROGRAMS = [orbit, duals, rows, paths, helpers, filtered, points]


@pytest.mark.parametrize("f", PROGRAMS)
def test_what_tracing_gives(f: Callable, check_program: Callable) -> None:
    check_program(f, X, M, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("f", PROGRAMS)
def test_differences(f: Callable) -> None:
    check_direction(f, X, M)


def counters(x: Any) -> Any:
    c = Counter(0.0)
    for v in x:
        c = c + v * v
    return c.total


def changed_in_the_loop(x: Any) -> Any:
    total = 0.0
    for v in x:
        c = Counter(v)
        c.total *= v
        total += c.total
    return total


def summed(x: Any) -> Any:
    points = []
    for v in x:
        points.append(Vec(v, v * v))
    return sum(p.y for p in points)


@pytest.mark.parametrize("f", [counters, changed_in_the_loop, summed])
def test_objects_that_change_are_in_memory(f: Callable, traced: Callable) -> None:
    Structured(f, (None,), (X,), (0,))
    np.testing.assert_allclose(gradient(f, X), traced(f, X), rtol=1e-12)


def order_of_points(x: Any) -> Any:
    total = 0.0
    for i in range(6):
        same = Ordered(i) == Ordered(3)
        less = Ordered(i) < Ordered(3)
        total += x[i] if same else 2.0 * x[i]
        total += x[i] ** 2 if less else x[i] ** 3
        p = operator.add(Point(1, i), Point(3, 4))
        total += p[0] * x[i] * (len(str(p)) > 8)
    return total


def test_named_tuples_whose_class_decides(traced: Callable) -> None:
    """Comparisons, `operator.add` and texts of named tuples are not those of tuples."""
    np.testing.assert_allclose(gradient(order_of_points, X), traced(order_of_points, X))


def test_another_method(monkeypatch: pytest.MonkeyPatch, traced: Callable) -> None:
    gradient(orbit, X, M)
    monkeypatch.setattr(Vec, "__add__", lambda p, q: Vec(p.x + 2.0 * q.x, p.y + q.y))
    for x, y in zip(gradient(orbit, X, M), traced(orbit, X, M), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11)


class Pair:
    """Numbers of NumPy make an array of it; those of Python ask it."""

    def __init__(self, v: Any) -> None:
        self.v = v

    def __radd__(self, other: Any) -> Any:
        return self.v * 10.0 + other

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> Any:
        if i > 1:
            raise IndexError
        return self.v * i


class Arraylike:
    """The same, by another method."""

    def __init__(self, v: Any) -> None:
        self.v = v

    def __rmul__(self, other: Any) -> Any:
        return self.v * 10.0 * other

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array([1.0, 2.0])


def pairs(x: Any) -> Any:
    p, total = Pair(2.0), 0.0
    for v in x:
        total += np.sum(v + p)
    return total


def arraylikes(x: Any) -> Any:
    p, total = Arraylike(2.0), 0.0
    for v in x:
        total += np.sum(v * p)
    return total


@pytest.mark.parametrize("f", [pairs, arraylikes])
def test_numbers_of_numpy_make_arrays_of_objects(f: Callable, traced: Callable) -> None:
    with pytest.raises(UnsupportedError):
        Structured(f, (None,), (X,), (0,))
    for _ in range(2):
        np.testing.assert_allclose(gradient(f, X), traced(f, X), rtol=1e-12)
