"""Objects of the user's classes as arguments of functions that are compiled by themselves."""

import copy
import math
from dataclasses import dataclass

import numpy as np
import pytest

from autodiff import autocompile, gradient
from autodiff.autocompile import call_records

pytestmark = pytest.mark.usefixtures("soon")


@dataclass
class Bond:
    maturity: float
    coupon: float

    def value(self, r):
        return self.coupon * math.exp(-r * self.maturity)

    @property
    def half(self):
        return 0.5 * self.maturity


class Perpetual(Bond):
    def value(self, r):
        return self.coupon / r


class Node:
    scale = 2.0

    def __init__(self, weight, children):
        self.weight = weight
        self.children = children

    def total(self, x):
        parts = [child.total(x) for child in self.children]
        return np.sum(self.scale * self.weight * x) + sum(parts)


class Counter:
    def __init__(self):
        self.n = 0

    def count(self):
        self.n += 1
        return self.n


def worth(p, bonds):
    total = 0.0
    for bond in bonds:
        total += p[0] * bond.value(p[1]) + bond.half * p[0]
    return total


def of_tree(x, node):
    return node.total(x) ** 2


def as_written(f, *args):
    autocompile.Settings.enabled = False
    try:
        return gradient(f, *copy.deepcopy(args), argnums=0)
    finally:
        autocompile.Settings.enabled = True


def bonds(k, cls=Bond):
    return [cls(1.0 + i + k, 0.1 * k + i) for i in range(3)]


def tree(w, scale=None):
    node = Node(w, [Node(2.0, []), Node(3.0, [Node(0.5 * w, [])])])
    if scale is not None:
        node.scale = scale
    return node


CALLS = [
    (worth, [0.1, 0.2], [bonds(0), bonds(1), bonds(1) + bonds(2), bonds(0, Perpetual), bonds(1)]),
    (of_tree, 0.5, [tree(1.0), tree(2.0), Node(1.0, []), tree(1.0, 5.0), tree(np.ones(3))]),
]


def check(f, *args):
    np.testing.assert_allclose(gradient(f, *args, argnums=0), as_written(f, *args), rtol=1e-12)


def variants():
    return sum(len(record.variants) for record in call_records.records.values())


@pytest.mark.parametrize("f, x, given", CALLS)
def test_each_call_reads_the_objects_anew(f, x, given):
    for _ in range(4):
        for y in given:
            check(f, x, y)
    assert variants() > 1


@pytest.mark.parametrize(
    "f, x, y, cls, name, value",
    [
        (worth, [0.1, 0.2], bonds(0), Bond, "value", lambda self, r: self.coupon * r),
        (worth, [0.1, 0.2], bonds(0), Bond, "half", property(lambda self: 9.0)),
        (of_tree, 0.5, tree(1.0), Node, "scale", 7.0),
        (of_tree, 0.5, tree(1.0), Node, "__getattribute__",
         lambda self, n: 3.0 if n == "weight" else object.__getattribute__(self, n)),
    ],
)  # fmt: skip
def test_a_class_that_changes(f, x, y, cls, name, value, monkeypatch):
    for _ in range(4):
        check(f, x, y)
    assert variants()
    monkeypatch.setattr(cls, name, value, raising=False)
    check(f, x, y)


def test_an_attribute_that_changes():
    bond = Bond(1.0, 2.0)
    for k in range(6):
        bond.coupon = 0.3 * k
        check(worth, [0.1, 0.2], [bond])
    assert variants() == 1


def test_what_changes_or_is_several_runs_as_it_is_written():
    counter, bond, node = Counter(), Bond(1.0, 2.0), tree(1.0)
    node.itself = node
    assert [gradient(lambda x, c: x * c.count(), 0.5, counter, argnums=0) for _ in range(6)] == [
        1.0, 2.0, 3.0, 4.0, 5.0, 6.0,
    ]  # fmt: skip
    for _ in range(4):
        check(worth, [0.1, 0.2], [bond, bond])
        check(of_tree, 0.5, node)
    assert not variants()
