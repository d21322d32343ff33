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


def potential(at: list[float], charges: list[list[float]]) -> float:
    return sum(1.0 / math.dist(at, charge) for charge in charges)


def mover(slope_of: Slope) -> Callable[[np.ndarray, float], np.ndarray]:
    """Return a step of Euler's method, from place and velocity to place and velocity."""

    @part
    def moved(state: np.ndarray, w: float) -> np.ndarray:
        charges = [[10.0, 10.0 - w], [10.0, 0.0]]
        x, y, u, v = state
        slope = slope_of(lambda at: potential(at, charges), [x, y])
        return np.array(
            [
                x + TIME_STEP * u,
                y + TIME_STEP * v,
                u - TIME_STEP * slope[0],
                v - TIME_STEP * slope[1],
            ]
        )

    return moved


def solver(outer: str, inner: str) -> Callable[[float], float]:
    moved = mover(MODES[inner])

    def missed(w: list[float]) -> float:
        """Fly until the axis is crossed; return the square of where that is."""
        state = np.array([0.0, 8.0, 0.75, 0.0])
        while True:
            _, _, u, v = state
            state = moved(state, w[0])
            x, y = state[:2]
            if y <= 0:
                return (x - y / v * u) ** 2

    return lambda w: argmin(missed, lambda w: MODES[outer](missed, w), [w])[0]


def prepare(given: dict[str, Any]) -> tuple[float]:
    return (float(given["w"]),)


TASKS = {
    outer + inner: Task(prepare, solver(outer, inner), float) for outer in "rf" for inner in "rf"
}
