"""How well a fit determines its parameters: covariances, bands, profile likelihoods."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from autodiff.api.trees import Ravelling
from autodiff.errors import ArgumentError
from autodiff.optimize.limits import bounds_of
from autodiff.optimize.problems import Problem, call, hessian_at, jacobian_at, problem, value_at
from autodiff.optimize.solvers import minimize
from autodiff.trace.pytree import parts_of
from autodiff.trace.tracer import bare
from chainrules_core.rules import name_of


def inverse_of_squares(jacobian: Any) -> Any:
    """Return (JᵀJ)⁻¹; infinite where J has not full rank."""
    plain = bare(jacobian)
    n = plain.shape[1]
    lengths = np.sqrt(np.sum(plain**2, axis=0))
    scaled = plain / np.where(lengths > 0, lengths, 1.0)  # units of parameters do not matter
    if np.linalg.matrix_rank(scaled) < n:
        return np.full((n, n), np.inf)
    return np.linalg.inv(np.matmul(np.transpose(jacobian), jacobian))


def covariance(f: Callable, params: Any, *, args: Any = ()) -> Any:
    """Return the covariance of parameters at the minimum of a negative log-likelihood.

    Parameters
    ----------
    f : callable
        ``f(params, *args)`` returns the negative logarithm of the likelihood (a constant factor of
        the likelihood does not matter).
    params : Any
        The parameters at its minimum: ``minimize(f, ...).params``.
    args : tuple
        Further arguments of `f`.

    Returns
    -------
    ndarray, shape (n, n)
        The inverse of the Hessian, in the order of :func:`autodiff.ravel`.

    Raises
    ------
    ArgumentError
        If the Hessian is not positive definite. Then this is not a minimum, or the data do not
        determine the parameters.

    Notes
    -----
    The inverse of the observed information (Pawitan, In All Likelihood, 2001, chapter 9). For least
    squares, use the ``covariance`` of :func:`curve_fit`, which needs only the Jacobian.

    Examples
    --------
    >>> data = np.array([1.0, 2.0, 3.0, 6.0])
    >>> def misfit(p):
    ...     return np.sum((data - p["mean"]) ** 2) / (2 * 0.5**2)
    >>> covariance(misfit, {"mean": 3.0})
    array([[0.0625]])
    """
    posed = problem(f, params, args)
    return np.linalg.inv(_curvature(posed, posed.ravelling.vector(params)))


def _curvature(posed: Problem, x: Any) -> Any:
    curvature = posed.of_vector(hessian_at)(x)
    plain = bare(curvature)
    sizes = np.sqrt(np.abs(np.diag(plain)))
    scaled = plain / np.outer(sizes, sizes) if np.all(sizes > 0) else plain
    least = np.linalg.eigvalsh(scaled)[0] if np.all(np.isfinite(scaled)) else -np.inf
    if least <= 1e-14 * len(plain):
        raise ArgumentError(
            f"the Hessian of {name_of(posed.f)} is not positive definite at these parameters: they "
            "are no minimum, or some combination of them is not determined by the data. Give the "
            "params of a fit that has converged, and leave out what is redundant, or add a prior."
        )
    return curvature


def standard_errors(params: Any, covariance: Any) -> Any:
    """Return the standard errors of the parameters, as a nest.

    Parameters
    ----------
    params : Any
        The parameters.
    covariance : ndarray, shape (n, n)
        As from :func:`covariance` or :func:`curve_fit`.

    Returns
    -------
    Any
        A nest like `params`. A complex number has the errors of its real and imaginary parts.

    Examples
    --------
    >>> standard_errors({"a": 1.0, "b": 2.0, "name": "p"}, np.diag([4.0, 9.0]))
    {'a': 2.0, 'b': 3.0, 'name': 'p'}
    """
    ravelling = problem(standard_errors, params).ravelling
    return ravelling.nest(np.sqrt(np.diagonal(covariance)))


def confidence_band(
    f: Callable, params: Any, covariance: Any, *, args: Any = (), level: float = 0.95
) -> tuple[Any, Any]:
    """Return the limits of what a model predicts, by the delta method.

    Parameters
    ----------
    f : callable
        ``f(params, *args)`` returns a prediction: a real number, an array, or a nest of them.
    params : Any
        The fitted parameters.
    covariance : ndarray, shape (n, n)
        Of the parameters, as from :func:`covariance` or :func:`curve_fit`.
    args : tuple
        Further arguments of `f`.
    level : float
        The probability that a pair of limits contains the true prediction, for each number by
        itself.

    Returns
    -------
    low, high : Any
        The limits, with the structure and shapes of the prediction.

    Notes
    -----
    With the Jacobian J, the prediction has the variances diag(J C Jᵀ) to first order, and the
    limits are those of a normal distribution.

    Examples
    --------
    >>> low, high = confidence_band(lambda p: p["a"] * np.array([1.0, 2.0]), {"a": 3.0},
    ...                             np.array([[0.01]]))
    >>> high.round(3)
    array([3.196, 6.392])
    """
    posed = problem(f, params, args)
    x = posed.ravelling.vector(params)
    y = posed.of_vector(value_at)(x)
    form = Ravelling(y, real=True)
    jacobian = posed.of_vector(jacobian_at)(x)
    variances = np.sum(np.matmul(jacobian, covariance) * jacobian, axis=1)
    half = _quantile(level) * np.sqrt(variances)
    middle = form.vector(y)
    return form.nest(middle - half), form.nest(middle + half)


def _quantile(level: float) -> float:
    """Return how many standard deviations a centred interval of this probability reaches."""
    if not 0 < level < 1:
        raise ArgumentError(f"level is a probability between 0 and 1, such as 0.95, not {level}.")
    return statistics.NormalDist().inv_cdf((1 + level) / 2)


class Profile(NamedTuple):
    """The smallest values of a negative log-likelihood with one number held fixed.

    Attributes
    ----------
    at : ndarray, shape (k,)
        The values of that number.
    values : ndarray, shape (k,)
        The smallest value for each.
    params : list
        The nests that attain them.
    """

    at: np.ndarray
    values: np.ndarray
    params: list


def profile(
    f: Callable, params: Any, name: Any, at: Any = None, *, args: Any = (), bounds: Any = None
) -> Profile:
    """Minimise a negative log-likelihood with one number held at each of several values.

    Parameters
    ----------
    f : callable
        ``f(params, *args)`` returns the negative logarithm of the likelihood.
    params : Any
        The parameters at its minimum: ``minimize(f, ...).params``.
    name : Any
        The number to hold: its key, index or attribute in the nest, or a tuple of them, such as
        ``("weights", 0)``.
    at : array_like, optional
        The values; by default 13 values up to 3 standard errors on both sides.
    args : tuple
        Further arguments of `f`.
    bounds : Any
        Bounds of the other parameters, as for :func:`minimize`.

    Returns
    -------
    Profile
        The values, the minima and their parameters.

    Raises
    ------
    ArgumentError
        If `name` is not the name of one real number.

    Examples
    --------
    >>> def misfit(p):
    ...     return (p["a"] - 1) ** 2 + (p["a"] + p["b"]) ** 2
    >>> profile(misfit, {"a": 1.0, "b": -1.0}, "a", at=[0.0, 1.0, 2.0]).values.round(6)
    array([1., 0., 1.])
    """
    held = _Held(f, params, name, args, bounds)
    if at is None:
        at = held.best + held.error * np.linspace(-3, 3, 13)
    places = np.asarray(at, float)
    order = np.argsort(np.abs(places - held.best))  # each starts from where a nearer one ended
    found = {i: held.minimum(places[i]) for i in order.tolist()}
    rows = [found[i] for i in range(len(places))]
    return Profile(places, np.array([y for y, _ in rows]), [p for _, p in rows])


def profile_interval(
    f: Callable, params: Any, name: Any, *, args: Any = (), bounds: Any = None, level: float = 0.95
) -> tuple[float, float]:
    """Return the confidence interval of one number by its profile likelihood.

    Parameters
    ----------
    f, params, name, args, bounds
        As for :func:`profile`. The bounds also limit the interval.
    level : float
        The probability that the interval contains the true value.

    Returns
    -------
    low, high : float
        Where twice the rise of the profile is the quantile of χ² with one degree of freedom. If the
        profile does not rise so far within 1,000 standard errors, the limit is that of the bounds,
        or infinite.

    Raises
    ------
    ArgumentError
        If `name` is not the name of one real number, or if the fit is not a minimum.

    Notes
    -----
    Wilks' theorem (Annals of Mathematical Statistics 9, 1938). Unlike an interval from
    :func:`standard_errors`, it need not be symmetric, and it does not depend on how you write the
    parameter (as a rate, or as its logarithm).

    Examples
    --------
    >>> counts = np.array([3.0, 5.0, 4.0])
    >>> def misfit(p):                                        # Poisson
    ...     return np.sum(p["mean"] - counts * np.log(p["mean"]))
    >>> low, high = profile_interval(misfit, {"mean": 4.0}, "mean")
    >>> round(low, 3), round(high, 3)
    (2.142, 6.709)
    """
    held = _Held(f, params, name, args, bounds)
    rise = _quantile(level) ** 2 / 2
    lowest, _ = held.minimum(held.best)
    limits = []
    for sign, end in ((-1, held.low), (1, held.high)):
        limits.append(held.crossing(sign, end, lowest + rise))
    return limits[0], limits[1]


class _Held:
    """A problem in which one number is held."""

    def __init__(self, f: Callable, params: Any, name: Any, args: Any, bounds: Any) -> None:
        self.posed = posed = problem(f, params, args)
        self.index = _index(posed.ravelling, name)
        x = posed.start
        self.best = float(x[self.index])
        self.error = float(np.sqrt(np.linalg.inv(_curvature(posed, x))[self.index, self.index]))
        limits = bounds_of(bounds, posed.ravelling)
        self.low, self.high, self._limits = -np.inf, np.inf, None
        if limits is not None:
            self.low, self.high = limits.lb[self.index], limits.ub[self.index]
            lowest, highest = (np.delete(ends, self.index) for ends in (limits.lb, limits.ub))
            if len(lowest):
                self._limits = optimize.Bounds(lowest, highest)
        self._rest = np.delete(x, self.index)

    def minimum(self, value: float) -> tuple[float, Any]:
        """Return the smallest value with the number held at `value`, and the parameters."""
        f, ravelling, args = self.posed
        fixed = (f, ravelling, args, self.index, float(value))
        lowest = _with_held(self._rest, *fixed)
        if len(self._rest):
            result = minimize(_with_held, self._rest, args=fixed, bounds=self._limits)
            if result.fun < lowest:
                self._rest, lowest = result.x, result.fun
        return float(lowest), ravelling.nest(np.insert(self._rest, self.index, value))

    def crossing(self, sign: int, end: float, height: float) -> float:
        """Return where the profile rises to `height` on one side of the best value."""

        def above(value: float) -> float:
            return self.minimum(value)[0] - height

        near, step = self.best, self.error
        for _ in range(10):
            far = self.best + sign * step
            if sign * (far - end) >= 0:
                far = end
            if above(far) > 0:
                return float(optimize.brentq(above, near, far, xtol=1e-8 * self.error))
            if far == end:
                return float(end)
            near, step = far, 2 * step
        return sign * np.inf


def _with_held(
    rest: Any, f: Callable, ravelling: Ravelling, args: tuple, index: int, value: float
) -> Any:
    x = np.concatenate([rest[:index], np.array([value]), rest[index:]])
    return call(f, ravelling.nest(x), *args)


def _index(ravelling: Ravelling, name: Any) -> int:
    """Return the place of a number in the vector."""
    part: Any = ravelling.nest(np.arange(ravelling.size, dtype=float))
    steps = name if isinstance(name, tuple) else (name,)
    for i, key in enumerate(steps):
        if isinstance(part, np.ndarray):
            part = part[tuple(steps[i:])] if np.ndim(part) == len(steps) - i else None
            break
        part = dict(parts_of(part) or []).get(key)
    if not isinstance(part, (float, np.floating)):
        raise ArgumentError(
            f"{name!r} is not one real number among the parameters. Name its key, index or "
            'attribute, or a tuple of them that leads to it: "rate", ("weights", 0).'
        )
    return round(float(part))
