"""Functions that have programs of their own, as functions of machine code."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff.structured import calls
from autodiff.structured.native import callees

X = np.array([0.3, -0.7, 0.5, 1.2, 0.1, -0.2])


@pytest.fixture(autouse=True)
def _programs_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls.Settings, "inlined", 0)


def polynomial(n, t):
    if n == 0:
        return 1.0
    if n == 1:
        return t
    return ((2 * n - 1) * t * polynomial(n - 1, t) - (n - 1) * polynomial(n - 2, t)) / n


def legendre(x):
    total = 0.0
    for i in range(len(x)):
        total = total + polynomial(i + 1, x[i]) * polynomial(3, total * 0.1)
    return total


def quadrature(lo, hi, u, depth):
    middle = 0.5 * (lo + hi)
    whole = (hi - lo) * math.sin(middle * u)
    if depth == 0 or abs(whole) < 0.02:
        return whole
    return quadrature(lo, middle, u, depth - 1) + quadrature(middle, hi, u, depth - 1)


def integrals(x):
    total = 0.0
    for i in range(len(x)):
        total = total + quadrature(x[i], 2.0, total + x[i], 6)
    return total


def around_loops(x):
    """The calls around the loop are machine code, too."""
    total = quadrature(x[0], x[1] + 2.0, x[2], 5)
    for i in range(len(x)):
        total = total * 0.9 + x[i]
    if total > 0.0:
        total = total * quadrature(x[3], total, 0.4, 3)
    return total * quadrature(total, x[3], x[4], 4)


def spring(x, v, k):
    a = -k * x
    w = v + 0.1 * a
    return x + 0.1 * w


def energy(x, v, k):
    y = spring(x, v, k)
    e = 0.5 * k * y * y
    return e + 0.5 * spring(v, y, 0.3) ** 2


def springs(x):
    y, v = x * 1.0, x[::-1] * 0.5
    total = 0.0
    for t in range(5):
        for i in range(len(y)):
            y[i] = spring(y[i], v[i], 1.0 + t)
            v[i] = spring(v[i], y[i], x[0])
            if energy(y[i], v[i], 1.0) > 0.3:
                total = total + energy(y[i], v[i], x[i])
    return total + np.sum(y)


@pytest.mark.parametrize("f", [legendre, integrals, springs])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_machine_code(f: Callable, kind: type, check_machine_code: Callable) -> None:
    x = X.astype(kind)
    rtol = 1e-11 if kind is np.float64 else 1e-4

    def loss(x: Any, y: Any) -> Any:
        return f(x) * np.sum(y)

    check_machine_code(loss, lambda: (x, x + 1.0), rtol=rtol, kernel=f)


def test_recursion_around_loops(made: list, traced: Callable) -> None:
    for _ in range(3):
        found = autodiff.gradient(around_loops, X)
        np.testing.assert_allclose(found, traced(around_loops, X), rtol=1e-11)
    (program,) = [p for p in made if p.name == "around_loops"]
    assert "quadrature" not in program.native.source


def test_each_function_is_lowered_once(made: list) -> None:
    def f(x):
        total = 0.0
        for i in range(len(x)):
            total = total + energy(x[i], spring(x[i], total, 0.3), spring(total, x[i], 0.2))
            total = total * 0.5 + energy(x[i], x[0], 0.5)
        return total

    autodiff.gradient(f, X)
    (program,) = [p for p in made if p.name == f.__qualname__]
    names = [f.name for f in program.native.module.callees.functions()]
    assert len(names) == len(set(names)) <= 12  # floats of Python's and of NumPy's are told apart
    assert program.native.source.count("spring") == 0


def countdown(x, n):
    if n == 0:
        return x
    return countdown(x * 0.99, n - 1) + 0.01


def test_deep_recursion_is_left_to_python(made: list, traced: Callable) -> None:
    def f(x):
        total = 0.0
        for i in range(3):
            total = total + countdown(x[i], callees._DEEPEST + 50)
        return total

    expected = traced(f, X)
    for _ in range(3):
        np.testing.assert_allclose(autodiff.gradient(f, X), expected, rtol=1e-11)
    assert any(p.bailouts for p in made)


def test_endless_recursion_is_an_error() -> None:
    def endless(x, n):
        if n < 0:
            return x
        return endless(x, n + 1) * 0.5

    def f(x):
        total = 0.0
        for i in range(3):
            total = total + endless(x[i], i)
        return total

    with pytest.raises(RecursionError):
        autodiff.gradient(f, X)
