"""Airy functions and their integrals.

Ai'' = z Ai and Bi'' = z Bi (DLMF 9.2.1). Scaled by e^±ζ, ζ = ⅔ z^(3/2), ζ' = √z: the scale of Ai is
holomorphic, that of Bi, e^-|Re ζ|, is not (see `kinds` for what it adds).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from chainrules_core import AbstractZero, Tangent, pair_rule, scalar_rule, unthunk
from chainrules_core.authoring import conjugate, fit

scalar_rule(
    special.airy,
    (lambda y, z: y[1],),
    (lambda y, z: z * y[0],),
    (lambda y, z: y[3],),
    (lambda y, z: z * y[2],),
)
scalar_rule(
    special.itairy,
    (lambda y, x: special.airy(x)[0],),
    (lambda y, x: special.airy(x)[2],),
    (lambda y, x: special.airy(-x)[0],),
    (lambda y, x: special.airy(-x)[2],),
)


def root(z: Any) -> Any:
    """Return √z, for negative numbers 0: there ζ is imaginary, and nothing is scaled."""
    return np.sqrt(z) if np.iscomplexobj(z) else np.sqrt(np.maximum(z, 0.0))


def parts(y: Any, z: Any) -> tuple[list, Any]:
    """Return the four derivatives without the scale of Bi, and what this adds."""
    r = root(z)
    zeta = z * r
    return [y[1] + r * y[0], z * y[0] + r * y[1], y[3], z * y[2]], -np.sign(np.real(zeta)) * r


@pair_rule(special.airye)
def airye_rule(z: Any) -> Any:
    y = special.airye(z)

    def airye_pushforward(z_dot: Any) -> Any:
        slopes, rate = parts(y, z)
        turn = np.real(rate * z_dot)
        y_dots = [
            slope * z_dot + (y[i] * turn if i >= 2 else 0.0) for i, slope in enumerate(slopes)
        ]
        return Tangent[tuple](*[fit(y_dot, part) for y_dot, part in zip(y_dots, y, strict=True)])

    def airye_pullback(y_bar: Any) -> Any:
        slopes, rate = parts(y, z)
        z_bar: Any = 0.0
        for i, slope in enumerate(slopes):
            bar = unthunk(y_bar[i])
            if isinstance(bar, AbstractZero):
                continue
            z_bar = z_bar + conjugate(slope) * bar
            if i >= 2:
                z_bar = z_bar + conjugate(rate) * np.real(conjugate(y[i]) * bar)
        return z_bar

    return y, airye_pushforward, airye_pullback
