"""Arrays of dtype object: those of numbers count as numbers, others have cells, or an error."""

from __future__ import annotations

import fractions
from collections.abc import Callable

import numpy as np
import pytest

from autodiff import DifferentiationError, gradient, hvp, jacobian, pullback, pushforward

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


def cells(x):
    """An array of objects, two of which are traced."""
    a = np.empty(3, dtype=object)
    a[0], a[1], a[2] = x[0], 2.0, x[1] * x[2]
    return a


def arrays(x):
    """An array of arrays."""
    a = np.empty(2, dtype=object)
    a[0], a[1] = x[:2] ** 2, np.ones(2)
    return a


@pytest.mark.parametrize(
    "f",
    [
        lambda x: cells(x).dot(cells(x)) + np.dot(cells(x), cells(x)[::-1]) + cells(x) @ X,
        lambda x: X.dot(cells(x)) + cells(x).dot(x) + x.dot(cells(x)) + np.inner(cells(x), x),
        lambda x: np.tensordot(cells(x), cells(x), 1),
        lambda x: np.outer(cells(x), cells(x)).sum() + np.kron(x, cells(x)).prod(),
        lambda x: np.concatenate([cells(x), x]).prod(),
        lambda x: np.choose([0, 2], cells(x)).sum() + np.stack([cells(x), x]).sum(),
        lambda x: (
            cells(x).sum() * np.mean(cells(x)) * cells(x).std()
            + np.cumsum(cells(x))[-1]
            + cells(x).prod()
        ),
        lambda x: (
            np.array(cells(x), dtype=float).sum()
            + cells(x).astype(float)[0]
            + np.where(X > 1.0, cells(x), x).sum()
        ),
        lambda x: np.array([x[0], 2.0, x[1] * x[2]], dtype=object).prod(),
        lambda x: (
            np.array([[x[0], None], ["a", x[1] ** 2]], "O")[1, 1] * np.asarray(x, "O")
        ).sum(),
        lambda x: (np.array([x[:2], 2.0 * x], dtype=object)[1] ** 2).sum(),
        lambda x: np.array([x, 2.0 * x], object)[1].dot(X) + arrays(x)[0].sum(),
        lambda x: (x.__array__() ** 2).sum() + x.__array__(float).prod(),
        lambda x: (x.__array__(np.float64, copy=True) * X).sum() + x[0].__array__(),
    ],
)
def test_cells(f: Callable, differences: Callable) -> None:
    found, v = gradient(f, X), np.array([0.3, -1.0, 0.5])
    np.testing.assert_allclose(found, differences(f, X), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(pushforward(f, X)[1](v), found @ v)
    second = (gradient(f, X + 1e-5 * v) - gradient(f, X - 1e-5 * v)) / 2e-5
    np.testing.assert_allclose(hvp(f, X, v), second, rtol=1e-6, atol=1e-8)


def test_an_output_with_numbers_in_cells() -> None:
    expected = np.array([[1.0, 0, 0], [0, 0, 0], [0, X[2], X[1]]])
    for mode in ("reverse", "forward"):
        np.testing.assert_allclose(jacobian(cells, X, mode=mode), expected)
    np.testing.assert_allclose(pushforward(cells, X)[1](X), expected @ X)
    np.testing.assert_allclose(pullback(cells, X)[1](X), X @ expected)


@pytest.mark.parametrize("find", [pullback, pushforward, jacobian])
def test_an_output_with_arrays_in_cells(find: Callable) -> None:
    with pytest.raises(DifferentiationError, match="the function returns an array"):
        find(arrays, X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.where(np.array([True, False, False]), x, TEXTS)[0],
        lambda x: np.concatenate([x, NUMBERS]).sum(),
        lambda x: np.concatenate([x, TEXTS])[0],
        lambda x: np.dot(arrays(x), np.ones(2))[0],
        lambda x: np.ones(2).dot(arrays(x))[0],
        lambda x: np.sum(arrays(x) * x[0])[0],
        lambda x: np.tensordot(arrays(x), x[:2], 1),
        lambda x: x.astype(object).sum(),
        lambda x: np.full(3, x[0], dtype=object).sum(),
    ],
)
def test_objects(f: Callable) -> None:
    with pytest.raises(DifferentiationError):
        gradient(f, X)
    with pytest.raises(DifferentiationError):
        pushforward(f, X)[1](X)
