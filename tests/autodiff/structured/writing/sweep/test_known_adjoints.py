"""Calls whose arguments get their cotangents from functions or expressions of the sweep's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured import calls
from chainrules_core import rrule
from chainrules_core.define import linear_rule
from tests.helpers import check_direction

X = np.cos(np.arange(30.0)).reshape(5, 6) * 1.3
W = np.sin(np.arange(6.0)) + 0.3


def tables(x: Any, w: Any) -> Any:
    nodes = np.array([-1.0, -0.2, 0.5, 2.0, 3.0, 3.5]) + 0.01 * w
    total = 0.0
    for k in range(4):
        y = np.interp(x[k] * 2.0, nodes, w)
        w = w + 0.1 * y + 0.2 * np.interp(w[k] - 1.5, nodes, x[k]) + np.interp(9.0, nodes, w)
        total += np.interp(0.3 * k, nodes, x[0]) * np.sum(y)
    return total + np.sum(w * w)


def at_nodes(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        places = w[:3] - w[k]
        total += np.sum(np.interp(places, np.array([0.0, 1.0, 2.0]), x[k, :3]))
        total += np.interp(w[k] - w[k] + k, np.array([0.0, 1.0, 2.0]), x[k, 3:]) * x[k, 0]
    return total


def growth(x: Any, w: Any) -> Any:
    for k in range(3):
        w = np.cumprod(1.0 + 0.1 * w) + np.cumprod(x[k] * (w - w[k])) + (w * w).cumprod()
    return np.sum(w)


def factors(x: Any, w: Any) -> Any:
    a = x[:3] @ x[:3].T + np.eye(3)
    total = 0.0
    for k in range(3):
        c = np.linalg.cholesky(a)
        total += np.sum(c * x[:3, :3]) + np.log(np.linalg.cholesky(a + w[k] ** 2)[k, k])
        a = a + 0.1 * c @ c.T
    return total


def contracted(x: Any, w: Any) -> Any:
    t = x[:, :, None] * w
    for k in range(3):
        y = np.einsum("ijk,ij->ki", t, x) * w[k]
        w = w + 0.1 * np.einsum("ki,ik,k->k", y, x, w)
        x = x + np.einsum("i, j -> ij", y[0], w) * np.einsum("ij,ij->", x, x) * 0.01
    return np.sum(x * w) + np.sum(t)


def choices(x: Any, w: Any) -> Any:
    for k in range(3):
        x = np.where(x > w, x * w, x[k]) + np.where(w > 0.2, w, 1.5) * 0.1
        w = np.where(w > w[k], np.where(x[0] > 0, w, w[0]), w[k] * 0.5)
        w = w + np.where(x[:, :1] > 0.1, w, x).sum(0) * 0.1
    return np.sum(x) + np.sum(w)


def of_zero_slope(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        r = w - w[k]
        total += np.sum(np.where(r > 0, np.sqrt(np.where(r > 0, r, 1.0)), 0.0) * x[k])
    return total


def filtered(x: Any, w: Any) -> Any:
    for k in range(3):
        y = np.convolve(w, x[k, :3], mode="same") + np.convolve(x[k, :2], w, "same")
        z = np.convolve(w[:4], x[k]) * 0.1
        w = np.tanh(y + z[2:8]) + np.convolve(x[k], w, "valid") + np.convolve(z, w[:4], "valid")
    return np.sum(w * w)


def angles(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(5):
        total += math.atan2(x[k, 0], w[k]) * abs(x[k, 1] - w[k]) + math.fabs(w[k]) * abs(
            w[k] - w[k]
        )
        total += math.atan2(w[k] - w[k], 0.0) + np.abs(x[k, 2]) + math.atan2(1e200 * w[k], 1e200)
    return total


PROGRAMS = [filtered, angles, tables, at_nodes, growth, factors, contracted, choices, of_zero_slope]


@pytest.mark.parametrize("f", PROGRAMS)
def test_what_tracing_gives(f: Callable, check_two_calls: Callable) -> None:
    check_two_calls(f, X, W)
    programs = [p for _, kept in calls._programs.values() for p in kept.values()]
    (of_kernel,) = [p for p in programs if (p.name, p.file) == (f.__name__, __file__)]
    for program in filter(None, of_kernel.known.values()):
        assert program.failure is None
        assert "_pull" not in program.source


@pytest.mark.parametrize("f", [filtered, angles, tables, growth, factors, contracted, choices])
def test_differences(f: Callable) -> None:
    check_direction(f, X, W)


@pytest.mark.parametrize("nodes", [[0.0], [0.0, 0.0, 1.0], [1.0, 0.5, 2.0]])
def test_nodes_that_are_not_in_order(nodes: list[float], traced: Callable) -> None:
    def f(x: Any, w: Any) -> Any:
        total = 0.0
        for k in range(3):
            total += np.interp(x[k, 0], nodes, w[: len(nodes)]) * np.sum(w)
        return total

    for x, y in zip(gradient(f, X, W), traced(f, X, W), strict=True):
        np.testing.assert_array_equal(x, y)


def tripled(y_bar: Any, x: Any, k: int = 0) -> Any:
    return 3.0 * np.broadcast_to(y_bar, x.shape)


@pytest.mark.parametrize("native", [math.inf, -1.0])
@pytest.mark.parametrize(
    "f, adjoint",
    [
        (np.sum, tripled),
        (np.mean, tripled),
        (np.copy, tripled),
        (np.triu, tripled),
        (np.flip, tripled),
        (np.transpose, tripled),
        (np.diag, lambda y_bar, x: 3.0 * np.diag(y_bar)),
        (np.ravel, lambda y_bar, x: 3.0 * y_bar.reshape(x.shape)),
        (np.reshape, lambda y_bar, x, shape: 3.0 * y_bar.reshape(x.shape)),
    ],
)
def test_a_rule_of_the_users(
    f: Callable,
    adjoint: Callable,
    native: float,
    runs: list[str],
    traced: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = ((9,),) if f is np.reshape else ()

    def steps(x: Any) -> Any:
        for _ in range(3):
            y = f(x, *options)
            x = 0.5 * x + 0.1 * np.prod(1.0 + 0.1 * y * y) * x
        return x[0, 0] + x[1, 2]

    monkeypatch.setattr(calls.Settings, "native", native)
    x = X[:3, :3]
    before = gradient(steps, x)
    linear_rule(f, adjoint, types=(np.ndarray,))
    try:
        found = [gradient(steps, x) for _ in range(3)]
        np.testing.assert_allclose(found, [traced(steps, x)] * 3, rtol=1e-11, atol=1e-13)
        assert not np.allclose(found[0], before)
    finally:
        rrule.unregister(f, np.ndarray)
    np.testing.assert_allclose(gradient(steps, x), before, rtol=1e-11, atol=1e-13)
    assert runs.count("steps") == (2 if f is np.reshape else 5)  # reshapes by it are traced
