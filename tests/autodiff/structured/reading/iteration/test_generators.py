"""Generators of the user's that end early, are methods, or hand on what others yield."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autodiff import compile, gradient
from tests.helpers import check_gradient

X = np.array([0.7, 0.45, 0.9, 0.31, 0.62, 0.55])


def steps(y: Any, n: int) -> Iterator[tuple[int, Any]]:
    for k in range(n):
        y = y + 0.1 * np.sin(y)
        yield k, y


def blocks(n: int) -> Iterator[int]:
    k = 0
    while True:
        if k >= n:
            return
        yield k
        k += 1


def pairs(n: int) -> Iterator[tuple[int, int]]:
    for i in range(n):
        for j in blocks(i):
            yield i, j
    yield n, n


def all_of_them(y: Any) -> Iterator[Any]:
    yield from y
    yield from (v * 2.0 for v in y)
    for _, z in steps(y, 2):
        yield z[0]


class Mesh:
    def __init__(self, n: int, h: Any) -> None:
        self.n, self.h = n, h

    def cells(self, first: int = 0) -> Iterator[tuple[int, Any]]:
        for i in range(first, self.n):
            yield i, i * self.h

    @property
    def finer(self) -> Mesh:
        self.h = self.h * 0.5
        return self


class Model:
    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh


def broken(x: Any) -> Any:
    total = 0.0
    for k, y in steps(x, 50):
        total = total + np.sum(y) * k
        if total > 40.0:
            break
        total = total * 0.9
    return total


def breaks_inside(x: Any) -> Any:
    total = 0.0
    for i, j in pairs(5):
        if j == 2:
            continue
        if i == 4 and x[j] > 0.8:
            break
        total = total * 0.9 + x[i] * x[j]
    return total


def returns(x: Any) -> Any:
    total = 0.0
    for k in blocks(40):
        total = total + x[k % 6] ** 2
        if total > 3.0:
            return total * x[k % 6]
    return total


def handed_on(x: Any) -> Any:
    total = 0.0
    for v in all_of_them(x):
        total = total * 0.9 + v * v
        if total > 3.9:
            break
    return total


def of_a_method(x: Any) -> Any:
    model, total = Model(Mesh(6, x[0])), 0.0
    for i, h in model.mesh.cells(1):
        total += x[i] * h
        if total > 1.6:
            break
    for n, (i, h) in enumerate(model.mesh.cells()):
        total += h * n * x[i]
    return total


def one_in_another(x: Any) -> Any:
    total = 0.0
    for i in blocks(6):
        for j in blocks(6):
            if j > i:
                break
            total += x[i] * x[j]
        else:
            total = total * x[i]
            continue
        if total > 2.0:
            break
    return total


class Bond:
    def __init__(self, coupon: Any) -> None:
        self.coupon = coupon

    def flows(self) -> Iterator[tuple[int, Any]]:
        for k in range(1, 4):
            yield k, self.coupon * k

    def price(self, y: Any) -> Any:
        return sum(c * np.exp(-y * k) for k, c in self.flows())


class StepBond(Bond):
    def flows(self) -> Iterator[tuple[int, Any]]:
        for k, c in super().flows():
            if k > 2:
                return
            yield k, c * (1 + 0.1 * k)


def of_the_base_class(x: Any) -> Any:
    bond, total = StepBond(x[0]), 0.0
    for i in range(len(x)):
        for k, c in bond.flows():
            total = total + c * x[i] ** k
        total = total + bond.price(x[i])
    return total


@pytest.mark.parametrize(
    "f", [broken, breaks_inside, returns, handed_on, of_a_method, one_in_another,
          of_the_base_class],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_gradients(f: Callable, check_sweep: Callable, check_with_machine_code: Callable) -> None:
    check_sweep(f, X)
    check_with_machine_code(f, X)
    for backend in ("python", "native"):
        compiled = compile(lambda x: gradient(f, x), backend=backend)
        for x in (X, X * 1.1, X):
            np.testing.assert_allclose(compiled(x), gradient(f, x), rtol=1e-11)


def with_a_finally(x: Any) -> Any:
    y = x.copy()

    def values() -> Iterator[Any]:
        try:
            for v in y:
                yield v * v
        finally:
            y[0] = 3.0 * y[1]

    total = 0.0
    for v in values():
        total += v
        if total > 0.9:
            break
    return total * y[0]


def of_a_property(x: Any) -> Any:
    mesh, total = Mesh(6, x[0]), 0.0
    for i, h in mesh.finer.cells():
        total += x[i] * h
    return total


@pytest.mark.parametrize("f", [with_a_finally, of_a_property], ids=lambda f: f.__name__)
def test_others_are_right(f: Callable) -> None:
    check_gradient(f, X)
