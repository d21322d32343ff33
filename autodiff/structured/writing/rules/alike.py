"""Functions in whose place others are differentiated: their partial derivatives can be written.

The rules of `numpy.clip`, `numpy.sign` and `numpy.arctan2` prepare something, or ask which cases
there are. These here say the same of real numbers, element by element.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules_core import ZeroTangent, scalar_rule


def clip_between(a: Any, low: Any, high: Any) -> Any:
    """Return ``np.clip(a, low, high)``; equal ones share the cotangent."""
    return np.clip(a, low, high)


def sign_of(a: Any) -> Any:
    """Return ``np.sign(a)``."""
    return np.sign(a)


def angle_of(a: Any, b: Any) -> Any:
    """Return ``np.arctan2(a, b)``."""
    return np.arctan2(a, b)


scalar_rule(
    clip_between,
    lambda y, a, low, high: ((y == a) * (low <= high)) / (1.0 + ((y == low) + 1.0 * (y == high))),
    lambda y, a, low, high: ((y == low) * (low <= high)) / (1.0 + ((y == a) + 1.0 * (y == high))),
    lambda y, a, low, high: (
        (y == high) / (1.0 + ((y == a) + 1.0 * (y == low)) * (1.0 * (low <= high)))
    ),
)
scalar_rule(sign_of, ZeroTangent())
scalar_rule(
    angle_of,
    # Without squares, which may be beyond the numbers; 0 at zero.
    lambda y, a, b: (
        b / (np.hypot(a, b) + (np.hypot(a, b) == 0.0)) / (np.hypot(a, b) + (np.hypot(a, b) == 0.0))
    ),
    lambda y, a, b: (
        -a / (np.hypot(a, b) + (np.hypot(a, b) == 0.0)) / (np.hypot(a, b) + (np.hypot(a, b) == 0.0))
    ),
)

ALIKE: dict[Any, tuple[Any, int]] = {
    np.clip: (clip_between, 3), np.ndarray.clip: (clip_between, 3), np.sign: (sign_of, 1),
    np.arctan2: (angle_of, 2), math.atan2: (angle_of, 2),
}  # fmt: skip
"""Function → the one that is differentiated in its place, with so many arguments."""
