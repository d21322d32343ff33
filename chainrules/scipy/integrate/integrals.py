"""The integral of a function over an interval, and its derivatives.

For I(θ, a, b) = ∫ₐᵇ f(t; θ) w(t) dt, Leibniz's rule gives

    dI = ∫ₐᵇ (∂f/∂θ dθ) w dt + f(b) w(b) db - f(a) w(a) da,

where the integral is by θ continuously differentiable: a jump of f that moves with θ is not seen,
unless it is at a break point (`iterated`).
An infinite limit does not move. With the weight cos(ωt) or sin(ωt), ∂I/∂ω is the integral of
∓t f with the other one.

The integral of the derivatives is found in the same way as the integral itself, with the same
weight, interval and break points, to a tolerance of 1e-10 where that of the caller is not smaller.
All parts of a derivative share the values of the integrand, which are kept. Since the derivative is
an integral again, so is the second one.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from chainrules.scipy.integrate.captured import (
    as_closure_tangent,
    is_still,
    numbers,
    parts_of_closure,
    pulled,
    pushed,
    unflat,
    values_of,
)
from chainrules_core import (
    HasForwardMode,
    HasReverseMode,
    NoTangent,
    ZeroTangent,
    frule,
    primitive,
    rrule,
    thunk,
)
from chainrules_core.interpreter.noticed import mark, restore

TOLERANCE = 1e-10
BOX_TOLERANCE = 1e-9
GRIDS = (7, 11)
OTHER = {"cos": ("sin", -1.0), "sin": ("cos", 1.0)}


@primitive
def integral(f, a, b, wvar, *args, known=None, weight=None, options=None):
    """Integrate ``f(t, *args)``, a number or an array, from `a` to `b`.

    Parameters
    ----------
    f : callable
        What is integrated.
    a, b : float
        The limits.
    wvar : float
        The frequency of the weight, if it has one.
    *args
        Further arguments of `f`.
    known : optional
        The integral, if it is known already.
    weight : str, optional
        The weight, of those of ``scipy.integrate.quad``.
    options : dict, optional
        Options of ``scipy.integrate.quad``; also ``"wvar"`` for weights other than cos and sin.
        With ``"box"``, the limits of several variables, `t` is an array of these.
    """
    if known is not None:
        return known
    options = dict(options or {})
    if "box" in options:
        return in_box(lambda t: np.asarray(f(t, *args)), options["box"], options["meets"])
    options["epsabs"] = min(options.get("epsabs", TOLERANCE), TOLERANCE)
    options["epsrel"] = min(options.get("epsrel", TOLERANCE), TOLERANCE)
    if weight is not None:
        options.update(weight=weight, wvar=options.get("wvar", wvar))
    values, form = {}, {}

    def value(t):
        found = values.get(t)
        if found is None:
            y = np.asarray(f(t, *args))
            form["shape"], form["complex"] = y.shape, np.iscomplexobj(y)
            y = np.ravel(y)
            found = values[t] = np.concatenate([y.real, y.imag]) if form["complex"] else y
        return found

    parts = [part(value, 0, a, b, options)]
    if not values:  # nothing lies between the limits
        value(a)
    n = next(iter(values.values())).size
    parts += [part(value, i, a, b, options) for i in range(1, n)]
    if form.get("complex"):
        parts = np.array(parts[: n // 2]) + 1j * np.array(parts[n // 2 :])
    return np.reshape(np.array(parts), form.get("shape", ()))[()]


def on_grid(f: Callable, box: tuple, n: int) -> Any:
    """Integrate over a box of pieces of the length 1 by Gauss' formula with `n` points in each."""
    x, w = np.polynomial.legendre.leggauss(n)
    lines = [
        (np.concatenate([(x + 1) / 2 + k for k in range(int(end))]), np.tile(w / 2, int(end)))
        for _, end in box
    ]
    weights = lines[0][1]
    for _, more in lines[1:]:
        weights = np.multiply.outer(weights, more)
    points = np.stack(np.meshgrid(*[at for at, _ in lines], indexing="ij"), axis=-1)
    total = 0.0
    for u, weight in zip(points.reshape(-1, len(box)), weights.ravel(), strict=True):
        total = total + weight * f(u)
    return total


def in_box(f: Callable, box: tuple, meets: tuple) -> Any:
    """Integrate ``f(u)`` over a box, the last variable outside.

    Two grids are enough for a smooth function; else it is done adaptively.
    """
    if not np.any(np.isinf(box)):
        coarse, fine = [on_grid(f, box, n) for n in GRIDS]
        if np.all(np.abs(fine - coarse) <= BOX_TOLERANCE * (1 + np.max(np.abs(fine), initial=0.0))):
            return fine

    return _adaptively(f, box, meets, ())[()]


def _adaptively(f: Callable, box: tuple, meets: tuple, outer: tuple) -> Any:
    """Integrate over the variables of a box inside those that are given."""
    i = len(box) - len(outer) - 1
    if i < 0:
        return f(np.array(outer))
    tolerance = BOX_TOLERANCE * (0.1 if outer else 1.0)
    found = integrate.quad_vec(
        lambda u: _adaptively(f, box, meets, (u, *outer)), *box[i], epsabs=tolerance,
        epsrel=tolerance, norm="max", limit=100, points=meets[i] or None,
    )  # fmt: skip
    return found[0]


def users_level() -> int:
    """Return the ``stacklevel`` of a warning at the user's line, counted from the caller."""
    modules = [sys.modules.get(name) for name in LIBRARIES]
    ours = tuple([os.path.dirname(str(m.__file__)) + os.sep for m in modules if m is not None])
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith((*ours, "<")):
        frame, level = frame.f_back, level + 1
    return level


LIBRARIES = ("autodiff", "chainrules", "chainrules_core", "numpy", "scipy")


def part(value: Callable, i: int, a: float, b: float, options: dict) -> float:
    """Integrate one part of a vector."""
    found = integrate.quad(lambda t: value(t)[i], a, b, full_output=1, **options)
    y, error = found[:2]
    if len(found) > 3 and error > 1e-6 * max(1.0, abs(y)):
        problem = found[3].partition("\n")[0]
        warnings.warn(
            "the derivative of an integral of scipy.integrate is itself an integral, which SciPy "
            f"finds to about {error:.1g} only. Split the interval where the integrand is rough "
            f"(points= of quad), or give a larger limit=. {problem}",
            integrate.IntegrationWarning,
            stacklevel=users_level(),
        )
    return y


def weighted(f: Callable, t: Any, wvar: Any, args: tuple, weight: str | None) -> Any:
    """The integrand at a limit: with its weight, and 0 where the limit is infinite."""
    if np.isinf(t):
        return 0.0
    y = f(t, *args)
    if weight == "cauchy":  # at 0, by its body
        return y / t
    return y if weight not in OTHER else y * (np.cos if weight == "cos" else np.sin)(wvar * t)


def pair(y: Any, y_bar: Any) -> Any:
    """The cotangent of a real number that moves an output along `y`."""
    return np.real(np.sum(np.conj(y) * y_bar))


def by_frequency(f: Callable, a: Any, b: Any, wvar: Any, args: tuple, **how: Any) -> Any:
    """The derivative by the frequency of the weight."""
    other, sign = OTHER[how["weight"]]

    def turned(t, *args):
        return sign * t * f(t, *args)

    return integral(turned, a, b, wvar, *args, weight=other, options=how["options"])


@rrule.register(integral, Callable, requires={HasReverseMode})
def integral_rrule(config, f, a, b, wvar, *args, known=None, weight=None, options=None):
    y = integral(f, a, b, wvar, *args, known=known, weight=weight, options=options)
    like = (*values_of(f), *args)
    n = len(values_of(f))

    def integral_pullback(y_bar):
        fast = [config.repeated("pullback", f, tuple(range(1, 1 + len(args))))]

        def inside(t, y_bar, *args):
            if fast[0] is not None:
                before = mark()
                try:
                    parts, bars = fast[0](y_bar, t, *args)
                    return np.concatenate([np.ravel(p) for p in (*parts, *bars)])
                except Exception:  # the value is not of the form of the integral: a list
                    restore(before)
                    fast[0] = None
            return pulled(config, f, (t,), args, y_bar)[1]

        parts = []
        if like:
            total = integral(inside, a, b, wvar, y_bar, *args, weight=weight, options=options)
            parts = unflat(total, like)
        wvar_bar = NoTangent()
        if weight in OTHER:
            wvar_bar = thunk(
                lambda: pair(
                    by_frequency(f, a, b, wvar, args, weight=weight, options=options), y_bar
                )
            )
        return (
            as_closure_tangent(f, parts[:n]),
            thunk(lambda: pair(-weighted(f, a, wvar, args, weight), y_bar)),
            thunk(lambda: pair(weighted(f, b, wvar, args, weight), y_bar)),
            wvar_bar,
            *parts[n:],
        )

    return y, integral_pullback


@frule.register(integral, Callable, requires={HasForwardMode})
def integral_frule(config, dots, f, a, b, wvar, *args, known=None, weight=None, options=None):
    y = integral(f, a, b, wvar, *args, known=known, weight=weight, options=options)
    f_dot, a_dot, b_dot, wvar_dot, *arg_dots = dots
    y_dot = np.zeros(np.shape(y))[()]
    ends = () if "box" in (options or {}) else ((1.0, b, b_dot), (-1.0, a, a_dot))
    for sign, t, t_dot in ends:
        if not is_still(t_dot):  # else it may be where f has no value
            y_dot = y_dot + sign * weighted(f, t, wvar, args, weight) * t_dot
    k = len(args)
    own = (*parts_of_closure(f, f_dot), *numbers(arg_dots, args))

    fast = config.repeated("pushforward", f, tuple(range(1, 1 + k)))

    def inside(t, *args_and_dots):
        args, dots = args_and_dots[:k], args_and_dots[k:]
        n = len(dots) - k
        if fast is not None:
            return fast(dots[:n], dots[n:], t, *args)[1]
        return pushed(config, f, (*dots[:n], ZeroTangent(), *dots[n:]), (t, *args))

    if own:
        y_dot = y_dot + integral(inside, a, b, wvar, *args, *own, weight=weight, options=options)
    if weight in OTHER and not is_still(wvar_dot):
        moved = by_frequency(f, a, b, wvar, args, weight=weight, options=options)
        y_dot = y_dot + moved * wvar_dot
    return y, y_dot
