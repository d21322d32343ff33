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


def share(y: Any, a: Any, b: Any, exp: np.ufunc) -> Any:
    """Return the share of exp(a) in exp(y) = exp(a) + exp(b)."""
    finite = np.isfinite(y)
    if np.all(finite):
        return exp(a - y)
    equal = (y == a) / np.maximum((y == a) + 1.0 * (y == b), 1)
    return np.where(finite, exp(np.where(finite, a, 0) - np.where(finite, y, 0)), equal)


for logaddexp, exp in ((np.logaddexp, np.exp), (np.logaddexp2, np.exp2)):
    scalar_rule(
        logaddexp,
        lambda y, a, b, exp=exp: share(y, a, b, exp),
        lambda y, a, b, exp=exp: share(y, b, a, exp),
    )
