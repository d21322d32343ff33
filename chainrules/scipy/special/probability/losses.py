"""Losses, transforms to normality, Lambert's W, statistics of Kolmogorov and Tukey, binomials.

Inverses, of Box and Cox, of x eˣ (Lambert), of ω + log ω (Wright), of Tukey's quantile function:
implicit function theorem.

Kolmogorov's K(x) = 2 Σ_{k>0} (-1)^(k-1) e^(-2k²x²), which for small x is, by Poisson's summation,
1 - √2π/x Σ_{k>0} e^(-(2k-1)²π²/8x²). Smirnov's S_n(x) = x Σ_j C(n,j) (x + j/n)^(j-1) (1 - x -
j/n)^(n-j) over j ≤ n(1-x) (Birnbaum and Tingey, 1951); all its terms are positive. Both are
differentiated term by term.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.private import Private
from chainrules.scipy.special.argument import argument_rule
from chainrules.scipy.special.elementary import boxcox_by_exponent
from chainrules_core import NoTangent, scalar_rule

# ------------------------------------------------------------------------------------- losses

# δ(|r| - δ/2) for |r| > δ, else r²/2.
scalar_rule(
    special.huber,
    lambda y, delta, r: np.maximum(np.abs(r) - delta, 0.0),
    lambda y, delta, r: np.minimum(np.maximum(r, -delta), delta),
)


def fraction(x: Any, h: Any) -> Any:
    """Return x/h, and 0 for 0/0."""
    return x / np.where(h == 0, 1.0, h)


# δ² (√(1 + (r/δ)²) - 1) = δ (h - δ) with h = √(δ² + r²), and h - δ = r²/(h + δ).
scalar_rule(
    special.pseudo_huber,
    lambda y, delta, r, h: fraction(fraction(r * r, h + delta) ** 2, h),
    lambda y, delta, r, h: delta * fraction(r, h),
    setup=lambda y, delta, r: np.hypot(delta, r),
)

# ------------------------------------------------------------------------------------- inverses

scalar_rule(
    special.inv_boxcox,
    lambda y, x, lmbda: np.power(y, 1 - lmbda),
    lambda y, x, lmbda: -boxcox_by_exponent(np.log(y), lmbda) * np.power(y, 1 - lmbda),
)
scalar_rule(
    special.inv_boxcox1p,
    lambda y, x, lmbda: np.power(1 + y, 1 - lmbda),
    lambda y, x, lmbda: -boxcox_by_exponent(np.log1p(y), lmbda) * np.power(1 + y, 1 - lmbda),
)

lambertw = Private("special._ufuncs")._lambertw  # the ufunc itself; scipy.special.lambertw calls it
scalar_rule(lambertw, lambda w, z, k, tol: np.exp(-w) / (1 + w), NoTangent(), NoTangent())


argument_rule(special.lambertw, "z", lambda w, z, k=0, tol=1e-8: np.exp(-w) / (1 + w))


def omega_slope(y: Any) -> Any:
    """Return ω/(1+ω), 1 where ω is infinite."""
    infinite = np.isinf(y)
    return np.where(infinite, 1.0, y / (1 + y)) if np.any(infinite) else y / (1 + y)


scalar_rule(special.wrightomega, lambda y, z: omega_slope(y))


def tukey_slope(y: Any, lmbda: Any) -> Any:
    """Return the derivative of Tukey's quantile function (y^λ - (1-y)^λ)/λ by y."""
    return np.power(y, lmbda - 1.0) + np.power(1 - y, lmbda - 1.0)


def tukey_by_lambda(y: Any, lmbda: Any) -> Any:
    """Return ∂y/∂λ; outside of the support y is a constant."""
    outside = (y <= 0) | (y >= 1)
    p = np.where(outside, 0.5, y) if np.any(outside) else y
    by_lambda = boxcox_by_exponent(np.log(p), lmbda) - boxcox_by_exponent(np.log1p(-p), lmbda)
    slope = -by_lambda / tukey_slope(p, lmbda)
    return np.where(outside, 0.0, slope) if np.any(outside) else slope


def tukey_by_x(y: Any, lmbda: Any) -> Any:
    outside = (y <= 0) | (y >= 1)
    p = np.where(outside, 0.5, y) if np.any(outside) else y
    slope = 1 / tukey_slope(p, lmbda)
    return np.where(outside, 0.0, slope) if np.any(outside) else slope


scalar_rule(
    special.tklmbda,
    lambda y, x, lmbda: tukey_by_x(y, lmbda),
    lambda y, x, lmbda: tukey_by_lambda(y, lmbda),
)

# ------------------------------------------------------------------- Kolmogorov and Smirnov

SWITCH = 0.9


def kolmogorov_slope(x: Any) -> Any:
    """Return K'(x)."""
    small = x < SWITCH
    far = np.where(small, SWITCH, np.minimum(x, 30.0))  # from where on K is 0
    slope: Any = 0.0
    for k in range(7, 0, -1):
        slope = slope + (-1) ** k * 8 * k * k * far * np.exp(-2 * k * k * far * far)
    if not np.any(small):
        return slope
    near = np.where(small & (x > 0), x, 1.0)
    u = math.pi**2 / (8 * near * near)
    # (√2π/x e^(-c/x²))' = √2π e^(-c/x²) (2c/x² - 1)/x²
    near_slope: Any = 0.0
    for k in (5, 3, 1):
        near_slope = near_slope - np.exp(-k * k * u) * (2 * k * k * u - 1)
    near_slope = near_slope * math.sqrt(2 * math.pi) / (near * near)
    return np.where(small, np.where(x > 0, near_slope, 0.0), slope)


def smirnov_slope(n: Any, x: Any) -> Any:
    """Return S_n'(x) for 0 ≤ x ≤ 1."""
    n, x = np.expand_dims(np.trunc(n), -1), np.expand_dims(x, -1)  # n as SciPy takes it
    j = np.arange(int(np.max(n, initial=1)) + 1)
    above, below = x + j / n, 1 - x - j / n
    used = below > 0
    above, below = np.where(above > 0, above, 1.0), np.where(used, below, 1.0)
    log_choose = special.gammaln(n + 1.0) - special.gammaln(j + 1.0)
    log_choose = log_choose - special.gammaln(np.where(used, n - j, 0) + 1.0)
    term = np.exp(log_choose + (j - 1) * np.log(above) + (n - j) * np.log(below))
    slope = np.where(used, term * (1 + x * ((j - 1) / above - (n - j) / below)), 0.0)
    # The first term is (1-x)^n.
    return np.sum(np.where(j == 0, -n * np.power(1 - x, n - 1.0), slope), axis=-1)


scalar_rule(special.kolmogorov, lambda y, x: kolmogorov_slope(x))
scalar_rule(special.kolmogi, lambda x, y: -1 / np.abs(kolmogorov_slope(x)))
scalar_rule(special.smirnov, NoTangent(), lambda y, n, x: smirnov_slope(n, x))
scalar_rule(special.smirnovi, NoTangent(), lambda x, n, y: 1 / smirnov_slope(n, x))
