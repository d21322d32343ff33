"""curve_fit: least squares of a model and data, with the covariance of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.errors import ArgumentError
from autodiff.optimize.problems import call, flat
from autodiff.optimize.running import with_items
from autodiff.optimize.solvers import least_squares
from autodiff.optimize.uncertainty import inverse_of_squares
from autodiff.trace.tracer import bare, shape_of
from chainrules_core.rules import name_of


def curve_fit(
    f: Callable,
    xdata: Any,
    ydata: Any,
    params0: Any,
    *,
    sigma: Any = None,
    absolute_sigma: bool = False,
    bounds: Any = None,
    method: str | None = None,
    **options: Any,
) -> Any:
    """Fit a model with a nest of parameters to data by least squares.

    Parameters
    ----------
    f : callable
        ``f(xdata, params)`` returns the prediction of the model, in the shape of `ydata`.
    xdata : Any
        The points of the measurements: anything that `f` takes.
    ydata : array_like
        The measured values, real or complex.
    params0 : Any
        The starting point, as for :func:`minimize`.
    sigma : float or ndarray, optional
        Standard deviations of `ydata`, or, for `ydata` of shape (m,), their covariance matrix of
        shape (m, m).
    absolute_sigma : bool
        Whether `sigma` is known. If not, only its ratios count, and its size is estimated from the
        residuals.
    bounds : Any
        Bounds as a nest like the parameters, as for :func:`minimize`.
    method : {"lm", "trf", "dogbox"}, optional
        By default "lm" without bounds and "trf" with bounds, as in SciPy.
    **options : Any
        Further options of :func:`least_squares`, including ``progress`` and ``checkpoint``.

    Returns
    -------
    scipy.optimize.OptimizeResult
        The result of :func:`least_squares`, with ``covariance``, the covariance matrix of the
        parameters in the order of :func:`autodiff.ravel`. It is infinite where the data do not
        determine the parameters, and NaN after Ctrl-C.

    Raises
    ------
    ArgumentError
        If the model's prediction, or `sigma`, does not fit `ydata`.

    Notes
    -----
    With the Jacobian J of the weighted residuals r, the covariance is (JᵀJ)⁻¹, times
    Σ r² / (m - n) if `sigma` is not absolute (Bates and Watts, Nonlinear Regression Analysis and
    Its Applications, 1988, section 2.2).

    Examples
    --------
    >>> x = np.linspace(0, 1, 5)
    >>> y = 2 * np.exp(-x) + np.array([0.01, -0.02, 0.0, 0.02, -0.01])
    >>> fit = curve_fit(lambda x, p: p["size"] * np.exp(-p["rate"] * x), x, y,
    ...                 {"size": 1.0, "rate": 0.5})
    >>> round(fit.params["size"], 3), round(fit.params["rate"], 3)
    (2.001, 1.001)
    >>> np.sqrt(np.diag(fit.covariance)).round(3)
    array([0.016, 0.02 ])
    """
    if method is None:
        method = "lm" if bounds is None else "trf"
    result = least_squares(
        _misfit, params0, args=(f, xdata, ydata, sigma), bounds=bounds, method=method, **options
    )
    if "jac" not in result:
        return with_items(result, covariance=np.full(2 * result.x.shape, np.nan))
    count = shape_of(result.fun)[0]
    covariance = inverse_of_squares(result.jac)
    if not absolute_sigma:
        n = covariance.shape[0]
        spread = 2 * result.cost / (count - n) if count > n else np.inf
        covariance = covariance * spread
    return with_items(result, covariance=covariance)


def _misfit(params: Any, f: Callable, xdata: Any, ydata: Any, sigma: Any) -> Any:
    """The residuals in units of sigma."""
    predicted = flat(f, call(f, xdata, params))
    ydata = np.asarray(ydata) if isinstance(ydata, (list, tuple)) else ydata
    measured = flat(curve_fit, ydata)
    if shape_of(predicted) != shape_of(measured):
        raise ArgumentError(
            f"{name_of(f)} predicts {len(predicted)} numbers, and ydata has {len(measured)}. The "
            "model returns an array of the shape of ydata, complex only if ydata is."
        )
    residuals = predicted - measured
    if sigma is None:
        return residuals
    shape = shape_of(ydata)
    if shape_of(sigma) == 2 * shape and len(shape) == 1 and not np.iscomplexobj(bare(ydata)):
        return np.linalg.solve(np.linalg.cholesky(sigma), residuals)
    try:
        whole = np.broadcast_to(sigma, shape)
    except ValueError as error:
        raise ArgumentError(
            f"sigma of shape {shape_of(sigma)} does not fit ydata of shape {shape}. Give one "
            "number, one for each element, or a covariance matrix for ydata of one axis."
        ) from error
    each = np.reshape(whole, (-1,))
    return residuals / (np.repeat(each, 2) if np.iscomplexobj(bare(ydata)) else each)
