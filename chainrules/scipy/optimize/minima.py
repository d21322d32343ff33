"""Minima: at one, the gradient of the Lagrangian is zero, and active constraints hold.

With the active set of :mod:`chainrules.scipy.optimize.active`, the variables at their bounds b
fixed and μ the multipliers of the active constraints,

    ∂/∂x_free (f - Σ μ_j c_j) = 0,   x_fixed - b = 0,   c_j - bound_j = 0

is a system of equations for (x, μ); its Jacobian, by derivatives of the engine's gradient, is
solved once. What the user gives as jac=, hess= or hessp= serves the iteration alone. The value at
the minimum is f(x), whose derivative by way of x vanishes: it is that of f at fixed x (the envelope
theorem), plus what moves the bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from chainrules.scipy.optimize.active import (
    Active,
    Constraint,
    active_set,
    constraints_of,
    sides_of,
)
from chainrules.scipy.optimize.implicit import (
    decomposed,
    full_name,
    gradient,
    solution,
    tuple_of,
    with_fields,
    with_others,
)


class Minimum(NamedTuple):
    """How a minimum is described."""

    name: str
    n: int
    shape: tuple[int, ...]
    objective: Callable
    """``objective(spec, params, x)``."""
    active: Active | None = None
    digits: int = 3
    first: bool = False
    """Whether the function returns its value and gradient."""
    diagonal: bool = False
    option: Any = None
    """What else the objective must know."""


def value(spec: Minimum, params: tuple, x: Any) -> Any:
    """The function as SciPy calls it."""
    f, args = params
    y = f(x[0] if spec.shape == () else x, *args)
    return np.reshape(y[0] if spec.first else y, ())


def conditions(config: Any, spec: Minimum, params: tuple, z: Any) -> Any:
    """The residual: the conditions of a minimum."""
    parameters, fixed_at, constraints, bounds = params
    active = spec.active
    if active is None:
        return gradient(config, lambda x: spec.objective(spec, parameters, x), z)
    x, multipliers = z[: spec.n], z[spec.n :]

    def lagrangian(x: Any) -> Any:
        y = spec.objective(spec, parameters, x)
        if active.rows:
            y = y - np.sum(multipliers * violations(x, active, constraints, bounds))
        return y

    parts = [gradient(config, lagrangian, x)[active.free]]
    if len(active.fixed):
        parts.append(x[active.fixed] - np.array(fixed_at))
    if active.rows:
        parts.append(violations(x, active, constraints, bounds))
    return np.concatenate(parts)


def violations(x: Any, active: Active, constraints: tuple, bounds: tuple) -> Any:
    """How far the active constraints are from their bounds."""
    parts = []
    for (k, chosen, _), bound in zip(active.rows, bounds, strict=True):
        parts.append(constraints[k].at(x)[chosen] - bound)
    return np.concatenate(parts)


def minimum_at(
    spec: Minimum, params: tuple, x: Any, bounds: Any = None, constraints: Any = ()
) -> tuple[Any, Any]:
    """Return the minimum `x` and the value there, as they move with the parameters."""
    at = place_of_minimum(spec, params, x, bounds, constraints)
    y = spec.objective(spec, params, np.reshape(at, (-1,)))
    return at, y


def place_of_minimum(
    spec: Minimum, params: tuple, x: Any, bounds: Any = None, constraints: Any = ()
) -> Any:
    """Return the minimum `x` as it moves with the parameters."""
    z = np.ravel(x)
    constraints = constraints_of(constraints)
    fixed_at: tuple = ()
    row_bounds: tuple = ()
    if bounds is not None or constraints:
        lower, upper = sides_of(bounds, spec.n)
        active = active_set(spec, params, z, lower, upper, constraints)
        fixed_at = tuple(
            [
                upper[i] if at_upper else lower[i]
                for i, at_upper in zip(active.fixed, active.at_upper, strict=True)
            ]
        )
        row_bounds = tuple([row_bound(constraints[k], i, top) for k, i, top in active.rows])
        spec = spec._replace(active=active)
        z = np.concatenate([z, active.multipliers])
    z = solution(conditions, spec, (params, fixed_at, constraints, row_bounds), z)
    at = z[: spec.n]
    return at[0] if np.shape(x) == () else np.reshape(at, np.shape(x))


def row_bound(constraint: Constraint, chosen: Any, at_upper: bool) -> Any:
    """Return the bounds of elements of a constraint."""
    bound = constraint.upper if at_upper else constraint.lower
    return bound if np.ndim(bound) == 0 or np.size(bound) == 1 else bound[chosen]


def converged_digits(result: Any) -> int:
    """How far a minimum must have converged: further where SciPy says that it has not."""
    return 3 if getattr(result, "success", True) else 6


@decomposed(optimize.minimize, Callable)
def minimize_body(call, result):
    """The minimum, and the value there, of a result."""
    is_pair = call["jac"] is not None and not callable(call["jac"]) and call["jac"] is True
    spec = Minimum(
        "scipy.optimize.minimize",
        np.size(result.x),
        np.shape(result.x),
        value,
        digits=converged_digits(result),
        first=is_pair,
    )
    params = call["fun"], tuple_of(call["args"])
    x, y = minimum_at(spec, params, result.x, call["bounds"], call["constraints"])
    # Where nothing holds x, the gradient there is zero and stays so.
    free = call["bounds"] is None and not call["constraints"]
    constant = ("x", "fun", "jac") if free else ("x", "fun")
    return with_fields(with_others(result, x, spec.name, constant), x=x, fun=y)


@decomposed(optimize.minimize_scalar, Callable)
def minimize_scalar_body(call, result):
    """The same of a function of one variable."""
    spec = Minimum("scipy.optimize.minimize_scalar", 1, (), value, digits=converged_digits(result))
    bounds = None if call["bounds"] is None else [call["bounds"]]
    params = call["fun"], tuple_of(call["args"])
    x, y = minimum_at(spec, params, result.x, bounds)
    return with_fields(result, x=x, fun=y)


def minimiser(
    target: Callable,
    shape: tuple[int, ...] | None = None,
    function: str = "func",
    has_value: bool = True,
    always: bool = False,
) -> None:
    """Decompose one of the older functions, which return x, or a tuple that begins with it.

    Parameters
    ----------
    target : callable
        The function.
    shape : tuple of int, optional
        Of what its function takes, if that is not told by `x`.
    function : str
        What that argument is called.
    has_value : bool
        Whether the value stands behind it in the tuple.
    always : bool
        Whether it always returns a tuple.
    """
    name = full_name(target)

    @decomposed(target, Callable)
    def body(call: dict, result: Any) -> Any:
        is_tuple = always or bool(call.get("full_output")) or bool(call.get("retall"))
        x = result[0] if is_tuple else result
        spec = Minimum(name, np.size(x), (np.size(x),) if shape is None else shape, value)
        if always and call["fprime"] is None and not call["approx_grad"]:
            spec = spec._replace(first=True)
        bounds, constraints = _older_constraints(target, call, spec.n)
        params = call[function], tuple_of(call["args"])
        x, y = minimum_at(spec, params, x, bounds, constraints)
        if not is_tuple:
            return x
        if not has_value or not (always or call["full_output"]):
            return x, *result[1:]
        return x, y, *result[2:]


def _older_constraints(target: Callable, call: dict, n: int) -> tuple[Any, Any]:
    if target is optimize.fminbound:
        return [(call["x1"], call["x2"])], ()
    if target is optimize.fmin_cobyla:
        cons = call["cons"] if isinstance(call["cons"], (tuple, list)) else (call["cons"],)
        args = call["args"] if call["consargs"] is None else call["consargs"]
        return None, [{"type": "ineq", "fun": c, "args": tuple_of(args)} for c in cons]
    if target is optimize.fmin_slsqp:
        constraints = []
        for kind, several, one in (
            ("eq", call["eqcons"], call["f_eqcons"]),
            ("ineq", call["ieqcons"], call["f_ieqcons"]),
        ):
            given = several if one is None else [one]
            constraints += [{"type": kind, "fun": c, "args": call["args"]} for c in given]
        return call["bounds"] if len(call["bounds"]) else None, constraints
    return call.get("bounds"), ()


for _target in (optimize.brent, optimize.golden):
    minimiser(_target, shape=())
minimiser(optimize.fminbound, shape=())
for _target in (optimize.fmin, optimize.fmin_powell, optimize.fmin_slsqp):
    minimiser(_target)
for _target in (optimize.fmin_cg, optimize.fmin_bfgs, optimize.fmin_ncg):
    minimiser(_target, function="f")
minimiser(optimize.fmin_l_bfgs_b, always=True)
minimiser(optimize.fmin_tnc, always=True, has_value=False)
minimiser(optimize.fmin_cobyla)
