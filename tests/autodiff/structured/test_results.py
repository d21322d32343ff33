"""Results that are, or may be, views: of an argument, of the function's own, of each other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from tests.helpers import check_gradient

X = np.array([0.3, -0.7, 0.5, 1.2])
ROWS = np.array([[2.0, 0.3, 0.1], [0.4, 1.5, -0.2], [0.2, 0.6, 1.8]])


def steps(y: Any, n: int) -> Any:
    for _ in range(n):
        y = y + 0.1 * np.array([y[1], -y[0], y[3] * y[2], 1.0])
    return y


def part_of_its_own(x: Any, n: int) -> Any:
    y = np.zeros(6)
    for k in range(n):
        y[k + 1] = y[k] * 0.5 + x[k] ** 2
    return y[1:-1]


def two_by_turns(x: Any, n: int) -> Any:
    old, new = x * 1.0, np.zeros(4)
    for _ in range(n):
        for i in range(4):
            new[i] = old[i] * old[i - 1] + 0.5
        old, new = new, old
    return old, new


def diagonal(a: Any, n: int) -> Any:
    r = np.triu(a, -1)
    for k in range(n):
        r[k + 1] -= r[k] * (r[k + 1, k] / r[k, k])
    return np.diag(r)


def one_of_two(x: Any, n: int) -> Any:
    y = x[:2]
    for k in range(n):
        y = y * x[k]
    return y


READ: list[tuple[Callable, np.ndarray, int]] = [
    (steps, X, 5),
    (part_of_its_own, X, 4),
    (two_by_turns, X, 3),
    (diagonal, ROWS, 2),
    (one_of_two, X, 3),
]


def total(y: Any) -> Any:
    return sum(np.sum(np.sin(part)) for part in (y if isinstance(y, tuple) else (y,)))


@pytest.mark.parametrize("f, x, n", READ)
def test_read(f: Callable, x: np.ndarray, n: int, runs: list[str]) -> None:
    check_gradient(lambda x: total(f(x, n)), x)
    assert f.__name__ in runs


@pytest.mark.parametrize("f, x, n", [case for case in READ if case[0] is not diagonal])
def test_who_writes_into_a_result_writes_into_what_the_function_gave(
    f: Callable, x: np.ndarray, n: int, traced: Callable
) -> None:
    def loss(x: Any, turns: int) -> Any:
        x = x * 1.0
        y = f(x, turns)
        parts = y if isinstance(y, tuple) else (y,)
        parts[0][0] = 5.0 * x[1].sum()
        parts[-1][-1] *= 2.0
        return total(y) + np.sum(x * x)

    for turns in (0, 1, n):
        given = functools.partial(loss, turns=turns)
        assert np.allclose(gradient(given, x), traced(given, x))


def test_a_result_keeps_its_values_in_the_sweep(runs: list[str]) -> None:
    def loss(a: Any) -> Any:
        y = diagonal(a, 2)
        return np.sum(y * y), y

    _, y = gradient(loss, ROWS, has_aux=True)
    assert "diagonal" in runs
    assert np.array_equal(y, diagonal(ROWS, 2))


def test_what_cannot_be_written_into_stays_so() -> None:
    def loss(a: Any) -> Any:
        y = diagonal(a, 2)
        y[0] = 1.0
        return np.sum(y * y)

    with pytest.raises(ValueError, match="read-only"):
        gradient(loss, ROWS)


def shared(x: Any, n: int) -> Any:
    y = x * 1.0
    z = y[1:]
    for k in range(n):
        y[k] = y[k] * x[k]
    return y, z


def test_results_that_share_memory_do_so_for_the_caller(traced: Callable) -> None:
    def loss(x: Any) -> Any:
        y, z = shared(x, 3)
        z[0] = x[0] ** 2
        return np.sum(y * np.arange(4.0))

    assert np.allclose(gradient(loss, X), traced(loss, X))


def step(p: Any, q: Any, k: int) -> Any:
    for i in range(1, 4):
        p[i] = np.sin(p[i]) * q[i - 1] + 0.1 * k
    return p, q


def half_a_step(p: Any, q: Any, k: int) -> Any:
    p[0] *= q[1]
    if k > 0:
        q = q * 0.5 + p
    return p, q


def in_place(p: Any, q: Any, n: int) -> Any:
    for k in range(n):
        p, q = step(p, q, k)
    return p, q


def by_turns(p: Any, q: Any, n: int) -> Any:
    for k in range(n):
        q, p = step(p, q, k)
        p, q = step(p, q, k)
    return p, q


def anew_by_one_branch(p: Any, q: Any, n: int) -> Any:
    for k in range(n):
        p, q = half_a_step(p, q, k)
        p, q = step(p, q, k)
    return p, q


def anew_by_a_function_inside(p: Any, q: Any, n: int) -> Any:
    def inside(u: Any, k: int) -> Any:
        nonlocal q
        q = q * p * 0.5 + k
        return u

    for k in range(n):
        p, q = step(p, inside(q, k), k)
        q = inside(q, k)
    return p, q


@pytest.mark.parametrize("f", [in_place, by_turns, anew_by_one_branch, anew_by_a_function_inside])
def test_functions_that_return_their_arguments(
    f: Callable, traced: Callable, runs: list[str]
) -> None:
    def loss(x: Any, turns: int) -> Any:
        p, q = x * 1.0, np.cos(x)
        u, v = f(p, q, turns)
        u[0] = 5.0 * p[1] * q[2]
        v[1] *= 2.0
        return np.sum(u * p) + np.sum(np.sin(v) * q)

    for turns in (0, 1, 3):
        given = functools.partial(loss, turns=turns)
        check_gradient(given, X)
        assert np.allclose(gradient(given, X), traced(given, X))
    assert f is not in_place or f.__name__ in runs
