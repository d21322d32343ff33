"""Variables, and what functions return, that are None until a branch gives them a value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from tests.helpers import check_gradient

X = np.sin(1.7 * np.arange(12.0) + 0.4)


def smallest(x: Any) -> Any:
    best, where = None, None
    for i, v in enumerate(x):
        if v > 0.2 and (best is None or v * v < best):
            best, where = v * v, i
    return 0.0 if best is None else best * 3.0 + x[where] * x[0]


def of_each_loop(x: Any) -> Any:
    total = 0.0
    for i in range(3):
        least = None
        for v in x:
            d = (v - 0.5 * i) ** 2
            if v > 0.0 and (least is None or d < least):
                least = d
        if least is not None:
            total += least * (i + 1)
    return total


class Ball:
    def __init__(self, center: Any, radius: Any) -> None:
        self.center = center
        self.radius = radius

    def hit(self, x: Any) -> Any:
        d = self.radius - (x - self.center) ** 2
        if d <= 0.0:
            return None
        t = math.sqrt(d)
        return t if t > 0.3 else None


def nearest_of_objects(x: Any) -> Any:
    balls = [Ball(c, 0.8) for c in x[:4]]
    total = 0.0
    for v in x[4:]:
        best, found = None, None
        for ball in balls:
            t = ball.hit(v)
            if t is not None and (best is None or t < best):
                best, found = t, ball
        if found is not None:
            total += best * found.center
    return total


@dataclass
class Point:
    x: Any
    y: Any

    def __sub__(self, other: Any) -> Any:
        return Point(self.x - other.x, self.y - other.y)


@dataclass
class Disc:
    center: Point
    radius: Any


def nearest_of_displayed_objects(x: Any) -> Any:
    discs = [Disc(Point(0, 1), x[0]), Disc(Point(x[1], 0.5), x[2]), Disc(Point(0.3, -1.0), 0.7)]
    total = 0.0
    for v in x[3:]:
        at, best, found = Point(v, 0.2), math.inf, None
        for disc in discs:
            d = at - disc.center
            t = disc.radius - d.x * d.x - d.y * d.y
            if -0.5 < t < best:
                best, found = t, disc
        if found is None:
            total += 0.1 * v
            continue
        total += best * found.radius + (found.center - at).x
    return total


def first_above(x: Any, least: float) -> Any:
    for v in x:
        if v > least:
            return v * v
    return None


def of_a_search(x: Any) -> Any:
    total = 0.0
    for k in range(5):
        found = first_above(x, 0.3 * k)
        if found is not None:
            total += found * (k + 1)
    return total


def arrays_come_and_go(x: Any) -> Any:
    held, total = None, 0.0
    for v in x:
        if v > 0.0:
            held = np.array([v, 2.0 * v])
        elif held is not None:
            total += np.sum(held * held) * v
            held = None
    return total


def chosen(x: Any) -> Any:
    total, last = 0.0, None
    for i in range(len(x)):
        y = x[i] ** 2 if x[i] > 0.0 else None
        if y is None:
            continue
        total += y * i if last is None else (y - last) ** 2
        last = y if i % 2 else None
    return total


def until_bound(x: Any) -> Any:
    held, total, i = None, 0.0, 0
    while i < len(x):
        if (old := held) is not None and x[i] > old:
            total += (x[i] - old) ** 2
            held = None
        else:
            held = x[i]
        i += 1
    return total if held is None else total + held


def one_after_the_other(x: Any) -> Any:
    a, b, total = None, None, 0.0
    for i in range(len(x)):
        if i == 2:
            a = x[i]
        if i > 4 and a is not None and b is None:
            b = a * x[i]
        if b is not None:
            total += b * x[i]
    return total


PROGRAMS = [
    smallest, of_each_loop, nearest_of_objects, nearest_of_displayed_objects, of_a_search,
    arrays_come_and_go, chosen, until_bound, one_after_the_other,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("x", [X, -X], ids=["x", "-x"])
def test_what_tracing_gives(f: Callable, x: Any, check_program: Callable) -> None:
    check_program(f, x, rtol=1e-12, atol=1e-13)
    check_gradient(f, x)


def last_above(x: Any, least: float) -> Any:
    last = None
    for v in x:
        if v > least:
            last = v
    return last * x[0]


def test_where_it_is_none_the_error_is_that_of_the_function() -> None:
    check_gradient(lambda x: last_above(x, 0.5), X)
    with pytest.raises(TypeError, match="NoneType"):
        gradient(last_above, X, 2.0, argnums=0)


def test_hidden_values_are_not_returned(traced: Callable) -> None:
    """A function that returns None is traced, and one in a loop may do so now and then."""
    for least in (0.0, 0.9, 5.0):
        expected = traced(lambda x, least=least: of_least(x, least), X)
        found = gradient(lambda x, least=least: of_least(x, least), X)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def of_least(x: Any, least: float) -> Any:
    v = first_above(x, least)
    return x[1] if v is None else v * x[1]


def best_pair(x: Any) -> Any:
    best, name, total = None, None, 0.0
    for i, v in enumerate(x):
        if v > 0.0 and (best is None or v * v < best[0]):
            best = (v * v, i)
            name = "odd" if i % 2 else "even"
        if best:
            total += best[0] * x[best[1]]
    if name == "odd":
        total = total * 2.0
    return total


def filtered(x: Any) -> Any:
    state, total = None, 0.0
    for i, v in enumerate(x):
        seen = None if i % 4 == 2 else v
        if state is None:
            state = (v, 1.0)
            continue
        mean, variance = state
        variance = variance + x[0] ** 2
        if seen is not None:
            gain = variance / (variance + 0.5)
            mean = mean + gain * (seen - mean)
            variance = (1.0 - gain) * variance
            total += math.log(1.0 + variance) * (seen - mean) ** 2
        state = mean, variance
    return total + state[0]


def returned_pair(x: Any) -> Any:
    def crossing(i: int) -> Any:
        if x[i] * x[i + 1] > 0.0:
            return None
        t = x[i] / (x[i] - x[i + 1])
        return t, (i, x[i])

    total = 0.0
    for i in range(len(x) - 1):
        found = crossing(i)
        if found is not None:
            t, (k, v) = found
            total += t * t + v * k
    return total


@pytest.mark.parametrize("f", [best_pair, filtered, returned_pair], ids=lambda f: f.__name__)
def test_pairs(f: Callable, check_two_calls: Callable, check_arrays: Callable) -> None:
    check_two_calls(f, X)
    check_arrays(f, X)
