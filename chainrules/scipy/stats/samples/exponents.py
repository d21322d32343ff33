"""Power means and power transformations by their exponent.

For the exponents 0 (and 2 of Yeo and Johnson) SciPy has a formula without the exponent: traced it
would give the gradient 0. The transformations are special.boxcox and boxcox1p, which are smooth
there. In units of m, an end of the data, so that no power is large, Box and Cox's likelihood needs
the variance of z_i = ((x_i/m)^λ - 1)/λ; the power mean is m exp(log(1 + λ z)/λ), z the mean of z_i.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special, stats

from chainrules.scipy.found import with_value
from chainrules.scipy.private import Private
from chainrules.scipy.stats.distributions.limits import log1p_over
from chainrules.scipy.stats.quadrature import as_found, plain
from chainrules.scipy.stats.samples.means import geometric, unless_zero
from chainrules_core import decompose

_morestats = Private("stats._morestats")

TRANSFORM = _morestats._yeojohnson_transform


@decompose(TRANSFORM)
def transformed(x: Any, lmbda: Any, xp: Any = None) -> Any:
    known = as_found(TRANSFORM, x, lmbda)
    above = plain(x) >= 0
    up = special.boxcox1p(np.where(above, x, 0.0), lmbda)
    down = special.boxcox1p(np.where(above, 0.0, -x), 2 - lmbda)
    return with_value(known, np.where(above, up, -down))


def likelihood(data: Any, lmb: Any, axis: int) -> Any:
    x = np.asarray(data) * 1.0  # the logarithm of small integers has half precision
    logs, values = np.log(x), plain(x)
    end = (np.max if plain(lmb) >= 0 else np.min)(values, axis=axis, keepdims=True)
    log_variance = np.log(np.var(special.boxcox(x / end, lmb), axis=axis))
    log_variance = log_variance + 2 * lmb * np.squeeze(np.log(end), axis)
    return (lmb - 1) * np.sum(logs, axis=axis) - np.shape(x)[axis] / 2 * log_variance


if _morestats.has("_boxcox_llf"):
    LIKELIHOOD = getattr(_morestats._boxcox_llf, "__wrapped__", _morestats._boxcox_llf)

    @decompose(LIKELIHOOD)
    def likelihood_along(data: Any, axis: int = 0, *, lmb: Any) -> Any:
        known = as_found(LIKELIHOOD, data, axis, lmb=lmb)
        return with_value(known, likelihood(data, lmb, axis))

else:

    @decompose(stats.boxcox_llf)
    def likelihood_of(lmb: Any, data: Any) -> Any:
        return with_value(as_found(stats.boxcox_llf, lmb, data), likelihood(data, lmb, 0))


# Yeo and Johnson's: SciPy has sign(x) log(1 + |x|), whose slope at 0 is 1.


def signed_log1p(x: Any) -> Any:
    above = plain(x) >= 0
    return np.where(above, np.log1p(np.where(above, x, 0.0)), -np.log1p(np.where(above, 0.0, -x)))


def likelihood_of_signed(data: Any, lmb: Any, axis: int) -> Any:
    x = np.asarray(data) * 1.0
    log_variance = np.log(np.var(transformed(x, lmb), axis=axis))
    return (lmb - 1) * np.sum(signed_log1p(x), axis=axis) - np.shape(x)[axis] / 2 * log_variance


if _morestats.has("_yeojohnson_llf"):
    SIGNED = getattr(_morestats._yeojohnson_llf, "__wrapped__", _morestats._yeojohnson_llf)

    @decompose(SIGNED)
    def signed_likelihood_along(data: Any, *, lmb: Any, axis: int = 0) -> Any:
        known = as_found(SIGNED, data, lmb=lmb, axis=axis)
        return with_value(known, likelihood_of_signed(data, lmb, axis))

else:

    @decompose(stats.yeojohnson_llf)
    def signed_likelihood_of(lmb: Any, data: Any) -> Any:
        known = as_found(stats.yeojohnson_llf, lmb, data)
        # SciPy's result is an array, of a vector too.
        return np.array(with_value(known, likelihood_of_signed(data, lmb, 0)))


POWER_MEAN = stats.pmean.__wrapped__


@decompose(POWER_MEAN)
def power_mean(a: Any, p: Any, *, axis: Any = 0, dtype: Any = None, weights: Any = None) -> Any:
    known = as_found(POWER_MEAN, a, p, axis=axis, dtype=dtype, weights=weights)
    a = np.asarray(a, dtype=dtype)
    weights = np.ones(np.shape(a)) if weights is None else np.broadcast_to(weights, np.shape(a))
    unit = np.max(plain(a), initial=1e-300)
    zero = (plain(a) == 0) & (plain(p) <= 0)
    powers = special.boxcox(np.where(zero, 1.0, a / unit), p)
    mean = np.sum(powers * weights, axis=axis) / np.sum(weights, axis=axis)
    regular = unit * np.exp(log1p_over(p, mean))
    if np.any(zero):
        share = weights / np.sum(weights, axis=axis, keepdims=True)
        if plain(p) == 0:
            regular = geometric(a, share, zero, axis)
        else:
            regular = unless_zero(regular, a, share, zero, axis, p)
    return with_value(known, regular)
