"""exp, log, sin, … of arrays in machine code: as exact as NumPy's, with the same warnings."""

from __future__ import annotations

import math
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import value_and_gradient, vector_functions
from autodiff.structured.runtime import Structured

USUAL = np.concatenate([np.linspace(-9.0, 9.0, 1601), 1e-9 * np.arange(-20.0, 20.0), [0.0, -0.0]])
POSITIVE = np.concatenate([10.0 ** np.linspace(-300.0, 300.0, 1201), np.linspace(0.3, 3.0, 1200)])
# The function, its derivative, and numbers of which NumPy does not warn.
FUNCTIONS: dict[str, tuple[Callable, Callable, np.ndarray]] = {
    "exp": (np.exp, np.exp, np.append(40.0 * USUAL, [-750.0, 709.7, -1e300])),
    "expm1": (np.expm1, np.exp, np.append(USUAL, [-60.0, 700.0, -800.0])),
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2, np.append(USUAL, [50.0, -1e300])),
    "sin": (np.sin, np.cos, np.append(USUAL, [1e5, -1e9, 1e12, np.pi])),
    "cos": (np.cos, lambda x: -np.sin(x), np.append(USUAL, [1e5, -1e9, np.pi / 2])),
    "log": (np.log, lambda x: 1 / x, np.append(POSITIVE, [2.2e-308, 1.7e308, 1.0])),
    "log1p": (np.log1p, lambda x: 1 / (1 + x), np.append(USUAL[USUAL > -1], [1e300, -1e-300])),
}
SPECIAL = [0.0, -0.0, -1.0, -2.0, 710.0, 1e15, -1e15, np.inf, -np.inf, np.nan, 5e-324]


def _looped(f: Callable) -> Callable:
    """Return a function with a loop, whose result is made by one function of its argument."""

    def kernel(x: Any) -> Any:
        y = np.zeros(len(x), dtype=x.dtype)
        for k in range(1, 3):
            y[:] = f(x) * k
        return y

    # One of its own: nothing of it is known from other tests.
    kernel = types.FunctionType(
        kernel.__code__.replace(), globals(), f.__name__, None, kernel.__closure__
    )

    def loss(x: Any) -> Any:
        y = kernel(x)
        return np.sum(y * 0.5), y

    return loss


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_they_are_exact(name: str, dtype: type, made: list[Structured]) -> None:
    f, derivative, x = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        x = x.astype(dtype)
        x = x[np.isfinite(np.sum(f(x))) | (np.abs(x) < 60.0)]
        x = x[np.isfinite(2 * f(x)) & np.isfinite(derivative(x))]
    scale = 2e-15 if dtype is np.float64 else 4e-7
    loss = _looped(f)
    for _ in range(3):
        (_, found), slope = value_and_gradient(loss, x, has_aux=True)
        assert found.dtype == slope.dtype == dtype
        np.testing.assert_allclose(found, 2 * f(x), rtol=scale, atol=0.0)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(f(x)))
        np.testing.assert_allclose(slope, derivative(x), rtol=8 * scale, atol=scale)
    programs = [p for p in made if p.native is not None]
    assert programs
    assert not any(p.bailouts for p in programs)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x", SPECIAL)
def test_special_numbers_and_warnings(name: str, x: float) -> None:
    f = FUNCTIONS[name][0]
    array = np.full(9, 0.5)
    array[4] = x
    with warnings.catch_warnings(record=True) as expected:
        warnings.simplefilter("always")
        y = 2 * f(array)
    loss = _looped(f)
    for _ in range(3):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            (_, found), _ = value_and_gradient(loss, array, has_aux=True)
        np.testing.assert_allclose(found, y, rtol=2e-15)
        np.testing.assert_array_equal(np.signbit(found[4]), np.signbit(y[4]))
        assert {str(w.message) for w in expected} <= {str(w.message) for w in caught}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_they_are_written(name: str) -> None:
    """In Python, where products and sums are rounded one by one."""
    f, _, x = FUNCTIONS[name]
    for a in x[::7]:
        if not math.isfinite(f(a)) or (name in ("sin", "cos") and abs(a) > 9.0):
            continue
        found = getattr(vector_functions, name)(float(a))
        assert found == pytest.approx(float(f(a)), rel=4e-15, abs=1e-15 * (name in ("sin", "cos")))


@pytest.mark.parametrize("power", [-3, -1.5, -1, -0.5, 0.5, 1.5, 2.5, 3, 4.0, 0.7, 5])
@pytest.mark.parametrize("bad", [None, 0.0, -1.0, -0.0, -np.inf])
def test_powers(power: float, bad: float | None, made: list[Structured]) -> None:
    x = np.linspace(0.01, 30.0, 200)
    if bad is not None:
        x[7] = bad
    with warnings.catch_warnings(record=True) as expected:
        warnings.simplefilter("always")
        y = 2 * x**power
    loss = _looped(lambda x: x**power)
    for _ in range(3):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            (_, found), bar = value_and_gradient(loss, x, has_aux=True)
        np.testing.assert_allclose(found, y, rtol=2e-15)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(y))
        if bad is None:
            np.testing.assert_allclose(bar, power * x ** (power - 1), rtol=4e-15)
            assert not any(p.bailouts for p in made)
        assert bool(expected) <= bool(caught)
