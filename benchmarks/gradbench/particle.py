"""particle: the control that lets a charged particle fly through the origin.

The force on the particle is the gradient of a potential, and descent on the control takes the
gradient of the flight with all these forces in it: derivatives at two levels, each by either mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from autodiff import compile
from benchmarks.gradbench.descent import argmin
from benchmarks.gradbench.modes import MODES, Slope
from benchmarks.gradbench.protocol import Task

TIME_STEP = 0.1


def potential(at: list[float], charges: list[list[float]]) -> float:
    return sum(1.0 / math.dist(at, charge) for charge in charges)


def missed(w: float, force_of: Slope) -> float:
    """Euler's method until the particle crosses the axis; the square of where it does."""
    charges = [[10.0, 10.0 - w], [10.0, 0.0]]
    x, y, u, v = 0.0, 8.0, 0.75, 0.0
    while True:
        slope = force_of(lambda at: potential(at, charges), [x, y])
        x, y = x + TIME_STEP * u, y + TIME_STEP * v
        if y <= 0:
            return (x - y / v * u) ** 2
        u, v = u - TIME_STEP * slope[0], v - TIME_STEP * slope[1]


def solver(outer: str, inner: str) -> Callable[[float], float]:
    def aim(w: list[float]) -> float:
        return missed(w[0], MODES[inner])

    value, slope = compile(aim), compile(lambda w: MODES[outer](aim, w))
    return lambda w: argmin(value, slope, [w])[0]


def prepare(given: dict[str, Any]) -> tuple[float]:
    return (float(given["w"]),)


TASKS = {
    outer + inner: Task(prepare, solver(outer, inner), float) for outer in "rf" for inner in "rf"
}
