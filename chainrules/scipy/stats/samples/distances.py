"""Distances of two samples by their distribution functions U and V: ∫ |U - V|^p.

Between two values the difference D = U - V is constant. A value x with the share w of its sample
that moves up takes w from D behind itself, so that the integral changes by |D - w|^p - |D|^p, D
counting all that is not above x; moving down by |D₋ + w|^p - |D₋|^p, D₋ counting what is below.
These differ where other values are equal to x; the derivative is half of both, as differences say.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.scipy.found import with_value
from chainrules.scipy.private import Private
from chainrules.scipy.stats.quadrature import as_found, plain
from chainrules_core import decompose, ignore_derivatives

_stats_py = Private("stats._stats_py")

DISTANCE = _stats_py._cdf_distance


def shares(values: Any, weights: Any) -> Any:
    if weights is None:
        return np.full(np.shape(values), 1.0 / np.size(values))
    weights = np.asarray(weights, dtype=float)
    return weights / np.sum(weights)


@decompose(DISTANCE)
def distance_body(
    p: Any, u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None
) -> Any:
    known = as_found(DISTANCE, p, u_values, v_values, u_weights, v_weights)
    x = np.concatenate([np.asarray(u_values, dtype=float), np.asarray(v_values, dtype=float)])
    w = np.concatenate([shares(u_values, u_weights), -shares(v_values, v_weights)])
    values = plain(x)
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    levels = np.append(0.0, np.cumsum(w[order]))
    before = levels[np.searchsorted(ordered, values, "left")]
    after = levels[np.searchsorted(ordered, values, "right")]

    def power(d: Any) -> Any:
        return np.abs(d) ** p

    slope = (power(after - w) - power(after) + power(before) - power(before + w)) / 2
    # By the values it is the slopes alone that count, by the weights the lengths alone.
    total = np.sum((x - ignore_derivatives(x)) * slope)
    total = total + np.sum(power(levels[1:-1]) * np.diff(ordered))
    return with_value(known, total if p == 1 else total ** (1 / p))
