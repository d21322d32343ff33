"""The adapter: a function of a nest as functions of a real vector, which is what SciPy takes.

Each function here takes ``(f, ravelling, args, x)``. With the first three bound by
:func:`functools.partial` it is a function of the vector `x`. In a function that is differentiated,
SciPy's solver is called in the traced way: then its rule sees `f` and `args` in the partial, and
differentiates the solution with respect to them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autodiff.api.gradients import gradient, pullback, value_and_gradient
from autodiff.api.jacobians import hvp, jacobian
from autodiff.api.trees import Ravelling, tree_map
from autodiff.errors import ArgumentError
from autodiff.intercept import intercept
from autodiff.trace.checks.outputs import check_scalar
from autodiff.trace.linearize import promoted
from autodiff.trace.trace_stack import is_differentiating
from autodiff.trace.tracer import bare
from chainrules_core.rules import name_of


class Problem(NamedTuple):
    """A function with its parameters, for SciPy.

    Attributes
    ----------
    f : callable
        ``f(params, *args)``.
    ravelling : Ravelling
        How the parameters lie in a vector of float64.
    args : tuple
        Further arguments of `f`.
    """

    f: Callable
    ravelling: Ravelling
    args: tuple

    def of_vector(self, function: Callable) -> Callable:
        """Return one of the functions below as a function of the vector."""
        return functools.partial(function, self.f, self.ravelling, self.args)

    def differentiated(self) -> Problem:
        """Return the problem for a solution that is differentiated: in double precision.

        The conditions that hold there are solved more exactly than float32 could tell.
        """
        wide = tree_map(_in_double_precision, self.ravelling.like)
        return self._replace(ravelling=Ravelling(wide, real=True))

    @property
    def start(self) -> Any:
        """The parameters as a vector."""
        return self.ravelling.vector(self.ravelling.like)


def _in_double_precision(leaf: Any) -> Any:
    dtype = np.result_type(leaf)
    return (
        leaf if dtype.char in "dDgG" else np.multiply(leaf, 1.0, dtype=np.result_type(dtype, "d"))
    )


def problem(f: Callable, params0: Any, args: Any = ()) -> Problem:
    """Return a function and its parameters as a problem; raise if there is nothing to fit."""
    if not callable(f):
        raise ArgumentError(
            f"the first argument must be a function, not {type(f).__name__}: minimize(f, params0)."
        )
    ravelling = Ravelling(promoted(f, (params0,), 0, True), real=True)
    if not ravelling.size:
        raise ArgumentError(
            f"the parameters of {name_of(f)} hold no floats, complex numbers or arrays of them: "
            "there is nothing to fit. Whole numbers are constants in a nest; write 1.0 for 1."
        )
    return Problem(f, ravelling, args if isinstance(args, tuple) else (args,))


def call(f: Callable, *args: Any) -> Any:
    """Call a user's function, whose captured values may be traced."""
    return (intercept(f) if is_differentiating() else f)(*args)


def value_at(f: Callable, ravelling: Ravelling, args: tuple, x: Any) -> Any:
    """Return the value."""
    return call(f, ravelling.nest(x), *args)


def number_at(f: Callable, ravelling: Ravelling, args: tuple, x: Any) -> Any:
    """Return the value; raise if it is not one real number."""
    y = value_at(f, ravelling, args, x)
    check_scalar(f, y)
    return y


def gradient_at(f: Callable, ravelling: Ravelling, args: tuple, x: Any) -> Any:
    """Return the gradient, a vector."""
    return ravelling.vector(gradient(f, ravelling.nest(x), *args, argnums=0))


def pair_at(f: Callable, ravelling: Ravelling, args: tuple, x: Any) -> tuple[Any, Any]:
    """Return value and gradient, from one pass."""
    value, slopes = value_and_gradient(f, ravelling.nest(x), *args, argnums=0)
    return value, ravelling.vector(slopes)


def gradient_nest(ravelling: Ravelling, vector: np.ndarray) -> Any:
    """Return the vector of a gradient as the nest that a gradient is: None for constants."""
    return pullback(ravelling.vector, ravelling.like)[1](vector)


def product_at(f: Callable, ravelling: Ravelling, args: tuple, x: Any, v: Any) -> Any:
    """Return the product of the Hessian with a vector."""
    return ravelling.vector(hvp(f, ravelling.nest(x), ravelling.nest(v), *args))


def hessian_at(f: Callable, ravelling: Ravelling, args: tuple, x: Any) -> Any:
    """Return the Hessian, a symmetric matrix."""
    columns = [product_at(f, ravelling, args, x, unit) for unit in np.eye(ravelling.size)]
    whole = np.stack(columns)
    return (whole + np.transpose(whole)) / 2


def vector_at(f: Callable, ravelling: Ravelling, args: tuple, x: Any) -> Any:
    """Return the elements of the value, which may be a nest, as a real vector."""
    return flat(f, value_at(f, ravelling, args, x))


def jacobian_at(f: Callable, ravelling: Ravelling, args: tuple, x: Any) -> Any:
    """Return the Jacobian of the real vector."""
    return jacobian(functools.partial(vector_at, f, ravelling, args), x)


def weighted_hessian_at(f: Callable, ravelling: Ravelling, args: tuple, x: Any, v: Any) -> Any:
    """Return the Hessian of the vector's sum with weights `v`."""
    return hessian_at(_weighted, ravelling, (f, v, args), x)


def _weighted(params: Any, f: Callable, v: Any, args: tuple) -> Any:
    return np.sum(np.asarray(v) * flat(f, call(f, params, *args)))


def flat(f: Callable, y: Any) -> Any:
    """Return what a function returned as a real vector."""
    if type(bare(y)) is int or getattr(bare(y), "dtype", np.dtype(float)).kind in "biu":
        y = y * 1.0  # of a constant, for example
    ravelling = Ravelling(y, real=True)
    if not ravelling.size:
        raise ArgumentError(
            f"{name_of(f)} returned {type(bare(y)).__name__} without floats in it. It must return "
            "numbers, arrays, or nests of them."
        )
    return ravelling.vector(y)
