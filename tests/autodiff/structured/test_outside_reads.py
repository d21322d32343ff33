"""Pullbacks that trace the function again: what it reads from outside must be what it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import DifferentiationError, gradient, vjp
from tests.helpers import module_of

X = np.linspace(0.1, 1.0, 12)
PROGRAM = """
import numpy as np
RATE, WEIGHTS, TABLE = 0.5, np.ones(12), [1.0, 2.0]

class Model:
    scale = 2.0

    def loss(self, x):
        s = 0.0
        for i in range(len(x)):
            s = s * 0.5 + x[i] * x[i] * self.scale
        return s

OBJECT = Model()

def factor(x):
    return x * RATE

def by_number(x):
    s = 0.0
    for i in range(len(x)):
        s = s * RATE + x[i] * x[i]
    return s

def by_helper(x):
    s = 0.0
    for i in range(len(x)):
        s = s + factor(x[i]) * x[i]
    return s

def by_array(x):
    s = 0.0
    for i in range(len(x)):
        s = s * 0.5 + x[i] * x[i] * WEIGHTS[i]
    return s

def by_list(x):
    s = 0.0
    for i in range(len(x)):
        s = s * 0.5 + x[i] * x[i] * TABLE[i % 2]
    return s

def by_object(x):
    return OBJECT.loss(x)

def made(rate):
    def by_cell(x):
        s = 0.0
        for i in range(len(x)):
            s = s * rate + x[i] * x[i]
        return s

    def change(value):
        nonlocal rate
        rate = value

    return by_cell, change

BY_CELL, CHANGE = made(0.5)

def change(name):
    global RATE, factor
    if name == "by_number":
        RATE = 0.25
    elif name == "by_helper":
        factor = lambda x: x * 3.0
    elif name == "by_array":
        WEIGHTS[3] = 7.0
    elif name == "by_list":
        TABLE[1] = 7.0
    elif name == "by_object":
        OBJECT.scale = 7.0
    else:
        CHANGE(0.25)
"""
NAMES = ["by_number", "by_helper", "by_array", "by_list", "by_object", "BY_CELL"]


def pulled(name: str, seed: float, changes: bool) -> np.ndarray:
    """Return a gradient that is taken after what the function reads has changed, perhaps."""
    space = vars(module_of(PROGRAM))
    _, pullback = vjp(space[name], X)
    if changes:
        space["change"](name)
    return pullback(seed)


@pytest.mark.parametrize("name", NAMES)
def test_a_sweep_reads_what_the_call_read(runs: list[str], name: str) -> None:
    np.testing.assert_array_equal(pulled(name, 2.0, True), pulled(name, 2.0, False))
    assert runs


@pytest.mark.parametrize("name", NAMES)
def test_tracing_again_is_refused_after_a_change(runs: list[str], name: str) -> None:
    """A cotangent that is not finite makes the pullback trace the function."""
    assert np.isinf(pulled(name, np.inf, False)).all()
    with pytest.raises(DifferentiationError, match="changed since it was called"):
        pulled(name, np.inf, True)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_of_a_late_pullback(runs: list[str], name: str) -> None:
    """They trace the function, too."""
    space = vars(module_of(PROGRAM))
    _, pullback = vjp(space[name], X)
    of_pullback: Callable[[Any], Any] = lambda s: np.sum(pullback(s))  # noqa: E731
    np.testing.assert_allclose(gradient(of_pullback, 3.0), np.sum(pullback(1.0)))
    space["change"](name)
    with pytest.raises(DifferentiationError, match="changed since it was called"):
        gradient(of_pullback, 3.0)


def test_an_equal_number_is_no_change(runs: list[str]) -> None:
    space = vars(module_of(PROGRAM))
    _, pullback = vjp(space["by_number"], X)
    space["RATE"] = float("0.5")
    assert np.isinf(pullback(np.inf)).all()
