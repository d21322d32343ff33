"""Sines, cosines and their kin, angles and their units.

The derivatives of arcsin and arccos are written with (1 - x)(1 + x), which is exact where 1 - x²
loses digits. An angle has no derivative at the origin; its gradient there is 0, like that of every
function with a minimum, a maximum or a cone there.

``sinc``(x) = sin(πx)/(πx) has the derivative (cos(πx) - sinc(x))/x, in which everything cancels
near 0: there the Taylor series takes its place, π Σ (-1)ᵏ 2k t²ᵏ⁻¹/(2k+1)! with t = πx.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules_core import (
    AbstractZero,
    Array,
    NoTangent,
    ZeroTangent,
    frule,
    non_differentiable,
    primitive,
    rrule,
    scalar_rule,
    thunk,
)
from chainrules_core.authoring import expression


def leg(x: Any) -> Any:
    """Return √(1 - x²), the other leg of a triangle with the hypotenuse 1.

    Of a complex number on a branch cut, the sign of its imaginary part tells the side: the
    differences are written so that it is kept.
    """
    if np.iscomplexobj(x):
        return np.sqrt(-(x - 1)) * np.sqrt(x - (-1))
    return np.sqrt((1 - x) * (1 + x))


scalar_rule(np.sin, lambda y, x: np.cos(x))
scalar_rule(np.cos, lambda y, x: -np.sin(x))
scalar_rule(np.tan, lambda y, x: 1 + y * y)
scalar_rule(np.arcsin, lambda y, x: 1 / leg(x))
scalar_rule(np.arccos, lambda y, x: -1 / leg(x))
scalar_rule(np.arctan, lambda y, x: 1 / (1 + x * x))
scalar_rule((np.degrees, np.rad2deg), 180 / math.pi)
scalar_rule((np.radians, np.deg2rad), math.pi / 180)


def nonzero(x: Any) -> Any:
    """Return `x` with 1 in place of 0, to divide by where the quotient is to be 0."""
    return x + (x == 0)


SMALL = 256  # elements: of fewer, the steps count for more than the slow function
MODERATE = {char: (np.finfo(char).tiny / np.finfo(char).eps, np.finfo(char).max) for char in "efdg"}


@primitive
def is_moderate(square: Any) -> bool:
    """Whether no square has overflown or lost digits, of so many that it is worth to look."""
    if np.size(square) < SMALL:
        return False
    least, most = MODERATE[square.dtype.char]
    return bool(least < np.min(square) and np.max(square) < most)


non_differentiable(is_moderate)


def arctan2_setup(y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return a² + b² and None; where that is beyond the numbers, √(a² + b²) twice."""
    with np.errstate(over="ignore", under="ignore"):
        square = a * a + b * b
    if is_moderate(square):
        return square, None
    size = nonzero(np.hypot(a, b))
    return size, size


def over(x: Any, divisors: tuple[Any, Any]) -> Any:
    """Divide by the square of a distance."""
    quotient = x / divisors[0]
    return quotient if divisors[1] is None else quotient / divisors[1]


arctan2_partials = (lambda y, a, b, r: over(b, r), lambda y, a, b, r: -over(a, r))


BLOCK = 2**14
"""So many elements at a time stay in the processor's cache from one step to the next."""


@np.errstate(over="ignore", under="ignore")
def arctan2_together(y_bar: Any, y: Any, a: Any, b: Any) -> tuple | None:
    """Both cotangents by one division, where no square is beyond the numbers."""
    bars = tuple([np.empty(y_bar.shape) for _ in range(2)])
    if not (a.shape == b.shape == y_bar.shape):
        return bars if are_divided_by_square(y_bar, a, b, *bars) else None
    rows = [np.reshape(x, -1) for x in (y_bar, a, b, *bars)]
    for start in range(0, a.size, BLOCK):
        if not are_divided_by_square(*[x[start : start + BLOCK] for x in rows]):
            return None
    return bars


def are_divided_by_square(y_bar: Any, a: Any, b: Any, a_bar: Any, b_bar: Any) -> bool:
    """Fill in b and -a, times a cotangent over a² + b²; False if that is beyond the numbers."""
    square = a * a
    square = square + b * b if square.shape != y_bar.shape else np.add(square, b * b, out=square)
    if not is_moderate(square):
        return False
    share = np.divide(y_bar, square, out=square)
    np.multiply(share, b, out=a_bar)
    np.multiply(np.negative(share, out=share), a, out=b_bar)
    return True


scalar_rule(np.arctan2, *arctan2_partials, setup=arctan2_setup, together=arctan2_together)


def arctan2_expression_a(y: Any, a: Any, b: Any) -> Any:
    """Return b/r², without squares, which may be beyond the numbers; 0 where r is 0."""
    r = np.hypot(a, b) + (np.hypot(a, b) == 0.0)
    return b / r / r


def arctan2_expression_b(y: Any, a: Any, b: Any) -> Any:
    """Return -a/r²."""
    r = np.hypot(a, b) + (np.hypot(a, b) == 0.0)
    return -a / r / r


expression(np.arctan2, arctan2_expression_a, arctan2_expression_b)

hypot_partials = (lambda y, a, b: a / nonzero(y), lambda y, a, b: b / nonzero(y))
scalar_rule(np.hypot, *hypot_partials)

NEAR = 0.3
SERIES = [(-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 7)]


def sinc_slope(y: Any, x: Any) -> Any:
    """Return the derivative of sin(πx)/(πx)."""
    t = math.pi * x
    near = np.abs(t) < NEAR
    if not np.any(near):
        return (np.cos(t) - y) / x
    t = np.where(near, t, 0.0)
    square = t * t
    series = 0.0
    for coefficient in reversed(SERIES):
        series = series * square + coefficient
    far = np.where(near, 1.0, x)
    return np.where(near, math.pi * t * series, (np.cos(math.pi * far) - y) / far)


scalar_rule(np.sinc, sinc_slope)


# unwrap adds multiples of the period: the slope by the argument is one, by the period how many.
def turns(y: Any, p: Any, period: Any) -> Any:
    return np.round((y - p) / period)


@rrule.register(np.unwrap, Array, shaped_by=(0,))
def unwrap_rrule(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * math.pi) -> Any:
    y = np.unwrap(p, discont, axis, period=period)

    def unwrap_pullback(y_bar: Any) -> tuple:
        by_period = thunk(lambda: np.sum(y_bar * turns(y, p, period)))
        discont_bar = NoTangent() if discont is None else ZeroTangent()
        return y_bar, discont_bar, NoTangent(), by_period

    return y, unwrap_pullback


@frule.register(np.unwrap, Array)
def unwrap_frule(
    dots: tuple, p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * math.pi
) -> Any:
    y = np.unwrap(p, discont, axis, period=period)
    p_dot, *_, period_dot = (*dots, *(ZeroTangent(),) * (4 - len(dots)))
    if isinstance(period_dot, AbstractZero):
        return y, p_dot
    return y, p_dot + turns(y, p, period) * period_dot
