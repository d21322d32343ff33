"""Distribution functions, their complements, and their inverses in each argument.

Most are incomplete gamma or beta functions (`incomplete`) of simple functions of their arguments;
numbers of events are cut off to integers, and nothing depends on their fraction:

    binomial  F(k; n, p) = I_{1-p}(n-k, k+1)      negative binomial  F(k; n, p) = I_p(n, k+1)
    Poisson   F(k; m) = Q(k+1, m)                 χ²  F(x; v) = P(v/2, x/2)
    gamma     F(x; a, b) = P(b, ax)               F   F(x; d, e) = I_u(d/2, e/2), u = dx/(dx+e)

The inverses in a number of events take it for real. All inverses: implicit function theorem.

Noncentral χ²: ∂F/∂x = f_v, ∂F/∂λ = -f_{v+2}, where f is ½ (x/λ)^(v/4-1/2) e^(-(x+λ)/2)
I_{v/2-1}(√λx) (Johnson, Kotz, Balakrishnan, Continuous Univariate Distributions 2, 29.4).
Noncentral F: F = Σ_j e^(-λ/2) (λ/2)^j/j! I_u(d/2+j, e/2), summed for ∂F/∂x and ∂F/∂λ by ₁F₁. The
other partials of noncentral distributions come from interpolation (`parameters`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.special.incomplete import (
    beta_by_a,
    beta_by_b,
    beta_density,
    gamma_by_shape,
    gamma_density,
)
from chainrules.scipy.special.parameters import of_scale, parameter_slope
from chainrules_core import NoTangent, ZeroTangent, scalar_rule


def distribution(f: Callable, *partials: Callable, complement: Callable | None = None) -> None:
    """Give rules to a distribution function and its complement, from ``partial(*args)``."""
    scalar_rule(f, *[_ignoring_output(p, 1) for p in partials])
    if complement is not None:
        scalar_rule(complement, *[_ignoring_output(p, -1) for p in partials])


def _ignoring_output(partial: Any, sign: int) -> Any:
    if not callable(partial):
        return partial
    return (lambda y, *args: partial(*args)) if sign == 1 else (lambda y, *args: -partial(*args))


def inverse(
    f: Callable,
    distribution: Callable,
    solved: int,
    value: int,
    *partials: Callable,
    falling: bool = False,
    positive: bool = True,
    searched: bool = False,
) -> None:
    """Give rules to the function that solves F(*args) = p for one of the arguments.

    Where there is no solution SciPy returns the end of the range that it has searched, a constant.
    Most ends are 0, or 1e10 and more: what is that small or large is put into F.

    Parameters
    ----------
    f : callable
        Takes p and the arguments of F, in their order, without the one it solves for.
    distribution : callable
        F, or its complement if p is that of the complement.
    solved : int
        The position in F of what is solved for.
    value : int
        The position of p among the arguments of `f`.
    *partials : callable
        Those of F, ``partial(*args)``, or a constant.
    falling : bool
        Whether p is that of the complement 1 - F.
    positive : bool
        Whether what is solved for is positive.
    searched : bool
        Whether the range has other ends.
    """

    def solution(y: Any, args: tuple) -> tuple[list, Any]:
        """Return the arguments of F, and where they solve nothing."""
        size = np.abs(y)
        none = (size >= 1e10) | ((size <= 1e-100) & positive) | searched
        given = [a for i, a in enumerate(args) if i != value]
        if not np.any(none):
            return [*given[:solved], y, *given[solved:]], none
        p = distribution(*given[:solved], y, *given[solved:])
        none = none & ~(np.abs(p - args[value]) <= 1e-3 * np.minimum(p, 1 - p))
        return [*given[:solved], np.where(none, 1.0, y), *given[solved:]], none

    def by_value(y: Any, *args: Any) -> Any:
        given, none = solution(y, args)
        slope = (-1 if falling else 1) / partials[solved](*given)
        return np.where(none, 0.0, slope) if np.any(none) else slope

    def by_other(j: int) -> Any:
        if not callable(partials[j]):
            return partials[j]

        def partial(y: Any, *args: Any) -> Any:
            given, none = solution(y, args)
            slope = -partials[j](*given) / partials[solved](*given)
            return np.where(none, 0.0, slope) if np.any(none) else slope

        return partial

    rules = [by_other(j) for j in range(len(partials)) if j != solved]
    rules.insert(value, by_value)
    scalar_rule(f, *rules)


# --------------------------------------------------------------------------------- by events


def binomial_density(k: Any, n: Any, p: Any) -> Any:
    return -beta_density(np.floor(k) + 1.0, n - np.floor(k), p)


BINOMIAL = (ZeroTangent(), NoTangent(), lambda k, n, p: inside(binomial_density, k, n, p))


def inside(density: Callable, k: Any, n: Any, p: Any) -> Any:
    """Return the density, and 0 where all n events are counted: F is 1 whatever p is."""
    n = np.trunc(n)  # as SciPy does
    all_counted = np.floor(k) >= n
    if not np.any(all_counted):
        return density(k, n, p)
    safe = np.where(all_counted, 0.0, k), np.where(all_counted, 1.0, n)
    return np.where(all_counted, 0.0, density(*safe, p))


def binomial(k: Any, n: Any, p: Any) -> Any:
    """Return F for a real number of events: I_{1-p}(n-k, k+1) = 1 - I_p(k+1, n-k)."""
    return special.betaincc(k + 1.0, n - k, p)


BINOMIAL_REAL = (
    lambda k, n, p: beta_by_b(k + 1.0, n - k, p) - beta_by_a(k + 1.0, n - k, p),
    lambda k, n, p: -beta_by_b(k + 1.0, n - k, p),
    lambda k, n, p: -beta_density(k + 1.0, n - k, p),
)

distribution(special.bdtr, *BINOMIAL, complement=special.bdtrc)
inverse(special.bdtri, lambda k, n, p: binomial(np.floor(k), np.trunc(n), p), 2, 2, *BINOMIAL)
inverse(special.bdtrik, binomial, 0, 0, *BINOMIAL_REAL)
inverse(special.bdtrin, binomial, 1, 1, *BINOMIAL_REAL)

NEGATIVE_BINOMIAL = (
    ZeroTangent(),
    NoTangent(),
    lambda k, n, p: beta_density(np.trunc(n) * 1.0, np.floor(k) + 1.0, p),
)


def negative_binomial(k: Any, n: Any, p: Any) -> Any:
    """Return F for real numbers of events."""
    return special.betainc(n * 1.0, k + 1.0, p)


NEGATIVE_BINOMIAL_REAL = (
    lambda k, n, p: beta_by_b(n, k + 1.0, p),
    lambda k, n, p: beta_by_a(n, k + 1.0, p),
    lambda k, n, p: beta_density(n, k + 1.0, p),
)
distribution(special.nbdtr, *NEGATIVE_BINOMIAL, complement=special.nbdtrc)
inverse(
    special.nbdtri,
    lambda k, n, p: negative_binomial(np.floor(k), np.trunc(n), p),
    2,
    2,
    *NEGATIVE_BINOMIAL,
)
inverse(special.nbdtrik, negative_binomial, 0, 0, *NEGATIVE_BINOMIAL_REAL)
inverse(special.nbdtrin, negative_binomial, 1, 1, *NEGATIVE_BINOMIAL_REAL)

POISSON = (ZeroTangent(), lambda k, m: -gamma_density(np.floor(k) + 1.0, m))
POISSON_REAL = (
    lambda k, m: -gamma_by_shape(k + 1.0, m),
    lambda k, m: -gamma_density(k + 1.0, m),
)
distribution(special.pdtr, *POISSON, complement=special.pdtrc)
inverse(special.pdtri, special.pdtr, 1, 1, *POISSON)
inverse(special.pdtrik, special.pdtr, 0, 0, *POISSON_REAL)

# ------------------------------------------------------------------------------- χ², gamma, F, t

CHI2 = (
    lambda v, x: gamma_by_shape(v / 2, x / 2) / 2,
    lambda v, x: gamma_density(v / 2, x / 2) / 2,
)
distribution(special.chdtr, *CHI2, complement=special.chdtrc)
inverse(special.chdtri, special.chdtrc, 1, 1, *CHI2, falling=True)
inverse(special.chdtriv, special.chdtr, 0, 0, *CHI2)

GAMMA = (
    lambda a, b, x: x * gamma_density(b * 1.0, a * x),
    lambda a, b, x: gamma_by_shape(b * 1.0, a * x),
    lambda a, b, x: a * gamma_density(b * 1.0, a * x),
)
distribution(special.gdtr, *GAMMA, complement=special.gdtrc)
inverse(special.gdtria, special.gdtr, 0, 0, *GAMMA)
inverse(special.gdtrib, special.gdtr, 1, 1, *GAMMA)
inverse(special.gdtrix, special.gdtr, 2, 2, *GAMMA)


def f_density(d: Any, e: Any, x: Any) -> tuple[Any, Any, Any]:
    """Return u and 1 - u, the density at u of the beta distribution, and (dx + e)²."""
    total = d * x + e
    u, rest = d * x / total, e / total
    return (u, rest), beta_density(d / 2, e / 2, u, rest), total * total


def beta_by_shape(a: Any, b: Any, x: tuple[Any, Any], position: int) -> Any:
    """Return a derivative of I_x(a, b) by a shape, given x and 1 - x.

    Of these it takes the smaller one, as it may be tiny: I_x(a, b) = 1 - I_(1-x)(b, a).
    """
    upper = x[0] > 0.5
    slopes = (beta_by_a, beta_by_b)
    lower_part, upper_part = slopes[position], slopes[1 - position]
    if not np.any(upper):
        return lower_part(a, b, x[0])
    from_above = -upper_part(b, a, np.where(upper, x[1], 0.5))
    if np.all(upper):
        return from_above
    return np.where(upper, from_above, lower_part(a, b, np.where(upper, 0.5, x[0])))


def f_by_d(d: Any, e: Any, x: Any) -> Any:
    u, density, square = f_density(d, e, x)
    return beta_by_shape(d / 2, e / 2, u, 0) / 2 + density * x * e / square


def f_by_e(d: Any, e: Any, x: Any) -> Any:
    u, density, square = f_density(d, e, x)
    return beta_by_shape(d / 2, e / 2, u, 1) / 2 - density * x * d / square


def f_by_x(d: Any, e: Any, x: Any) -> Any:
    _, density, square = f_density(d, e, x)
    return density * d * e / square


F = (f_by_d, f_by_e, f_by_x)
distribution(special.fdtr, *F, complement=special.fdtrc)
inverse(special.fdtri, special.fdtr, 2, 2, *F)
inverse(special.fdtridfd, special.fdtr, 1, 1, *F)


def t_density(v: Any, t: Any) -> Any:
    log_scale = -special.betaln(0.5, v / 2) - np.log(v) / 2
    return np.exp(log_scale - (v + 1) / 2 * np.log1p(t * t / v))


def t_by_v(v: Any, t: Any) -> Any:
    """Return the derivative by the degrees of freedom: odd in t, from the lower tail."""
    side = np.where(t > 0, -1.0, 1.0)
    return side * parameter_slope(special.stdtr, (v, side * t), 0, v / 3)


STUDENT = (t_by_v, t_density)
distribution(special.stdtr, *STUDENT)
inverse(special.stdtrit, special.stdtr, 1, 1, *STUDENT, positive=False)
inverse(special.stdtridf, special.stdtr, 0, 0, *STUDENT)

# --------------------------------------------------------------------------------- noncentral


def noncentral_chi2_log_density(x: Any, v: Any, nc: Any) -> Any:
    """Return log f; for small √λx from ₀F₁, which has no power of x/λ."""
    small = np.sqrt(x * nc) < 1
    away = np.where(small, 1.0, x), np.where(small, 1.0, nc)
    power = (v / 4 - 0.5) * (np.log(away[0]) - np.log(away[1]))
    gap = np.sqrt(away[0]) - np.sqrt(away[1])
    bessel = np.log(special.ive(v / 2 - 1, np.sqrt(away[0] * away[1])))
    far = power - gap * gap / 2 + bessel - math.log(2)
    if not np.any(small):
        return far
    x, nc = np.where(small, x, 1.0), np.where(small, nc, 0.0)
    central = special.xlogy(v / 2 - 1, x / 2) - x / 2 - special.gammaln(v / 2) - math.log(2)
    near = central - nc / 2 + np.log(special.hyp0f1(v / 2, x * nc / 4))
    return np.where(small, near, far)


def noncentral_chi2_density(x: Any, v: Any, nc: Any) -> Any:
    return np.exp(noncentral_chi2_log_density(x, v, nc))


CHI2_NONCENTRAL = (
    noncentral_chi2_density,
    lambda x, v, nc: parameter_slope(special.chndtr, (x, v, nc), 1, of_scale(v * 1.0)),
    lambda x, v, nc: -noncentral_chi2_density(x, v + 2.0, nc),
)
distribution(special.chndtr, *CHI2_NONCENTRAL)
inverse(special.chndtrix, special.chndtr, 0, 0, *CHI2_NONCENTRAL, searched=True)
inverse(special.chndtridf, special.chndtr, 1, 1, *CHI2_NONCENTRAL, searched=True)
inverse(special.chndtrinc, special.chndtr, 2, 2, *CHI2_NONCENTRAL, searched=True)


def interpolated(f: Callable, position: int, reach: Callable) -> Callable:
    return lambda *args: parameter_slope(f, args, position, reach(*args))


def noncentral_f_sum(a: Any, b: Any, nc: Any, u: Any, upper: Any, lower: Any) -> Any:
    """Return e^(-λ/2) u^a (1-u)^b / B(a, b) ₁F₁(upper; lower; λu/2)."""
    z = nc * u / 2
    log_beta = special.xlogy(a, u) + special.xlog1py(b, -u) - special.betaln(a, b)
    large = z > 300  # Kummer: ₁F₁(A; B; z) = e^z ₁F₁(B-A; B; -z)
    if not np.any(large):
        return np.exp(log_beta - nc / 2) * special.hyp1f1(upper, lower, z)
    sign = np.where(large, -1.0, 1.0)
    series = special.hyp1f1(np.where(large, lower - upper, upper), lower, sign * z)
    return np.exp(log_beta - nc / 2 + np.where(large, z, 0.0)) * series


def noncentral_f_density(d: Any, e: Any, nc: Any, x: Any) -> Any:
    """Return f, with u = dx/(dx+e): (du/dx) / (u (1-u)) = 1/x."""
    a, b, u = d / 2, e / 2, d * x / (d * x + e)
    return noncentral_f_sum(a, b, nc, u, a + b, a) / x


def noncentral_f_by_nc(d: Any, e: Any, nc: Any, x: Any) -> Any:
    """Return ∂F/∂λ, from I_u(a+j+1, b) - I_u(a+j, b) = -u^(a+j) (1-u)^b / ((a+j) B(a+j, b))."""
    a, b, u = d / 2, e / 2, d * x / (d * x + e)
    return -noncentral_f_sum(a, b, nc, u, a + b, a + 1) / (2 * a)


F_NONCENTRAL = (
    interpolated(special.ncfdtr, 0, lambda d, e, nc, x: of_scale(d * 1.0)),
    interpolated(special.ncfdtr, 1, lambda d, e, nc, x: of_scale(e * 1.0)),
    noncentral_f_by_nc,
    noncentral_f_density,
)
distribution(special.ncfdtr, *F_NONCENTRAL)
inverse(special.ncfdtri, special.ncfdtr, 3, 3, *F_NONCENTRAL, searched=True)
inverse(special.ncfdtridfd, special.ncfdtr, 1, 1, *F_NONCENTRAL, searched=True)
inverse(special.ncfdtridfn, special.ncfdtr, 0, 0, *F_NONCENTRAL, searched=True)
inverse(special.ncfdtrinc, special.ncfdtr, 2, 2, *F_NONCENTRAL, searched=True)

T_NONCENTRAL = (
    interpolated(special.nctdtr, 0, lambda v, nc, t: v / 3),
    interpolated(special.nctdtr, 1, lambda v, nc, t: 0.75),
    interpolated(special.nctdtr, 2, lambda v, nc, t: np.minimum(np.sqrt(v) / 3, 0.75)),
)
distribution(special.nctdtr, *T_NONCENTRAL)
inverse(special.nctdtrit, special.nctdtr, 2, 2, *T_NONCENTRAL, positive=False, searched=True)
inverse(special.nctdtridf, special.nctdtr, 0, 0, *T_NONCENTRAL, searched=True)
inverse(special.nctdtrinc, special.nctdtr, 1, 1, *T_NONCENTRAL, positive=False, searched=True)

# ------------------------------------------------------------------------------------- normal


def normal_quantile_slope(p: Any) -> Any:
    z = special.ndtri(p)
    return math.sqrt(2 * math.pi) * np.exp(z * z / 2)


# Φ((x - m)/s) = p solved for m and for s.
scalar_rule(
    special.nrdtrimn,
    lambda m, p, s, x: -s * normal_quantile_slope(p),
    lambda m, p, s, x: -special.ndtri(p),
    1,
)
scalar_rule(
    special.nrdtrisd,
    lambda s, m, p, x: -1 / special.ndtri(p),
    lambda s, m, p, x: -s * normal_quantile_slope(p) / special.ndtri(p),
    lambda s, m, p, x: 1 / special.ndtri(p),
)

# T(h, a) = 1/2π ∫₀^a e^(-h²(1+x²)/2) / (1+x²) dx
scalar_rule(
    special.owens_t,
    lambda y, h, a: (
        -np.exp(-h * h / 2) * special.erf(a * h / math.sqrt(2)) / math.sqrt(8 * math.pi)
    ),
    lambda y, h, a: np.exp(-h * h * (1 + a * a) / 2) / (2 * math.pi * (1 + a * a)),
)
