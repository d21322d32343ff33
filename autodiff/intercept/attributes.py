"""Attributes read and set inside a traced function: what a class runs for them is seen.

A property, a descriptor or ``__getattr__`` written in Python is reached through C, past every
rewritten call, so reading an attribute is a call of `read` and setting one a call of `write`.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

from autodiff.intercept import sites, syntax
from autodiff.tracer import FloatTracer, Tracer

# For each class: attribute → what reads it (sets it), or None where Python's own way will do.
_getters: weakref.WeakKeyDictionary[type, dict[str, Callable | None]] = weakref.WeakKeyDictionary()
_setters: weakref.WeakKeyDictionary[type, dict[str, Callable | None]] = weakref.WeakKeyDictionary()
# The same for classes at module level, which stay: (class, attribute) → …
_lasting_getters: dict[tuple[type, str], Callable | None] = {}
_lasting_setters: dict[tuple[type, str], Callable | None] = {}


def read(owner: Any, name: str) -> Any:
    """Return an attribute; what a class does for it in Python has the calls in it seen."""
    kind = type(owner)
    try:
        getter = _lasting_getters[kind, name]
    except KeyError:
        getter = _known(kind, name, _lasting_getters, _getters, _getter)
    if getter is None:
        if "<locals>" not in kind.__qualname__:
            sites.read_as_ever(kind, name)
        return getattr(owner, name)
    if kind is Tracer or kind is FloatTracer:
        sites.read_as_ever(kind, name)
    return getter(owner)


def write(value: Any, owner: Any, name: str) -> None:
    """Set an attribute; what a class does for it in Python has the calls in it seen."""
    kind = type(owner)
    try:
        setter = _lasting_setters[kind, name]
    except KeyError:
        setter = _known(kind, name, _lasting_setters, _setters, _setter)
    if setter is None:
        setattr(owner, name, value)
    else:
        setter(owner, value)


def is_kept(owner: Any, name: str) -> bool:
    """Whether an attribute is what was put there last, in the object itself or a slot of it."""
    found = _in_class(type(owner), name)
    kept = getattr(owner, "__dict__", {})
    return name in kept if found is None else type(found) is types.MemberDescriptorType


def delete(owner: Any, name: str) -> None:
    """Delete an attribute; what a class does for it in Python has the calls in it seen."""
    own, found = syntax.special(type(owner), "__delattr__"), _in_class(type(owner), name)
    if own is not None:
        syntax.intercept(own)(owner, name)
    elif isinstance(found, property) and type(found.fdel) is types.FunctionType:
        syntax.intercept(found.fdel)(owner)
    else:
        delattr(owner, name)


def _known(kind: type, name: str, lasting: dict, table: Any, find: Callable) -> Callable | None:
    if "<locals>" not in kind.__qualname__:
        found = lasting[kind, name] = find(kind, name)
        return found
    names = table.setdefault(kind, {})
    if name not in names:
        names[name] = find(kind, name)
    return names[name]


def forget() -> None:
    """After a change of the rules, decide anew."""
    for table in (_getters, _setters, _lasting_getters, _lasting_setters):
        table.clear()


def _in_class(kind: type, name: str) -> Any:
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def _getter(kind: type, name: str) -> Callable | None:
    """Return what reads an attribute, if code written in Python does."""
    found = _in_class(kind, name)
    if isinstance(found, property):
        if type(found.fget) is types.FunctionType:
            return syntax.intercept(found.fget)
        return None
    if isinstance(found, functools.cached_property):
        return functools.partial(_cached, found, name)
    get = getattr(type(found), "__get__", None)
    if type(get) is types.FunctionType and not syntax.is_library(get):
        overrides = hasattr(type(found), "__set__")
        return functools.partial(_described, found, get, kind, name, overrides)
    if found is None:
        fallback = _in_class(kind, "__getattr__")
        if type(fallback) is types.FunctionType and not syntax.is_library(fallback):
            return functools.partial(_or_else, kind.__getattribute__, fallback, name)
    return None


def _cached(found: functools.cached_property, name: str, owner: Any) -> Any:
    if name not in vars(owner):
        vars(owner)[name] = syntax.intercept(found.func)(owner)
    return vars(owner)[name]


def _described(
    found: Any, get: types.FunctionType, kind: type, name: str, overrides: bool, owner: Any
) -> Any:
    values = getattr(owner, "__dict__", {})
    if not overrides and name in values:
        return values[name]
    return syntax.intercept(get)(found, owner, kind)


def _or_else(plainly: Callable, fallback: types.FunctionType, name: str, owner: Any) -> Any:
    try:
        return plainly(owner, name)
    except AttributeError:
        return syntax.intercept(fallback)(owner, name)


def _setter(kind: type, name: str) -> Callable | None:
    """Return what sets an attribute, if code written in Python does."""
    own = _in_class(kind, "__setattr__")
    if type(own) is types.FunctionType:
        return lambda owner, value: syntax.intercept(own)(owner, name, value)
    found = _in_class(kind, name)
    if isinstance(found, property):
        return syntax.intercept(found.fset) if type(found.fset) is types.FunctionType else None
    put = getattr(type(found), "__set__", None)
    if type(put) is types.FunctionType and not syntax.is_library(put):
        return lambda owner, value: syntax.intercept(put)(found, owner, value)
    return None
