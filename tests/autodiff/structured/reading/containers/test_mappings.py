"""Dicts, sets, heaps and tuples as Python programmers use them, with keys that are not known."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import gradient
from tests.helpers import check_gradient

X = np.array([0.9, 0.4, 1.6, 0.7, 1.2, 0.3])
NAMES = ["ann", "bob", "cyd"]
ROADS = {0: {1: 0.5, 2: 1.5}, 1: {2: 0.7, 3: 2.0}, 2: {0: 1.1, 3: 0.2}, 3: {}}


class Account:
    def __init__(self, balance: Any) -> None:
        self.balance = balance
        self.log: list = []


def lists_by_name(x: Any) -> Any:
    names = ["ann", "bob", "cyd"]
    history = {name: [x[0]] for name in names}
    for i in range(12):
        last = history[names[i % 3]]
        last.append(last[-1] * x[i % 6])
    total = 0.0
    for name, values in history.items():
        total += sum(values) * len(name) + history[name][1]
    return total + sum(len(v) for v in history.values())


def objects_by_name(x: Any) -> Any:
    names = ["ann", "bob", "cyd"]
    accounts = {name: Account(x[i]) for i, name in enumerate(names)}
    for i in range(9):
        a, b = accounts[names[i % 3]], accounts[names[(i + 1) % 3]]
        a.balance -= 0.1 * x[3]
        b.balance += 0.1 * x[3] * a.balance
        a.log.append(b.balance)
    return sum(a.balance * sum(a.log) for a in accounts.values())


def numbers_by_name(x: Any) -> Any:
    names = ["ann", "bob", "cyd"]
    rates = {"ann": x[0], "bob": x[1], "cyd": x[2]}
    total = x[3]
    for i in range(7):
        key = names[i % 3]
        total += rates[key] * rates.get(key, 0.0) + rates.get("dan", 0.5)
        if key in rates and "dan" not in rates and rates:
            rates[key] *= x[4]
    return total + rates["ann"] * len(rates) + sum(rates[k] for k in sorted(rates))


def pairs_as_keys(x: Any) -> Any:
    contact = {("a", "a"): x[0], ("a", "b"): x[1], ("b", "a"): x[2], ("b", "b"): 1.0}
    state = {g: {"s": x[3], "i": 0.1} for g in ("a", "b")}
    for _ in range(4):
        force = {g: sum(contact[g, h] * state[h]["i"] for h in "ab") for g in "ab"}
        for g in "ab":
            new = 0.1 * force[g] * state[g]["s"]
            state[g]["s"] -= new
            state[g]["i"] += new
    return state["a"]["i"] * state["b"]["s"] + sum(p["i"] for p in state.values())


def shortest_path(x: Any) -> Any:
    best = {0: x[0]}
    heap = [(x[0], 0)]
    done = set()
    while heap:
        length, node = heapq.heappop(heap)
        if node in done:
            continue
        done.add(node)
        for other, road in ROADS[node].items():
            new = length + road * x[1]
            if other not in best or new < best[other]:
                best[other] = new
                heapq.heappush(heap, (new, other))
    return sum(best.values()) + len(done)


def heaps(x: Any) -> Any:
    heap = [x[0], x[1], x[2]]
    heapq.heapify(heap)
    total = 0.0
    for i in range(8):
        first = heapq.heappop(heap)
        heapq.heappush(heap, first + x[3 + i % 3])
        total += heapq.heappushpop(heap, x[i % 6]) * heap[0]
    return total + heapq.heapreplace(heap, 0.5) * i + sum(v * k for k, v in enumerate(heap))


def neighbours(x: Any) -> Any:
    near = defaultdict(set)
    for i in range(6):
        near[i].add((i * 5 + 1) % 6)
        near[(i * 5 + 1) % 6].add(i)
    total, seen = 0.0, {0, 1}
    for i in range(6):
        for j in sorted(near[i], reverse=True):
            total = total * 0.5 + x[i] * x[j]
        if i % 2:
            seen.add(i)
            seen.discard(i + 1)
    return total * len(seen) + (1.0 if 3 in seen else x[0]) * len({k % 2 for k in range(4)})


def events(x: Any) -> Any:
    found = []
    for i in range(6):
        found.append((x[i], "in", i))
        found.append((x[i] + x[0], "out", i * 2))
    found.sort()
    level = total = last = 0.0
    for time, kind, n in found:
        total += level * (time - last)
        last = time
        level += n if kind == "in" else -n * x[1]
    names = sorted(found, key=lambda e: e[1], reverse=True)
    return total + names[0][0] * names[-1][2]


def groups(x: Any) -> Any:
    by = defaultdict(list)
    count = Counter()
    for i in range(12):
        by["xyz"[i % 3]].append(x[i % 6] * i)
        count[i % 4] += 1
    total = 0.0
    for k, (name, values) in enumerate(sorted(by.items())):
        total += (k + 1) * sum(values) ** 2 * len(name) * count[k] + count[7]
    return total


def changing_dicts(x: Any) -> Any:
    rank = {n: x[n % 6] for n in ROADS}
    for _ in range(3):
        new = dict.fromkeys(ROADS, 0.1)
        for n, others in ROADS.items():
            for m in others:
                new[m] += rank[n] * x[0]
        rank = new
    rows: list = []
    for i in range(3):
        rows.append({})
        rows[i][i] = x[i]
    for i in range(6):
        rows[i % 3][i // 2] = x[i]
    return sum(v * v for v in rank.values()) + sum(v * k for row in rows for k, v in row.items())


def texts(x: Any) -> Any:
    kinds = []
    for i in range(len(x)):
        kinds.append("hot" if i % 3 else "cold")
    totals = {"hot": 0.0, "cold": 0.0}
    for kind, v in zip(kinds, x, strict=True):
        totals[kind] += v * v
    words = ["a=1", "b=2"] * 3
    given = dict(w.split("=") for w in words)
    return totals["hot"] / totals["cold"] * float(given["b"])


def drawn(x: Any) -> Any:
    own, other = random.Random(3), np.random.default_rng(5)
    noise = other.normal(size=(4,))
    total = 0.0
    for i in range(8):
        total += (own.gauss(0, 1) - own.random()) * x[i % 6] + other.uniform(-1.0, 1.0)
        own.random()
        total = total * (1.0 + 0.1 * noise[i % 4]) + own.randint(1, 5) * x[0]
    return total


def first_ones(x: Any) -> Any:
    grown = {}
    for i, v in enumerate(x):
        grown[i] = v * x[0]
    total = next(iter(grown.values()))
    for limit in (0.5, 1.0, 5.0):
        total += next((v * v for v in x if v > limit), x[5])
        total += next(k for k in grown if k > limit - 3.0)
    if (top := max(x)) > 1.0:
        total += top * x[1]
    total += sum((y := v - x[2]) * y for v in x if (w := v * v) > 0.2 and w < 9.0)
    return total + sum(a * b for a, b in itertools.combinations(x, 2))


def repeated(x: Any) -> Any:
    layers = [(x[0], 0.1), (x[1], 0.2)] * 3
    a, b = 1.0, x[2]
    for k in range(4):
        for n, d in layers:
            a, b = a * math.cos(n * d) - b, a * n + b * math.sin(k * d)
    return a * b


def iterators(x: Any) -> Any:
    values = iter(list(x))
    total = next(values) * 2.0
    while (v := next(values, None)) is not None:
        total = total * 0.5 + v * v
        if v > 1.0:
            break
    for v in values:
        total += v
        if v < 0.5:
            break
    more = [x[0], x[1]]
    it = iter(more)
    a = next(it, 0.1) + next(it, 0.2) * x[2] + next(it, 0.3)
    more[0] = x[3]
    return total * a + next(it, x[4]) + next(values, 0.0) + more[0]


def grows_under_its_iterator(x: Any) -> Any:
    more = [x[0], x[1]]
    it = iter(more)
    total = 0.0
    for i in range(4):
        total += next(it, 0.1) * x[2]
        if i == 2:
            more.append(x[3])
    return total


def body_takes_items(x: Any) -> Any:
    total, it = 0.0, iter([x[0], x[1], x[2], x[3]])
    for v in it:
        total += v * next(it, 0.5)
    return total


def inner_loop_takes_items(x: Any) -> Any:
    total, it = 0.0, iter([x[0], x[1], x[2]])
    for v in it:
        for w in it:
            total += v * w
    return total


def body_takes_an_item_in_a_branch(x: Any) -> Any:
    it = iter([x[0], x[1], x[2], x[3]])
    return sum(v * (next(it) if v > 0.5 else 0.3) for v in it)


def paid(account: dict, rate: Any) -> Any:
    account["balance"] -= rate * account["balance"]
    account["paid"] = account.get("paid", 0.0) + rate
    return account["balance"]


def keys_of_a_called_function(x: Any) -> Any:
    account = {"balance": x[0], "growth": x[1]}
    copied, total = dict(account), 0.0
    for i in range(5):
        copied["balance"] *= 1.0 + account["growth"]
        total += paid(copied, x[2] * i)
    return total + copied["paid"]


def gets(x: Any) -> Any:
    score = {"a": x[0], "b": x[1], "c": x[2]}
    seen: dict = {}
    total = score[max(score, key=score.get)] * x[3]
    for i in range(8):
        name = "abc"[i % 3]
        last = seen.get(name)
        if last is not None:
            total += last * score[name]
        seen[name] = x[i % 6] * 2.0
    counts = dict.fromkeys(range(4), 0.5)
    for i in range(6):
        counts[i % 4] += x[i]
    return total + seen[min(seen, key=seen.get)] + sum(c * c for c in counts.values())


FUNCTIONS = [
    keys_of_a_called_function, gets,
    lists_by_name, objects_by_name, numbers_by_name, pairs_as_keys, shortest_path, heaps,
    neighbours, events, groups, changing_dicts, texts, drawn, first_ones, repeated, iterators,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients(
    f: Callable, runs: list[str], check_arrays: Callable, check_with_machine_code: Callable
) -> None:
    check_gradient(f, X)
    assert f.__name__ in runs
    check_arrays(f, X)
    check_with_machine_code(f, X, atol=1e-13)


@pytest.mark.parametrize(
    "f",
    [
        grows_under_its_iterator, body_takes_items, inner_loop_takes_items,
        body_takes_an_item_in_a_branch,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_iterators_that_programs_leave_to_tracing(f: Callable, runs: list[str]) -> None:
    check_gradient(f, X)
    assert not runs


def test_a_dict_that_grows_under_its_iterator_raises_the_error() -> None:
    def f(x: Any) -> Any:
        values = {}
        for i in range(3):
            values[i] = x[i]
        it = iter(values)
        total = values[next(it)]
        values[5] = x[3]
        return total + values[next(it)]

    with pytest.raises(RuntimeError, match="changed size"):
        gradient(f, X)


def test_a_set_has_no_items_by_key() -> None:
    def read(x: Any) -> Any:
        seen = {1, 2}
        return sum(v * seen[1] for v in x)

    def written(x: Any) -> Any:
        seen = {1, 2}
        for i in range(3):
            seen[i] = x[i]
        return x[0]

    for f in (read, written):
        with pytest.raises(TypeError):
            gradient(f, X)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_compiled(f: Callable, traced: Callable) -> None:
    for backend in ("python", "auto"):
        made = autodiff.compile(lambda x: gradient(f, x), backend=backend)
        for x in (X, X + 0.05, X[::-1].copy()):
            np.testing.assert_allclose(made(x), traced(f, x), rtol=1e-10, atol=1e-12)
