"""Objects that Python asks for items, lengths, truth, order and parts, and classes with slots."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from autodiff import compile, gradient
from tests.helpers import check_gradient

X = np.array([0.7, 0.45, 0.9, 0.31, 0.62, 0.55])


class Vec:
    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __add__(self, other: Any) -> Vec:
        return Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, k: Any) -> Vec:
        return Vec(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __radd__(self, other: Any) -> Vec:
        return self

    def __iter__(self) -> Iterator[Any]:
        yield self.x
        yield self.y

    def __getitem__(self, i: int) -> Any:
        return (self.x, self.y)[i]

    def __len__(self) -> int:
        return 2

    def __abs__(self) -> Any:
        return np.sqrt(self.x**2 + self.y**2)

    def __eq__(self, other: object) -> bool:
        return self.x == other.x  # type: ignore[attr-defined, no-any-return]

    def __lt__(self, other: Any) -> bool:
        return abs(self) < abs(other)

    def __hash__(self) -> int:
        return 0


class Grid:
    """Numbers between two walls."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.u = np.zeros(n)

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: Any) -> Any:
        return self.u[i]

    def __setitem__(self, i: Any, v: Any) -> None:
        self.u[i] = v

    def __contains__(self, v: Any) -> bool:
        return 0 < v < self.n - 1

    def __bool__(self) -> bool:
        return bool(self.u[2] > 0.4)

    def cells(self) -> Iterator[tuple[int, int]]:
        for i in range(self.n - 1):
            yield i, i + 1

    @property
    def inner(self) -> Any:
        self.n = self.n + 0
        return self


class Table:
    """Rows, gone over as their list is."""

    def __init__(self, rows: list) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[Any]:
        """Go over the rows."""
        return iter(self.rows)


class Account:
    __slots__ = ("balance", "rate")

    def __init__(self, balance: Any, rate: Any) -> None:
        self.balance = balance
        self.rate = rate

    def __iadd__(self, v: Any) -> Account:
        self.balance = self.balance * self.rate + v
        return self


@dataclass(slots=True)
class Point:
    x: Any
    y: Any
    is_alive: bool = True


class Sized:
    def __init__(self, p: Any) -> None:
        self.p = p

    def __len__(self) -> int:
        return 0

    def __getitem__(self, i: Any) -> Any:
        return self.p * i


def orbit(x: Any) -> Any:
    r, v = Vec(x[0], x[1]), Vec(x[2], 0.3)
    for _ in range(20):
        v = v + r * (-0.1 / abs(r) ** 3)
        r += 0.1 * v
    a, b = r
    return a * b + r[1] * len(r) + sum(list(v)) + sum(c * c for c in [*r])


def sums_of_objects(x: Any) -> Any:
    total = Vec(0.0, 0.0)
    for k in range(4):
        total = sum([Vec(x[0], x[1]) * 2.0, Vec(x[2], x[3] * k)], total)
    return total.x * total.y


def by_item(x: Any) -> Any:
    g = Grid(8)
    for i in range(6):
        g[i + 1] = x[i]
    for k in range(10):
        for i, j in g.cells():
            g[i] = 0.5 * (g[i] + g[j])
            g[j] += 0.01 * x[k % 6]
        if g and k in g:
            g[3] *= 0.9
    return g[3] * len(g)


def by_rows(x: Any) -> Any:
    table = Table([x[i] * i for i in range(6)])
    total = 0.0
    for k in range(3):
        for v in table:
            total = total * 0.9 + v * v * k
    return total


def ordered(x: Any) -> Any:
    best = Vec(0.1, 0.1)
    total = 0.0
    for i in range(5):
        v = Vec(x[i], x[i + 1])
        if best < v:
            best = v
        if v != best:
            total += v.x
        if v == best:
            total += v.y * 2.0
        if v > Vec(0.5, 0.4):
            total = total * 0.9
    return total + best.x * best.y


def in_slots(x: Any) -> Any:
    a = Account(x[0], x[1])
    points = [Point(x[i], x[i + 1]) for i in range(4)]
    for k in range(5):
        a += x[2] * k
        for p in points:
            if p.is_alive:
                p.x = p.x + 0.3 * p.y
                p.is_alive = p.x < 1.5
    return a.balance + sum([p.x * p.y for p in points])


def lazily(x: Any) -> Any:
    v, total = Vec(x[0], x[1]), 0.0
    for part in v:
        v.y = v.y + part * x[2]
        total += part
    for _ in range(3):
        total = total * x[3]
    return total


def true_objects(x: Any) -> Any:
    points = [Sized(x[i]) for i in range(len(x))]
    total = 0.0
    for a in points:
        a.p = a.p * 2.0
        if a:
            total += a.p
        total += a[2] + len(a)  # type: ignore[operator] # it is a number
    return total


def with_a_property(x: Any) -> Any:
    g = Grid(6)
    for i, j in g.inner.cells():
        g[j] = x[i] + g[i]
    return g[4] * g[5]


@pytest.mark.parametrize(
    "f", [orbit, sums_of_objects, by_item, by_rows, ordered, in_slots, lazily, true_objects],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_gradients(f: Callable, check_sweep: Callable, check_with_machine_code: Callable) -> None:
    check_sweep(f, X)
    check_with_machine_code(f, X)
    for backend in ("python", "native"):
        compiled = compile(lambda x: gradient(f, x), backend=backend)
        for x in (X, X * 1.1, X):
            np.testing.assert_allclose(compiled(x), gradient(f, x), rtol=1e-11)


def of_a_derived_class(x: Any) -> Any:
    class Other(Vec):
        def __radd__(self, other: Any) -> Vec:
            return Vec(other.x * 2.0, self.y)

    v = Vec(x[0], x[1])
    for _ in range(3):
        v = v + Other(x[2], x[3])
    return v.x * v.y


def of_a_generator_with_branches(x: Any) -> Any:
    class Some:
        def __init__(self, x: Any) -> None:
            self.x = x

        def __iter__(self) -> Iterator[Any]:
            for v in self.x:
                if v > 0.5:
                    yield v

    total = 0.0
    for _ in range(3):
        total = total * 0.5 + sum(list(Some(x)))
    return total


class More:
    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: Any) -> bool:
        return self.x > other.x  # type: ignore[no-any-return]

    __hash__ = None  # type: ignore[assignment]


def of_objects_that_are_not_equal_to_themselves(x: Any) -> Any:
    total = 0.0
    for i in range(4):
        a, b = More(x[i]), More(x[i + 1])
        if a == b:
            total += x[i]
        if a in (a, b):
            total += x[i] * x[0]
        if (a, 1) == (a, 1):
            total = total * 1.5
    return total


@pytest.mark.parametrize(
    "f",
    [
        of_a_derived_class, of_a_generator_with_branches, with_a_property,
        of_objects_that_are_not_equal_to_themselves,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_others_are_right(f: Callable) -> None:
    check_gradient(f, X)


def test_an_attribute_that_there_is_no_slot_for() -> None:
    def f(x: Any) -> Any:
        a = Account(x[0], x[1])
        for i in range(3):
            a.other = x[i]  # type: ignore[attr-defined]
        return a.other  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="other"):
        gradient(f, X)


def test_a_class_that_gets_another_method(monkeypatch: pytest.MonkeyPatch) -> None:
    v = Vec(1.0, 2.0)

    def f(x: Any) -> Any:
        total = 0.0
        for i in range(3):
            total += x[i] * v[1] * len(v)
        return total

    before = gradient(f, X)
    monkeypatch.setattr(Vec, "__len__", lambda self: 3)
    np.testing.assert_allclose(gradient(f, X), before * 1.5)
