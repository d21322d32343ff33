"""Discrepancies of samples in the unit cube, and medians of slopes: loops of compiled code.

The squared discrepancies are polynomials of distances (Hickernell, 1998; Zhou, Fang and Ning,
2013), means over all pairs of points: with x_i, x_j their coordinates and u = |x - 1/2|

    centred        (13/12)^d - 2/n Σ Π(1 + u/2 - u²/2) + 1/n² ΣΣ Π(1 + (u_i + u_j - |x_i-x_j|)/2)
    wrap-around    -(4/3)^d + 1/n² ΣΣ Π(3/2 - |x_i-x_j| + |x_i-x_j|²)
    mixture        (19/12)^d - 2/n Σ Π(5/3 - u/4 - u²/4)
                   + 1/n² ΣΣ Π(15/8 - (u_i + u_j)/4 - 3/4 |x_i-x_j| + |x_i-x_j|²/2)
    L2-star        3^-d - 2^(1-d)/n Σ Π(1 - x²) + 1/n² ΣΣ Π(1 - max(x_i, x_j)),  its root.

With ``iterative`` n is one more. Siegel's slope is the median of each point's median slope.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from chainrules.scipy.private import Private
from chainrules_core import decompose

_qmc = Private("stats._qmc")


def product(x: Any) -> Any:
    return np.prod(x, axis=-1)


def parts(sample: Any, iterative: bool) -> tuple:
    """Return the points, distances of all pairs, distances from the centre, their sums, n, d."""
    u = np.abs(sample - 0.5)
    pairs = np.abs(sample[:, None] - sample[None])
    n, d = np.shape(sample)
    return pairs, u, u[:, None] + u[None], n + bool(iterative), d


def centred(sample: Any, iterative: bool, workers: Any = 1) -> Any:
    pairs, u, sums, n, d = parts(sample, iterative)
    single = np.sum(product(1 + u / 2 - u * u / 2))
    return (13 / 12) ** d - 2 / n * single + np.sum(product(1 + (sums - pairs) / 2)) / n**2


def wrap_around(sample: Any, iterative: bool, workers: Any = 1) -> Any:
    pairs, _, _, n, d = parts(sample, iterative)
    return -((4 / 3) ** d) + np.sum(product(1.5 - pairs + pairs * pairs)) / n**2


def mixture(sample: Any, iterative: bool, workers: Any = 1) -> Any:
    pairs, u, sums, n, d = parts(sample, iterative)
    single = np.sum(product(5 / 3 - u / 4 - u * u / 4))
    double = product(15 / 8 - sums / 4 - 0.75 * pairs + pairs * pairs / 2)
    return (19 / 12) ** d - 2 / n * single + np.sum(double) / n**2


def l2_star(sample: Any, iterative: bool, workers: Any = 1) -> Any:
    n, d = np.shape(sample)
    n = n + bool(iterative)
    single = np.sum(product(1 - sample * sample))
    double = np.sum(product(1 - np.maximum(sample[:, None], sample[None])))
    return np.sqrt(3.0**-d - 2.0 ** (1 - d) / n * single + double / n**2)


def updated(x_new: Any, sample: Any, initial_disc: Any) -> Any:
    """The centred discrepancy of a sample, given with ``iterative``, with one point more."""
    n = np.shape(sample)[0] + 1
    u, v = np.abs(x_new - 0.5), np.abs(sample - 0.5)
    single = product(1 + u / 2 - u * u / 2)
    double = np.sum(product(1 + (u + v - np.abs(x_new - sample)) / 2))
    return initial_disc - 2 / n * single + 2 / n**2 * double + product(1 + u) / n**2


BODIES: dict[str, Callable] = {
    "_cy_wrapper_centered_discrepancy": centred,
    "_cy_wrapper_wrap_around_discrepancy": wrap_around,
    "_cy_wrapper_mixture_discrepancy": mixture,
    "_cy_wrapper_l2_star_discrepancy": l2_star,
    "_cy_wrapper_update_discrepancy": updated,
}
for _name, _body in BODIES.items():
    if _qmc.has(_name):
        decompose(getattr(_qmc, _name))(_body)


@decompose(stats.siegelslopes)
def siegelslopes(y: Any, x: Any = None, method: str = "hierarchical", **_: Any) -> Any:
    result = _siegel_result()
    y = np.ravel(y)
    x = np.arange(np.size(y), dtype=float) if x is None else np.ravel(x)
    if np.size(x) != np.size(y):
        raise ValueError("Array shapes are incompatible for broadcasting.")
    slopes, intercepts = [], []
    for i in range(np.size(y)):
        run = x[i] - x
        others = run != 0
        slopes.append(np.median((y[i] - y)[others] / run[others]))
        if method == "separate":
            intercepts.append(np.median((y * x[i] - y[i] * x)[others] / run[others]))
    slope = np.median(np.stack(slopes))
    if method == "separate":
        return result(slope, np.median(np.stack(intercepts)))
    return result(slope, np.median(y - slope * x))


def _siegel_result() -> Callable:
    return type(stats.siegelslopes([0.0, 1.0, 3.0]))
