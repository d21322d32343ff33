"""Dicts that grow, and `defaultdict`: their keys are integers, texts, or tuples of such."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from tests.helpers import check_gradient

X = np.array([0.3, -0.4, 0.7])


class Cache:
    def __init__(self) -> None:
        self.memo: dict = {}
        self.count: dict = defaultdict(int)

    def square(self, k: Any, v: Any) -> Any:
        self.count[k] += 1
        if k in self.memo:
            return self.memo[k] * self.count[k]
        self.memo[k] = v * v
        return self.memo[k]


def keys_and_values(x: Any) -> Any:
    d, total = {}, 0.0
    e = d
    for i in range(6):
        d[i] = x[i % 3] * i
        d[i // 2] = e[i] * 0.5
    for k, v in d.items():
        total += k * v
    for v in d.values():
        total += v * v
    for k in d.keys():  # noqa: SIM118 # that is another way
        total = total * 0.9 + d[k]
    for i, k in enumerate(d):
        total += i * d[k]
    for k in sorted(d):
        total = total * 0.9 + d[k]
    return total + len(d) + sum(d.values()) + max(e.values()) + sum(list(d.values()))


def recursion(x: Any) -> Any:
    d = {0: x[0], 1: x[1]}
    for i in range(2, 9):
        d[i] = d[i - 1] * 0.5 + d[i - 2] * x[2]
    return d[8]


def texts(x: Any) -> Any:
    d = {"a": x[0], "b": x[1]}
    for i in range(6):
        k = "a" if i % 2 else "b"
        d[k] = d[k] * 0.5 + x[2]
        d["c"] = d["a"] + i
    return d["a"] * d["b"] + d["c"]


def memoised(x: Any) -> Any:
    memo: dict = {}

    def product(i: Any) -> Any:
        if i in memo:
            return memo[i]
        memo[i] = x[i % 3] * i
        return memo[i]

    total = 0.0
    for i in range(10):
        total += product(i % 4) * i
    return total


def pairs(x: Any) -> Any:
    d, total = {}, 0.0
    for i in range(3):
        for j in range(3):
            d[i, j] = x[i] * x[j]
    for i in range(3):
        for j in range(3):
            total += d[(i, j)] * d[j, i] * (i + 1)
    for (i, j), v in d.items():
        total += v * i * j
    return total


def arrays(x: Any) -> Any:
    d, total = {}, 0.0
    for i in range(6):
        if i not in d:
            d[i] = np.zeros(3)
        d[i % 2] += x * i
        d[i][1] *= 2.0
        a = d[i % 2]
        d[i % 2] = a * 2.0
        a[0] = 3.0
        d[1 - i % 2] = a
    for v in d.values():
        total += np.sum(v * x)
    return total


def with_defaults(x: Any) -> Any:
    sums, lists, total = defaultdict(float), defaultdict(list), 0.0
    for i in range(6):
        sums[i % 3] += x[i % 3]
        sums[9] -= sums[i % 3] * 0.1
        lists[i % 2].append(x[i % 3] * i)
    missing = sums[55]
    for k, v in lists.items():
        total += sum(v) * (k + 1)
    total += len(lists[7]) + len(lists)
    return total + sums[0] * sums[9] + missing + len(sums) + sums.get(77, 3.0) + len(sums)


def get_and_setdefault(x: Any) -> Any:
    d, e, f = {}, {}, dict()  # noqa: C408 # that is another way
    for i in range(6):
        e[i % 4] = e.get(i % 4, 0.0) + x[i % 3]
        d.setdefault(i % 2, x[0])
        d[i % 2] = d[i % 2] * 1.1
        d[i % 2] = d.get(i % 2, 0.0) + d.get(i, x[1])
        if not f:
            f[0] = x[2] * i
        if i in (1, 3) or i not in [0, 2, 4]:
            f[0] = f[0] + x[0]
    return d[0] + d[1] + e[0] * e[1] + f[0]


def comprehensions(x: Any) -> Any:
    n = len(x) * 2
    d = {i: x[i % 3] * i for i in range(n)}
    d[0] = x[2]
    e = {i: v * v for i, v in d.items() if i > 1}
    return sum(d.values()) + sum(e.values()) * len(e)


def new_in_each_turn(x: Any) -> Any:
    total = 0.0
    for i in range(5):
        d = {}
        d[i] = x[i % 3]
        d[i] += 1.0
        total += d[i] * d[i]
    return total


def in_objects(x: Any) -> Any:
    one, several, total = Cache(), [], 0.0
    for _ in range(2):
        several.append(Cache())
    for i in range(8):
        total += one.square(i % 2, x[i % 3])
        total += several[i % 2].square(i % 4, x[i % 3])
    return total


def without_cotangents(x: Any) -> Any:
    rows = [{"p": x[i], "counts": [1, 2], "w": np.ones(2)} for i in range(3)]
    total = 0.0
    for _ in range(3):
        for row in rows:
            row["counts"].append(1)
            row["p"] *= row["counts"][-1] + row["w"][0]
            total += row["p"]
    return total


def deleted(x: Any) -> Any:
    d = {}
    for i in range(4):
        d[i] = x[i % 3] * i
        del d[i]
        d[i] = x[0]
    return sum(d.values())


def taken_out(x: Any) -> Any:
    d: dict = {}
    for i in range(10):
        d[i % 4] = d.get(i % 4, 0.0) + x[i % 3] ** 2
        if i == 5:
            del d[0]
        if i == 6:
            v = d.pop(1)
            d[1] = v * x[0] + d.pop(9, 2.0)
    d.update({7: x[0], 3: x[1]})
    total = 0.0
    for k, v in d.items():
        total = total * 0.9 + v * k
    return total


def arrays_taken_out(x: Any) -> Any:
    d, total = {}, 0.0
    for i in range(8):
        d[i % 3] = x * i
        if i == 4:
            a = d.pop(0)
            a[0] = a[1] * a[2]
            d[5] = a
        if i == 6:
            del d[2]
    for k in d:
        total = total + np.sum(d[k] ** 2) * k
    return total + np.sum(d[5] * x)


def a_small_cache(x: Any) -> Any:
    cache: dict = {}
    order: list = []
    total = 0.0
    for t in range(30):
        k = (t * 7) % 5
        if k not in cache:
            cache[k] = x[k % 3] ** 2 * t
            order.append(k)
            if len(cache) > 3:
                cache.pop(order.pop(0))
        total = total * 0.9 + cache[k]
    return total + sum(cache.values())


KERNELS = [
    keys_and_values, recursion, texts, memoised, pairs, arrays, with_defaults, get_and_setdefault,
    comprehensions, new_in_each_turn, in_objects, without_cotangents,
    deleted, taken_out, arrays_taken_out, a_small_cache,
]  # fmt: skip


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_dicts(
    f: Callable, check_sweep: Callable, check_arrays: Callable, check_with_machine_code: Callable
) -> None:
    check_sweep(f, X)
    check_arrays(f, X)
    check_with_machine_code(f, X)


@pytest.mark.parametrize("f", KERNELS, ids=lambda f: f.__name__)
def test_few_states(f: Callable, check_few_states: Callable) -> None:
    check_few_states(f, X)


def a_missing_key(x: Any) -> Any:
    d, total = {}, 0.0
    for i in range(4):
        d[i] = x[0]
        total += d[i + 1]
    return total


def grows_while_it_is_gone_over(x: Any) -> Any:
    d, total = {}, 0.0
    for i in range(4):
        d[i] = x[0]
    for k in d:
        total += d[k]
        if k == 2:
            d[99] = x[1]
    return total


def popped_twice(x: Any) -> Any:
    d: dict = {}
    for i in range(4):
        d[i] = x[0]
    return d.pop(2) + d.pop(2)


@pytest.mark.parametrize(
    "f, error",
    [
        (a_missing_key, KeyError),
        (popped_twice, KeyError),
        (grows_while_it_is_gone_over, RuntimeError),
    ],
)
def test_errors(f: Callable, error: type) -> None:
    for _ in range(3):
        with pytest.raises(error):
            gradient(f, X)


def keys_that_are_floats(x: Any) -> Any:
    d = {}
    for i in range(4):
        d[i * 0.5] = x[0] * i
    return sum(d.values())


def a_view_with_a_name(x: Any) -> Any:
    d: dict = {}
    v = d.values()
    for i in range(4):
        d[i] = x[0] * i
    return sum(v)


def keys_of_two_kinds(x: Any) -> Any:
    d: dict = {}
    for i in range(4):
        d[i] = x[0] * i
        d["k"] = x[1]
    return sum(d.values())


def deleted_while_it_is_gone_over(x: Any) -> Any:
    d, total = {0: x[0], 1: x[1]}, 0.0
    for i in range(3):
        d[i + 2] = x[2]
    try:
        for k in d:
            total += d[k]
            if k == 1:
                del d[0]
                d[17] = x[2]
    except RuntimeError:
        total *= 10.0
    return total


NOT_READ = [
    keys_that_are_floats, a_view_with_a_name, keys_of_two_kinds, deleted_while_it_is_gone_over,
]  # fmt: skip


@pytest.mark.parametrize("f", NOT_READ, ids=lambda f: f.__name__)
def test_what_is_not_read_is_traced(f: Callable, runs: list[str]) -> None:
    check_gradient(f, X)
    assert f.__name__ not in runs
