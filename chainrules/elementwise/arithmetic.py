"""``+ - * / % **``, their NumPy spellings, and the other arithmetic of numbers.

Rules of the operators are for numbers and arrays only: ``+`` and ``%`` have other meanings for
lists and strings.

The derivatives of x^p are p x^(p-1) and x^p log x. At x = 0 the first is 0 for p = 0, whatever the
limit of the product; the second is 0 for p > 0, and for other p there is none: 0^p jumps.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from chainrules_core import Array, NoTangent, Scalar, ZeroTangent, scalar_rule
from chainrules_core.authoring import has_nan, is_foreign

NUMERIC = (*Scalar, Array)

scalar_rule((operator.add, np.add), 1, 1, types=(NUMERIC, NUMERIC))
scalar_rule((operator.sub, np.subtract), 1, -1, types=(NUMERIC, NUMERIC))
scalar_rule(
    (operator.mul, np.multiply),
    lambda y, a, b: b,
    lambda y, a, b: a,
    types=(NUMERIC, NUMERIC),
)


def divide_together(y_bar: Any, y: Any, a: Any, b: Any) -> tuple:
    """Both cotangents of a quotient with one division: ȳ/b, and that times -y."""
    a_bar = y_bar / b
    b_bar = a_bar * y
    return a_bar, np.negative(b_bar, out=b_bar)


scalar_rule(
    (operator.truediv, np.divide),
    lambda y, a, b: 1 / b,
    lambda y, a, b: -y / b,
    together=divide_together,
    types=(NUMERIC, NUMERIC),
)
scalar_rule((operator.neg, np.negative), -1, types=(NUMERIC,))
scalar_rule((operator.pos, np.positive), 1, types=(NUMERIC,))
scalar_rule(np.square, lambda y, x: 2 * x)
scalar_rule(np.reciprocal, lambda y, x: -y * y)


def copysign_by_size(y: Any, a: Any, b: Any) -> Any:
    """Whether the sign of a changes, as 1 and -1, and 0 at 0: y/a, but for 0 and Inf."""
    if (
        type(y) is np.ndarray
        and not is_foreign(y)
        and y.shape == np.shape(a)
        and y.dtype == a.dtype
    ):
        with np.errstate(all="ignore"):
            slope = y / a
        if not has_nan(slope):
            return slope
    return np.sign(a) * np.copysign(1.0, b)


scalar_rule(np.copysign, lambda y, a, b: copysign_by_size(y, a, b), ZeroTangent())
scalar_rule(np.nextafter, 1, ZeroTangent())

# A remainder is a - n b with a number n of times that changes in steps. Where it does, the slopes
# are those of the side on which the remainder is 0.
scalar_rule((operator.mod, np.remainder), 1, lambda y, a, b: -(a // b), types=(NUMERIC, NUMERIC))
scalar_rule(np.fmod, 1, lambda y, a, b: np.rint((y - a) / b))
scalar_rule(np.divmod, (ZeroTangent(), ZeroTangent()), (1, lambda y, a, b: -y[0]))
scalar_rule(np.modf, (1,), (ZeroTangent(),))

# Mantissa and exponent: x = m 2^e with e constant almost everywhere.
scalar_rule(np.frexp, (lambda y, x: np.ldexp(1.0, -y[1]),), (ZeroTangent(),))
scalar_rule(np.ldexp, lambda y, x, i: np.ldexp(1.0, i), NoTangent())


def power_by_base(x: Any, p: Any) -> Any:
    """∂(x^p)/∂x = p x^(p-1), and 0 for p = 0 also where x is 0."""
    if type(p) is int or type(p) is float:
        if p == 2:
            return x + x  # small arrays: in half the time of a product with a number
        if p == 0.5 and np.ndim(x) > 0:
            return 0.5 / np.sqrt(x)
        return p * x ** (p - 1.0) if p != 0 else 0.0
    if (type(x) is float or type(x) is np.float64) and x != 0:  # nothing is at the origin
        return p * x ** (p - 1.0)
    at_origin = (p == 0) & (x == 0)
    if not np.any(at_origin):
        return p * x ** (p - 1.0)
    return np.where(at_origin, 0.0, p * np.where(at_origin, 1.0, x) ** (p - 1.0))


def power_by_exponent(y: Any, x: Any, p: Any) -> Any:
    """∂(x^p)/∂p = y log x: 0 at x = 0 < p, undefined for other p there.

    Of a negative base with a real power it is the real part of the logarithm that counts.
    """
    base = x if np.iscomplexobj(y) else np.abs(x)
    if np.iscomplexobj(y) and not np.iscomplexobj(x):
        base = x + 0j
    zero = x == 0
    if not np.any(zero):
        return y * np.log(base)
    at_zero = np.where(np.real(p) > 0, 0.0, np.nan)
    return np.where(zero, at_zero, y * np.log(np.where(zero, 1.0, base)))


_FAR_FROM_ZERO = np.finfo(float).tiny ** 0.5


def power_together(y_bar: Any, y: Any, x: Any, p: Any) -> tuple | None:
    """Both cotangents without another power: p x^(p-1) is p y/x unless y over- or underflows.

    So that y times a small cotangent does not lose digits either, y has to be far from that.
    """
    with np.errstate(all="ignore"):
        lowest, least = np.min(x, initial=np.inf), np.min(y, initial=np.inf)
        if not (lowest > 0 and least >= _FAR_FROM_ZERO and np.max(y, initial=0) < np.inf):
            return None
        weighted = y_bar * y
        if not np.isfinite(np.sum(weighted) + np.sum(p)):
            return None
        by_exponent = weighted * np.log(x)
        return np.multiply(np.divide(weighted, x, out=weighted), p, out=weighted), by_exponent


for power in (operator.pow, np.power, np.float_power):
    types = (NUMERIC, NUMERIC) if power is operator.pow else ()
    by_base = lambda y, x, p: power_by_base(x, p)  # noqa: E731 - it shows that y is not read
    scalar_rule(power, by_base, power_by_exponent, types=types, together=power_together)
