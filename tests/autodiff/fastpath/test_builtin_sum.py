"""Python's ``sum`` of floats: traced it has the value that it has without a derivative."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, hvp, pushforward, value_and_gradient

SPREAD = (1e16, 1.0, -1e16)  # 1.0 from Python 3.12 on, 0.0 before


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b, c: sum([a, b, c]),
        lambda a, b, c: sum((a, b, c)),
        lambda a, b, c: sum(t for t in (a, b, c)),
        lambda a, b, c: sum([a, b], start=c),
        lambda a, b, c: sum([a, b], c),
        lambda a, b, c: sum([a, 1.0, -1e16]) * (b + c),
        lambda a, b, c: sum([1e16, b, -1e16]) * a,
        lambda a, b, c: sum(map(operator.neg, [a, b, c])),
        lambda a, b, c: sum([sum([a, b]), c]),
        lambda a, b, c: sum([np.float64(a), b, c]),
        lambda a, b, c: sum([a, 1, c]) + b,
        lambda a, b, c: sum([a, True, c]) * b,
    ],
)
def test_the_value_is_that_of_plain_floats(f: Callable) -> None:
    value, slopes = value_and_gradient(f, *SPREAD, argnums=(0, 1, 2))
    assert value == f(*SPREAD)
    for i, slope in enumerate(slopes):
        direction = [float(i == j) for j in range(3)]
        y, push = pushforward(f, *SPREAD)
        assert y == value
        assert push(*direction) == slope


def test_on_two_levels() -> None:
    def f(x: Any) -> Any:
        total = sum([x[0] * x[0], 1.0, -x[0] * x[0]])
        return total * x[1] * x[1]

    x = np.array([1e8, 3.0])
    found = hvp(f, x, np.array([0.0, 1.0]))
    assert found[1] == 2.0 * sum([np.float64(1e16), 1.0, -np.float64(1e16)])
    slope = gradient(lambda t: gradient(lambda s: s * sum([t, 1.0, -t]), 2.0), 1e16)
    assert slope == 0.0
