"""The functions in C and Fortran beneath scipy.interpolate, and how they are differentiated.

Splines are objects of Python: their classes, `CubicSpline` to `RegularGridInterpolator`, are
traced, so that a spline made of traced data holds traced coefficients. Only what is compiled has a
body here that computes the same by functions that have rules; where such a function gets an array
to write into, the body writes into it.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.scipy.private import look_up
from chainrules_core import decompose, ignore_derivatives, non_differentiable

Body = Callable[[Callable], Callable]


def kernel(name: str, *modules: Any) -> Body:
    """Declare the decorated body of a compiled function, in the modules that have it."""

    def add(body: Callable) -> Callable:
        for module in modules:
            found = look_up(module, name)
            if found is not None:
                decompose(found)(body)
        return body

    return add


def twin_of(f: Any) -> Any:
    """Return a copy of a function of Python's, which is traced where the function has a rule.

    For rules that are for most calls of a function, and leave the others to it.
    """
    if type(f) is not types.FunctionType:
        return f
    copy = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    copy.__kwdefaults__ = f.__kwdefaults__
    copy.__qualname__, copy.__module__ = f.__qualname__, f.__module__
    return copy


def plainly(f: Callable, *args: Any, **options: Any) -> Any:
    """Call a compiled function on plain values; arrays into which it writes are copies."""
    copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
    return f(*copies, **options)


non_differentiable(plainly)


def falling(p: int, order: int) -> float:
    """Return the factor that s**p gets if differentiated (or, order < 0, integrated) so often."""
    if order > p:
        return 0.0
    return math.factorial(p) / math.factorial(p - order)


def polished(roots: Any, values: Callable, slopes: Callable, what: str) -> Any:
    """Return roots, found on plain values, as functions of what the values depend on.

    A step of Newton's from a constant root has the derivative of the implicit function theorem,
    ẋ = -ṗ(x) / p'(x), and each further one doubles the order to which the derivatives hold: two
    serve up to the third.
    """
    x = ignore_derivatives(roots)
    if np.any(np.abs(ignore_derivatives(slopes(x))) < 1e-9):
        raise ValueError(
            f"{what} has a root where the slope is zero too: there the root is not differentiable "
            "(two roots meet). Leave it out, or wrap the roots in autodiff.ignore_derivatives(...)."
        )
    for _ in range(2):
        x = x - values(x) / slopes(x)
    return x
