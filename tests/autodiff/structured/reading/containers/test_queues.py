"""Lists as queues and stacks, and deques: compared with differences, traces and machine code."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.runtime import Structured
from tests.helpers import check_gradient

X = np.random.default_rng(0).normal(size=(3, 3))


@dataclass
class Cell:
    a: Any
    rows: list = field(default_factory=list)


class Average:
    def __init__(self, n: int) -> None:
        self.last: deque = deque(maxlen=n)

    def __call__(self, v: Any) -> Any:
        self.last.append(v)
        return sum(self.last) / len(self.last)


def first_out(x: Any) -> Any:
    xs, total = [x[0, 0], x[0, 1], x[0, 2]], 0.0
    for _ in range(5):
        a = xs.pop(0)
        xs.append(0.5 * a + 0.1 * xs[0])
        total += xs[0] * xs.pop(0) - xs[0]
        xs.append(total)
    return total + xs[-1]


def stack(x: Any) -> Any:
    waiting, total = [x[0, 0], x[0, 1]], 0.0
    while waiting and total < 100.0:
        v = waiting.pop()
        total += v * v
        if abs(v) > 0.1:
            waiting.append(v * 0.5)
            waiting.append(v * 0.3)
    return total


def arrays(x: Any) -> Any:
    xs, total = [x[0] * 1.0, x[1] * 1.0, x[2] * 1.0], 0.0
    for _ in range(5):
        a = xs.pop(0)
        a[1] = a[1] * 1.5
        a += 0.1 * xs[0]
        xs.append(a)
        total += np.sum(a * xs[1])
        b = xs.pop()
        xs.insert(0, b * xs[0])
    return total + np.sum(xs[0])


def in_the_middle(x: Any) -> Any:
    xs, total = [x[0, 0], x[0, 1], x[0, 2], x[1, 0], x[1, 1]], 0.0
    for i in range(5):
        j = (i * 2) % len(xs)
        v = xs.pop(j)
        total += v * xs[j - 1]
        xs.insert(j // 2, v * 0.5)
    for k, v in enumerate(xs):
        total += k * v
    return total


def from_the_end(x: Any) -> Any:
    xs, total = [x[0, 0], x[0, 1], x[0, 2], x[1, 0], x[1, 1]], 0.0
    for _ in range(5):
        v = xs.pop(-2)
        xs.insert(-1, v * v)
        xs.insert(100, v)
        del xs[-3]
        total += v
        xs.insert(-100, 0.3 * v)
        del xs[1]
    for k, v in enumerate(xs):
        total += (k + 1) * v * v
    return total


def two_names(x: Any) -> Any:
    xs, total = [x[0, 0], x[0, 1], x[0, 2]], 0.0
    ys = xs
    for _ in range(5):
        total += xs.pop(0) * ys[0]
        ys.append(total * 0.1)
    return total + xs[-1]


def changed_by_a_function(x: Any) -> Any:
    def take(q: Any) -> Any:
        return q.pop(0)

    xs, total = [x[0, 0], x[0, 1]], 0.0
    for _ in range(5):
        total += take(xs)
        xs.append(total)
    return total


def copied_extended_and_cleared(x: Any) -> Any:
    xs, ys, total = [x[0, 0], x[0, 1]], [], 0.0
    for i in range(5):
        ys = xs.copy()
        ys.extend(v * i for v in x[1])
        ys.extend(x[2])
        xs.append(ys[0] * 0.5 + ys[-1])
        ys.pop(0)
        if len(xs) == 3:
            total += sum(xs)
            xs.clear()
        if not xs:
            xs.append(ys[0])
    return sum(xs) * sum(ys) + total


def lists_and_objects(x: Any) -> Any:
    rows, cells, total = [[x[0, 0], 1.0], [x[0, 1], 2.0]], [], 0.0
    for i in range(3):
        cells.append(Cell(x[i, 0]))
    for _ in range(5):
        r = rows.pop(0)
        r.append(r.pop(0) * 0.5 + x[1, 1])
        rows.append(r)
        rows[0].insert(0, x[2, 2])
        c = cells.pop(0)
        c.a = c.a * 1.1
        c.rows.append(c.a)
        cells.append(c)
        if len(c.rows) > 1:
            total += c.rows.pop(0)
    return total + cells[0].a + sum(r[0] * r[-1] for r in rows)


def tuples(x: Any) -> Any:
    waiting, total = deque([(0, x[0, 0])]), 0.0
    while waiting:
        i, v = waiting.popleft()
        total += v * i
        if i < 4:
            waiting.append((i + 1, v * 0.5))
            waiting.append((i + 2, v * x[0, 1]))
    return total


def windows(x: Any) -> Any:
    buffer, found = [], []
    for i in range(6):
        buffer.append(x[i % 3, 1] * i)
        if len(buffer) > 3:
            del buffer[0]
        found.append(np.mean(buffer))
    return np.sum(np.array(found) ** 2)


def with_maxlen(x: Any) -> Any:
    last, total = deque(maxlen=3), 0.0
    for i in range(7):
        last.append(x[i % 3, 0] * (i + 1))
        total += sum(last) / len(last) + last[0] * last[-1]
        if len(last) == last.maxlen:
            total += last[1]
    return total


def from_the_left(x: Any) -> Any:
    last, w = deque([0.0] * 4, maxlen=4), np.array([0.1, 0.2, 0.3, 0.4])
    more, total = deque(x[0], maxlen=2), 0.0
    for i in range(6):
        last.appendleft(x[i % 3, 0] * (i + 1))
        more.appendleft(more[1] * 0.5 + 1.0)
        total += np.dot(w, last) + more[0] * more[1]
    return total


def more_than_there_is_room_for(x: Any) -> Any:
    last, total = deque([x[0, 0], x[0, 1], x[0, 2], x[1, 0]], maxlen=3), 0.0
    xs: list = []
    for i in range(5):
        last.append(last[0] * 0.5)
        last.extend([x[0, 0] * i, x[0, 1]])
        last += [x[2, 2]]
        xs.extend(last)
        total += sum(last) * i
    return total + sum(xs)


def without_maxlen(x: Any) -> Any:
    q, total = deque(), 0.0
    for i in range(3):
        q.append(x[i, i])
    for _ in range(5):
        v = q.popleft()
        total += v * v
        q.append(v * 0.5)
        for k, w in enumerate(q):
            total += k * w
        for a, b in zip(q, reversed(q), strict=True):
            total += a * b
        q.rotate(1)
        q.rotate(-1)
        q.rotate()
    return total if q.maxlen is None else 0.0


def deque_of_arrays(x: Any) -> Any:
    f: deque = deque([np.zeros(3)], maxlen=2)
    y, total = x[0] * 1.0, 0.0
    for _ in range(5):
        f.append(-np.sin(y))
        y = y + 0.1 * (1.5 * f[-1] - 0.5 * f[0])
        f[-1][0] *= 2.0
        total += np.sum(np.mean(np.array(f), axis=0)) + np.sum(np.array(list(f)).sum(axis=0))
    return total + np.sum(y * f[0]) + np.sum(np.stack(f))


def objects_with_deques(x: Any) -> Any:
    filters, one, total = [Average(2 + i) for i in range(3)], Average(2), 0.0
    for i in range(6):
        for f in filters:
            total += one(f(x[i % 3, 0] * i)) ** 2
    return total


def a_list_that_changes_while_a_loop_goes_over_it(x: Any) -> Any:
    xs, total = [x[0, 0], x[0, 1], x[1, 1]], 0.0
    for v in xs:
        total = total * 0.5 + v
        xs.append(v * 2.0)
        xs.pop(0)
    return total


def a_list_of_another_name(x: Any) -> Any:
    given = [x[0, 0], x[0, 1]]

    def take(q: Any) -> Any:
        return q.pop(0)

    return sum(take(given) for _ in range(2)) + len(given)


KERNELS = [
    first_out, stack, arrays, in_the_middle, from_the_end, two_names, changed_by_a_function,
    copied_extended_and_cleared, lists_and_objects, tuples, windows, with_maxlen, from_the_left,
    more_than_there_is_room_for, without_maxlen, deque_of_arrays, objects_with_deques,
    a_list_that_changes_while_a_loop_goes_over_it, a_list_of_another_name,
]  # fmt: skip


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_queues(f: Callable, runs: list[str], check_arrays: Callable) -> None:
    check_gradient(f, X)
    assert f.__name__ in runs
    check_arrays(f, X)


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_as_machine_code(f: Callable, check_with_machine_code: Callable) -> None:
    check_with_machine_code(f, X, atol=1e-13)


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_few_states(f: Callable, check_few_states: Callable) -> None:
    check_few_states(f, X)


def test_a_maxlen_that_is_an_argument(runs: list[str], traced: Callable) -> None:
    def smoothed(x: Any, n: Any) -> Any:
        last, total = deque(maxlen=n), 0.0
        for i in range(9):
            last.append(x[i % 3, 0] * i)
            total += last[0] * len(last)
        return total

    def of(n: Any) -> Callable:
        return lambda x: smoothed(x, n)

    for n in (3, 2, 20, None):
        check_gradient(of(n), X)
    assert runs.count("smoothed") >= 4
    with pytest.raises(IndexError):
        gradient(of(0), X)


def taken_from_an_empty_list(x: Any) -> Any:
    xs, total = [x[0, 0]], 0.0
    for _ in range(3):
        total += xs.pop()
    return total


def changed_while_a_loop_goes_over_it(x: Any) -> Any:
    q, total = deque([x[0, 0], x[0, 1]]), 0.0
    for v in q:
        total += v
        q.append(v)
        q.popleft()
    return total


def a_slice(x: Any) -> Any:
    q, total = deque([x[0, 0], x[0, 1]]), 0.0
    for _ in range(3):
        total += sum(q[1:])  # type: ignore[index] # it is an error
    return total


@pytest.mark.parametrize(
    "f, error, message",
    [
        (taken_from_an_empty_list, IndexError, "pop from empty list"),
        (changed_while_a_loop_goes_over_it, RuntimeError, "mutated during iteration"),
        (a_slice, TypeError, "sequence index must be integer"),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_errors(f: Callable, error: type, message: str) -> None:
    for _ in range(3):
        with pytest.raises(error, match=message):
            gradient(f, X)


def extended_by_itself(x: Any) -> Any:
    xs = [x[0, 0], x[0, 1]]
    for _ in range(3):
        xs.extend(xs)
    return sum(xs)


def taken_in_a_test(x: Any) -> Any:
    xs, total = [x[0, 0], 3.0, 4.0, 5.0], 0.0
    while xs.pop() > 2.0:
        total += xs[0]
    return total


@pytest.mark.parametrize("f", [extended_by_itself, taken_in_a_test])
def test_what_is_not_read_is_traced(f: Callable, runs: list[str]) -> None:
    with pytest.raises(UnsupportedError):
        Structured(f, (None,), (X,), (0,))
    check_gradient(f, X)
    assert f.__name__ not in runs
