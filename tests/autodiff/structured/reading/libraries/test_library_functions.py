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
        total += np.take(v, [0, 4]).sum() * np.digitize(0.2, [0.1, 0.3]) * np.ndim(v)
        total += np.sum(np.ediff1d(v) ** 2) + np.take_along_axis(v, np.argsort(v), axis=0)[1]
    return total


def clipped(x: Any) -> Any:
    total = 0.0
    upper = np.triu_indices(3, 1)
    corners = [(v, v * 0.5) for v in x[0]]
    for k in range(4):
        v = x[k] * 1.5
        np.clip(v, -0.5, 0.8, out=v)
        np.clip(v, None, 0.6, out=v)
        w = np.zeros(6)
        np.cumsum(v, out=w)
        total += np.sum(v * w) + np.sum(np.outer(v[:3], v[3:])[upper] ** 2)
        total += math.dist(corners[k], corners[k + 1])
    return total


def grids(x: Any) -> Any:
    total = 0.0
    for i in range(1, 5):
        yy, xx = np.mgrid[i - 1 : i + 1, 0:6]
        total += np.sum(x[i - 1 : i + 1] * (yy - i) * xx) + np.sum(x[yy, xx] ** 2)
        rows, columns = np.ogrid[i - 1 : i + 1, 4:1:-1]
        total += np.sum(x[rows, columns] * (rows + columns))
        total += np.sum(x[i][np.mgrid[0:6:2]]) * np.mgrid[0:i, 1:3].shape[1]
    return total


def nodes_and_places(x: Any) -> Any:
    total = 0.0
    for n in range(2, 5):
        at, weights = np.polynomial.legendre.leggauss(n)
        roots, others = np.polynomial.hermite.hermgauss(3)
        total += np.sum(weights * np.exp(-x[n, 0] * at**2)) + np.sum(others * x[1, :3] * roots)
        i, j = np.unravel_index(n + 3, (5, 6))
        total += x[i, j] ** 2 * np.ravel_multi_index((1, 2), (5, 6))
    return total


@pytest.mark.parametrize(
    "f, x", [(matrices, M), (vectors, X), (clipped, X), (grids, X), (nodes_and_places, X)]
)
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


def masked(x: Any) -> Any:
    total = 0.0
    for k in range(5):
        v = x[k]
        total += np.sum(v, where=v > 0.1) + v.sum(where=v > 0.0) * np.max(
            v, initial=-9.0, where=v < 0.9
        )
        total += np.sum(np.mean(x * v, axis=0, where=x > -1.0) * v) + np.prod(v, where=v > 0.5)
    return total


def added_to_arrays(x: Any) -> Any:
    y = x[0] * 1.0
    for k in range(4):
        parts = [y * 0.1, x[k] * y, x[k + 1]]
        y = y + 0.1 * sum((c * p for c, p in zip((0.2, 0.3, 0.5), parts, strict=True)), np.zeros(6))
        y = y + 0.1 * sum([c * p for c, p in zip((0.2, 0.3, 0.5), parts, strict=True)], start=x[0])
    return y @ y


def with_index_pairs(x: Any) -> Any:
    m = np.zeros((5, 5))
    for k in range(4):
        at, other = (k, k + 1), [k, k + 1]
        m[np.ix_(at, at)] += x[k, 0] * np.array([[1.0, -1.0], [-1.0, 1.0]])
        m[np.ix_(at, other)] *= x[k, 1]
    return np.sum(m * x[:, :5])


def of_absolute_values(x: Any) -> Any:
    z = x * 1.0
    for _ in range(3):
        near = np.less(abs(z), 1.0)
        z[near] = z[near] ** 2 + x[near]
    return np.sum(z)


@pytest.mark.parametrize("f", [masked, added_to_arrays, with_index_pairs, of_absolute_values])
def test_sweeps(f: Callable, check_sweep: Callable, check_with_machine_code: Callable) -> None:
    check_sweep(f, X)
    check_with_machine_code(f, X, atol=1e-13)


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
