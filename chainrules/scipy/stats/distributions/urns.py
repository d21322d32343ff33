"""Noncentral hypergeometric distributions, of Fisher and of Wallenius, by the odds ω.

Their masses come from compiled code. With n objects of the first of two kinds among M, and N drawn,
that of Fisher is an exponential family in log ω, and that of Wallenius an integral,

    ∂p/∂ω = p (x - mean) / ω,
    p ∝ ∫ e^g dw,  y = e^w,  D = ω (n - x) + M - n - N + x,
    g = x log(1 - e^-ωy) + (N - x) log(1 - e^-y) - D y + log D + w,

so that ∂p/∂ω is p times the mean of ∂g/∂ω over e^g (Fog, Commun. Stat. Simul. Comput. 37, 2008,
with t = e^-Dy). The integrand falls on both sides like an exponential function or faster, where the
trapezoidal rule converges like one too. Mean and variance are sums over the support.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from chainrules_core import (
    NoTangent,
    ZeroTangent,
    decompose,
    frule,
    non_differentiable,
    rrule,
    thunk,
)
from chainrules_core.authoring import fit, strong_product

POINTS = 513
WIDEST = np.linspace(-40.0, 12.0, 4097)
NEGLIGIBLE = 45.0  # of a logarithm


def fisher_score(dist: Any, x: Any, M: Any, n: Any, N: Any, odds: Any) -> Any:
    """The derivative of the logarithm of the mass by the odds."""
    return (x - dist._stats(M, n, N, odds, "mv")[0]) / odds


def exponent(w: Any, x: Any, M: Any, n: Any, N: Any, odds: Any) -> Any:
    """The logarithm g of the integrand."""
    y = np.exp(w)
    rate = odds * (n - x) + M - n - N + x
    first = np.where(x > 0, x * np.log(-np.expm1(-odds * y)), 0.0)
    second = np.where(x < N, (N - x) * np.log(-np.expm1(-y)), 0.0)
    return first + second - rate * y + np.log(rate) + w


def window(x: Any, M: Any, n: Any, N: Any, odds: Any) -> Any:
    """Between which places the integrand matters, in rows of `POINTS`."""
    with np.errstate(all="ignore"):
        g = np.nan_to_num(exponent(WIDEST, x, M, n, N, odds), nan=-np.inf)
    matters = g > np.max(g, axis=-1, keepdims=True) - NEGLIGIBLE
    first = np.argmax(matters, axis=-1)
    last = len(WIDEST) - 1 - np.argmax(matters[..., ::-1], axis=-1)
    return np.linspace(WIDEST[first], WIDEST[last], POINTS, axis=-1)


non_differentiable(window)


def wallenius_score(dist: Any, x: Any, M: Any, n: Any, N: Any, odds: Any) -> Any:
    """The derivative of the logarithm of the mass by the odds."""
    columns = [np.asarray(a)[..., None] for a in np.broadcast_arrays(x, M, n, N)]
    odds = np.expand_dims(odds, -1)
    x, M, n, N = columns
    is_certain = (n - x == 0) & (M - n - N + x == 0)  # all that there is was drawn
    M = np.where(is_certain, M + 1, M)
    w = window(x, M, n, N, odds)
    g = exponent(w, x, M, n, N, odds)
    weights = np.exp(g - np.max(g, axis=-1, keepdims=True))
    y = np.exp(w)
    rate = odds * (n - x) + M - n - N + x
    by_odds = x * y / np.expm1(odds * y) + (n - x) / rate - (n - x) * y
    mean = np.sum(weights * by_odds, axis=-1) / np.sum(weights, axis=-1)
    return np.where(is_certain[..., 0], 0.0, mean)


def mean_and_variance(
    self: Any, M: Any, n: Any, N: Any, odds: Any, moments: str = "mv"
) -> tuple[Any, Any, None, None]:
    """The moments of all elements of the parameters."""
    shape = np.broadcast_shapes(*[np.shape(a) for a in (M, n, N, odds)])
    columns = [np.ravel(np.broadcast_to(a, shape)) for a in (M, n, N, odds)]
    means, variances = [], []
    for one in zip(*columns, strict=True):
        low, high = self._get_support(*one)
        k = np.arange(low, high + 1)
        mass = self._pmf(k, *one)
        mean = np.sum(k * mass)
        means.append(mean)
        variances.append(np.sum((k - mean) ** 2 * mass))
    return np.reshape(np.stack(means), shape), np.reshape(np.stack(variances), shape), None, None


def score(dist: Any) -> Callable:
    """The score of a distribution."""
    is_fisher = isinstance(dist, type(stats.nchypergeom_fisher))
    return fisher_score if is_fisher else wallenius_score


def register(cls: Any) -> None:
    """Register the rules of the class that both distributions share."""
    mass = cls._pmf

    @rrule.register(mass, broadcasts=True)
    def mass_rrule(dist: Any, x: Any, M: Any, n: Any, N: Any, odds: Any) -> Any:
        y = mass(dist, x, M, n, N, odds)

        def mass_pullback(y_bar: Any) -> Any:
            def odds_bar() -> Any:  # masses that underflow have a slope of zero
                return strong_product(y_bar, y * score(dist)(dist, x, M, n, N, odds))

            bar = thunk(odds_bar)
            # The others are integers: where they are not there is no mass.
            return (NoTangent(), *[ZeroTangent()] * 4, bar)

        return y, mass_pullback

    @frule.register(mass)
    def mass_frule(dots: tuple, dist: Any, x: Any, M: Any, n: Any, N: Any, odds: Any) -> Any:
        y = mass(dist, x, M, n, N, odds)
        if isinstance(dots[-1], (NoTangent, ZeroTangent)):
            return y, ZeroTangent()
        slope = y * score(dist)(dist, x, M, n, N, odds)
        return y, fit(strong_product(slope, dots[-1]), y)

    decompose(cls._stats)(mean_and_variance)


_shared = type(stats.nchypergeom_fisher).__mro__[1]
if {"_pmf", "_stats"} <= vars(_shared).keys():
    register(_shared)
