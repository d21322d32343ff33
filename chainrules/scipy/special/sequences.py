"""Functions that return an array of orders or coefficients for one number, by that number.

Those that SciPy computes as it computes the elementwise functions are written as these, and an
engine differentiates that: characteristic values of orders m … n; D and V of orders v - [v] … v;
λ_v(x) = Γ(v+1) (2/x)^v J_v(x) = ₀F₁(v+1; -x²/4), whose derivative is -x/2(v+1) ₀F₁(v+2; -x²/4).
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.special.parameters import by_parameter, parameter_slope
from chainrules_core import (
    AbstractZero,
    NoTangent,
    Tangent,
    decompose,
    pair_rule,
    primitive,
    scalar_rule,
    unthunk,
)


def orders_below(v: Any, name: str) -> Any:
    """Return the fraction of v ≥ 0 plus 0, 1, …, [v], at least two."""
    whole = np.floor(v)
    if whole < 0:
        raise ValueError(
            f"scipy.special.{name} is not differentiated for a negative order: its values are "
            f"those of other orders there. Use scipy.special.{name.removesuffix('_seq')}."
        )
    return (v - whole) + np.arange(max(int(whole), 1) + 1.0)


@decompose(special.pbdv_seq)
def pbdv_seq(v: Any, x: Any) -> tuple:
    return special.pbdv(orders_below(v, "pbdv_seq"), x)


@decompose(special.pbvv_seq)
def pbvv_seq(v: Any, x: Any) -> tuple:
    return special.pbvv(orders_below(v, "pbvv_seq"), x)


@decompose(special.lmbda)
def lmbda(v: Any, x: Any) -> tuple:
    orders = orders_below(v, "lmbda")[: int(v) + 1]
    square = -x * x / 4
    value = special.hyp0f1(orders + 1, square)
    return value, -x / (2 * (orders + 1)) * special.hyp0f1(orders + 2, square)


@decompose(special.pro_cv_seq)
def pro_cv_seq(m: Any, n: Any, c: Any) -> Any:
    return special.pro_cv(m, np.arange(m, n + 1.0), c)


@decompose(special.obl_cv_seq)
def obl_cv_seq(m: Any, n: Any, c: Any) -> Any:
    return special.obl_cv(m, np.arange(m, n + 1.0), c)


# ------------------------------------------------------------- parabolic cylinder, complex


def cylinder_slopes(y: tuple, n: Any, z: Any) -> tuple:
    """D_k'' = (z²/4 - k - 1/2) D_k of orders k = 0 … n."""
    if n < 0:
        raise ValueError(
            "scipy.special.pbdn_seq is not differentiated for negative n: it does not fill in all "
            "that it returns there. Use scipy.special.pbdv."
        )
    if np.imag(z) != 0:
        raise ValueError(
            "scipy.special.pbdn_seq is differentiated for real z alone: what it returns for others "
            "are not the parabolic cylinder functions."
        )
    orders = np.arange(np.size(y[0]))
    return y[1], (z * z / 4 - orders - 0.5) * y[0]


@pair_rule(special.pbdn_seq)
def pbdn_seq_rule(z: Any, *, n: Any) -> Any:
    y = special.pbdn_seq(n, z)

    def pbdn_seq_pushforward(z_dot: Any) -> Any:
        return Tangent[tuple](*[slope * z_dot for slope in cylinder_slopes(y, n, z)])

    def pbdn_seq_pullback(y_bar: Any) -> Any:
        z_bar: Any = 0.0
        for i, slope in enumerate(cylinder_slopes(y, n, z)):
            bar = unthunk(y_bar[i])
            if not isinstance(bar, AbstractZero):
                z_bar = z_bar + np.sum(np.conj(slope) * bar)
        return z_bar

    return y, pbdn_seq_pushforward, pbdn_seq_pullback


# ---------------------------------------------------------------- coefficients of Mathieu's


def coefficient_rules(f: Callable) -> None:
    """Give rules to Fourier coefficients by q; how many there are depends on q in steps."""

    def slope(y: Any, m: Any, q: Any) -> Any:
        n = np.size(y)

        def first(q: Any) -> Any:
            found = f(m, q)[:n]
            return np.concatenate([found, np.zeros(n - np.size(found))])

        scale = np.full(n, np.max(np.abs(y)))
        return parameter_slope(first, (q,), 0, np.minimum(q / 3, 0.45), scale)

    @pair_rule(f)
    def coefficient_rule(q: Any, *, m: Any) -> Any:
        y = f(m, q)

        def coefficient_pushforward(q_dot: Any) -> Any:
            return slope(y, m, q) * q_dot

        def coefficient_pullback(y_bar: Any) -> Any:
            return np.sum(slope(y, m, q) * y_bar)

        return y, coefficient_pushforward, coefficient_pullback


coefficient_rules(special.mathieu_even_coef)
coefficient_rules(special.mathieu_odd_coef)

# ---------------------------------------------------------------- ellipsoidal harmonics


def to_edges(h2: Any, k2: Any, n: Any, p: Any, s: Any = np.inf) -> Any:
    """Return a quarter of the least distance between 0, h², k² and s²."""
    return np.minimum(np.minimum(h2, k2 - h2), np.abs(s * s - k2)) / 4


def quiet(f: Callable) -> Callable:
    """Have a function integrate without warnings, for its values away from where a user is."""

    @functools.wraps(f)
    def quiet_f(*args: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(*args)

    return quiet_f


# By numerical integration; to some ten digits.
second_kind = primitive(quiet(special.ellip_harm_2))
scalar_rule(
    (special.ellip_harm_2, second_kind),
    by_parameter(second_kind, 0, to_edges),
    by_parameter(second_kind, 1, to_edges),
    NoTangent(),
    NoTangent(),
    by_parameter(second_kind, 4, lambda h2, k2, n, p, s: (np.abs(s) - np.sqrt(k2)) / 4),
)
normal = primitive(quiet(special.ellip_normal))
scalar_rule(
    (special.ellip_normal, normal),
    by_parameter(normal, 0, to_edges),
    by_parameter(normal, 1, to_edges),
    NoTangent(),
    NoTangent(),
)
