"""What is asked of the arguments of a call, before a function is read as made of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.autocompile.pure_functions import is_pure_by_rule, is_written_into, place_of_out
from autodiff.structured.form.ir import Value, known
from autodiff.structured.form.kinds import UNKNOWN, UnsupportedError

Found = tuple[Callable, list] | None
"""The function that is read, and its arguments: values, or numbers."""


def is_floats(v: Any) -> bool:
    """Whether it is an array of floats."""
    return type(v) is Value and v.kind.dtype == np.float64 and v.kind.ndim > 0


def is_float(v: Any) -> bool:
    """Whether it is a float."""
    return type(v) is Value and v.kind.is_scalar and v.kind.classes <= {float, np.float64}


def is_narrow(v: Value) -> bool:
    """Whether it has a dtype, and not that of floats or integers of 64 bits."""
    dtype = v.kind.dtype
    if dtype is None:
        return not v.kind.classes <= {bool, int, float, np.float64, np.int64}
    return dtype not in (np.float64, np.int64)


def is_integer(v: Any) -> bool:
    """Whether it is an integer."""
    return type(v) is Value and v.kind.is_integral and v.kind.classes.isdisjoint({bool, np.bool_})


def known_option(given: dict[str, Any], name: str, otherwise: Any = None) -> Any:
    """Return an option if it is known; `UNKNOWN` otherwise."""
    v = given.get(name, otherwise)
    return known(v) if type(v) is Value else UNKNOWN if name in given else v


def is_first(v: Value, axis: Any) -> bool | None:
    """Whether an axis is the first or, if not, the last one; None for others."""
    ndim = v.kind.ndim
    if type(axis) is not int or axis % ndim not in (0, ndim - 1) or not -ndim <= axis < ndim:
        return None
    return axis % ndim == 0


def by_rank(function: Callable, *ranks: int) -> Callable:
    """Return what chooses a function for arrays of these ranks, without options."""

    def chosen(args: list, given: dict[str, Any]) -> Found:
        is_one = not given and all(map(is_floats, args))
        return (function, args) if is_one and ranks == tuple([v.kind.ndim for v in args]) else None

    return chosen


def known_parts(v: Any) -> Any:
    """Return what is known of a value, or of the parts of a tuple as a list; None for others."""
    if isinstance(v, tuple):
        return [known_parts(part) for part in v]
    return known(v) if type(v) is Value else None


def taken_out(f: Callable, values: list[Value], named: dict[str, Value]) -> Value | None:
    """Take the argument ``out`` of a ufunc with one result out of its arguments."""
    out = None
    if isinstance(f, np.ufunc) and f.nout == 1:
        if len(values) == f.nin + 1:
            named["out"] = values.pop()
        out = named.pop("out", None)
    if "where" in named or _may_write(f, len(values), named):
        raise UnsupportedError("an argument out, where or overwrite")
    return out


def _may_write(f: Any, n: int, options: dict[str, Value]) -> bool:
    """Whether a call of a library's function is given what it may write into, or told that it may.

    `n` is the number of arguments by place. The option ``copy`` of what makes arrays says neither.
    """
    if any(is_written_into(name) for name in options.keys() - {"copy"}):
        return True
    if "copy" in options and f is np.nan_to_num:
        return True
    place = place_of_out(f) if is_pure_by_rule(f) or f is np.nan_to_num else None
    return place is not None and n > place
