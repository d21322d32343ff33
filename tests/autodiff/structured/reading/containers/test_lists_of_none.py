"""Lists of None at first, whose items are written before they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from tests.helpers import differences

X = np.array([0.4, 1.2, -0.7, 0.9, 0.3])


def backwards(x: Any) -> Any:
    n = len(x)
    y, rows = [None] * n, [None] * n
    y[n - 1], rows[n - 1] = x[n - 1] ** 2, x * 0.1
    for i in reversed(range(n - 1)):
        y[i] = x[i] * y[i + 1] + np.sin(y[i + 1])
        rows[i] = rows[i + 1] * x[i] + y[i]
        y[i] += 0.1
    total = sum(y)
    for i, row in enumerate(rows):
        total = total + np.sum(row * i) * y[i]
    return total + np.sum(np.array(y) ** 2) + np.sum(np.stack(rows))


def table(x: Any) -> Any:
    n = len(x)
    best = [[None] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            before = best[i - 1][j] if i else x[j]
            best[i][j] = before * x[i] + 0.1 * (best[i][j - 1] if j else 1.0)
    return best[n - 1][n - 1] + best[1][2]


@pytest.mark.parametrize("f", [backwards, table], ids=lambda f: f.__name__)
def test_gradients(f: Callable, check_sweep: Callable, check_with_machine_code: Callable) -> None:
    check_sweep(f, X)
    check_with_machine_code(f, X)


def remembered(x: Any) -> Any:
    known, total = [None] * 3, 0.0
    for i in range(7):
        if known[i % 3] is None:
            known[i % 3] = x[i % 5] * 2.0
        total = total + known[i % 3] * x[0]
    return total


def kept(x: Any) -> Any:
    made = [None] * 6
    for i in range(5):
        made[i] = x[i] * x[0]
    others = made if x[0] > 0.0 else [0.0] * 6
    return sum(v for v in others if v is not None)


def returned(x: Any) -> Any:
    made = [None] * 6
    for i in range(5):
        made[i] = x[i] * x[0]
    return made


def loss(x: Any) -> Any:
    found = returned(x)
    return sum(v for v in found[:5]) + (found[5] is None)


def never(x: Any) -> Any:
    made, total = [None] * 3, x[0]
    for k, v in enumerate(made):
        total = total + (x[k] ** 2 if v is None else v)
    return total + sum(1 for v in made[1:] if v is None) * x[1]


def not_yet(x: Any) -> Any:
    made, total = [None] * 3, 0.0
    for k, v in enumerate(made):
        total = total + (x[k] ** 2 if v is None else v)
    for k in range(3):
        made[k] = x[k] * total
    return total + sum(made)


@pytest.mark.parametrize("f", [remembered, kept, loss, never, not_yet], ids=lambda f: f.__name__)
def test_an_item_that_is_none(f: Callable) -> None:
    np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-6, atol=1e-9)


def test_an_item_that_was_never_written() -> None:
    def f(x: Any) -> Any:
        made, total = [None] * 6, 0.0
        for i in range(5):
            made[i] = x[i] * x[0]
        for v in made:
            total = total + v
        return total

    with pytest.raises(TypeError):
        gradient(f, X)


def test_a_sum_of_what_was_never_written() -> None:
    def f(x: Any) -> Any:
        made, total = [None] * 2, 0.0
        for v in x:
            total = total + v * v
        return total + sum(made)

    with pytest.raises(TypeError):
        gradient(f, X)
