"""lse: the logarithm of a sum of exponentials, from its elements, and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff import compile, gradient
from benchmarks.gradbench.protocol import Task


def logsumexp(x: np.ndarray) -> Any:
    """Over the first axis."""
    largest = np.max(x, axis=0)
    return largest + np.log(np.sum(np.exp(x - largest), axis=0))


def prepare(given: dict[str, Any]) -> tuple[np.ndarray]:
    return (np.array(given["x"]),)


TASKS = {
    "primal": Task(prepare, compile(logsumexp), float),
    "gradient": Task(prepare, compile(lambda x: gradient(logsumexp, x)), np.ndarray.tolist),
}
