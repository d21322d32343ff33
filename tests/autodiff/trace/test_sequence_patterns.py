"""Sequence patterns of ``match``: arrays match them since NumPy 2.5, numbers never do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from tests.helpers import check_gradient


def pairs(x: Any) -> Any:
    match x[:2]:
        case [a, b]:
            return a * b
        case a:
            return a[0] * 5 + a[1] ** 2


def first_and_rest(x: Any) -> Any:
    match x:
        case [a, *rest]:
            return a * sum(r**2 for r in rest)
        case _:
            return np.sum(x**3)


def in_a_tuple(x: Any) -> Any:
    match ("point", x[1:3], 2.0):
        case ("point", [a, b] | [a, b, _], scale):
            return a * b**2 * scale
        case ("point", a, scale):
            return np.sum(a) * scale


def tree(node: Any) -> Any:
    match node:
        case ["+", a, b]:
            return tree(a) + tree(b)
        case ["*", a, b]:
            return tree(a) * tree(b)
        case [a]:
            return a * 100
        case number:
            return number


def expression(x: Any) -> Any:
    return tree(("+", ["*", x[0], x[1]], ("*", 3.0, x[2] ** 2)))


def complex_numbers(x: Any) -> Any:
    z = tree(("*", x[0] + 1j * x[1], ("+", x[2] * 1j, 2.0)))
    return z.real + z.imag**2


def of_dtype(x: Any) -> Any:
    total = 0.0
    for v in x:
        match v:
            case [_, *_]:
                total = total + 100 * v
            case np.float64():
                total = total + v**2
            case _:
                total = total + v**3
    return total


@pytest.mark.parametrize(
    "f",
    [pairs, first_and_rest, in_a_tuple, expression, complex_numbers, of_dtype],
    ids=lambda f: f.__name__,
)
def test_gradients(f: Callable) -> None:
    x = np.array([0.7, 0.45, 0.9])
    check_gradient(f, x)
    found = autodiff.compile(lambda x: autodiff.gradient(f, x))
    np.testing.assert_allclose(found(x), autodiff.gradient(f, x), rtol=1e-12)
    np.testing.assert_allclose(autodiff.jvp(f, (x,), (x,))[1], found(x) @ x, rtol=1e-12)
    second = autodiff.hessian(f, x)  # numbers are traced on two levels
    by_gradients = autodiff.jacobian(lambda x: autodiff.gradient(f, x), x)
    np.testing.assert_allclose(second, by_gradients, rtol=1e-12)


def test_float32() -> None:
    x = np.array([0.7, 0.45, 0.9], np.float32)
    found = autodiff.gradient(of_dtype, x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, 3 * x**2, rtol=1e-5)


def test_subclass() -> None:
    class Signal(np.ndarray):
        def __mul__(self, other: Any) -> Any:
            return np.multiply(self, other)

    x = np.array([0.7, 0.45, 0.9])
    check_gradient(lambda x: pairs(x.view(Signal)), x)
