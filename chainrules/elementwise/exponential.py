"""Exponentials, logarithms and roots.

The derivative of each function is written in what costs least: in the output where that is
possible (exp, sqrt, cbrt), so that the input need not be kept. The slope of a root at 0 is Inf, its
one-sided limit.

For ``logaddexp``, y = log(eᵃ + eᵇ), the derivatives are the shares eᵃ⁻ʸ and eᵇ⁻ʸ of the two terms.
Where y is infinite these are Inf - Inf; the share then goes to the argument equal to y, and is
shared equally where both are, which is the limit along a = b.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules_core import scalar_rule

LN2 = math.log(2)
LN10 = math.log(10)

scalar_rule(np.exp, lambda y, x: y)
scalar_rule(np.exp2, lambda y, x: LN2 * y)
scalar_rule(np.expm1, lambda y, x: y + 1)
scalar_rule(np.log, lambda y, x: 1 / x)
scalar_rule(np.log2, lambda y, x: 1 / (LN2 * x))
scalar_rule(np.log10, lambda y, x: 1 / (LN10 * x))
scalar_rule(np.log1p, lambda y, x: 1 / (1 + x))
scalar_rule(np.sqrt, lambda y, x: 0.5 / y)
scalar_rule(np.cbrt, lambda y, x: 1 / (3 * y * y))


def share(y: Any, a: Any, b: Any) -> Any:
    """Return the share of exp(a) in exp(y) = exp(a) + exp(b)."""
    if type(y) is np.float64 and np.isfinite(y):  # in half the time
        return np.exp(a - y)
    finite = np.isfinite(y)
    if np.all(finite):
        return np.exp(a - y)
    chosen = np.exp(np.where(finite, a, 0) - np.where(finite, y, 0))
    return np.where(finite, chosen, share_of_equal(y, a, b))


def share_of_powers(y: Any, a: Any, b: Any) -> Any:
    """Return the share of 2**a in 2**y = 2**a + 2**b."""
    finite = np.isfinite(y)
    if np.all(finite):
        return np.exp2(a - y)
    chosen = np.exp2(np.where(finite, a, 0) - np.where(finite, y, 0))
    return np.where(finite, chosen, share_of_equal(y, a, b))


def share_of_equal(y: Any, a: Any, b: Any) -> Any:
    """Return the share of a where y is infinite."""
    return (y == a) / np.maximum((y == a) + 1.0 * (y == b), 1)


scalar_rule(np.logaddexp, lambda y, a, b: share(y, a, b), lambda y, a, b: share(y, b, a))
scalar_rule(
    np.logaddexp2,
    lambda y, a, b: share_of_powers(y, a, b),
    lambda y, a, b: share_of_powers(y, b, a),
)
