"""Exponentials summed over axes: logsumexp, softmax, log_softmax.

With S = Σ b eᵃ, y = log S and the shares p = eᵃ/S: ∂y/∂a = b p, ∂y/∂b = p. Since p = e^(a-y) there
is no overflow. With ``return_sign``, y = log|S| and s = S/|S|, so p = e^(a-y)/s; for real numbers s
is a constant, for complex ones it turns by ṡ = i s Im(Ṡ/S).

Where y is infinite, a - y is Inf - Inf; the share then belongs to the elements that are equal to y,
equally.

y = softmax(x) has ẏ = y (ẋ - Σ y ẋ), which for real numbers is its own adjoint.
z = log_softmax(x) has ż = ẋ - Σ eᶻ ẋ and x̄ = z̄ - conj(eᶻ) Σ z̄.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from chainrules.reductions.axes import kept
from chainrules_core import (
    AbstractZero,
    NoTangent,
    Numeric,
    Tangent,
    ZeroTangent,
    frule,
    primitive,
    rrule,
    unbroadcast,
    unthunk,
)
from chainrules_core.authoring import conjugate, fit, in_steps

UNSET: Any = object()  # an argument that the call leaves out

logsumexp = primitive(special.logsumexp)
softmax = primitive(special.softmax)
log_softmax = primitive(special.log_softmax)


def top_of(x: Any, axis: Any) -> Any:
    """Return maxima with their axes, if all are finite; None otherwise."""
    if not np.ndim(x) or not np.size(x):
        return None
    top = np.max(x, axis=axis, keepdims=True)
    return top if np.all(np.isfinite(top)) else None


@in_steps(logsumexp, of_arrays=True)
def logsumexp_in_steps(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    top = top_of(a, axis)
    if b is not None or return_sign or top is None:
        return NotImplemented
    hits = np.equal(a, top)  # these are 1 each: the sum of the others may be small beside them
    n = np.sum(np.where(hits, 1.0, 0.0), axis=axis, keepdims=True)
    others = np.sum(np.where(hits, 0.0, np.exp(a - top)), axis=axis, keepdims=True)
    y = np.log1p(others / n) + np.log(n) + top
    if keepdims:
        return y
    is_number = axis is None or np.size(axis) == np.ndim(a)
    return y[(0,) * np.ndim(a)] if is_number else np.squeeze(y, axis)


@in_steps(softmax, of_arrays=True)
def softmax_in_steps(x: Any, axis: Any = None) -> Any:
    top = top_of(x, axis)
    if top is None:
        return NotImplemented
    e = np.exp(x - top)
    return e / np.sum(e, axis=axis, keepdims=True)


@in_steps(log_softmax, of_arrays=True)
def log_softmax_in_steps(x: Any, axis: Any = None) -> Any:
    top = top_of(x, axis)
    if top is None:
        return NotImplemented
    away = x - top
    return away - np.log(np.sum(np.exp(away), axis=axis, keepdims=True))


def shares(a: Any, y: Any, axis: Any) -> Any:
    """Return e^(a-y), where y is infinite the limit."""
    finite = np.isfinite(y)
    if np.all(finite):
        return np.exp(a - y)
    equal = 1.0 * np.equal(a, y)
    limit = equal / np.maximum(np.sum(equal, axis=axis, keepdims=np.ndim(y) > 0), 1)
    return np.where(finite, np.exp(np.where(finite, a, 0) - np.where(finite, y, 0)), limit)


def logsumexp_parts(a: Any, b: Any, y: Any, s: Any, axis: Any) -> tuple[Any, Any]:
    """Return the shares p and b p, in the shape to which `a` and `b` broadcast."""
    shape = np.broadcast_shapes(np.shape(a), np.shape(b))
    p = shares(np.broadcast_to(a, shape), kept(y, shape, axis), axis)
    if s is not None:
        p = p / kept(s, shape, axis)
    return p, (p if b is None else b * p)


def log_bar(s: Any, y_bar: Any, s_bar: Any) -> Any:
    """Return the cotangent of t = log S from those of y = Re t and of s, with ṡ = i s Im ṫ."""
    if not np.iscomplexobj(s) or isinstance(s_bar, AbstractZero):
        return y_bar
    turn = 1j * np.real(np.conj(1j * s) * s_bar)
    return turn if isinstance(y_bar, AbstractZero) else np.real(y_bar) + turn


@rrule.register(logsumexp, Numeric, shaped_by=(0, 1))
@rrule.register(special.logsumexp, Numeric, lists=True, shaped_by=(0, 1))
def logsumexp_rrule(
    a: Any, b: Any = UNSET, *, axis: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    weights: Any = None if b is UNSET else b
    result = logsumexp(a, axis, weights, keepdims, return_sign)
    y, s = result if return_sign else (result, None)

    def logsumexp_pullback(y_bar: Any) -> Any:
        t_bar = y_bar if s is None else log_bar(s, *[unthunk(bar) for bar in y_bar])
        if isinstance(t_bar, AbstractZero):
            return t_bar if b is UNSET else (t_bar, t_bar)
        p, bp = logsumexp_parts(a, weights, y, s, axis)
        t_bar = kept(t_bar, np.shape(p), axis)
        a_bar = unbroadcast(conjugate(bp) * t_bar, np.shape(a))
        if b is UNSET:
            return a_bar
        if b is None:
            return a_bar, NoTangent()
        return a_bar, unbroadcast(conjugate(p) * t_bar, np.shape(weights))

    return result, logsumexp_pullback


@frule.register(logsumexp, Numeric)
@frule.register(special.logsumexp, Numeric, lists=True)
def logsumexp_frule(
    dots: tuple,
    a: Any,
    b: Any = UNSET,
    *,
    axis: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Any:
    weights: Any = None if b is UNSET else b
    result = logsumexp(a, axis, weights, keepdims, return_sign)
    y, s = result if return_sign else (result, None)
    p, bp = logsumexp_parts(a, weights, y, s, axis)
    t_dot = bp * dots[0]
    if weights is not None:
        t_dot = t_dot + p * dots[1]
    t_dot = np.sum(t_dot, axis=axis, keepdims=keepdims)
    if s is None:
        return y, fit(t_dot, y)
    s_dot = fit(1j * s * np.imag(t_dot), s) if np.iscomplexobj(s) else ZeroTangent()
    return result, Tangent[tuple](fit(np.real(t_dot), y), s_dot)


def summed(x: Any, axis: Any) -> Any:
    return np.sum(x, axis=axis, keepdims=True) if np.ndim(x) else x


@rrule.register(softmax, Numeric, shaped_by=(0,))
@rrule.register(special.softmax, Numeric, lists=True, shaped_by=(0,))
def softmax_rrule(x: Any, *, axis: Any = None) -> Any:
    y = softmax(x, axis)

    def softmax_pullback(y_bar: Any) -> Any:
        share = conjugate(y)
        return share * (y_bar - summed(share * y_bar, axis))

    return y, softmax_pullback


@frule.register(softmax, Numeric)
@frule.register(special.softmax, Numeric, lists=True)
def softmax_frule(dots: tuple, x: Any, *, axis: Any = None) -> Any:
    x_dot = dots[0]
    y = softmax(x, axis)
    return y, fit(y * (x_dot - summed(y * x_dot, axis)), y)


@rrule.register(log_softmax, Numeric, shaped_by=(0,))
@rrule.register(special.log_softmax, Numeric, lists=True, shaped_by=(0,))
def log_softmax_rrule(x: Any, *, axis: Any = None) -> Any:
    y = log_softmax(x, axis)

    def log_softmax_pullback(y_bar: Any) -> Any:
        return y_bar - np.exp(conjugate(y)) * summed(y_bar, axis)

    return y, log_softmax_pullback


@frule.register(log_softmax, Numeric)
@frule.register(special.log_softmax, Numeric, lists=True)
def log_softmax_frule(dots: tuple, x: Any, *, axis: Any = None) -> Any:
    x_dot = dots[0]
    y = log_softmax(x, axis)
    return y, fit(x_dot - summed(np.exp(y) * x_dot, axis), y)
