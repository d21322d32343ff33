"""Columns and vectors from the end are added by BLAS by the distance of their elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import checkpoint_loops, gradient
from autodiff.structured.runtime import Structured


def elimination(a: Any, b: Any) -> Any:
    n = len(b)
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= np.dot(a[:i, j], a[i, :i])
        b[i] -= a[i:, i] @ b[i:] + 0.1 * (a[i + 1 :, i] @ a[i + 1 :, 0])
    return np.sum(a * a) + b @ b


def recursion(a: Any, b: Any) -> Any:
    y = np.zeros_like(b)
    for k in range(1, len(b)):
        c = b[k] + b[:k][::-1] @ y[:k]
        y[:k] += 0.1 * c * y[:k][::-1]
        y[k] = np.sin(c) + b[k - 1 : k + 1][::-1] @ a[k - 1 : k + 1, k]
    return y @ b


def counted_from_the_end(a: Any, b: Any) -> Any:
    s = 0.0
    for k in range(3):
        s = s + a[:-1, k - 2] @ b[1:] * (a[k - 5 :, 1] @ b[k - 5 :])
        s = s * 0.5 + b[: -k - 1][::-1] @ a[: -k - 1, -1] + a[: k + 9, k] @ b[: k + 9]
    return s


KERNELS = (elimination, recursion, counted_from_the_end)
LAYOUTS: dict[str, Callable] = {
    "rows": lambda x: x,
    "columns": lambda x: np.array(x, order="F"),
    "parts": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=-1)[::2, ..., ::3],
    "backwards": lambda x: x[::-1].copy()[::-1],
}


def _arguments(layout: str = "rows") -> tuple[np.ndarray, np.ndarray]:
    a = np.eye(6) * 3.0 + 0.3 * np.cos(np.arange(36.0)).reshape(6, 6)
    b = np.sin(1.0 + np.arange(6.0))
    of = LAYOUTS[layout]
    return of(a), of(b) if layout != "parts" else np.repeat(b, 3)[::3]


def _same(f: Callable, args: tuple, traced: Callable) -> None:
    for x, y in zip(gradient(f, *args), traced(f, *args), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients(kernel: Callable, layout: str, traced: Callable, runs: list[str]) -> None:
    _same(lambda a, b: kernel(a * 1.0, b * 1.0), _arguments(), traced)
    assert kernel.__name__ in runs
    _same(lambda a, b: kernel(np.copy(a, "K"), b.copy()), _arguments(layout), traced)
    _same(lambda a, b: checkpoint_loops(kernel)(a * 1.0, b * 1.0), _arguments(), traced)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arguments_in_any_layout(layout: str, traced: Callable) -> None:
    _same(counted_from_the_end, _arguments(layout), traced)
    _same(recursion, _arguments(layout), traced)


def test_only_parts_that_count_from_the_front() -> None:
    sources = [Structured(f, (None,) * 2, _arguments(), (0, 1)).source for f in KERNELS]
    assert [f.count("add_to_part(") for f in sources] == [5, 3, 0]
    assert [f.count("add_part(") for f in sources] == [3, 2, 1]
    assert [f.count("inner_with_part(") for f in sources] == [0, 1, 0]
