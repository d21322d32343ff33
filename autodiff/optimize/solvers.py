"""minimize, least_squares, root: SciPy's solvers on nests, with the derivatives they ask for."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import optimize

from autodiff.distributed.sums import ShardedSum, is_sharded
from autodiff.errors import ArgumentError
from autodiff.intercept import intercept
from autodiff.optimize.limits import bounds_of, constraints_of
from autodiff.optimize.problems import (
    Problem,
    gradient_at,
    hessian_at,
    jacobian_at,
    number_at,
    pair_at,
    problem,
    product_at,
    value_at,
    vector_at,
)
from autodiff.optimize.running import Run, with_items
from autodiff.trace.trace_stack import is_differentiating
from chainrules_core.rules import name_of

WITHOUT_GRADIENT = {"nelder-mead", "powell", "cobyla", "cobyqa"}
WITH_PRODUCTS = {"newton-cg", "trust-ncg", "trust-krylov", "trust-constr"}
WITH_HESSIAN = {"dogleg", "trust-exact"}
ROOTS_WITH_JACOBIAN = {"hybr", "lm"}


def minimize(
    f: Callable,
    params0: Any,
    *,
    args: Any = (),
    method: str | Callable | None = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    callback: Callable | None = None,
    progress: Any = False,
    checkpoint: Any = None,
    resume: bool = False,
    shards: Any = None,
    executor: Any = None,
) -> Any:
    """Minimise a function of a nest of parameters by one of SciPy's methods.

    Parameters
    ----------
    f : callable
        ``f(params, *args)`` returns a real number.
    params0 : Any
        The starting point: a number, an array, or a nest of them, as for :func:`autodiff.gradient`.
        Everything in it except floats, complex numbers and arrays of them is a constant.
    args : tuple
        Further arguments of `f`.
    method : str or callable, optional
        A method of `scipy.optimize.minimize`, by default SciPy's choice: SLSQP with constraints,
        L-BFGS-B with bounds, else BFGS. Value and gradient come from one pass. Newton-CG,
        trust-ncg, trust-krylov and trust-constr get products with the Hessian, dogleg and
        trust-exact the Hessian.
    bounds : Any
        A nest like `params0` with a pair ``(lowest, highest)`` of numbers, arrays or None in place
        of each variable. Parts may be left out or None. For an array it may also be a sequence of
        pairs, or `scipy.optimize.Bounds`.
    constraints : Any
        One, or a sequence of them: dicts ``{"type": "eq" or "ineq", "fun": ...}``,
        `scipy.optimize.NonlinearConstraint`, whose functions take the nest, or
        `scipy.optimize.LinearConstraint` on the vector of :func:`autodiff.ravel`. Derivatives are
        computed.
    tol : float, optional
        SciPy's tolerance.
    options : dict, optional
        SciPy's options of the method.
    callback : callable, optional
        Called after each iteration with an `OptimizeResult` that has the current `params`, the
        vector `x` and the number of evaluations `nfev`. It may raise StopIteration to stop.
    progress : bool or rich.console.Console
        Whether to show a progress bar, if `rich` is installed.
    checkpoint : path, optional
        A file in which all evaluations are recorded.
    resume : bool
        Whether to go on with the run in that file, if it exists. If not, the file begins anew.
    shards : sequence, optional
        Data in parts, as :func:`autodiff.distributed.value_and_gradient` takes them: the sum of
        ``f(params, *shard, *args)`` over them is minimised.
    executor : Executor, callable, dask.distributed.Client or Workers
        The workers that evaluate the shards: the values and all derivatives.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's result, with ``params`` (the nest) and ``history``. After Ctrl-C, ``success`` is
        False and ``params`` is the best point so far: the one with the lowest value, or with
        constraints the one of the last iteration.

    Raises
    ------
    ArgumentError
        If there is nothing to fit, if bounds or constraints do not fit the parameters, or if the
        checkpoint belongs to another run.
    ShardError
        If the workers that evaluate a shard are repeatedly lost or too slow.

    Notes
    -----
    Inside a function that is differentiated, the minimum is differentiated with respect to `args`,
    bounds, constraints and what `f` has captured, by the implicit function theorem: see the rules
    of `scipy.optimize`. Such a run has no history, progress bar or checkpoint.

    A run that is resumed gives the result of a run without interruption, bit for bit: the solver
    begins again at `params0`, and what it asks for is read from the file, so `callback` sees all
    iterations. Give the same arguments; limits, such as "maxiter", may be higher. The function is
    called again at the first and at the last recorded point, to see that it is the same one. With
    `checkpoint`, it is not compiled automatically, and its loops do not become machine code,
    because both may differ in the last bits.

    Examples
    --------
    >>> result = minimize(lambda p: (p["a"] - 3) ** 2 + np.sum((p["b"] + 1) ** 2),
    ...                   {"a": 0.0, "b": np.zeros(2), "name": "p"}, bounds={"a": (None, 2.0)})
    >>> result.params
    {'a': 2.0, 'b': array([-1., -1.]), 'name': 'p'}
    """
    given = problem(f, params0, args)
    posed = given.differentiated() if is_differentiating() else given
    limits = bounds_of(bounds, posed.ravelling)
    if method is None:
        method = "SLSQP" if constraints else "BFGS" if limits is None else "L-BFGS-B"
    name = method.lower() if isinstance(method, str) else ""
    free = isinstance(constraints, (list, tuple)) and not constraints
    run = Run(
        posed.ravelling, progress=progress, resume=resume, callback=callback,
        checkpoint=None if is_differentiating() else checkpoint,
        made_by=f"minimize by {name or name_of(method)}",
        by_iteration=not free or name == "trust-constr",
    )  # fmt: skip
    conditions = constraints_of(constraints, posed.ravelling, name == "trust-constr", run.recorded)
    with _evaluated(posed, shards, executor, run) as of_vector:
        known: dict[str, Any] = {}
        if name in WITH_HESSIAN:
            known = {"hess": of_vector(hessian_at)}
        elif name in WITH_PRODUCTS or not name:
            known = {"hessp": of_vector(product_at)}
        solve = functools.partial(
            optimize.minimize if not is_differentiating() else intercept(optimize.minimize),
            method=method, bounds=limits, constraints=conditions, tol=tol, options=options, **known,
        )  # fmt: skip
        has_gradient = name not in WITHOUT_GRADIENT
        if is_differentiating():
            jac = of_vector(gradient_at) if has_gradient else None
            return _traced(given, posed, solve, of_vector(value_at), jac=jac)
        if has_gradient:
            pair = _Pair(run.watched(of_vector(pair_at), _value_and_norm))
            value, slope = pair.value, pair.slope
        else:
            value, slope = run.watched(of_vector(number_at), _value), None
        return run.solve(solve, value, posed.start, jac=slope, callback=run.callback)


class _Pair:
    """Value and gradient from one pass, as SciPy asks for them: one after the other.

    SciPy does the same for ``jac=True``, but what it spends on comparing points is as much as a
    small function takes.
    """

    def __init__(self, function: Callable) -> None:
        self._function = function
        self._at: bytes | None = None
        self._found: Any = None

    def value(self, x: np.ndarray) -> Any:
        """Return the value at a point."""
        return self._pair(x)[0]

    def slope(self, x: np.ndarray) -> Any:
        """Return the gradient at a point."""
        return self._pair(x)[1]

    def _pair(self, x: np.ndarray) -> Any:
        at = x.tobytes()
        if at != self._at:
            self._found = self._function(x)
            self._at = at
        return self._found


@contextlib.contextmanager
def _evaluated(posed: Problem, shards: Any, executor: Any, run: Run) -> Iterator[Callable]:
    """Give what makes functions of the vector of those of a problem: here, or by workers."""
    if not is_sharded(shards, executor):
        yield run.recorded(posed.of_vector)
        return
    with ShardedSum(posed.f, posed.ravelling, posed.args, shards, executor, run.parts) as total:
        yield run.recorded(total.of_vector)


def _traced(given: Problem, posed: Problem, solve: Callable, f: Callable, **named: Any) -> Any:
    """Return a result that is differentiated, by the rule of SciPy's solver, in the user's nest."""
    result = solve(f, posed.start, **named)
    return with_items(result, params=given.ravelling.nest(result.x))


def _value(y: Any) -> tuple[Any, float]:
    return y, np.nan


def _value_and_norm(y: Any) -> tuple[Any, Any]:
    return y[0], math.sqrt(np.dot(y[1], y[1]))


def _cost(y: Any) -> tuple[Any, float]:
    return np.dot(y, y) / 2, np.nan


def least_squares(
    f: Callable,
    params0: Any,
    *,
    args: Any = (),
    bounds: Any = None,
    method: str = "trf",
    progress: Any = False,
    checkpoint: Any = None,
    resume: bool = False,
    **options: Any,
) -> Any:
    """Minimise half the sum of squares of a function of a nest of parameters.

    Parameters
    ----------
    f : callable
        ``f(params, *args)`` returns the residuals: an array, or a nest of numbers and arrays.
    params0 : Any
        The starting point, as for :func:`minimize`.
    args : tuple
        Further arguments of `f`.
    bounds : Any
        Bounds as a nest like the parameters, as for :func:`minimize`.
    method : {"trf", "dogbox", "lm"}
        The method of `scipy.optimize.least_squares`. Its Jacobian is computed in the cheaper of
        forward and reverse mode.
    progress, checkpoint, resume
        As for :func:`minimize`.
    **options : Any
        Further options of `scipy.optimize.least_squares`: ``loss``, ``f_scale``, ``xtol``, ...

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's result, with ``params`` and ``history``, whose values are half the sum of squares at
        each evaluation. After Ctrl-C, ``params`` and ``cost`` belong to the best point so far.

    Raises
    ------
    ArgumentError
        If there is nothing to fit, or if bounds do not fit the parameters.

    Examples
    --------
    >>> x, y = np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0])
    >>> result = least_squares(lambda p: p["a"] * x + p["b"] - y, {"a": 0.0, "b": 0.0})
    >>> round(result.params["a"], 6), round(result.params["b"], 6)
    (2.0, 1.0)
    """
    given = problem(f, params0, args)
    posed = given.differentiated() if is_differentiating() else given
    limits = bounds_of(bounds, posed.ravelling)
    if limits is not None:
        options["bounds"] = (limits.lb, limits.ub)
    options["method"] = method
    if is_differentiating():
        solve = intercept(optimize.least_squares)
        jac, residuals = posed.of_vector(jacobian_at), posed.of_vector(vector_at)
        return _traced(given, posed, solve, residuals, jac=jac, **options)
    run = Run(
        posed.ravelling, progress=progress, checkpoint=checkpoint, resume=resume,
        made_by=f"least_squares by {method}", named="cost",
    )  # fmt: skip
    of_vector = run.recorded(posed.of_vector)
    residuals, options["jac"] = run.watched(of_vector(vector_at), _cost), of_vector(jacobian_at)
    return run.solve(optimize.least_squares, residuals, posed.start, **options)


def root(
    f: Callable,
    params0: Any,
    *,
    args: Any = (),
    method: str = "hybr",
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    progress: Any = False,
    checkpoint: Any = None,
    resume: bool = False,
) -> Any:
    """Solve as many equations as there are parameters in a nest.

    Parameters
    ----------
    f : callable
        ``f(params, *args)`` returns the values that should be zero: an array, or a nest of numbers
        and arrays, with as many numbers as there are parameters.
    params0 : Any
        The starting point, as for :func:`minimize`.
    args : tuple
        Further arguments of `f`.
    method : str
        A method of `scipy.optimize.root`. "hybr" and "lm" get the Jacobian.
    tol : float, optional
        SciPy's tolerance.
    options : dict, optional
        SciPy's options of the method.
    progress, checkpoint, resume
        As for :func:`minimize`.

    Returns
    -------
    scipy.optimize.OptimizeResult
        SciPy's result, with ``params`` and ``history``.

    Raises
    ------
    ArgumentError
        If there is nothing to solve for, or if the number of equations differs from that of the
        parameters.

    Examples
    --------
    >>> result = root(lambda p: (p["x"] ** 2 - p["y"], p["y"] - 4), {"x": 1.0, "y": 1.0})
    >>> round(result.params["x"], 6), round(result.params["y"], 6)
    (2.0, 4.0)
    """
    given = problem(f, params0, args)
    posed = given.differentiated() if is_differentiating() else given
    named: dict[str, Any] = {"method": method, "tol": tol, "options": options}
    run = Run(
        posed.ravelling, progress=progress, resume=resume, made_by=f"root by {method}",
        checkpoint=None if is_differentiating() else checkpoint, named="cost",
    )  # fmt: skip
    of_vector = run.recorded(posed.of_vector)
    if method in ROOTS_WITH_JACOBIAN:
        named["jac"] = of_vector(jacobian_at)
    equations = functools.partial(_square, of_vector(vector_at), posed.ravelling.size)
    if is_differentiating():
        return _traced(given, posed, intercept(optimize.root), equations, **named)
    return run.solve(optimize.root, run.watched(equations, _cost), posed.start, **named)


def _square(f: Callable, n: int, x: Any) -> Any:
    y = f(x)
    if len(y) != n:
        raise ArgumentError(
            f"root was given {len(y)} equations for {n} unknowns. Use least_squares where there "
            "are more equations, or leave out unknowns."
        )
    return y
