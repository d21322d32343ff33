"""Digamma, trigamma and the derivative of zeta by its order, from sums and asymptotic series.

SciPy has ψ of complex numbers, and ψ' as a case of Hurwitz's zeta function, at many times the cost
of log Γ and ψ. Whole arrays have them for less:

    ψ(z)  = log w - 1/2w - Σ_j B_2j / 2j w^2j - Σ_{k<K} 1/(z+k)          w = z + K
    ψ'(z) = 1/w + 1/2w² + Σ_j B_2j / w^(2j+1) + Σ_{k<K} 1/(z+k)²

(DLMF 5.5.2, 5.11.2, 5.15.5, 5.15.8). In the left half plane they are reflected: ψ(z) = ψ(1-z) - π
cot πz, ψ'(z) = (π / sin πz)² - ψ'(1-z) (DLMF 5.5.4, 5.15.6).

For s > 1 and q > 0 the sum of Euler and Maclaurin (DLMF 25.11.5), differentiated by s term by term:

    ζ(s, q) = Σ_{k<K} (q+k)^-s + w^(1-s)/(s-1) + w^-s/2 + Σ_j B_2j/(2j)! (s)_{2j-1} w^(1-s-2j)

with w = q + K and (s)_n = s (s+1) ... (s+n-1). With the terms kept here each is good to some 1e-15.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
SHIFTS = 8


def mirrored(z: Any) -> tuple[Any, Any]:
    """Return where numbers are in the left half plane, and 1 - z in place of these."""
    left = np.real(z) < 0
    return left, np.where(left, 1 - z, z) if np.any(left) else z


def angle_from_pole(z: Any, left: Any) -> Any:
    """Return πz less whole multiples of π, for the numbers in the left half plane."""
    z = np.where(left, z, 0.5)
    return math.pi * (z - np.rint(np.real(z)))


def digamma_by_series(z: Any) -> Any:
    """Return ψ(z) of complex numbers."""
    left, right = mirrored(z)
    total = 0.0
    for k in range(SHIFTS):
        total = total + 1 / (right + k)
    w = 1 / (right + SHIFTS)
    square = w * w
    series = 0.0
    for j, b in reversed(list(enumerate(BERNOULLI, 1))):
        series = (series + b / (2 * j)) * square
    value = -np.log(w) - w / 2 - series - total
    if not np.any(left):
        return value
    return np.where(left, value - math.pi / np.tan(angle_from_pole(z, left)), value)[()]


def trigamma_by_series(z: Any) -> Any:
    """Return ψ'(z) of real or complex numbers."""
    left, right = mirrored(z)
    total = 0.0
    for k in range(SHIFTS):
        shifted = right + k
        total = total + 1 / (shifted * shifted)
    w = 1 / (right + SHIFTS)
    square = w * w
    series = 0.0
    for b in reversed(BERNOULLI):
        series = (series + b) * square
    value = total + w * (1 + w / 2 + series)
    if not np.any(left):
        return value
    return np.where(left, (math.pi / np.sin(angle_from_pole(z, left))) ** 2 - value, value)[()]


# ------------------------------------------------------------------------------------- zeta


def has_zeta_series(s: Any, q: Any) -> bool:
    """Whether all of ζ(s, q) is in the domain of the sum."""
    return bool(np.all(np.greater(s, 1)) and np.all(np.greater(q, 0)))


def power_slope(base: Any, s: Any) -> tuple[Any, Any]:
    """Return base^-s and its derivative by s."""
    log = np.log(base)
    power = np.exp(-s * log)
    return power, -log * power


def zeta_slope_by_series(s: Any, q: Any) -> Any:
    """Return ∂ζ(s, q)/∂s for s > 1 and q > 0."""
    total: Any = 0.0
    for k in range(SHIFTS):
        total = total + power_slope(q + k, s)[1]
    w, before_pole = q + SHIFTS, s - 1
    power, slope = power_slope(w, s)
    total = total + w * (slope - power / before_pole) / before_pole + slope / 2
    # With (s)_n / w^n and its derivative by s; each step has two more factors.
    rising, by_s = s / w, 1 / w
    inside: Any = 0.0
    outside: Any = 0.0
    for j, b in enumerate(BERNOULLI, 1):
        weight = b / math.factorial(2 * j)
        inside, outside = inside + weight * by_s, outside + weight * rising
        for n in (2 * j - 1, 2 * j):
            factor = (s + n) / w
            rising, by_s = rising * factor, by_s * factor + rising / w
    return total + power * inside + slope * outside
