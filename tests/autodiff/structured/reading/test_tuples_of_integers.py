"""Shapes and indices, which are tuples as one value: compared, searched and sliced."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

X = np.linspace(0.3, 1.4, 12)
SHAPE = (2, 3)
CORNERS = ((0, 0), (2, 1))


def of_indices(x: Any) -> Any:
    total = 0.0
    for m in itertools.product(range(-2, 3), repeat=3):
        if m == (0, 0, 0) or m > (1, 1, 1):
            continue
        if m in ((1, 1, 1), (-1, 1, 0)):
            total += 3.0 * x[0]
        if m in {(1, 0, 1), (-2, 1, 1)}:
            total += x[1] ** 2
        total += np.sum(x[:3] * np.array(m)) ** 2
    return total


def of_shapes(x: Any) -> Any:
    total = 0.0
    for part in np.split(np.outer(x, x)[:6, :3], 3):
        total += np.sum(part) if part.shape == (2, 3) else 7.0
        if part.shape != SHAPE or part.shape < (2, 2) or SHAPE[:1] == part.shape:
            total += 100.0 * np.sum(part)
        total += np.sum(np.ones(part.shape[:1] + part.shape[1:]) * part) * len(part.shape[:-1])
    return total


def of_pairs(x: Any) -> Any:
    total = 0.0
    for p in itertools.product(range(3), repeat=2):
        if p in CORNERS:
            total += x[p[0]] ** 2
        if p == (0,) or p == [0, 1]:
            total += 100.0 * x[0]
        if [p, p] == [(1, 2), (1, 2)]:
            total += x[3] ** 3
    return total


@pytest.mark.parametrize("f", [of_indices, of_shapes, of_pairs], ids=lambda f: f.__name__)
def test_gradients(
    f: Callable, check_two_calls: Callable, check_arrays: Callable, runs: list[str]
) -> None:
    check_two_calls(f, X)
    assert f.__name__ in runs
    check_arrays(f, X)
