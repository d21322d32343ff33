"""Functions of libraries with rules are called in programs: they do nothing but return a value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special

from autodiff import gradient
from tests.helpers import check_gradient

X = np.cos(np.arange(30.0)).reshape(5, 6) * 1.3
M = np.sin(np.arange(48.0)).reshape(3, 4, 4) + 4.0 * np.eye(4)


def matrices(m: Any) -> Any:
    total = 0.0
    for k in range(3):
        a = m[k] * 0.3
        total += np.sum(scipy.linalg.expm(a)) + scipy.linalg.solve(m[k], a[0])[1]
        lower = scipy.linalg.cholesky(a @ a.T, lower=True)
        total += np.sum(scipy.linalg.solve_triangular(lower, a[:, 1], lower=True))
        total += scipy.linalg.det(a) + np.sum(scipy.linalg.inv(m[k])[0])
    return total


def vectors(x: Any) -> Any:
    total = 0.0
    for k in range(5):
        v = x[k]
        total += scipy.special.logsumexp(v) * scipy.special.softmax(v)[k]
        total += np.sum(np.insert(v, 2, 1.5) * np.arange(7.0)) + np.partition(v, 3)[3]
        total += np.take(v, [0, 4]).sum() * np.digitize(0.2, [0.1, 0.3])
        total += np.sum(np.ediff1d(v) ** 2) + np.take_along_axis(v, np.argsort(v), axis=0)[1]
    return total


def clipped(x: Any) -> Any:
    total = 0.0
    upper = np.triu_indices(3, 1)
    corners = [(v, v * 0.5) for v in x[0]]
    for k in range(4):
        v = x[k] * 1.5
        np.clip(v, -0.5, 0.8, out=v)
        w = np.zeros(6)
        np.cumsum(v, out=w)
        total += np.sum(v * w) + np.sum(np.outer(v[:3], v[3:])[upper] ** 2)
        total += math.dist(corners[k], corners[k + 1])
    return total


@pytest.mark.parametrize("f, x", [(matrices, M), (vectors, X), (clipped, X)])
def test_gradients(f: Callable, x: np.ndarray, traced: Callable, runs: list[str]) -> None:
    for _ in range(2):
        np.testing.assert_allclose(gradient(f, x), traced(f, x), rtol=1e-10, atol=1e-12)
    assert f.__name__ in runs
    check_gradient(f, x)


def overwriting(m: Any) -> Any:
    total = 0.0
    for k in range(3):
        a, b = m[k] * 0.5, m[k, 0] * 2.0
        y = scipy.linalg.solve(a, b, overwrite_a=True, overwrite_b=True)
        total += np.sum(y) + b[0] + a[1, 1]
    return total


def overwriting_by_place(m: Any) -> Any:
    total = 0.0
    for k in range(3):
        a, b = np.asfortranarray(m[k] * 0.5), m[k, 0] * 2.0
        y = scipy.linalg.solve(a, b, False, True, True)
        total += np.sum(y) + b[0] + a[1, 1]
    return total


def replacing(m: Any) -> Any:
    total = 0.0
    for k in range(3):
        b = np.log(m[k, 0])
        np.nan_to_num(b, False, 0.25)
        c = np.log(m[k, 1])
        np.nan_to_num(c, copy=False, nan=0.5)
        total += np.sum(b**2) + np.sum(c)
    return total


def outcome(way: Callable, f: Callable, x: np.ndarray) -> Any:
    try:
        with np.errstate(all="ignore"):
            return way(f, x)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("f", [overwriting, overwriting_by_place, replacing])
def test_what_writes_into_its_arguments(f: Callable, traced: Callable, runs: list[str]) -> None:
    """It is left to tracing, which follows it or refuses it."""
    for _ in range(2):
        expected, found = outcome(traced, f, M), outcome(gradient, f, M)
        if isinstance(expected, type):
            assert found is expected
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert not runs
