"""Gradients with respect to float64 have its precision, whatever they are multiplied by."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, pushforward

X = np.array([1.718, 0.37])

PROGRAMS: list[Callable] = [
    lambda x, c, cs: math.tanh(c * x[0]),
    lambda x, c, cs: math.tanh(x[0] * c),
    lambda x, c, cs: math.tanh(0.01 * x[0] / c),
    lambda x, c, cs: math.tanh(x[0] ** c),
    lambda x, c, cs: np.tanh(c * x[0]),
    lambda x, c, cs: math.exp(np.sin(x[0] * c) * c),
    lambda x, c, cs: math.tanh(x[0] * cs[1]),
    lambda x, c, cs: math.tanh(np.hypot(x[0], c)),
    lambda x, c, cs: math.tanh(np.dot(x, cs)),
    lambda x, c, cs: math.tanh(x @ cs),
    lambda x, c, cs: math.tanh(np.sum(x * cs)),
    lambda x, c, cs: math.tanh(np.mean(x) * c),
    lambda x, c, cs: math.tanh(np.vdot(cs, np.sin(x))),
    lambda x, c, cs: np.sum(x / cs),
    lambda x, c, cs: np.sum(x**cs * cs),
    lambda x, c, cs: np.sum(np.arctan2(x, cs)),
    lambda x, c, cs: np.sum(np.sin(x) / cs * np.exp(x * cs)),
    lambda x, c, cs: math.atan2(x[0], c) + math.pow(x[1], c),
    lambda x, c, cs: np.sum(x[0] / cs + cs ** x[1]),
    lambda x, c, cs: np.sum(np.abs((x + 1j * x) / cs.astype(np.complex64))),
]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("f", PROGRAMS)
def test_constants_of_lower_precision(f: Callable, dtype: Any) -> None:
    cs = np.array([0.1, 0.2], dtype) / dtype(3)

    def with_low(x: Any) -> Any:
        return f(x, cs[0], cs)

    for _ in range(10):  # code is generated after some calls
        found = gradient(with_low, X)
    assert found.dtype == np.float64
    expected = gradient(lambda x: f(x, float(cs[0]), cs.astype(float)), X)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    tangent = pushforward(with_low, X)[1](np.array([1.0, -0.5]))
    np.testing.assert_allclose(tangent, expected @ [1.0, -0.5], rtol=1e-12)
