"""Hyperbolic functions and their inverses.

The derivative of arccosh is written with two roots, 1/(√(x-1) √(x+1)), which has the branch cut
where arccosh has it; one root of the product would have another.
"""

from __future__ import annotations

import numpy as np

from chainrules_core import scalar_rule

scalar_rule(np.sinh, lambda y, x: np.cosh(x))
scalar_rule(np.cosh, lambda y, x: np.sinh(x))
scalar_rule(np.tanh, lambda y, x: 1 - y * y)
scalar_rule(np.arcsinh, lambda y, x: 1 / np.sqrt(1 + x * x))
scalar_rule(np.arccosh, lambda y, x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)))
scalar_rule(np.arctanh, lambda y, x: 1 / ((1 - x) * (1 + x)))
