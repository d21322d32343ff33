"""Parabolic cylinder functions, Mathieu's, spheroidal and ellipsoidal functions.

Each comes with its derivative, whose own derivative is the differential equation's:

    D_v, V_v    w'' = (x²/4 - v - 1/2) w                                        (DLMF 12.2.1)
    W(a, x)     w'' = (a - x²/4) w                                              (DLMF 12.14.1)
    ce, se      w'' = (2q cos 2x - a) w;  modified  w'' = (a - 2q cosh 2x) w    (DLMF 28.2, 28.20)
    spheroidal  (1-x²) w'' = 2x w' - (λ - c²x² - μ²/(1-x²)) w                   (DLMF 30.2.1)
    oblate      the same with -c²; the radial ones at ix                        (DLMF 30.6)

SciPy's Mathieu functions ce, se take degrees, and give the derivative by radians. By order, q, c
and the characteristic value that some take as an argument: from interpolation (`parameters`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from chainrules.scipy.private import Private
from chainrules.scipy.special.parameters import by_parameter, output, parameter_slope
from chainrules_core import NoTangent, scalar_rule

# ------------------------------------------------------------------------------- parabolic


def near(p: Any, *args: Any) -> Any:
    return 0.5 + 0.0 * p


def pair_rule(f: Callable, reach: Callable, second: Callable, position: int = 0) -> None:
    """Give rules to f(p, x) → (w, w'), from w'' = second(y, p, x)."""
    scalar_rule(
        f,
        (pick(f, 0, position, reach), lambda y, p, x: y[1]),
        (pick(f, 1, position, reach), second),
    )


def pick(f: Callable, i: int, position: int, reach: Callable) -> Callable:
    """Return the derivative of output `i` by a parameter."""
    one = output(f, i)

    def partial(y: Any, *args: Any) -> Any:
        # Either may be 0 where the other is not: what is rounding is told from both.
        size = np.abs(y[0]) + np.abs(y[1])
        return parameter_slope(one, args, position, reach(*args), size)

    return partial


pair_rule(special.pbdv, near, lambda y, v, x: (x * x / 4 - v - 0.5) * y[0])
pair_rule(special.pbvv, near, lambda y, v, x: (x * x / 4 - v - 0.5) * y[0])
pair_rule(special.pbwa, near, lambda y, a, x: (a - x * x / 4) * y[0])

# --------------------------------------------------------------------------------- Mathieu

DEGREE = math.pi / 180


def of_q(m: Any, q: Any, *args: Any) -> Any:
    """The characteristic values have branch points at imaginary q, the first at 1.47i."""
    return 0.45 + 0.0 * q


def of_positive_q(m: Any, q: Any, *args: Any) -> Any:
    """The modified functions are functions of √q."""
    return np.minimum(np.abs(q) / 3, 0.45)


scalar_rule(special.mathieu_a, NoTangent(), by_parameter(special.mathieu_a, 1, of_q))
scalar_rule(special.mathieu_b, NoTangent(), by_parameter(special.mathieu_b, 1, of_q))

EVEN, ODD = special.mathieu_a, special.mathieu_b
for f, a in ((special.mathieu_cem, EVEN), (special.mathieu_sem, ODD)):
    scalar_rule(
        f,
        (NoTangent(), pick(f, 0, 1, of_q), lambda y, m, q, x: DEGREE * y[1]),
        (
            NoTangent(),
            pick(f, 1, 1, of_q),
            lambda y, m, q, x, a=a: DEGREE * (2 * q * np.cos(2 * DEGREE * x) - a(m, q)) * y[0],
        ),
    )
for f, a in (
    (special.mathieu_modcem1, EVEN),
    (special.mathieu_modcem2, EVEN),
    (special.mathieu_modsem1, ODD),
    (special.mathieu_modsem2, ODD),
):
    scalar_rule(
        f,
        (NoTangent(), pick(f, 0, 1, of_positive_q), lambda y, m, q, x: y[1]),
        (
            NoTangent(),
            pick(f, 1, 1, of_positive_q),
            lambda y, m, q, x, a=a: (a(m, q) - 2 * q * np.cosh(2 * x)) * y[0],
        ),
    )

# ------------------------------------------------------------------------------- spheroidal


def of_c(m: Any, n: Any, c: Any, *args: Any) -> Any:
    return 0.5 + 0.0 * c


def of_size(f: Callable) -> Callable:
    """Continue a function of c to negative c, which it does not take: it is one of c²."""

    def even(m: Any, n: Any, c: Any, *args: Any) -> Any:
        return f(m, n, np.abs(c), *args)

    even.__name__ = even.__qualname__ = f.__name__
    even.__module__ = "scipy.special"
    return even


def of_positive_c(m: Any, n: Any, c: Any, *args: Any) -> Any:
    """The radial functions of the second kind are singular at c = 0."""
    return np.minimum(0.5, np.abs(c) / 3)


def prolate(y: Any, m: Any, n: Any, c: Any, x: Any) -> Any:
    return bent(y, m, special.pro_cv(m, n, c) - c * c * x * x, x)


def oblate(y: Any, m: Any, n: Any, c: Any, x: Any) -> Any:
    return bent(y, m, special.obl_cv(m, n, c) + c * c * x * x, x)


def bent(y: Any, m: Any, level: Any, x: Any) -> Any:
    """Return w'' on and beyond the cut."""
    square = 1 - x * x
    return (2 * x * y[1] - (level - m * m / square) * y[0]) / square


def oblate_radial(y: Any, m: Any, n: Any, c: Any, x: Any) -> Any:
    square = 1 + x * x
    level = special.obl_cv(m, n, c) - c * c * x * x
    return ((level - m * m / square) * y[0] - 2 * x * y[1]) / square


for f in (special.pro_cv, special.obl_cv):
    scalar_rule(f, NoTangent(), NoTangent(), by_parameter(of_size(f), 2, of_c))


def to_ends(*args: Any) -> Any:
    return np.abs(1 - np.abs(args[-1])) / 3


def of_value(*args: Any) -> Any:
    return 0.25 + 0.0 * args[3]


def of_radius(*args: Any) -> Any:
    return 0.25 + 0.0 * args[-1]


SECOND = {
    "pro_ang1": prolate,
    "pro_rad1": prolate,
    "pro_rad2": None,
    "obl_ang1": oblate,
    "obl_rad1": oblate_radial,
    "obl_rad2": None,
}
# SciPy's radial functions of the second kind have few digits for small c, and the derivative that
# they return is not the slope of the value: what is computed is differentiated.
for name, second in SECOND.items():
    f = getattr(special, name)
    radial = "rad" in name
    room = of_radius if name.startswith("obl_rad") else to_ends
    of = f if radial else of_size(f)
    by_c = [pick(of, i, 2, of_positive_c if radial else of_c) for i in range(2)]
    if second is None:
        by_x: list = [pick(f, i, 3, room) for i in range(2)]
    else:
        by_x = [lambda y, m, n, c, x: y[1], second]
    constants = NoTangent(), NoTangent()
    scalar_rule(f, *[(*constants, by_c[i], by_x[i]) for i in range(2)])
    # With a characteristic value of one's own the differential equation does not hold.
    f = getattr(special, f"{name}_cv")
    by_value = [pick(f, i, 3, of_value) for i in range(2)]
    by_c = [pick(f, i, 2, of_positive_c) for i in range(2)]
    by_x = [pick(f, i, 4, room) for i in range(2)]
    if second is not None:
        by_x[0] = lambda y, m, n, c, cv, x: y[1]
    scalar_rule(f, *[(*constants, by_c[i], by_value[i], by_x[i]) for i in range(2)])

# ------------------------------------------------------------------------------- ellipsoidal


def between(*args: Any) -> Any:
    """Return a quarter of the least distance between 0, h², k² and s²."""
    h2, k2, s = args[0], args[1], args[4]
    square = s * s
    gaps = [h2, k2 - h2, np.abs(square - h2), np.abs(square - k2)]
    least = gaps[0]
    for gap in gaps[1:]:
        least = np.minimum(least, gap)
    return least / 4


def between_s(*args: Any) -> Any:
    """The same for s: to ±h and ±k."""
    h, k, s = np.sqrt(args[0]), np.sqrt(args[1]), np.abs(args[4])
    return np.minimum(np.abs(s - h), np.abs(s - k)) / 4


lame = Private("special._ufuncs")._ellip_harm  # the ufunc itself; scipy.special.ellip_harm calls it
scalar_rule(
    lame,
    by_parameter(lame, 0, between),
    by_parameter(lame, 1, between),
    NoTangent(),
    NoTangent(),
    by_parameter(lame, 4, between_s),
    NoTangent(),
    NoTangent(),
)
