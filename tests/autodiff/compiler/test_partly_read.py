"""Loops in functions that are not read as a whole become steps of a recording."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from autodiff import compile, gradient

pytest.importorskip("llvmlite")

X = np.linspace(0.2, 1.4, 5)


def partly_read(x: Any, turns: int) -> Any:
    json.dumps({})
    s = 0.0
    for i in range(turns):
        s = s * 0.99 + np.sin(x[i % 5])
    return s


def test_a_loop_in_a_function_that_is_not_read_is_a_step() -> None:
    compiled = compile(lambda x: gradient(partly_read, x, 3000, argnums=0))
    weights = 0.99 ** (2999.0 - np.arange(3000.0))
    for x in (X, 1.1 * X):
        expected = weights.reshape(-1, 5).sum(axis=0) * np.cos(x)
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-10)
    (loop,) = compiled.report().loops
    assert loop.state == "machine code"
