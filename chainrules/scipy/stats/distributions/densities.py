"""Densities and logarithms that are easily written in functions that have rules.

With γ² = a² - b² the generalised hyperbolic density is (Barndorff-Nielsen, 1978)

    γ^p / (√2π a^(p-1/2) K_p(γ)) e^(bx) (1+x²)^((p-1/2)/2) K_(p-1/2)(a√(1+x²)),

the generalised inverse Gaussian one x^(p-1) e^(-b(x+1/x)/2) / 2K_p(b). The scaled kve(p, z) =
e^z K_p(z) keeps them from underflow.

Where SciPy takes a function apart at its centre by |x| or the sign of x, the two sides are written
out: the slope of |x| at 0 is not that of either side.

log F from F where that is small, else from 1 - F; SciPy's default decides by the median.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special, stats

from chainrules.scipy.radii import sides
from chainrules.scipy.stats.distributions.continuous import in_place_of


@in_place_of(type(stats.genhyperbolic), "_logpdf")
def genhyperbolic_logpdf(self: Any, x: Any, p: Any, a: Any, b: Any) -> Any:
    gamma = np.sqrt((a - b) * (a + b))
    root = np.sqrt(1 + x * x)
    scale = p * np.log(gamma) - (p - 0.5) * np.log(a) - np.log(special.kve(p, gamma)) + gamma
    tail = (p - 0.5) * np.log(root) + np.log(special.kve(p - 0.5, a * root)) - a * root
    return scale + tail + b * x - 0.5 * math.log(2 * math.pi)


@in_place_of(type(stats.genhyperbolic), "_pdf")
def genhyperbolic_pdf(self: Any, x: Any, p: Any, a: Any, b: Any) -> Any:
    return np.exp(genhyperbolic_logpdf(self, x, p, a, b))


@in_place_of(type(stats.geninvgauss), "_logpdf")
def geninvgauss_logpdf(self: Any, x: Any, p: Any, b: Any) -> Any:
    return (p - 1) * np.log(x) - b * (x + 1 / x - 2) / 2 - np.log(2 * special.kve(p, b))


@in_place_of(type(stats.geninvgauss), "_pdf")
def geninvgauss_pdf(self: Any, x: Any, p: Any, b: Any) -> Any:
    return np.exp(geninvgauss_logpdf(self, x, p, b))


def log_of(p: Any, rest: Any) -> Any:
    """Return log p, where p is close to 1 from 1 - p."""
    low = p < 0.5
    if np.all(low):
        return np.log(p)
    return np.where(low, np.log(np.where(low, p, 1.0)), np.log1p(-np.where(low, 0.0, rest)))


@in_place_of(stats.rv_continuous, "_logcdf")
def logcdf(self: Any, x: Any, *args: Any) -> Any:
    return log_of(self._cdf(x, *args), self._sf(x, *args))


@in_place_of(stats.rv_continuous, "_logsf")
def logsf(self: Any, x: Any, *args: Any) -> Any:
    return log_of(self._sf(x, *args), self._cdf(x, *args))


@in_place_of(type(stats.kappa4), "_logcdf")
def kappa4_logcdf(self: Any, x: Any, h: Any, k: Any) -> Any:
    return np.log(self._cdf(x, h, k))


@in_place_of(type(stats.kappa4), "_cdf")
def kappa4_cdf(self: Any, x: Any, h: Any, k: Any) -> Any:
    """F = (1 - h u)^(1/h), u = (1 - k x)^(1/k); with limits e^-u and e^-x where h, k are 0."""
    u = special.inv_boxcox(-x, k)
    return special.inv_boxcox(-u, h)


@in_place_of(type(stats.kappa4), "_logpdf")
def kappa4_logpdf(self: Any, x: Any, h: Any, k: Any) -> Any:
    """Return log f, f = u^(1 - k) F^(1 - h): the derivative of F, with u as there."""
    u = special.inv_boxcox(-x, k)
    return special.xlogy(1 - k, u) + special.xlogy(1 - h, special.inv_boxcox(-u, h))


@in_place_of(type(stats.kappa4), "_pdf")
def kappa4_pdf(self: Any, x: Any, h: Any, k: Any) -> Any:
    return np.exp(self._logpdf(x, h, k))


@in_place_of(type(stats.kappa4), "_ppf")
def kappa4_ppf(self: Any, q: Any, h: Any, k: Any) -> Any:
    """Return x where F(x) = q, with u as there."""
    return -special.boxcox(-special.boxcox(q, h), k)


@in_place_of(type(stats.kappa4), "_get_support")
def kappa4_support(self: Any, h: Any, k: Any) -> tuple:
    """Return x where h u = 1 and where u = 0."""
    level = k == 0
    safe_h, safe_k = np.where(h > 0, h, 1.0), np.where(level, 1.0, k)
    start = np.where(level, np.log(safe_h), (1 - safe_h ** (-safe_k)) / safe_k)
    low = np.where(h > 0, start, np.where(k < 0, 1 / safe_k, -np.inf))
    return low, np.where(k > 0, 1 / safe_k, np.inf)


# ------------------------------------------------------------------ on both sides of a centre


@in_place_of(type(stats.gennorm), "_logpdf")
def gennorm_logpdf(self: Any, x: Any, beta: Any) -> Any:
    return np.log(0.5 * beta) - special.gammaln(1.0 / beta) - sides(x, beta) ** beta


@in_place_of(type(stats.dgamma), "_pdf")
def dgamma_pdf(self: Any, x: Any, a: Any) -> Any:
    r = sides(x, a - 1)
    return 1.0 / (2 * special.gamma(a)) * r ** (a - 1.0) * np.exp(-r)


@in_place_of(type(stats.dweibull), "_pdf")
def dweibull_pdf(self: Any, x: Any, c: Any) -> Any:
    r = sides(x, c - 1)
    return c / 2.0 * r ** (c - 1.0) * np.exp(-(r**c))


@in_place_of(type(stats.gennorm), "_cdf")
def gennorm_cdf(self: Any, x: Any, beta: Any) -> Any:
    centre = x == 0
    away = np.where(centre, 1.0, x)
    tail = 0.5 * special.gammaincc(1.0 / beta, np.abs(away) ** beta)
    sides = np.where(away > 0, 1 - tail, tail)
    return np.where(centre, 0.5 + x * gennorm_peak(beta), sides)


@in_place_of(type(stats.gennorm), "_ppf")
def gennorm_ppf(self: Any, q: Any, beta: Any) -> Any:
    centre = q == 0.5
    away = np.where(centre, 0.75, q)
    above = away > 0.5
    tail = 2.0 * np.where(above, 1 - away, away)
    x = special.gammainccinv(1.0 / beta, tail) ** (1.0 / beta)
    return np.where(centre, (q - 0.5) / gennorm_peak(beta), np.where(above, x, -x))


def gennorm_peak(beta: Any) -> Any:
    """Return the density at the centre."""
    return np.exp(np.log(0.5 * beta) - special.gammaln(1.0 / beta))


@in_place_of(type(stats.genlogistic), "_logpdf")
def genlogistic_logpdf(self: Any, x: Any, c: Any) -> Any:
    below = x < 0
    distance = np.where(below, -x, x)
    rate = np.where(below, -c, -1.0)
    return np.log(c) + rate * distance - (c + 1) * special.log1p(np.exp(-distance))


@in_place_of(type(stats.dweibull), "_cdf")
def dweibull_cdf(self: Any, x: Any, c: Any) -> Any:
    tail = dweibull_tail(x, c)
    return np.where(x > 0, 1 - tail, tail)


@in_place_of(type(stats.dweibull), "_sf")
def dweibull_sf(self: Any, x: Any, c: Any) -> Any:
    tail = dweibull_tail(x, c)
    return np.where(x > 0, tail, 1 - tail)


def dweibull_tail(x: Any, c: Any) -> Any:
    """Return the probability to be farther from the centre, on the same side."""
    return 0.5 * np.exp(-(np.where(x > 0, x, -x) ** c))
