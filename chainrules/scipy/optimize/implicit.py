"""Derivatives of solutions, by the implicit function theorem.

The functions of scipy.optimize iterate until residual(params, z) = 0 holds: an equation, or the
conditions of a minimum. Whatever the iteration did, and wherever it started, the solution moves
with the parameters by

    J ż = -(∂residual/∂params) params_dot,    J = ∂residual/∂z,

and in reverse λ = J⁻ᴴ z̄, params_bar = -(∂residual/∂params)ᴴ λ: one linear solve, no unrolled
iteration. So each function is decomposed: the primal is computed on plain values (:func:`solved`),
and :func:`solution`, which returns it, says how it moves. Its rule calls back into the engine for
J and for the derivative by the parameters, and uses functions that the engine traces: second
derivatives follow by differentiating the rule.

The primal stops at a tolerance, so its value is not quite the solution; the derivative is that of
the solution. It is evaluated after one Newton step from the primal's value (which is returned as it
is), so that the error of the derivative is about the square of the primal's. The length of the step
tells whether the primal had converged; where a second one is not much shorter, as at a multiple
root, J is singular. Both are errors.
"""

from __future__ import annotations

import copy
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_core import (
    ChainRulesError,
    Closure,
    HasForwardMode,
    HasReverseMode,
    NoTangent,
    ZeroTangent,
    decompose,
    frule,
    frule_via_ad,
    ignore_derivatives,
    non_differentiable,
    not_implemented,
    pair_rule,
    primitive,
    rrule,
    rrule_via_ad,
)
from chainrules_core.rules import name_of


class ImplicitError(ChainRulesError, ArithmeticError):
    """A solution has no derivative that the implicit function theorem could give."""


class UnconvergedError(ImplicitError):
    """An iteration stopped too far from a solution."""


class SingularError(ImplicitError):
    """The equations do not determine how the solution moves."""


def solved(target: Callable, call: dict[str, Any]) -> Any:
    """Call a function on plain values: whatever it iterates is not traced."""
    return target(**{k: v if k in _NO_FUNCTIONS else _compiled(v) for k, v in call.items()})


non_differentiable(solved)
_NO_FUNCTIONS = ("args", "consargs", "kwargs")


def _compiled(x: Any) -> Any:
    """Return an option with functions that return plain arrays, as compiled code needs them.

    What a function makes that was itself defined in traced code may be an engine's array.
    """
    if isinstance(x, dict):
        return {k: v if k in _NO_FUNCTIONS else _compiled(v) for k, v in x.items()}
    if type(x) in (list, tuple):
        return type(x)([_compiled(v) for v in x])
    f = x.function if type(x) is Closure else x
    if not isinstance(f, (types.FunctionType, types.MethodType, functools.partial)):
        return x

    @functools.wraps(f)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        return _plain(f(*args, **kwargs))

    return compiled


def _plain(y: Any) -> Any:
    if type(y) in (tuple, list):
        return type(y)([_plain(part) for part in y])
    # Not isinstance: an engine's array may pass for NumPy's.
    is_other = hasattr(y, "__array__") and not issubclass(type(y), (np.ndarray, np.generic))
    return np.asarray(y) if is_other else y


def decomposed(target: Callable, *first: Any) -> Callable[[Callable], Callable]:
    """Decorate a body for `target`.

    The body gets the call as a dict of the arguments by their names, those left out with their
    defaults, and what the function returned for plain values.
    """
    parameters = inspect.signature(target).parameters.values()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}

    def add(function: Callable) -> Callable:
        def body(*args: Any, **kwargs: Any) -> Any:
            call = {**dict(zip(names, args, strict=False)), **kwargs}
            return function({**defaults, **call}, solved(target, call))

        decompose(target, *first)(body)
        return function

    return add


def with_fields(result: Any, **fields: Any) -> Any:
    """Return a result with other values for some of its fields, which are its items."""
    new = copy.copy(result)
    for name, value in fields.items():
        dict.__setitem__(new, name, value)
    return new


def with_others(result: Any, x: Any, name: str, constant: tuple[str, ...] = ()) -> Any:
    """Return a result whose further fields are not differentiated: an error if they are used so.

    Parameters
    ----------
    result : OptimizeResult
        The fields of which those in `constant` stay as they are.
    x : Any
        The solution that the others belong to.
    name : str
        The function.
    """
    return with_fields(
        result,
        **{k: _apart(v, x, name, k) for k, v in result.items() if k not in constant},
    )


def _apart(value: Any, x: Any, name: str, field: str) -> Any:
    if isinstance(value, dict):
        return with_fields(value, **{k: _apart(v, x, name, k) for k, v in value.items()})
    if type(value) in (list, tuple):
        return type(value)([_apart(v, x, name, field) for v in value])
    if isinstance(value, (float, np.ndarray)) and np.asarray(value).dtype.kind in "fc":
        return apart(value, x, field=f"{field} in the result of {name}")
    return value


@primitive
def apart(value, x, field=""):
    """Return `value`, which changes with `x` in a way that is not known."""
    return value


@pair_rule(apart)
def apart_rule(value, x, *, field=""):
    def apart_pushforward(value_dot, x_dot):
        return not_implemented(_left_behind(field))

    def apart_pullback(y_bar):
        if not np.any(y_bar):
            return ZeroTangent(), ZeroTangent()
        raise ImplicitError(_left_behind(field))

    return apart(value, x, field=field), apart_pushforward, apart_pullback


def _left_behind(field: str) -> str:
    return (
        f"{field} is not differentiated: it is what the iteration left behind. Compute it from "
        "x, or wrap it in autodiff.ignore_derivatives(...) if it is to be a constant."
    )


def tuple_of(args: Any) -> tuple:
    """Return ``args=`` as SciPy reads it: one that is no tuple is a single argument."""
    return args if isinstance(args, tuple) else (args,)


def solution(residual: Callable, spec: Any, params: Any, z: Any) -> Any:
    """Return `z`, which solves ``residual(config, spec, params, z) = 0``, as moved by `params`.

    Parameters
    ----------
    residual : callable
        A function of a module; the first argument is the engine's, for derivatives inside.
    spec : tuple
        What it needs to know that has no derivative. ``name``: of the function, for errors;
        ``n``: how many of the leading elements of `z` are the solution (the others are
        multipliers); ``digits``: how far it must have converged; ``diagonal``: whether each
        residual depends on its own element of `z` alone.
    params : tuple
        What it depends on, functions included.
    z : numpy.ndarray
        The solution, a vector.
    """
    return z


def at_solution(config: Any, residual: Callable, spec: Any, params: Any, z: Any) -> tuple:
    """Evaluate the residual close to `z`: ``(run, point, pull, rows)``.

    `rows` is the conjugate of the Jacobian, or its diagonal.
    """

    def run(params: Any, z: Any) -> Any:
        return residual(config, spec, params, z)

    value, pull = rrule_via_ad(config, run, params, z)
    check_square(spec, value, z)
    rows = jacobian(pull, spec, z)
    step = ignore_derivatives(newton_step(spec, rows, value))
    if not check_step(spec, step, z, value):
        return run, z, pull, rows
    point = z + step
    value, pull = rrule_via_ad(config, run, params, point)
    rows = jacobian(pull, spec, z)
    check_contraction(spec, step, newton_step(spec, rows, value), point)
    return run, point, pull, rows


def jacobian(pull: Callable, spec: Any, z: Any) -> Any:
    """Return the conjugate of the Jacobian by its rows, or its diagonal."""
    n = np.shape(z)[0]
    if spec.diagonal:
        return pull(np.ones(n))[2]
    return np.stack([pull(e)[2] for e in np.eye(n)]) if n else np.zeros((0, 0))


@rrule.register(solution, requires={HasReverseMode})
def solution_rrule(config, residual, spec, params, z):
    """Pull back by one solve with the transpose."""
    y = solution(residual, spec, params, z)
    _, _, pull, rows = at_solution(config, residual, spec, params, y)

    def solution_pullback(y_bar):
        is_diagonal = spec.diagonal
        solved_for = y_bar / rows if is_diagonal else np.linalg.solve(np.transpose(rows), y_bar)
        return NoTangent(), NoTangent(), pull(-solved_for)[1], ZeroTangent()

    return y, solution_pullback


@frule.register(solution, requires={HasReverseMode, HasForwardMode})
def solution_frule(config, dots, residual, spec, params, z):
    """Push forward by one solve."""
    y = solution(residual, spec, params, z)
    run, point, _, rows = at_solution(config, residual, spec, params, y)
    zero = np.zeros(np.shape(z))
    moved = frule_via_ad(config, (NoTangent(), dots[2], zero), run, params, point)[1]
    if spec.diagonal:
        return y, -moved / np.conj(rows)
    return y, -np.linalg.solve(np.conj(rows), moved)


def known(function: Callable, spec: Any, params: Any, value: Any) -> Any:
    """Return `value`, which is ``function(config, spec, params)``, where an engine is needed."""
    return value


@rrule.register(known, requires={HasReverseMode})
def known_rrule(config, function, spec, params, value):
    """Pull back through the function, whose value is known."""
    y = known(function, spec, params, value)

    def run(params):
        return function(config, spec, params)

    def known_pullback(y_bar):
        return NoTangent(), NoTangent(), rrule_via_ad(config, run, params)[1](y_bar)[1], NoTangent()

    return y, known_pullback


@frule.register(known, requires={HasReverseMode, HasForwardMode})
def known_frule(config, dots, function, spec, params, value):
    """Push forward through the function, whose value is known."""
    y = known(function, spec, params, value)

    def run(params):
        return function(config, spec, params)

    return y, frule_via_ad(config, (NoTangent(), dots[2]), run, params)[1]


def gradient(config: Any, f: Callable, x: Any) -> Any:
    """Return the gradient of a function that returns one number."""
    y, pull = rrule_via_ad(config, f, x)
    return pull(np.ones(np.shape(y)))[1]


# -- what is looked at on plain values ------------------------------------------------------------


@non_differentiable
def check_square(spec: Any, value: Any, z: Any) -> None:
    """Raise where there are not as many equations as unknowns."""
    if np.shape(value) != np.shape(z):
        raise ImplicitError(
            f"the derivative of {spec.name} needs as many equations as unknowns; its function "
            f"returned {np.size(value)} number(s) for {np.size(z)} unknown(s). For least squares, "
            "use scipy.optimize.least_squares."
        )


@non_differentiable
def newton_step(spec: Any, rows: Any, value: Any) -> Any:
    """Return the Newton step to the solution; raise where the Jacobian is singular."""
    if not np.all(np.isfinite(rows)) or not np.all(np.isfinite(value)):
        raise SingularError(
            f"the derivative of the solution of {spec.name} is not defined: at the solution its "
            "function, or a derivative of it, is infinite or NaN. Write the function so that it is "
            "smooth there; a root or a logarithm at 0, for example, is not."
        )
    if spec.diagonal:
        if np.any(rows == 0):
            raise _singular(spec)
        return -value / np.conj(rows)
    if not np.size(rows):
        return np.zeros(np.shape(value))
    scaled = rows
    for axis in (1, 0):  # what is scaled badly is not singular
        largest = np.max(np.abs(scaled), axis=axis, keepdims=True)
        if np.any(largest == 0):
            raise _singular(spec)
        scaled = scaled / largest
    if np.linalg.svd(scaled, compute_uv=False)[-1] < 1e-14 * len(rows):
        raise _singular(spec)
    return -np.linalg.solve(np.conj(rows), value)


def _singular(spec: Any) -> SingularError:
    return SingularError(
        f"the Jacobian at the solution of {spec.name} is singular (for a minimum: the matrix of "
        "second derivatives), so the solution is a multiple root or one of many, and its "
        "derivative is not defined. Leave out what is redundant among the equations and unknowns, "
        "or add a small penalty that makes a minimum unique. If the solution is to be a constant, "
        "wrap what its function is made of in autodiff.ignore_derivatives(...)."
    )


@non_differentiable
def check_step(spec: Any, step: Any, z: Any, value: Any) -> bool:
    """Raise where the solution is far; return whether it is worth going there."""
    relative = _relative(spec, step, z)
    if relative > 10.0**-spec.digits:
        residual = np.max(np.abs(value[: spec.n]))
        raise UnconvergedError(
            f"{spec.name} has not converged well enough for the derivative of its solution: a "
            f"Newton step still changes it by {relative:.1e} (relative to 1 or to its size), and "
            f"the residual is {residual:.1e}. Ask it for a smaller tolerance or more iterations, "
            "or start closer; at a multiple root or a flat minimum there is no derivative."
        )
    return bool(np.max(np.abs(step), initial=0.0) > 1e-13 * np.max(np.abs(z), initial=1e-3))


@non_differentiable
def check_contraction(spec: Any, first: Any, second: Any, point: Any) -> None:
    """Raise where Newton's method converges slowly: there the Jacobian is singular."""
    before, after = _relative(spec, first, point), _relative(spec, second, point)
    if after > 1e-10 and after > before / 4:
        raise _singular(spec)


def _relative(spec: Any, step: Any, z: Any) -> float:
    if not spec.n:
        return 0.0
    x = z[: spec.n]
    return float(np.max(np.abs(step[: spec.n])) / np.max(np.abs(x), initial=1.0))


def full_name(f: Callable) -> str:
    """Return the public name of a function of scipy.optimize."""
    return f"scipy.optimize.{name_of(f).rpartition('.')[2]}"
