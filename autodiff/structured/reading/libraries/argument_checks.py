"""Checks on the arguments of a call that may be decomposed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.autocompile.pure_functions import is_pure_by_rule, is_written_into, place_of_out
from autodiff.structured.form.function_ir import Value, known
from autodiff.structured.form.kinds import UNKNOWN, UnsupportedError

Choice = tuple[Callable, list] | None
"""A decomposition with its arguments (values or numbers); None if the call stays as it is."""


def is_floats(v: Any) -> bool:
    """Whether this is an array of float64."""
    return type(v) is Value and v.kind.dtype == np.float64 and v.kind.ndim > 0


def is_float(v: Any) -> bool:
    """Whether this is a float64 number."""
    return type(v) is Value and v.kind.is_scalar and v.kind.classes <= {float, np.float64}


def is_narrow(v: Value) -> bool:
    """Whether the dtype may be another than float64 and int64; Python's real numbers have none."""
    dtype = v.kind.dtype
    if dtype is None:
        return not v.kind.classes <= {bool, int, float, np.float64, np.int64}
    return dtype not in (np.float64, np.int64)


def is_integer(v: Any) -> bool:
    """Whether this is an integer."""
    return type(v) is Value and v.kind.is_integral and v.kind.classes.isdisjoint({bool, np.bool_})


def known_option(given: dict[str, Any], name: str, otherwise: Any = None) -> Any:
    """Return the value of an option; `UNKNOWN` if it is only known at run time."""
    v = given.get(name, otherwise)
    return known(v) if type(v) is Value else UNKNOWN if name in given else v


def is_first(v: Value, axis: Any) -> bool | None:
    """Whether an axis is the first one; None if it is neither the first nor the last."""
    ndim = v.kind.ndim
    if type(axis) is not int or axis % ndim not in (0, ndim - 1) or not -ndim <= axis < ndim:
        return None
    return axis % ndim == 0


def first_or_last(v: Value, axis: Any, first: Callable, last: Callable) -> Callable | None:
    """Return the function for the first or for the last axis; None for any other axis."""
    at_first = is_first(v, axis)
    return None if at_first is None else first if at_first else last


def bound(names: tuple[str, ...], args: list, given: dict[str, Any]) -> dict[str, Any] | None:
    """Bind the arguments of a call to the names of parameters; None if some do not fit."""
    named = dict(zip(names, args, strict=False)) | given
    fits = named.keys() <= set(names) and len(named) == len(args) + len(given)
    return named if fits else None


def by_name(*names: str) -> Callable[[Callable[[dict[str, Any]], Choice]], Callable]:
    """Return a decorator for selectors that get the arguments of a call by these names.

    Calls without the first argument, or with other arguments, stay as they are.
    """

    def decorated(select: Callable[[dict[str, Any]], Choice]) -> Callable:
        def select_by_name(args: list, given: dict[str, Any]) -> Choice:
            named = bound(names, args, given)
            return None if named is None or names[0] not in named else select(named)

        return select_by_name

    return decorated


def by_rank(function: Callable, *ranks: int) -> Callable:
    """Return a selector for arrays of these ranks, without options."""

    def select(args: list, given: dict[str, Any]) -> Choice:
        is_one = not given and all(map(is_floats, args))
        return (function, args) if is_one and ranks == tuple([v.kind.ndim for v in args]) else None

    return select


def known_parts(v: Any) -> Any:
    """Return a known value, or a list of the parts of a tuple; None for what is not known."""
    if isinstance(v, tuple):
        return [known_parts(part) for part in v]
    return known(v) if type(v) is Value else None


WITH_OUT = frozenset({np.clip, np.cumsum, np.round})
"""Functions that are no ufuncs, and compute all of their result before they write it into `out`."""


_WITH_WHERE = frozenset({np.sum, np.mean, np.prod, np.max, np.min, np.amax, np.amin}).union(
    [getattr(np.ndarray, name) for name in ("sum", "mean", "prod", "max", "min")]
)
"""Functions that leave out elements by ``where``."""


def pop_out(f: Callable, values: list[Value], named: dict[str, Value]) -> Value | None:
    """Pop the argument ``out`` of a ufunc; raise if the call may write into another argument."""
    out = None
    if isinstance(f, np.ufunc) and f.nout == 1:
        if len(values) == f.nin + 1:
            named["out"] = values.pop()
        out = named.pop("out", None)
    is_unset = "where" in named and f not in _WITH_WHERE  # where a mask is false
    if is_unset or _may_write(f, len(values), named):
        raise UnsupportedError("an argument out, where or overwrite")
    return out


def _may_write(f: Any, n: int, options: dict[str, Value]) -> bool:
    """Whether a library function may write into one of its arguments.

    `n` is the number of positional arguments. ``copy`` counts for `numpy.nan_to_num` alone:
    functions that create arrays never write into their arguments.
    """
    if any(is_written_into(name) for name in options.keys() - {"copy"}):
        return True
    if "copy" in options and f is np.nan_to_num:
        return True
    place = place_of_out(f) if is_pure_by_rule(f) or f is np.nan_to_num else None
    return place is not None and n > place
