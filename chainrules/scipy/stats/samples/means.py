"""Geometric and harmonic means of numbers of which some are 0.

SciPy takes logarithms and reciprocals, which are infinite there; traced they would give the
gradient 0. With shares w of the weights the means are Π a^w and, of a power p, (Σ w a^p)^(1/p).
Where one number is 0 and p < 0, the mean moves with it as w^(1/p) a (harmonic, p = -1: a/w), the
geometric one infinitely fast; where several are, not at all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from chainrules.scipy.found import with_value
from chainrules.scipy.stats.quadrature import as_found, plain
from chainrules_core import decompose


def geometric(a: Any, share: Any, zero: Any, axis: Any) -> Any:
    regular = np.exp(np.sum(share * np.log(np.where(zero, 1.0, a)), axis=axis))
    if not np.any(zero):
        return regular
    product = np.prod(np.power(np.where(plain(a) < 0, np.nan, a), share), axis=axis)
    return np.where(np.any(zero, axis=axis), product, regular)


def harmonic(a: Any, share: Any, zero: Any, axis: Any) -> Any:
    a = np.where(plain(a) < 0, np.nan, a)
    regular = 1.0 / np.sum(share / np.where(zero, 1.0, a), axis=axis)
    return unless_zero(regular, a, share, zero, axis, -1.0)


def unless_zero(regular: Any, a: Any, share: Any, zero: Any, axis: Any, p: Any) -> Any:
    """Return the mean of a negative power, which is `regular` where no number is 0."""
    count = np.sum(zero, axis=axis)
    if not np.any(count):
        return regular
    alone = np.sum(np.where(zero, a * share ** (1.0 / p), 0.0), axis=axis)
    return np.where(count > 1, 0.0, np.where(count == 1, alone, regular))


def mean_of(f: Callable, formula: Callable) -> None:
    """Say by a formula how a mean moves."""
    inner = inspect.unwrap(f)

    @decompose(inner)
    def body(a: Any, axis: Any = 0, dtype: Any = None, weights: Any = None) -> Any:
        with np.errstate(all="ignore"):
            known = as_found(inner, a, axis=axis, dtype=dtype, weights=weights)
            a = np.asarray(a, dtype=dtype)
            if weights is None:
                share = np.ones(np.shape(a), a.dtype)
            else:
                share = np.broadcast_to(_along(weights, a, axis), np.shape(a))
            share = share / np.sum(share, axis=axis, keepdims=True)
            return with_value(known, formula(a, share, plain(a) == 0, axis))


def _along(weights: Any, a: Any, axis: Any) -> Any:
    """Return weights of one axis as they go with all of `a`."""
    weights = np.asarray(weights, dtype=a.dtype)
    if np.ndim(weights) != 1 or np.ndim(a) < 2 or axis is None:
        return weights
    return np.reshape(weights, [-1 if i == axis % np.ndim(a) else 1 for i in range(np.ndim(a))])


mean_of(stats.gmean, geometric)
mean_of(stats.hmean, harmonic)
