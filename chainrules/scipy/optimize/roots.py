"""Roots: f(x, *args) = 0 gives ẋ = -(∂f/∂x)⁻¹ ḟ; see :mod:`implicit`.

A fixed point is a root of f(x) - x. ``newton`` of an array solves one equation for each element,
so its Jacobian is a diagonal. The brackets and first guesses have gradient zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from chainrules.scipy.optimize.implicit import (
    decomposed,
    full_name,
    solution,
    tuple_of,
    with_fields,
    with_others,
)


class Equation(NamedTuple):
    """How the equation is written."""

    name: str
    n: int
    shape: tuple[int, ...]
    """Of what the function takes."""
    digits: int = 3
    diagonal: bool = False
    first: bool = False
    """Whether the function returns its value and more, such as the derivative."""
    fixed: bool = False
    """Whether it is f(x) = x."""
    of_python: bool = False
    """Whether the function takes a number of Python's."""


def equation(config: Any, spec: Equation, params: tuple, z: Any) -> Any:
    """The residual: the function's value."""
    f, args = params
    y = f(unknown(spec, z), *args)
    if spec.first:
        y = y[0]
    return np.ravel(y) - z if spec.fixed else np.ravel(y)


def unknown(spec: Equation, z: Any) -> Any:
    """Return what the function takes, from its elements."""
    if spec.of_python:
        return z[0].item()
    return z[0] if spec.shape == () else np.reshape(z, spec.shape)


def root_at(name: str, f: Any, args: Any, x: Any, **traits: Any) -> Any:
    """Return the root `x`, as it moves with the function."""
    z = np.ravel(x)
    of_python = type(x) in (float, complex)
    spec = Equation(name, len(z), np.shape(x), of_python=of_python, **traits)
    z = solution(equation, spec, (f, tuple_of(args)), z)
    return np.reshape(z, ()) if type(x) is np.ndarray and x.ndim == 0 else unknown(spec, z)


def digits_of(success: Any) -> int:
    """How far a solution must have converged: further where SciPy says that it has not."""
    return 3 if np.all(success) else 6


def scalar_root(target: Callable) -> None:
    """Decompose a function that finds a root between two brackets."""
    name = full_name(target)

    @decomposed(target, Callable)
    def body(call: dict, result: Any) -> Any:
        if not call["full_output"]:
            return root_at(name, call["f"], call["args"], result)
        root, report = result
        x = root_at(name, call["f"], call["args"], root, digits=digits_of(report.converged))
        return x, with_fields(report, root=x)


for _target in (
    optimize.bisect, optimize.brentq, optimize.brenth, optimize.ridder, optimize.toms748,
):  # fmt: skip
    scalar_root(_target)


@decomposed(optimize.root_scalar, Callable)
def root_scalar_body(call, result):
    """The root of a result."""
    is_pair = call["fprime"] is not None and not callable(call["fprime"]) and call["fprime"]
    x = root_at(
        "scipy.optimize.root_scalar",
        call["f"],
        call["args"],
        result.root,
        digits=digits_of(result.converged),
        first=bool(is_pair) or _is_true(call["fprime2"]),
    )
    return with_fields(result, root=x)


def _is_true(option: Any) -> bool:
    return option is not None and not callable(option) and bool(option)


@decomposed(optimize.newton, Callable)
def newton_body(call, result):
    """One equation, or one for each element."""
    name, args = "scipy.optimize.newton", call["args"]
    if not call["full_output"]:
        return root_at(name, call["func"], args, result, diagonal=np.ndim(result) > 0)
    digits = digits_of(result[1].converged if np.ndim(result[0]) == 0 else result[1])
    x = root_at(name, call["func"], args, result[0], digits=digits, diagonal=np.ndim(result[0]) > 0)
    if isinstance(result[1], optimize.RootResults):
        return x, with_fields(result[1], root=x)
    return result._replace(root=x) if hasattr(result, "_replace") else (x, *result[1:])


@decomposed(optimize.fixed_point, Callable)
def fixed_point_body(call, result):
    """A root of f(x) - x."""
    return root_at("scipy.optimize.fixed_point", call["func"], call["args"], result, fixed=True)


@decomposed(optimize.fsolve, Callable)
def fsolve_body(call, result):
    """The root of a vector function, which is always flat."""
    name, args = "scipy.optimize.fsolve", call["args"]
    if not call["full_output"]:
        return root_at(name, call["func"], args, result)
    x = root_at(name, call["func"], args, result[0], digits=digits_of(result[2] == 1))
    return x, *result[1:]


@decomposed(optimize.root, Callable)
def root_body(call, result):
    """The root of a result, and the value there."""
    x = root_at(
        "scipy.optimize.root",
        call["fun"],
        call["args"],
        result.x,
        digits=digits_of(result.success),
        first=_is_true(call["jac"]),
    )
    return with_fields(with_others(result, x, "scipy.optimize.root", ("x", "fun")), x=x)


def nonlinear_root(target: Callable) -> None:
    """Decompose one of the iterations for large systems."""
    name = full_name(target)

    @decomposed(target, Callable)
    def body(call: dict, result: Any) -> Any:
        return root_at(name, call["F"], (), result)


for _target in (
    optimize.anderson, optimize.broyden1, optimize.broyden2, optimize.diagbroyden,
    optimize.excitingmixing, optimize.linearmixing, optimize.newton_krylov,
):  # fmt: skip
    nonlinear_root(_target)
