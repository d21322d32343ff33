"""Tuples of any length, sorted lists, what is accumulated, chained and filtered, and columns."""

from __future__ import annotations

import bisect
import operator
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from tests.helpers import check_gradient

X = np.random.default_rng(0).normal(size=(3, 3))


@dataclass
class Point:
    a: Any
    b: Any


def tuples_of_arrays_and_lists(x: Any) -> Any:
    t, rows, total = tuple(x[0]), tuple(x * 1.0), 0.0
    numbers = [x[0, 0] * i for i in range(5)]
    held = tuple(numbers)
    for i in range(5):
        numbers[i] = 0.0
        numbers.append(1.0)
        a, b, c = tuple(x[i % 3])
        total += a * b - c + t[i % 3] * i + np.sum(rows[i % 3] * rows[0])
        rows[i % 3][1] *= 1.5
        total += tuple(v * i for v in x[0])[-1] if isinstance(t, tuple) else 0.0
    return total + sum(v * v for v in held) + sum(held[1:]) + sum(held[::-1][:2]) + len(held)


def displayed_with_stars(x: Any) -> Any:
    total = 0.0
    for _ in range(4):
        k = (0.0, *x[0], 1.0, *x[1])
        for a, b in zip(k[1:], k, strict=False):
            total += a * b
        f = (*[1.0, 2.0], x[0, 0])
        total += f[2] * len(f)
    return total


def taken_apart(x: Any) -> Any:
    total = 0.0
    for i in range(4):
        a, *b = x[i % 3]
        total += a * sum(b) + len(b)
        *c, d = [v * i for v in x[0]]
        total += c[0] * d
        p, *q, r = (x[0, 0], 2.0, x[1, 1], 3.0)
        total += p * q[0] * q[1] * r
        b.append(total)
        total += b[-1] * b[0]
    first, *rest = x
    for row in rest:
        total += np.sum(row * first)
    return total


def in_order(x: Any) -> Any:
    total = 0.0
    for i in range(5):
        v = sorted([x[0, 0] * i, x[0, 1], x[0, 2]])
        total += v[0] + 2.0 * v[1] + 3.0 * v[2]
        v = sorted([x[i % 3, j] * i for j in range(3)], reverse=True)
        total += v[0] * 3.0 + v[1] * 2.0 + v[2]
        for k, w in enumerate(sorted(x[i % 3])):
            total += k * w
    return total


def equal_items(x: Any) -> Any:
    xs, total = [x[0, i % 3] * i for i in range(6)], 0.0
    for k, v in enumerate(sorted([x[0, 0], x[0, 1], x[0, 0] * 1.0, x[0, 1] * 1.0])):
        total += k * v
    for k, v in enumerate(sorted(xs, key=lambda v: v > 0)):
        total += k * v
    for k, v in enumerate(sorted(xs, key=lambda v: v > 0, reverse=True)):
        total += k * v
    for i in sorted(range(6), key=lambda i: xs[i]):
        total = total * 0.5 + xs[i]
    return total


def objects_in_order(x: Any) -> Any:
    points, total = [], 0.0
    for i in range(3):
        points.append(Point(x[i, 0], x[i, 1]))
    for _ in range(5):
        for k, p in enumerate(sorted(points, key=lambda p: p.a)):
            total += k * p.b
            p.a = p.a * 0.5 - 0.2 * p.b * k
        points.sort(key=lambda p: -p.b)
        points[0].b *= 0.9
    return total


def put_in_order(x: Any) -> Any:
    xs, total = [x[0, i % 3] * i for i in range(6)], 0.0
    ys, none = xs, []
    for _ in range(0):
        none.append(x[0, 0])
    xs.sort()
    for k, v in enumerate(ys):
        total += k * v
    xs.sort(reverse=True)
    for k, v in enumerate(ys):
        total += k * v * v
    for v in sorted(none):
        total += v
    return total


def medians(x: Any) -> Any:
    window, total = [], 0.0
    for i in range(7):
        window.append(x[i % 3, 1] * i)
        if len(window) > 3:
            window.pop(0)
        total += sorted(window)[len(window) // 2]
    return total


def running(x: Any) -> Any:
    total = 0.0
    for a in accumulate(x[0], operator.mul):
        total += a
    for a in accumulate([x[0, 0] * i for i in range(5)], max):
        total += a * a
    for a in accumulate(x[0], lambda a, b: a * 0.9 + b):
        total += a
    for a in accumulate(x[1], initial=2.0):
        total += a
    for a in accumulate(x[1], lambda a, b: a * b, initial=x[0, 0]):
        total += a
    for row in accumulate(x):
        total += np.sum(row * row)
    for a, b in zip(accumulate(x[2]), x[0], strict=True):
        total += a * b
    return total + list(accumulate(x[2]))[-1] + sum(accumulate(x[1]))


def first_of_running(x: Any) -> Any:
    y, total = x * 1.0, 0.0
    rows = list(accumulate(y))
    rows[0][0] = 5.0
    for i in range(4):
        total += np.sum(y * y) * i
    return total


def chains(x: Any) -> Any:
    total, xs, none = 0.0, [x[0, 0] * i for i in range(5)], []
    for _ in range(0):
        none.append(1.0)
    for v in chain(xs, x[1], [1.0], (2.0, x[0, 0])):
        total = total * 0.5 + v
    for i, v in enumerate(chain([0.0], xs)):
        total += i * v
    for v in chain([1.0], [x[0, 0]]):
        total = total * 0.5 + v
    for v in chain(none, x[0], none):
        total = total * 0.5 + v
    return total + sum(chain(xs, x[2]))


def filters(x: Any) -> Any:
    total = 0.0
    for i in range(4):
        for v in filter(lambda a: a > 0.0, x[i % 3]):
            if v > 0.5:
                continue
            total += v * i
        for v in filter(None, [x[0, 0], 0.0, x[0, 1]]):
            total += v
    for v in filter(lambda a: a < 5.0, x[0]):
        total += v
        if v < 0.0:
            break
    else:
        total = total * 2.0
    xs = list(filter(lambda a: a < 0.3, x[0]))
    total += sum(filter(lambda a: a < 0.3, x[1])) + len(xs)
    return total + sum([v * v for v in filter(lambda a: a < 0.0, x[2])]) + sum(xs)


def columns(x: Any) -> Any:
    found, y, t, total = [], x[0, 0], 0.0, 0.0
    for _ in range(5):
        y = y + 0.1 * np.sin(y)
        t += 0.1
        found.append((t, y))
    a, b = zip(*found, strict=False)
    a, b = zip(*found)  # noqa: B905 # without an option
    found.append((0.0, 0.0))
    for u, v in zip(a, b, strict=True):
        total += u * v
    return total + np.sum(np.array(b)) + len(a)


def columns_of_rows(x: Any) -> Any:
    total = 0.0
    rows = [[x[0, 0] * j for j in range(i + 2)] for i in range(4)]
    same = [[x[0, 0] * j for j in range(3)] for _ in range(4)]
    for a, *_, d in zip(*same, strict=True):
        total += a * d
    for c in zip(*rows):  # noqa: B905 # without an option
        total += c[0] * c[-1]
    for i in range(3):
        for column in zip(*x):  # noqa: B905
            total += max(column) * i + column[0]
        for a, b in zip(*[x[0], x[1]]):  # noqa: B905
            total += a * b
        for a, b in zip(*[[x[0, 0], x[0, 1]], [1.0, 2.0]]):  # noqa: B905
            total += a * b
    return total


def places_in_order(x: Any) -> Any:
    grid, total = [x[0, 0] - 2.0], 0.0
    for v in x[1]:
        grid.append(grid[-1] + abs(v))
    for v in (*grid, x[2, 0], -9.0, 9.0):
        i, j = bisect.bisect_left(grid, v), bisect.bisect(grid, v)
        k = bisect.bisect_right(np.sort(x[0]), v)
        total += grid[i % 4] * v + grid[j % 4] * v * v + x[0, k % 3] * k
    return total


KERNELS = [
    places_in_order,
    tuples_of_arrays_and_lists, displayed_with_stars, taken_apart, in_order, equal_items,
    objects_in_order, put_in_order, medians, running, first_of_running, chains, filters, columns,
    columns_of_rows,
]  # fmt: skip


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_functions(f: Callable, runs: list[str], check_arrays: Callable) -> None:
    check_gradient(f, X)
    assert f.__name__ in runs
    check_arrays(f, X)


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_as_machine_code(f: Callable, check_with_machine_code: Callable) -> None:
    check_with_machine_code(f, X, atol=1e-13)


def columns_that_change(x: Any) -> Any:
    rows, total = [[x[0, 0], x[0, 1]], [x[1, 0], x[1, 1]]], 0.0
    for c in zip(*rows):  # noqa: B905
        total += c[0] * c[1]
        rows[0][1] = 2.0
    return total


def a_list_that_changes(x: Any) -> Any:
    xs, total = [x[0, 0], x[0, 1], x[0, 2]], 0.0
    for i, a in enumerate(accumulate(xs)):
        total += a
        if i < 2:
            xs[i + 1] = xs[i + 1] * 2.0
    return total


def rows_that_change(x: Any) -> Any:
    y, total = x * 1.0, 0.0
    for i, a in enumerate(accumulate(y)):
        total += np.sum(a)
        if i < 2:
            y[i + 1] *= 2.0
    return total


def a_function_that_writes(x: Any) -> Any:
    log: list = []

    def f(a: Any, b: Any) -> Any:
        log.append(a)
        return a + b

    total = 0.0
    for a in accumulate([x[0, i % 3] for i in range(5)], f):
        total += a * len(log)
    return total


def a_chain_that_grows(x: Any) -> Any:
    xs, ys, total = [x[0, 0] * i for i in range(5)], [x[0, 1]], 0.0
    for v in chain(xs, ys):
        total += v
        if len(ys) < 4:
            ys.append(v)
    return total


def not_a_number(x: Any) -> Any:
    total = 0.0
    for i, v in enumerate(sorted([x[0, 0], np.nan, x[0, 1], x[0, 2]])):
        if not np.isnan(v):
            total += i * v
    return total


def mixed_with_integers(x: Any) -> Any:
    total = 0.0
    for i, v in enumerate(sorted([x[0, 0], 2**53 + 1, float(2**53)])):
        total += i * v * x[0, 1]
    return total * 1e-16


def rows_of_other_lengths(x: Any) -> Any:
    rows = [[x[0, 0] * j for j in range(i + 2)] for i in range(4)]
    total = 0.0
    try:
        for c in zip(*rows, strict=True):
            total += c[0] * c[-1]
    except ValueError:
        return total * 3.0
    return total


def tuples_put_together(x: Any) -> Any:
    total = 0.0
    for _ in range(3):
        total += sum(tuple(x[0]) + (1.0,))  # noqa: RUF005 # that is another way
    return total


NOT_READ = [
    columns_that_change, a_list_that_changes, rows_that_change, a_function_that_writes,
    a_chain_that_grows, not_a_number, mixed_with_integers, tuples_put_together,
    rows_of_other_lengths,
]  # fmt: skip


@pytest.mark.parametrize("f", NOT_READ, ids=lambda f: f.__name__)
def test_what_is_not_read_is_traced(f: Callable, runs: list[str]) -> None:
    check_gradient(f, X)
    assert f.__name__ not in runs


def writes_into_a_tuple(x: Any) -> Any:
    t: Any = tuple(x[0])
    for _ in range(3):
        t[0] = x[0, 1]
    return t[0]


def appends_to_a_tuple(x: Any) -> Any:
    t: Any = tuple([x[0, 0] * i for i in range(4)])
    for _ in range(3):
        t.append(x[0, 1])
    return t[0]


def columns_of_nothing(x: Any) -> Any:
    rows: list = []
    for _ in range(0):
        rows.append((x[0, 0], x[0, 1]))
    a, b = zip(*rows)  # noqa: B905
    return sum(a) + sum(b)


def too_few(x: Any) -> Any:
    xs = []
    for _ in range(1):
        xs.append(x[0, 0])
    a, *_, b = xs
    return a * b


@pytest.mark.parametrize(
    "f, error, message",
    [
        (writes_into_a_tuple, TypeError, "does not support item assignment"),
        (appends_to_a_tuple, AttributeError, "has no attribute 'append'"),
        (columns_of_nothing, ValueError, "not enough values to unpack"),
        (too_few, ValueError, "not enough values to unpack"),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_errors(f: Callable, error: type, message: str) -> None:
    for _ in range(3):
        with pytest.raises(error, match=message):
            gradient(f, X)
