"""llsq: least squares of a polynomial of many coefficients against the sign of its argument."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff import compile, gradient
from benchmarks.gradbench.protocol import Task


def primal(x: np.ndarray, n: int) -> float:
    t = np.linspace(-1.0, 1.0, n)
    powers = np.vander(t, len(x), increasing=True)
    return np.sum((np.sign(t) - powers @ x) ** 2) / 2


def prepare(given: dict[str, Any]) -> tuple[np.ndarray, int]:
    return np.array(given["x"]), given["n"]


TASKS = {
    "primal": Task(prepare, compile(primal), float),
    "gradient": Task(
        prepare, compile(lambda x, n: gradient(primal, x, n, argnums=0)), np.ndarray.tolist
    ),
}
