"""Bounds and constraints in the nest of the parameters, as SciPy takes them: of a vector."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from autodiff.api.trees import Ravelling, leaves_like
from autodiff.errors import ArgumentError
from autodiff.intercept import intercept
from autodiff.optimize.problems import Problem, jacobian_at, vector_at, weighted_hessian_at
from autodiff.trace.pytree import is_perturbable, leaves_of
from autodiff.trace.tracer import bare, shape_of


def bounds_of(bounds: Any, ravelling: Ravelling) -> Any:
    """Return bounds as SciPy's `Bounds` of the vector, or None.

    Parameters
    ----------
    bounds : Any
        A nest like the parameters, with a pair ``(lowest, highest)`` of numbers, arrays or None in
        the place of a variable, or None. For an array also what SciPy takes: a sequence of pairs,
        one for each element, or `scipy.optimize.Bounds`. Parts may be left out.
    ravelling : Ravelling
        How the parameters lie in the vector.

    Raises
    ------
    ArgumentError
        If they do not fit the parameters.
    """
    if bounds is None:
        return None
    leaves = leaves_of(ravelling.like)
    limits = leaves_like(ravelling.like, bounds, partial=True)
    lows, highs = [], []
    for leaf, limit in zip(leaves, limits, strict=True):
        if not is_perturbable(leaf):
            continue
        if limit is not None and np.iscomplexobj(leaf):
            raise ArgumentError(
                "bounds are given for a complex number, which has no order. Make its real and "
                "imaginary parts two parameters, or bound its size by a constraint."
            )
        shape = (*np.shape(leaf), 2) if np.iscomplexobj(leaf) else np.shape(leaf)
        low, high = _pair(limit, shape)
        lows.append(_side(low, -np.inf, shape))
        highs.append(_side(high, np.inf, shape))
    return intercept(optimize.Bounds)(np.concatenate(lows), np.concatenate(highs))


def _pair(limit: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the lower and the upper bound of one variable."""
    if limit is None:
        return None, None
    if isinstance(limit, optimize.Bounds):
        return limit.lb, limit.ub
    if isinstance(bare(limit), np.ndarray):
        if shape_of(limit) == (*shape, 2):
            return limit[..., 0], limit[..., 1]
    elif isinstance(limit, (tuple, list)):
        if limit and all(isinstance(part, (tuple, list)) and len(part) == 2 for part in limit):
            if len(limit) == np.prod(shape, dtype=int):
                lows = [-np.inf if low is None else low for low, _ in limit]
                highs = [np.inf if high is None else high for _, high in limit]
                return np.reshape(np.stack(lows), shape), np.reshape(np.stack(highs), shape)
        elif len(limit) == 2 and not any(isinstance(part, (tuple, list, str)) for part in limit):
            return limit[0], limit[1]
    raise ArgumentError(
        f"bounds of a variable of shape {shape} are a pair (lowest, highest) of numbers, arrays or "
        f"None, or one such pair for each element, not {limit!r}."
    )


def _side(side: Any, missing: float, shape: tuple[int, ...]) -> Any:
    side = missing if side is None else side
    try:
        whole = np.broadcast_to(side, shape)
    except ValueError as error:
        raise ArgumentError(
            f"a bound of shape {shape_of(side)} does not fit a variable of shape {shape}. Give one "
            "number, or one for each element."
        ) from error
    return np.reshape(whole, (-1,))


def constraints_of(
    constraints: Any, ravelling: Ravelling, second: bool, recorded: Callable
) -> list:
    """Return constraints on the nest as constraints on the vector, with their derivatives.

    Parameters
    ----------
    constraints : Any
        One, or a sequence of them: a dict as SciPy takes it, `scipy.optimize.NonlinearConstraint`,
        or `scipy.optimize.LinearConstraint`, whose matrix is for the vector of `ravel`. Functions
        take the nest.
    ravelling : Ravelling
        How the parameters lie in the vector.
    second : bool
        Whether the method takes second derivatives of constraints.
    recorded : callable
        ``recorded(of_vector, where)`` is :meth:`autodiff.optimize.running.Run.recorded`.
    """
    if not isinstance(constraints, (list, tuple)):
        constraints = [constraints]
    return [
        _constraint(c, ravelling, second, functools.partial(recorded, where=f"of constraint {i}"))
        for i, c in enumerate(constraints)
    ]


def _constraint(constraint: Any, ravelling: Ravelling, second: bool, recorded: Callable) -> Any:
    if isinstance(constraint, optimize.LinearConstraint):
        return constraint
    if isinstance(constraint, optimize.NonlinearConstraint):
        _check_derived(constraint.jac)
        posed = Problem(constraint.fun, ravelling, ())
        keep = {"keep_feasible": True} if np.any(constraint.keep_feasible) else {}
        return _nonlinear(recorded(posed.of_vector), constraint.lb, constraint.ub, second, keep)
    if not isinstance(constraint, dict) or not {"type", "fun"} <= constraint.keys():
        raise ArgumentError(
            'a constraint is a dict {"type": "eq" or "ineq", "fun": function of the parameters}, a '
            f"NonlinearConstraint or a LinearConstraint, not {constraint!r}."
        )
    _check_derived(constraint.get("jac"))
    args = constraint.get("args", ())
    posed = Problem(constraint["fun"], ravelling, args if isinstance(args, tuple) else (args,))
    if second:
        highest = 0.0 if constraint["type"] == "eq" else np.inf
        return _nonlinear(recorded(posed.of_vector), 0.0, highest, second, {})
    make = recorded(posed.of_vector)
    f, jac = make(vector_at), make(jacobian_at)
    return {"type": constraint["type"], "fun": f, "jac": jac}


def _nonlinear(of_vector: Callable, low: Any, high: Any, second: bool, options: dict) -> Any:
    known = {"jac": of_vector(jacobian_at)}
    if second:
        known["hess"] = of_vector(weighted_hessian_at)
    make = intercept(optimize.NonlinearConstraint)
    return make(of_vector(vector_at), low, high, **known, **options)


def _check_derived(jac: Any) -> None:
    if callable(jac):
        raise ArgumentError(
            "a constraint is given with jac=. Its derivatives are computed, so leave it out; for "
            "a derivative of your own, give the function a rule (autodiff.custom_gradient)."
        )
