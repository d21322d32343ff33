"""Roots of polynomials.

Where p(r) = Σ p_k r^(n-k) = 0, a change of p_k moves a simple root by -r^(n-k) / p'(r). That of a
multiple root is infinite. (All other functions of polynomials are NumPy's own Python code, which is
differentiated as it is written.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.reductions.lists import ARRAY_LIKE, frule_on_arrays, rrule_on_arrays
from chainrules_core import conj, frule, rrule
from chainrules_core.define.scalar import fit


def shifts(r: Any, p: Any) -> Any:
    """Return ∂r_i/∂p_k as a matrix."""
    powers = np.vander(r, np.shape(p)[0])
    return -powers / np.expand_dims(np.polyval(np.polyder(p), r), -1)


@rrule.register(np.roots, ARRAY_LIKE)
@rrule_on_arrays
def roots_rrule(p):
    r = np.roots(p)

    def roots_pullback(r_bar):
        return np.matmul(r_bar, conj(shifts(r, p)))

    return r, roots_pullback


@frule.register(np.roots, ARRAY_LIKE)
@frule_on_arrays
def roots_frule(dots, p):
    (p_dot,) = dots
    r = np.roots(p)
    return r, fit(np.matmul(shifts(r, p), p_dot), r)
