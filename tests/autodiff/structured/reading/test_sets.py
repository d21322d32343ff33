"""Sets that are displayed, and constant tuples, in which something is looked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from tests.helpers import check_gradient

X = np.array([0.9, 0.4, 1.6, 0.7, 1.2, 0.3])
KINDS = ("in", "out", "wall")


def places(x: Any) -> Any:
    total = 0.0
    n = len(x)
    for i in range(n):
        if i in {1, n - 2}:
            total += x[i] ** 2
        elif i not in {0, 2.0, 5}:
            total += x[i] ** 3
        else:
            total += x[i]
    return total


def of_a_name(x: Any) -> Any:
    fixed, total = (1, 3), 0.0
    for i in range(len(x)):
        total += x[i] ** 2 if i in fixed else x[i]
    return total


def pairs(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        for j in range(2):
            total += x[i] ** 2 if (i, j) in {(0, 0), (3, 1)} else x[i] * j
    return total


def texts(x: Any) -> Any:
    total = 0.0
    for kind in KINDS:
        for v in x:
            total += v * v if kind in {"in", "wall"} else v
    return total


@pytest.mark.parametrize("f", [places, of_a_name, pairs, texts], ids=lambda f: f.__name__)
def test_gradients(f: Callable, runs: list[str], check_arrays: Callable) -> None:
    check_gradient(f, X)
    assert f.__name__ in runs
    check_arrays(f, X)
    check_arrays(f, np.concatenate([X, X + 0.1]))


def test_an_array_in_a_set_is_an_error() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for k in range(3):
            if x[:1] in {1, k}:
                total += x[k]
        return total

    for _ in range(2):
        with pytest.raises(TypeError):
            gradient(f, X)
