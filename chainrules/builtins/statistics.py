"""The standard library's ``statistics``: means, spreads, and what two sequences have in common.

The module computes exactly, on fractions; the rules take its value as it is, and give the
derivatives of the textbook formulas in floating point. With m the mean and n the number of data:
∂s²/∂x_i = 2 (x_i - m) / (n - 1), the term from m being a sum of deviations and so zero; the rest
follows by the chain rule. The slope of a regression is s_xy / s_xx, its intercept m_y - slope m_x.

Medians and quantiles pick from sorted data, and are traced. At a spread of zero the standard
deviation has gradient 0, as norms have.
"""

from __future__ import annotations

import inspect
import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.builtins.numbers import SEQUENCE
from chainrules.elementwise.trigonometric import nonzero
from chainrules.refused import RefusedError, refuse
from chainrules_core import (
    NoTangent,
    ProjectTo,
    Real,
    Tangent,
    decompose,
    frule,
    rrule,
    scalar_rule,
    thunk,
    unthunk,
)
from chainrules_core.authoring import array_of, fit, natural

# ------------------------------------------------------------------------------- how rules are made


NONE = type(None)


def as_float(y: Any) -> Any:
    """Return the integer 0, which some functions give, as a float."""
    return float(y) if type(y) is int else y


def floats(x: Any) -> Any:
    """Return data as an array, if they are floats and integers."""
    array = array_of(x)
    if getattr(array, "dtype", None) == np.dtype(object):
        raise RefusedError(
            "a function of the module statistics",
            "the data mix floats with fractions or decimals, which have no derivative. Convert "
            "them to floats.",
        )
    return array


def of_sequences(
    f: Callable, gradients: Callable, types: tuple, names: str, options: str = ""
) -> None:
    """Register the rules of a function whose value is one number, from its gradients.

    Parameters
    ----------
    f : callable
        The function.
    gradients : callable
        ``gradients(y, *arrays, **options)`` returns one function for each argument, which makes
        the gradient with respect to it when called.
    types : tuple
        Those of the arguments.
    names, options : str
        What the arguments and the options are called; the last argument may be None, and left out,
        if `types` says so.
    """
    keep = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, keep[0]) for name in names.split()]
    if NONE in types[-1]:
        parameters[-1] = parameters[-1].replace(default=None)
    parameters += [inspect.Parameter(name, keep[1]) for name in options.split()]

    def statistic_rrule(*args: Any, **chosen: Any) -> Any:
        y = as_float(f(*args, **chosen))

        def statistic_pullback(y_bar: Any) -> tuple:
            arrays = [floats(a) for a in args]
            bars = [
                NoTangent() if a is None else thunk(lambda g=g, a=a: ProjectTo(a)(y_bar * g()))
                for g, a in zip(gradients(y, *arrays, **chosen), args, strict=True)
            ]
            return tuple(bars) if len(bars) > 1 else bars[0]

        return y, statistic_pullback

    def statistic_frule(dots: tuple, *args: Any, **chosen: Any) -> Any:
        y = as_float(f(*args, **chosen))
        arrays = [floats(a) for a in args]
        terms = [
            np.sum(g() * array_of(natural(dot, a)))
            for g, dot, a in zip(gradients(y, *arrays, **chosen), dots, args, strict=True)
            if a is not None
        ]
        return y, fit(sum(terms[1:], terms[0]), y)

    signature = inspect.Signature(parameters)
    statistic_rrule.__signature__ = signature  # type: ignore[attr-defined] # so that names count
    dots = inspect.Parameter("dots", keep[0])
    statistic_frule.__signature__ = signature.replace(  # type: ignore[attr-defined] # likewise
        parameters=[dots, *parameters]
    )
    rrule.register(f, *types)(statistic_rrule)
    frule.register(f, *types)(statistic_frule)


# -------------------------------------------------------------------------------------------- means


def even(y: Any, data: Any) -> tuple:
    return (lambda: np.full(np.shape(data), 1 / np.size(data)),)


def weighted(y: Any, data: Any, weights: Any) -> tuple:
    if weights is None:
        return *even(y, data), None
    total = np.sum(weights)
    return lambda: weights / total, lambda: (data - y) / total


def geometric(y: Any, data: Any) -> tuple:
    return (lambda: y / (np.size(data) * data),)


def harmonic(y: Any, data: Any, weights: Any) -> tuple:
    """With y = W / Σ w/x: ∂y/∂x = (w/W) (y/x)², ∂y/∂w = (y/W) (1 - y/x)."""
    weights = np.ones_like(data) if weights is None else weights
    total = np.sum(weights)
    zeros = np.equal(data, 0)
    at_zero = np.sum(np.where(zeros, weights, 0))
    # At a zero the mean is 0, and y/x is its limit, the share of the zeros' weights.
    limit = total / np.where(at_zero == 0, 1, at_zero)
    ratio = np.where(zeros, limit, y / np.where(zeros, 1, data))
    return lambda: weights / total * ratio**2, lambda: y / total * (1 - ratio)


WEIGHTS = (SEQUENCE, (*SEQUENCE, NONE))

of_sequences(statistics.mean, even, (SEQUENCE,), "data")
of_sequences(statistics.fmean, weighted, WEIGHTS, "data weights")
of_sequences(statistics.geometric_mean, geometric, (SEQUENCE,), "data")
of_sequences(statistics.harmonic_mean, harmonic, WEIGHTS, "data weights")

# ------------------------------------------------------------------------------------------ spreads


def variance_rules(f: Callable, given: str, taken: int, is_root: bool) -> None:
    """Register the rules of a variance or deviation, with the mean `given` or not."""

    def scale(y: Any, data: Any) -> Any:
        n = np.size(data) - taken
        return 1 / (n * nonzero(y)) if is_root else 2 / n

    def gradients(y: Any, data: Any, mean: Any) -> tuple:
        centre = np.mean(data) if mean is None else mean
        return (
            lambda: scale(y, data) * (data - centre),
            lambda: scale(y, data) * np.sum(centre - data),
        )

    of_sequences(f, gradients, (SEQUENCE, (*Real, NONE)), f"data {given}")


variance_rules(statistics.variance, "xbar", 1, False)
variance_rules(statistics.stdev, "xbar", 1, True)
variance_rules(statistics.pvariance, "mu", 0, False)
variance_rules(statistics.pstdev, "mu", 0, True)

# ----------------------------------------------------------------------------------- two variables


def centred(x: Any) -> Any:
    return x - np.mean(x)


def covariance(r: Any, x: Any, y: Any) -> tuple:
    n = np.size(x) - 1
    return lambda: centred(y) / n, lambda: centred(x) / n


def correlation(r: Any, x: Any, y: Any, method: str = "linear") -> tuple:
    """With u, v the centred data: ∂r/∂x = v / (|u| |v|) - r u / |u|²."""
    if method == "ranked":  # ranks are constant between ties
        return lambda: np.zeros_like(x), lambda: np.zeros_like(y)
    u, v = centred(x), centred(y)
    uu, vv = np.sum(u * u), np.sum(v * v)
    norms = np.sqrt(uu * vv)
    return lambda: v / norms - r * u / uu, lambda: u / norms - r * v / vv


of_sequences(statistics.covariance, covariance, (SEQUENCE, SEQUENCE), "x y")
has_method = "method" in inspect.signature(statistics.correlation).parameters
of_sequences(
    statistics.correlation, correlation, (SEQUENCE, SEQUENCE), "x y", "method" if has_method else ""
)


def line_gradients(line: Any, x: Any, y: Any, proportional: bool) -> tuple:
    """Return the gradients of slope and intercept, each with respect to x and to y."""
    slope = line[0]
    if proportional:
        xx = np.sum(x * x)
        zero = np.zeros_like(x)
        return ((y - 2 * slope * x) / xx, x / xx), (zero, zero)
    u, v, n = centred(x), centred(y), np.size(x)
    uu = np.sum(u * u)
    by_x, by_y = (v - 2 * slope * u) / uu, u / uu
    mean = np.mean(x)
    return (by_x, by_y), (-mean * by_x - slope / n, 1 / n - mean * by_y)


@rrule.register(statistics.linear_regression, SEQUENCE, SEQUENCE)
def linear_regression_rrule(x: Any, y: Any, *, proportional: bool = False) -> Any:
    line = statistics.linear_regression(x, y, proportional=proportional)

    def linear_regression_pullback(line_bar: Any) -> tuple:
        slopes, intercepts = line_gradients(line, array_of(x), array_of(y), proportional)
        bars = unthunk(line_bar[0]), unthunk(line_bar[1])
        x_bar, y_bar = (bars[0] * s + bars[1] * i for s, i in zip(slopes, intercepts, strict=True))
        return ProjectTo(x)(x_bar), ProjectTo(y)(y_bar)

    return line, linear_regression_pullback


@frule.register(statistics.linear_regression, SEQUENCE, SEQUENCE)
def linear_regression_frule(dots: tuple, x: Any, y: Any, *, proportional: bool = False) -> Any:
    line = statistics.linear_regression(x, y, proportional=proportional)
    x_dot, y_dot = (array_of(natural(d, a)) for d, a in zip(dots, (x, y), strict=True))
    rows = line_gradients(line, array_of(x), array_of(y), proportional)
    parts = [np.sum(by_x * x_dot) + np.sum(by_y * y_dot) for by_x, by_y in rows]
    fitted = [fit(part, value) for part, value in zip(parts, line, strict=True)]
    return line, Tangent[type(line)](slope=fitted[0], intercept=fitted[1])


# ----------------------------------------------------------------- the normal distribution; refused

# The C function behind NormalDist.inv_cdf: x = mu + sigma z with Φ(z) = p, so ∂x/∂p = sigma / φ(z).
if hasattr(statistics, "_normal_dist_inv_cdf"):
    scalar_rule(
        statistics._normal_dist_inv_cdf,
        lambda x, p, mu, sigma: (
            sigma * math.sqrt(2 * math.pi) * np.exp(((x - mu) / sigma) ** 2 / 2)
        ),
        1,
        lambda x, p, mu, sigma: (x - mu) / sigma,
    )

# What NormalDist.from_samples calls.
if hasattr(statistics, "_mean_stdev"):

    @decompose(statistics._mean_stdev)
    def mean_and_deviation(data):
        data = list(data)
        return statistics.fmean(data), statistics.stdev(data)


refuse(
    (statistics.mode, statistics.multimode),
    "the most common value is found by equality, which any change of a value breaks. Wrap the data "
    "in autodiff.ignore_derivatives(...).",
)
