"""quad, quad_vec, dblquad, tplquad, nquad: adaptive integrals, in terms of `integral`.

Two weights become others with limits that do not touch them: Cauchy's 1/(t - c) is 1/s of
s = t - c, and the algebraic (t - a)^α (b - t)^β with u = (t - a)/(b - a) is
(b - a)^(1 + α + β) u^α (1 - u)^β on [0, 1].
Iterated integrals are integrals of integrals. Estimates of errors are constants.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate

from chainrules.scipy.integrate.integrals import integral
from chainrules_core import decompose, non_differentiable
from chainrules_core.errors import ChainRulesError

QUAD = ("epsabs", "epsrel", "limit", "points", "weight", "wvar", "wopts", "maxp1", "limlst")
LOGARITHMS = ("alg-loga", "alg-logb", "alg-log")


class LimitError(ChainRulesError, TypeError):
    """An integral has no derivative in this form."""


def quad_plainly(func: Callable, a: Any, b: Any, wvar: Any, options: dict) -> tuple:
    """Call quad where nothing is traced."""
    return integrate.quad(func, a, b, wvar=wvar, **options)


def quad_vec_plainly(func: Callable, a: Any, b: Any, options: dict) -> tuple:
    """Call quad_vec where nothing is traced."""
    return integrate.quad_vec(func, a, b, **options)


def plain(x: Any) -> Any:
    """The values of what may be traced."""
    return x


for f in (quad_plainly, quad_vec_plainly):
    non_differentiable(f, Callable)
non_differentiable(plain)


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
    if weight is None:
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
            f"scipy.integrate.quad with weight={weight!r} is not differentiated by its limits: "
            "the logarithm is of the distance from them. Write the logarithm into the integrand, "
            'with weight="alg", or wrap the limits in autodiff.ignore_derivatives(...).'
        )
    alpha, beta = plain(wvar)
    if wvar[0] is not alpha or wvar[1] is not beta:
        raise LimitError(
            f"scipy.integrate.quad with weight={weight!r} is not differentiated by the exponents "
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
    return (integral(integrand, a, b, 0.0, known=found[0], options=options), *found[1:])


def iterated(func: Callable, limits: list, options: list, args: tuple, full_output: Any) -> tuple:
    """Integrate over the last variable, outside, to the first; `limits` give (low, high)."""
    errors: list = []
    counts: list = []
    n = len(limits)

    def inner(depth, *outer):
        i = n - 1 - depth
        low, high = limits[i](*outer, *args)
        how = dict(options[i](*outer, *args))
        if "points" in how:
            how["points"] = [p for p in how["points"] if low <= p <= high]
        if i == 0:

            def integrand(t):
                return func(t, *outer, *args)

        else:

            def integrand(t):
                return inner(depth + 1, t, *outer)

        y, error, info, *_ = integrate.quad(integrand, low, high, full_output=1, **how)
        errors.append(plain(error))
        if i == 0:
            counts.append(info["neval"])
        return y

    y = inner(0)
    result = y, max(errors)
    return (*result, {"neval": sum(counts)}) if full_output else result


def constantly(x: Any) -> Callable:
    """A function that returns `x` whatever it is given; a function as it is."""
    return x if callable(x) else lambda *_: x


def pair_of(low: Any, high: Any, n: int) -> Callable:
    """The two limits as one function of `n` outer variables."""
    return lambda *outer: (constantly(low)(*outer[:n]), constantly(high)(*outer[:n]))


@decompose(integrate.dblquad, Callable)
def dblquad(func: Callable, a: Any, b: Any, gfun: Any, hfun: Any, args: Any = (),
            epsabs: float = 1.49e-8, epsrel: float = 1.49e-8) -> tuple:  # fmt: skip
    limits = [pair_of(gfun, hfun, 1), pair_of(a, b, 0)]
    how = constantly({"epsabs": epsabs, "epsrel": epsrel})
    return iterated(func, limits, [how, how], tuple(args), False)


@decompose(integrate.tplquad, Callable)
def tplquad(func: Callable, a: Any, b: Any, gfun: Any, hfun: Any, qfun: Any, rfun: Any,
            args: Any = (), epsabs: float = 1.49e-8, epsrel: float = 1.49e-8):  # fmt: skip
    limits = [pair_of(qfun, rfun, 2), pair_of(gfun, hfun, 1), pair_of(a, b, 0)]
    # SciPy hands the variables of qfun and rfun over in the order x, y.
    limits[0] = lambda y, x, *_: (constantly(qfun)(x, y), constantly(rfun)(x, y))
    how = constantly({"epsabs": epsabs, "epsrel": epsrel})
    return iterated(func, limits, [how, how, how], tuple(args), False)


@decompose(integrate.nquad, Callable)
def nquad(func: Callable, ranges: Any, args: Any = None, opts: Any = None,
          full_output: bool = False) -> tuple:  # fmt: skip
    if args is None:
        args = ()
    if not isinstance(args, tuple):
        args = (args,)
    if opts is None:
        opts = {}
    options = [opts] * len(ranges) if isinstance(opts, dict) else opts
    return iterated(
        func, list(map(constantly, ranges)), list(map(constantly, options)), args, full_output
    )
