"""Bessel functions of the argument.

For each kind the derivative is half the sum or difference of its neighbours in the order (DLMF
10.6.1, 10.29.1); for the orders 0 and 1 it is written with their own functions. By the order there
is no closed form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from chainrules_core import not_implemented, scalar_rule


def over(y: Any, x: Any) -> Any:
    """Return y/x, and its limit 1/2 at x = 0, for J₁ and I₁."""
    zero = x == 0
    return np.where(zero, 0.5, y / (x + zero)) if np.any(zero) else y / x


scalar_rule(special.j0, lambda y, x: -special.j1(x))
scalar_rule(special.j1, lambda y, x: special.j0(x) - over(y, x))
scalar_rule(special.y0, lambda y, x: -special.y1(x))
scalar_rule(special.y1, lambda y, x: special.y0(x) - y / x)
scalar_rule(special.i0, lambda y, x: special.i1(x))
scalar_rule(special.i1, lambda y, x: special.i0(x) - over(y, x))
scalar_rule(special.k0, lambda y, x: -special.k1(x))
scalar_rule(special.k1, lambda y, x: -special.k0(x) - y / x)

# Scaled: e^(-|x|) I and e^x K.
scalar_rule(special.i0e, lambda y, x: special.i1e(x) - np.sign(x) * y)
scalar_rule(special.i1e, lambda y, x: special.i0e(x) - over(y, x) - np.sign(x) * y)
scalar_rule(special.k0e, lambda y, x: y - special.k1e(x))
scalar_rule(special.k1e, lambda y, x: y - special.k0e(x) - y / x)

BY_ORDER = not_implemented("the derivative of a Bessel function by its order")

scalar_rule(special.jv, BY_ORDER, lambda y, v, z: (special.jv(v - 1, z) - special.jv(v + 1, z)) / 2)
scalar_rule(special.yv, BY_ORDER, lambda y, v, z: (special.yv(v - 1, z) - special.yv(v + 1, z)) / 2)
scalar_rule(special.iv, BY_ORDER, lambda y, v, z: (special.iv(v - 1, z) + special.iv(v + 1, z)) / 2)
scalar_rule(
    special.kv, BY_ORDER, lambda y, v, z: -(special.kv(v - 1, z) + special.kv(v + 1, z)) / 2
)
