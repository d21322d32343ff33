"""Parts of complex numbers: the functions that are not holomorphic.

Such a function has no complex derivative, but as a function of real and imaginary part it has a
gradient. One with real output, g = ∂y/∂re + i ∂y/∂im, has

    ẏ = Re(conj(g) ẋ)        x̄ = Re(ȳ) g

    real: g = 1    imag: g = i    |x|: g = x/|x|    angle: g = i x/|x|²

For real x the same formulas hold: |x| has the slope sign(x), the angle none. |x| and the angle have
no gradient at 0; there it is taken to be 0.

The direction s = x/|x|, ``np.sign``, turns at the rate of the part of ẋ that is perpendicular to
it: ṡ = (ẋ - s Re(conj(s) ẋ))/|x|. This projection is its own adjoint. For real x it is 0.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.elementwise.trigonometric import nonzero
from chainrules_core import (
    Array,
    Real,
    ZeroTangent,
    frule,
    linear_rule,
    non_differentiable,
    rrule,
    scalar_rule,
)
from chainrules_core.authoring import (
    conjugate,
    expression,
    fit,
    has_nan,
    is_foreign,
    strong_product,
    turned_by_sign,
)

Complex = (complex, np.complexfloating)


def real_valued(
    f: Callable, gradient: Callable, types: tuple = (), back: Callable | None = None
) -> None:
    """Register the rules of a function with real output, from ``gradient(y, x, **options)``.

    ``back(y_bar, y, x)`` is its product with ȳ, where arrays can have that for less. A zero in ȳ
    wins over Inf and NaN.
    """

    @rrule.register(f, *types, shaped_by=(0,))
    def real_valued_rrule(x: Any, **options: Any) -> Any:
        y = f(x, **options)

        def real_valued_pullback(y_bar: Any) -> Any:
            y_bar = np.real(y_bar)
            if back is not None and np.ndim(x):
                x_bar = back(y_bar, y, x)
                if not has_nan(x_bar):
                    return x_bar
            return strong_product(gradient(y, x, **options), y_bar)

        return y, real_valued_pullback

    @frule.register(f, *types)
    def real_valued_frule(dots: Any, x: Any, **options: Any) -> Any:
        (x_dot,) = dots
        y = f(x, **options)
        return y, fit(np.real(conjugate(gradient(y, x, **options)) * x_dot), y)


linear_rule(np.real, lambda y_bar, val: np.real(y_bar))
linear_rule(np.imag, lambda y_bar, val: imag_adjoint(y_bar, val))
expression(np.real, 1, of="complex number")
expression(np.imag, 1j, of="complex number")
linear_rule(
    np.conjugate,
    lambda y_bar, x, *, dtype=None: np.conj(y_bar) if x.dtype.kind == "c" else y_bar,
)


def imag_adjoint(y_bar: Any, space: Any) -> Any:
    """Return i Re(ȳ), or nothing for a real number, whose imaginary part is a constant."""
    return 1j * np.real(y_bar) if space.dtype.kind == "c" else ZeroTangent()


def direction(y: Any, x: Any, **options: Any) -> Any:
    """Return x/|x|, given y = |x|; ``np.sign`` is slow for complex numbers."""
    return x / nonzero(y) if np.iscomplexobj(x) else np.sign(x)


_SMALL = 2048  # elements: fewer steps count for more than fewer passes


def along(y_bar: Any, y: Any, x: Any) -> Any:
    """Return ȳ x/|x|, given y = |x|: with a division of real numbers only."""
    if not np.iscomplexobj(x):
        if np.size(x) <= _SMALL:
            return y_bar * np.sign(x)
        turned = turned_by_sign(y_bar, x) if np.min(y, initial=1) > 0 else None
        return y_bar * np.sign(x) if turned is None else turned
    slope = y_bar / (y if np.min(y, initial=1) > 0 else nonzero(y))
    if is_foreign(slope) or is_foreign(x) or np.result_type(slope, x) != x.dtype:
        return slope * x
    # NumPy would convert the slope as well, but piece by piece, and take memory of its own.
    product = np.broadcast_to(slope, x.shape).astype(x.dtype)
    return np.multiply(product, x, out=product)


# For real numbers as a partial derivative, which engines take as a number.
scalar_rule((operator.abs, np.absolute), lambda y, x: np.sign(x), types=(Real,))
scalar_rule(np.fabs, lambda y, x: np.sign(x))
for absolute in (operator.abs, np.absolute):
    real_valued(absolute, direction, types=((*Complex, Array),), back=along)

real_size_expression = (lambda y, x: x / (y + (y == 0.0)),)
complex_size_expression = (lambda y, x: x * (1.0 / (y + (y == 0.0))),)
expression((operator.abs, np.absolute), lambda y, x: np.sign(x))
expression((operator.abs, np.absolute), *real_size_expression, of="real number")
expression((operator.abs, np.absolute), *complex_size_expression, of="complex")


def angle_gradient(y: Any, x: Any, deg: bool = False) -> Any:
    """Return i x/|x|², in degrees if asked for."""
    if not np.iscomplexobj(x):
        return np.zeros_like(y)
    r = nonzero(np.abs(x))
    gradient = 1j * (x / r / r)
    return 180 / math.pi * gradient if deg else gradient


real_valued(np.angle, angle_gradient)


def angle_expression(y: Any, x: Any) -> Any:
    """Return i x/|x|², and 0 at zero."""
    inverse = 1.0 / (np.abs(x) + (np.abs(x) == 0.0))
    return (1j * x) * inverse * inverse


expression(np.angle, angle_expression, of="complex")


def turned(x_dot: Any, y: Any, x: Any) -> Any:
    """Return what x/|x| = y changes by, when x changes by ẋ; also the adjoint of this map."""
    return (x_dot - y * np.real(np.conj(y) * x_dot)) * (y != 0) / nonzero(np.abs(x))


non_differentiable(np.sign, Real)


@rrule.register(np.sign, (*Complex, Array))
def sign_rrule(x: Any) -> Any:
    y = np.sign(x)

    def sign_pullback(y_bar: Any) -> Any:
        return turned(y_bar, y, x) if np.iscomplexobj(y) else ZeroTangent()

    return y, sign_pullback


@frule.register(np.sign, (*Complex, Array))
def sign_frule(dots: Any, x: Any) -> Any:
    (x_dot,) = dots
    y = np.sign(x)
    return y, fit(turned(x_dot, y, x), y) if np.iscomplexobj(y) else ZeroTangent()


expression(np.sign, ZeroTangent())


@rrule.register(np.real_if_close)
def real_if_close_rrule(a: Any, *, tol: float = 100) -> Any:
    def real_if_close_pullback(y_bar: Any) -> Any:
        return y_bar

    return np.real_if_close(a, tol), real_if_close_pullback


@frule.register(np.real_if_close)
def real_if_close_frule(dots: Any, a: Any, *, tol: float = 100) -> Any:
    (a_dot,) = dots
    y = np.real_if_close(a, tol)
    return y, fit(a_dot if np.iscomplexobj(y) else np.real(a_dot), y)
