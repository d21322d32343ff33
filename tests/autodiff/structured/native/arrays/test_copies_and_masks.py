"""Machine code: copies of arrays, masks with numbers, trip counts, extrema of integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient

A = np.linspace(0.2, 1.7, 20).reshape(4, 5)


def copied(a: Any) -> Any:
    s = 0.0
    for i in range(3):
        row = np.array(a[i])
        row[1] = 2.0 * a[0, 0]
        both = np.array([a[i] * row, a[i + 1]])
        third = np.array(both[0], dtype=float) * np.array([s, i, 1.5, 0, 2], dtype=np.float64)
        s = s + np.sum(both[1] * third) + np.asarray(both)[0, 1]
    return s


def masked(a: Any) -> Any:
    c, s = a * 1.0, 0.0
    for i in range(4):
        above = a[:, i] > 0.6
        x = a[above, i]
        c[above, i] = x * x
        c[i, a[0] < 1.0] += a[i, 0]
        s = s + np.sum(c[above, i] ** 2) + np.sum(a[::-1, 1][above[::-1]])
        s = s + np.sum(a[above] * i) + np.sum(c[:, above[[0, 1, 2, 3, 3]]])
    return s


def found_behind(a: Any) -> Any:
    s = 0.0
    for i in range(1, 4):
        for j in range(0, 5, i):
            last = a[i, j] * s + a[0, j]
        for k in range(i, -1, -2):
            other = a[k, i] * last
        s = s + last * other
    return s


def bounded(a: Any) -> Any:
    s = 0.0
    for i in range(4):
        places = np.minimum(np.arange(5) + i, 4)
        s = s + np.sum(a[i, places] * a[0, np.maximum(places - 3, 0)])
    return s


def beside_the_diagonal(a: Any) -> Any:
    s = 0.0
    for i in range(3):
        m = np.diag(a[i]) + np.diag(a[i, 1:], 1) + np.diag(a[i + 1, :4], k=-1)
        s = s + np.linalg.det(m) + np.sum(m @ m)
    return s


def at_masks(a: Any) -> Any:
    """Rows of masks that are true nowhere, everywhere and here and there, of 0 to 17 elements."""
    x, s = np.concatenate((a, a * 0.5, a[:, ::-1], a[:, :2] * 2.0), axis=1), 0.0
    y = x * 0.3
    for n in range(18):
        for level in (0.0, 0.6, 9.0):
            part = x[:, :n] > level
            y[:, :n][part] = np.sin(x[:, :n][part]) * y[:, :n][part]
            s = s + np.sum(y[0, :n][part[0]]) + np.sum(x[1, n:][x[2, n:] > level])
            y[1, :n][part[1, ::-1]] *= 0.7
    return s + np.sum(y * x)


@pytest.mark.parametrize(
    "f",
    [copied, at_masks, masked, found_behind, bounded, beside_the_diagonal],
    ids=lambda f: f.__name__,
)
def test_machine_code(f: Callable, check_machine_code: Callable) -> None:
    check_machine_code(f, lambda: (A.copy(),), rtol=1e-12)


@pytest.mark.parametrize("is_chosen", [True, False])
def test_a_mask_without_strides(is_chosen: bool, traced: Callable) -> None:
    def f(a: Any, mask: Any, n: int) -> Any:
        s = 0.0
        for i in range(n):
            s = s + np.sum(a[mask, i] ** 2) * a[i, 0]
        return s

    mask = np.broadcast_to(np.array(is_chosen), (4,))
    for _ in range(2):
        found = gradient(f, A, mask, 3, argnums=0)
    np.testing.assert_allclose(found, traced(lambda a: f(a, mask, 3), A), rtol=1e-12)
