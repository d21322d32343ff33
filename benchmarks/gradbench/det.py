"""det: the determinant by expansion by minors, and its gradient.

A minor of m rows is the sum over its columns j of ± a[j] times the minor without the row and the
column: m! products, none shared. Those of a few rows are worked on all at once, level by level;
larger ones are expanded one by one.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from autodiff import gradient
from benchmarks.gradbench.parts import part
from benchmarks.gradbench.protocol import Task

AT_ONCE = 8


@functools.lru_cache
def remaining(n: int) -> tuple[np.ndarray, ...]:
    """For each row: its columns that are left (down), for every choice in the rows above (across).

    The choices of the next row are in the order in which this one's are raveled.
    """
    columns = np.arange(n)[:, None]
    levels = [columns]
    for m in range(n, 1, -1):
        others = np.array([[k for k in range(m) if k != j] for j in range(m)])
        columns = np.reshape(np.swapaxes(columns[others], 0, 1), (m - 1, -1))
        levels.append(columns)
    return tuple(levels)


@part
def all_at_once(A: np.ndarray) -> float:
    n = len(A)
    columns = remaining(n)
    minors = A[n - 1][columns[n - 1][0]]
    for i in range(n - 2, -1, -1):
        signs = (-1.0) ** np.arange(n - i)[:, None]
        minors = np.sum(signs * A[i][columns[i]] * np.reshape(minors, columns[i].shape), axis=0)
    return minors[0]


def determinant(A: np.ndarray) -> float:
    n = len(A)
    if n <= AT_ONCE:
        return all_at_once(A)
    whole = 0.0
    for j in range(n):
        minor = np.concatenate([A[1:, :j], A[1:, j + 1 :]], axis=1)
        whole = whole + (-1.0) ** j * A[0, j] * determinant(minor)
    return whole


def slope(A: np.ndarray) -> np.ndarray:
    return np.ravel(gradient(determinant, A))


def prepare(given: dict[str, Any]) -> tuple[np.ndarray]:
    return (np.reshape(np.array(given["A"]), (given["ell"], given["ell"])),)


TASKS = {
    "primal": Task(prepare, determinant, float),
    "gradient": Task(prepare, slope, np.ndarray.tolist),
}
