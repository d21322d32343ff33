"""Least squares: minima of half the sum of ρ(r²), and what is fitted by them.

``least_squares`` minimises the cost s² / 2 Σ ρ(r_i² / s²) with s = f_scale, ``leastsq`` half the
sum of squares, ``curve_fit`` that of the residuals f(x, p) - y in units of sigma, or rᵀ Σ⁻¹ r for a
covariance matrix Σ. Their minima are those of :mod:`chainrules.scipy.optimize.minima`, with the
full Hessian of the cost: unlike JᵀJ, which drives the iteration, it gives the derivative also where
the residuals do not vanish. With the Jacobian J of the residuals at the fit, the covariance is

    (JᵀJ)⁻¹ Σ r² / (m - n),

without the last factor if sigma is absolute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from chainrules.scipy.found import with_value
from chainrules.scipy.optimize.implicit import (
    ImplicitError,
    decomposed,
    known,
    tuple_of,
    with_fields,
    with_others,
)
from chainrules.scipy.optimize.minima import Minimum, converged_digits, minimum_at, place_of_minimum
from chainrules_core import NoTangent, frule_via_ad


def _soft_l1(z: Any) -> Any:
    return 2 * (np.sqrt(1 + z) - 1)


def _huber(z: Any) -> Any:
    return np.where(z <= 1, z, 2 * np.sqrt(np.maximum(z, 1)) - 1)


LOSSES = {"soft_l1": _soft_l1, "huber": _huber, "cauchy": np.log1p, "arctan": np.arctan}


def residuals(params: tuple, x: Any) -> Any:
    """The residuals, as a vector."""
    f, args, kwargs = params[:3]
    return np.ravel(f(x, *args, **kwargs))


def cost(spec: Minimum, params: tuple, x: Any) -> Any:
    """What is minimised."""
    r = residuals(params, x)
    if spec.option == "linear":
        return np.sum(np.square(r)) / 2
    loss, scale = params[3:]
    z = np.square(r / scale)
    if spec.option is None:
        return np.sum(np.square(scale) * loss(z)[0]) / 2
    return np.sum(np.square(scale) * LOSSES[spec.option](z)) / 2


@decomposed(optimize.least_squares, Callable)
def least_squares_body(call, result):
    """The minimum, the cost and the residuals of a result."""
    loss = call["loss"]
    own = callable(loss)
    spec = Minimum(
        "scipy.optimize.least_squares",
        np.size(result.x),
        np.shape(result.x),
        cost,
        digits=converged_digits(result),
        option=None if own else str(loss),
    )
    kwargs = {} if call["kwargs"] is None else call["kwargs"]
    params = call["fun"], tuple_of(call["args"]), kwargs, loss if own else None, call["f_scale"]
    bounds = box(call["bounds"], spec.n)
    x, y = minimum_at(spec, params, result.x, bounds)
    r = residuals(params, x)
    found = with_others(result, x, spec.name, ("x", "cost", "fun"))
    if spec.option == "linear" and type(result.jac) is np.ndarray:
        j = known(jacobian_of_residuals, None, (params, x), result.jac)
        found = with_fields(found, jac=j, grad=np.matmul(np.transpose(j), r))
    return with_fields(found, x=x, cost=with_value(result.cost, y), fun=r)


def jacobian_of_residuals(config: Any, spec: None, params: tuple) -> Any:
    """The Jacobian of the residuals."""
    parameters, x = params

    def model(x: Any) -> Any:
        return residuals(parameters, x)

    columns = [frule_via_ad(config, (NoTangent(), e), model, x)[1] for e in np.eye(np.shape(x)[0])]
    return np.stack(columns, axis=1)


def box(bounds: Any, n: int) -> Any:
    """Return bounds given as a pair of sides as pairs, or None where they are no bounds."""
    if isinstance(bounds, optimize.Bounds):
        return bounds
    lower, upper = bounds
    if np.all(np.isneginf(lower)) and np.all(np.isposinf(upper)):
        return None
    lower, upper = np.broadcast_to(lower, (n,)), np.broadcast_to(upper, (n,))
    return [(lower[i], upper[i]) for i in range(n)]


@decomposed(optimize.leastsq, Callable)
def leastsq_body(call, result):
    """The minimum, and the inverse of JᵀJ there."""
    x = result[0]
    status = result[-1]
    spec = Minimum(
        "scipy.optimize.leastsq",
        np.size(x),
        np.shape(x),
        cost,
        digits=3 if status in (1, 2, 3, 4) else 6,
        option="linear",
    )
    params = call["func"], tuple_of(call["args"]), {}
    fitted = place_of_minimum(spec, params, x)
    if not call["full_output"]:
        return fitted, *result[1:]
    covariance = result[1]
    if covariance is not None:
        fit = Fit(absolute=True, function=residuals_at)
        covariance = known(estimated_covariance, fit, (params, fitted, None), covariance)
    return fitted, covariance, *result[2:]


class Fit(NamedTuple):
    """How a covariance is estimated."""

    absolute: bool
    """Whether sigma is, so that the size of the residuals does not matter."""
    function: Callable
    """``function(params, p)``: the residuals."""


def residuals_at(params: tuple, p: Any) -> Any:
    """The residuals of ``leastsq``."""
    return residuals(params, p)


def estimated_covariance(config: Any, spec: Fit, params: tuple) -> Any:
    """The covariance of fitted parameters."""
    parameters, p, sigma = params

    def model(p: Any) -> Any:
        return spec.function(parameters, p)

    n = np.shape(p)[0]
    columns = [frule_via_ad(config, (NoTangent(), e), model, p)[1] for e in np.eye(n)]
    j = np.stack(columns, axis=1)
    inverse = np.linalg.inv(np.matmul(np.transpose(j), weighted(j, sigma)))
    if spec.absolute:
        return inverse
    r = model(p)
    return inverse * (np.sum(r * weighted(r, sigma)) / (np.shape(r)[0] - n))


def weighted(r: Any, sigma: Any) -> Any:
    """Divide residuals, or their Jacobian, by the variances."""
    if sigma is None:
        return r
    if np.ndim(sigma) == 2:
        return np.linalg.solve(sigma, r)
    sigma = np.square(sigma)
    return r / (sigma[:, None] if np.ndim(r) == 2 and np.ndim(sigma) == 1 else sigma)


def misfit(params: tuple, p: Any) -> Any:
    """The residuals of ``curve_fit``, before they are weighted."""
    f, x, y = params[:3]
    return np.ravel(f(x, *[p[i] for i in range(np.shape(p)[0])])) - np.ravel(y)


def misfit_cost(spec: Minimum, params: tuple, p: Any) -> Any:
    """What ``curve_fit`` minimises."""
    r = misfit(params, p)
    return np.sum(r * weighted(r, params[3])) / 2


@decomposed(optimize.curve_fit, Callable)
def curve_fit_body(call, result):
    """The parameters and their covariance."""
    if call["nan_policy"] not in (None, "raise", "propagate"):
        raise ImplicitError(
            "scipy.optimize.curve_fit with nan_policy='omit' has no derivative rule. Leave the NaN "
            "out of the data: good = ~np.isnan(y); curve_fit(f, x[good], y[good])."
        )
    popt, pcov = result[:2]
    spec = Minimum(
        "scipy.optimize.curve_fit", np.size(popt), np.shape(popt), misfit_cost, option="linear"
    )
    x = call["xdata"]
    x = np.array(x) if isinstance(x, (list, tuple)) else x
    sigma = call["sigma"]
    sigma = np.array(sigma) if isinstance(sigma, (list, tuple)) else sigma
    params = call["f"], x, call["ydata"], sigma
    fitted = place_of_minimum(spec, params, popt, box(call["bounds"], spec.n))
    if np.all(np.isfinite(pcov)):
        fit = Fit(bool(call["absolute_sigma"]), misfit)
        pcov = known(estimated_covariance, fit, (params, fitted, sigma), pcov)
    return fitted, pcov, *result[2:]
