"""Which calls the decompositions stand for: a table of them, and checks of the arguments.

`decomposes` adds a decomposition to the table, with a check for each parameter. The first
decomposition of a function whose checks all pass is inlined in place of a call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autodiff.autocompile.pure_functions import is_pure_by_rule, is_written_into, place_of_out
from autodiff.structured.form.function_ir import Items, Value, known
from autodiff.structured.form.kinds import UnsupportedError

Check = Callable[[Any, dict[str, Any]], Any]
"""Returns what a decomposition gets for an argument, or `NotImplemented` if it is not for that.

It is given the argument, or the default of the parameter, and all arguments by name.
"""


class Decomposition(NamedTuple):
    """A function that is inlined in place of calls, and the checks by NumPy's parameter names."""

    function: Callable
    signature: inspect.Signature
    checks: dict[str, Check]

    def arguments(self, args: list, options: dict[str, Any]) -> dict[str, Any] | None:
        """Return what the function gets for a call, by parameter; None for other calls."""
        try:
            call = self.signature.bind(*args, **options)
        except TypeError:
            return None
        call.apply_defaults()
        given: dict[str, Any] = {}
        for name, own in zip(self.checks, inspect.signature(self.function).parameters, strict=True):
            given[own] = self.checks[name](call.arguments[name], call.arguments)
            if given[own] is NotImplemented:
                return None
        return given


DECOMPOSITIONS: dict[Any, list[Decomposition]] = {}
"""Function, or name of one of `scipy.special` → its decompositions."""


def decomposes(*functions: Any, **checks: Check) -> Callable[[Callable], Callable]:
    """Return a decorator that adds a decomposition of functions of NumPy or SciPy.

    `checks` has a check for each parameter, by the name that it has in NumPy, in order.
    """

    def added(function: Callable) -> Callable:
        parameters = inspect.signature(function).parameters.values()
        named = [p.replace(name=name) for p, name in zip(parameters, checks, strict=True)]
        made = Decomposition(function, inspect.Signature(named), checks)
        for f in functions:
            DECOMPOSITIONS.setdefault(f, []).append(made)
        return function

    return added


# -- checks ----------------------------------------------------------------------------------------


def is_floats(v: Any) -> bool:
    """Whether this is an array of float64."""
    return type(v) is Value and v.kind.dtype == np.float64 and v.kind.ndim > 0


def is_float(v: Any) -> bool:
    """Whether this is a float64 number."""
    return type(v) is Value and v.kind.is_scalar and v.kind.classes <= {float, np.float64}


def is_integer(v: Any) -> bool:
    """Whether this is an integer."""
    return type(v) is Value and v.kind.is_integral and v.kind.classes.isdisjoint({bool, np.bool_})


def _is_narrow(v: Value) -> bool:
    """Whether the dtype may be another than float64 and int64; Python's real numbers have none."""
    dtype = v.kind.dtype
    if dtype is None:
        return not v.kind.classes <= {bool, int, float, np.float64, np.int64}
    return dtype not in (np.float64, np.int64)


def known_parts(v: Any) -> Any:
    """Return a known value or default, or a tuple of such; `UNKNOWN` for what is not known."""
    if isinstance(v, tuple):
        return tuple(map(known_parts, v))
    return known(v) if type(v) is Value else v


def that(test: Callable[[Any], bool]) -> Check:
    """Return a check by a test."""
    return lambda v, named: v if test(v) else NotImplemented


def floats(*ranks: int) -> Check:
    """Return a check for arrays of float64 with one of these ranks, or any."""
    return that(lambda v: is_floats(v) and (not ranks or v.kind.ndim in ranks))


def among(*values: Any) -> Check:
    """Return a check for known values, which the decomposition gets."""

    def check(v: Any, named: dict[str, Any]) -> Any:
        x = known_parts(v)
        return next((c for c in values if type(c) is type(x) and c == x), NotImplemented)

    return check


def vector(v: Any, named: dict[str, Any]) -> Any:
    """Check for a vector; numbers become a list."""
    parts = v if isinstance(v, tuple) else (v,)
    if all(type(p) is Value and p.kind.is_scalar and not p.kind.is_complex for p in parts):
        return Items(parts)
    return v if is_floats(v) and v.kind.ndim == 1 else NotImplemented


def limit(v: Any, named: dict[str, Any]) -> Any:
    """Check for a limit of `numpy.clip`, which converts numbers to float64."""
    is_one = type(v) is Value and known(v) is not None
    return v if is_one and (is_floats(_array(named)) or not _is_narrow(v)) else NotImplemented


def end(axis: Any, named: dict[str, Any]) -> Any:
    """Check for the first or last axis of the first argument."""
    n, x = _array(named).kind.ndim, known_parts(axis)
    is_one = type(x) is int and -n <= x < n and x % n in (0, n - 1)
    return x % n if is_one else NotImplemented


def flat_or_end(axis: Any, named: dict[str, Any]) -> Any:
    """Check for such an axis, or None."""
    return None if known_parts(axis) is None else end(axis, named)


def only_or_end(axis: Any, named: dict[str, Any]) -> Any:
    """Check for such an axis, or for None and a vector."""
    return end(0 if known_parts(axis) is None and _array(named).kind.ndim == 1 else axis, named)


anything = that(lambda v: True)
nothing = that(lambda v: type(v) is Value and known(v) is None)
real = that(lambda v: is_float(v) or type(v) is float)
integer = that(lambda v: is_integer(v) or type(v) is int)
number = that(lambda v: is_float(v) or is_integer(v))
numbers = that(lambda v: is_float(v) or is_floats(v))
option = that(lambda v: type(known_parts(v)) in (type(None), bool, int))


def _array(named: dict[str, Any]) -> Any:
    """Return the first argument."""
    return next(iter(named.values()))


# -- arguments that a call writes into -----------------------------------------------------------

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
