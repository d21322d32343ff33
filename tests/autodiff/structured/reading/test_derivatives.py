"""Gradients inside loops: each is one operation of the program that the loop is read as."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import compile, gradient
from autodiff.structured import calls
from autodiff.structured.callables.inner_derivatives import InnerDerivative
from chainrules_core import scalar_rule

A = np.array([[1.0, 0.5, -0.3], [0.2, 0.8, 0.4], [0.1, -0.6, 0.7], [0.9, 0.3, 0.2]])
B = np.array([0.3, -0.2, 0.5, 0.1])
ROWS = np.linspace(-1.0, 1.0, 18).reshape(6, 3)
X = np.array([0.4, -0.7, 1.1])


def ridge(w: Any, strength: Any) -> Any:
    r = A @ w - B
    return r @ r + np.exp(strength) * (w @ w)


def of_globals(strength: Any) -> Any:
    w = np.zeros(3)
    for _ in range(6):
        w = w - 0.1 * gradient(ridge, w, strength, argnums=0)
    return np.sum((A @ w - B) ** 2)


def of_a_lambda(strength: Any) -> Any:
    w = np.zeros(3)
    for _ in range(6):
        w -= 0.1 * gradient(lambda w: ridge(w, strength), w)
    return np.sum((A @ w - B) ** 2)


def on_row(w: Any, rows: Any, i: int) -> Any:
    return np.sum(np.tanh(rows[i] * w) ** 2)


def by_rows(w: Any) -> Any:
    for i in range(len(ROWS)):
        w = w - 0.3 * gradient(on_row, w, ROWS, i, argnums=0)
    return np.sum(w * w)


def of_parts(w: Any) -> Any:
    """The inner functions capture arrays and the counter."""
    n, targets = len(ROWS), A[:, 0]
    i = 0

    def loss(u: Any) -> Any:
        later = ROWS[i + 1] if i + 1 < len(ROWS) else ROWS[i - 1]
        others = sum([u[k] * ROWS[k, 0] for k in range(3)])
        return np.sum(np.tanh(ROWS[i] * u) ** 2) + later @ u * targets[i % 4] + others * i

    for i in range(n):
        w = w - 0.1 * gradient(lambda u: loss(u) * ROWS[-i - 1, i % 3] + u @ u, w)  # noqa: B023
    return np.sum(w * w)


def of_tasks(w: Any) -> Any:
    def task(u: Any, x: Any) -> Any:
        r = np.tanh(x * u) - 0.3
        return np.mean(r * r)

    total = 0.0
    for x in ROWS:
        v = w
        for _ in range(3):
            v = v - 0.1 * gradient(lambda u: task(u, x), v)  # noqa: B023 - called at once
        total = total + task(v, x)
    return total


def with_momentum(x: Any) -> Any:
    u, m = np.zeros(3), np.zeros(3)
    for _ in range(5):
        by_u, by_x = gradient(lambda u, x: np.sum((u - x) ** 4), u, x)
        m = 0.9 * m + by_u
        u = u - 0.01 * m + 0.001 * by_x
    return np.sum(u * x)


def by_newton(x: Any) -> Any:
    y, n = 1.0, 0
    while abs(y * y * y - x) > 1e-9 and n < 50:
        y = y - (y * y * y - x) / gradient(lambda y: y * y * y - x, y)
        n += 1
    return y


def by_second_derivatives(x: Any) -> Any:
    y = 1.0
    for _ in range(6):
        slope = gradient(lambda z: math.exp(z) - x * z, y)
        y = y - slope / gradient(lambda y: gradient(lambda z: math.exp(z) - x * z, y), y)
    return y


def of_loops_and_branches(x: Any) -> Any:
    def total(q: Any) -> Any:
        s = 0.0
        for i in range(len(q)):
            s = s + q[i] * np.sin(s + x) if q[i] > 0.5 else s * q[i]
        return s

    y = np.array([1.0, 0.3, 0.7])
    for _ in range(4):
        y = y - 0.1 * gradient(total, y)
    return np.sum(y)


def of_changing_captures(a: Any) -> Any:
    s, c, kept = 1.0, np.zeros(3), []
    for i in range(6):
        c[i % 3] = s * a
        g = gradient(lambda q: np.sum(np.sin(c * q)) + q * a, s)
        kept.append(g)
        s = s - 0.1 * g
    return s * np.sum(c) + sum(kept)


def written_into(a: Any) -> Any:
    w, total = np.ones(3), 0.0
    for _ in range(3):
        g = gradient(lambda w: np.sum(w * w * a), w)
        w -= 0.1 * g
        g *= 2.0
        total = total + np.sum(g * w)
    return total


def of_float32(x: Any) -> Any:
    y = np.ones(3, np.float32)
    for _ in range(4):
        y = y - np.float32(0.1) * gradient(lambda q: np.sum(q * q * x), y)
    return np.sum(y)


def inner(w: Any, a: Any) -> Any:
    return w * w * a + np.sin(w)


def of_one_name(a: Any) -> Any:
    y = 0.5
    for _ in range(3):
        y = y - 0.1 * gradient(lambda w: inner(w, a), y)
    return y


def bound_later(a: Any) -> Any:
    def square(w: Any) -> Any:
        return w * w * s

    y = 0.5
    for i in range(3):
        s = a * i
        y = y - 0.1 * gradient(square, y)
    return y


def through_a_function_that_reads_arrays(a: Any) -> Any:
    y = 0.5
    for _ in range(3):
        y = y - 0.1 * gradient(lambda w: np.sum(ridge(A[0] * w, a)), y)
    return y


def at_constants(x: Any) -> Any:
    total = 0.0
    for i in range(3):
        total = total + gradient(lambda w: w * w * x * (i + 1), 1.5)  # noqa: B023
        total = total + gradient(lambda w, v: w * w * v, 0.5, x)[0]
        total = total + gradient(inner, 0.25, x, argnums=1) * x
    return total


def with_integers(x: Any) -> Any:
    order, low = np.array([2, 0, 1]), X < 0.0
    for i in range(4):
        x = x - 0.1 * gradient(lambda u: np.sum(u[order] * np.where(low, u, 0.5)) * i, x)  # noqa: B023
        order[i % 3] = i % 2
    return np.sum(x * x)


def of_a_default(a: Any) -> Any:
    y = 0.5
    for _ in range(3):
        y = y - 0.1 * gradient(lambda w, c=a: w * w * c, y)
    return y


READ: list[tuple[Callable, Any]] = [
    (of_globals, 0.3), (of_a_lambda, 0.3), (by_rows, X), (of_tasks, X), (with_momentum, X),
    (by_newton, 2.0), (by_second_derivatives, 2.0), (of_loops_and_branches, 0.4),
    (of_changing_captures, 0.7), (written_into, 0.7), (of_one_name, 0.7), (bound_later, 0.7),
    (through_a_function_that_reads_arrays, 0.7), (at_constants, 0.7), (with_integers, X),
    (of_a_default, 0.7), (of_parts, X),
    (of_float32, X.astype(np.float32)),
]  # fmt: skip


@pytest.mark.parametrize("f, x", READ)
def test_programs_give_what_tracing_gives(
    f: Callable, x: Any, traced: Callable, runs: list[str]
) -> None:
    expected, rtol = traced(f, x), 1e-5 if f is of_float32 else 1e-9
    found = gradient(f, x)
    assert f.__name__ in runs
    assert type(found) is type(expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found, expected, rtol=rtol)
    autodiff.automatic_compile(True)  # the inner derivatives become programs of their own
    for _ in range(30):
        np.testing.assert_allclose(gradient(f, x), expected, rtol=rtol)


def test_one_program_serves_all_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given the part of an array at the counter, and not the counter, which it compares."""
    given: list[type] = []

    def noted(self: InnerDerivative, *args: Any) -> Any:
        given.extend(map(type, args))
        return call(self, *args)

    def rows(w: Any) -> Any:
        for i in range(len(ROWS)):
            w = w - 0.3 * gradient(lambda w: np.sum(np.tanh(ROWS[i] * w) ** 2), w)  # noqa: B023
        return np.sum(w * w)

    call = InnerDerivative.__call__
    monkeypatch.setattr(InnerDerivative, "__call__", noted)
    slope = gradient(rows, X)
    assert set(given) == {np.ndarray}
    monkeypatch.setattr(calls.Settings, "enabled", False)
    np.testing.assert_allclose(slope, gradient(rows, X), rtol=1e-12)


@pytest.mark.parametrize("f, x", READ)
def test_differences_agree(f: Callable, x: Any) -> None:
    if f is of_float32:
        return
    h, direction = 1e-5, np.cos(np.arange(np.size(x))).reshape(np.shape(x))
    slope = (f(x + h * direction) - f(x - h * direction)) / (2 * h)
    np.testing.assert_allclose(np.sum(gradient(f, x) * direction), slope, rtol=1e-6)


@pytest.mark.parametrize("f, x", [(of_globals, 0.3), (by_rows, X), (by_second_derivatives, 2.0)])
def test_second_derivatives(f: Callable, x: Any, traced: Callable) -> None:
    def slopes(x: Any) -> Any:
        return np.sum(gradient(f, x) ** 2)

    np.testing.assert_allclose(gradient(slopes, x), traced(slopes, x), rtol=1e-8)
    dot = np.ones_like(x)
    found, expected = autodiff.jvp(f, (x,), (dot,))[1], np.sum(gradient(f, x) * dot)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("backend", ["python", "auto"])
@pytest.mark.parametrize("f, x", [(of_globals, 0.3), (of_tasks, X), (of_changing_captures, 0.7)])
def test_compiled(f: Callable, x: Any, backend: str, traced: Callable) -> None:
    compiled = compile(lambda x: gradient(f, x), backend=backend)
    for given in (x, 0.5 * x, x):
        np.testing.assert_allclose(compiled(given), traced(f, given), rtol=1e-9)


def test_a_long_training_loop_is_not_unrolled() -> None:
    rows = np.linspace(-1.0, 1.0, 6000).reshape(2000, 3)

    def trained(w: Any, rows: Any) -> Any:
        for i in range(len(rows)):
            w = w - 0.01 * gradient(on_row, w, rows, i, argnums=0)
        return w

    compiled = compile(trained)
    np.testing.assert_allclose(compiled(X, rows), trained(X, rows), rtol=1e-9)
    assert "straight line" not in str(compiled.report())


def lopsided(x: Any, y: Any) -> Any:
    return x * y


def of_a_rule_that_is_no_derivative(a: Any) -> Any:
    y = 0.5
    for _ in range(3):
        y = y - 0.1 * gradient(lopsided, y, a, argnums=0)
    return y


def through_a_rule_that_is_no_derivative(a: Any) -> Any:
    y = 0.5
    for _ in range(3):
        y = y - 0.1 * gradient(lambda y, a: lopsided(y, a) * y, y, a, argnums=0)
    return y


def of_what_it_writes(a: Any) -> Any:
    y, log = 0.5, np.zeros(3)

    def noted(w: Any) -> Any:
        log[0] = 1.0
        return w * w * a

    for _ in range(3):
        y = y - 0.1 * gradient(noted, y)
    return y + log[0]


@pytest.mark.parametrize(
    "f",
    [
        of_a_rule_that_is_no_derivative,
        of_what_it_writes,
    ],
)
def test_what_is_more_than_a_gradient_is_traced(
    f: Callable, traced: Callable, runs: list[str]
) -> None:
    scalar_rule(lopsided, lambda out, x, y: 2.0 * y, lambda out, x, y: 3.0 * x)
    try:
        expected = traced(f, 0.7)
    except Exception as error:
        with pytest.raises(type(error)):
            gradient(f, 0.7)
    else:
        np.testing.assert_allclose(gradient(f, 0.7), expected, rtol=1e-12)
    assert f.__name__ not in runs


def test_a_rule_that_is_no_derivative_is_followed_in_both_modes(traced: Callable) -> None:
    scalar_rule(lopsided, lambda out, x, y: 2.0 * y, lambda out, x, y: 3.0 * x)
    f = through_a_rule_that_is_no_derivative
    np.testing.assert_allclose(gradient(f, 0.7), traced(f, 0.7), rtol=1e-12)
    calls.Settings.enabled = False
    try:
        expected = autodiff.jvp(f, (0.7,), (1.0,))
    finally:
        calls.Settings.enabled = True
    np.testing.assert_allclose(autodiff.jvp(f, (0.7,), (1.0,)), expected, rtol=1e-12)
