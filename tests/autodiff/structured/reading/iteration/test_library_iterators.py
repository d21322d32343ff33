"""Iterators of `itertools`, and iterators in variables: an item is taken when Python takes it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import value_and_gradient

X = np.array([0.3, -0.4, 0.7, 1.2, 0.5, 0.9, -0.2, 0.6])


def of_slices(x: Any) -> Any:
    total = 0.0
    it = iter(x)
    while part := list(itertools.islice(it, 3)):
        total = total * 0.9 + sum(part) / len(part)
    items = iter([v * v for v in x])
    for k, v in enumerate(itertools.islice(items, 1, 6, 2)):
        total += v * k
    for v in items:
        total += v * 3.0
    for v in itertools.islice((u * u for u in x), 2):
        total += v
    for v in itertools.islice(itertools.count(1), 2, 5):
        total += x[v] * v
    return total


def of_groups(x: Any) -> Any:
    total = 0.0
    for is_large, group in itertools.groupby(x, key=lambda v: v > 0.4):
        area, n = 0.0, 0
        for v in group:
            area += v * v if is_large else v
            n += 1
        total += area * area / n
    for key, group in itertools.groupby(sorted(range(8), key=lambda i: i % 3), lambda i: i % 3):
        taken = list(group)
        total += sum(x[i] for i in taken) * key + len(list(group))  # noqa: B031 # nothing is left
    for v, group in itertools.groupby([v * v for v in x]):
        if v > 0.2:
            continue
        total += sum(group)
    return total


def of_conditions(x: Any) -> Any:
    total = 0.0
    items = [v * 1.5 for v in x]
    for v in itertools.takewhile(lambda u: u < 1.6, items):
        total += v * v
    for v in itertools.dropwhile(lambda u: u < 1.6, items):
        total += v * v * 2.0
    for v in itertools.filterfalse(lambda u: u < 0.5, items):
        total += v * v * 3.0
    total += sum(itertools.compress(x, [1, 0, 1, 1, 0, 0, 1, 1]))
    total += sum(itertools.starmap(math.pow, [(1.0 + v * v, 2) for v in x]))
    total += sum(itertools.starmap(lambda a, b: a * b, zip(x, items, strict=True)))
    return total


def of_nested_lists(x: Any) -> Any:
    rows = [[x[i] * x[j] for j in range(i + 1)] for i in range(5)]
    total = 0.0
    for k, v in enumerate(itertools.chain.from_iterable(rows)):
        total += v * k
    for v, w in itertools.permutations(rows[3], 2):
        total += v * w * w
    for v, w in itertools.zip_longest(rows[2], rows[4], fillvalue=0.5):
        total += v * w
    return total


def of_endless_ones(x: Any) -> Any:
    total = 0.0
    for v, sign in zip(x, itertools.cycle([1.0, -2.0, 3.0]), strict=False):
        total += v * v * sign
    for v, c in zip(x, itertools.repeat(x[0]), strict=False):
        total += v * c
    for k in itertools.cycle(range(5)):
        total = total * 0.7 + x[k]
        if total > 1.0 or k == 4:
            break
    for _ in itertools.repeat(None, 3):
        total = total * x[1]
    return total


def of_variables(x: Any) -> Any:
    total = 0.0
    pairs, numbered = zip(x, x[2:], strict=False), enumerate(x)
    squares = (v * v for v in x if v > 0.0)
    backwards, scaled = reversed(x), map(math.sin, x)
    for a, b in pairs:
        total += a * b
    for i, v in numbered:
        total += v * i
    for v in squares:
        total += v * total
    for (k, v), w in zip(enumerate(backwards), scaled, strict=False):
        total += v * w * k
    return total + sum(x[i] for i, _ in filter(lambda pair: pair[1] > 0.0, enumerate(x)))


def of_parameters(x: Any) -> Any:
    def summed(items: Any, weight: Any) -> Any:
        total = 0.0
        for v in items:
            total = total * 0.9 + v * weight
        return total

    total = summed((v * v for v in x), x[0]) + summed(map(math.cos, x), x[1])
    total += summed((u * v for u in x[:3] for v in x if v > u), 2.0)
    return total + summed(reversed(x), total) + summed(iter(x), 0.5)


def of_arrays(x: Any) -> Any:
    it = iter(x)
    last, total = next(it), 0.0
    for v, w in zip(it, x[1:], strict=True):
        total += (v - last) * w
        last = v
    rows = iter(np.outer(x, x))
    first = next(rows)
    for row in rows:
        total += np.sum(row * first)
        first = row
    return total


def of_a_generator_in_a_variable(x: Any) -> Any:
    def walk(start: Any) -> Any:
        v = start
        while True:
            v = v * 0.9 + x[1]
            yield v

    steps, total = walk(x[0]), 0.0
    for k, v in enumerate(steps):
        total += v * v
        if k > 5:
            break
    return total


def taken_late(x: Any) -> Any:
    a, scale, total = x.copy(), 1.0, 0.0
    items = (a[i] * scale for i in range(5))
    a[:] = 2.0 * a
    scale = x[0]
    for v in items:
        total += v
        scale = scale + v
    return total * total


READ = [
    of_slices,
    of_groups,
    of_conditions,
    of_nested_lists,
    of_endless_ones,
    of_variables,
    of_parameters,
    of_arrays,
    of_a_generator_in_a_variable,
    taken_late,
]


@pytest.mark.parametrize("f", READ, ids=lambda f: f.__name__)
def test_gradients(f: Callable, check_two_calls: Callable, check_arrays: Callable) -> None:
    check_two_calls(f, X)
    check_arrays(f, X)


def taken_twice(x: Any) -> Any:
    pairs, total = zip(x, x[2:], strict=False), 0.0
    for a, b in pairs:
        total += a * b
    for a, b in pairs:
        total += a + b
    return total


def taken_in_each_turn(x: Any) -> Any:
    squares, total = (v * v for v in x), 0.0
    for k in range(3):
        for v in squares:
            total += v * (k + 1)
    return total


def pairs_of_one_iterator(x: Any) -> Any:
    it, total = iter(x), 0.0
    for a, b in zip(it, it, strict=False):
        total += a * b
    return total


def grouped_while_it_changes(x: Any) -> Any:
    a, total = x.copy(), 0.0
    for is_large, group in itertools.groupby(a, key=lambda v: v > 0.4):
        for v in group:
            total += v if is_large else v * v
        a[5:] = a[5:] * 0.5 + total
    return total


def grouped_by_what_changes(x: Any) -> Any:
    limit, total = 0.4, 0.0
    for is_large, group in itertools.groupby(x, key=lambda v: v > limit):
        for v in group:
            total += v if is_large else v * v
        limit = limit + 0.1
    return total


def grouped_by_the_last_item(x: Any) -> Any:
    total, v, best = 0.3, 0.2, None
    for k in range(2):
        for v, w in itertools.combinations(x, 2):
            v = v * 0.5 * k
            total += w
    for is_large, group in itertools.groupby(x, lambda u: u > v):  # noqa: B023
        for v in group:
            total += v if is_large else v * v
            best = (v, total)
    return total + best[0]


def cycled_while_it_changes(x: Any) -> Any:
    a, total = [v * 1.0 for v in x], 0.0
    for k, v in zip(range(20), itertools.cycle(a), strict=False):
        total += v * k
        a[k % 8] = total
    return total


def accumulated_as_it_changes(x: Any) -> Any:
    decay, total = 0.9, 0.0
    for v in itertools.accumulate(x, lambda a, b: a * decay + b):  # noqa: B023
        total += v * v
        decay = decay * 0.8
    return total


@pytest.mark.parametrize(
    "f",
    [
        taken_twice,
        taken_in_each_turn,
        pairs_of_one_iterator,
        grouped_while_it_changes,
        grouped_by_what_changes,
        grouped_by_the_last_item,
        cycled_while_it_changes,
        accumulated_as_it_changes,
    ],
    ids=lambda f: f.__name__,
)
def test_what_is_traced(f: Callable, traced: Callable) -> None:
    for _ in range(2):
        value, found = value_and_gradient(f, X)
        np.testing.assert_allclose(value, f(X), rtol=1e-14)
        np.testing.assert_allclose(found, traced(f, X), rtol=1e-12, atol=1e-12)


def of_names_that_are_bound_again(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        it = zip(x, x[2:], strict=False)
        for a, b in it:
            total += a * b * k
        it = itertools.chain.from_iterable([[x[k]], x[:2]])
        for v in it:
            total += v * total
        if k == 1:
            it = reversed(x)
            total += sum(it)
    return total + sum(x) * sum(np.outer(x, x))[1]


def of_products(x: Any) -> Any:
    total = 0.0
    for a, b in itertools.product(range(2), repeat=2):
        total += x[a] * x[b + 1] * (a + 1)
    for spins in itertools.product((-1, 1), repeat=3):
        energy = 0.0
        for i in range(2):
            energy += spins[i] * spins[i + 1] * x[i]
        total += np.exp(energy)
    return total + sum(x[a] * x[b] for a, b in itertools.product([0, 2], repeat=2))


def test_products_with_themselves(check_two_calls: Callable) -> None:
    check_two_calls(of_products, X)


def bound_again_in_a_branch(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        it = iter(x)
        if k > 0:
            it = iter(x[4:])
        for v in it:
            total += v * v * (k + 1)
    return total


def test_names_bound_again(check_two_calls: Callable, traced: Callable) -> None:
    check_two_calls(of_names_that_are_bound_again, X)
    test_what_is_traced(bound_again_in_a_branch, traced)


def groups_of_a_chain(a: Any, ys: Any) -> Any:
    ys, t = list(ys), 0.0
    for k, group in itertools.groupby(itertools.chain(a[1:4], ys), lambda x: x > 0.1):
        t += sum(group) * (1 + k)
        ys[1] = a[0] * 3
    return t + sum(ys)


def groups_of_an_expression(a: Any, ys: Any) -> Any:
    t, c = 0.0, 0.5
    for k, group in itertools.groupby((c * y for y in ys), lambda x: x > 0.1):
        t += sum(group) * (1 + k)
        c = c * a[0]
    return t


def turns_of_a_chain(a: Any, ys: Any) -> Any:
    a, t = a * 1.0, 0.0
    for i, x in zip(range(6), itertools.cycle(itertools.chain(a[:2], a[1:2]))):
        t += x * i * ys[0]
        a[1] = 0.5 * a[1]
    return t


@pytest.mark.parametrize("f", [groups_of_a_chain, groups_of_an_expression, turns_of_a_chain])
def test_a_list_made_ahead_of_what_the_loop_changes(f: Callable, traced: Callable) -> None:
    ys, a = [0.3, 0.4, -0.3, 0.2], np.array([0.5, 0.3, 0.05, 0.9, -1.0])
    value, slopes = value_and_gradient(lambda a: f(a, ys) * 1.0, a)
    np.testing.assert_allclose(value, f(a, ys), rtol=1e-12)
    np.testing.assert_allclose(slopes, traced(lambda a: f(a, ys) * 1.0, a), rtol=1e-12)
