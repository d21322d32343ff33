"""Legendre functions and spherical harmonics, with the derivatives that they return on demand.

SciPy's functions return derivatives up to ``diff_n``; the derivative of each is the next. Behind
the last that they offer, the second, the third comes from the differential equation (DLMF 14.2.2),
differentiated: with λ = n(n+1), w = P_n^m(z) and w = P_n^m(cos θ),

    (1-z²) w''' = 4z w'' + (2 - λ + m²/(1-z²)) w' + 2z m²/(1-z²)² w
    w''' = -cot θ w'' + (1 + m²)/sin² θ w' - λ w' - 2m² cos θ/sin³ θ w

which is singular at the poles. A derivative of Y_n^m by φ is a factor im.

The ``_all`` forms have axes for the degrees 0 … n and the orders 0 … m, -m … -1 before those of
the argument. Q_n^m and its derivative: the same equation.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from chainrules_core import (
    AbstractZero,
    NoTangent,
    Tangent,
    frule,
    instance_of,
    pair_rule,
    rrule,
    unbroadcast,
    unthunk,
)
from chainrules_core.authoring import conjugate, fit

HIGHEST = 2  # the derivative beyond which SciPy offers none


def name_of(f: Any) -> str:
    """Return the name of a function: older versions of SciPy have it in the documentation."""
    return getattr(f, "__name__", "") or f.__doc__.partition("(")[0].strip()


def degrees_and_orders(f: Any, args: tuple, dims: int) -> tuple[Any, Any]:
    """Return n and m as floats, in the axes that they have in the output."""
    n, m = args[0], (args[1] if has_order(f) else 0)
    if not name_of(f).endswith("_all"):
        return np.multiply(n, 1.0), np.multiply(m, 1.0)
    degrees = np.arange(operator.index(n) + 1.0)
    if not has_order(f):
        return np.reshape(degrees, (-1,) + (1,) * dims), 0.0
    m = abs(operator.index(m))
    orders = np.concatenate([np.arange(m + 1.0), np.arange(-m, 0.0)])
    return np.reshape(degrees, (-1, 1) + (1,) * dims), np.reshape(orders, (-1,) + (1,) * dims)


def has_order(f: Any) -> bool:
    return not name_of(f).startswith("legendre")


def third_by_z(w: Any, n: Any, m: Any, z: Any) -> Any:
    square = 1 - z * z
    middle = 2 - n * (n + 1) + m * m / square
    return (4 * z * w[2] + middle * w[1] + 2 * z * m * m / (square * square) * w[0]) / square


def third_by_angle(w: Any, n: Any, m: Any, theta: Any) -> Any:
    s, c = np.sin(theta), np.cos(theta)
    middle = (1 + m * m) / (s * s) - n * (n + 1)
    return -c / s * w[2] + middle * w[1] - 2 * m * m * c / (s * s * s) * w[0]


def angular(f: Any) -> bool:
    return name_of(f).startswith("sph_")


def orders_up_to(f: Any, args: tuple, options: dict) -> Any:
    """Return the derivatives of orders 1 to diff_n + 1 by the last argument, stacked."""
    d = options.get("diff_n", 0)
    if d < HIGHEST:
        return f(*args, **{**options, "diff_n": d + 1})[1:]
    y = f(*args, **options)
    z = args[-1]
    n, m = degrees_and_orders(f, args, np.ndim(z))
    third = (third_by_angle if angular(f) else third_by_z)(y, n, m, z)
    return np.concatenate([y[1:], np.expand_dims(third, 0)])


# ----------------------------------------------------------------------------- Y_n^m(θ, φ)


def harmonic_slopes(f: Any, args: tuple, options: dict) -> tuple[tuple, tuple]:
    """Return the derivatives by θ and by φ of each output: of Y, its gradient, its Hessian."""
    d = options.get("diff_n", 0)
    theta, phi = args[-2:]
    _, *more = f(*args, diff_n=min(d + 1, HIGHEST))
    n, m = degrees_and_orders(f, args, max(np.ndim(theta), np.ndim(phi)))
    im = 1j * m
    value = f(*args)
    t = [value, more[0][..., 0]]
    if d >= 1:
        t.append(more[1][..., 0, 0])
    if d >= HIGHEST:
        t.append(third_by_angle(t, n, m, theta))
    by_theta: list = [t[1]]
    by_phi: list = [im * t[0]]
    if d >= 1:
        by_theta.append(np.stack([t[2], im * t[1]], axis=-1))
        by_phi.append(np.stack([im * t[1], im * im * t[0]], axis=-1))
    if d >= HIGHEST:
        by_theta.append(hessian(t[3], im * t[2], im * im * t[1]))
        by_phi.append(hessian(im * t[2], im * im * t[1], im * im * im * t[0]))
    return tuple(by_theta), tuple(by_phi)


def hessian(a: Any, b: Any, c: Any) -> Any:
    first, second = np.stack([a, b], axis=-1), np.stack([b, c], axis=-1)
    return np.stack([first, second], axis=-2)


def is_harmonic(f: Any) -> bool:
    return name_of(f).startswith("sph_harm")


def slopes(f: Any, args: tuple, options: dict) -> tuple[tuple, ...]:
    """Return, for each argument that is differentiated, the derivative of each output."""
    if is_harmonic(f):
        return harmonic_slopes(f, args, options)
    return ((orders_up_to(f, args, options),),)


MultiUFunc = type(special.legendre_p)


@rrule.register(instance_of(MultiUFunc))
def multi_rrule(f: Any, *args: Any, **options: Any) -> Any:
    y = f(*args, **options)

    def multi_pullback(y_bar: Any) -> Any:
        several = isinstance(y, tuple)
        found = slopes(f, args, options)
        constants = [NoTangent()] * (1 + len(args) - len(found))
        bars = []
        for slope, x in zip(found, args[-len(found) :], strict=True):
            x_bar: Any = 0.0
            for i, part in enumerate(slope):
                bar = unthunk(y_bar[i]) if several else y_bar
                if isinstance(bar, AbstractZero):
                    continue
                product = conjugate(part) * bar
                if i:  # a gradient has one more axis behind, a Hessian two
                    product = np.sum(product, axis=tuple(range(-i, 0)))
                x_bar = x_bar + unbroadcast(product, np.shape(x))
            bars.append(x_bar)
        return (*constants, *bars)

    return y, multi_pullback


@frule.register(instance_of(MultiUFunc))
def multi_frule(dots: tuple, f: Any, *args: Any, **options: Any) -> Any:
    y = f(*args, **options)
    found = slopes(f, args, options)
    x_dots = dots[-len(found) :]
    several = isinstance(y, tuple)
    y_dots = []
    for i, part in enumerate(y if several else (y,)):
        total: Any = 0.0
        for slope, x_dot in zip(found, x_dots, strict=True):
            moved = np.reshape(x_dot, np.shape(x_dot) + (1,) * i) if i else x_dot
            total = total + slope[i] * moved
        y_dots.append(fit(total, part))
    return y, Tangent[tuple](*y_dots) if several else y_dots[0]


# ------------------------------------------------------------------------------ second kind


def second_kind_slopes(y: tuple, m: Any, n: Any, z: Any) -> tuple:
    """Return the derivatives of Q and of Q'."""
    square = 1 - z * z
    second = (2 * z * y[1] - (n * (n + 1) - m * m / square) * y[0]) / square
    return y[1], second


def second_kind_rules(f: Callable, orders: Callable) -> None:
    @pair_rule(f)
    def second_kind_rule(z: Any, **options: Any) -> Any:
        y = f(z=z, **options)

        def second_kind_pushforward(z_dot: Any) -> Any:
            found = second_kind_slopes(y, *orders(y, np.ndim(z)), z)
            y_dots = [fit(slope * z_dot, q) for slope, q in zip(found, y, strict=True)]
            return Tangent[tuple](*y_dots)

        def second_kind_pullback(y_bar: Any) -> Any:
            z_bar: Any = 0.0
            for i, slope in enumerate(second_kind_slopes(y, *orders(y, np.ndim(z)), z)):
                bar = unthunk(y_bar[i])
                if not isinstance(bar, AbstractZero):
                    z_bar = z_bar + unbroadcast(conjugate(slope) * bar, np.shape(z))
            return z_bar

        return y, second_kind_pushforward, second_kind_pullback


def degrees_of_lqn(y: tuple, dims: int) -> tuple[Any, Any]:
    return 0.0, np.reshape(np.arange(np.shape(y[0])[0] * 1.0), (-1,) + (1,) * dims)


def orders_of_lqmn(y: tuple, dims: int) -> tuple[Any, Any]:
    m, n = np.shape(y[0])[:2]
    ones = (1,) * dims
    return np.reshape(np.arange(m * 1.0), (-1, 1, *ones)), np.reshape(
        np.arange(n * 1.0), (-1, *ones)
    )


second_kind_rules(special.lqn, degrees_of_lqn)
second_kind_rules(special.lqmn, orders_of_lqmn)
