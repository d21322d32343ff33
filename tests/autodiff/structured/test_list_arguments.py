"""Lists of numbers as arguments and results of functions with loops."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import autodiff
from autodiff.structured import calls
from autodiff.structured.list_arguments import as_list_argument
from tests.helpers import define

rng = np.random.default_rng(3)
TABLE = [math.sin(i) for i in range(100)]
PAIRS = [(math.cos(i), 0.1 * i) for i in range(60)]


class Point(NamedTuple):
    x: Any
    y: Any


def numbers(n: int) -> list[float]:
    return [float(x) for x in rng.normal(size=n)]


def matrix(n: int, m: int) -> list[list[float]]:
    return [numbers(m) for _ in range(n)]


def dot(a: list, b: list) -> Any:
    s = 0.0
    for i in range(len(a)):
        s += a[i] * b[i]
    return s


def product(a: list, b: list) -> list:
    c = [[0] * len(b[0]) for _ in range(len(a))]
    for i in range(len(a)):
        for j in range(len(b[0])):
            s = 0
            for k in range(len(b)):
                s += a[i][k] * b[k][j]
            c[i][j] = s
    return c


def insertion_sort(xs: list) -> None:
    for i in range(1, len(xs)):
        x, j = xs[i], i
        while j > 0 and xs[j - 1] > x:
            xs[j] = xs[j - 1]
            j -= 1
        xs[j] = x


def eliminated(a: list, b: list) -> list:
    n = len(b)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i][k]) > abs(a[p][k]):
                p = i
        a[k], a[p] = a[p], a[k]
        b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = a[i][k] / a[k][k]
            for j in range(k, n):
                a[i][j] -= f * a[k][j]
            b[i] -= f * b[k]
    x = [0.0] * n
    for k in range(n - 1, -1, -1):
        s = b[k]
        for j in range(k + 1, n):
            s -= a[k][j] * x[j]
        x[k] = s / a[k][k]
    return x


def of_points(points: list) -> Any:
    s = 0.0
    for x, y in points:
        s += x * y * y
    return s


def weighted(t: Any) -> Any:
    s = 0.0
    for i in range(len(TABLE)):
        s += TABLE[i] * math.sin(t * i)
    for x, y in PAIRS:
        s += x * t**y
    return s


def path(x: Any) -> list:
    out = [x]
    for i in range(30):
        out.append(out[-1] * 0.9 + math.sin(x * i))
    return out


def points(x: Any) -> list:
    out = []
    for i in range(20):
        x = x * 0.9
        out.append((x, math.sin(x) * i))
    return out


def distances(xs: list) -> Any:
    s = 0.0
    for i in range(len(xs)):
        for j in range(len(xs)):
            d = xs[i] - xs[j]
            s += math.sqrt(d * d) ** 3  # 0 times an infinite slope
    return s


def takes_a_row_out(a: list) -> None:
    row = a[0]
    for _ in range(2):
        row[1] *= a[1][0]
    a[0] = [a[1][1], row[0]]


def turned(x: Any, n: int) -> Any:
    x = [x, 2.0]
    for _ in range(n):
        x = [x[0] * math.cos(0.3) - x[1] * math.sin(0.3), x[1] * math.cos(0.3) + x[0]]
    return {"first": x[0], "all": x}


def total(x: Any) -> Any:
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, (list, tuple)):
        s = 0.0
        for k, part in enumerate(x):
            s = s + total(part) * (1.0 + 0.1 * k)
        return s
    return x * x if isinstance(x, float) else 0.0


def changed(f: Callable) -> Callable:
    """The loss of what a function leaves in its arguments, and of what it returns."""

    def loss(*args: Any) -> Any:
        held = [list(x) if isinstance(x, list) else x for x in args]
        y = f(*args)
        return total(y) + total(list(args)) + 0.3 * total(held)

    return loss


CASES: dict[str, tuple[Callable, tuple]] = {
    "dot": (dot, (numbers(100), numbers(100))),
    "dot of short lists": (dot, (numbers(4), numbers(4))),
    "product": (product, (matrix(9, 8), matrix(8, 7))),
    "product of small matrices": (product, (matrix(3, 2), matrix(2, 3))),
    "sorted in place": (insertion_sort, (numbers(60),)),
    "a short list sorted in place": (insertion_sort, (numbers(6),)),
    "equations": (eliminated, (matrix(8, 8), numbers(8))),
    "a small system of equations": (eliminated, (matrix(3, 3), numbers(3))),
    "tuples in a list": (of_points, ([tuple(numbers(2)) for _ in range(40)],)),
    "lists from outside": (weighted, (1.3,)),
    "a list as a result": (path, (0.7,)),
    "a list of tuples as a result": (points, (0.7,)),
    "distances, some of them 0": (distances, ([float(i) for i in range(60)],)),
    "a row that is taken out": (takes_a_row_out, (matrix(30, 2),)),
    "a dict as a result": (turned, (0.4, 5)),
}


def flat(x: Any) -> list[float]:
    if isinstance(x, (list, tuple)):
        return [y for part in x for y in flat(part)]
    return [float(x)]


def moved(x: Any, by: list[float]) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)([moved(part, by) for part in x])
    return x if isinstance(x, int) else x + by.pop(0)


@pytest.mark.parametrize("name", CASES)
def test_by_a_program(name: str, runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(calls.ProgramRun, "traced")
    f, args = CASES[name]
    loss = changed(f)
    argnums = tuple(i for i, x in enumerate(args) if not isinstance(x, int))
    given = [args[i] for i in argnums]
    for _ in range(3):
        found = autodiff.gradient(loss, *copy.deepcopy(args), argnums=argnums)
    assert f.__name__ in runs
    size = len(flat(given))
    direction = np.random.default_rng(5).normal(size=size)
    ends = [loss(*moved(args, list(h * direction))) for h in (1e-6, -1e-6)]
    expected = (ends[0] - ends[1]) / 2e-6
    np.testing.assert_allclose(np.dot(flat(found), direction), expected, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("n", [3, 60])
def test_one_list_in_two_places_is_one(n: int, runs: list[str]) -> None:
    def doubled(rows: list) -> None:
        for i in range(len(rows[0])):
            rows[0][i] = rows[0][i] * 2.0

    def loss(x: Any) -> Any:
        row = [x * float(i) for i in range(n)]
        rows = [row, [x, x], row]
        doubled(rows)
        assert rows[2] is row
        return sum(rows[2]) + sum(rows[1])

    for _ in range(2):
        assert autodiff.gradient(loss, 1.5) == pytest.approx(n * (n - 1) + 2)
    assert "doubled" in runs


def test_what_is_returned_is_the_list_that_was_given(runs: list[str]) -> None:
    def scaled(xs: list, t: Any) -> tuple:
        for i in range(len(xs)):
            xs[i] = xs[i] * t
        return xs, [xs]

    def loss(t: Any) -> Any:
        xs = [1.0] * 60
        ys, zs = scaled(xs, t)
        assert ys is xs
        assert zs[0] is xs
        return sum(ys)

    for _ in range(2):
        assert autodiff.gradient(loss, 2.0) == pytest.approx(60.0)
    assert "scaled" in runs


def test_lists_that_share_a_row_are_traced_if_it_changes(runs: list[str]) -> None:
    def moves(a: list, b: list) -> Any:
        for i in range(len(b)):
            b[i] = b[i] * a[0][i]
        return a[0][0]

    def loss(x: Any) -> Any:
        row = [x * 1.0] * 60
        return moves([row], row)  # x², through the other name

    for _ in range(2):
        assert autodiff.gradient(loss, 3.0) == pytest.approx(6.0)
    assert "moves" not in runs


def test_a_list_that_is_read_from_outside_too_is_traced_if_it_changes(runs: list[str]) -> None:
    shared = [1.0] * 60

    def moves(xs: list, t: Any) -> Any:
        s = 0.0
        for i in range(len(xs)):
            xs[i] = 2.0
            s = s + shared[i] * t
        return s

    def loss(t: Any) -> Any:
        shared[:] = [1.0] * 60
        return moves(shared, t)

    for _ in range(3):
        assert autodiff.gradient(loss, 3.0) == pytest.approx(120.0)
    assert "moves" not in runs


def test_a_list_from_outside_may_change_between_calls(runs: list[str]) -> None:
    table = [1.0] * 60

    def weighed(t: Any) -> Any:
        s = 0.0
        for x in table:
            s += x * t
        return s

    for value in (1.0, 2.0):
        table[:] = [value] * 60
        assert autodiff.gradient(weighed_loss := (lambda t: weighed(t)), 3.0) == 60 * value
    table.append(5)  # an integer: lists of other numbers take another program
    assert autodiff.gradient(weighed_loss, 3.0) == 125.0
    assert "weighed" in runs


def test_integers_stay_integers(runs: list[str]) -> None:
    def by_class(xs: list, t: Any) -> Any:
        s = 0.0
        for x in xs:
            s += x * t if isinstance(x, int) else x * t * t
        return s

    xs = [2, 0.5] * 40
    for _ in range(2):
        found = autodiff.gradient(lambda t: by_class(xs, t), 3.0)
        assert found == pytest.approx(40 * 2 + 40 * 0.5 * 6.0)
    assert "by_class" in runs


def test_arrays_in_a_list_that_is_returned(runs: list[str]) -> None:
    def steps(x: Any) -> list:
        out = []
        for _ in range(10):
            x = np.sin(x) + 0.1
            out.append(x)
        return out

    def same(x: Any) -> list:
        out = []
        for _ in range(2):
            out.append(x)  # the user may write into it
        return out

    def loss(x: Any) -> Any:
        ys = steps(x)
        ys[0] *= 2.0
        zs = same(x * 1.0)
        zs[0] *= 3.0
        return np.sum(np.array(ys) ** 2) + np.sum(zs[1] ** 2)

    x = np.array([0.2, 0.7])
    h = np.array([1e-6, 0.0])
    for _ in range(3):
        found = autodiff.gradient(loss, x)
    np.testing.assert_allclose(found[0], (loss(x + h) - loss(x - h)) / 2e-6, rtol=1e-7)
    assert "steps" in runs
    assert "same" not in runs


def test_nests_of_numbers_as_results(runs: list[str]) -> None:
    seen = []

    def nest(x: Any, n: int) -> Any:
        for _ in range(n):
            x = x * 1.5
        xs = [x, (x, 2.0)]
        return xs, {"a": [x * x], "b": Point(x, [])}, []

    def loss(x: Any) -> Any:
        xs, named, empty = nest(x, 3)
        seen.append([type(v) for v in (xs, xs[1], named, named["a"], named["b"], empty)])
        return xs[1][0] * named["b"].y.__len__() + xs[0] + named["a"][0]

    for _ in range(3):
        assert autodiff.gradient(loss, 2.0) == pytest.approx(1.5**3 + 2 * 2.0 * 1.5**6)
    assert seen == [[list, tuple, dict, list, Point, list]] * 3
    assert "nest" in runs


def test_named_tuples_in_a_list_stay_so() -> None:
    def made(x: Any) -> list:
        out = []
        for i in range(10):
            out.append(Point(x * i, x))
        return out

    for _ in range(3):
        assert autodiff.gradient(lambda x: sum(p.x * p.y for p in made(x)), 2.0) == 180.0


def test_of_complex_numbers(runs: list[str]) -> None:
    def polynomial(c: list, z: Any) -> Any:
        s = 0.0
        for a in c:
            s = s * z + a
        return s

    c = [complex(x, y) for x, y in matrix(60, 2)]
    for _ in range(2):
        found = autodiff.gradient(lambda c: abs(polynomial(c, 0.5 + 0.2j)) ** 2, c)
    h = 1e-6

    def at(k: int, by: complex) -> float:
        return abs(polynomial([a + by * (i == k) for i, a in enumerate(c)], 0.5 + 0.2j)) ** 2

    for k in (0, 58, 59):
        real, imag = ((at(k, d) - at(k, -d)) / (2 * h) for d in (h, h * 1j))
        assert found[k] == pytest.approx(complex(real, imag), abs=1e-7)
    assert "polynomial" in runs


def test_what_is_taken_as_a_whole() -> None:
    assert as_list_argument([1.0, [2.0]]) is None
    assert as_list_argument([(1.0,), [2.0]]) is None
    assert as_list_argument(["a"]) is not None
    assert as_list_argument(["a", 1.0]) is None
    assert as_list_argument([[], [1.0, 2]]) is not None
    empty: list = []
    assert as_list_argument([empty, [empty]]) is None
    rows = as_list_argument([[1.0, 2], [3.0, 4.0]])
    assert rows is not None
    assert sum(map(len, rows.plain)) == 4
    assert rows.key == ((list, list), frozenset([float, int]), False)


ALIASES = """
def of_two_names(a):
    def made(t):
        own = [0.5, t]
        for i in range(3):
            t = t * own[1]
        return own, own, t
    p, q, t = made(a)
    p[0] = 3.0 * a
    return q[0] * t

def put_in_and_returned(a):
    def made(xs, t):
        own = [t, 1.0]
        xs[0] = own
        for i in range(3):
            t = t * own[0]
        return own
    rows = [[a, 2.0], [1.0, a]]
    own = made(rows, a)
    own[0] = 5.0 * a
    return rows[0][0]

def put_in_twice(a):
    def made(xs, t):
        own = [t, 1.0]
        xs.append(own)
        xs.append(own)
        for i in range(3):
            t = t * own[0]
        return t
    rows = [[a, 2.0]]
    t = made(rows, a)
    rows[1][0] = 5.0 * a
    return rows[2][0] * t

def row_of_an_argument(a):
    def found(rows, t):
        for i in range(3):
            t = t * rows[0][0]
        return rows[i % 2]
    rows = [[a, 1.0], [a, 2.0]]
    row = found(rows, a)
    row[0] = 3.0 * a
    return rows[0][0] * 2

def chosen(a):
    def made(t):
        own, other = [t, 2.0], [1.0, t]
        one = own
        if t > 0.0:
            one = other
        for i in range(3):
            t = t * own[0]
        return other, one, t
    p, q, t = made(a)
    p[0] = 3.0 * a
    return q[0] * t
"""
DERIVATIVES = {
    "of_two_names": lambda a: 3 * 5 * a**4, "put_in_and_returned": lambda a: 5.0,
    "row_of_an_argument": lambda a: 6.0,
    "put_in_twice": lambda a: 5 * 5 * a**4, "chosen": lambda a: 3 * 5 * a**4,
}  # fmt: skip


@pytest.mark.parametrize("name", DERIVATIVES)
def test_a_list_that_has_two_names_outside(name: str) -> None:
    f = define(ALIASES, "lists_with_two_names.py")[name]
    for _ in range(3):
        assert autodiff.gradient(f, 1.3) == pytest.approx(DERIVATIVES[name](1.3))
