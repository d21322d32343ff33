"""Machine code: gathers and scatters by arrays of indices, alone and among other indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.runtime import Structured

ROWS, COLS, AGAIN = np.array([2, 0, 3]), np.array([1, 1, 0]), np.array([0, 2, 0])
GRID = np.array([[0, 1], [2, 3]])


def total(x: Any) -> Any:
    return np.sum(np.abs(x) ** 2)


def read(a: Any) -> Any:
    s = 0.0
    for i in range(3):
        s = (
            s
            + total(a[:, ROWS])
            + total(a[ROWS, COLS] * a[ROWS, 1])
            + total(a[1, ROWS] - 2.0 * a[i, ROWS])
        )
        s = (
            s
            + total(a[None, :, ROWS])
            + total(a[ROWS[:, None], COLS]) * (i + 1)
            + total(a[..., ROWS] * a[i, 0])
        )
        s = s + total(a[GRID]) + total(a[GRID, GRID.T]) + total(a[:, GRID]) + total(a[::-1, ROWS])
        s = (
            s
            + total(a[-ROWS, COLS + i % 2])
            + total(a.T[ROWS])
            + total(a[1:3][:, ROWS])
            + total(a[ROWS, None])
        )
        s = s + total(a[AGAIN, AGAIN] * a[i, i])
    return s


def read_along_three_axes(a: Any) -> Any:
    b = a[:, :, None] * a[0]
    s = 0.0
    for i in range(3):
        s = s + total(b[:, ROWS, 0]) + total(b[0, :, ROWS] * a[i, 0]) + total(b[ROWS, :, COLS])
        s = (
            s
            + total(b[:, ROWS, COLS])
            + total(b[ROWS, 1:, i])
            + total(b[..., 0, ROWS])
            + total(b[ROWS, COLS, COLS])
        )
        s = s + total(b[GRID, :, 1] * a[i]) + total(b[:, GRID, 1]) + total(b[i, ROWS])
    return s


def write(a: Any) -> Any:
    c = 0.5 * a
    s = 0.0
    for i in range(3):
        c[ROWS, COLS] = 2.0 * a[0, :3]
        c[:, ROWS] = a[:, :3] * a[0, 0] + c[:, :3]
        c[ROWS, 1] = a[1, :3] * c[0, 1]
        c[1, ROWS] += a[1, :3]
        c[ROWS, COLS] += a[1, 0]
        s = s + total(c)
        c[ROWS[:, None], ROWS] = a[:3, :3] * c[1, 1]
        c[ROWS[:, None], ROWS] += a[:3, :3] ** 2
        c[GRID] = a[i]
        c[ROWS, 1:3] = a[1, 1:3]
        c[:, [i, 0]] = c[:, [0, i]] * a[:, :2] if i else c[:, [1, 0]]
        s = s + total(c) * (i + 1)
    return s


def write_again(a: Any) -> Any:
    c = 0.5 * a
    s = 0.0
    for i in range(3):
        c[:, AGAIN] = a[:, :3] * c[i, 0]
        c[0, AGAIN] = a[0, :3] + c[1, :3]
        c[AGAIN] += a[:3]
        s = s + total(c)
    return s


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("f", [read, read_along_three_axes, write, write_again])
def test_gradients(f: Callable, dtype: Any, made: list[Structured], traced: Callable) -> None:
    rng = np.random.default_rng(3)
    a = rng.random((4, 4)) + (1j * rng.random((4, 4)) if dtype is np.complex128 else 0.0)
    a = a.astype(dtype)
    expected = traced(f, a)
    rtol = 1e-5 if dtype is np.float32 else 1e-11
    for _ in range(3):
        found = gradient(f, a)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=rtol)
    assert made[0].native is not None, made[0].why
    assert not made[0].native.why
    assert not made[0].bailouts


def test_places_along_two_axes_that_come_again(made: list[Structured], traced: Callable) -> None:
    def f(a: Any) -> Any:
        s = 0.0
        for i in range(3):
            a[AGAIN, AGAIN] = a[i, :3]
            s = s + total(a)
        return s

    a = np.cos(np.arange(16.0)).reshape(4, 4)
    expected = traced(f, a.copy())
    for _ in range(3):
        np.testing.assert_allclose(gradient(f, a.copy()), expected, rtol=1e-11)
    assert not made[0].bailouts


def test_many_places_that_come_again(made: list[Structured], traced: Callable) -> None:
    rows, columns = np.random.default_rng(5).integers(0, 20, (2, 600))

    def f(a: Any) -> Any:
        s = 0.0
        for i in range(3):
            a[rows, columns] = np.sin(a[columns, rows] * (i + 1))
            a[rows[:300]] = a[columns[:300]] * 0.5
            s = s + total(a)
        return s

    a = np.cos(np.arange(400.0)).reshape(20, 20)
    expected = traced(f, a.copy())
    for _ in range(3):
        np.testing.assert_allclose(gradient(f, a.copy()), expected, rtol=1e-11)
    assert not made[0].bailouts


def test_a_place_out_of_bounds() -> None:
    def f(a: Any, k: int) -> Any:
        s = 0.0
        for i in range(3):
            s = s + total(a[ROWS + k, i])
        return s

    a = np.cos(np.arange(16.0)).reshape(4, 4)
    assert np.all(np.isfinite(gradient(f, a, 0, argnums=0)))
    with pytest.raises(IndexError):
        gradient(f, a, 1, argnums=0)
