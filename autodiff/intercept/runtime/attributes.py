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

import numpy as np

from autodiff.intercept.runtime import call_site_cache, syntax_ops
from autodiff.trace import lifetimes
from autodiff.trace.trace_stack import check_free
from autodiff.trace.tracer import FloatTracer, Tracer
from chainrules_core.tangents.fields import dict_of

# For each class: attribute → what reads it (sets it), or None where Python's own way will do.
_getters: weakref.WeakKeyDictionary[type, dict[str, Callable | None]] = weakref.WeakKeyDictionary()
_setters: weakref.WeakKeyDictionary[type, dict[str, Callable | None]] = weakref.WeakKeyDictionary()
# The same for classes at module level, which stay: (class, attribute) → …
_lasting_getters: dict[tuple[type, str], Callable | None] = {}
_lasting_setters: dict[tuple[type, str], Callable | None] = {}
_OURS = "autodiff"


def read(owner: Any, name: str) -> Any:
    """Return an attribute; what a class does for it in Python has the calls in it seen."""
    kind = type(owner)
    try:
        getter = _lasting_getters[kind, name]
    except KeyError:
        getter = _known(kind, name, _lasting_getters, _getters, _getter)
    if getter is None:
        if lifetimes.stays(kind):
            call_site_cache.read_as_ever(kind, name)
        return getattr(owner, name)
    if kind is Tracer or kind is FloatTracer:
        call_site_cache.read_as_ever(kind, name)
    return getter(owner)


def write(value: Any, owner: Any, name: str) -> None:
    """Set an attribute; what a class does for it in Python has the calls in it seen."""
    kind = type(owner)
    if kind is np.ndarray:
        check_free(owner)
    try:
        setter = _lasting_setters[kind, name]
    except KeyError:
        setter = _known(kind, name, _lasting_setters, _setters, _setter)
    if setter is None:
        setattr(owner, name, value)
    else:
        setter(owner, value)


# Classes none of whose attributes is set or deleted by code written in Python, and other classes.
_as_ever: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()
_lasting_as_ever: set[type] = set()


def sets_as_ever(kind: type) -> bool:
    """Whether no code written in Python runs when an attribute is set or deleted."""
    if kind in _lasting_as_ever:
        return True
    known = _as_ever.get(kind)
    if known is None:
        known = _as_ever[kind] = not any(
            name in ("__setattr__", "__delattr__")
            or isinstance(value, property)
            or type(getattr(type(value), "__set__", None)) is types.FunctionType
            for base in kind.__mro__[:-1]
            for name, value in base.__dict__.items()
        )
        if known and lifetimes.stays(kind):
            _lasting_as_ever.add(kind)
    return known


def is_kept(owner: Any, name: str) -> bool:
    """Whether an attribute is what was put there last, in the object itself or a slot of it."""
    found = _in_class(type(owner), name)
    kept = dict_of(owner)
    return name in kept if found is None else type(found) is types.MemberDescriptorType


def delete(owner: Any, name: str) -> None:
    """Delete an attribute; what a class does for it in Python has the calls in it seen."""
    own, found = syntax_ops.special(type(owner), "__delattr__"), _in_class(type(owner), name)
    if own is not None:
        syntax_ops.intercept(own)(owner, name)
    elif isinstance(found, property) and type(found.fdel) is types.FunctionType:
        syntax_ops.intercept(found.fdel)(owner)
    else:
        delattr(owner, name)


def _known(kind: type, name: str, lasting: dict, table: Any, find: Callable) -> Callable | None:
    if lifetimes.stays(kind):
        if (kind, name) not in lasting:
            lasting[kind, name] = find(kind, name)
        return lasting[kind, name]
    if "<locals>" not in kind.__qualname__:  # made by exec: what is found may hold the class
        return find(kind, name)
    names = table.setdefault(kind, {})
    if name not in names:
        names[name] = find(kind, name)
    return names[name]


def _unless_replaced(kind: type, name: str, found: Any, do: Callable, again: Callable) -> Callable:
    """Return what reads or sets an attribute by what the class has for it, while it has that.

    After that `again` has to find out anew what is to be done. `do` is a function, or the method of
    a property, in which calls are seen.
    """
    if kind.__module__.partition(".")[0] == _OURS:
        return syntax_ops.intercept(do)

    # The class is not held: what is remembered of one made in a function goes with it. A property
    # of a class is itself; another descriptor is not asked, which may run its code.
    if type(found) is property:

        def by_property(*args: Any) -> Any:
            if getattr(type(args[0]), name, None) is found:
                return syntax_ops.intercept(do)(*args)
            _forget(type(args[0]), name)
            return again(*args)

        return by_property

    def by_descriptor(*args: Any) -> Any:
        if _in_class(type(args[0]), name) is found:
            return syntax_ops.intercept(do)(*args) if isinstance(found, property) else do(*args)
        _forget(type(args[0]), name)
        return again(*args)

    return by_descriptor


def _forget(kind: type, name: str) -> None:
    for lasting, table in ((_lasting_getters, _getters), (_lasting_setters, _setters)):
        lasting.pop((kind, name), None)
        table.get(kind, {}).pop(name, None)


def forget() -> None:
    """After a change of the rules, decide anew."""
    for table in (_getters, _setters, _lasting_getters, _lasting_setters, _as_ever):
        table.clear()
    _lasting_as_ever.clear()


def _forget_module(key: int, name: str) -> None:
    for table in (_lasting_getters, _lasting_setters, _lasting_as_ever):
        lifetimes.forget_classes(table, name)


lifetimes.at_end(_forget_module)


def _in_class(kind: type, name: str) -> Any:
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def _getter(kind: type, name: str) -> Callable | None:
    """Return what reads an attribute, if code written in Python does."""
    found = _in_class(kind, name)
    do = _getter_by(kind, name, found)
    if do is None or found is None:
        return do
    return _unless_replaced(kind, name, found, do, lambda owner: read(owner, name))


def _getter_by(kind: type, name: str, found: Any) -> Callable | None:
    if isinstance(found, property):
        return found.fget if type(found.fget) is types.FunctionType else None
    if isinstance(found, functools.cached_property):
        return functools.partial(_cached, found, name)
    get = getattr(type(found), "__get__", None)
    if type(get) is types.FunctionType and not syntax_ops.is_library(get):
        overrides = hasattr(type(found), "__set__")
        return functools.partial(_described, found, get, kind, name, overrides)
    if found is None:
        fallback = _in_class(kind, "__getattr__")
        if type(fallback) is types.FunctionType and not syntax_ops.is_library(fallback):
            return functools.partial(_or_else, kind.__getattribute__, fallback, name)
    return None


def _cached(found: functools.cached_property, name: str, owner: Any) -> Any:
    if name not in vars(owner):
        vars(owner)[name] = syntax_ops.intercept(found.func)(owner)
    return vars(owner)[name]


def _described(
    found: Any, get: types.FunctionType, kind: type, name: str, overrides: bool, owner: Any
) -> Any:
    values = dict_of(owner)
    if not overrides and name in values:
        return values[name]
    return syntax_ops.intercept(get)(found, owner, kind)


def _or_else(plainly: Callable, fallback: types.FunctionType, name: str, owner: Any) -> Any:
    try:
        return plainly(owner, name)
    except AttributeError:
        return syntax_ops.intercept(fallback)(owner, name)


def _setter(kind: type, name: str) -> Callable | None:
    """Return what sets an attribute, if code written in Python does."""
    own = _in_class(kind, "__setattr__")
    if type(own) is types.FunctionType:
        return lambda owner, value: syntax_ops.intercept(own)(owner, name, value)
    found = _in_class(kind, name)
    do: Callable | None = None
    put = getattr(type(found), "__set__", None)
    if isinstance(found, property):
        do = found.fset if type(found.fset) is types.FunctionType else None
    elif type(put) is types.FunctionType and not syntax_ops.is_library(put):
        do = functools.partial(_put, found, put)
    if do is None:
        return None
    return _unless_replaced(kind, name, found, do, lambda owner, value: write(value, owner, name))


def _put(found: Any, put: types.FunctionType, owner: Any, value: Any) -> None:
    syntax_ops.intercept(put)(found, owner, value)
