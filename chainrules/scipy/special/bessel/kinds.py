"""Bessel functions of all kinds, by argument and order.

For each kind the derivative by the argument is half the sum or difference of its neighbours in the
order, or one neighbour and a multiple of the function itself (DLMF 10.6.1-2, 10.29.1-2); for the
orders 0 and 1 it is written with their own functions. They are entire in the order; the derivative
by it has no closed form and comes from interpolation (`parameters`). jvp and its kin are sums of
these functions and are traced.

``jve``, ``yve`` and ``ive`` are scaled by e^-|Re φ(z)|, φ = iz or z, which is not holomorphic: with
the sign σ of Re φ the scale adds ẏ = y Re(g ż), g = -σ φ', whose adjoint is
z̄ = conj(g) Re(conj(y) ȳ). The scales of kve, hankel1e and hankel2e, e^z and e^∓iz, are holomorphic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.special.parameters import by_parameter, of_power
from chainrules.scipy.special.removable import in_powers, near_zero, over
from chainrules_core import NoTangent, ZeroTangent, pair_rule, scalar_rule, thunk
from chainrules_core.authoring import conjugate, fit, precise, strong_product

# J₁(x)/x = Σ_k (-x²/4)^k / 2 k! (k+1)!, and I₁(x)/x without the signs.
I1_PER_X = in_powers(
    2, *[0.5 / (4**k * math.factorial(k) * math.factorial(k + 1)) for k in range(11)]
)
J1_PER_X = [(-1) ** (k // 2) * c for k, c in enumerate(I1_PER_X)]


def i1e_over(y: Any, x: Any) -> Any:
    """Return e^-|x| I₁(x)/x."""
    scale = np.exp(-np.minimum(np.abs(x), 2.0))  # constant where the series is not used
    return scale * over(y / scale, x, I1_PER_X)


scalar_rule(special.j0, lambda y, x: -special.j1(x))
scalar_rule(special.j1, lambda y, x: special.j0(x) - over(y, x, J1_PER_X))
scalar_rule(special.y0, lambda y, x: -special.y1(x))
scalar_rule(special.y1, lambda y, x: special.y0(x) - y / x)
scalar_rule(special.i0, lambda y, x: special.i1(x))
scalar_rule(special.i1, lambda y, x: special.i0(x) - over(y, x, I1_PER_X))
scalar_rule(special.k0, lambda y, x: -special.k1(x))
scalar_rule(special.k1, lambda y, x: -special.k0(x) - y / x)

# Scaled: e^(-|x|) I and e^x K.
scalar_rule(special.i0e, lambda y, x: special.i1e(x) - np.sign(x) * y)
scalar_rule(special.i1e, lambda y, x: special.i0e(x) - i1e_over(y, x) - np.sign(x) * y)
scalar_rule(special.k0e, lambda y, x: y - special.k1e(x))
scalar_rule(special.k1e, lambda y, x: y - special.k0e(x) - y / x)

# ------------------------------------------------------------------------------- of any order


def reach(v: Any, z: Any) -> Any:
    """Like (z/2)^v / Γ(v+1) for small z; for large z they change with π v."""
    return of_power(np.abs(z) / (2 * (1 + np.abs(v))), most=0.75)


def by_order(f: Callable) -> Callable:
    return by_parameter(f, 0, reach)


def difference(f: Callable, v: Any, z: Any) -> Any:
    """Return the derivative of J, Y or H."""
    return (f(v - 1, z) - f(v + 1, z)) / 2


def mean(f: Callable, v: Any, z: Any) -> Any:
    """Return the derivative of I, and minus that of K."""
    return (f(v - 1, z) + f(v + 1, z)) / 2


def below(f: Callable, y: Any, v: Any, z: Any, sign: int = 1) -> Any:
    """Return f_{v-1} - sign v/z f_v, with one value of the function for the two of the others.

    That is the derivative of J, Y, H and I; with the sign -1 it is minus that of K. Near 0 the
    quotient overflows, or the value underflows.
    """
    if np.any(y == 0) or np.any(np.abs(z) < 1e-300) or not np.all(np.isfinite(y)):
        return (mean if f in (special.iv, special.kv, special.kve) else difference)(f, v, z)
    return f(v - 1, z) - sign * (v / z) * y


scalar_rule(special.jv, by_order(special.jv), lambda y, v, z: below(special.jv, y, v, z))
scalar_rule(special.yv, by_order(special.yv), lambda y, v, z: below(special.yv, y, v, z))
scalar_rule(special.iv, by_order(special.iv), lambda y, v, z: below(special.iv, y, v, z))
scalar_rule(special.kv, by_order(special.kv), lambda y, v, z: -below(special.kv, y, v, z, -1))
scalar_rule(special.kve, by_order(special.kve), lambda y, v, z: y - below(special.kve, y, v, z, -1))

for hankel in (special.hankel1, special.hankel2):
    scalar_rule(hankel, by_order(hankel), lambda y, v, z, f=hankel: below(f, y, v, z))
scalar_rule(
    special.hankel1e,
    by_order(special.hankel1e),
    lambda y, v, z: below(special.hankel1e, y, v, z) - 1j * y,
)
scalar_rule(
    special.hankel2e,
    by_order(special.hankel2e),
    lambda y, v, z: below(special.hankel2e, y, v, z) + 1j * y,
)

# Of integer order: others are cut off.
scalar_rule(special.kn, NoTangent(), lambda y, n, x: -below(special.kv, y, np.trunc(n), x, -1))
scalar_rule(special.yn, NoTangent(), lambda y, n, x: below(special.yv, y, np.trunc(n), x))

# --------------------------------------------------------------- scaled, and not holomorphic


def turning(z: Any) -> Any:
    """Return g for e^-|Im z|, of jve and yve."""
    return 1j * np.sign(np.imag(z)) if np.iscomplexobj(z) else 0.0


def growing(z: Any) -> Any:
    """Return g for e^-|Re z|, of ive."""
    return -np.sign(np.real(z))


def scaled_rule(f: Callable, slope: Callable, rate: Callable) -> None:
    """Register the rules of a function of an order and an argument, scaled by e^-|Re φ|."""
    order_slope = by_order(f)

    @pair_rule(f, broadcasts=True)
    def scaled_rule(v: Any, z: Any) -> Any:
        y = f(v, z)
        v, z = precise(y, (v, z))

        def scaled_pushforward(v_dot: Any, z_dot: Any) -> Any:
            y_dot = slope(f, v, z) * z_dot + y * np.real(rate(z) * z_dot)
            if not isinstance(v_dot, (NoTangent, ZeroTangent)) and np.any(v_dot != 0):
                y_dot = y_dot + strong_product(order_slope(y, v, z), v_dot)
            return fit(y_dot, y)

        def scaled_pullback(y_bar: Any) -> Any:
            v_bar = thunk(lambda: conjugate(order_slope(y, v, z)) * y_bar)
            turn = conjugate(rate(z)) * np.real(conjugate(y) * y_bar)
            return v_bar, conjugate(slope(f, v, z)) * y_bar + turn

        return y, scaled_pushforward, scaled_pullback


scaled_rule(special.jve, difference, turning)
scaled_rule(special.yve, difference, turning)
scaled_rule(special.ive, mean, growing)

# ------------------------------------------------------------------------------------ integrals


# (I₀(x) - 1)/x = Σ_{k>0} (x/2)^2k / k!² x, and (1 - J₀(x))/x with alternating signs.
I0_RISE = in_powers(2, *[4.0**-k / math.factorial(k) ** 2 for k in range(1, 11)], first=1)
J0_FALL = [(-1) ** (k // 2) * c for k, c in enumerate(I0_RISE)]

scalar_rule(special.itj0y0, (lambda y, x: special.j0(x),), (lambda y, x: special.y0(x),))
scalar_rule(special.iti0k0, (lambda y, x: special.i0(x),), (lambda y, x: special.k0(x),))
scalar_rule(
    special.it2j0y0,
    (lambda y, x: near_zero(x, J0_FALL, lambda x: (1 - special.j0(x)) / x, 1.0, cancels=True),),
    (lambda y, x: -special.y0(x) / x,),
)
scalar_rule(
    special.it2i0k0,
    (lambda y, x: near_zero(x, I0_RISE, lambda x: (special.i0(x) - 1) / x, 1.0, cancels=True),),
    (lambda y, x: -special.k0(x) / x,),
)


# ∫₀¹ x^λ J_v(2ax) dx, with J_v' = (J_{v-1} - J_{v+1})/2 under the integral.
scalar_rule(
    special.besselpoly,
    lambda y, a, lmb, nu: (
        special.besselpoly(a, lmb + 1.0, nu - 1.0) - special.besselpoly(a, lmb + 1.0, nu + 1.0)
    ),
    by_parameter(
        special.besselpoly, 1, lambda a, lmb, nu: np.minimum(np.abs(lmb + nu + 1) / 3, 0.75)
    ),
    by_parameter(
        special.besselpoly,
        2,
        lambda a, lmb, nu: np.minimum(np.abs(lmb + nu + 1) / 3, of_power(a / (1 + np.abs(nu)))),
    ),
)
