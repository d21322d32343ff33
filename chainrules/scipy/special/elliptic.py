"""Elliptic integrals, Jacobi's elliptic functions, Carlson's integrals, the mean of Gauss.

Everything by ∂R_F/∂x = -R_D(y, z, x)/6 and the symmetry of R_F (DLMF 19.18.1), which does not
cancel where the textbook's (E - (1-m)K)/(2m(1-m)) does:

    K(m) = R_F(0, 1-m, 1)                          K' = R_D(0, 1, 1-m)/6
    E(m) = K - m/3 R_D(0, 1-m, 1)                  E' = (E - K)/2m = -R_D(0, 1-m, 1)/6
    F(φ, m) = s R_F(c², d², 1)                     ∂F/∂m = s³/6 R_D(c², 1, d²)
    E(φ, m) = s R_F - m s³/3 R_D(c², d², 1)        ∂E/∂m = -s³/6 R_D(c², d², 1)
    1/M(a, b) = 2/π R_F(0, a², b²)                 ∂M/∂a = 2|a|/3π M² R_D(0, b², a²)

with s = sin φ, c = cos φ, d² = 1 - m s², for |φ| ≤ π/2; each further π adds twice the complete
integral (DLMF 19.2.8 to 19.2.10, 19.25). φ = am(u, m) inverts F, so ∂φ/∂m = -d ∂F/∂m.

For R_G: 2R_G = z R_F - (x-z)(y-z)/3 R_D + √(xy/z) (DLMF 19.21.10), differentiated by x with
∂R_D/∂x = (R_D(y,z,x) - R_D(x,y,z))/(2(x-z)). R_D and R_J themselves: from interpolation in the
argument (`parameters`), which does not cancel for equal arguments as this formula does.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.special.parameters import parameter_slope
from chainrules_core import scalar_rule

rf, rd = special.elliprf, special.elliprd

# ---------------------------------------------------------------------------- complete, incomplete


def k_slope(m: Any) -> Any:
    return rd(0.0, 1.0, 1.0 - m) / 6


def e_slope(m: Any) -> Any:
    return -rd(0.0, 1.0 - m, 1.0) / 6


scalar_rule(special.ellipk, lambda y, m: k_slope(m))
scalar_rule(special.ellipkm1, lambda y, p: -rd(0.0, 1.0, p) / 6)
scalar_rule(special.ellipe, lambda y, m: e_slope(m))


def periods(phi: Any) -> Any:
    """Return how many times π has to be taken from φ to bring it next to 0."""
    return np.round(phi / math.pi)


def with_periods(own: Any, k: Any, complete: Any) -> Any:
    return np.where(k == 0, own, own + 2 * k * complete) if np.any(k != 0) else own


def f_by_m(phi: Any, m: Any) -> Any:
    """Return ∂F(φ, m)/∂m."""
    k = periods(phi)
    s, c = np.sin(phi - k * math.pi), np.cos(phi - k * math.pi)
    return with_periods(s * s * s / 6 * rd(c * c, 1.0, 1 - m * s * s), k, k_slope(m))


def e_by_m(phi: Any, m: Any) -> Any:
    """Return ∂E(φ, m)/∂m."""
    k = periods(phi)
    s, c = np.sin(phi - k * math.pi), np.cos(phi - k * math.pi)
    return with_periods(-s * s * s / 6 * rd(c * c, 1 - m * s * s, 1.0), k, e_slope(m))


def delta(phi: Any, m: Any) -> Any:
    s = np.sin(phi)
    return np.sqrt(1 - m * s * s)


scalar_rule(
    special.ellipkinc, lambda y, phi, m: 1 / delta(phi, m), lambda y, phi, m: f_by_m(phi, m)
)
scalar_rule(special.ellipeinc, lambda y, phi, m: delta(phi, m), lambda y, phi, m: e_by_m(phi, m))

# sn, cn, dn, am; the shared work is ∂φ/∂m.
scalar_rule(
    special.ellipj,
    (lambda y, u, m, t: y[1] * y[2], lambda y, u, m, t: y[1] * t),
    (lambda y, u, m, t: -y[0] * y[2], lambda y, u, m, t: -y[0] * t),
    (
        lambda y, u, m, t: -m * y[0] * y[1],
        lambda y, u, m, t: -y[0] * (y[0] + 2 * m * y[1] * t) / (2 * y[2]),
    ),
    (lambda y, u, m, t: y[2], lambda y, u, m, t: t),
    setup=lambda y, u, m: -y[2] * f_by_m(y[3], m),
)

# ------------------------------------------------------------------------------------- Carlson


def safely_slope(f: Any, args: tuple, position: int, room: Any = None) -> Any:
    """Return a derivative from interpolation, -Inf where the argument is 0 and the integral ends.

    The functions have a singularity at 0 and, by room, elsewhere.
    """
    x = args[position]
    zero = x == 0
    if np.any(zero):
        args = (*args[:position], np.where(zero, 1.0, x), *args[position + 1 :])
    reach = np.abs(args[position]) / 3
    slope = parameter_slope(f, args, position, reach)
    return np.where(zero, -np.inf, slope) if np.any(zero) else slope


def rc_by_y(v: Any, x: Any, y: Any) -> Any:
    """Return ∂R_C/∂y; for y < 0, a principal value, by the homogeneity of R_C."""
    negative = (np.imag(y) == 0) & (np.real(y) < 0)
    if not np.any(negative):
        return -rd(x, y, y) / 3
    by_x = (v - 1 / np.sqrt(x)) / (2 * (y - x))
    safe = np.where(negative, 1.0, y)
    return np.where(negative, (-v / 2 - x * by_x) / y, -rd(x, safe, safe) / 3)


def rc_by_x(v: Any, x: Any, y: Any) -> Any:
    negative = (np.imag(y) == 0) & (np.real(y) < 0)
    if not np.any(negative):
        return -rd(y, y, x) / 6
    safe = np.where(negative, 1.0, y)
    return np.where(negative, (v - 1 / np.sqrt(x)) / (2 * (y - x)), -rd(safe, safe, x) / 6)


scalar_rule(special.elliprc, rc_by_x, rc_by_y)
scalar_rule(
    special.elliprf,
    lambda v, x, y, z: -rd(y, z, x) / 6,
    lambda v, x, y, z: -rd(x, z, y) / 6,
    lambda v, x, y, z: -rd(x, y, z) / 6,
)
scalar_rule(
    special.elliprd,
    lambda v, x, y, z: safely_slope(special.elliprd, (x, y, z), 0),
    lambda v, x, y, z: safely_slope(special.elliprd, (x, y, z), 1),
    lambda v, x, y, z: safely_slope(special.elliprd, (x, y, z), 2),
)
scalar_rule(
    special.elliprj,
    lambda v, x, y, z, p: safely_slope(special.elliprj, (x, y, z, p), 0),
    lambda v, x, y, z, p: safely_slope(special.elliprj, (x, y, z, p), 1),
    lambda v, x, y, z, p: safely_slope(special.elliprj, (x, y, z, p), 2),
    lambda v, x, y, z, p: safely_slope(special.elliprj, (x, y, z, p), 3),
)


def rg_by_first(x: Any, y: Any, z: Any) -> Any:
    """Return ∂R_G/∂x: logarithmically infinite at x = 0, 1/(4√x) for y = z = 0."""
    swap = np.abs(y) > np.abs(z)
    y, z = np.where(swap, z, y), np.where(swap, y, z)
    root = np.where(y == 0, 0.0, np.sqrt(y) / (np.sqrt(x) * np.sqrt(z)))
    first = np.where(y == 0, 0.0, y * rd(np.where(y == 0, 1.0, y), z, x))
    slope = root / 4 - first / 12 - (y - z) * rd(x, y, z) / 12
    special_case = (x == 0) | (z == 0)
    if not np.any(special_case):
        return slope
    lone = 0.25 / np.sqrt(np.where(x == 0, 1.0, x))
    return np.where(x == 0, np.inf, np.where(z == 0, lone, slope))


scalar_rule(
    special.elliprg,
    lambda v, x, y, z: rg_by_first(x, y, z),
    lambda v, x, y, z: rg_by_first(y, x, z),
    lambda v, x, y, z: rg_by_first(z, x, y),
)


def mean_slope(mean: Any, a: Any, b: Any) -> Any:
    """Return the derivative of the arithmetic-geometric mean by `a`: infinite at 0."""
    slope = 2 / (3 * math.pi) * np.abs(a) * mean * mean * rd(0.0, b * b, a * a)
    zero = mean == 0
    return np.where(zero, np.where(a == 0, np.inf, 0.0), slope) if np.any(zero) else slope


scalar_rule(special.agm, lambda y, a, b: mean_slope(y, a, b), lambda y, a, b: mean_slope(y, b, a))
