"""Arrays of dtype object beside traced values: taken as numbers, or an error."""

from __future__ import annotations

import fractions
from collections.abc import Callable

import numpy as np
import pytest

from autodiff import DifferentiationError, gradient, hvp, pushforward

X = np.array([0.7, 1.3, 2.1])
NUMBERS = np.array([1.0, 2, fractions.Fraction(1, 2)], dtype=object)
TEXTS = np.array([1.0, "a", None], dtype=object)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x * NUMBERS).sum(),
        lambda x: (NUMBERS * x).sum(),
        lambda x: np.multiply(NUMBERS, x).sum() + np.power(x, NUMBERS).sum(),
        lambda x: np.dot(NUMBERS, x) + NUMBERS @ x,
        lambda x: (x[0] * NUMBERS).sum() + (NUMBERS - x[1]).sum() + (NUMBERS ** x[1]).sum(),
        lambda x: np.where(np.array([True, False, True]), x, NUMBERS).sum(),
        lambda x: (x + NUMBERS).sum() * NUMBERS[1] * x[0] * sum(NUMBERS),
        lambda x: (NUMBERS.astype(float) * x).prod(),
    ],
)
def test_numbers(f: Callable, differences: Callable) -> None:
    found, v = gradient(f, X), np.array([0.3, -1.0, 0.5])
    np.testing.assert_allclose(found, differences(f, X), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(pushforward(f, X)[1](v), found @ v)
    second = (gradient(f, X + 1e-5 * v) - gradient(f, X - 1e-5 * v)) / 2e-5
    np.testing.assert_allclose(hvp(f, X, v), second, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.where(np.array([True, False, False]), x, TEXTS)[0],
        lambda x: np.concatenate([x, NUMBERS]).sum(),
        lambda x: x.astype(object).sum(),
        lambda x: np.full(3, x[0], dtype=object).sum(),
        lambda x: np.array([x[0], x[1]], dtype=object).sum(),
        lambda x: np.asarray(x, dtype=object).sum(),
    ],
)
def test_objects(f: Callable) -> None:
    with pytest.raises(DifferentiationError):
        gradient(f, X)
    with pytest.raises(DifferentiationError):
        pushforward(f, X)[1](X)
