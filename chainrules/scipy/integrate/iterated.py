"""dblquad, tplquad, nquad, and quad with moving break points: integrals over a fixed box.

The variable xᵢ between limits that depend on the outer variables is low + u (high - low), u from 0
to 1 (low + u or high - u to infinity where one limit is infinite). Then the limits of all
variables are constants, the integrand is

    G(u; θ) = f(x(u; θ); θ) Π (highᵢ - lowᵢ),

and the derivative is one iterated integral, of ∂G/∂θ: no integrals over the boundary. With break
points p₁ < … < pₖ the variable runs from 0 to k + 1, each unit a piece between two of them; so a
jump of f that moves with a break point is on the edge of the pieces wherever that goes. The values
are SciPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from chainrules.scipy.integrate.integrals import integral
from chainrules_core import decompose, non_differentiable


def nquad_plainly(func: Callable, ranges: Any, args: tuple, opts: Any, full_output: Any) -> tuple:
    """Call nquad where nothing is traced."""
    return integrate.nquad(func, ranges, args, opts, full_output)


def breaks_of(i: int, options: Callable, outer: tuple, args: tuple) -> list:
    """The break points of a variable, in their order."""
    points = options(*outer, *args).get("points")
    return [] if points is None else list(points)


def shape_of(limits: list, options: list, args: tuple) -> list:
    """For each variable which of its limits are infinite, and the order of its break points."""
    outer: tuple = ()
    found: list = []
    for i in range(len(limits) - 1, -1, -1):
        low, high = limits[i](*outer, *args)
        points = breaks_of(i, options[i], outer, args)
        ends = bool(np.isinf(low)), bool(np.isinf(high))
        backward = bool(high < low)
        order = [int(n) for n in np.argsort(points)]
        found.insert(0, (*ends, [] if any(ends) else order[::-1] if backward else order))
        if ends[0] and ends[1]:
            middle = 0.0
        elif ends[0] or ends[1]:
            middle = low + 1.0 if ends[1] else high - 1.0
        else:
            middle = low + (high - low) / 2
        outer = (middle, *outer)
    return found


for f in (nquad_plainly, shape_of):
    non_differentiable(f, Callable) if f is nquad_plainly else non_differentiable(f)


def box_of(shape: list) -> tuple:
    """The limits of the variables of the box, and the points where its pieces meet."""
    box, meets = [], []
    for low_infinite, high_infinite, order in shape:
        if low_infinite or high_infinite:
            box.append((-np.inf if low_infinite and high_infinite else 0.0, np.inf))
        else:
            box.append((0.0, len(order) + 1.0))
        meets.append([k + 1.0 for k in range(len(order))])
    return tuple(box), tuple(meets)


def placed(u: Any, low: Any, high: Any, kind: tuple, points: list) -> tuple:
    """A variable at `u`, and how fast it moves with it."""
    low_infinite, high_infinite, order = kind
    if low_infinite and high_infinite:
        return u, 1.0 if high > low else -1.0
    if high_infinite:
        return (low + u, 1.0) if high > 0 else (low - u, -1.0)
    if low_infinite:
        return (high - u, 1.0) if low < 0 else (high + u, -1.0)
    if not order:
        return low + (high - low) * u, high - low
    least, most = (low, high) if high > low else (high, low)
    ends = [low, *[np.clip(points[n], least, most) for n in order], high]
    piece = min(int(u), len(order))
    width = ends[piece + 1] - ends[piece]
    return ends[piece] + width * (u - piece), width


def over_box(func: Callable, limits: list, options: list, args: tuple, known: Any) -> Any:
    """The integral as one over a box."""
    shape = shape_of(limits, options, args)
    box, meets = box_of(shape)
    last = len(limits) - 1

    def integrand(u):
        outer: tuple = ()
        scale = 1.0
        for i in range(last, -1, -1):
            low, high = limits[i](*outer, *args)
            points = breaks_of(i, options[i], outer, args) if shape[i][2] else []
            x, width = placed(u[i], low, high, shape[i], points)
            outer, scale = (x, *outer), scale * width
        return func(*outer, *args) * scale

    how = {"box": box, "meets": meets}
    return integral(integrand, 0.0, 1.0, 0.0, known=known, options=how)


def constantly(x: Any) -> Callable:
    """A function that returns `x` whatever it is given; a function as it is."""
    return x if callable(x) else lambda *_: x


@decompose(integrate.nquad, Callable)
def nquad(func: Callable, ranges: Any, args: Any = None, opts: Any = None,
          full_output: bool = False) -> tuple:  # fmt: skip
    if args is None:
        args = ()
    if not isinstance(args, tuple):
        args = (args,)
    found = nquad_plainly(func, ranges, args, opts, full_output)
    if opts is None:
        opts = {}
    options = [opts] * len(ranges) if isinstance(opts, dict) else opts
    limits, how = list(map(constantly, ranges)), list(map(constantly, options))
    return (over_box(func, limits, how, args, found[0]), *found[1:])


@decompose(integrate.dblquad, Callable)
def dblquad(func: Callable, a: Any, b: Any, gfun: Any, hfun: Any, args: Any = (),
            epsabs: float = 1.49e-8, epsrel: float = 1.49e-8) -> tuple:  # fmt: skip
    low, high = constantly(gfun), constantly(hfun)
    ranges = [lambda *x: [low(x[0]), high(x[0])], [a, b]]
    return nquad(func, ranges, tuple(args), {"epsabs": epsabs, "epsrel": epsrel})


@decompose(integrate.tplquad, Callable)
def tplquad(func: Callable, a: Any, b: Any, gfun: Any, hfun: Any, qfun: Any, rfun: Any,
            args: Any = (), epsabs: float = 1.49e-8, epsrel: float = 1.49e-8):  # fmt: skip
    low, high, bottom, top = map(constantly, (gfun, hfun, qfun, rfun))
    ranges = [
        lambda *x: [bottom(x[1], x[0]), top(x[1], x[0])],
        lambda *x: [low(x[0]), high(x[0])],
        [a, b],
    ]
    return nquad(func, ranges, tuple(args), {"epsabs": epsabs, "epsrel": epsrel})
