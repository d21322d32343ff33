"""The gamma function and its kin: Γ, its logarithm, the polygamma functions, beta, binomials.

With ψ = Γ'/Γ (digamma): Γ' = Γ ψ, (log Γ)' = ψ, and ψ⁽ⁿ⁾(x) = (-1)ⁿ⁺¹ n! ζ(n+1, x) with Hurwitz's
zeta function, for which ∂ζ(s, q)/∂q = -s ζ(s+1, q). (DLMF 5.2, 5.15, 25.11.) By s, ζ comes from
its sum where that is quick (`series`), else from interpolation (`parameters`).

1/Γ has zeros where Γ has poles, at x = -n; there (1/Γ)' = (-1)ⁿ n! (DLMF 5.2.1).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.private import Private
from chainrules.scipy.special.argument import argument_rule
from chainrules.scipy.special.parameters import by_parameter, of_power
from chainrules.scipy.special.series import (
    digamma_by_series,
    has_zeta_series,
    trigamma_by_series,
    zeta_slope_by_series,
)
from chainrules_core import NoTangent, primitive, scalar_rule

zeta = Private("special._ufuncs")._zeta  # zeta(s, q) itself, a ufunc; scipy.special.zeta calls it

scalar_rule(special.gammaln, lambda y, x: special.digamma(x))
scalar_rule(special.loggamma, lambda y, x: digamma(x))
scalar_rule(special.gamma, lambda y, x: y * digamma(x))
scalar_rule(special.digamma, lambda y, x: trigamma(x))
scalar_rule(special.rgamma, lambda y, x: rgamma_slope(y, x))


def rgamma_slope(y: Any, x: Any) -> Any:
    """Return the derivative of 1/Γ(x)."""
    pole = (np.real(x) <= 0) & (x == np.round(np.real(x)))
    if not np.any(pole):
        return -y * digamma(x)
    n = np.where(pole, -np.real(x), 0.0)
    at_pole = np.cos(math.pi * n) * special.gamma(n + 1)
    return np.where(pole, at_pole, -y * special.digamma(np.where(pole, 1.0, x)))


def digamma(x: Any) -> Any:
    """Return ψ(x), of complex numbers at less cost than SciPy's."""
    return digamma_by_series(x) if np.iscomplexobj(x) else special.digamma(x)


@primitive
def trigamma_real(x: Any) -> Any:
    """Return ψ'(x) of real numbers."""
    return trigamma_by_series(x)


scalar_rule(trigamma_real, lambda y, x: -2 * zeta(3, x))


def trigamma(x: Any) -> Any:
    """Return ψ'(x)."""
    return trigamma_by_series(x) if np.iscomplexobj(x) else trigamma_real(x)


# ------------------------------------------------------------------------- zeta and polygamma

riemann = Private("special._ufuncs")._riemann_zeta


def from_pole(s: Any, *q: Any) -> Any:
    """ζ has its pole at 1; (q + k)^-s falls like a power."""
    steep = of_power(q[0]) if q else 1.0
    return np.minimum(np.abs(s - 1) / 3, steep)


by_order_anywhere = by_parameter(zeta, 0, from_pole)
by_order_alone_anywhere = by_parameter(riemann, 0, from_pole)


def by_order(y: Any, s: Any, q: Any) -> Any:
    """Return ∂ζ(s, q)/∂s."""
    return zeta_slope_by_series(s, q) if has_zeta_series(s, q) else by_order_anywhere(y, s, q)


def by_order_alone(y: Any, s: Any) -> Any:
    """Return ζ'(s)."""
    return (
        zeta_slope_by_series(s, 1.0) if has_zeta_series(s, 1.0) else by_order_alone_anywhere(y, s)
    )


for f in (zeta, special.zeta):
    scalar_rule(f, by_order, lambda y, x, q: -x * zeta(x + 1, q), types=(object, object))
for f in (riemann, special.zeta):
    scalar_rule(f, by_order_alone, types=(object,))
# ζ - 1, which is tiny for large s.
scalar_rule(special.zetac, by_parameter(special.zetac, 0, from_pole))


def polygamma_slope(n: Any, x: Any) -> Any:
    """Return ψ⁽ⁿ⁺¹⁾(x)."""
    n = np.asarray(n)
    return (-1.0) ** n * special.gamma(n + 2.0) * zeta(n + 2, x)


polygamma = primitive(special.polygamma)
scalar_rule((special.polygamma, polygamma), NoTangent(), lambda y, n, x: polygamma_slope(n, x))

# --------------------------------------------------------------------- ratios of gamma functions


def rise(a: Any, b: Any) -> Any:
    """Return ψ(a) - ψ(b)."""
    return digamma(a) - digamma(b)


def digamma_beside(x: Any) -> Any:
    """Return ψ(x) to be added to numbers of its size: what SciPy does around a root is slow."""
    left = x < 0
    if not np.any(left):
        return special.digamma(x)
    return special.digamma(np.where(left, x + 1, x)) - np.where(left, 1 / np.where(left, x, 1), 0)


scalar_rule(special.beta, lambda y, a, b: y * rise(a, a + b), lambda y, a, b: y * rise(b, a + b))
scalar_rule(special.betaln, lambda y, a, b: rise(a, a + b), lambda y, a, b: rise(b, a + b))
scalar_rule(
    special.poch, lambda y, z, m: y * rise(z + m, z), lambda y, z, m: y * special.digamma(z + m)
)
scalar_rule(
    special.binom,
    lambda y, n, k, rest: y * (special.digamma(n + 1) - rest),
    lambda y, n, k, rest: y * (rest - special.digamma(k + 1)),
    setup=lambda y, n, k: digamma_beside(n - k + 1),
)

# log Γ_d(a) = log(π) d(d-1)/4 + Σ log Γ(a - j/2)
multigammaln = primitive(special.multigammaln)
scalar_rule(
    (special.multigammaln, multigammaln),
    lambda y, a, d: sum(special.digamma(a - j / 2) for j in range(int(d))),
    NoTangent(),
)


def factorial_slope(y: Any, n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """Return Γ'(n+1), and 0 for negative n where these are given the value 0."""
    if extend == "complex":
        return y * special.digamma(np.add(n, 1.0))
    return np.where(np.less(n, 0), 0.0, y * special.digamma(np.maximum(n, 0) + 1.0))


argument_rule(special.factorial, "n", factorial_slope)
