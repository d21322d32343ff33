"""quad and quad_vec: adaptive integrals, in terms of `integral`.

Two weights become others with limits that do not touch them: Cauchy's 1/(t - c) is 1/s of
s = t - c, and the algebraic (t - a)^α (b - t)^β with u = (t - a)/(b - a) is
(b - a)^(1 + α + β) u^α (1 - u)^β on [0, 1].
Estimates of errors are constants. Break points that are differentiated by make `iterated` pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from chainrules.scipy.integrate.captured import plain
from chainrules.scipy.integrate.integrals import integral
from chainrules.scipy.integrate.iterated import over_box
from chainrules_core import ChainRulesError, decompose, non_differentiable

LOGARITHMS = ("alg-loga", "alg-logb", "alg-log")


class LimitError(ChainRulesError, TypeError):
    """An integral has no derivative in this form."""


def quad_plainly(func: Callable, a: Any, b: Any, wvar: Any, options: dict) -> tuple:
    """Call quad where nothing is traced."""
    return integrate.quad(func, a, b, wvar=wvar, **options)


def is_moving(points: Any) -> bool:
    """Whether break points are differentiated by."""
    return any(p is not plain(p) for p in points)


def quad_vec_plainly(func: Callable, a: Any, b: Any, options: dict) -> tuple:
    """Call quad_vec where nothing is traced."""
    return integrate.quad_vec(func, a, b, **options)


for f in (quad_plainly, quad_vec_plainly):
    non_differentiable(f, Callable)


@decompose(integrate.quad, Callable)
def quad(func: Callable, a: Any, b: Any, args: Any = (), full_output: Any = 0,
         epsabs: float = 1.49e-8, epsrel: float = 1.49e-8, limit: int = 50, points: Any = None,
         weight: Any = None, wvar: Any = None, wopts: Any = None, maxp1: int = 50,
         limlst: int = 50, complex_func: bool = False) -> tuple:  # fmt: skip
    if not isinstance(args, tuple):
        args = (args,)

    def integrand(t):
        return func(t, *args)

    options = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit}
    others = {"points": points, "weight": weight, "wopts": wopts, "maxp1": maxp1}
    outside = {"full_output": full_output, "complex_func": complex_func, "limlst": limlst}
    found = quad_plainly(integrand, a, b, wvar, {**options, **others, **outside})
    if points is not None and not np.any(np.isinf(plain((a, b)))):
        options["points"] = plain(points)
    if weight is None and "points" in options and is_moving(points):
        y = over_box(integrand, [lambda: (a, b)], [lambda: {"points": points}], (), found[0])
    elif weight is None:
        y = integral(integrand, a, b, 0.0, known=found[0], options=options)
    elif weight in ("cos", "sin"):
        options.update(maxp1=maxp1, limlst=limlst)
        y = integral(integrand, a, b, wvar, known=found[0], weight=weight, options=options)
    elif weight == "cauchy":
        y = integral(lambda s: integrand(wvar + s), a - wvar, b - wvar, 0.0, known=found[0],
                     weight=weight, options={**options, "wvar": 0.0})  # fmt: skip
    else:
        y = algebraic(integrand, a, b, weight, wvar, found[0], options)
    return (y, *found[1:])


def algebraic(f: Callable, a: Any, b: Any, weight: str, wvar: tuple, known: Any, options: dict):
    """The integral with the weight (t - a)^α (b - t)^β, perhaps times logarithms."""
    width = b - a
    if weight in LOGARITHMS and width is not plain(width):
        raise LimitError(
            f"scipy.integrate.quad with weight={weight!r} has no derivative rule for its limits, "
            "on which the logarithm in the weight depends. Write the logarithm into the integrand, "
            'with weight="alg", or wrap the limits in autodiff.ignore_derivatives(...).'
        )
    alpha, beta = plain(wvar)
    if wvar[0] is not alpha or wvar[1] is not beta:
        raise LimitError(
            f"scipy.integrate.quad with weight={weight!r} has no derivative rule for the exponents "
            "in wvar. Write the power into the integrand, without a weight, or wrap the exponents "
            "in autodiff.ignore_derivatives(...)."
        )
    if weight in LOGARITHMS:
        options = {**options, "wvar": (alpha, beta)}
        return integral(f, a, b, 0.0, known=known, weight=weight, options=options)
    scale = width ** (1.0 + alpha + beta)
    options = {**options, "wvar": (alpha, beta)}
    return scale * integral(
        lambda u: f(a + width * u), 0.0, 1.0, 0.0, known=known / plain(scale), weight="alg",
        options=options,
    )  # fmt: skip


@decompose(integrate.quad_vec, Callable)
def quad_vec(f: Callable, a: Any, b: Any, epsabs: float = 1e-200, epsrel: float = 1e-8,
             norm: str = "2", cache_size: float = 100e6, limit: int = 10000, workers: Any = 1,
             points: Any = None, quadrature: Any = None, full_output: bool = False, *,
             args: Any = ()) -> tuple:  # fmt: skip
    if not isinstance(args, tuple):
        args = (args,)

    def integrand(t):
        return f(t, *args)

    options = {"epsabs": epsabs, "epsrel": epsrel, "norm": norm, "cache_size": cache_size,
               "limit": limit, "points": points, "quadrature": quadrature,
               "full_output": full_output}  # fmt: skip
    found = quad_vec_plainly(integrand, a, b, options)
    options = {"limit": max(50, min(limit, 1000))}
    if points is not None and not np.any(np.isinf(plain((a, b)))):
        options["points"] = plain(points)
        if is_moving(points):
            how = [lambda: {"points": points}]
            return (over_box(integrand, [lambda: (a, b)], how, (), found[0]), *found[1:])
    return (integral(integrand, a, b, 0.0, known=found[0], options=options), *found[1:])
