from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import autodiff
from chainrules_core import frule, rrule


@pytest.fixture(autouse=True)
def rules_of_the_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Take the rules that a test registers away after it: those defined in its own file."""
    yield
    for table in (rrule, frule):
        ours = [r for r in table.methods() if r.defined_at.startswith(str(request.path))]
        for f in dict.fromkeys(r.f for r in ours):
            table.unregister(f)


def central(f: Callable, x: Any, h: float = 1e-6) -> Any:
    """The gradient of a real function of a real array, by central differences."""
    x = np.asarray(x, float)
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        ahead, back = x.copy(), x.copy()
        ahead[i] += h
        back[i] -= h
        found[i] = (f(ahead) - f(back)) / (2 * h)
    return found


@pytest.fixture
def differences() -> Callable:
    return central


@pytest.fixture
def right_or_error() -> Callable:
    """Check value and gradient; one of the errors is as good. A wrong number never is."""

    def check(f: Callable, x: np.ndarray, *errors: type[Exception]) -> None:
        expected_value = f(x.copy())
        expected = central(f, x)
        try:
            value, found = autodiff.value_and_gradient(f, x.copy())
        except errors:
            return
        np.testing.assert_allclose(value, expected_value, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)

    return check
