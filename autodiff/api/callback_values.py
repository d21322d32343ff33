"""Conversions between structural tangents and the pytrees that user-defined functions work with.

Hooks and custom gradients get the cotangent of a pytree as a pytree, and may return one.
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

MISFITS = (LookupError, AttributeError, TypeError)
"""What `as_tangent` raises for a cotangent that does not fit its primal."""


def call_user(f: Callable, *args: Any) -> Any:
    """Call a user-defined function; trace its calls if an outer level traces its arguments.

    If it was made in a traced function, the arrays that it makes are tracers without a tape. They
    leave it as arrays.
    """
    traced = f if innermost(args, {}) is None else intercept(f)
    return map_leaves(traced(*args), lambda leaf: leaf._value if is_constant(leaf) else leaf)


def as_pytree(x: Any, x_bar: Any) -> Any:
    """Return a cotangent as a pytree like its primal, with numbers for zeros.

    Leaves that cannot be perturbed are None, as in what ``gradient`` returns.
    """
    x_bar = unthunk(x_bar)
    parts = parts_of(x)
    if parts is None:
        if not is_perturbable(x):
            return None
        return zero_tangent(untraced(x)) if isinstance(x_bar, AbstractZero) else x_bar
    by_part = isinstance(x_bar, Tangent)
    bars = [as_pytree(part, x_bar[key] if by_part else x_bar) for key, part in parts]
    return rebuilt(x, bars)


def as_tangent(x: Any, tree: Any) -> Any:
    """Return a cotangent given as a pytree like its primal in the form that rules use.

    Raises
    ------
    LookupError, AttributeError, TypeError
        If its structure or its shapes are not those of the primal.
    """
    if tree is None:
        return NoTangent()
    if isinstance(tree, (AbstractZero, Tangent, NotImplementedTangent)):
        return tree
    parts = parts_of(x)
    if parts is None:
        return _checked_leaf(x, tree)
    if isinstance(tree, (tuple, list)) and len(tree) != len(parts):
        raise TypeError(f"it has {len(tree)} parts, and the value {len(parts)}")
    by_key = isinstance(x, (tuple, list, dict)) and not hasattr(x, "_fields")
    new = iter(
        [as_tangent(part, tree[key] if by_key else getattr(tree, key)) for key, part in parts]
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
