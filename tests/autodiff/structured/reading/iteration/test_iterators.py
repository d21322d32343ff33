"""Iterators in functions that programs run: each item is computed when somebody takes it."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import value_and_gradient

X = np.array([0.3, -0.4, 0.7, 1.2, 0.5])


def of_a_loop(x: Any) -> Any:
    a, total = x.copy(), 0.0
    for v in (a[i] for i in range(5)):
        total += v * v
        a[:] = a * 0.5
    return total


def of_enumerate(x: Any) -> Any:
    a, total = x.copy(), 0.0
    for k, v in enumerate(a[i] * 2.0 for i in range(5)):
        total += v * v * k
        a[:] = a * 0.5
    return total


def of_zip(x: Any) -> Any:
    a, total = x.copy(), 0.0
    for v, w in zip((a[i] * x[0] for i in range(5)), x, strict=True):
        total += v * v * w
        a[:] = a * 0.5
    return total


def of_flat(x: Any) -> Any:
    a, total = np.outer(x, x[:2]), 0.0
    for i, v in enumerate(x.flat):
        total += v * v * i
    turned = a.T
    for v, w in zip(a.flat, turned.flat, strict=True):
        total += v * w + a.flat[3] * turned.flat[3]
    return total


def of_map(x: Any) -> Any:
    a, total = x.copy(), 0.0

    def at(i: int) -> Any:
        return a[i]

    for v, w in zip(map(at, range(5)), map(operator.mul, x, a), strict=True):
        total += v * v + w
        a[:] = a * 0.5
    return total


def of_a_factor(x: Any) -> Any:
    factor, total = 1.0, 0.0
    for v in (factor * u for u in x):
        total += v
        factor = factor * 0.5 + v
    return total * factor


def of_takers(x: Any) -> Any:
    total = 0.0
    for k in range(6):
        total += sum(v * v * k for v in x) + max(u * k for u in x) + sum(map(math.sin, x))
        a, b = (v * k for v in x[:2])
        total += a * b + [*(u * 2.0 for u in (a, b))][1] + sum(list(map(operator.mul, x, x)))
    return total


def of_reductions(x: Any) -> Any:
    total = 0.0
    for k in range(6):
        total += functools.reduce(lambda a, b: a * 0.5 + b, [v * k for v in x])
        total += functools.reduce(operator.add, x, 1.0) * k
        m = functools.reduce(np.matmul, [np.outer(x, x) * v for v in x[:3]])
        total += m[0, 1] + functools.reduce(lambda a, b: a * b, (v + k for v in x))
    return total


def of_truths(x: Any) -> Any:
    total = 0.0
    for k in range(8):
        if any(v * k > 2.0 for v in x) and not all(v > -0.1 * k for v in x):
            total += x[k % 5] ** 2
        if all(map(math.isfinite, x)) or any(x):
            total += x[0] * k
    return total


def of_pairs(x: Any) -> Any:
    total = 0.0
    for a, b in itertools.pairwise(x):
        total += (b - a) ** 2 * a
    items = [v * 2.0 for v in x]
    for _ in range(3):
        total += sum(u * v for u, v in itertools.pairwise(items))
    return total


def of_ranges(x: Any) -> Any:
    a, total, n = np.sin(x), 0.0, len(x)
    for k in range(4):
        order = range(n) if k % 2 == 0 else range(n - 1, -1, -1)
        for i in order:
            total = total * a[i] + x[k] * i
        if k > 1:
            turns = range(0, n, 2)
            total += x[0] * k
        else:
            turns = range(1, k + 2)
        for i, j in enumerate(reversed(turns)):
            total += a[j] * i * len(turns)
        total += sum(list(turns)) * x[k] + len(tuple(order)) * a[k]
    return total


def of_slices(x: Any) -> Any:
    items, total = [x[0] * 1.0], 0.0
    for k in range(1, 5):
        total += sum(math.sin(v) * x[k] for v in items[: k - 1])
        items.append(x[k] * total + x[k])
    for a, b in zip(items[:-2], items[2:], strict=True):
        total += a * b
    for k, v in enumerate(items[3::-1]):
        total += v * k
    return total


def of_slices_that_change(x: Any) -> Any:
    items, total = [v * 1.0 for v in x], 0.0
    same = items
    for v in items[:4]:  # writes by another name, and a list that shrinks and grows
        same[2] = v * 5.0
        same.pop()
        same.append(v * v)
        total += v * total + v
    for v in items[1:]:
        items = items[1:]
        total += v * len(items)
    items = [v * 1.0 for v in x]

    def changed() -> list:
        items[1] = items[0] * 7.0
        return [u * u for u in items]

    for v, u in zip(items[:3], changed(), strict=False):
        total += v * u
    rows = [[x[0], x[1]], [x[2], x[3]]]
    for row in rows[1:]:
        row[0] = row[0] * total
        for v in row[:]:
            total += v * v
    return total


READ = [of_ranges,
        of_slices, of_slices_that_change, of_a_loop, of_enumerate, of_zip, of_flat, of_map,
        of_a_factor, of_takers, of_reductions, of_truths, of_pairs]  # fmt: skip


def kept_for_later(x: Any) -> Any:
    a, total = x.copy(), 0.0
    items = (a[i] for i in range(5))
    a[:] = 2.0 * a
    for v in items:
        total += v
    return total * total


def given_to_a_function(x: Any) -> Any:
    def taken(items: Any, a: Any) -> Any:
        a[:] = a * 2.0
        return sum(items)

    a, total = x.copy(), 0.0
    for _ in range(3):
        total += taken((v * v for v in a), a)
    return total


def of_counts(x: Any) -> Any:
    total, y = 0.0, x[0]
    for t in itertools.count():
        if t == 2:
            continue
        y = y * 0.5 + x[t % 5]
        total += y * t
        if t > 6:
            break
    for h in itertools.count(0.25, 0.25):
        total = total * h
        if total * total < 1e-3 or h > 1.0:
            return total + h
    return total


def check(f: Callable, traced: Callable) -> None:
    for _ in range(2):
        value, found = value_and_gradient(f, X)
        np.testing.assert_allclose(value, f(X), rtol=1e-14)
        np.testing.assert_allclose(found, traced(f, X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("f", [*READ, of_counts, kept_for_later, given_to_a_function])
def test_by_a_program(f: Callable, traced: Callable, runs: list[str]) -> None:
    check(f, traced)
    assert f.__name__ in runs


def of_iterators_from_their_end(x: Any) -> Any:
    total = 0.0
    for _, v in reversed(enumerate(x)):  # type: ignore[call-overload] # it raises
        total += v
    return total


def test_iterators_have_no_end(traced: Callable) -> None:
    for _ in range(2):
        with pytest.raises(TypeError):
            value_and_gradient(of_iterators_from_their_end, X)


def pairs_that_are_written(x: Any) -> Any:
    a, total = x.copy(), 0.0
    for k, (v, w) in enumerate(itertools.pairwise(a)):
        total += v * w
        a[k + 1] = total * 0.1
    return total


def pairs_of_a_list_that_grows(x: Any) -> Any:
    items, total = [], 0.0
    for v in x:
        items.append(v * v)
    for v, w in itertools.pairwise(items):
        total += v * w
        if len(items) < 8:
            items.append(v)
    return total


def products_that_are_written(x: Any) -> Any:
    a, total, k = x.copy(), 0.0, 0
    for v, w in itertools.product(a, x):
        total += v * w
        a[k % 5] = total * 0.1
        k = k + 1
    return total


def combinations_that_are_written(x: Any) -> Any:
    a, total, k = x.copy(), 0.0, 0
    for v, w in itertools.combinations(a, 2):
        total += v * w * w
        a[(k + 2) % 5] *= 0.9
        k = k + 1
    return total


def combinations_of_a_list_that_grows(x: Any) -> Any:
    items, total = [], 0.0
    for v in x:
        items.append(v * v)
    for v, w in itertools.combinations(items, 2):
        total += v * w
        items.append(v)
    return total


def beside_a_comprehension(x: Any) -> Any:
    items, total = [], 0.0
    for v in x[:2]:
        items.append(v * v)
    for v, w in zip(items, [u * 2.0 for u in x], strict=False):
        total += v * w
        items.append(v * 0.5)
    return total


def one_item_too_many(x: Any) -> Any:
    a, total = x.copy(), 0.0

    def halved(i: int) -> Any:
        a[0] *= 0.5
        return x[i]

    for v, w in zip((halved(i) for i in range(5)), x[:3], strict=False):
        total += v * w
    return total + a[0]


@pytest.mark.parametrize(
    "f",
    [
        pairs_that_are_written,
        pairs_of_a_list_that_grows,
        products_that_are_written,
        combinations_that_are_written,
        combinations_of_a_list_that_grows,
        beside_a_comprehension,
        one_item_too_many,
    ],
)
def test_changed_in_the_loop(f: Callable, traced: Callable, runs: list[str]) -> None:
    """Items that were taken before: such a function is traced."""
    check(f, traced)
    assert f.__name__ not in runs


def filled_before(x: Any) -> Any:
    a, total = np.empty(5), 0.0
    for i in range(5):
        a[i] = x[i] * x[i]
    for v, w in itertools.pairwise(a):
        total += (v - w) ** 2
    a[0] = 1.0
    for v, w in itertools.combinations(a, 2):
        total += v * w
    return total


def any_up_to_the_first(x: Any) -> Any:
    seen = 0.0

    def is_large(i: int) -> bool:
        nonlocal seen
        seen = seen + x[i] * x[i]
        return x[i] > 0.6

    if any(is_large(i) for i in range(5)):
        seen = seen * 2.0
    if any(is_large(i) for i in (0, 2, 4)):
        seen = seen * 3.0
    return seen


def all_up_to_the_first(x: Any) -> Any:
    a, total = x.copy(), 0.0

    def is_positive(v: Any, k: int) -> bool:
        a[k] *= 1.5
        return v > 0.0

    for n in range(1, 5):
        if all(is_positive(x[i], i) for i in range(n) if i != 2):
            total += x[n]
        if not all(is_positive(x[i] * x[j], j) for i in range(n) for j in range(i)):
            total += x[n] * x[0]
    return total + a.sum()


def nothing_behind_the_first(x: Any) -> Any:
    return x[0] * x[1] if any(x[i] > 0.6 for i in range(9)) else x[2]


def product_of_what_a_product_makes(x: Any) -> Any:
    def squares(n: int) -> Any:
        made = np.zeros(n)
        for i, j in itertools.product(range(n), range(n)):
            made[i] += x[i] * x[j]
        return made

    total, x2 = 0.0, x[0]
    for u, v, w in itertools.product(x[:2], squares(3), x[3:]):
        total = total * 0.9 + u * v * w * x2
    return total


def first_key_once(x: Any) -> Any:
    a = x.copy()

    def measured(v: Any) -> Any:
        a[0] *= 1.5
        return v * a[0]

    return min((measured(v) for v in x), key=lambda v: -v) + a[0]


@pytest.mark.parametrize(
    "f",
    [
        filled_before,
        any_up_to_the_first,
        all_up_to_the_first,
        nothing_behind_the_first,
        product_of_what_a_product_makes,
        first_key_once,
    ],
)
def test_computed_in_time(f: Callable, traced: Callable, runs: list[str]) -> None:
    """What is written before and behind a loop does no harm; nor what nobody computes."""
    check(f, traced)
    assert f.__name__ in runs


def reduced_with_what_changes(x: Any) -> Any:
    seen = 1.0

    def added(a: Any, b: Any) -> Any:
        nonlocal seen
        seen = seen + a
        return a * 0.5 + b

    return functools.reduce(added, (v * seen for v in x)) + seen


def measured_with_what_changes(x: Any) -> Any:
    seen = 1.0

    def measure(v: Any) -> Any:
        nonlocal seen
        seen = seen + 0.5
        return v

    return max((v * seen for v in x), key=measure) * seen


def summed_as_it_changes(x: Any) -> Any:
    a = x.copy()

    def halved(i: int) -> Any:
        a[:] = a * 0.5
        return a

    return sum(halved(i) for i in range(3)).sum()  # type: ignore[attr-defined] # an array


def summed_as_it_is_made(x: Any) -> Any:
    def scaled(i: int) -> Any:
        made = np.zeros(5)
        made[i] = x[i] * x[i]
        return made

    return sum(scaled(i) for i in range(5)).sum()  # type: ignore[attr-defined] # an array


@pytest.mark.parametrize(
    "f", [reduced_with_what_changes, measured_with_what_changes, summed_as_it_is_made]
)
def test_taken_one_by_one(f: Callable, traced: Callable, runs: list[str]) -> None:
    check(f, traced)
    assert f.__name__ in runs


def test_a_sum_of_one_array_that_changes(traced: Callable, runs: list[str]) -> None:
    check(summed_as_it_changes, traced)
    assert runs == []


def sums_of_numbers(x: Any) -> Any:
    n, total = len(x), 0.0
    for k in range(3):
        total += sum(math.sin(v) * k for v in x) / (1 + sum(j for j in range(k)))
        total += sum(x[i] * x[j] for i in range(n) for j in range(i) if i != 2)
        total += sum([sum(u * v for u in x) * v for v in x]) + sum(1 for v in x if v > 0.0) * x[k]
        total += sum(v for v in x if v > 100.0) + sum(v if v > 0.4 else 2 for v in x)
        total += abs(sum(v * 1j**i for i, v in enumerate(x)))
    return total


def sums_of_arrays(x: Any) -> Any:
    total = sum(x * v for v in x) + sum(x[:2] * k for k in range(len(x)) if k > 1)[0]
    for k in range(3):
        total = total + sum(sum(x * v for v in x) * i for i in range(k + 1))
    return np.sum(total) + sum(np.sum((x - 0.1 * k) ** 2) for k in range(len(x)))


@pytest.mark.parametrize("kernel", [sums_of_numbers, sums_of_arrays])
def test_sums_of_comprehensions(kernel: Callable, check_two_calls: Callable) -> None:
    check_two_calls(kernel, X)
