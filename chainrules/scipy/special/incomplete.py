"""Incomplete gamma and beta functions, by argument and shape, and their inverses.

By the argument the derivative is the density, by a shape it comes from interpolation
(`parameters`), from the smaller of the function and its complement, which has all its digits.
Where F(a, x) = p defines x(a, p), ∂x/∂p = 1/F_x and ∂x/∂a = -F_a/F_x (implicit function theorem).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.special.parameters import of_scale, parameter_slope
from chainrules_core import scalar_rule


def smaller_slope(
    f: Callable, complement: Callable, args: tuple, position: int, reach: Callable = of_scale
) -> Any:
    """Return ∂f/∂args[position] of a positive shape, from `f` or from 1 - `f`."""
    y = f(*args)
    low = ~(y > 0.5)
    radius = reach(args[position])
    if np.all(low):
        return parameter_slope(f, args, position, radius, y)
    if not np.any(low):
        return -parameter_slope(complement, args, position, radius)
    # Each where it is the better one; what is NaN is not looked at.
    below = parameter_slope(f, args, position, radius, np.where(low, y, np.nan))
    above = parameter_slope(complement, args, position, radius, np.where(low, np.nan, 1 - y))
    return np.where(low, below, -above)


# ------------------------------------------------------------------------------------- gamma


def gamma_density(a: Any, x: Any) -> Any:
    """Return x^(a-1) e^(-x) / Γ(a), the derivative of P(a, x)."""
    density = np.exp(special.xlogy(a - 1, x) - x - special.gammaln(a))
    return np.where(np.isinf(x), 0.0, density) if np.any(np.isinf(x)) else density


def gamma_by_shape(a: Any, x: Any) -> Any:
    """Return ∂P(a, x)/∂a."""
    return smaller_slope(special.gammainc, special.gammaincc, (a, x), 0)


scalar_rule(
    special.gammainc, lambda y, a, x: gamma_by_shape(a, x), lambda y, a, x: gamma_density(a, x)
)
scalar_rule(
    special.gammaincc, lambda y, a, x: -gamma_by_shape(a, x), lambda y, a, x: -gamma_density(a, x)
)


def gamma_inverse_by_shape(a: Any, x: Any) -> Any:
    """Return ∂x/∂a for P(a, x) = p."""
    zero = x == 0  # for p = 0, whatever the shape
    if not np.any(zero):
        return -gamma_by_shape(a, x) / gamma_density(a, x)
    x = np.where(zero, 1.0, x)
    return np.where(zero, 0.0, -gamma_by_shape(a, x) / gamma_density(a, x))


scalar_rule(
    special.gammaincinv,
    lambda x, a, p: gamma_inverse_by_shape(a, x),
    lambda x, a, p: 1 / gamma_density(a, x),
)
scalar_rule(
    special.gammainccinv,
    lambda x, a, q: gamma_inverse_by_shape(a, x),
    lambda x, a, q: -1 / gamma_density(a, x),
)

# -------------------------------------------------------------------------------------- beta


def beta_density(a: Any, b: Any, x: Any, rest: Any = None) -> Any:
    """Return x^(a-1) (1-x)^(b-1) / B(a, b), the derivative of I_x(a, b).

    `rest` is 1 - x where that is known to more digits.
    """
    log_rest = special.xlog1py(b - 1, -x) if rest is None else special.xlogy(b - 1, rest)
    return np.exp(special.xlogy(a - 1, x) + log_rest - special.betaln(a, b))


def beta_by_a(a: Any, b: Any, x: Any) -> Any:
    """Return ∂I_x(a, b)/∂a."""
    return smaller_slope(special.betainc, special.betaincc, (a, b, x), 0)


def beta_by_b(a: Any, b: Any, x: Any) -> Any:
    """Return ∂I_x(a, b)/∂b."""
    return smaller_slope(special.betainc, special.betaincc, (a, b, x), 1)


scalar_rule(
    special.betainc,
    lambda y, a, b, x: beta_by_a(a, b, x),
    lambda y, a, b, x: beta_by_b(a, b, x),
    lambda y, a, b, x: beta_density(a, b, x),
)
scalar_rule(
    special.betaincc,
    lambda y, a, b, x: -beta_by_a(a, b, x),
    lambda y, a, b, x: -beta_by_b(a, b, x),
    lambda y, a, b, x: -beta_density(a, b, x),
)
for inverse, sign in ((special.betaincinv, 1), (special.betainccinv, -1)):
    scalar_rule(
        inverse,
        lambda x, a, b, p: -beta_by_a(a, b, x) / beta_density(a, b, x),
        lambda x, a, b, p: -beta_by_b(a, b, x) / beta_density(a, b, x),
        lambda x, a, b, p, sign=sign: sign / beta_density(a, b, x),
    )
scalar_rule(
    special.btdtria,
    lambda a, p, b, x: 1 / beta_by_a(a, b, x),
    lambda a, p, b, x: -beta_by_b(a, b, x) / beta_by_a(a, b, x),
    lambda a, p, b, x: -beta_density(a, b, x) / beta_by_a(a, b, x),
)
scalar_rule(
    special.btdtrib,
    lambda b, a, p, x: -beta_by_a(a, b, x) / beta_by_b(a, b, x),
    lambda b, a, p, x: 1 / beta_by_b(a, b, x),
    lambda b, a, p, x: -beta_density(a, b, x) / beta_by_b(a, b, x),
)
