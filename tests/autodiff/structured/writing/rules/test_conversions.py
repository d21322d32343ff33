"""Numbers that programs convert to another precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff


@pytest.mark.parametrize("name", ["float32", "float64", "asarray"])
@pytest.mark.parametrize("s", [0.4, np.float64(0.4), np.float32(0.4)])
def test_of_a_number(name: str, s: Any, check_sweep: Callable, traced: Callable) -> None:
    convert = getattr(np, name)

    def f(v: Any) -> Any:
        total = 0.0
        for i in range(4):
            total = total + np.sum(v) * convert(v[0] * (i + s))
        return total

    x = np.array([0.5, -0.25, 1.5])
    expected = traced(f, x)
    found = autodiff.gradient(f, x)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    if name == "float64":
        check_sweep(f, x)
