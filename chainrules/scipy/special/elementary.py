"""Elementary functions of scipy.special: exponentials, roots, functions of degrees, transforms.

``exprel``(x) = (eˣ - 1)/x has the derivative (eˣ - exprel(x))/x, in which everything cancels near
0; there the Taylor series Σ k xᵏ⁻¹/(k+1)! takes its place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from chainrules.elementwise.arithmetic import power_by_base, power_by_exponent
from chainrules_core import scalar_rule

LN2 = math.log(2)
LN10 = math.log(10)
DEGREE = math.pi / 180

scalar_rule(special.exp2, lambda y, x: LN2 * y)
scalar_rule(special.exp10, lambda y, x: LN10 * y)
scalar_rule(special.expm1, lambda y, x: y + 1)
scalar_rule(special.log1p, lambda y, x: 1 / (1 + x))
scalar_rule(special.cbrt, lambda y, x: 1 / (3 * y * y))
scalar_rule(special.cosm1, lambda y, x: -np.sin(x))
scalar_rule(special.sindg, lambda y, x: DEGREE * special.cosdg(x))
scalar_rule(special.cosdg, lambda y, x: -DEGREE * special.sindg(x))
scalar_rule(special.tandg, lambda y, x: DEGREE * (1 + y * y))
scalar_rule(special.cotdg, lambda y, x: -DEGREE * (1 + y * y))
scalar_rule(special.radian, DEGREE, DEGREE / 60, DEGREE / 3600)

NEAR = 0.3
SERIES = [k / math.factorial(k + 1) for k in range(1, 14)]


def exprel_slope(y: Any, x: Any) -> Any:
    """Return the derivative of (eˣ - 1)/x."""
    near = np.abs(x) < NEAR
    if not np.any(near):
        return (np.exp(x) - y) / x
    t = np.where(near, x, 0.0)
    series: Any = 0.0
    for coefficient in reversed(SERIES):
        series = series * t + coefficient
    far = np.where(near, 1.0, x)
    return np.where(near, series, (np.exp(far) - y) / far)


scalar_rule(special.exprel, exprel_slope)
scalar_rule(
    special.powm1,
    lambda y, x, p: power_by_base(x, p),
    lambda y, x, p: power_by_exponent(y + 1, x, p),
)

# (x^λ - 1)/λ, and log x for λ = 0.
scalar_rule(
    special.boxcox,
    lambda y, x, lmbda: np.power(x, lmbda - 1.0),
    lambda y, x, lmbda: boxcox_by_exponent(np.log(x), lmbda),
)
scalar_rule(
    special.boxcox1p,
    lambda y, x, lmbda: np.power(1 + x, lmbda - 1.0),
    lambda y, x, lmbda: boxcox_by_exponent(np.log1p(x), lmbda),
)


def boxcox_by_exponent(u: Any, p: Any) -> Any:
    """Return the derivative of (e^(pu) - 1)/p by p, which is u² exprel'(pu)."""
    t = p * u
    return u * u * exprel_slope(special.exprel(t), t)
