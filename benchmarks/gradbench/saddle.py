"""saddle: the point that is lowest in x and highest in y.

The function of x that is minimised is itself the result of an ascent in y: its gradient goes
through that ascent, with the gradients in it; each of the two levels by either mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autodiff import compile
from benchmarks.gradbench.descent import argmax, argmin
from benchmarks.gradbench.modes import MODES, Slope
from benchmarks.gradbench.protocol import Task


def f(x: list[float], y: list[float]) -> float:
    return (x[0] * x[0] + x[1] * x[1]) - (y[0] * y[0] + y[1] * y[1])


def highest(x: list[float], start: list[float], slope_of: Slope) -> list[float]:
    def along(y: list[float]) -> float:
        return f(x, y)

    return argmax(along, lambda y: slope_of(along, y), start)


def solver(outer: str, inner: str) -> Callable[[list[float]], list[float]]:
    def peak(x: list[float], start: list[float]) -> float:
        return f(x, highest(x, start, MODES[inner]))

    def slope(x: list[float], start: list[float]) -> list[float]:
        return MODES[outer](lambda x: peak(x, start), x)

    # Machine code of so many floats takes minutes.
    fast_peak, fast_slope = (compile(f, backend="python") for f in (peak, slope))

    def solve(start: list[float]) -> list[float]:
        x = argmin(lambda x: fast_peak(x, start), lambda x: fast_slope(x, start), start)
        return x + highest(x, start, MODES[inner])

    return solve


def prepare(given: dict[str, Any]) -> tuple[list[float]]:
    return (list(map(float, given["start"])),)


TASKS = {
    outer + inner: Task(prepare, solver(outer, inner), list) for outer in "rf" for inner in "rf"
}
