"""Orthogonal polynomials by evaluation, and Legendre functions of any degree.

By the argument each is a multiple of its neighbour in degree, with shapes one larger (DLMF 18.9):

    P_n^(a,b)' = (n+a+b+1)/2 P_(n-1)^(a+1,b+1)     C_n^(a)' = 2a C_(n-1)^(a+1)
    L_n^(a)' = -L_(n-1)^(a+1)                      H_n' = 2n H_(n-1),  He_n' = n He_(n-1)

By shapes and real degrees from interpolation (`parameters`), except for Chebyshev's: with
x = cos θ, T_n = cos nθ and U_n = sin (n+1)θ / sin θ.

(1-x²) P_v^m' = (v+m) P_(v-1)^m - v x P_v^m for the Legendre functions of the cut (DLMF 14.10.5).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.special.parameters import by_parameter, to_poles
from chainrules.scipy.special.removable import near_zero
from chainrules_core import NoTangent, scalar_rule

# ------------------------------------------------------------------------------- Chebyshev


# θ/sin θ = Σ 4ᵏ k!²/(2k+1)! ((1-x)/2)ᵏ for x = cos θ.
ANGLE_PER_SINE = [2.0**k * math.factorial(k) ** 2 / math.factorial(2 * k + 1) for k in range(21)]


def angle_per_sine(x: Any) -> Any:
    """Return θ/sin θ for x = cos θ, which is smooth at x = 1; for x > 1, θ is imaginary."""
    return near_zero(1 - x, ANGLE_PER_SINE, lambda w: angle_per_sine_away(1 - w), 0.25)


def angle_per_sine_away(x: Any) -> Any:
    """Return θ/sin θ for x other than 1."""
    square = (1 - x) * (1 + x)
    if np.iscomplexobj(x):
        return np.arccos(x) / np.sqrt(square)
    outside = x > 1
    if not np.any(outside):
        return np.arccos(x) / np.sqrt(square)
    angle = np.where(
        outside,
        np.arccosh(np.where(outside, x, 2.0)),
        np.arccos(np.where(outside, 0.0, x)),
    )
    return angle / np.sqrt(np.where(outside, -square, square))


def t_by_degree(n: Any, x: Any) -> Any:
    """Return ∂T_n(x)/∂n = -θ sin nθ = -θ/sin θ (1-x²) U_(n-1)(x), smooth at x = 1."""
    left = np.real(x) < 0  # here U has a singularity, at x = -1
    if np.all(left):
        theta = np.arccos(x)
        return -theta * np.sin(n * theta)
    right = np.where(left, 0.0, x) if np.any(left) else x
    u = special.eval_chebyu(n - 1, right)
    slope = -angle_per_sine(right) * (1 - right) * (1 + right) * u
    if not np.any(left):
        return slope
    theta = np.arccos(np.where(left, x, 0.0))
    return np.where(left, -theta * np.sin(n * theta), slope)


def u_by_degree(n: Any, x: Any) -> Any:
    """Return ∂U_n(x)/∂n = θ/sin θ cos (n+1)θ = θ/sin θ T_(n+1)(x), smooth at x = 1."""
    return angle_per_sine(x) * special.eval_chebyt(n + 1, x)


def u_slope(n: Any, x: Any) -> Any:
    """Return U_n'(x) = 2 C_(n-1)^(2)(x)."""
    return 2 * special.eval_gegenbauer(n - 1, 2.0, x)


scalar_rule(
    special.eval_chebyt,
    lambda y, n, x: t_by_degree(n, x),
    lambda y, n, x: n * special.eval_chebyu(n - 1, x),
)
scalar_rule(special.eval_chebyu, lambda y, n, x: u_by_degree(n, x), lambda y, n, x: u_slope(n, x))
# C_n(x) = 2 T_n(x/2), S_n(x) = U_n(x/2); shifted: at 2x - 1.
scalar_rule(
    special.eval_chebyc,
    lambda y, n, x: 2 * t_by_degree(n, x / 2),
    lambda y, n, x: n * special.eval_chebyu(n - 1, x / 2),
)
scalar_rule(
    special.eval_chebys,
    lambda y, n, x: u_by_degree(n, x / 2),
    lambda y, n, x: u_slope(n, x / 2) / 2,
)
scalar_rule(
    special.eval_sh_chebyt,
    lambda y, n, x: t_by_degree(n, 2 * x - 1),
    lambda y, n, x: 2 * n * special.eval_chebyu(n - 1, 2 * x - 1),
)
scalar_rule(
    special.eval_sh_chebyu,
    lambda y, n, x: u_by_degree(n, 2 * x - 1),
    lambda y, n, x: 2 * u_slope(n, 2 * x - 1),
)

# ------------------------------------------------------------------------- Jacobi and his kin

SHORT = 0.5


def by_degree(f: Callable) -> Callable:
    return by_parameter(f, 0, lambda n, *args: SHORT + 0.0 * n)


def by_shape(f: Callable, position: int, edge: float = -1.0) -> Callable:
    """Return the derivative by a shape that must be larger than `edge`."""
    return by_parameter(f, position, lambda *args: to_poles(args[position] - edge, SHORT))


def jacobi_slope(n: Any, a: Any, b: Any, x: Any) -> Any:
    """Return the derivative of P_n^(a,b) at x; SciPy has no P_(-1), which is 0, at x = -1."""
    none = np.equal(n, 0) & (x == -1)
    lower = np.where(none, 0, n - 1) if np.any(none) else n - 1
    slope = (n + a + b + 1) / 2 * special.eval_jacobi(lower, a + 1.0, b + 1.0, x)
    return np.where(none, 0.0, slope) if np.any(none) else slope


scalar_rule(
    special.eval_jacobi,
    by_degree(special.eval_jacobi),
    by_shape(special.eval_jacobi, 1),
    by_shape(special.eval_jacobi, 2),
    lambda y, n, a, b, x: jacobi_slope(n, a, b, x),
)
scalar_rule(
    special.eval_legendre,
    by_degree(special.eval_legendre),
    lambda y, n, x: jacobi_slope(n, 0.0, 0.0, x),
)
scalar_rule(
    special.eval_sh_legendre,
    by_degree(special.eval_sh_legendre),
    lambda y, n, x: 2 * jacobi_slope(n, 0.0, 0.0, 2 * x - 1),
)
# G_n^(p,q)(x) = P_n^(p-q, q-1)(2x - 1) / binom(2n + p - 1, n)
scalar_rule(
    special.eval_sh_jacobi,
    by_degree(special.eval_sh_jacobi),
    by_shape(special.eval_sh_jacobi, 1),
    by_shape(special.eval_sh_jacobi, 2, 0.0),
    lambda y, n, p, q, x: (
        2 * jacobi_slope(n, p - q, q - 1, 2 * x - 1) / special.binom(2.0 * n + p - 1, n * 1.0)
    ),
)
scalar_rule(
    special.eval_gegenbauer,
    by_degree(special.eval_gegenbauer),
    by_parameter(special.eval_gegenbauer, 1, lambda n, a, x: to_poles(a + 0.5, SHORT)),
    lambda y, n, a, x: 2 * a * special.eval_gegenbauer(n - 1, a + 1.0, x),
)
scalar_rule(
    special.eval_genlaguerre,
    by_degree(special.eval_genlaguerre),
    by_shape(special.eval_genlaguerre, 1),
    lambda y, n, a, x: -special.eval_genlaguerre(n - 1, a + 1.0, x),
)
scalar_rule(
    special.eval_laguerre,
    by_degree(special.eval_laguerre),
    lambda y, n, x: -special.eval_genlaguerre(n - 1, 1.0, x),
)


def lower(n: Any) -> Any:
    return np.maximum(n - 1, 0)


scalar_rule(
    special.eval_hermite,
    NoTangent(),
    lambda y, n, x: 2 * n * special.eval_hermite(lower(n), x),
)
scalar_rule(
    special.eval_hermitenorm,
    NoTangent(),
    lambda y, n, x: n * special.eval_hermitenorm(lower(n), x),
)

# -------------------------------------------------------------------------------- Legendre


def legendre_slope(y: Any, m: Any, v: Any, x: Any) -> Any:
    """Return the derivative of P_v^m; for m = 0 also at x = ±1, where it is that of P_v^(0,0)."""
    square = (1 - x) * (1 + x)
    at_end = square == 0
    if not np.any(at_end):
        return ((v + m) * special.lpmv(m, v - 1, x) - v * x * y) / square
    safe = np.where(at_end, 0.0, x)
    slope = ((v + m) * special.lpmv(m, v - 1, safe) - v * safe * y) / np.where(at_end, 1.0, square)
    end = jacobi_slope(v, 0.0, 0.0, np.where(at_end, x, 0.0))
    return np.where(at_end, np.where(np.equal(m, 0), end, np.nan), slope)


scalar_rule(
    special.lpmv,
    NoTangent(),
    by_parameter(special.lpmv, 1, lambda m, v, x: SHORT + 0.0 * v),
    legendre_slope,
)
