"""The ufuncs that scipy.stats computes with and that scipy.special does not show.

Their names begin with an underscore; they are densities f, distribution functions F, complements
and quantiles in other orders of arguments. The derivatives are as in
`chainrules.scipy.special.probability.distributions`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.private import Private
from chainrules.scipy.special.incomplete import beta_by_a, beta_by_b, beta_density
from chainrules.scipy.special.parameters import by_parameter
from chainrules.scipy.special.probability.distributions import (
    CHI2_NONCENTRAL,
    F_NONCENTRAL,
    T_NONCENTRAL,
    binomial_density,
    inside,
    noncentral_chi2_density,
    noncentral_f_density,
)
from chainrules.scipy.special.probability.losses import kolmogorov_slope, smirnov_slope
from chainrules_core import NoTangent, decompose, non_differentiable, not_implemented, scalar_rule

_discrete_distns = Private("stats._discrete_distns")

inner = Private("special._ufuncs")


def ufuncs(*names: str) -> list:
    """Return those of the ufuncs that this version of SciPy has."""
    return [getattr(inner, name) for name in names if inner.has(name)]


def rules(name: str, *partials: Any, **options: Any) -> None:
    for f in ufuncs(name):
        scalar_rule(f, *partials, **options)


rules("_log1mexp", lambda y, x: -1 / np.expm1(-x))
rules("_scaled_exp1", lambda y, x: y / x + y - 1)

# ------------------------------------------------------------------------------------- beta


def power(x: Any, p: Any) -> Any:
    """Return p x^(p-1), which is 0 for p = 0."""
    return np.where(p == 0, 0.0, p * np.where(p == 0, 1.0, x) ** (p - 1))


def beta_slope(y: Any, x: Any, a: Any, b: Any) -> Any:
    """Return the slope of a beta density; where it may be 0 or infinite, of powers."""
    edge = (x == 0) | (x == 1)
    inner = np.where(edge, 0.5, x)
    slope = y * ((a - 1) / inner - (b - 1) / (1 - inner))
    if not np.any(edge):
        return slope
    powers = power(x, a - 1) * (1 - x) ** (b - 1) - x ** (a - 1) * power(1 - x, b - 1)
    return np.where(edge, powers / special.beta(a, b), slope)


rules(
    "_beta_pdf",
    beta_slope,
    lambda y, x, a, b: y * (np.log(x) - special.digamma(a) + special.digamma(a + b)),
    lambda y, x, a, b: y * (np.log1p(-x) - special.digamma(b) + special.digamma(a + b)),
)
rules(
    "_beta_ppf",
    lambda x, q, a, b: 1 / beta_density(a, b, x),
    lambda x, q, a, b: -beta_by_a(a, b, x) / beta_density(a, b, x),
    lambda x, q, a, b: -beta_by_b(a, b, x) / beta_density(a, b, x),
)

# -------------------------------------------------------------------------- Cauchy and cosine

for name, sign in (("_cauchy_ppf", 1), ("_cauchy_isf", -1)):
    rules(
        name,
        lambda x, q, m, s, sign=sign: sign * math.pi * s * (1 + ((x - m) / s) ** 2),
        1,
        lambda x, q, m, s: (x - m) / s,
    )
rules("_cosine_cdf", lambda y, x: (1 + np.cos(x)) / (2 * math.pi) * (np.abs(x) < math.pi))
rules("_cosine_invcdf", lambda x, q: 2 * math.pi / (1 + np.cos(x)))

# ------------------------------------------------------------------------------- noncentral


def noncentral(kind: str, reaches: tuple, partials: tuple, order: tuple[int, ...]) -> None:
    """Register the rules of density, complement and its inverse.

    Parameters
    ----------
    kind : str
        The distribution.
    reaches : tuple
        For each argument how far to look, for the derivatives of the density, if by
        interpolation.
    partials : tuple
        Those of F, in the order of its arguments.
    order : tuple of int
        Where the arguments here stand among those of F.
    """

    def by(j: int, args: tuple) -> Any:
        """Return the derivative of F by argument j, in the order here."""
        sorted_args: list = [None] * len(args)
        for place, a in zip(order, args, strict=True):
            sorted_args[place] = a
        return partials[order[j]](*sorted_args)

    places = range(len(order))
    for f in ufuncs(f"_{kind}_pdf") if reaches else ():
        scalar_rule(f, *[by_parameter(f, j, reaches[j]) for j in places])

    def by_other(y: Any, *args: Any, j: int, sign: int) -> Any:
        moved = (y, *args[1:])
        return (sign if j == 0 else -by(j, moved)) / by(0, moved)

    for name, sign in (("cdf", 1), ("sf", -1)):  # the first ones in older versions of SciPy
        for f in ufuncs(f"_{kind}_{name}"):
            scalar_rule(f, *[lambda y, *args, j=j, s=sign: s * by(j, args) for j in places])
    for name, sign in (("ppf", 1), ("isf", -1)):
        for f in ufuncs(f"_{kind}_{name}"):
            scalar_rule(
                f, *[lambda y, *args, j=j, s=sign: by_other(y, *args, j=j, sign=s) for j in places]
            )


noncentral("ncx2", (), CHI2_NONCENTRAL, (0, 1, 2))
noncentral("ncf", (), F_NONCENTRAL, (3, 0, 1, 2))
for f in ufuncs("_ncx2_pdf"):
    decompose(f)(noncentral_chi2_density)
for f in ufuncs("_ncf_pdf"):
    decompose(f)(lambda x, dfn, dfd, nc: noncentral_f_density(dfn, dfd, nc, x))
noncentral(
    "nct",
    (lambda x, v, nc: 0.25, lambda x, v, nc: v / 4, lambda x, v, nc: 0.25),
    T_NONCENTRAL,
    (2, 0, 1),
)

# ------------------------------------------------------------------- Kolmogorov and Smirnov

rules("_kolmogc", lambda y, x: -kolmogorov_slope(x))
rules("_kolmogci", lambda x, p: 1 / np.abs(kolmogorov_slope(x)))
rules("_kolmogp", by_parameter(kolmogorov_slope, 0, lambda x: np.minimum(x / 4, 0.2)))
rules("_smirnovc", NoTangent(), lambda y, n, x: -smirnov_slope(n, x))
rules("_smirnovci", NoTangent(), lambda x, n, p: 1 / np.abs(smirnov_slope(n, x)))
rules(
    "_smirnovp",
    NoTangent(),
    by_parameter(smirnov_slope, 1, lambda n, x: np.minimum(x, 1 - x) / 4),
)

# -------------------------------------------------------------------- numbers of events

# By p alone, or by real n for the negative binomial. What is counted is a whole number: between
# them SciPy's ufuncs interpolate in one way or another, so a derivative by it is nobody's business.
COUNT = not_implemented("the derivative by a number of events, which is a whole number")


def binomial_by_p(y: Any, k: Any, n: Any, p: Any) -> Any:
    """Return the derivative of C(n, k) p^k (1-p)^(n-k) by p."""
    log_choose = special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)
    hits, misses = np.maximum(k - 1, 0), np.maximum(n - k - 1, 0)
    up = k * np.exp(log_choose + special.xlogy(hits, p) + special.xlog1py(n - k, -p))
    down = (n - k) * np.exp(log_choose + special.xlogy(k, p) + special.xlog1py(misses, -p))
    return up - down


def binomial_cdf_by_p(k: Any, n: Any, p: Any) -> Any:
    return inside(binomial_density, k, n, p)


rules("_binom_pmf", COUNT, COUNT, binomial_by_p)
rules("_binom_cdf", COUNT, COUNT, lambda y, k, n, p: binomial_cdf_by_p(k, n, p))
rules("_binom_sf", COUNT, COUNT, lambda y, k, n, p: -binomial_cdf_by_p(k, n, p))
rules(
    "_nbinom_pmf",
    COUNT,
    lambda y, k, n, p: y * (special.digamma(n + k) - special.digamma(n * 1.0) + np.log(p)),
    lambda y, k, n, p: y * (n / p - k / (1 - p)),
)
for name, sign in (("_nbinom_cdf", 1), ("_nbinom_sf", -1)):
    rules(
        name,
        COUNT,
        lambda y, k, n, p, sign=sign: sign * beta_by_a(n * 1.0, np.floor(k) + 1.0, p),
        lambda y, k, n, p, sign=sign: sign * beta_density(n * 1.0, np.floor(k) + 1.0, p),
    )
for f in ufuncs("_normalized_gen_harmonic"):
    by_exponent = by_parameter(f, 3, lambda j, k, n, a: 0.25)
    scalar_rule(f, COUNT, COUNT, COUNT, by_exponent)

# Numbers of events as quantiles: piecewise constant.
for f in ufuncs(
    "_binom_ppf", "_binom_isf", "_nbinom_ppf", "_nbinom_isf", "_hypergeom_ppf", "_skellam_ppf",
    "_hypergeom_pmf", "_hypergeom_cdf", "_hypergeom_sf",
):  # fmt: skip
    non_differentiable(f)

# Moments, which are rational or ratios of gamma functions, up to a pole in each.
for name, kinds in {
    "nct": {"mean": 1, "variance": 2, "skewness": 3, "kurtosis_excess": 4},
    "ncf": {"mean": 2, "variance": 4, "skewness": 6, "kurtosis_excess": 8},
    "nbinom": dict.fromkeys(("mean", "variance", "skewness", "kurtosis_excess"), 0),
}.items():
    for kind, pole in kinds.items():
        reaches = {
            "nct": (
                lambda df, nc, pole=pole: np.minimum((df - pole) / 4, 1.0),
                lambda df, nc: 0.25,
            ),
            "ncf": (
                lambda dfn, dfd, nc: np.minimum(dfn / 4, 1.0),
                lambda dfn, dfd, nc, pole=pole: np.minimum((dfd - pole) / 4, 1.0),
                lambda dfn, dfd, nc: np.minimum(0.25, dfn / 8),
            ),
            "nbinom": (
                lambda n, p: n / 4,
                lambda n, p: np.minimum(p, 1 - p) / 4,
            ),
        }[name]
        for f in ufuncs(f"_{name}_{kind}"):
            scalar_rule(f, *[by_parameter(f, j, reach) for j, reach in enumerate(reaches)])
for f in ufuncs("_gen_harmonic"):
    scalar_rule(f, COUNT, by_parameter(f, 1, lambda n, a: 0.25))

# ------------------------------------------------------------------------------ Poisson binomial


def poisson_binomial(k: Any, args: Any, kind: str) -> Any:
    """Return the coefficients of Π(1 - p + p t) up to t^k, or their sum."""
    terms = [np.ones(np.shape(args)[1:])]
    for p in args:
        lower = [0.0, *terms]
        upper = [*terms, 0.0]
        terms = [(1 - p) * a + p * b for a, b in zip(upper, lower, strict=True)]
    stacked = np.stack(terms)
    stacked = np.cumsum(stacked, axis=0) if kind == "cdf" else stacked
    return np.take_along_axis(stacked, np.clip(k, 0, len(terms) - 1)[None], axis=0)[0]


if _discrete_distns.has("_poisson_binom"):
    decompose(_discrete_distns._poisson_binom)(poisson_binomial)
for _kind in ("pmf", "cdf"):
    if _discrete_distns.has(f"_poisson_binom_{_kind}"):  # since SciPy 1.18

        @decompose(_discrete_distns.get(f"_poisson_binom_{_kind}"))
        def poisson_binomial_body(k: Any, p: Any, kind: str = _kind) -> Any:
            return poisson_binomial(k, np.moveaxis(p, -1, 0), kind)
