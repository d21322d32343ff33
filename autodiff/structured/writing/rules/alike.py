"""Functions in whose place others are differentiated: their partial derivatives can be written.

The rules of `numpy.clip`, `numpy.sign` and `numpy.arctan2` prepare something, or ask which cases
there are. These here say the same of real numbers, element by element. So do others of complex
numbers. One with real values is not holomorphic: in the place of its partial derivative stands its
gradient, ∂y/∂re + i ∂y/∂im, which is not conjugated.
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


def phase_of(z: Any) -> Any:
    """Return ``np.angle(z)`` of complex numbers."""
    return np.angle(z)


def angle_of(a: Any, b: Any) -> Any:
    """Return ``np.arctan2(a, b)``."""
    return np.arctan2(a, b)


def angle_of_floats(a: Any, b: Any) -> Any:
    """Return ``math.atan2(a, b)``."""
    return math.atan2(a, b)


def modulus_of(x: Any) -> Any:
    """Return ``abs(x)`` of complex numbers."""
    return np.abs(x)


def size_of_float(x: Any) -> Any:
    """Return ``abs(x)`` of a float."""
    return abs(x)


def real_of(x: Any) -> Any:
    """Return the real part of a complex number."""
    return np.real(x)


def imag_of(x: Any) -> Any:
    """Return the imaginary part of a complex number."""
    return np.imag(x)


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

scalar_rule(
    angle_of_floats,
    lambda y, a, b: (
        b
        / (math.hypot(a, b) + (math.hypot(a, b) == 0.0))
        / (math.hypot(a, b) + (math.hypot(a, b) == 0.0))
    ),
    lambda y, a, b: (
        -a
        / (math.hypot(a, b) + (math.hypot(a, b) == 0.0))
        / (math.hypot(a, b) + (math.hypot(a, b) == 0.0))
    ),
)
scalar_rule(size_of_float, lambda y, x: x / (y + (y == 0.0)))
scalar_rule(modulus_of, lambda y, x: x * (1.0 / (y + (y == 0.0))))  # 0 at zero
scalar_rule(
    phase_of,
    lambda y, x: (
        (1j * x)
        * (1.0 / (np.abs(x) + (np.abs(x) == 0.0)))
        * (1.0 / (np.abs(x) + (np.abs(x) == 0.0)))
    ),
)
scalar_rule(real_of, 1)
scalar_rule(imag_of, 1j)

ALIKE: dict[Any, tuple[Any, int]] = {
    np.clip: (clip_between, 3), np.ndarray.clip: (clip_between, 3), np.sign: (sign_of, 1),
    np.arctan2: (angle_of, 2), math.atan2: (angle_of_floats, 2),
}  # fmt: skip
"""Function → the one that is differentiated in its place, with so many arguments."""

OF_COMPLEX: dict[Any, Any] = {
    operator.abs: modulus_of, np.absolute: modulus_of, abs: modulus_of,
    cmath.phase: phase_of, np.angle: phase_of,
    cmath.exp: np.exp, cmath.cos: np.cos, cmath.sin: np.sin, cmath.cosh: np.cosh,
    cmath.sinh: np.sinh, cmath.tan: np.tan, cmath.tanh: np.tanh, cmath.sqrt: np.sqrt,
}  # fmt: skip
"""The same for functions of one array that is complex, or of a number that is, or may be."""

PARTS: dict[Any, Any] = {np.real: real_of, np.imag: imag_of}
"""The same for the parts of a complex number."""
