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
    """Run both ways in turns; print medians, of times and of the ratios in one turn."""
    turns: dict[str, list[float]] = {"by hand": [], "minimize": []}
    ways = list(zip(turns, (by_hand, by_minimize), strict=True))
    for turn in range(61):
        for name, f in ways if turn % 2 else ways[::-1]:
            start = time.perf_counter()
            count = f()
            turns[name].append((time.perf_counter() - start) / count)
    hand, ours = (np.array(times[1:]) for times in turns.values())  # the first one traces
    table = Table("way", "µs an evaluation", "over by hand")
    table.add_row("by hand", f"{np.median(hand) * 1e6:.0f}", "")
    extra = np.median(ours / hand) - 1
    table.add_row("minimize", f"{np.median(ours) * 1e6:.0f}", f"{extra:+.1%}")
    Console().print(table)


if __name__ == "__main__":
    main()
