"""Distributions that SciPy computes by another formula where a shape has a special value.

That other formula does not depend on the shape, so traced it would give the gradient 0. Here they
are written in functions that are smooth there: log(1+cx)/c, tends to x for c = 0 and has the
derivative (x/(1+cx) - log(1+cx)/c)/c by c, the series -x² Σ_k (-cx)^k (k+1)/(k+2); log I₀, whose
slope is I₁/I₀, where the scaled i0e has a kink at 0.

    generalised Pareto    1 - F = exp(-log(1+cx)/c)
    generalised extreme   F = exp(-u), u = exp(log(1-cx)/c)
    skew normal           f = 2 φ(x) Φ(ax)
    von Mises             f = exp(κ cos x) / 2π I₀(κ)
    Rice                  f = x exp(-(x²+b²)/2) I₀(bx)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special, stats

from chainrules.scipy.private import Private
from chainrules.scipy.special.probability.distributions import (
    noncentral_chi2_density,
    noncentral_chi2_log_density,
)
from chainrules.scipy.stats.distributions.continuous import in_place_of
from chainrules_core import primitive, scalar_rule

LOG_2PI = math.log(2 * math.pi)
NEAR = 0.1
TERMS = 20


@primitive
def log1p_over(c: Any, x: Any) -> Any:
    """Return log(1+cx)/c, for c = 0 its limit x."""
    zero = c == 0
    return np.where(zero, x, np.log1p(c * x) / np.where(zero, 1.0, c))[()]


def log1p_over_by_c(y: Any, c: Any, x: Any) -> Any:
    t = c * x
    near = np.abs(t) < NEAR
    safe = np.where(near, 1.0, c)
    far = (x / (1 + np.where(near, 0.0, t)) - y) / safe
    s = np.where(near, t, 0.0)
    series: Any = 0.0
    for k in range(TERMS, -1, -1):
        series = series * -s + (k + 1) / (k + 2)
    return np.where(near, -x * x * series, far)


scalar_rule(log1p_over, log1p_over_by_c, lambda y, c, x: 1 / (1 + c * x))


@primitive
def log_i0(x: Any) -> Any:
    """Return log I₀(x)."""
    return np.log(special.i0e(x)) + np.abs(x)


scalar_rule(log_i0, lambda y, x: special.i1e(x) / special.i0e(x))

# ------------------------------------------------------------------------ generalised Pareto

genpareto = type(stats.genpareto)


@in_place_of(genpareto, "_logpdf")
def genpareto_logpdf(self: Any, x: Any, c: Any) -> Any:
    return -(c + 1) * log1p_over(c, x)


@in_place_of(genpareto, "_pdf")
def genpareto_pdf(self: Any, x: Any, c: Any) -> Any:
    return np.exp(-(c + 1) * log1p_over(c, x))


@in_place_of(genpareto, "_logsf")
def genpareto_logsf(self: Any, x: Any, c: Any) -> Any:
    return -log1p_over(c, x)


@in_place_of(genpareto, "_sf")
def genpareto_sf(self: Any, x: Any, c: Any) -> Any:
    return np.exp(-log1p_over(c, x))


@in_place_of(genpareto, "_cdf")
def genpareto_cdf(self: Any, x: Any, c: Any) -> Any:
    return -np.expm1(-log1p_over(c, x))


# ----------------------------------------------------------------------- generalised extreme

genextreme = type(stats.genextreme)


def log_u(x: Any, c: Any) -> Any:
    return -log1p_over(-c, x)


@in_place_of(genextreme, "_logpdf")
def genextreme_logpdf(self: Any, x: Any, c: Any) -> Any:
    return -np.exp(log_u(x, c)) + log_u(x, c) - np.log1p(-c * x)


@in_place_of(genextreme, "_pdf")
def genextreme_pdf(self: Any, x: Any, c: Any) -> Any:
    return np.exp(genextreme_logpdf(self, x, c))


@in_place_of(genextreme, "_logcdf")
def genextreme_logcdf(self: Any, x: Any, c: Any) -> Any:
    return -np.exp(log_u(x, c))


@in_place_of(genextreme, "_cdf")
def genextreme_cdf(self: Any, x: Any, c: Any) -> Any:
    return np.exp(-np.exp(log_u(x, c)))


@in_place_of(genextreme, "_sf")
def genextreme_sf(self: Any, x: Any, c: Any) -> Any:
    return -np.expm1(-np.exp(log_u(x, c)))


@in_place_of(genextreme, "_ppf")
def genextreme_ppf(self: Any, q: Any, c: Any) -> Any:
    return -special.boxcox(-np.log(q), c)


@in_place_of(genextreme, "_isf")
def genextreme_isf(self: Any, q: Any, c: Any) -> Any:
    return -special.boxcox(-np.log1p(-q), c)


# --------------------------------------------------------------- skew normal, von Mises, Rice


@in_place_of(type(stats.skewnorm), "_logpdf")
def skewnorm_logpdf(self: Any, x: Any, a: Any) -> Any:
    return math.log(2) - x * x / 2 - LOG_2PI / 2 + special.log_ndtr(a * x)


@in_place_of(type(stats.skewnorm), "_pdf")
def skewnorm_pdf(self: Any, x: Any, a: Any) -> Any:
    return np.exp(skewnorm_logpdf(self, x, a))


@in_place_of(type(stats.vonmises), "_logpdf")
def vonmises_logpdf(self: Any, x: Any, kappa: Any) -> Any:
    return kappa * np.cos(x) - LOG_2PI - log_i0(kappa)


@in_place_of(type(stats.vonmises), "_pdf")
def vonmises_pdf(self: Any, x: Any, kappa: Any) -> Any:
    return np.exp(vonmises_logpdf(self, x, kappa))


@in_place_of(type(stats.rice), "_pdf")
def rice_pdf(self: Any, x: Any, b: Any) -> Any:
    return x * np.exp(log_i0(x * b) - (x * x + b * b) / 2)


# ---------------------------------------------------------------------------- noncentral χ²

ncx2 = type(stats.ncx2)
ufuncs = Private("special._ufuncs")


@in_place_of(ncx2, "_logpdf")
def ncx2_logpdf(self: Any, x: Any, df: Any, nc: Any) -> Any:
    return noncentral_chi2_log_density(x, df, nc)


@in_place_of(ncx2, "_pdf")
def ncx2_pdf(self: Any, x: Any, df: Any, nc: Any) -> Any:
    return noncentral_chi2_density(x, df, nc)


@in_place_of(ncx2, "_cdf")
def ncx2_cdf(self: Any, x: Any, df: Any, nc: Any) -> Any:
    return special.chndtr(x, df, nc)


@in_place_of(ncx2, "_sf")
def ncx2_sf(self: Any, x: Any, df: Any, nc: Any) -> Any:
    return ufuncs._ncx2_sf(x, df, nc)


@in_place_of(ncx2, "_ppf")
def ncx2_ppf(self: Any, q: Any, df: Any, nc: Any) -> Any:
    return special.chndtrix(q, df, nc)


@in_place_of(ncx2, "_isf")
def ncx2_isf(self: Any, q: Any, df: Any, nc: Any) -> Any:
    return ufuncs._ncx2_isf(q, df, nc)


# ------------------------------------------------------------------ powers at the edge of a support

# exp((a-1) log x) has at x = 0 the value 0 and a derivative that 0·∞ does not tell; x^(a-1) does.


def power_density(x: Any, p: Any, usual: Any, scale: Any, rate: float = 1.0) -> Any:
    """Return a density that is usually found by logarithms; at x = 0 x^p (1 - rate x) scale."""
    zero = x == 0
    if not np.any(zero):
        return usual(x)
    edge = np.where(zero, x, 0.0) ** p * (1 - rate * x) * scale
    return np.where(zero, edge, usual(np.where(zero, 1.0, x)))


@in_place_of(type(stats.gamma), "_pdf")
def gamma_pdf(self: Any, x: Any, a: Any) -> Any:
    def usual(x: Any) -> Any:
        return np.exp(self._logpdf(x, a))

    return power_density(x, a - 1, usual, np.exp(-special.gammaln(a)))


@in_place_of(type(stats.chi2), "_pdf")
def chi2_pdf(self: Any, x: Any, df: Any) -> Any:
    def usual(x: Any) -> Any:
        return np.exp(self._logpdf(x, df))

    scale = np.exp(-special.gammaln(df / 2) - df / 2 * math.log(2))
    return power_density(x, df / 2 - 1, usual, scale, 0.5)


@in_place_of(type(stats.poisson), "_pmf")
def poisson_pmf(self: Any, k: Any, mu: Any) -> Any:
    def usual(mu: Any) -> Any:
        return np.exp(self._logpmf(k, mu))

    return power_density(mu, k, usual, np.exp(-special.gammaln(k + 1.0)))
