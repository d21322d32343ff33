"""Elementary functions of scipy.special: exponentials, roots, functions of degrees, transforms.

``exprel``(x) = (eˣ - 1)/x has the derivative (eˣ - exprel(x))/x, in which everything cancels near
0; there the Taylor series Σ k xᵏ⁻¹/(k+1)! takes its place. Dirichlet's kernel is
U_(n-1)(cos x/2)/n, whose derivative U' = 2 C⁽²⁾ has no gaps where SciPy fills in its limits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from chainrules.elementwise.arithmetic import power_by_base, power_by_exponent
from chainrules.scipy.special.removable import near_zero
from chainrules_core import NoTangent, primitive, scalar_rule

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
    return near_zero(x, SERIES, lambda x: (np.exp(x) - y) / x, NEAR, cancels=True)


scalar_rule(special.exprel, exprel_slope)


def diric_slope(y: Any, x: Any, n: Any) -> Any:
    """Return the derivative of sin(nx/2) / n sin(x/2) = U_(n-1)(cos x/2) / n."""
    degree = np.where(np.isnan(y), 0, n).astype(int) - 2
    slope = special.eval_gegenbauer(degree, 2.0, np.cos(x / 2))
    return np.where(np.isnan(y), np.nan, -np.sin(x / 2) / n * slope)


diric = primitive(special.diric)
scalar_rule((special.diric, diric), diric_slope, NoTangent())
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
