"""Machine code: dicts that grow, and sets."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.runtime import Structured


def counted(a: Any, b: Any) -> Any:
    counts: dict[int, Any] = {}
    for t in range(200):
        k = (t * t + 3) % 37
        counts[k] = counts.get(k, 0.1) + a[t % 4] * b[k % 5]
    total = 0.0
    for k in counts:
        total = total * 0.9 + math.sin(counts[k]) * k
    return total + len(counts) * a[0]


def memoized(a: Any, b: Any) -> Any:
    memo: dict[tuple[int, int], Any] = {}
    for i in range(8):
        for j in range(8):
            above = memo[i - 1, j] if (i - 1, j) in memo else a[j % 4]
            left = memo.get((i, j - 1), b[i % 5])
            memo[i, j] = math.tanh(above + 0.5 * left)
    return sum(x * (i - j) for (i, j), x in memo.items())


def removed(a: Any, b: Any) -> Any:
    held: dict[int, Any] = {}
    total = 0.0
    for t in range(60):
        held[t % 11] = a[t % 4] * b[t % 5]
        if t % 3 == 0 and (t + 1) % 11 in held:
            total += held.pop((t + 1) % 11)
        if t % 7 == 5:
            del held[t % 11]
    order = 1.0
    for k, x in held.items():  # in the order in which they were put there again
        order = order * 0.7 + x * k
    return total * order


def by_text(a: Any, b: Any) -> Any:
    sums: defaultdict[str, Any] = defaultdict(float)
    names = ("ann", "bob", "cyd", "dan")
    for t in range(40):
        name = names[t * t % 4] if t % 5 else "eve"
        sums[name] += a[t % 4] * b[t % 5]
        if name == "ann":
            sums["bob"] *= 0.9
    return sum(math.sin(x) for x in sums.values()) * sums["eve"]


def walked(a: Any, b: Any) -> Any:
    seen: set[int] = set()
    waiting, total = [1], 0.0
    while waiting:
        n = waiting.pop()
        if n in seen or n > 90:
            continue
        seen.add(n)
        total += a[n % 4] * math.log(n + b[n % 5] ** 2)
        waiting.append(max(n // 2, 1))
        waiting.append(min(2 * n + n % 3, 91))
        if n % 10 == 9:
            seen.remove(n)
            seen.add(n)
    return total * len(seen)


def of_lists(a: Any, b: Any) -> Any:
    groups: dict[int, list] = {}
    for t in range(30):
        if t % 4 not in groups:
            groups[t % 4] = [a[t % 4]]
        groups[t % 4].append(b[t % 5] * t)
    groups[2] = [a[1], b[1]]
    return sum(sum(x * x for x in groups[k]) * k for k in groups)


def of_shared_lists(a: Any, b: Any) -> Any:
    groups: dict[int, list] = {}
    row = [a[0]]
    for t in range(24):
        groups[t % 3] = row
        groups[t % 3].append(b[t % 5] * t)
        if t % 8 == 5:
            row = [a[1]]
    total = 0.0
    for k in groups:
        for x in groups[k]:
            total = total * 0.95 + x * (k + 1)
    return total


def of_dicts(a: Any, b: Any) -> Any:
    groups: dict[int, dict[int, Any]] = {}
    for t in range(30):
        if t % 3 not in groups:
            groups[t % 3] = {}
        own = groups[t % 3]
        own[t % 5] = own.get(t % 5, a[t % 4]) * 0.5 + b[t % 5] * t
        if t % 7 == 6:
            del groups[t % 3][t % 5]
    return sum(sum(x * (j - k) for j, x in groups[k].items()) for k in groups)


def swapped(a: Any, b: Any) -> Any:
    new, old = {1: a[0]}, {1: b[1]}
    for t in range(24):
        new, old = old, new
        new[t % 3] = old.get(t % 3, a[2]) * 0.9 + b[t % 5]
    return sum(x * (k + 1) for k, x in new.items()) + sum(x * x for x in old.values())


def most_recent(a: Any, b: Any) -> Any:
    kept: dict[int, Any] = {}
    total = 0.0
    for t in range(60):
        k = (t * t + 3 * t) % 13
        if k in kept:
            kept[k] = kept.pop(k)
            total = total * 0.9 + kept[k]
        else:
            kept[k] = a[t % 4] * math.sin(k) + total * b[t % 5]
            if len(kept) > 4:
                del kept[next(iter(kept))]
    return total + sum(x * k for k, x in kept.items())


KERNELS = [counted, memoized, removed, by_text, walked, of_lists, of_shared_lists, of_dicts]
KERNELS += [swapped, most_recent]
A, B = np.sin(np.arange(4.0) + 0.4), np.cos(np.arange(5.0))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda f: f.__name__)
def test_kernels(kernel: Callable, check_machine_code: Callable) -> None:
    check_machine_code(kernel, lambda: (A.copy(), B.copy()), 1e-11)


def test_a_missing_key(made: list[Structured]) -> None:
    def kernel(a: Any) -> Any:
        found = {0: a[0]}
        for k in range(3):
            found[k * 2] = a[k] * 2.0
        return found[3]

    for _ in range(2):
        with pytest.raises(KeyError):
            gradient(kernel, A)


def with_none(a: Any, b: Any) -> Any:
    kept = []
    total = 0.0
    for k in range(40):
        if k % 3 == 0:
            kept.append(None)
        else:
            kept.append(a[k % 4] * k)
        if kept[k // 2] is None:
            kept[k // 2] = total * 0.1
        else:
            total += kept[k // 2] * b[k % 5]
    for x in kept:
        if x is not None:
            total = total * 0.9 + x
    return total


def test_lists_that_hold_none(check_machine_code: Callable) -> None:
    check_machine_code(with_none, lambda: (A.copy(), B.copy()), 1e-11)
