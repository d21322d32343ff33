"""Kernel estimates of densities: the sums over the data that compiled code evaluates.

With the Cholesky factor L of the kernel's covariance, at the points x of d dimensions

    f(x) = Σ_j w_j exp(-|L⁻¹(x - x_j)|²/2) / ((2π)^(d/2) |L|).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import linalg, special, stats

from chainrules_core import decompose

LOG_2PI = math.log(2 * math.pi)
kde = stats.gaussian_kde


def exponents(self: Any, points: Any) -> tuple:
    """Return -|L⁻¹(x - x_j)|²/2 by points and data, and the logarithm of the factor."""
    points = np.atleast_2d(points)
    d, m = np.shape(points)
    if d != self.d:
        if d != 1 or m != self.d:
            raise ValueError(f"points have dimension {d}, dataset has dimension {self.d}")
        points = np.reshape(points, (self.d, 1))
    white = linalg.solve_triangular(self.cho_cov, points, lower=True)
    data = linalg.solve_triangular(self.cho_cov, self.dataset, lower=True)
    distance = np.sum(np.square(white[:, :, None] - data[:, None, :]), axis=0)
    factor = -0.5 * self.d * LOG_2PI - np.sum(np.log(np.diagonal(self.cho_cov)))
    return -0.5 * distance, factor


@decompose(kde.evaluate)
def evaluate(self: Any, points: Any) -> Any:
    powers, factor = exponents(self, points)
    return np.matmul(np.exp(powers + factor), self.weights)


@decompose(kde.logpdf)
def logpdf(self: Any, x: Any) -> Any:
    powers, factor = exponents(self, x)
    return special.logsumexp(powers, axis=1, b=self.weights) + factor
