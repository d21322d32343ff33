"""Machine code: sums and means along axes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.runtime import Structured


def convolved(x, w):
    k = w.shape[0]
    h, v = x.shape[1] - k + 1, x.shape[2] - k + 1
    out = np.empty((x.shape[0], h, v, w.shape[3]), dtype=x.dtype)
    for i in range(h):
        for j in range(v):
            window = x[:, i : i + k, j : j + k, :, np.newaxis]
            out[:, i, j, :] = np.sum(window * w[np.newaxis, :, :, :], axis=(1, 2, 3))
    return np.sum(out * out)


def last(x, w):
    s = np.sum(w)
    for k in range(x.shape[3]):
        s = s + np.sum(np.sin(x[..., k]).sum(axis=-1) ** 2)
        s = s + np.sum(np.sum(x[:, k] * x[:, 0], axis=1) * w[0, 0, 0, 0])
    return s


def kept(x, w):
    for _ in range(3):
        x = x * 0.9 - x.mean(axis=(0, 2), keepdims=True) * w[0, 0, 0, 1]
        x = x + np.sum(x, axis=1, keepdims=True) * np.mean(x, axis=3, keepdims=True)
    return np.mean(x)


def everywhere(x, w):
    y = np.zeros(x.shape[2], dtype=x.dtype)
    for k in range(4):
        y = np.tanh(y + np.mean(x[k % 2], axis=(0, 2)) * np.sum(w[0], axis=None)) * 0.5
        y += np.sum(x, (0, 1, 3)) * w.mean()
        y -= np.sum(x[:, ::-1, :, 0].T, axis=(1, 2), keepdims=False) * 0.1
    return np.sum(y)


def one_row(x, w):
    total = np.mean(w)
    for k in range(5):
        row = np.sum(x, axis=3)[0, 0] * (k + 1.0)
        total = total + np.sum(row * np.mean(x, 0)[0, :, 0])
    return total


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f", [convolved, last, kept, everywhere, one_row])
def test_sums_along_axes(f: Callable, dtype: type, check_machine_code: Callable) -> None:
    def given():
        x = np.cos(np.arange(2 * 5 * 6 * 3)).reshape(2, 5, 6, 3)
        w = np.sin(np.arange(2 * 2 * 3 * 4)).reshape(2, 2, 3, 4)
        return x.astype(dtype), w.astype(dtype)

    check_machine_code(f, given, rtol=1e-12 if dtype is np.float64 else 1e-4)
    assert {x.dtype.type for x in gradient(f, *given())} == {dtype}


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty_axes(shape: tuple, traced: Callable) -> None:
    def f(x, w):
        s = np.sum(w)
        for k in range(1, 3):
            s = s + np.sum(np.sum(x, axis=0)) * w[k]
            s = s + np.sum(np.sum(x, axis=1, keepdims=True)) * w[k]
        return s

    given = np.zeros(shape), np.arange(3.0)
    for x, y in zip(gradient(f, *given), traced(f, *given), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_the_mean_of_nothing_is_left_to_numpy(made: list[Structured]) -> None:
    def f(x, w):
        for _ in range(2):
            w = w + np.sum(np.mean(x, axis=0))
        return np.sum(w)

    assert np.isnan(gradient(lambda w: f(np.zeros((0, 3)), w) * 0.0 + w[0], np.ones(2))).sum() == 0
