"""Functions of NumPy that programs read as made of others: the same bits, the same gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, value_and_gradient
from chainrules_core import rrule

X = np.cos(np.arange(30.0)).reshape(5, 6) * 1.3
W = np.sin(np.arange(6.0)) + 0.3


def differences(x: Any, w: Any) -> Any:
    for _ in range(2):
        x = x[1:] * w + np.diff(x, axis=0)
        w = w * 0.5 + np.sum(np.diff(w)) + np.diff(x)[0, 0]
    return np.sum(np.diff(x, axis=1) ** 2) + np.sum(x * w)


def products(x: Any, w: Any) -> Any:
    a, b = w[:3] * 1.0, w[3:] * 1.0
    for k in range(3):
        a = a - 0.1 * np.cross(b, x[k, :3] * a)
        b = b + np.cross(x[k, 3:], a)
    return np.sum(a * b)


def traces(x: Any, w: Any) -> Any:
    m = x[:4, :4] * 0.5
    for _ in range(3):
        m = m @ m * 0.3 + np.trace(m) * np.eye(4) + m[:3].trace() * w[:4]
    return np.trace(m)


def spreads(x: Any, w: Any) -> Any:
    for _ in range(2):
        x = (x - x.mean(axis=0)) / (x.std(axis=0) + 0.1) + np.var(w) * w
        x = x * np.std(x, axis=1, keepdims=True) + np.var(x) - x.var(axis=-1, keepdims=True)
    return np.sum(x * x) + x.std()


def slopes(x: Any, w: Any) -> Any:
    for _ in range(2):
        dy, dx = np.gradient(x)
        x = x - 0.1 * dy * dx + np.gradient(x, axis=0) * 0.2 + np.gradient(x, axis=-1)
        w = w * np.gradient(w)
    return np.sum(x * w)


def grids(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(4):
        p, q = np.meshgrid(w, x[:, k])
        total += np.sum(np.sin(p) * q) * q[1, 2]
        p[0] = 2.0 * p[1]
        total += np.sum(p * p)
    return total


def joined(x: Any, w: Any) -> Any:
    v = w * 1.0
    for k in range(3):
        v = np.concatenate(([0], v[1:], [x[k, 0], 2.0])) + np.hstack((v, [1.0, k]))
        m = np.full((3, 3), w[k]) + np.diag([v[0], 1.0, 2.0]) + np.diag(v[:3])
        v = v * np.sum(m * m) * 0.1 + np.full(len(v), -2.0)
    return np.sum(v * v)


PROGRAMS = [differences, products, traces, spreads, slopes, grids, joined]


@pytest.mark.parametrize("f", PROGRAMS)
def test_same_bits(f: Callable, traced: Callable, runs: list[str]) -> None:
    def loss(x: Any, w: Any) -> Any:
        return f(x, w) * 1.0

    expected = traced(loss, X, W)
    for _ in range(2):
        value, found = value_and_gradient(loss, X, W)
        assert value == loss(X, W)
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-11 * np.abs(y).max())
    assert runs.count(f.__name__) == 2


@pytest.mark.parametrize("x", [np.ones((1, 6)), np.zeros((5, 6))])
@pytest.mark.parametrize("f", PROGRAMS)
def test_edges(f: Callable, x: np.ndarray, traced: Callable) -> None:
    def outcome(way: Callable) -> Any:
        try:
            with np.errstate(all="ignore"):
                return way(f, x, W)
        except (ValueError, IndexError) as error:
            return type(error)

    expected = outcome(traced)
    found = outcome(gradient)
    if isinstance(expected, type):
        assert found is expected
        return
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def test_a_rule_of_the_users(traced: Callable) -> None:
    def f(x: Any) -> Any:
        for _ in range(2):
            x = x[1:] * np.diff(x)
        return np.sum(x)

    given = np.arange(1.0, 6.0) ** 2
    before = gradient(f, given)
    rrule.register(np.diff, np.ndarray)(
        lambda x: (np.diff(x), lambda y_bar: np.append(2.0 * y_bar, 0.0))
    )
    try:
        found = gradient(f, given)
        np.testing.assert_allclose(found, traced(f, given))
        assert not np.allclose(found, before)
    finally:
        rrule.unregister(np.diff, np.ndarray)
