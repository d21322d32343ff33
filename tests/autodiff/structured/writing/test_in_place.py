"""Operators that change arrays in place: so do their sweeps, and what is put back twice is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.runtime import Structured
from tests.helpers import check_gradient, define

X = np.array([0.3, -0.7, 0.5, 1.2, 0.1, -0.2, 0.9, 0.4])
Y = np.cos(np.arange(8.0))


def horner(x: Any, y: Any) -> Any:
    s = np.zeros_like(y)
    for a in x:
        s *= y
        s += a
    return np.sum(s**2)


def normalised(x: Any, y: Any) -> Any:
    p = x * x + 1.0
    total = 0.0
    for k in range(5):
        p *= np.exp(y) + k
        p /= p.sum()
        total = total + p[k] * p[0]
    return total


def parts(x: Any, y: Any) -> Any:
    z = x * 1.0
    for k in range(1, 6):
        z[k:] *= y[k]
        z[:k] /= y[:k] + 3.0
        z[k:] -= z[k - 1]
        z[1:] *= z[:1]
    return np.sum(z * y)


def overlapping(x: Any, y: Any) -> Any:
    z = x * y
    for _ in range(4):
        z[1:] *= z[:-1]
        z *= z[::-1]
        z *= z
        z[...] = y - z
        z[...] = z - y * 0.5
        z[:] = -z
    return np.sum(z)


def columns(x: Any, y: Any) -> Any:
    a = np.outer(x, y)
    for k in range(7):
        a[k + 1 :, k] /= a[k, k] + 2.0
        a[k:] *= y
        a *= x[k]
        a[:, k] **= 2
        a[k, :] = a[k, :] * x + y
    return np.sum(a)


def read_between(x: Any, y: Any) -> Any:
    z = x * 1.0
    total = 0.0
    for k in range(4):
        z *= y
        total = total + np.sum(np.sin(z)) * k
        z += x[k]
        w = z * y
        z *= w
        z[2] = x[k]
        z *= x
    return total + np.sum(z**3)


def arguments(x: Any, y: Any) -> Any:
    x *= 2.0
    for k in range(3):
        y *= x
        x /= y[k] + 3.0
        y += 1.0
        y *= 0.5
    return np.sum(y * x)


KERNELS = (horner, normalised, parts, overlapping, columns, read_between, arguments)


def loss(kernel: Callable) -> Callable:
    return lambda x, y: kernel(x * 1.0, y * 1.0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients(kernel: Callable, runs: list[str], traced: Callable) -> None:
    found = gradient(loss(kernel), X, Y)
    for a, b in zip(found, traced(loss(kernel), X, Y), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    assert kernel.__name__ in runs


@pytest.mark.parametrize("shape", [(1, 8), (8, 1)])
def test_broadcast(shape: tuple, runs: list[str], traced: Callable) -> None:
    def kernel(a: Any, b: Any) -> Any:
        for _ in range(3):
            a *= b
            a /= b * b + 2.0
        return np.sum(a**2)

    def f(a: Any, b: Any) -> Any:
        return kernel(a * 1.0, b * 1.0)

    args = np.outer(X, Y), np.cos(np.arange(8.0)).reshape(shape)
    for _ in range(2):
        for a, b in zip(gradient(f, *args), traced(f, *args), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    assert "kernel" in runs


def test_the_sources() -> None:
    source = Structured(horner, (None,) * 2, (X, Y), (0, 1)).source
    forward, sweep = source.split("def backward")
    assert " *= y" in forward
    assert " *= y" in sweep
    assert "fill(0.0)" not in sweep
    assert forward.count(".copy()") == 1  # `s += a` need not be undone


MADE_OF_ANOTHER = """
def squares(x):
    z = x * 1.0
    y = np.array(z{})
    for i in range(len(x)):
        y[i] = y[i] * z[i] * 2.0
    return np.sum(z * y)
"""


@pytest.mark.parametrize(
    "options, is_copy",
    [("", True), (", copy=True", True), (", copy=False", False), (", float, copy=None", False)],
)
def test_an_array_made_of_another_one_may_be_that_one(
    options: str, is_copy: bool, runs: list[str]
) -> None:
    name = f"<made of another{options}>"
    squares = define(MADE_OF_ANOTHER.format(options), name, {"np": np})["squares"]
    check_gradient(squares, X)
    assert ("squares" in runs) is is_copy


def test_what_two_arrays_are_contracted_to_is_written_into(runs: list[str]) -> None:
    def totals(x: Any) -> Any:
        total = 0.0
        for i in range(len(x)):
            y = np.einsum("i,i->i", x, x)
            y[i] = y[i] * x[i]
            total += np.sum(y)
        return total

    check_gradient(totals, X)
    assert "totals" in runs
