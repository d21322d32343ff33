"""What `minimize` costs over a call of SciPy by hand: ``python -m benchmarks.fit_overhead``.

A logistic regression whose value and gradient take about a millisecond. By hand, the vector is cut
into the parameters and the gradient put together again in the user's function.
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

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30000, 20))
Y = np.sign(X @ RNG.standard_normal(20) + RNG.standard_normal(30000))
OPTIONS = {"maxiter": 200, "ftol": 0.0, "gtol": 0.0}


def loss(p: Any, x: np.ndarray, y: np.ndarray) -> Any:
    return np.mean(np.logaddexp(0.0, -y * (x @ p["w"] + p["b"]))) + 1e-3 * np.sum(p["w"] ** 2)


def pair(v: np.ndarray) -> tuple[float, np.ndarray]:
    params = {"w": v[:20], "b": float(v[20])}
    value, slope = value_and_gradient(loss, params, X, Y, argnums=0)
    return value, np.append(slope["w"], slope["b"])


def by_hand() -> int:
    return optimize.minimize(pair, np.zeros(21), jac=True, method="L-BFGS-B", options=OPTIONS).nfev


def by_minimize() -> int:
    start = {"w": np.zeros(20), "b": 0.0}
    return minimize(loss, start, args=(X, Y), method="L-BFGS-B", options=OPTIONS).nfev


def main() -> None:
    """Run both ways in turns, and print the least time of an evaluation."""
    ways = {"by hand": by_hand, "minimize": by_minimize}
    for f in ways.values():
        f()
    least = dict.fromkeys(ways, np.inf)
    for _ in range(20):
        for name, f in ways.items():
            start = time.perf_counter()
            count = f()
            least[name] = min(least[name], (time.perf_counter() - start) / count)
    table = Table("way", "µs an evaluation", "over by hand")
    for name, seconds in least.items():
        table.add_row(name, f"{seconds * 1e6:.1f}", f"{seconds / least['by hand'] - 1:+.1%}")
    Console().print(table)


if __name__ == "__main__":
    main()
