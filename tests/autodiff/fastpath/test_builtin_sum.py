"""Python's ``sum`` of floats: traced it has the value that it has without a derivative."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import compile, gradient, hvp, pushforward, value_and_gradient
from autodiff.intercept.runtime import builtin_calls

SPREAD = (1e16, 1.0, -1e16)  # 1.0 from Python 3.12 on, 0.0 before


SUMS = [
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
    lambda a, b, c: sum([a, b, c, np.float64(b)]),
    lambda a, b, c: sum([a, b, np.float64(b), a, b, c, c], b),
    lambda a, b, c: sum([1e16, 1.0, -1e16, np.float64(a) * b * c]),
]


@pytest.mark.parametrize("f", SUMS)
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


OTHERS = [(1.0, 1e100, -1e100), (1e308, 1e308, -1.0), (math.inf, 1.0, 2.0), (math.nan, 1.0, -1.0)]


@pytest.mark.parametrize("f", [*SUMS, lambda a, b, c: sum([a * -0.0, b * -0.0], -0.0) + 0.0 * c])
def test_compiled(f: Callable) -> None:
    compiled = compile(f)
    with_slopes = compile(lambda *args: value_and_gradient(f, *args, argnums=(0, 1, 2)))
    for args in (SPREAD, SPREAD, *OTHERS, (0.1, 0.2, 0.3)):
        with np.errstate(over="ignore"):  # the sum of NumPy's numbers warns
            value, slopes = value_and_gradient(f, *args, argnums=(0, 1, 2))
            found, found_slopes = with_slopes(*args)
            assert repr(compiled(*args)) == repr(found) == repr(value) == repr(f(*args))
        np.testing.assert_array_equal(found_slopes, slopes)


@pytest.mark.parametrize(
    "items, start, total",
    [
        ([1e16, 1.0, -1e16], 0, 1.0),
        ([1.0, 1e100, 1.0, -1e100], 0, 2.0),
        ([1e16, 1.0], -1e16, 1.0),
        ([1e16, 1, -1e16], 0, 0.0),  # an integer is added as it is
        ([1e308, 1e308, -1e308], 0, math.inf),
        ([1e16, 1.0, -1e16, np.float64(2.0)], 0, np.float64(3.0)),  # NumPy's number ends this
        ([1e16, 1.0, -1e16, np.float64(0.0), 1e16, 1.0, -1e16], 0, np.float64(0.0)),
        ([-0.0], -0.0, -0.0),
    ],
)
def test_the_sum_of_newer_pythons(items: list, start: float, total: float) -> None:
    found = builtin_calls._with_errors(items, start)
    assert repr(found) == repr(total)
    if builtin_calls.SUM_TAKES_ERRORS_ALONG:
        assert repr(sum(items, start)) == repr(total)
