"""The choice of a decomposition for a call of NumPy or SciPy."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.autocompile.pure_functions import is_written_into
from autodiff.structured.form.function_ir import Items
from autodiff.structured.form.kinds import UnsupportedError, samples
from autodiff.structured.form.known_functions import (
    function_of,
    has_users_rule,
    is_builtin_rule,
    is_of_special,
    is_of_ufunc,
)
from autodiff.structured.reading.libraries import (  # noqa: F401 # they fill the table
    array_assembly,
    numpy_decompositions,
    scipy_decompositions,
    sorting_decompositions,
)
from autodiff.structured.reading.libraries.argument_checks import DECOMPOSITIONS
from chainrules_core import rrule
from chainrules_core.define import STEPS, STEPS_OF_ARRAYS
from chainrules_core.registry.entries import key_of

JOINS_VECTORS = frozenset({np.concatenate, np.hstack})
"""Functions that join vectors, and lists of numbers with them."""

REDUCTIONS: dict[Any, Callable] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
}
"""Ufunc → the function that does what its method ``reduce`` does."""

_WITHOUT_RULES = frozenset(
    {np.polyval, np.fill_diagonal, np.ndarray.tolist, np.ndarray.sort, np.ix_}
)  # the tracer runs these as Python code, too

DECOMPOSABLE = frozenset(f for f in DECOMPOSITIONS if not isinstance(f, str))
"""Functions of NumPy that may be decomposed."""

TAKES_VECTORS = DECOMPOSABLE - {
    np.full, np.ix_, np.block, np.clip, np.ndarray.clip, np.fill_diagonal, np.quantile,
    np.percentile, np.array, np.asarray,
} | {
    np.dot, np.matmul, operator.matmul, np.vdot, np.inner, np.outer, np.einsum
}  # fmt: skip
"""Functions that convert a list of numbers to a vector."""


def decomposed(
    f: Any, args: list, options: dict[str, Any]
) -> tuple[Callable, dict[str, Any]] | None:  # fmt: skip
    """Return a decomposition and its arguments by name; None if the call stays as it is."""
    for made in DECOMPOSITIONS.get(f.__name__ if is_of_special(f) else f, ()):
        given = made.arguments(args, options)
        if given is not None:
            is_step = made.function is numpy_decompositions.round_to_integers
            is_one = f is np.full or _has_own_rule(f, args, options, is_step)
            return (made.function, given) if is_one else None
    return _in_steps(f, args, options)


def _in_steps(
    f: Any, args: list, options: dict[str, Any]
) -> tuple[Callable, dict[str, Any]] | None:
    """Return the steps that the rules describe a function by, such as solutions with a factor."""
    if has_users_rule(f):  # this also loads the rules of SciPy, with their steps
        return None
    steps = None if f in STEPS_OF_ARRAYS else STEPS.get(f)
    if steps is None:
        return None
    try:
        given = inspect.signature(steps).bind(*args, **options).arguments
    except TypeError:
        return None
    return None if any(map(is_written_into, given)) else (steps, given)


def _has_own_rule(f: Any, args: list, options: dict[str, Any], is_step: bool) -> bool:
    """Whether the tracer would use the library's rule, not one of the user's, for a call.

    That of a step function is one that says so.
    """
    entry = rrule.entry(key_of(function_of(f))[0])
    if f in _WITHOUT_RULES:
        return entry is None
    try:
        given = tuple(map(_sample, args))
        named = {name: _sample(v) for name, v in options.items()}
        resolved = None if entry is None else entry.resolve(given, named, None)
    except UnsupportedError:
        return False
    if resolved is None:
        return False
    is_constant = resolved[0].kind == "non_differentiable"
    return (is_step and is_constant) or is_builtin_rule(resolved[0])


def has_library_rule(f: Any) -> bool:
    """Whether the tracer uses the library's rule of a function for all arguments."""
    entry = rrule.entry(key_of(function_of(f))[0])
    sample = (np.ones(1),) if is_of_ufunc(f) else (np.array([True]), np.ones(1), np.ones(1))
    resolved = None if entry is None else entry.resolve(sample, {}, None)
    return resolved is not None and is_builtin_rule(resolved[0])


def _sample(v: Any) -> Any:
    """Return a sample value of an argument."""
    if type(v) is Items and any(type(part) is Items for part in v):
        return list(map(_sample, v))
    return tuple(map(_sample, v)) if isinstance(v, tuple) else samples(v.kind)[0]
