"""Tangent functions compute what the forward function computes, and its tangent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, hessian, hvp, jvp


def sum_of_no_arrays(x: Any) -> Any:
    total = 0.0
    for i in range(2):
        total += x[0] * x[0] * (i + 1) + sum([x * 1.0 for _ in range(0)])
    return total


def indices_of_nothing(x: Any) -> Any:
    found = []
    for i in range(len(x)):
        if x[i] > 10:
            found.append(i)
    return np.sum(x[found]) + np.sum(x[np.ix_(found)]) + np.sum(x**2)


@pytest.mark.parametrize(
    "f, value, slope, second",
    [
        (sum_of_no_arrays, 0.75, [3.0, 0.0, 0.0], [6.0, 0.0, 0.0]),
        (indices_of_nothing, 5.25, [1.0, 2.0, 4.0], [2.0, 2.0, 2.0]),
    ],
)
def test_arrays_may_turn_out_to_be_something_else(
    f: Callable, value: float, slope: list, second: list
) -> None:
    x, v = np.array([0.5, 1.0, 2.0]), np.array([1.0, -1.0, 0.5])
    for _ in range(2):
        found = jvp(f, (x,), (v,))
        np.testing.assert_allclose(found[0], value)
        np.testing.assert_allclose(found[1], np.dot(slope, v))
        np.testing.assert_allclose(gradient(f, x), slope)
        np.testing.assert_allclose(hvp(f, x, v), second * v)
        np.testing.assert_allclose(hessian(f, x), np.diag(second))
