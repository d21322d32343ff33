"""Functions in whose place others are differentiated: their partial derivatives can be written.

The rules of `numpy.clip`, `numpy.sign` and `numpy.arctan2` prepare something, or ask which cases
there are. These here say the same of real numbers, element by element. Those of `abs` and
`angle` of complex numbers compute a cotangent, not a slope: they have no complex derivative.
"""

from __future__ import annotations

import cmath
import math
import operator
from typing import Any

import numpy as np

from chainrules_core import ZeroTangent, scalar_rule


def clip_between(a: Any, low: Any, high: Any) -> Any:
    """Return ``np.clip(a, low, high)``; equal ones share the cotangent."""
    return np.clip(a, low, high)


def sign_of(a: Any) -> Any:
    """Return ``np.sign(a)``."""
    return np.sign(a)


def size_of(z: Any) -> Any:
    """Return ``np.abs(z)`` of complex numbers."""
    return np.abs(z)


def phase_of(z: Any) -> Any:
    """Return ``np.angle(z)`` of complex numbers."""
    return np.angle(z)


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
# A sweep conjugates: what z gets is its direction times the cotangent, which is real.
scalar_rule(size_of, lambda y, z: np.conj(z) * (1.0 / (y + (y == 0.0))))
scalar_rule(
    phase_of,
    lambda y, z: (
        (-1j * np.conj(z))
        * (1.0 / (np.abs(z) + (np.abs(z) == 0.0)))
        * (1.0 / (np.abs(z) + (np.abs(z) == 0.0)))
    ),
)
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

OF_COMPLEX: dict[Any, tuple[Any, int]] = {
    **dict.fromkeys([abs, operator.abs, np.absolute], (size_of, 1)),
    **dict.fromkeys([cmath.phase, np.angle], (phase_of, 1)),
    cmath.exp: (np.exp, 1), cmath.sqrt: (np.sqrt, 1), cmath.sin: (np.sin, 1),
    cmath.cos: (np.cos, 1), cmath.sinh: (np.sinh, 1), cmath.cosh: (np.cosh, 1),
    cmath.tan: (np.tan, 1), cmath.tanh: (np.tanh, 1),
}  # fmt: skip
"""The same for numbers and arrays that are complex, and numbers that may be."""
ALIKE: dict[Any, tuple[Any, int]] = {
    np.clip: (clip_between, 3), np.ndarray.clip: (clip_between, 3), np.sign: (sign_of, 1),
    np.arctan2: (angle_of, 2), math.atan2: (angle_of, 2),
}  # fmt: skip
"""Function → the one that is differentiated in its place, with so many arguments."""
