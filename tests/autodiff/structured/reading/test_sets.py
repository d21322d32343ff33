"""Sets that are displayed, and constant tuples, in which something is looked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from tests.helpers import check_gradient

X = np.array([0.9, 0.4, 1.6, 0.7, 1.2, 0.3])
KINDS = ("in", "out", "wall")


def places(x: Any) -> Any:
    total = 0.0
    n = len(x)
    for i in range(n):
        if i in {1, n - 2}:
            total += x[i] ** 2
        elif i not in {0, 2.0, 5}:
            total += x[i] ** 3
        else:
            total += x[i]
    return total


def of_a_name(x: Any) -> Any:
    fixed, total = (1, 3), 0.0
    for i in range(len(x)):
        total += x[i] ** 2 if i in fixed else x[i]
    return total


def pairs(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        for j in range(2):
            total += x[i] ** 2 if (i, j) in {(0, 0), (3, 1)} else x[i] * j
    return total


def texts(x: Any) -> Any:
    total = 0.0
    for kind in KINDS:
        for v in x:
            total += v * v if kind in {"in", "wall"} else v
    return total


@pytest.mark.parametrize("f", [places, of_a_name, pairs, texts], ids=lambda f: f.__name__)
def test_gradients(f: Callable, runs: list[str], check_arrays: Callable) -> None:
    check_gradient(f, X)
    assert f.__name__ in runs
    check_arrays(f, X)
    check_arrays(f, np.concatenate([X, X + 0.1]))


def test_an_array_in_a_set_is_an_error() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for k in range(3):
            if x[:1] in {1, k}:
                total += x[k]
        return total

    for _ in range(2):
        with pytest.raises(TypeError):
            gradient(f, X)


def front(x: Any) -> Any:
    """Spread over a graph: the order in which a set is iterated over matters."""
    links = {i: [(i * 37 + 101) % 64, (i * 21 + 7) % 64] for i in range(64)}
    heat = dict.fromkeys(range(64), 0.0)
    heat[0] = x[0]
    active, seen = {0}, {0}
    for step in range(5):
        reached = set()
        for u in active:
            for v in links[u]:
                heat[v] = heat[v] * x[1] + heat[u] * x[2 + step % 4]
                reached.add(v)
                if v % 5 == 0:
                    reached.discard(v)
        active = (reached - {step}) | {step + 40, 3}
        seen |= active
    total = 0.0
    for k, u in enumerate(seen):
        total = total * 0.99 + heat.get(u, x[0]) * k
    return total + sum(heat[u] for u in seen & set(links))


def constants(x: Any) -> Any:
    total, chosen = 0.0, {1, 65, 129, 4, 2, 34}
    copied = chosen.copy()
    copied.add(3)
    for k in copied:
        total = total * 0.9 + x[k % 6] * k
    for k in set(chosen):
        total = total * 0.9 + x[k % 6]
    words = {"in", "out", "wall", "door"}
    for word in words:
        total = total * 0.5 + x[len(word)]
    return total + max(chosen) * x[0] + (total if copied > chosen else 0.0)


@pytest.mark.parametrize("f", [front, constants], ids=lambda f: f.__name__)
def test_the_order_of_sets(f: Callable, check_two_calls: Callable, check_arrays: Callable) -> None:
    check_two_calls(f, X)
    check_arrays(f, X)
