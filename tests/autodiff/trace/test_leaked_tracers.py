"""Traced values that are used after the differentiation that made them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import gradient, pullback

X = np.array([1.0, -2.0, 3.0])


LATE: dict[str, Callable] = {
    "times": lambda x: x * 2.0,
    "of numpy": np.sin,
    "read": lambda x: x[0],
    "slice": lambda x: x[1:],
    "sum": np.sum,
    "write": lambda x: x.__setitem__(0, 1.0),
    "in place": lambda x: x.__iadd__(1.0),
    "in another": lambda x: gradient(lambda y: y * np.sum(x), 2.0),
    "returned": lambda x: gradient(lambda y: x[0], 2.0),
    "returned among others": lambda x: pullback(lambda y: (y, x[0]), 2.0),
}


@pytest.mark.parametrize("use", LATE.values(), ids=LATE)
def test_a_leaked_value_is_an_error_when_it_is_used(use: Callable) -> None:
    leaked: list[Any] = []

    def f(x: Any) -> Any:
        leaked.append(x * 1.0)
        return np.sum(x)

    gradient(f, X)
    with pytest.raises(autodiff.LeakedTracerError, match="after the gradient"):
        use(leaked[0])


@pytest.mark.parametrize(
    "use", [lambda x: x, lambda x: x * 2.0, lambda x: 2.0 - x, lambda x: (x, x)],
    ids=["itself", "times", "reflected", "pair"],
)  # fmt: skip
def test_a_leaked_scalar_is_an_error_when_it_is_used_or_returned(use: Callable) -> None:
    leaked: list[Any] = []

    def f(x: Any) -> Any:
        leaked.append(x * 1.0)
        return x * x

    gradient(f, 3.0)
    with pytest.raises(autodiff.LeakedTracerError, match="after the gradient"):
        pullback(lambda y: use(leaked[0]), 2.0)


def test_a_value_of_an_inner_level_does_not_become_a_constant_of_the_outer() -> None:
    def outer(x: float) -> Any:
        leaked: list[Any] = []

        def inner(y: float) -> float:
            leaked.append(y * x)
            return y * x

        gradient(inner, 2.0)
        return leaked[0]  # 2 x: its derivative is 2, and by no means 0

    with pytest.raises(autodiff.LeakedTracerError):
        gradient(outer, 3.0)
