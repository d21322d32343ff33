"""Logistic functions and entropies.

x log y is 0 for x = 0, whatever y is, and so is its derivative by y; the derivative by x is log y,
-Inf at y = 0, where the function falls that steeply. The same holds for the terms of relative
entropies; at x = y = 0, where log x - log y has no limit, it is taken to be 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from chainrules_core import scalar_rule

scalar_rule(special.expit, lambda y, x: y * (1 - y))
scalar_rule(special.logit, lambda y, x: 1 / (x * (1 - x)))
scalar_rule(special.log_expit, lambda y, x: special.expit(-x))


def both_zero(x: Any, y: Any) -> Any:
    return (x == 0) & (y == 0)


def ratio(x: Any, y: Any) -> Any:
    """Return x/y, and 0 for 0/0."""
    return x / (y + both_zero(x, y))


def log_ratio(x: Any, y: Any) -> Any:
    """Return log(x/y), and 0 for 0/0."""
    zero = both_zero(x, y)
    return np.log(x + zero) - np.log(y + zero)


def log_as(x: Any, y: Any) -> Any:
    """Return log y, complex if `x` is: the function turns both into the same type."""
    return np.log(y + 0j if np.iscomplexobj(x) else y)


def log1p_as(x: Any, y: Any) -> Any:
    """Return log(1+y), complex if `x` is."""
    return np.log1p(y + 0j if np.iscomplexobj(x) else y)


scalar_rule(special.xlogy, lambda z, x, y: log_as(x, y), lambda z, x, y: ratio(x, y))
scalar_rule(special.xlog1py, lambda z, x, y: log1p_as(x, y), lambda z, x, y: ratio(x, 1 + y))
scalar_rule(special.entr, lambda y, x: -np.log(x) - 1)
scalar_rule(special.rel_entr, lambda z, x, y: log_ratio(x, y) + 1, lambda z, x, y: -ratio(x, y))
scalar_rule(special.kl_div, lambda z, x, y: log_ratio(x, y), lambda z, x, y: 1 - ratio(x, y))
