"""Spherical Bessel functions, and those of Riccati.

(2n+1) f_n' = n f_(n-1) ∓ (n+1) f_(n+1), with - for j and y, + for i and, with -f', for k (DLMF
10.51.2, 10.51.5); the same of the derivatives gives f_n''. No power of 1/z occurs, so z = 0 is as
any other.

Riccati's z j_n and z y_n satisfy w'' = (n(n+1)/z² - 1) w (DLMF 10.51).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.special.argument import argument_rule
from chainrules_core import Tangent, pair_rule, primitive, unthunk


def spherical_rules(f: Callable, sign: int, total: int) -> None:
    inner = primitive(f)

    def slope(y: Any, z: Any, n: Any, derivative: bool = False) -> Any:
        if not derivative:
            return inner(n, z, True)
        below, above = (
            inner(np.maximum(np.subtract(n, 1), 0), z, True),
            inner(np.add(n, 1), z, True),
        )
        n = np.multiply(n, 1.0)
        return total * (n * below + sign * (n + 1) * above) / (2 * n + 1)

    argument_rule((f, inner), "z", slope)


spherical_rules(special.spherical_jn, -1, 1)
spherical_rules(special.spherical_yn, -1, 1)
spherical_rules(special.spherical_in, 1, 1)
spherical_rules(special.spherical_kn, 1, -1)


def riccati_rules(f: Callable) -> None:
    def slopes(y: tuple, n: Any, x: Any) -> tuple:
        orders = np.arange(np.size(y[0]))
        return y[1], (orders * (orders + 1) / (x * x) - 1) * y[0]

    @pair_rule(f)
    def riccati_rule(x: Any, *, n: Any) -> Any:
        y = f(n, x)

        def riccati_pushforward(x_dot: Any) -> Any:
            return Tangent[tuple](*[s * x_dot for s in slopes(y, n, x)])

        def riccati_pullback(y_bar: Any) -> Any:
            first, second = slopes(y, n, x)
            return np.sum(first * unthunk(y_bar[0]) + second * unthunk(y_bar[1]))

        return y, riccati_pushforward, riccati_pullback


riccati_rules(special.riccati_jn)
riccati_rules(special.riccati_yn)
