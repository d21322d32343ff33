"""Exponential, trigonometric and Fresnel integrals, the dilogarithm, Voigt's profile.

The derivative of an integral is its integrand. Where that has the form sin z/z or log z/(1-z), the
limits at 0 and 1 come from Taylor series.

Modified Fresnel integrals F± = ∫_x^∞ e^±it² dt, K± = e^∓i(x²+π/4) F±/√π:
K±' = ∓2ix K± - e^∓iπ/4/√π.

Voigt: V = Re w(z)/(σ√2π), z = (x+iγ)/(σ√2), with w' = 2i/√π - 2zw (DLMF 7.10.2); for large |z|,
where this cancels, the asymptotic series of w (DLMF 7.12.1) term by term.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.special.removable import in_powers, near_zero
from chainrules_core import NoTangent, scalar_rule

ROOT_PI = math.sqrt(math.pi)
TURN = cmath.exp(0.25j * math.pi) / ROOT_PI


SINE = in_powers(2, *[(-1) ** k / math.factorial(2 * k + 1) for k in range(10)])
SINH = np.abs(SINE).tolist()
LOGARITHM = [(-1) ** k / (k + 1) for k in range(20)]


def per(f: Any, z: Any, series: list[complex], radius: float) -> Any:
    """Return f(z)/z."""
    return near_zero(z, series, lambda z: f(z) / z, radius)


scalar_rule(special.exp1, lambda y, z: -np.exp(-z) / z)
scalar_rule(special.expi, lambda y, z: np.exp(z) / z)
scalar_rule(special.sici, (lambda y, z: per(np.sin, z, SINE, 1.0),), (lambda y, z: np.cos(z) / z,))
scalar_rule(
    special.shichi, (lambda y, z: per(np.sinh, z, SINH, 1.0),), (lambda y, z: np.cosh(z) / z,)
)
scalar_rule(special.spence, lambda y, z: -per(np.log1p, z - 1, LOGARITHM, 0.1))


def expn_slope(y: Any, n: Any, x: Any) -> Any:
    """Return -E_(n-1)(x); E_0(x) = e^(-x)/x has the derivative -(1 + 1/x) E_0(x)."""
    n = np.trunc(n)  # as SciPy does, for a table of integers
    first = np.equal(n, 0)
    if not np.any(first):
        return -special.expn(n - 1, x)
    return np.where(first, -(1 + 1 / x) * y, -special.expn(np.maximum(n - 1, 0), x))


scalar_rule(special.expn, NoTangent(), expn_slope)
scalar_rule(
    special.modfresnelp,
    (lambda y, x: -np.exp(1j * (x * x)),),
    (lambda y, x: -2j * x * y[1] - TURN.conjugate(),),
)
scalar_rule(
    special.modfresnelm,
    (lambda y, x: -np.exp(-1j * (x * x)),),
    (lambda y, x: 2j * x * y[1] - TURN,),
)

# ------------------------------------------------------------------------------------- Voigt

FAR = 30.0
SERIES = [
    (2 * k + 1) * math.prod(range(1, 2 * k, 2)) / 2**k for k in range(8)
]  # of -w' z² √π / i, in powers of z^-2


def faddeeva_slope(z: Any, w: Any) -> Any:
    """Return w'(z) in the upper half plane."""
    far = np.abs(z) > FAR
    near = 2j / ROOT_PI - 2 * z * w
    if not np.any(far):
        return near
    u = 1 / np.where(far, z, FAR)
    square = u * u
    series: Any = 0.0
    for c in reversed(SERIES):
        series = (series + c) * square
    return np.where(far, -1j / ROOT_PI * series, near)


def voigt_setup(y: Any, x: Any, s: Any, g: Any) -> Any:
    """Return w'(z)/(2√π σ²); its limit for σ = 0 is that of Cauchy's density."""
    pole = x + 1j * g
    level = s == 0
    safe = np.where(level, 1.0, s) if np.any(level) else s
    z = pole / (safe * math.sqrt(2))
    slope = faddeeva_slope(z, special.wofz(z)) / (2 * ROOT_PI * safe * safe)
    return np.where(level, -1j / (math.pi * pole * pole), slope) if np.any(level) else slope


def voigt_by_width(y: Any, x: Any, s: Any, g: Any, slope: Any) -> Any:
    """Return ∂V/∂σ, from σ in z and in front; V is even in σ."""
    level = s == 0
    safe = np.where(level, 1.0, s) if np.any(level) else s
    by_width = -(y + np.real((x + 1j * g) * slope)) / safe
    return np.where(level, 0.0, by_width) if np.any(level) else by_width


scalar_rule(
    special.voigt_profile,
    lambda y, x, s, g, slope: np.real(slope),
    voigt_by_width,
    lambda y, x, s, g, slope: -np.imag(slope),
    setup=voigt_setup,
)
