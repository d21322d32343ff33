"""hello: the square of a number and its derivative."""

from __future__ import annotations

from autodiff import gradient
from benchmarks.gradbench.protocol import Task


def square(x: float) -> float:
    return x * x


def double(x: float) -> float:
    return gradient(square, x)


TASKS = {
    "square": Task(lambda x: (float(x),), square, float),
    "double": Task(lambda x: (float(x),), double, float),
}
