"""The gamma function and its kin: Γ, its logarithm, the polygamma functions, beta, binomials.

With ψ = Γ'/Γ (digamma): Γ' = Γ ψ, (log Γ)' = ψ, and ψ⁽ⁿ⁾(x) = (-1)ⁿ⁺¹ n! ζ(n+1, x) with Hurwitz's
zeta function, for which ∂ζ(s, q)/∂q = -s ζ(s+1, q). (DLMF 5.2, 5.15, 25.11.) By s, ζ comes from
its sum where that is quick (`series`), else from interpolation (`parameters`).

1/Γ has zeros where Γ has poles, at x = -n. Around them it is reflected (DLMF 5.5.3), so that its
derivatives of all orders are right: 1/Γ(x) = (-1)ⁿ Γ(1-x) sin(π(x+n))/π.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
from chainrules_core.authoring import is_foreign

zeta = Private("special._ufuncs")._zeta  # zeta(s, q) itself, a ufunc; scipy.special.zeta calls it

scalar_rule(special.gammaln, lambda y, x: special.digamma(x))
scalar_rule(special.loggamma, lambda y, x: digamma(x))
scalar_rule(special.gamma, lambda y, x: y * digamma(x))
scalar_rule(special.digamma, lambda y, x: trigamma(x))
scalar_rule(special.rgamma, lambda y, x: rgamma_slope(y, x))


NEAR_POLE = 0.25


def rgamma_slope(y: Any, x: Any) -> Any:
    """Return the derivative of 1/Γ(x), by reflection at poles; around them if that is traced."""
    n = np.rint(np.real(x))
    near = (n <= 0) & (np.abs(x - n) <= NEAR_POLE if is_foreign(x) else x == n)
    if not np.any(near):
        return -y * digamma(x)
    angle = math.pi * np.where(near, x - n, 0.5)
    mirror = np.where(near, 1 - x, 1.0)
    sign = 1 - 2 * np.remainder(n, 2)
    turned = np.cos(angle) - np.sin(angle) * digamma(mirror) / math.pi
    return np.where(
        near, sign * special.gamma(mirror) * turned, -y * digamma(np.where(near, 1.0, x))
    )


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


def is_pole(x: Any) -> Any:
    """Return whether Γ has a pole at x."""
    pole = np.less_equal(x, 0)
    return pole & np.equal(x, np.rint(x)) if np.any(pole) else pole


def rise(a: Any, b: Any) -> Any:
    """Return ψ(a) - ψ(b), which is finite if both are poles: ψ(x) = ψ(1-x) - π cot πx."""
    both = is_pole(a) & is_pole(b)
    if np.any(both):
        a, b = np.where(both, 1 - a, a), np.where(both, 1 - b, b)
    return digamma(a) - digamma(b)


def with_zeros(zero: Any, slope: Callable, at_zero: Callable, *args: Any) -> Any:
    """Return ``slope(*args)``, and where a ratio is 0 because Γ has a pole below, ``at_zero``.

    There slopes like y ψ are 0 · ∞. Each function gets harmless arguments in the other's places.
    """
    if not np.any(zero):
        return slope(*args)
    here = at_zero(*(np.where(zero, a, 1.0) for a in args))
    return np.where(zero, here, slope(*(np.where(zero, 1.0, a) for a in args)))


def quotient_slope(a: Any, b: Any) -> Any:
    """Return the derivative of Γ(a)/Γ(b) if both grow, also where b is a pole."""
    inverse = special.rgamma(b)
    return special.gamma(a) * (special.digamma(a) * inverse + rgamma_slope(inverse, b))


def digamma_beside(x: Any) -> Any:
    """Return ψ(x) to be added to numbers of its size: what SciPy does around a root is slow."""
    left = x < 0
    if not np.any(left):
        return special.digamma(x)
    return special.digamma(np.where(left, x + 1, x)) - np.where(left, 1 / np.where(left, x, 1), 0)


def beta_slope(y: Any, a: Any, b: Any) -> Any:
    """Return the derivative of B(a, b) = Γ(a) Γ(b) / Γ(a+b) by a."""
    zero = is_pole(a + b) & ~is_pole(a) & ~is_pole(b)
    return with_zeros(
        zero,
        lambda y, a, b: y * rise(a, a + b),
        lambda y, a, b: special.gamma(b) * quotient_slope(a, a + b),
        y,
        a,
        b,
    )


def poch_slope(y: Any, z: Any, m: Any) -> Any:
    """Return the derivative of Γ(z+m)/Γ(z) by z."""
    zero = is_pole(z) & ~is_pole(z + m)
    return with_zeros(
        zero,
        lambda y, z, m: y * rise(z + m, z),
        lambda y, z, m: quotient_slope(z + m, z),
        y,
        z,
        m,
    )


def binom_setup(y: Any, n: Any, k: Any) -> Any:
    """Return ψ(n-k+1), and something finite at its poles."""
    rest = n - k + 1
    pole = is_pole(rest)
    return digamma_beside(np.where(pole, 1.0, rest) if np.any(pole) else rest)


def binom_by_n(y: Any, n: Any, k: Any, psi: Any) -> Any:
    """Return the derivative of Γ(n+1) / Γ(k+1) Γ(n-k+1) by n."""
    return with_zeros(
        is_pole(n - k + 1) & ~is_pole(n + 1),
        lambda y, n, k, psi: y * (special.digamma(n + 1) - psi),
        lambda y, n, k, psi: special.rgamma(k + 1) * quotient_slope(n + 1, n - k + 1),
        y,
        n,
        k,
        psi,
    )


def binom_by_k(y: Any, n: Any, k: Any, psi: Any) -> Any:
    """Return its derivative by k."""

    def at_zero(y: Any, n: Any, k: Any, psi: Any) -> Any:
        below, rest = special.rgamma(k + 1), special.rgamma(n - k + 1)
        slope = rgamma_slope(below, k + 1) * rest - below * rgamma_slope(rest, n - k + 1)
        return special.gamma(n + 1) * slope

    return with_zeros(
        (is_pole(k + 1) | is_pole(n - k + 1)) & ~is_pole(n + 1),
        lambda y, n, k, psi: y * (psi - special.digamma(k + 1)),
        at_zero,
        y,
        n,
        k,
        psi,
    )


scalar_rule(special.beta, beta_slope, lambda y, a, b: beta_slope(y, b, a))
scalar_rule(special.betaln, lambda y, a, b: rise(a, a + b), lambda y, a, b: rise(b, a + b))
scalar_rule(special.poch, poch_slope, lambda y, z, m: y * special.digamma(z + m))
scalar_rule(special.binom, binom_by_n, binom_by_k, setup=binom_setup)

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
