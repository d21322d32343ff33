"""Machine code: products of large vectors and matrices, by BLAS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.runtime import Structured
from tests.autodiff.structured.native.test_native import arguments


def covariances(a, b, m):
    """Products with parts of a matrix, whose cotangents are outer products."""
    n = m.shape[0]
    c = np.zeros((n, n))
    for i in range(n):
        c[i:, i] = c[i, i:] = m[:, i] @ m[:, i:] / (n - 1.0)
    return np.sum(c * m)


def layers(a, b, m):
    """Products of matrices in all layouts: rows, columns, and layouts that BLAS does not accept."""
    x = m * 1.0
    for i in range(3):
        x = np.tanh(x @ m + x.T @ m[::-1]) + b
        y = m @ x[:, : i + 1]
        z = x[: i + 1] @ m.T
        x[: 2 * (i + 1) : 2] += 0.1 * z
        x[:, : i + 1] *= y
        x += 0.1 * (x[:, ::2] @ m[::2]) + 0.01 * (np.outer(a, x[0]) @ m)
        a = 0.3 * (x[::-1] @ a) + (b[::-1] @ x) + m[:, ::2] @ a[::2]
    return np.sum(x) + np.sum(a)


def recurrent(a, b, m):
    """Outer products for two matrices, in nested loops."""
    w = m[::-1] * 0.5
    total = a[0] * 0.5
    for i in range(3):
        h = a * b[i]
        for j in range(i + 15):
            h = np.tanh(m @ h + w @ b) * 0.9
            h[j:] += 0.1 * (m[j:] @ b)
            h[1:] *= 1.0 + 0.1 * (a @ w[:, 1:])
        total += np.sum(h)
    return total


def recurrent_outside(a, b, m):
    """A loop that becomes machine code inside one that does not."""
    total = 0.0
    for i in range(3):
        h = a * b[i]
        for _ in range(20):
            h = np.tanh(m @ h + b)
        total += np.sum(m @ h) * (i + 1).bit_length()
    return total


def products_of_parts(a, b, m):
    """Vectors whose cotangents are products with parts of two matrices, near and far away."""
    w = m * 0.5
    total = a[0] * 0.5
    for i in range(12):
        for j in range(3):
            y = m[:, i] @ w[:, j:] + m[i, 1:] @ w.T[1:, j:]
            total += np.sum(np.sin(y) * b[j:]) + np.sum(w[i:] @ m[j] * a[i:])
            total += np.sum(w[:, :25] @ m[j, 1:26]) + np.sum(m[25:, i] @ m[25 + j :, :].T[:25, :25])
        total += np.sum(np.tanh(m[:, 30:] @ w[i, 30:])) * total * 1e-3
    return total


LARGE = (covariances, layers, products_of_parts, recurrent, recurrent_outside)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", LARGE)
def test_products_by_blas(
    kernel: Callable, dtype: type, made: list[Structured], traced: Callable, by_numpy: Callable
) -> None:
    def loss(a, b, m):
        return kernel(a * 1.0, b * 1.0, m * 1.0) + np.sum(a * b) + np.sum(m * m)

    def given():
        a, b, m = arguments(50)
        return [x.astype(dtype) for x in (a, b, 0.2 * m)]

    scale = 1e-11 if dtype is np.float64 else 1e-3
    for _ in range(2):
        found = gradient(loss, *given())
        for other in (by_numpy, traced):
            for x, y in zip(found, other(loss, *given()), strict=True):
                assert x.dtype == dtype
                np.testing.assert_allclose(x, y, rtol=scale, atol=scale)
    programs = [p for p in made if p.name == kernel.__name__]
    assert programs
    assert programs[0].native is not None, programs[0].why
    assert not programs[0].bailouts
    is_whole = kernel is not recurrent_outside
    assert (not programs[0].native.why) == is_whole, programs[0].native.why
    if kernel is products_of_parts and dtype is np.float64:
        functions = programs[0].native.module.globals
        assert all(f"structured_collect_{axis}" in functions for axis in (0, 1))


def test_what_is_not_finite_outside_of_the_parts(made: list[Structured], traced: Callable) -> None:
    """A product with the rectangle around several parts would read NaN outside of them."""

    def outside(a, b, m):
        total = 0.0
        for i in range(2, 12):
            total += np.sum(np.sin(m[i : i + 40, i : i + 40] @ a[i : i + 40])) * m[i, i]
        return total

    def given():
        a, b, m = arguments(60)
        m[2, 50] = m[49, 3] = np.nan
        return a, b, m

    for _ in range(3):
        found, expected = gradient(outside, *given()), traced(outside, *given())
        for x, y in zip(found, expected, strict=True):
            assert np.isfinite(x).all()
            np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-11)
    assert any(p.native is not None and p.bailouts for p in made)


M = np.cos(np.arange(9.0)).reshape(3, 3)


@pytest.mark.parametrize("x", [M, M[0], M[:2]])
def test_inner_products_with_a_matrix(x: Any, made: list[Structured], traced: Callable) -> None:
    """They are sums along the last axes of both."""

    def f(a: Any, m: Any) -> Any:
        t = 0.0
        for i in range(2):
            y = np.inner(a * (i + 1.0), m) + np.inner(m, m[i])
            t = t + np.sum(y[..., 1:] ** 2)
        return t

    expected = traced(f, x, M)
    for _ in range(2):
        for a, b in zip(gradient(f, x, M), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    assert not any(p.native.why or p.bailouts for p in made)
