"""What `check_modes` sees: a factor, and slopes of a slope that are lost, of its own or another."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import ignore_derivatives
from chainrules_core import NoTangent, frule, rrule

X, Y = np.array([0.3, 1.2]), np.array([0.7, -0.4])


def product(wrong: str) -> Callable:
    """Return a function of two arrays whose pullback is wrong in one way."""

    def f(a: Any, b: Any) -> Any:
        return a**3 * b**2

    @rrule.register(f)
    def _(a: Any, b: Any) -> tuple:
        def pullback(y_bar: Any) -> tuple:
            own = ignore_derivatives(a) if wrong == "own" else a
            other = ignore_derivatives(b) if wrong == "other" else b
            factor = 4 if wrong == "factor" else 3
            return NoTangent(), factor * own**2 * other**2 * y_bar, 2 * a**3 * b * y_bar

        return a**3 * b**2, pullback

    @frule.register(f)
    def _(dots: tuple, a: Any, b: Any) -> tuple:
        return a**3 * b**2, 3 * a**2 * b**2 * dots[0] + 2 * a**3 * b * dots[1]

    return f


def test_right_rules_pass(check_modes: Callable) -> None:
    check_modes(product("nothing"), X, Y)


@pytest.mark.parametrize("wrong", ["factor", "own", "other"])
@pytest.mark.parametrize("each", [False, True])
def test_wrong_rules_are_seen(wrong: str, each: bool, check_modes: Callable) -> None:
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_modes(product(wrong), X, Y, each=each)
