"""The tree of a sum: the same whoever is first, and whoever adds a part of it."""

import math
import random

import numpy as np
import pytest

from autodiff.distributed.tree import TreeSum, group_size


def summed(terms, order, combine=lambda a, b: a + b):
    tree = TreeSum(len(terms), combine)
    for place in order:
        tree.add(place, terms[place])
    assert not tree.pending
    return tree.total


def as_text(a, b):
    return f"({a}{b})"


@pytest.mark.parametrize(
    "count, expected",
    [(1, "0"), (2, "(01)"), (3, "((01)2)"), (5, "(((01)(23))4)"), (7, "(((01)(23))((45)6))")],
)
def test_its_shape(count, expected):
    terms = list(map(str, range(count)))
    assert summed(terms, range(count), as_text) == expected
    assert summed(terms, range(count)[::-1], as_text) == expected


@pytest.mark.parametrize("count", [1, 2, 6, 37, 64, 65])
def test_groups_of_neighbours_are_parts_of_it(count):
    numbers = np.random.default_rng(count).normal(size=count) * 10.0 ** np.arange(count % 20, 20)[0]
    numbers = numbers**9
    whole = summed(numbers, range(count))
    for size in (1, 2, 4, 8, 16):
        groups = [list(numbers[i : i + size]) for i in range(0, count, size)]
        parts = [summed(group, range(len(group))) for group in groups]
        order = list(range(len(parts)))
        random.Random(size).shuffle(order)
        assert summed(parts, order) == whole
    assert whole == pytest.approx(math.fsum(numbers), rel=1e-12)


def test_few_sums_wait():
    count, late = 1024, [5, 300, 301, 900]
    tree, most = TreeSum(count, lambda a, b: a + b), 0
    for place in [i for i in range(count) if i not in late] + late:
        tree.add(place, 1)
        most = max(most, len(tree.pending))
    assert tree.total == count
    assert most <= (len(late) + 1) * math.log2(count)
    in_order = TreeSum(count, lambda a, b: a + b)
    for place in range(count):
        in_order.add(place, 1)
        assert len(in_order.pending) <= math.log2(count)


@pytest.mark.parametrize("count, tasks, size", [(1, 8, 1), (8, 8, 1), (17, 8, 2), (512, 8, 64)])
def test_groups(count, tasks, size):
    assert group_size(count, tasks) == size
