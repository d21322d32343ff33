"""gmm: the log posterior of a Gaussian mixture with a Wishart prior on its precisions.

The precision of component k is QᵀQ with the lower triangular Q of logarithmic diagonal q and the
elements l below it, column by column. All components are one matrix product: Q(x - μ) = Qx - Qμ.
The observations are the last axis, along which nothing is summed but the whole. Some rows of Q are
taken at a time, with as many columns as are not zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import multigammaln

from autodiff import compile, gradient
from benchmarks.gradbench.lse import logsumexp
from benchmarks.gradbench.protocol import Task

ROWS = 16


def factors(q: np.ndarray, l: np.ndarray) -> np.ndarray:  # noqa: E741
    k, d = q.shape
    # Those below the diagonal, column by column, are those above it row by row.
    columns, rows = np.triu_indices(d, 1)
    Q = np.zeros((k, d, d))
    Q[:, np.arange(d), np.arange(d)] = np.exp(q)
    Q[:, rows, columns] = l
    return Q


def objective(
    alpha: np.ndarray,
    mu: np.ndarray,
    q: np.ndarray,
    l: np.ndarray,  # noqa: E741
    x: np.ndarray,
    m: int,
    gamma: float,
) -> float:
    (n, d), k = x.shape, len(alpha)
    Q = factors(q, l)
    log_det = np.sum(q, axis=1)

    squares: Any = 0.0
    for first in range(0, d, ROWS):
        last = min(first + ROWS, d)
        rows = Q[:, first:last, :last] if d > ROWS else Q  # what is to the right of them is zero
        turned = np.reshape(np.reshape(rows, (-1, last)) @ x.T[:last], (k, last - first, n))
        centred = turned - rows @ mu[:, :last, None]
        part = np.sum(centred**2, axis=1)
        squares = part if first == 0 else squares + part
    beta = (alpha + log_det)[:, None] - 0.5 * squares
    likelihood = np.sum(logsumexp(beta)) - n * (0.5 * d * np.log(2 * np.pi) + logsumexp(alpha))

    dof = d + m + 1
    prior = k * (dof * d * np.log(gamma / np.sqrt(2)) - multigammaln(dof / 2, d))
    return likelihood + prior - 0.5 * gamma**2 * np.sum(Q**2) + m * np.sum(log_det)


def slope(*args: Any) -> tuple:
    return gradient(objective, *args, argnums=(0, 1, 2, 3))


def prepare(given: dict[str, Any]) -> tuple:
    arrays = (np.array(given[name]) for name in ("alpha", "mu", "q", "l", "x"))
    return (*arrays, given["m"], float(given["gamma"]))


def report(gradients: tuple) -> dict[str, list]:
    names = ("alpha", "mu", "q", "l")
    return {name: g.tolist() for name, g in zip(names, gradients, strict=True)}


TASKS = {
    "objective": Task(prepare, compile(objective), float),
    "jacobian": Task(prepare, compile(slope), report),
}
