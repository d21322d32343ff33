"""Bits and whole numbers: elementwise functions whose output moves in steps, if at all.

The roundings themselves, and the comparisons, are in :mod:`chainrules.nondifferentiable`.
"""

from __future__ import annotations

import operator

from chainrules.nondifferentiable import named
from chainrules_core import non_differentiable

BITS = "bitwise_and bitwise_count bitwise_or bitwise_xor invert left_shift right_shift"
WHOLE_NUMBERS = "gcd lcm"
DATES = "isnat"

for group in (BITS, WHOLE_NUMBERS, DATES):
    non_differentiable(named(group))

non_differentiable(named("and_ invert lshift or_ rshift xor inv", operator))
