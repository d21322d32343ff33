"""Kelvin functions, Struve functions, and integrals of the latter.

w = ber + i bei, and likewise ker + i kei, satisfies w'' = i w - w'/x (DLMF 10.61.3), and w'/x
comes from its Taylor series near 0. H and L by the argument: DLMF 11.4.23, 11.4.29; by the order
from interpolation (`parameters`).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.special.parameters import by_parameter, of_power
from chainrules.scipy.special.removable import in_powers, over
from chainrules_core import scalar_rule

# berp(x)/x, beip(x)/x and H₀(x)/x (DLMF 10.65.1, 11.2.1).
BERP_PER_X = in_powers(
    4,
    *[(-1) ** k * k / (4 ** (2 * k - 1) * math.factorial(2 * k) ** 2) for k in range(1, 8)],
    first=2,
)
BEIP_PER_X = in_powers(
    4, *[(-1) ** k * (k + 0.5) / (4 ** (2 * k) * math.factorial(2 * k + 1) ** 2) for k in range(8)]
)
STRUVE_PER_X = in_powers(2, *[(-1) ** k / (2 * 4**k * math.gamma(k + 1.5) ** 2) for k in range(12)])
W_PER_X = [a + 1j * b for a, b in itertools.zip_longest(BERP_PER_X, BEIP_PER_X, fillvalue=0.0)]


scalar_rule(special.ber, lambda y, x: special.berp(x))
scalar_rule(special.bei, lambda y, x: special.beip(x))
scalar_rule(special.ker, lambda y, x: special.kerp(x))
scalar_rule(special.kei, lambda y, x: special.keip(x))
scalar_rule(special.berp, lambda y, x: -special.bei(x) - over(y, x, BERP_PER_X))
scalar_rule(special.beip, lambda y, x: special.ber(x) - over(y, x, BEIP_PER_X))
scalar_rule(special.kerp, lambda y, x: -special.kei(x) - y / x)
scalar_rule(special.keip, lambda y, x: special.ker(x) - y / x)
scalar_rule(
    special.kelvin,
    (lambda y, x: y[2],),
    (lambda y, x: y[3],),
    (lambda y, x: 1j * y[0] - over(y[2], x, W_PER_X),),
    (lambda y, x: 1j * y[1] - y[3] / x,),
)


def inhomogeneous(v: Any, x: Any) -> Any:
    """Return (x/2)^v / (√π Γ(v + 3/2))."""
    return np.power(x / 2, v) * special.rgamma(v + 1.5) / math.sqrt(math.pi)


def reach(v: Any, x: Any) -> Any:
    return of_power(np.abs(x) / (2 * (1 + np.abs(v))), most=0.75)


def struve_slope(f: Any, sign: int, v: Any, x: Any) -> Any:
    """Return the derivative of H (with the sign -1) or L, at x = 0 of order 0 without order -1."""
    alone = np.equal(v, 0) & (x == 0)
    rest = sign * f(v + 1, x) + inhomogeneous(v * 1.0, x)
    if not np.any(alone):
        return (f(v - 1, x) + rest) / 2
    return np.where(alone, rest, (f(np.where(alone, 1.0, v - 1), x) + rest) / 2)


for f, sign in ((special.struve, -1), (special.modstruve, 1)):
    scalar_rule(
        f,
        by_parameter(f, 0, reach),
        lambda y, v, x, f=f, sign=sign: struve_slope(f, sign, v, x),
    )
scalar_rule(special.itstruve0, lambda y, x: special.struve(0, x))
scalar_rule(special.it2struve0, lambda y, x: -over(special.struve(0, x), x, STRUVE_PER_X))
scalar_rule(special.itmodstruve0, lambda y, x: special.modstruve(0, x))
