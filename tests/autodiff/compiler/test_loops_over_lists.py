"""Compiled functions of long lists: loops over them are machine code, as one step."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import compile, gradient, value_and_gradient
from autodiff.structured import runtime

pytestmark = pytest.mark.skipif(not runtime.has_llvm(), reason="llvmlite is not there")
rng = np.random.default_rng(2)


def numbers(n: int) -> list[float]:
    return [float(x) for x in rng.normal(size=n)]


def matrix(n: int, m: int) -> list[list[float]]:
    return [numbers(m) for _ in range(n)]


def flat(x: Any) -> list:
    if isinstance(x, (list, tuple)):
        return [y for part in x for y in flat(part)]
    return [0.0 if x is None else x]


def forms(x: Any) -> Any:
    return (type(x), [forms(y) for y in x]) if isinstance(x, (list, tuple)) else type(x)


def product(a, b):
    c = [[0.0] * len(b[0]) for _ in range(len(a))]
    for i in range(len(a)):
        for j in range(len(b[0])):
            s = 0.0
            for k in range(len(b)):
                s += a[i][k] * b[k][j]
            c[i][j] = s
    return c


def distances(points):
    s = 0.0
    for i in range(len(points)):
        for j in range(i):
            s += math.sqrt(sum((p - q) ** 2 for p, q in zip(points[i], points[j], strict=True)))
    return s


def edits(a, b):
    n, m = len(a), len(b)
    d = [[0.0] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        d[i][0] = d[i - 1][0] + 1.0
    for j in range(1, m + 1):
        d[0][j] = d[0][j - 1] + 1.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            change = d[i - 1][j - 1] + abs(a[i - 1] - b[j - 1])
            d[i][j] = min(d[i - 1][j] + 1.0, d[i][j - 1] + 1.0, change)
    return d[n][m]


def averages(xs, width):
    out = []
    for i in range(len(xs) - width + 1):
        s = 0.0
        for k in range(width):
            s += xs[i + k]
        out.append(s / width)
    return out


def chosen(xs, places):
    s = 0.0
    for i in range(len(places)):
        s += xs[places[i]] ** 2 * (i % 3)
    return s


PLACES = [int(k) for k in rng.integers(0, 60, 4000)]
CASES: dict[str, tuple[Callable, tuple]] = {
    "product": (product, (matrix(20, 20), matrix(20, 20))),
    "distances": (distances, (matrix(60, 3),)),
    "of tuples": (distances, ([tuple(numbers(3)) for _ in range(60)],)),
    "edits": (edits, (numbers(60), numbers(60))),
    "averages": (averages, (numbers(400), 20)),
    "places": (chosen, (numbers(60), PLACES)),
}


def of_results(f: Callable) -> Callable:
    def loss(*args):
        s = 0.0
        for k, x in enumerate(flat(f(*args))):
            s += x * x * (1 + k % 3)
        return s

    return loss


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    f, args = CASES[name]
    compiled = compile(f)
    for by in (1.0, 0.7, -1.2):
        given = scaled(args, by)
        found, expected = compiled(*copy.deepcopy(given)), f(*given)
        assert forms(found) == forms(expected)
        np.testing.assert_allclose(flat(found), flat(expected), rtol=1e-12)
    assert compiled.variants == 1
    assert str(compiled.report()).count("machine code") >= 1


@pytest.mark.parametrize("name", CASES)
def test_gradients(name: str) -> None:
    f, args = CASES[name]
    argnums = tuple(i for i, x in enumerate(args) if isinstance(x, list) and x is not PLACES)
    loss = of_results(f) if f in (product, averages) else f
    compiled = compile(lambda *args: value_and_gradient(loss, *args, argnums=argnums))
    for by in (1.0, 0.7, -1.2):
        given = scaled(args, by)
        found, expected = compiled(*given), value_and_gradient(loss, *given, argnums=argnums)
        assert forms(found) == forms(expected)
        np.testing.assert_allclose(flat(found), flat(expected), rtol=1e-10, atol=1e-12)
    direction = numbers(len(flat(found[1])))
    ends = [loss(*moved(given, argnums, [h * x for x in direction])) for h in (1e-6, -1e-6)]
    slope = (ends[0] - ends[1]) / 2e-6
    assert np.dot(flat(found[1]), direction) == pytest.approx(slope, rel=1e-5)
    assert compiled.eager_because is None
    assert "_sweep(" in compiled.source


def scaled(x: Any, by: float) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)([scaled(part, by) for part in x])
    return x * by if isinstance(x, float) else x


def moved(args: tuple, argnums: tuple[int, ...], by: list[float]) -> list:
    def one(x: Any) -> Any:
        return type(x)(map(one, x)) if isinstance(x, (list, tuple)) else x + by.pop(0)

    return [one(x) if i in argnums else x for i, x in enumerate(args)]


def test_a_list_whose_length_depends_on_values() -> None:
    def large(xs, rounds):
        out = []
        for k in range(rounds):
            for x in xs:
                if x * x > 0.5 + 0.01 * k:
                    out.append(x * k)
        return out

    compiled = compile(large)
    for _ in range(4):
        xs = numbers(60)
        found, expected = compiled(xs, 60), large(xs, 60)
        assert len(found) == len(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_lists_that_are_returned_are_the_users_own() -> None:
    def summed(rows, t):
        s = 0.0
        for _ in range(100):
            for row in rows:
                for x in row:
                    s += x * t
        return rows[1], s, [rows[0], rows[0]]

    def run(rows, t):
        row, s, both = summed(rows, t)
        row[0] = 5.0 * t
        both[0][1] = s
        return s + rows[1][0] * rows[0][1] + both[1][1]

    rows = matrix(20, 3)
    compiled = compile(lambda rows, t: value_and_gradient(run, rows, t, argnums=1))
    for t in (1.3, 0.4, -2.0):
        expected = value_and_gradient(run, copy.deepcopy(rows), t, argnums=1)
        np.testing.assert_allclose(compiled(copy.deepcopy(rows), t), expected, rtol=1e-11)


def test_lists_that_change_and_rows_that_stand_twice() -> None:
    def doubled(rows, turns):
        for t in range(turns):
            for row in rows:
                row[t % 3] = row[t % 3] * 1.01 + row[0]
        return rows

    def loss(row, other, t):
        rows = doubled([row, other, row], 300)
        return t * sum(rows[0]) + sum(rows[1])

    compiled = compile(lambda row, other, t: gradient(loss, row, other, t))
    for t in (1.3, 0.4):
        row, other = [0.1, 0.2, 0.3], [0.3, 0.1, 0.5]
        expected = gradient(loss, list(row), list(other), t)
        np.testing.assert_allclose(
            flat(list(compiled(list(row), list(other), t))), flat(list(expected)), rtol=1e-10
        )


TABLE = numbers(80)


def test_a_list_from_outside() -> None:
    def weighed(t, turns):
        s = 0.0
        for k in range(turns):
            for x in TABLE:
                s += x * math.sin(t * k)
        return s

    compiled = compile(lambda t: value_and_gradient(weighed, t, 60, argnums=0))
    for t in (0.3, 0.4):
        TABLE[3] = t
        np.testing.assert_allclose(compiled(t), value_and_gradient(weighed, t, 60, argnums=0))


def test_derivatives_of_derivatives_and_of_parts() -> None:
    def slope(points):
        return sum(sum(x * x for x in row) for row in gradient(distances, points))

    points = matrix(20, 2)
    compiled = compile(lambda points: gradient(slope, points))
    expected = gradient(slope, points)
    for _ in range(2):
        np.testing.assert_allclose(flat(compiled(points)), flat(expected), rtol=1e-9, atol=1e-12)
