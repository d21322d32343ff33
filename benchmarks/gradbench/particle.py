"""particle: the control that lets a charged particle fly through the origin.

The force on the particle is the gradient of a potential, and descent on the control takes the
gradient of the flight with all these forces in it: derivatives at two levels, each by either mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.gradbench.descent import argmin
from benchmarks.gradbench.modes import MODES, Slope
from benchmarks.gradbench.parts import part
from benchmarks.gradbench.protocol import Task

TIME_STEP = 0.1
STEPS = 20
START = np.array([[0.0, 8.0, 0.75, 0.0]])


def potential(at: list[float], charges: list[list[float]]) -> float:
    return sum(1.0 / math.dist(at, charge) for charge in charges)


def flight(slope_of: Slope) -> Callable[[np.ndarray, float], np.ndarray]:
    """Return some steps of Euler's method: places and velocities from the one given onwards."""

    def flown(state: np.ndarray, w: float) -> np.ndarray:
        charges = [[10.0, 10.0 - w], [10.0, 0.0]]
        states = np.empty((STEPS + 1, 4))
        states[0] = state
        x, y, u, v = state
        for i in range(STEPS):
            slope = slope_of(lambda at: potential(at, charges), [x, y])
            x, y = x + TIME_STEP * u, y + TIME_STEP * v
            u, v = u - TIME_STEP * slope[0], v - TIME_STEP * slope[1]
            states[i + 1] = x, y, u, v
        return states

    return part(flown, backend="python")  # machine code of so many floats takes a minute


def solver(outer: str, inner: str) -> Callable[[float], float]:
    flown = flight(MODES[inner])

    def missed(w: list[float]) -> float:
        """Fly until the axis is crossed; return the square of where that is."""
        states = START
        while True:
            states = flown(states[-1], w[0])
            below = np.flatnonzero(states[:, 1] <= 0)
            if len(below):
                _, _, u, v = states[below[0] - 1]
                x, y = states[below[0], :2]
                return (x - y / v * u) ** 2

    return lambda w: argmin(missed, lambda w: MODES[outer](missed, w), [w])[0]


def prepare(given: dict[str, Any]) -> tuple[float]:
    return (float(given["w"]),)


TASKS = {
    outer + inner: Task(prepare, solver(outer, inner), float) for outer in "rf" for inner in "rf"
}
