"""Orthogonal polynomials by evaluation, and Legendre functions of any degree.

By the argument each is a multiple of its neighbour in degree, with shapes one larger (DLMF 18.9):

    P_n^(a,b)' = (n+a+b+1)/2 P_(n-1)^(a+1,b+1)     C_n^(a)' = 2a C_(n-1)^(a+1)
    L_n^(a)' = -L_(n-1)^(a+1)                      H_n' = 2n H_(n-1),  He_n' = n He_(n-1)

By shapes and real degrees from interpolation (`parameters`), except for Chebyshev's: with
x = cos θ, T_n = cos nθ and U_n = sin (n+1)θ / sin θ, for x > 1 with θ = i arcosh x.

(1-x²) P_v^m' = (v+m) P_(v-1)^m - v x P_v^m for the Legendre functions of the cut (DLMF 14.10.5).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.special.parameters import by_parameter, to_poles
from chainrules_core import NoTangent, scalar_rule

# ------------------------------------------------------------------------------- Chebyshev


def angle(x: Any) -> tuple[Any, Any]:
    """Return θ and whether it is to be multiplied by i: where x > 1."""
    if np.iscomplexobj(x):
        return np.arccos(x), False
    outside = x > 1
    if not np.any(outside):
        return np.arccos(x), outside
    inner = np.arccos(np.where(outside, 1.0, x))
    return np.where(outside, np.arccosh(np.where(outside, x, 1.0)), inner), outside


def t_by_degree(n: Any, x: Any) -> Any:
    """Return ∂T_n(x)/∂n."""
    theta, outside = angle(x)
    slope = -theta * np.sin(n * theta)
    return np.where(outside, theta * np.sinh(n * theta), slope) if np.any(outside) else slope


def u_by_degree(n: Any, x: Any) -> Any:
    """Return ∂U_n(x)/∂n, at x = 1, where θ = 0, its limit 1."""
    theta, outside = angle(x)
    level = theta == 0
    safe = np.where(level, 1.0, theta) if np.any(level) else theta
    slope = safe * np.cos((n + 1) * safe) / np.sin(safe)
    if np.any(outside):
        slope = np.where(outside, safe * np.cosh((n + 1) * safe) / np.sinh(safe), slope)
    return np.where(level, 1.0, slope) if np.any(level) else slope


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
