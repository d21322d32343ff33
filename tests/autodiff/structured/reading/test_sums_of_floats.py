"""``sum`` of Python's floats, which takes the rounding errors along since Python 3.12."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from tests.helpers import check_gradient

X = np.array([0.7, 0.45, 0.9])


def of_two(x: Any) -> Any:
    v = 0.3
    for k in range(6):
        v = v + 0.5 * sum([v, math.sin(v)]) * float(k) + x[k % 3]
    return v


def of_three(x: Any) -> Any:
    v = w = 0.3
    for k in range(6):
        v = v + 0.5 * sum((v, w, math.sin(v * x[k % 3]))) / (k + 1)
        w = w * x[0]
    return v + w


def with_start(x: Any) -> Any:
    v, w = 0.25, 0.5
    for k in range(6):
        v, w = sum([v, w], start=0.1), math.tanh(v) * x[k % 3] + sum([v, 3, w], v)
    return v + w


def of_numpys_numbers(x: Any) -> Any:
    v = 0.1
    for k in range(6):
        v = v * 0.5 + sum([v, 0.1, 1e-17 * v, 2, x[k % 3], v, 0.3])
    return v


def of_a_long_list(x: Any) -> Any:
    made = [0.1, 0.2]
    for k in range(60):
        made.append(made[-1] * 0.5 + made[-2] * 0.4 + x[k % 3])
        made.append(0.1 * k)
    return sum(made) + sum(v * v for v in made)


def of_comprehensions(x: Any) -> Any:
    weights, made = [0.1, 0.2, 0.7, 1e-17] * 20, [x[0]]
    for k in range(30):
        made.append(
            sum(w * v for w, v in zip(weights, made, strict=False)) + sum([v * k for v in x])
        )
    return made[-1] + sum([w * float(k) for k, w in enumerate(weights)]) * x[1]


def cancelling(x: Any) -> Any:
    """Only with the errors is this not 0."""
    total = 0.0
    for k in range(6):
        total = total + sum([1e16, float(k + 1), -1e16, 0.0 * total]) * x[k % 3]
    return total


PROGRAMS = [
    of_two,
    of_three,
    with_start,
    of_numpys_numbers,
    of_a_long_list,
    of_comprehensions,
    cancelling,
]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(f: Callable, check_sweep: Callable, check_with_machine_code: Callable) -> None:
    check_sweep(f, X)
    check_with_machine_code(f, X)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_to_the_last_bit(f: Callable) -> None:
    expected = f(X)
    for run in (
        autodiff.value_and_gradient,
        autodiff.compile(lambda f, x: autodiff.value_and_gradient(f, x)),
    ):
        for _ in range(4):
            assert run(f, X)[0] == expected
    check_gradient(f, X)
