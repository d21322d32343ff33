"""What `minimize` costs over a call of SciPy by hand: ``python -m benchmarks.fit_overhead``.

A logistic regression with more and more rows. By hand, the vector is cut into the parameters and
the gradient put together again in the user's function, for SciPy's ``jac=True``.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import optimize

from autodiff import value_and_gradient
from autodiff.optimize import minimize

OPTIONS = {"maxiter": 200, "ftol": 0.0, "gtol": 0.0}
ROWS = (100, 600, 3000, 30000)
TURNS = 300


def data(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, 20))
    return x, np.sign(x @ rng.standard_normal(20) + rng.standard_normal(rows))


def loss(p: Any, x: np.ndarray, y: np.ndarray) -> Any:
    return np.mean(np.logaddexp(0.0, -y * (x @ p["w"] + p["b"]))) + 1e-3 * np.sum(p["w"] ** 2)


def by_hand(x: np.ndarray, y: np.ndarray) -> int:
    def pair(v: np.ndarray) -> tuple[float, np.ndarray]:
        params = {"w": v[:20], "b": float(v[20])}
        value, slope = value_and_gradient(loss, params, x, y, argnums=0)
        return value, np.append(slope["w"], slope["b"])

    return optimize.minimize(pair, np.zeros(21), jac=True, method="L-BFGS-B", options=OPTIONS).nfev


def by_minimize(x: np.ndarray, y: np.ndarray) -> int:
    start = {"w": np.zeros(20), "b": 0.0}
    return minimize(loss, start, args=(x, y), method="L-BFGS-B", options=OPTIONS).nfev


def compared(rows: int, turns: int) -> tuple[int, float, float]:
    """Return the evaluations of a fit, and the CPU seconds of one by hand and by minimize.

    Both ways take turns; of each the fastest tenth counts, which other work on the machine has
    disturbed least.
    """
    x, y = data(rows)
    seconds: dict[Any, list[float]] = {by_hand: [], by_minimize: []}
    for f in seconds:
        for _ in range(10):  # traces and compiles
            count = f(x, y)
    for turn in range(turns):
        for f in list(seconds)[:: 1 if turn % 2 else -1]:
            start = time.process_time()
            count = f(x, y)
            seconds[f].append((time.process_time() - start) / count)
    hand, ours = (float(np.quantile(taken, 0.1)) for taken in seconds.values())
    return count, hand, ours


def main() -> None:
    """Print the times of an evaluation both ways."""
    table = Table("rows", "evaluations", "by hand (µs)", "minimize (µs)", "over by hand")
    for rows in ROWS:
        count, hand, ours = compared(rows, TURNS if rows < 10_000 else TURNS // 10)
        times = f"{hand * 1e6:.0f}", f"{ours * 1e6:.0f}"
        table.add_row(f"{rows:,}", str(count), *times, f"{ours / hand - 1:+.1%}")
    Console().print(table)


if __name__ == "__main__":
    main()
