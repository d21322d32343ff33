"""The derivative of a stiff solution: Radau's collocation on the steps that were taken.

The tangent s of y solves s' = f_y s + g, g = f_θ dθ, along the known solution. On each step the
method of Radau IIA with three stages (order 5, stiffly accurate; Hairer, Wanner, Solving Ordinary
Differential Equations II, IV.5) takes it from s to S₃, where

    Sᵢ - h Σⱼ aᵢⱼ Jⱼ Sⱼ = s + h Σⱼ aᵢⱼ gⱼ,   J = f_y.

Read backward: with μ the solution of the conjugate transposed system for the cotangent λ of S₃,
λ ← Σ μᵢ and θ̄ ← θ̄ + Σⱼ f_θᴴ (h Σᵢ aᵢⱼ μᵢ). The states at the stages are those of the dense
output, of an order not lower than the solver's accuracy; times between the steps divide them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

ROOT = np.sqrt(6.0)
C = np.array([(4 - ROOT) / 10, (4 + ROOT) / 10, 1.0])
A = np.array(
    [
        [(88 - 7 * ROOT) / 360, (296 - 169 * ROOT) / 1800, (-2 + 3 * ROOT) / 225],
        [(296 + 169 * ROOT) / 1800, (88 + 7 * ROOT) / 360, (-2 - 3 * ROOT) / 225],
        [(16 - ROOT) / 36, (16 + ROOT) / 36, 1 / 9],
    ]
)


def nodes_between(times: Any, ts: Any) -> tuple:
    """The ends of all steps, `ts` of the solver and the times, as far as the last time.

    Also which of the ends the times are.
    """
    low, high = min(times[0], times[-1]), max(times[0], times[-1])
    nodes = np.unique(np.concatenate([times, ts[(ts > low) & (ts < high)]]))
    nodes = nodes if times[-1] >= times[0] else nodes[::-1]
    return nodes, [int(np.flatnonzero(nodes == t)[0]) for t in times]


def stage_times(nodes: Any) -> Any:
    """The times of the stages of all steps, one row for each step."""
    return nodes[:-1, None] + np.diff(nodes)[:, None] * C


def system(h: float, jacobians: list) -> Any:
    """The matrix of the equations of the stages."""
    d = len(jacobians[0])
    rows = [[h * A[i, j] * jacobians[j] for j in range(3)] for i in range(3)]
    return np.eye(3 * d) - np.concatenate([np.concatenate(row, axis=1) for row in rows], axis=0)


def pushed_stiffly(
    jacobian: Callable, push: Callable, nodes: Any, ys: Any, where: list, s: Any
) -> Any:
    """The tangents of the states at the nodes `where`; `ys` are the states at the stages.

    ``jacobian(t, y)`` is that of the right-hand side, ``push(t, y)`` its tangent by parameters.
    """
    ts = stage_times(nodes)
    d = len(s)
    at = [s]
    for n in range(len(nodes) - 1):
        h = nodes[n + 1] - nodes[n]
        y = [ys[:, 3 * n + j] for j in range(3)]
        g = np.stack([push(ts[n, j], y[j]) for j in range(3)])
        matrix = system(h, [jacobian(ts[n, j], y[j]) for j in range(3)])
        s = np.linalg.solve(matrix, np.reshape(s + (h * A) @ g, (3 * d,)))[2 * d :]
        at.append(s)
    return np.stack([at[n] for n in where], axis=1)


def pulled_stiffly(
    jacobian: Callable, pull: Callable, nodes: Any, ys: Any, where: list, y_bar: Any, total: list
) -> tuple:
    """The cotangent of the state at the beginning, and those of what the right-hand side captured.

    ``jacobian(t, y)`` is the conjugate transpose of that of the right-hand side, ``pull(t, y,
    k_bar)`` gives the cotangents of what it has captured, which are added to `total`.
    """
    ts = stage_times(nodes)
    d = np.shape(y_bar)[0]
    jumps: dict = {}
    for i, n in enumerate(where):
        jumps.setdefault(n, []).append(i)
    bar = np.zeros(d)
    for n in range(len(nodes) - 1, -1, -1):
        for i in jumps.get(n, ()):
            bar = bar + y_bar[:, i]
        if n == 0:
            break
        h = nodes[n] - nodes[n - 1]
        y = [ys[:, 3 * n - 3 + j] for j in range(3)]
        adjoints = [jacobian(ts[n - 1, j], y[j]) for j in range(3)]
        rows = [[h * A[j, i] * adjoints[i] for j in range(3)] for i in range(3)]
        matrix = np.eye(3 * d) - np.concatenate([np.concatenate(r, axis=1) for r in rows], axis=0)
        mu = np.linalg.solve(matrix, np.concatenate([np.zeros(2 * d), bar]))
        mu = np.reshape(mu, (3, d))
        if total:
            k_bar = (h * A.T) @ mu
            for j in range(3):
                parts = pull(ts[n - 1, j], y[j], k_bar[j])
                total = [a + b for a, b in zip(total, parts, strict=True)]
        bar = np.sum(mu, axis=0)
    return bar, total
