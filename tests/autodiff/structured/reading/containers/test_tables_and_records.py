"""Named tuples, and lists, tuples and dicts from outside, in functions that programs run."""

from __future__ import annotations

import gc
import math
from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.runtime import Structured

A, B = np.cos(np.arange(1.0, 13.0)), np.sin(np.arange(1.0, 13.0))

Fit = namedtuple("Fit", "a b c")


class Model(NamedTuple):
    scale: float
    shift: float = 0.25
    twice: float = 2.0

    def at(self, x: Any) -> Any:
        return self.scale * x + self.shift * self.twice

    @property
    def size(self) -> Any:
        return self.scale * self.scale


class Pair(Model):
    """A class derived from that of a named tuple."""

    def both(self, x: Any) -> Any:
        return self.at(x) * self.size


class Odd(Fit):
    """One that does not hold what it is given."""

    def __new__(cls, a: Any, b: Any, c: Any) -> Any:
        return super().__new__(cls, c, b, a)


def fitted(a: Any, b: Any) -> Any:
    p = Fit(1.0, 0.5, 0.0)
    for x, y in zip(a, b, strict=True):
        e = math.exp(-p.b * x)
        p = Fit(p.a + 0.1 * (y - p.a * e), p.b + 0.01 * x * y, c=p.c + e)
    u, v, w = p
    return u * v + w * p[0] + len(p)


def with_methods(a: Any, b: Any) -> Any:
    m = Pair(a[0], twice=b[0])
    total = 0.0
    for x in a:
        total += m.at(x) + m.size * m.both(x)
        m = m._replace(shift=m.shift + 0.1 * x)
    rest = (*m, *(m + (1.0,)), *m[1:])  # noqa: RUF005 - it is what is tested
    return total + sum(rest) + float(isinstance(m, Model)) + float(isinstance(m, Fit))


def of_odd_ones(a: Any, b: Any) -> Any:
    total = 0.0
    for x in a:
        p = Odd(x, b[0], 3.0)
        total += p.a * p.c * x
    return total


def given(p: Any, b: Any) -> Any:
    total = p.scale * 0.0
    for x in b:
        total += p.at(x) * x + p.size
    return total


def pairs_of_floats(a: Any, b: Any) -> Any:
    acc, state = (0.0, 0.0), (1.0, 2)
    for x, y in zip(a, b, strict=True):
        acc = (acc[0] + x * y, acc[1] + state[0] * x)
        state = (state[0] * 0.5 + y, state[1])
    return acc[0] * acc[1] + state[0] * state[1]


class Link:
    def __init__(self, length: float) -> None:
        self.length = length


NODES = [0, 1 / 4, 3 / 8, 1]
ROWS = [[], [0.5], [0.25, 0.75], [0.1, 0.2, 0.3]]
NAMES = {"g": 9.81, "rows": ROWS, "f": math.sin}
LINKS = (Link(0.5), Link(0.25))
ARRAYS = [np.array([1.0, 2.0]), np.array([3.0, 0.5])]
CONSTANTS = Fit(1.5, 2.5, 3.5)


def tables(a: Any, b: Any) -> Any:
    total = 0.0
    for k in range(len(a)):
        ks = []
        for i in range(4):
            y = a[k] * NODES[i]
            for j, w in enumerate(ROWS[i]):
                y = y + w * ks[j]
            ks.append(y * b[k])
        total += sum(n * y for n, y in zip(NODES, ks, strict=True)) * NAMES["g"]
        total += NAMES["f"](a[k]) * NAMES["rows"][2][1] + CONSTANTS.b * len(ROWS)
    return total


def links(a: Any, b: Any) -> Any:
    total = 0.0
    for k in range(len(a)):
        for link, v in zip(LINKS, ARRAYS, strict=True):
            total += link.length * a[k] * v[0] * b[k]
    return total


PROGRAMS = [fitted, with_methods, pairs_of_floats, tables, links]


def check(f: Callable, traced: Callable, *args: Any) -> None:
    def loss(*args: Any) -> Any:
        return f(*args) * 1.0

    for x, y in zip(gradient(loss, *args), traced(loss, *args), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("f", PROGRAMS)
def test_by_a_program(f: Callable, traced: Callable, runs: list[str]) -> None:
    for _ in range(3):
        check(f, traced, A, B)
    assert runs.count(f.__name__) == 3


def test_a_class_that_decides_is_traced(traced: Callable, runs: list[str]) -> None:
    check(of_odd_ones, traced, A, B)
    assert "of_odd_ones" not in runs


def test_an_argument(runs: list[str]) -> None:
    def loss(s: Any, b: Any) -> Any:
        return given(Model(s, 0.5), b)

    found = gradient(loss, 2.0, B)
    assert "given" in runs
    np.testing.assert_allclose(found[0], np.sum(B * B) + 4.0 * len(B))
    np.testing.assert_allclose(found[1], 4.0 * B + 1.0)
    for _ in range(2):
        (made,) = [gradient(lambda p, b: given(p, b), Model(2.0, 0.5), B, argnums=0)]
        assert type(made) is Model
        np.testing.assert_allclose(made.scale, found[0])


def with_defaults(a: Any, b: Any) -> Any:
    total = 0.0
    for k in range(len(a)):
        total += Model(a[k]).at(b[k])
    return total


def test_defaults_of_a_class_may_change(
    traced: Callable, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check(with_defaults, traced, A, B)
    assert "with_defaults" in runs
    monkeypatch.setattr(Model.__new__, "__defaults__", (0.5, 7.0))
    check(with_defaults, traced, A, B)


@pytest.fixture
def _restored() -> Iterator[None]:
    yield
    NODES[1] = 1 / 4
    ROWS[2][1] = 0.75
    NAMES["g"] = 9.81
    NAMES.pop("h", None)
    del NODES[4:]


@pytest.mark.usefixtures("_restored")
def test_tables_may_change(traced: Callable, runs: list[str]) -> None:
    check(tables, traced, A, B)
    ROWS[2][1] = 0.5
    check(tables, traced, A, B)
    NODES[1] = 0.7
    check(tables, traced, A, B)
    NAMES["g"] = 1.0
    check(tables, traced, A, B)
    n = runs.count("tables")
    check(tables, traced, A, B)
    assert runs.count("tables") == n + 1


@pytest.mark.usefixtures("_restored")
def test_tables_may_grow(traced: Callable) -> None:
    def f(a: Any, b: Any) -> Any:
        total = 0.0
        for k in range(len(a)):
            for n in NODES:
                total += n * a[k] * b[k]
        return total

    check(f, traced, A, B)
    NODES.append(3.0)
    check(f, traced, A, B)


def test_a_table_that_the_function_changes_is_traced(traced: Callable, runs: list[str]) -> None:
    table = [1.0, 2.0]

    def f(a: Any, b: Any) -> Any:
        total = 0.0
        own = table
        for k in range(len(a)):
            own[0] = own[0] * 0.5
            total += own[0] * a[k] * b[k]
        own[0] = 1.0
        return total

    check(f, traced, A, B)
    assert "f" not in runs


def first_items_later(a: Any, b: Any) -> Any:
    steps, gains = [], []
    x = a[:3]
    for k in range(6):
        q = x * b[k]
        taken = []
        for s, g in zip(reversed(steps), reversed(gains), strict=True):
            c = np.sum(s * q) * g
            q = q - 0.1 * c * s
            taken.append(c)
        if len(steps) > 0:
            q = q * (1.0 + gains[-1] * steps[-1][0])
        for s, c in zip(steps, reversed(taken), strict=True):
            q = q + 0.05 * s * c
        steps.append(q)
        gains.append(b[k] * np.sum(q))
        x = x + 0.1 * q
    return np.sum(x * x)


def springs(a: Any, b: Any) -> Any:
    bonds = []
    for i in range(4):
        for j in range(i):
            bonds.append((i, j, 0.5 * a[i + j]))
            if j == 1:
                bonds.append((j, 0, b[0]))
    x = a[:6] * 1.0
    for _ in range(3):
        f = np.zeros(6)
        for k, (i, j, rest) in enumerate(bonds):
            d = x[j] - x[i]
            f[i] += d * (abs(d) - rest) * b[k]
            f[j] -= d * (abs(d) - rest)
        x = x + 0.1 * f * bonds[-1][2]
    path = []
    for i, j, _ in reversed(bonds):
        path.append((x[i], x[j]))
    return sum(p * q for p, q in path) * len(bonds) + bonds[2][2] + path[0][1]


def exact_sums(a: Any, b: Any) -> Any:
    errors = [0.0]
    for x, y in zip(a, b, strict=True):
        errors.append(math.fsum([x * errors[-1], y, 1e20, -1e20]))
    return math.fsum(e * e for e in errors) / len(errors)


def never_any(a: Any, b: Any) -> Any:
    none = []
    total = 0.0
    for k in range(len(a)):
        for x in none:
            total += x * a[k]
        total += a[k] * b[k]
    return total


def test_items_that_later_turns_add(traced: Callable, runs: list[str]) -> None:
    for _ in range(2):
        check(first_items_later, traced, A, B)
    assert runs.count("first_items_later") == 2
    check(never_any, traced, A, B)


def of_masks(a: Any, b: Any) -> Any:
    total = 0.0
    for k in range(4):
        inside = (a > b) & (a > -0.5) | ~(b > 0.3)
        total += np.sum(np.where(inside ^ (a > 0.9), a * b, a)) * 2**k
        a = a * 0.9 + np.float32(0.5)
    return total


def diagonals(a: Any, b: Any) -> Any:
    total = 0.0
    m = np.outer(a, b)
    for k in range(3):
        m[k, k] *= 2.0
        d = np.diag(m)
        m[1] = m[1] + m[0] * d[2]
        total += np.sum(d * d) + np.sum(m[:3, 1:].diagonal()) + np.sum(np.diagonal(m[2:]))
        e = np.diff(a) * 0.5
        e[0] += 1.0
        total += np.sum(e * e)
    return total


def chosen_rows(a: Any, b: Any) -> Any:
    m = np.outer(a, b)
    total = 0.0
    for k in range(4):
        places = np.array([k, 3, k])
        p = m[places]
        total += np.sum(p * p[0]) + np.sum(m[places] @ b)
        m[places[0]] = m[places[1]] * 0.5
    return total


@pytest.mark.parametrize("f", [of_masks, diagonals, chosen_rows, springs, exact_sums])
def test_arrays(f: Callable, traced: Callable, runs: list[str]) -> None:
    for _ in range(2):
        check(f, traced, A, B)
    assert runs.count(f.__name__) == 2


EDGES = [(i % 12, (i * 5 + 1) % 12) for i in range(80)]
WEIGHTED = tuple((i % 12, 0.5 * i) for i in range(40))
WEIGHTS = [0.1 * i for i in range(70)]


def over_long_tables(a: Any, b: Any) -> Any:
    total = 0.0
    for k, (i, j) in enumerate(EDGES):
        total += math.sqrt(1.0 + a[i] ** 2 + b[j] ** 2) * k
    for i, w in WEIGHTED:
        total += a[i] ** 2 * w
    for w, v in zip(WEIGHTS, reversed(WEIGHTS), strict=True):
        total += w * v * b[3]
    for (i, j), w in zip(EDGES, WEIGHTS, strict=False):
        total += w * a[j] * b[i]
    return total + sum(w * a[1] for w in WEIGHTS) * max(WEIGHTS) + EDGES[7][1] * b[0]


@pytest.fixture
def _restored_edges() -> Iterator[None]:
    before = list(EDGES)
    yield
    EDGES[:] = before


@pytest.mark.usefixtures("_restored_edges")
def test_loops_over_long_tables(traced: Callable, runs: list[str]) -> None:
    check(over_long_tables, traced, A, B)
    assert runs
    programs = [
        x for x in gc.get_objects() if type(x) is Structured and x.name == "over_long_tables"
    ]
    assert programs
    assert all(p.source.count("sqrt") < 10 for p in programs)  # no copy of the body for each item
    for k, edge in ((79, (0, 1)), (3, (11, 11))):
        EDGES[k] = edge
        check(over_long_tables, traced, A, B)
    EDGES.append((2, 3))
    check(over_long_tables, traced, A, B)


class _Point(NamedTuple):
    x: Any
    y: Any
    z: Any


@dataclass(frozen=True)
class _Weights:
    a: Any
    b: Any
    c: Any

    def of(self, p: _Point) -> Any:
        return self.a * p.x + self.b * p.y * p.z - self.c


def _mixed(a: Any, b: Any, c: Any) -> Any:
    return a * b - c


def spread_rows(x: Any) -> Any:
    total = 0.0
    for row in x:
        p, w = _Point(*row), _Weights(*row[::-1])
        total = total + w.of(p) * _mixed(*row) + _mixed(*row[:2], c=p.x) + _mixed(p.y, *row[1:])
    return total


def test_arrays_as_arguments_one_by_one(traced: Callable, runs: list[str]) -> None:
    x = np.cos(np.arange(12.0)).reshape(4, 3)
    for _ in range(2):
        np.testing.assert_allclose(gradient(spread_rows, x), traced(spread_rows, x), rtol=1e-12)
    assert runs == ["spread_rows"] * 2
    for wrong in (x[:, :2], np.ones((2, 4))):
        with pytest.raises(TypeError):
            gradient(spread_rows, wrong)
