"""Whether the arguments of a call may hold a traced value where nobody sees it.

A library's function is rewritten for calls with traced values. These may be an argument, a part of
one, what a function has captured, what a container made in C holds (a deque, a view of a dict), or
what a method of a user's class returns. All this is searched. What cannot be searched counts as
holding one (an iterator, which would be used up, or an object with very many parts): a rewritten
function is just as right, and only slower.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import gc
import io
import types
import weakref
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.closures.captured_values import FUNCTIONS, parts_of_function
from autodiff.dispatch.arguments import PLAIN
from autodiff.intercept.source.library_code import is_of_library
from autodiff.trace.pytree import parts_of
from autodiff.trace.tape import CONSTANT
from autodiff.trace.tracer import TRACERS

_NO_PARTS = PLAIN - {
    np.ndarray,  # it may be one of objects
    type, types.FunctionType, types.BuiltinFunctionType,
}  # fmt: skip
_SEARCHED = 100  # objects with parts, in about a millisecond
_large: dict[int, Any] = caches.register("objects with very many parts", {})

# What they give is not among what they refer to, or only by code that runs later.
_UNSEARCHED = (
    types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, contextvars.ContextVar,
    weakref.ReferenceType, weakref.ProxyType, weakref.CallableProxyType,
)  # fmt: skip
# From these on, what is referred to is not what they hold.
_BEYOND = (types.TracebackType, types.FrameType, types.CodeType, io.IOBase)


def may_hold_tracer(values: tuple) -> bool:
    """Whether a value is or holds a tracer, if only of an array made in a traced function."""
    kinds = set(map(type, values))
    if not TRACERS.isdisjoint(kinds):
        return True
    return not _NO_PARTS.issuperset(kinds) and any(_may_hold(x, True) for x in values)


def may_hide_tracer(values: tuple) -> bool:
    """Whether a function or a container made in C among the values may hold what is traced.

    Arrays made in a traced function do not count.
    """
    return not _SHOWN.issuperset(map(type, values)) and any(
        parts_of(x) is None and _may_hold(x, False) for x in values
    )


_SHOWN = _NO_PARTS | TRACERS | {np.ndarray}


def _may_hold(x: Any, any_tracer: bool) -> bool:
    known = _large.get(id(x))
    if known is not None and known[0]() is x:
        return True
    seen: dict[int, Any] = {}
    waiting = [x]
    while waiting:
        part = waiting.pop()
        kind = type(part)
        if kind in _NO_PARTS or id(part) in seen:
            continue
        if kind in TRACERS:
            if any_tracer or part._tape is not CONSTANT:
                return True
            continue
        inner = _parts(part, kind)
        if inner is None:
            return True
        if inner:
            if len(seen) == _SEARCHED:
                with contextlib.suppress(TypeError):  # nothing tells that a list or dict has ended
                    caches.keep_with(_large, x)
                return True
            seen[id(part)] = part
            waiting.extend([p for p in inner if type(p) not in _NO_PARTS])
    return False


def _parts(x: Any, kind: type) -> list[Any] | None:
    """Return what a value holds; None if that cannot be known."""
    if kind is np.ndarray:
        return list(x.flat) if x.dtype.kind == "O" else []
    if kind in FUNCTIONS:
        return parts_of_function(x)
    if kind is types.BuiltinFunctionType:
        return [] if isinstance(x.__self__, (types.ModuleType, type)) else [x.__self__]
    if issubclass(kind, type):
        return _of_class(x)
    named = parts_of(x)
    if named is not None:
        parts = [part for _, part in named]
        if issubclass(kind, collections.defaultdict):
            parts.append(x.default_factory)
        if _is_users(kind):
            parts.append(kind)
        return parts
    if issubclass(kind, _UNSEARCHED):
        return None
    if issubclass(kind, _BEYOND):
        return []
    if hasattr(kind, "__next__"):
        return None
    return gc.get_referents(x)


def _of_class(x: type) -> list[Any]:
    """Return what a user's class and its bases define."""
    bases = [base for base in x.__mro__ if _is_users(base)]
    return [part for base in bases for part in vars(base).values() if type(part) not in _NO_PARTS]


_is_users = caches.fact_of_classes("users' classes", lambda kind: not is_of_library(kind), set())
