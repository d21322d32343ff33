"""Continuous distributions: the methods behind pdf, cdf, ppf and their kin.

The public methods shift and scale, and call the method of the class with an underscore, on the
standard form; an engine traces both. What it cannot trace is ruled here, method by method:

    cdf F(x; s)      ∂F/∂x = f, the density          sf  likewise, with -
    ppf x(q; s)      ∂x/∂q = 1/f(x),  ∂x/∂s = -F_s/f(x)          isf  ∂x/∂q = -1/f(x)

By a shape, F_s comes from interpolation (`chainrules.scipy.special.parameters`), from the smaller
of F and 1 - F. So does everything about densities that SciPy evaluates from tables.

SciPy's own defaults are among them: integrating the density, solving F(x) = q. They are good to
some ten digits, and where the interpolation sees less than nine there is an error that says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from chainrules.scipy.special.incomplete import smaller_slope
from chainrules.scipy.special.parameters import ParameterDerivativeError, parameter_slope
from chainrules_core import (
    NoTangent,
    ZeroTangent,
    decompose,
    frule,
    not_implemented,
    rrule,
    thunk,
)
from chainrules_core.authoring import fit, strong_product
from chainrules_core.interpreter.noticed import forgive

# Whose shapes are integers: nothing depends on their fraction.
BY_INTEGERS = ("irwinhall", "ksone", "kstwo")


def near_shape(s: Any) -> Any:
    """Return how far from a shape to look: its domain is not known, but often ends at 0."""
    return np.where(s == 0, 0.3, np.minimum(np.abs(s) / 4, 0.25))


def near_point(dist: Any, x: Any, shapes: tuple) -> Any:
    low, high = dist._get_support(*shapes)
    return np.minimum(0.25, np.minimum(x - low, high - x) / 4)


def named_method(dist: Any, name: str) -> Callable:
    """Return a method as a function of numbers, named for errors."""

    def method(*args: Any) -> Any:
        return getattr(dist, name)(*args)

    method.__module__, method.__qualname__ = "scipy.stats", f"{dist.name}.{name.lstrip('_')}"
    return method


def by_shape(dist: Any, x: Any, shapes: tuple, i: int) -> Any:
    """Return ∂F(x)/∂s_i."""
    if dist.name in BY_INTEGERS:
        return ZeroTangent()
    cdf, sf = named_method(dist, "_cdf"), named_method(dist, "_sf")
    return smaller_slope(cdf, sf, (x, *shapes), i + 1, near_shape)


def of_distribution(sign: int) -> Callable:
    def slope(dist: Any, y: Any, x: Any, shapes: tuple, position: int) -> Any:
        if position == 0:
            return sign * dist._pdf(x, *shapes)
        return sign * by_shape(dist, x, shapes, position - 1)

    return slope


def of_quantile(sign: int) -> Callable:
    def slope(dist: Any, y: Any, q: Any, shapes: tuple, position: int) -> Any:
        if isinstance(dist, stats.rv_discrete):  # which inherits the same function
            return ZeroTangent()
        density = dist._pdf(y, *shapes)
        if position == 0:
            return sign / density
        return by_shape(dist, y, shapes, position - 1) * (-1 / density)

    return slope


def of_value(name: str) -> Callable:
    """Return the derivatives of a density, or of another function of x and the shapes."""

    def slope(dist: Any, y: Any, x: Any, shapes: tuple, position: int) -> Any:
        if position and dist.name in BY_INTEGERS:
            return ZeroTangent()
        args = (x, *shapes)
        reach = near_shape(args[position]) if position else near_point(dist, x, shapes)
        return parameter_slope(named_method(dist, name), args, position, reach, y)

    return slope


SLOPES = {
    "_cdf": of_distribution(1),
    "_sf": of_distribution(-1),
    "_ppf": of_quantile(1),
    "_isf": of_quantile(-1),
    "_pdf": of_value("_pdf"),
    "_logpdf": of_value("_logpdf"),
}


def method_rule(cls: type, name: str) -> None:
    """Register the rules of a method of the class."""
    f, slope = getattr(cls, name), SLOPES[name]

    @rrule.register(f, broadcasts=True)
    def method_rrule(dist: Any, x: Any, *shapes: Any) -> Any:
        y = f(dist, x, *shapes)

        def method_pullback(y_bar: Any) -> Any:
            def product(position: int) -> Any:
                try:
                    return slope(dist, y, x, shapes, position) * y_bar
                except ParameterDerivativeError as error:
                    forgive(error)  # SciPy broadcasts: perhaps nobody asks for this one
                    return not_implemented(str(error))

            def bar(position: int) -> Any:
                return thunk(lambda: product(position))

            return (NoTangent(), *[bar(j) for j in range(1 + len(shapes))])

        return y, method_pullback

    @frule.register(f)
    def method_frule(dots: tuple, dist: Any, x: Any, *shapes: Any) -> Any:
        y = f(dist, x, *shapes)
        total: Any = ZeroTangent()
        for j, dot in enumerate(dots[1:]):
            if not isinstance(dot, (NoTangent, ZeroTangent)) and np.any(dot != 0):
                total = total + strong_product(slope(dist, y, x, shapes, j), dot)
        return y, fit(total, y)


def in_place_of(cls: type, name: str) -> Callable:
    """Have engines differentiate the decorated body in place of a method of the class's own."""
    if name in vars(cls):
        return decompose(vars(cls)[name])
    return lambda body: body  # inherited: it would be replaced for every other class


def methods(names: str, *distributions: Any) -> None:
    """Register rules for those of the methods that the distributions' own classes define."""
    for dist in distributions:
        for name in names.split():
            if name in vars(type(dist)):
                method_rule(type(dist), name)


method_rule(stats.rv_continuous, "_cdf")
method_rule(stats.rv_continuous, "_ppf")
methods("_cdf _sf", stats.genhyperbolic, stats.geninvgauss, stats.vonmises)
methods("_cdf _sf _ppf _isf", stats.norminvgauss)
methods("_cdf _sf _ppf _isf", stats.skewnorm, stats.kstwo)
methods("_ppf _isf", stats.invgauss)
methods("_pdf _cdf _sf _ppf _isf", stats.landau, stats.irwinhall)
methods("_pdf", stats.kstwo)
methods("_pdf _logpdf _cdf _sf _ppf _isf", stats.pearson3)
# By quadrature in compiled code.
methods("_pdf _cdf", stats.studentized_range, stats.levy_stable)
