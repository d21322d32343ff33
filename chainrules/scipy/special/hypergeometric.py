"""Hypergeometric functions: by the argument from their neighbours, by parameters interpolated.

₀F₁' = ₀F₁(b+1)/b, ₁F₁' = a/b ₁F₁(a+1; b+1), ₂F₁' = ab/c ₂F₁(a+1, b+1; c+1), U' = -a U(a+1, b+1)
(DLMF 16.3.1, 13.3.15, 15.5.1, 13.3.22). They are entire in the upper parameters and have poles
where a lower one is 0, -1, -2, …; the derivatives by them come from interpolation (`parameters`).
U for positive a is the integral of e^(-xt) t^(a-1) (1+t)^(b-a-1) / Γ(a) (DLMF 13.4.4), and its
derivatives those of the integrand, summed at t = e^(s - e^-s)/x, where the trapezoidal rule
converges exponentially (Takahasi and Mori, 1974): SciPy's U has fewer digits than interpolation
needs.

Wright's function: Φ(a, b; x)' = Φ(a, a+b; x), from its series.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.special.parameters import by_parameter, of_power, to_poles
from chainrules_core import scalar_rule


def upper(f: Callable, position: int) -> Callable:
    """Return the derivative by an upper parameter."""

    def reach(*args: Any) -> Any:
        size = of_power(1 + np.abs(args[-1]), most=0.75)
        return size + 0.0 * args[position] if np.ndim(args[position]) else size

    return by_parameter(f, position, reach)


def lower(f: Callable, position: int) -> Callable:
    """Return the derivative by a lower parameter."""

    def reach(*args: Any) -> Any:
        return np.minimum(to_poles(args[position]), of_power(1 + np.abs(args[-1])))

    return by_parameter(f, position, reach)


scalar_rule(
    special.hyp0f1, lower(special.hyp0f1, 0), lambda y, v, z: special.hyp0f1(v + 1.0, z) / v
)
scalar_rule(
    special.hyp1f1,
    upper(special.hyp1f1, 0),
    lower(special.hyp1f1, 1),
    lambda y, a, b, x: a / b * special.hyp1f1(a + 1.0, b + 1.0, x),
)
scalar_rule(
    special.hyp2f1,
    upper(special.hyp2f1, 0),
    upper(special.hyp2f1, 1),
    lower(special.hyp2f1, 2),
    lambda y, a, b, c, z: a * b / c * special.hyp2f1(a + 1.0, b + 1.0, c + 1.0, z),
)
NODES = np.arange(-160, 81) / 20
LOG_TIMES = NODES - np.exp(-NODES)  # of xt
with np.errstate(under="ignore"):
    TIMES = np.exp(LOG_TIMES)
STEPS = (1 + np.exp(-NODES)) / 20


def hyperu_integral(a: Any, b: Any, x: Any, by_a: bool) -> Any:
    """Return ∂U/∂a or ∂U/∂b for positive a and x."""
    a, b, x = (np.expand_dims(np.multiply(v, 1.0), -1) for v in (a, b, x))
    log_t, log_1_t = LOG_TIMES - np.log(x), np.log1p(TIMES / x)
    weights = np.exp(a * log_t + (b - a - 1) * log_1_t - TIMES - special.gammaln(a))
    factor = log_t - log_1_t - special.digamma(a) if by_a else log_1_t
    return np.sum(weights * STEPS * factor, axis=-1)


def hyperu_slope(position: int) -> Callable:
    interpolated = upper(special.hyperu, position)

    def slope(y: Any, a: Any, b: Any, x: Any) -> Any:
        if np.all((a > 0.02) & (x > 0.02)):
            return hyperu_integral(a, b, x, position == 0)
        return interpolated(y, a, b, x)

    return slope


scalar_rule(
    special.hyperu,
    hyperu_slope(0),
    hyperu_slope(1),
    lambda y, a, b, x: -a * special.hyperu(a + 1.0, b + 1.0, x),
)


def wright_reach(position: int) -> Callable:
    def reach(*args: Any) -> Any:
        return np.minimum(args[position] / 3, 0.3)

    return reach


for wright in (special.wright_bessel, special.log_wright_bessel):
    scalar_rule(
        wright,
        by_parameter(wright, 0, wright_reach(0)),
        by_parameter(wright, 1, wright_reach(1)),
        (lambda y, a, b, x: special.wright_bessel(a, a + b, x))
        if wright is special.wright_bessel
        else (lambda y, a, b, x: np.exp(special.log_wright_bessel(a, a + b, x) - y)),
    )
