"""ode: y₀' = x₀ and yᵢ' = xᵢ yᵢ₋₁ by Runge and Kutta's method; the gradient of the last element."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff import compile, gradient
from benchmarks.gradbench.protocol import Task


def slope(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.concatenate([x[:1], x[1:] * y[:-1]])


def primal(x: np.ndarray, s: int) -> np.ndarray:
    h = 2.0 / s
    y = np.zeros(len(x))
    for _ in range(s):
        k1 = slope(x, y)
        k2 = slope(x, y + h / 2 * k1)
        k3 = slope(x, y + h / 2 * k2)
        k4 = slope(x, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def last(x: np.ndarray, s: int) -> float:
    return primal(x, s)[-1]


def prepare(given: dict[str, Any]) -> tuple[np.ndarray, int]:
    return np.array(given["x"]), given["s"]


TASKS = {
    "primal": Task(prepare, compile(primal), np.ndarray.tolist),
    "gradient": Task(
        prepare, compile(lambda x, s: gradient(last, x, s, argnums=0)), np.ndarray.tolist
    ),
}
