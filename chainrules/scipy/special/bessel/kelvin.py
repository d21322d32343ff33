"""Kelvin functions, Struve functions, and integrals of the latter.

w = ber + i bei, and likewise ker + i kei, satisfies w'' = i w - w'/x (DLMF 10.61.3), where beip/x
tends to 1/2 at x = 0. H and L by the argument: DLMF 11.4.23, 11.4.29; by the order from
interpolation (`parameters`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.special.parameters import by_parameter, of_power
from chainrules_core import scalar_rule


def over(y: Any, x: Any, limit: float) -> Any:
    """Return y/x, and its limit at x = 0."""
    zero = x == 0
    return np.where(zero, limit, y / (x + zero)) if np.any(zero) else y / x


scalar_rule(special.ber, lambda y, x: special.berp(x))
scalar_rule(special.bei, lambda y, x: special.beip(x))
scalar_rule(special.ker, lambda y, x: special.kerp(x))
scalar_rule(special.kei, lambda y, x: special.keip(x))
scalar_rule(special.berp, lambda y, x: -special.bei(x) - over(y, x, 0.0))
scalar_rule(special.beip, lambda y, x: special.ber(x) - over(y, x, 0.5))
scalar_rule(special.kerp, lambda y, x: -special.kei(x) - y / x)
scalar_rule(special.keip, lambda y, x: special.ker(x) - y / x)
scalar_rule(
    special.kelvin,
    (lambda y, x: y[2],),
    (lambda y, x: y[3],),
    (lambda y, x: 1j * y[0] - over(y[2], x, 0.5j),),
    (lambda y, x: 1j * y[1] - y[3] / x,),
)


def inhomogeneous(v: Any, x: Any) -> Any:
    """Return (x/2)^v / (√π Γ(v + 3/2))."""
    return np.power(x / 2, v) * special.rgamma(v + 1.5) / math.sqrt(math.pi)


def reach(v: Any, x: Any) -> Any:
    return of_power(np.abs(x) / (2 * (1 + np.abs(v))), most=0.75)


scalar_rule(
    special.struve,
    by_parameter(special.struve, 0, reach),
    lambda y, v, x: (
        (special.struve(v - 1, x) - special.struve(v + 1, x) + inhomogeneous(v * 1.0, x)) / 2
    ),
)
scalar_rule(
    special.modstruve,
    by_parameter(special.modstruve, 0, reach),
    lambda y, v, x: (
        (special.modstruve(v - 1, x) + special.modstruve(v + 1, x) + inhomogeneous(v * 1.0, x)) / 2
    ),
)
scalar_rule(special.itstruve0, lambda y, x: special.struve(0, x))
scalar_rule(special.it2struve0, lambda y, x: over(-special.struve(0, x), x, -2 / math.pi))
scalar_rule(special.itmodstruve0, lambda y, x: special.modstruve(0, x))
