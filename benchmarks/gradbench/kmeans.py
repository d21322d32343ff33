"""kmeans: the cost of a clustering, and Newton's direction from its gradient and Hessian.

The Hessian is diagonal, so its product with ones is its diagonal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff import compile, gradient, jvp
from benchmarks.gradbench.protocol import Task


def cost(centroids: np.ndarray, points: np.ndarray) -> float:
    squares = np.sum(centroids**2, axis=1)[:, None] - 2 * (centroids @ points.T)
    return np.sum(np.min(squares, axis=0)) + np.sum(points**2)


def direction(centroids: np.ndarray, points: np.ndarray) -> np.ndarray:
    def slope(c: np.ndarray) -> np.ndarray:
        return gradient(cost, c, points, argnums=0)

    first, second = jvp(slope, (centroids,), (np.ones_like(centroids),))
    return first / second


def prepare(given: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    return np.array(given["centroids"]), np.array(given["points"])


TASKS = {
    "cost": Task(prepare, compile(cost), float),
    "dir": Task(prepare, compile(direction), np.ndarray.tolist),
}
