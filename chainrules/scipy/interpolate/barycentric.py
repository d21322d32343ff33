"""Interpolants in barycentric form, f(x) = Σ_j w_j f_j/(x - x_j) / Σ_j w_j/(x - x_j).

At x = x_k SciPy puts f_k in the place of ∞/∞, whose derivative by x would be 0. With numerator and
denominator multiplied by the distance from the nearest x_k the quotient is smooth there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import interpolate

from chainrules_core import decompose, ignore_derivatives


def quotient(x: Any, nodes: Any, weights: Any, values: Any) -> Any:
    """Return the interpolant at numbers x, with a column for each of those of the values."""
    apart = x[:, None] - nodes
    apart = np.where(np.isinf(ignore_derivatives(apart)), 1.0, apart)  # the limit Σ w f / Σ w
    nearest = np.argmin(np.abs(ignore_derivatives(apart)), axis=-1)[:, None]
    own = np.arange(np.shape(nodes)[0]) == nearest
    scale = np.take_along_axis(apart, nearest, -1)
    c = np.where(own, 1.0, scale / np.where(own, 1.0, apart)) * weights
    return np.matmul(c, values) / np.sum(c, axis=-1)[:, None]


@decompose(interpolate.BarycentricInterpolator._evaluate)
def polynomial_body(self, x):
    if np.size(x) == 0:
        return np.zeros((0, self.r), dtype=self.dtype)
    return quotient(x, self.xi, self.wi, self.yi)


if hasattr(interpolate, "FloaterHormannInterpolator"):

    @decompose(interpolate.FloaterHormannInterpolator.__call__)
    def rational_body(self, z):
        z = np.asarray(z)
        nodes, values = self._support_points, self._support_values
        flat = np.reshape(values, (np.shape(values)[0], -1))
        y = quotient(np.ravel(z), nodes, self.weights, flat)
        return np.reshape(y, np.shape(z) + self._shape)
