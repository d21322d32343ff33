"""Untraced arrays given to C functions inside a traced function: read, not written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.linalg import lapack

from autodiff import gradient, pushforward

X = np.array([0.3, 1.2, -0.5])


def solved(diagonal: Any, right: Any) -> Any:
    """LAPACK overwrites what f2py has not copied."""
    return lapack.dgtsv(diagonal[1:], diagonal + 3.0, diagonal[:-1], right)[3]


def of_a_buffer(x: Any) -> Any:
    buffer = np.ones(3)
    y = solved(buffer, buffer)
    return np.sum(buffer) + np.sum(x) * y[0]


def of_an_argument_without_tangent(x: Any, c: Any) -> Any:
    return np.sum(solved(c, c) * x) + np.sum(c)


@pytest.mark.parametrize("f", [of_a_buffer])
def test_reverse(f: Callable, differences: Callable) -> None:
    np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-6)


def test_the_users_array_is_not_written_into() -> None:
    c = X.copy()
    y, push = pushforward(of_an_argument_without_tangent, X, c, argnums=0)
    assert y == of_an_argument_without_tangent(X, X.copy())
    np.testing.assert_allclose(push(np.ones(3)), np.sum(solved(X, X)))
    np.testing.assert_array_equal(c, X)
    _, push = pushforward(of_an_argument_without_tangent, X, c)
    push(np.ones(3), None)
    np.testing.assert_array_equal(c, X)
