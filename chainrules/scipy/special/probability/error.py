"""The error function, the normal distribution function, and their inverses.

With the density φ(x) = e^(-x²/2)/√2π and Φ its integral, (log Φ)' = φ/Φ. Both underflow for
negative x; their ratio is √(2/π)/erfcx(-x/√2), which does not. (DLMF 7.2, 7.10.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from chainrules_core import scalar_rule

ROOT_PI = math.sqrt(math.pi)
ROOT_2PI = math.sqrt(2 * math.pi)

scalar_rule(special.erf, lambda y, x: 2 / ROOT_PI * np.exp(-x * x))
scalar_rule(special.erfc, lambda y, x: -2 / ROOT_PI * np.exp(-x * x))
scalar_rule(special.erfcx, lambda y, x: 2 * x * y - 2 / ROOT_PI)
scalar_rule(special.erfi, lambda y, x: 2 / ROOT_PI * np.exp(x * x))
scalar_rule(special.erfinv, lambda x, y: ROOT_PI / 2 * np.exp(x * x))
scalar_rule(special.erfcinv, lambda x, y: -ROOT_PI / 2 * np.exp(x * x))
scalar_rule(special.dawsn, lambda y, x: 1 - 2 * x * y)
scalar_rule(special.wofz, lambda y, z: 2j / ROOT_PI - 2 * z * y)
scalar_rule(
    special.fresnel,
    (lambda y, z: np.sin(math.pi / 2 * z * z),),
    (lambda y, z: np.cos(math.pi / 2 * z * z),),
)


def hazard(x: Any) -> Any:
    """Return φ(x)/Φ(x)."""
    return math.sqrt(2 / math.pi) / special.erfcx(-x / math.sqrt(2))


scalar_rule(special.ndtr, lambda y, x: np.exp(-0.5 * x * x) / ROOT_2PI)
scalar_rule(special.log_ndtr, lambda y, x: hazard(x))
scalar_rule(special.ndtri, lambda x, y: ROOT_2PI * np.exp(0.5 * x * x))
scalar_rule(special.ndtri_exp, lambda x, y: 1 / hazard(x))
