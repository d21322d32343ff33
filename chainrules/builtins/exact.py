"""Exact numbers: making a ``Decimal`` or a ``Fraction`` of a traced float is refused.

Digits and ratios are no continuous functions of the value; what is computed with them would be a
constant.
"""

import decimal
import fractions

import numpy as np

from chainrules.refused import refuse

refuse(
    (decimal.Decimal, decimal.Decimal.from_float, fractions.Fraction),
    "an exact number has no derivative. Compute with floats, or wrap the value in "
    "autodiff.ignore_derivatives(...).",
    (float, np.floating),
)
