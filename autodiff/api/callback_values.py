"""What the engine hands to functions of the user's, and takes from them: nests instead of tangents.

Hooks and custom gradients get the cotangent of a nest in the same nesting, and may return one so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.dispatch.arguments import innermost, is_constant
from autodiff.intercept import intercept
from autodiff.trace.pytree import is_perturbable, map_leaves, parts_of, rebuilt, tangent_of_parts
from autodiff.trace.tracer import is_tracer, untraced
from chainrules_core import (
    AbstractZero,
    NoTangent,
    NotImplementedTangent,
    Tangent,
    unthunk,
    zero_tangent,
)


def call_user(f: Callable, *args: Any) -> Any:
    """Call a function of the user's; its calls are seen where an outer level traces values."""
    if innermost(args, {}) is None:
        return f(*args)
    return map_leaves(intercept(f)(*args), lambda leaf: leaf._value if is_constant(leaf) else leaf)


def as_nest(x: Any, x_bar: Any) -> Any:
    """Return a cotangent in the nesting of its primal, with numbers for zeros.

    None stands where nothing can be perturbed, as in what ``gradient`` returns.
    """
    x_bar = unthunk(x_bar)
    parts = parts_of(x)
    if parts is None:
        if not is_perturbable(x):
            return None
        return zero_tangent(untraced(x)) if isinstance(x_bar, AbstractZero) else x_bar
    by_part = isinstance(x_bar, Tangent)
    bars = [as_nest(part, x_bar[key] if by_part else x_bar) for key, part in parts]
    return rebuilt(x, bars)


def as_tangent(x: Any, nest: Any) -> Any:
    """Return a cotangent given in the nesting of its primal as rules have it.

    Raises
    ------
    LookupError, AttributeError, TypeError
        If it has another nesting, or other shapes.
    """
    if nest is None:
        return NoTangent()
    if isinstance(nest, (AbstractZero, Tangent, NotImplementedTangent)):
        return nest
    parts = parts_of(x)
    if parts is None:
        return _checked_leaf(x, nest)
    if isinstance(nest, (tuple, list)) and len(nest) != len(parts):
        raise TypeError(f"it has {len(nest)} parts, and the value {len(parts)}")
    by_key = isinstance(x, (tuple, list, dict)) and not hasattr(x, "_fields")
    new = iter(
        [as_tangent(part, nest[key] if by_key else getattr(nest, key)) for key, part in parts]
    )
    return tangent_of_parts(x, new)


def _checked_leaf(x: Any, x_bar: Any) -> Any:
    """Check a cotangent against the number or array that it belongs to."""
    x_bar = unthunk(x_bar)
    if not is_perturbable(x):
        return NoTangent()
    if is_tracer(x_bar):
        x_bar._tape.check_open()
    if not isinstance(untraced(x_bar), (int, float, complex, np.ndarray, np.generic)):
        raise TypeError("it is not a number or array")
    if np.shape(x_bar) != np.shape(x):
        raise TypeError(f"its shape is {np.shape(x_bar)}, not {np.shape(x)}")
    return x_bar
