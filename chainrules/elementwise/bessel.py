"""The one Bessel function that NumPy has: I₀' = I₁ (DLMF 10.29.3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_core import scalar_rule


def i1(x: Any) -> Any:
    """Return I₁; loads scipy.special at need."""
    from scipy.special import i1

    return i1(x)


scalar_rule(np.i0, lambda y, x: i1(x))
