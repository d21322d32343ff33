"""Derivatives by orders and shapes that have no closed form, from interpolation in the parameter.

Between its poles each of these functions is analytic in its order or shape p. On [p - r, p + r] it
is replaced by its interpolant in the N Chebyshev points p + r t_j, t_j = cos((2j+1)π/2N), whose
slope at p is

    1/r Σ_j w_j f(p + r t_j),    w_j = 2/N Σ_{k odd < N} (-1)^((k-1)/2) k cos(k(2j+1)π/2N).

For a function analytic in an ellipse around the interval whose half axes add up to ρ r the error
falls like ρ^-N (Trefethen, Approximation Theory and Approximation Practice, theorem 8.2): with a
singularity at distance 3r, ρ = 5.8, it is some 1e-14 of the derivative for N = 20. Values that are
exact to rounding make an error of some N ε |f|/r. These are no difference quotients of small steps:
r is of the size of p.

What a rule promises is not left to that estimate. The terms of the last odd k show what is
neglected, be it truncation or rounding; where they exceed 1e-9 of the derivative the interval is
made smaller, and where that does not help a `ParameterDerivativeError` is raised. The tests compare
with mpmath to 1e-8.

All this is plain NumPy on the function's own values, so an engine differentiates through it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_core import ChainRulesError, not_implemented
from chainrules_core.interpreter.noticed import forgive
from chainrules_core.rule import name_of

N = 20
ODD = range(1, N, 2)
NODES = [np.float64(math.cos((2 * j + 1) * math.pi / (2 * N))) for j in range(N // 2)]
TERMS = [
    [
        2 / N * k * (-1) ** ((k - 1) // 2) * math.cos(k * (2 * j + 1) * math.pi / (2 * N))
        for j in range(N // 2)
    ]
    for k in ODD
]
WEIGHTS = [math.fsum(column) for column in zip(*TERMS, strict=True)]

RELATIVE = 1e-9  # of the derivative: what may be neglected
ROUNDING = 1e-11  # of |f|/r: what is rounding, for functions good to 13 digits
SHRINK = 4.0
TRIES = 4

Reach = Callable[..., Any]


class ParameterDerivativeError(ChainRulesError, ArithmeticError):
    """A function changes too fast, or is too inexact, for its derivative by a parameter.

    Attributes
    ----------
    name : str
        The function.
    position : int
        The position of the argument.
    """

    def __init__(self, name: str, position: int) -> None:
        super().__init__(name, position)
        self.name, self.position = name, position

    def __str__(self) -> str:
        return (
            f"The derivative of {self.name} by argument {self.position + 1} could not be computed "
            "to nine digits here: there the function's values are too inexact, or it has a "
            "singularity in this argument. Move the argument away from the edge of its domain, or "
            "hold it constant with autodiff.ignore_derivatives(...)."
        )


def slope_at(differences: list, radius: Any) -> tuple[Any, Any]:
    """Return the interpolant's slope and what is neglected in it."""
    slope: Any = 0.0
    tails: list[Any] = [0.0, 0.0, 0.0]
    for j, d in enumerate(differences):
        slope = slope + WEIGHTS[j] * d
        tails = [tail + TERMS[k][j] * d for tail, k in zip(tails, (-1, -2, -3), strict=True)]
    last, before, earlier = (np.abs(tail) for tail in tails)
    # Terms that fall go on falling at this rate; those of rounding do not fall. One of the two
    # may vanish by symmetry.
    tiny = np.finfo(float).tiny
    error = np.maximum(
        last * np.minimum(1, last / (before + tiny)),
        before * np.minimum(1, before / (earlier + tiny)) ** 2,
    )
    return slope / radius, error / radius


def parameter_slope(f: Callable, args: tuple, position: int, radius: Any, y: Any = None) -> Any:
    """Return ∂f/∂args[position], from values of `f` within `radius` of the parameter."""
    before, p, after = args[:position], args[position], args[position + 1 :]

    def attempt(r: Any) -> tuple[Any, Any, Any]:
        try:
            differences = [
                f(*before, p + r * t, *after) - f(*before, p - r * t, *after) for t in NODES
            ]
        except (ArithmeticError, ValueError):  # so far from the parameter it has no value
            differences = [np.full(np.shape(y), np.nan)] * len(NODES)
        slope, error = slope_at(differences, r)
        small = np.maximum(RELATIVE * np.abs(slope), ROUNDING * np.abs(y) / r)
        return slope, error, (error <= small) | ~np.isfinite(y)

    with np.errstate(all="ignore"):
        y = f(*args) if y is None else y
        slope, error, good = attempt(radius)
        for _ in range(TRIES):
            if np.all(good):
                return slope
            radius = radius / SHRINK
            new_slope, new_error, new_good = attempt(radius)
            better = ~good & (new_good | (new_error < error) | ~np.isfinite(error))
            slope = np.where(better, new_slope, slope)
            error = np.where(better, new_error, error)
            good = good | new_good
    if not np.all(good):
        raise ParameterDerivativeError(name_of(f), position)
    return slope


def by_parameter(f: Callable, position: int, reach: Reach) -> Callable:
    """Return the partial derivative of `f` by an argument, for ``scalar_rule``.

    Parameters
    ----------
    f : callable
        An elementwise function of one output.
    position : int
        Which of its arguments.
    reach : callable
        ``reach(*args)``: how far from the argument to look; about a third of the distance of the
        next singularity, and not so far that `f` changes by many orders of magnitude.
    """

    def partial(y: Any, *args: Any) -> Any:
        try:
            return parameter_slope(f, args, position, reach(*args), y)
        except ParameterDerivativeError as error:
            if np.result_type(args[position]).kind not in "iu":
                raise
            forgive(error)
            return not_implemented(str(error))  # of an integer, which nobody may ask for

    return partial


def output(f: Callable, i: int) -> Callable:
    """Return one output of a function of several."""

    def one_output(*args: Any) -> Any:
        return f(*args)[i]

    one_output.__qualname__ = one_output.__name__ = f.__name__
    one_output.__module__ = "scipy.special"
    return one_output


# ------------------------------------------------------------------------------- how far to look


def of_scale(p: Any) -> Any:
    """For a positive shape whose effect is felt over √p, with a singularity at 0."""
    return np.minimum(p / 3, np.sqrt(np.abs(p)) / 2)


def of_power(x: Any, most: float = 1.0) -> Any:
    """For an order p on which a function depends like x^p: where that changes by e^±2.5."""
    rate = np.abs(np.log(np.abs(x)))
    return most * 2.5 / (2.5 + np.where(np.isfinite(rate), rate, 0.0))


def to_poles(p: Any, most: float = 1.0) -> Any:
    """For a parameter with poles at 0, -1, -2 and so on."""
    return np.minimum(most, np.abs(p - np.minimum(np.round(p), 0.0)) / 3)
