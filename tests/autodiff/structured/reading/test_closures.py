"""Functions that are made anew for each call: what they have captured is given to the program."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff


class Spring:
    def __init__(self, k: Any) -> None:
        self.k = k
        self.count = 0

    def force(self, x: Any) -> Any:
        return -self.k * x


def of_a_number(k: Any) -> Callable:
    def f(x: Any) -> Any:
        for _ in range(5):
            x = x - k * x * 0.1
        return x

    return f


def of_functions(k: Any) -> Callable:
    def rate(y: Any) -> Any:
        return -k * y

    shifted = lambda y: rate(y) + k  # noqa: E731 - both ways to define a function

    def f(x: Any) -> Any:
        for _ in range(5):
            x = x + 0.1 * shifted(x) + 0.01 * rate(x)
        return x

    return f


def of_lists_and_arrays(k: Any) -> Callable:
    w, a, table = [k, 1.0], np.array([k, 2.0]), {"k": k, "n": 3}

    def f(x: Any) -> Any:
        s = 0.0
        for i in range(table["n"]):
            s += w[i % 2] * x**i + a[i % 2] * table["k"]
        return s

    return f


def of_an_object(k: Any) -> Callable:
    spring = Spring(k)

    def f(x: Any) -> Any:
        s = 0.0
        for i in range(4):
            s += spring.force(x) * i
        return s

    return f


def of_what_no_program_is_given(k: Any) -> Callable:
    name, nothing, cls, sines = "name", None, Spring, math.sin

    def f(x: Any, *, n: int = 3, by: Any = k) -> Any:
        s = 0.0
        for _ in range(n):
            if nothing is None and name == "name":
                s += cls(k).force(x) * by + sines(k * x)
        return s

    return f


def of_other_functions(k: Any) -> Callable:
    op = [math.sin, math.cos, np.exp, lambda v: v * v][int(k) % 4]

    def f(x: Any) -> Any:
        s = 0.0
        for _ in range(3):
            s += op(k * x)
        return s

    return f


def with_one_list_under_two_names(k: Any) -> Callable:
    a = [k, 1.0]
    b = a

    def f(x: Any) -> Any:
        s = 0.0
        for i in range(2):
            a[i] = a[i] * x
            s += b[i]
        return s

    return f


def with_a_count(k: Any) -> Callable:
    n = 0

    def counted(v: Any) -> Any:
        nonlocal n
        n += 1
        return v * n

    def f(x: Any) -> Any:
        s = 0.0
        for _ in range(3):
            s += counted(k * x)
        return s

    return f


READ = [
    of_a_number, of_functions, of_lists_and_arrays, of_an_object, of_what_no_program_is_given,
]  # fmt: skip


def check(make: Callable) -> None:
    for j in range(9):
        f = make(1.0 + 0.5 * j)
        expected = [make(1.0 + 0.5 * j)(0.7 + h) for h in (1e-6, -1e-6)]
        found = autodiff.gradient(f, 0.7)
        np.testing.assert_allclose(found, (expected[0] - expected[1]) / 2e-6, rtol=1e-7)


@pytest.mark.parametrize("make", READ, ids=lambda f: f.__name__)
def test_one_program_for_all(make: Callable, runs: list[str]) -> None:
    check(make)
    assert runs.count("f") == 8  # all but the call that met other values


@pytest.mark.parametrize(
    "make",
    [of_other_functions, with_one_list_under_two_names, with_a_count],
    ids=lambda f: f.__name__,
)
def test_right_without_a_program(make: Callable) -> None:
    check(make)


def test_what_the_function_changes_is_changed() -> None:
    def made(w: np.ndarray, xs: list, spring: Spring) -> Callable:
        def f(x: Any) -> Any:
            s = 0.0
            for i in range(2):
                w[i] = w[i] + 1.0
                xs[i] = xs[i] + 2.0
                spring.k = spring.k + 1.0
                spring.count += 1
                s += x * (w[i] + xs[i] * spring.k)
            return s

        return f

    for j in range(9):
        given = np.array([1.0 + j, 2.0]), [1.0 + j, 3.0], Spring(1.0 + j)
        same = np.array([1.0 + j, 2.0]), [1.0 + j, 3.0], Spring(1.0 + j)
        expected = made(*same)(1.0)
        np.testing.assert_allclose(autodiff.gradient(made(*given), 0.7), expected)
        assert list(given[0]) == list(same[0])
        assert given[1] == same[1]
        assert vars(given[2]) == vars(same[2])


def settled(force: Callable, x: Any) -> Any:
    for _ in range(4):
        x = x + 0.1 * force(x)
    return x


def with_force(spring: Spring) -> Callable:
    return lambda x: settled(lambda y: spring.force(y), x)


def test_functions_with_objects_that_are_new_each_time(runs: list[str]) -> None:
    for j in range(12):
        found = autodiff.gradient(with_force(Spring(1.0 + j)), 0.7)
        np.testing.assert_allclose(found, (1.0 - 0.1 * (1.0 + j)) ** 4, atol=1e-12)
    assert runs[-1] == "settled"
