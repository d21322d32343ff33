"""Moments for which SciPy has other formulas where a parameter has a special value.

    any distribution       E (l + s x)ⁿ = Σ_k binom(n, k) l^(n-k) s^k E x^k, also for l = 0

    generalised Pareto     E xⁿ = Π_k k/(1 - kc),  k = 1 … n
    truncated Pareto       E xⁿ = b cⁿ ((c^(b-n) - 1)/(b-n)) / (c^b - 1)
    generalised extreme    x = (1 - E^c)/c, E exponentially distributed

Central moments of the last one lose all digits in Γ(1+kc) near c = 0; there they are sums over
E = exp(t - e^(-t)), for which the trapezoidal rule in t converges exponentially.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from scipy import special, stats

from chainrules.scipy.found import with_value
from chainrules.scipy.private import Private
from chainrules.scipy.stats.distributions.continuous import in_place_of
from chainrules.scipy.stats.quadrature import as_found, plain

NEAR = 0.05
STEP = 1 / 16
_t = np.arange(-4.5, 5.0, STEP)
NODES = np.exp(_t - np.exp(-_t))
WEIGHTS = STEP * NODES * (1 + np.exp(-_t)) * np.exp(-NODES)

infrastructure = Private("stats._distn_infrastructure")
generic = infrastructure.rv_generic
MOMENT = generic.moment
genpareto, genextreme = type(stats.genpareto), type(stats.genextreme)
truncpareto = type(stats.truncpareto)
POWERS, TRUNCATED_POWERS = genpareto._munp, truncpareto._munp
MOMENTS = genextreme._stats


def standard_moment(self: Any, n: int, shapes: list) -> Any:
    """Return E xⁿ of the standard form, as SciPy finds it."""
    central: Any = (None,) * 4
    if 0 < n < 5:
        chosen = {"moments": ("m", "v", "vs", "mvsk")[n - 1]} if self._stats_has_moments else {}
        central = self._stats(*shapes, **chosen)
    return infrastructure._moment_from_stats(n, *central, self._munp, shapes)


@in_place_of(generic, "moment")
def moment(self: Any, order: Any, *args: Any, **kwds: Any) -> Any:
    known = as_found(MOMENT, self, order, *args, **kwds)
    parsed, loc, scale = self._parse_args(*args, **kwds)
    *shapes, loc, scale = map(np.ravel, np.broadcast_arrays(*parsed, loc, scale))
    y: Any = 0.0
    for k in range(int(order) + 1):
        factor = comb(int(order), k) * loc ** (order - k) if k < order else 1.0
        y = y + factor * scale**k * standard_moment(self, k, shapes)
    return with_value(known, np.reshape(y, np.shape(known)))


@in_place_of(genpareto, "_munp")
def genpareto_munp(self: Any, n: Any, c: Any) -> Any:
    y: Any = 1.0
    for k in range(1, int(n) + 1):
        y = y * k / (1 - k * c)
    return with_value(as_found(POWERS, self, n, c), y)


@in_place_of(truncpareto, "_munp")
def truncpareto_munp(self: Any, n: Any, b: Any, c: Any) -> Any:
    y = b * c**n * special.boxcox(c, b - n) / special.expm1(b * np.log(c))
    return with_value(as_found(TRUNCATED_POWERS, self, n, b, c), y)


def near_zero(c: Any) -> list:
    """Return mean and central moments as sums."""
    nodes = NODES.reshape(-1, *[1] * np.ndim(c))
    weights = WEIGHTS.reshape(np.shape(nodes))
    x = -special.boxcox(nodes, c)
    mean = np.sum(weights * x, axis=0)
    return [mean, *[np.sum(weights * (x - mean) ** k, axis=0) for k in (2, 3, 4)]]


def by_gamma(c: Any) -> list:
    g1, g2, g3, g4 = (special.gamma(1 + k * c) for k in (1, 2, 3, 4))
    return [
        (1 - g1) / c,
        (g2 - g1**2) / c**2,
        -(g3 - 3 * g2 * g1 + 2 * g1**3) / c**3,
        (g4 - 4 * g3 * g1 + 6 * g2 * g1**2 - 3 * g1**4) / c**4,
    ]


@in_place_of(genextreme, "_stats")
def genextreme_stats(self: Any, c: Any) -> tuple:
    near = np.abs(plain(c)) < NEAR
    parts = zip(near_zero(np.where(near, c, 0.0)), by_gamma(np.where(near, 1.0, c)), strict=True)
    mean, second, third, fourth = (np.where(near, a, b) for a, b in parts)
    found = mean, second, third / second**1.5, fourth / second**2 - 3
    known = as_found(MOMENTS, self, c)
    return tuple(with_value(k, y) for k, y in zip(known, found, strict=True))
