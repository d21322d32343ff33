"""Wrappers without source that pass their arguments on, as type checkers do.

Such a wrapper runs with plain values, so its checks see no tracers. If it passes these same objects
to the function that it wraps, the function is called with the traced values. If it returns the same
object that the function has returned, the traced result is returned. A wrapper that changes
arguments or results is refused, like other code without source.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.closures.captured_values import is_empty, with_cells
from autodiff.intercept.syntax import syntax_ops
from autodiff.trace.pytree import leaves_of, map_leaves
from autodiff.trace.tracer import is_tracer, untraced

CHANGED: Any = object()
"""What `handed_on` returns for a wrapper that changes arguments or results."""

_PASSING = (bool, int, str, bytes, type(None), type)


class _ChangedError(Exception):
    """A wrapper has changed an argument or the result."""


def handed_on(g: types.FunctionType, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call a wrapper without source; return `CHANGED` if it does more than pass values on."""
    wrapped = getattr(g, "__wrapped__", None)
    if type(wrapped) is not types.FunctionType:
        return CHANGED
    pairs: list[tuple[Any, Any]] = []  # plain, and what it stands for

    def plain(x: Any) -> Any:
        made = map_leaves(x, _plain)
        pairs.append((made, x))
        return made

    def traced(x: Any) -> Any:
        for made, original in pairs:
            if made is x:
                return original
        if not isinstance(x, _PASSING):
            raise _ChangedError
        return x

    def inside(*args: Any, **kwargs: Any) -> Any:
        given = [traced(a) for a in args], {name: traced(a) for name, a in kwargs.items()}
        return plain(syntax_ops.intercept(wrapped)(*given[0], **given[1]))

    wrapper = _with_another(g, wrapped, inside)
    values = tuple(map(plain, args)), {name: plain(value) for name, value in kwargs.items()}
    if wrapper is None or any(map(is_tracer, leaves_of(values))):  # of a recording
        return CHANGED
    try:
        return traced(wrapper(*values[0], **values[1]))
    except _ChangedError:
        return CHANGED


def _plain(x: Any) -> Any:
    value = untraced(x)
    if type(value) is np.ndarray and is_tracer(x):
        value = value.copy()
        value.flags.writeable = False  # a write would not be followed
    return value


def _with_another(
    g: types.FunctionType, wrapped: Callable, instead: Callable
) -> types.FunctionType | None:
    """Return the wrapper with `instead` in place of `wrapped`; None if it does not hold that."""

    def other(value: Any) -> Any:
        return instead if value is wrapped else value

    cells = [
        c if is_empty(c) or c.cell_contents is not wrapped else types.CellType(instead)
        for c in g.__closure__ or ()
    ]
    made = with_cells(g, cells)
    made.__defaults__ = None if g.__defaults__ is None else tuple(map(other, g.__defaults__))
    made.__kwdefaults__ = {n: other(v) for n, v in (g.__kwdefaults__ or {}).items()}
    held = [*(g.__defaults__ or ()), *(g.__kwdefaults__ or {}).values()]
    held += [c.cell_contents for c in g.__closure__ or () if not is_empty(c)]
    return made if any(v is wrapped for v in held) else None
