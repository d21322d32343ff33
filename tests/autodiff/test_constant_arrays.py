"""Arrays computed from constants, into which traced values are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff import MutationError, gradient, value_and_gradient

X = np.array([0.3, -0.7, 0.5])
CONSTANT = np.arange(3.0) + 1.0


def written(x: Any) -> Any:
    y = CONSTANT * 1
    y[0] = x[0]
    y[1] *= x[1]
    return np.sum(y**2)


def augmented(x: Any) -> Any:
    y = CONSTANT * 1
    y += x
    return np.sum(y**2)


def written_in_a_nested_function(x: Any) -> Any:
    def scaled() -> Any:
        y = CONSTANT @ np.eye(3)
        for i in range(3):
            y[i] *= x[i]
        return y

    return np.sum(scaled() ** 2)


@pytest.mark.parametrize("f", [written, augmented, written_in_a_nested_function])
def test_an_array_computed_from_constants_takes_a_traced_value(f: Any, differences: Any) -> None:
    np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-6)
    assert f(X) == value_and_gradient(f, X)[0]


def aliased(x: Any) -> Any:
    y = CONSTANT * 1
    z = y
    y[0] = x[0]
    return z[0]


def viewed(x: Any) -> Any:
    y = CONSTANT * 1
    z = y[1:]
    y[1] = x[0]
    return z[0]


def in_a_list(x: Any) -> Any:
    y = CONSTANT * 1
    held = [y]
    y[0] += x[0]
    return held[0][0]


def from_outside(x: Any) -> Any:
    CONSTANT[0] = x[0]
    return CONSTANT[0]


def of_the_caller(x: Any) -> Any:
    def fill(y: Any) -> None:
        y[0] = x[0]

    z = CONSTANT * 1
    fill(z)
    return z[0]


def by_flat(x: Any) -> Any:
    y = CONSTANT * 1
    y.flat[1] = x[0]
    return y[1]


@pytest.mark.parametrize("f", [aliased, viewed, in_a_list, from_outside, of_the_caller, by_flat])
def test_but_not_where_somebody_else_sees_its_memory(f: Any) -> None:
    with pytest.raises(MutationError, match="made outside"):
        gradient(f, X)
    np.testing.assert_array_equal(CONSTANT, [1.0, 2.0, 3.0])
