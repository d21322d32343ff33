"""Distributions of the newer kind (stats.Normal, make_distribution, Mixture, …).

Their methods are traced, down to what they compute by searches and adaptive rules:

    integrals         sums (`chainrules.scipy.stats.quadrature`)
    x with F(x) = p   two steps of Newton's method, x - (F(x) - p)/f(x), from the solution: the
                      first makes the first derivative right, the second those up to the third
    the mode          the same for the slope of log f, whose derivatives are those of an interpolant

All of them leave the value as SciPy has found it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.refused import refuse
from chainrules.scipy.found import with_value
from chainrules.scipy.private import Private
from chainrules.scipy.stats.quadrature import as_found, between, plain, quadrature
from chainrules_core import ChainRulesError, decompose, non_differentiable

base = Private("stats._distribution_infrastructure")

# SciPy 1.15 has no discrete ones, and no class above the continuous.
CONTINUOUS = base.ContinuousDistribution
UNIVARIATE = base.get("UnivariateDistribution") or CONTINUOUS
methods = Private("stats.UnivariateDistribution", UNIVARIATE)


class SumError(ChainRulesError, ArithmeticError):
    """A sum whose derivative could not be computed."""


# ------------------------------------------------------------------------------ integrals and sums

MOST = 20_000
AGREE = 1e-9


def name_of(dist: Any) -> str:
    return f"a method of scipy.stats.{type(dist).__name__}"


def quadrature_of(
    self: Any, integrand: Callable, limits: Any = None, args: Any = None, params: Any = None,
    log: bool = False,
) -> Any:  # fmt: skip
    params = {} if params is None else params
    a, b = self._support(**params) if limits is None else limits
    args = [] if args is None else args
    known = as_found(integrate, self, integrand, (a, b), args, params, log)

    def f(x: Any) -> Any:
        return integrand(x, *args, **params)

    if isinstance(self, CONTINUOUS):
        return quadrature(f, a, b, known, log=log, name=name_of(self))
    return summed(f, plain(a), plain(b), known, log, name_of(self))


if base is not None:
    integrate = UNIVARIATE._quadrature
    decompose(integrate)(quadrature_of)


def summed(f: Callable, a: Any, b: Any, known: Any, log: bool, name: str) -> Any:
    """Return the sum over the integers from a to b, whose value is known."""
    a, b = np.broadcast_arrays(a, b)
    if not np.all(np.isfinite(a)):
        raise SumError(
            f"the derivative of {name} could not be computed: it is a sum without a lowest term, "
            "which has no rule. Sum enough terms yourself, or wrap the parameters in "
            "autodiff.ignore_derivatives(...) if the result is to be a constant."
        )
    count = np.max(np.where(np.isfinite(b), b, a + MOST) - a, initial=0.0)
    steps = np.arange(min(int(count), MOST) + 1.0).reshape(-1, *[1] * np.ndim(a))
    k = a + steps
    inside = k <= b
    with np.errstate(all="ignore"):
        y = plain(f(np.where(inside, k, a)))
    size = np.where(inside, np.abs(np.exp(y) if log else y), 0.0)
    size = np.where(np.isfinite(size), size, 0.0)
    counts = between(size > 1e-20 * np.max(size, axis=0, initial=0.0))
    rows = np.flatnonzero(np.any(counts, axis=tuple(range(1, np.ndim(counts)))))
    rows = rows if rows.size else np.array([0])
    best = a + np.argmax(size, axis=0)
    k, counts = np.where(counts, k, best)[rows], counts[rows]
    terms = f(k)
    if log:
        total = np.log(np.sum(np.where(counts, np.exp(terms), 0.0), axis=0))
    else:
        total = np.sum(np.where(counts, terms, 0.0), axis=0)
    far = np.abs(plain(total) - known) > AGREE * np.maximum(1.0, np.abs(known))
    if np.any(far & np.isfinite(known)):
        raise SumError(
            f"the derivative of {name} could not be computed: it is a sum that converges too "
            "slowly. Use a closed form if there is one, or wrap the parameters in "
            "autodiff.ignore_derivatives(...) if the result is to be a constant."
        )
    return with_value(known, total)


# ------------------------------------------------------------------------------------- inversions


def probabilities(self: Any, log: bool = False) -> Callable:
    """Return the method for the density or the mass function."""
    kind = "pxf" if hasattr(self, "_pxf_dispatch") else "pdf"
    return getattr(self, f"_{'log' if log else ''}{kind}_dispatch")


def newton(x: Any, residual: Callable, slope: Callable) -> Any:
    """Return the zero of a function, moved by what the function depends on."""
    x0 = plain(x)
    inside = np.isfinite(x0) & (plain(slope(np.where(np.isfinite(x0), x0, 0.0))) != 0)
    start = np.where(inside, x0, 0.0)
    y = start
    for _ in range(2):
        step = np.where(inside, residual(y), 0.0) / np.where(inside, slope(y), 1.0)
        y = y - step
    return with_value(x0, y)


def inversion(name: str, distribution: str, sign: float, log: bool) -> None:
    """Register the body of the inverse of F, 1 - F or a logarithm of them."""
    if name not in vars(UNIVARIATE):
        return
    found = getattr(UNIVARIATE, name)

    @decompose(found)
    def inversion_body(self: Any, x: Any, **params: Any) -> Any:
        f = getattr(self, distribution)
        y = as_found(found, self, x, **params)

        def slope(y: Any) -> Any:
            density = probabilities(self)(y, **params)
            return sign * (density / np.exp(f(y, **params)) if log else density)

        return newton(y, lambda y: f(y, **params) - x, slope)


def mixture_inverse(self: Any, fun: str, p: Any) -> Any:
    y = as_found(invert_mixture, self, fun, p)
    f = getattr(self, fun)
    sign = -1.0 if fun.endswith("ccdf") else 1.0

    def slope(y: Any) -> Any:
        return sign * (self.pdf(y) / np.exp(f(y)) if fun.startswith("log") else self.pdf(y))

    return newton(y, lambda y: f(y) - p, slope)


def mixture_entropy(self: Any, *, method: Any = None) -> Any:
    known = as_found(entropy_of_mixture, self, method=method)
    a, b = self.support()
    return quadrature(lambda x: -self.pdf(x) * self.logpdf(x), a, b, known, name=name_of(self))


def mixture_sum(self: Any, fun: str, *args: Any) -> Any:
    parts = [getattr(var, fun)(*args) for var in self._components]
    return sum(w * y for w, y in zip(self._weights, parts, strict=True))


def mixture_logsum(self: Any, fun: str, *args: Any) -> Any:
    parts = [getattr(var, fun)(*args) for var in self._components]
    y = -np.inf
    for log_weight, part in zip(np.log(self._weights), parts, strict=True):
        y = np.logaddexp(y, part + log_weight)
    return y


def mixture_moment(self: Any, order: Any) -> Any:
    parts = [var.moment(order, kind="raw") for var in self._components]
    return sum(w * y for w, y in zip(self._weights, parts, strict=True))


def mixture_central_moment(self: Any, order: Any) -> Any:
    order, mean, total = int(order), self.mean(), 0.0
    for var, weight in zip(self._components, self._weights, strict=True):
        central = [var.moment(k, kind="central") for k in range(order + 1)]
        total = total + weight * moment_about(var, order, central, var.mean(), mean)
    return total


def moment_about(self: Any, order: Any, moment_as: Any, a: Any, b: Any) -> Any:
    """Return the moment about b from those about a: Σ C(n, k) m_k (a - b)^(n-k)."""
    n = int(order)
    parts = [math.comb(n, k) * moment_as[k] * (a - b) ** (n - k) for k in range(n + 1)]
    return sum(parts[1:], parts[0])


# ------------------------------------------------------------------------------------------- modes

NODES = np.cos((2 * np.arange(21) + 1) * np.pi / 42)
_TO_COEFFICIENTS = np.linalg.inv(np.polynomial.chebyshev.chebvander(NODES, 20))


def _at_zero(order: int) -> Any:
    """Return weights of values at the nodes for a derivative of their interpolant at 0."""
    units = np.polynomial.chebyshev.chebder(np.eye(21), order)
    return np.polynomial.chebyshev.chebval(0.0, units) @ _TO_COEFFICIENTS


SLOPE, CURVATURE = _at_zero(1), _at_zero(2)


def moved_mode(mode: Any, a: Any, b: Any, width: Any, log_density: Callable) -> Any:
    """Return a mode, found by a search, moved by what the density depends on."""
    x0 = plain(mode)
    low, high = plain(a), plain(b)
    at_low, at_high = x0 == low, x0 == high
    inside = ~(at_low | at_high) & np.isfinite(x0)
    radius = np.minimum(plain(width), np.minimum(x0 - low, high - x0) / 2)
    radius = np.where(inside, radius, 1.0)
    nodes = NODES.reshape(-1, *[1] * np.ndim(x0)) * radius

    def derivatives(x: Any) -> tuple:
        values = log_density(x + nodes)
        slope = np.tensordot(SLOPE, values, 1) / radius
        return slope, np.tensordot(CURVATURE, values, 1) / radius**2

    y = np.where(inside, x0, (np.where(np.isfinite(low), low, 0.0) + 1.0))
    for _ in range(2):
        slope, curvature = derivatives(y)
        y = y - np.where(inside, slope / curvature, 0.0)
    return with_value(x0, np.where(at_low, a, np.where(at_high, b, y)))


def mode_of(self: Any, xatol: Any = None, **params: Any) -> Any:
    options = {} if xatol is None else {"xatol": xatol}
    mode = as_found(optimize_mode, self, **options, **params)
    a, b = self._support(**params)
    quartiles = [self._icdf_dispatch(np.asarray(q), **params) for q in (0.25, 0.75)]
    width = (quartiles[1] - quartiles[0]) / 4
    return moved_mode(mode, a, b, width, lambda x: probabilities(self, log=True)(x, **params))


def mixture_mode(self: Any, *, method: Any = None) -> Any:
    mode = as_found(mode_of_mixture, self, method=method)
    width = (self.icdf(0.75) - self.icdf(0.25)) / 4
    a, b = self.support()
    return moved_mode(mode, a, b, width, self.logpdf)


if base.has("ContinuousDistribution", "Mixture"):
    inversion("_icdf_inversion", "_cdf_dispatch", 1.0, False)
    inversion("_iccdf_inversion", "_ccdf_dispatch", -1.0, False)
    inversion("_ilogcdf_inversion", "_logcdf_dispatch", 1.0, True)
    inversion("_ilogccdf_inversion", "_logccdf_dispatch", -1.0, True)
    decompose(methods._moment_transform_center)(moment_about)
    optimize_mode = methods._mode_optimization
    decompose(optimize_mode)(mode_of)
    for _cls in (base.get("DiscreteDistribution"),):
        for _name in (
            "_icdf_inversion", "_iccdf_inversion", "_ilogcdf_inversion", "_ilogccdf_inversion",
            "_mode_optimization",
        ):  # fmt: skip
            if _cls is not None and _name in vars(_cls):
                non_differentiable(getattr(_cls, _name))  # integers
    _mixture = Private("stats.Mixture", base.Mixture)
    invert_mixture, entropy_of_mixture = _mixture._invert, _mixture.entropy
    mode_of_mixture = _mixture.mode
    decompose(invert_mixture)(mixture_inverse)
    decompose(entropy_of_mixture)(mixture_entropy)
    decompose(mode_of_mixture)(mixture_mode)
    decompose(_mixture._sum)(mixture_sum)
    decompose(_mixture._logsum)(mixture_logsum)
    decompose(_mixture._moment_raw)(mixture_moment)
    decompose(_mixture._moment_central)(mixture_central_moment)
    refuse(
        _mixture.logentropy,
        "it is the logarithm of an integral that may be negative. Use np.log(X.entropy() + 0j).",
    )
