"""Loops are found again in the recording of their unrolled iterations."""

import numpy as np
import pytest

from autodiff import compile, jacobian
from autodiff.compiler.passes.loop_rerolling import loops_of


def found(signatures, places):
    return [(loop.start, loop.period, loop.count) for loop in loops_of(signatures, places)]


def test_a_plain_loop():
    places = [(k - 1, k - 3) for k in range(40)]
    assert found(["a", "b", "c", "d"] * 10, places) == [(0, 4, 10)]


@pytest.mark.parametrize("away", [4, 8])
def test_halves_of_a_step_that_read_other_operands(away):
    """They look the same after four operations, but are so after eight alone."""
    places = []
    for k in range(96):
        base = k - k % 8
        places.append((k - 1, base - away) if k % 8 == 3 else (k - 1, k - 2))
    assert found(["a", "b", "c", "d"] * 24, places) == [(0, 8, 12)]


def test_turns_that_are_irregular_in_the_middle():
    places = [(k - 1,) for k in range(120)]
    places[62] = (0,)
    loops = found(["a", "b", "c", "d"] * 30, places)
    assert sum(period * count for _, period, count in loops) >= 100
    assert all(not start <= 62 < start + period * count for start, period, count in loops)


def test_nothing_repeats():
    assert found(list(range(50)), [(k - 1,) for k in range(50)]) == []
    assert found(["a"] * 40, [(k * k % 17,) for k in range(40)]) == []


def test_runge_kutta_has_few_nests(interpreted):
    a = np.random.default_rng(0).standard_normal((3, 3)) / 2

    def f(y):
        for _ in range(15):
            k = np.tanh(a @ y)
            y = y + 0.1 * np.tanh(a @ (y + 0.05 * k))
        return y

    compiled = compile(lambda y: jacobian(f, y), backend="native")
    for y in (np.ones(3), np.array([0.3, -0.2, 1.0])):
        np.testing.assert_allclose(compiled(y), jacobian(f, y), rtol=1e-10)
    (kernel,) = interpreted
    assert kernel.source.count("for ") < 60
