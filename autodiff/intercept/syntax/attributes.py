"""Attributes read and set inside a traced function: user-defined accessors are traced.

Python calls a property, a descriptor or ``__getattr__`` from C, where no rewritten call sees it. So
reading an attribute is a call of `read`, and setting one a call of `write`.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.intercept.runtime import call_site_cache
from autodiff.intercept.syntax import syntax_ops
from autodiff.mutation import written_arguments
from autodiff.trace.trace_stack import check_free, program_tape
from autodiff.trace.tracer import FloatTracer, Tracer, bare
from chainrules_core.tangents.fields import dict_of, in_class

_OURS = "autodiff"
Accessor = Callable | None
"""What reads or sets an attribute; None where Python itself does."""


class _Accessors:
    """What reads, or sets, attributes: found out once for each class and name.

    Attributes
    ----------
    lasting : dict
        (class, name) → accessor, for classes of modules.
    """

    def __init__(self, name: str, find: Callable[[type, str], Accessor]) -> None:
        self._find = find
        self.lasting: dict[tuple[type, str], Accessor] = caches.register(name, {}, of_classes=True)
        self._of_functions: weakref.WeakKeyDictionary[type, dict[str, Accessor]] = caches.register(
            f"{name}, classes made by functions", weakref.WeakKeyDictionary()
        )

    def of(self, kind: type, name: str) -> Accessor:
        """Return what is known, and find it out where nothing is."""
        if caches.stays(kind):
            if (kind, name) not in self.lasting:
                self.lasting[kind, name] = self._find(kind, name)
            return self.lasting[kind, name]
        if "<locals>" not in kind.__qualname__:  # made by exec: what is found may hold the class
            return self._find(kind, name)
        names = self._of_functions.setdefault(kind, {})
        if name not in names:
            names[name] = self._find(kind, name)
        return names[name]

    def forget(self, kind: type, name: str) -> None:
        """Forget an attribute of a class."""
        self.lasting.pop((kind, name), None)
        self._of_functions.get(kind, {}).pop(name, None)

    def clear(self) -> None:
        """Forget everything."""
        self.lasting.clear()
        self._of_functions.clear()


def read(owner: Any, name: str) -> Any:
    """Return an attribute; a user-defined accessor is traced."""
    kind = type(owner)
    try:
        getter = _lasting_getters[kind, name]
    except KeyError:  # of a class that may be gone soon, or read for the first time
        getter = _getters.of(kind, name)
        return getattr(owner, name) if getter is None else getter(owner)
    if getter is None:
        call_site_cache.read_as_ever(kind, name)
        return getattr(owner, name)
    if (kind is Tracer or kind is FloatTracer) and name != "__array__":
        call_site_cache.read_as_ever(kind, name)
    return getter(owner)


def write(value: Any, owner: Any, name: str) -> None:
    """Set an attribute; a user-defined accessor is traced."""
    kind = type(owner)
    if kind is np.ndarray:
        check_free(owner)
    elif isinstance(owner, _OF_ALL):
        _check_not_recorded(owner)
    try:
        setter = _lasting_setters[kind, name]
    except KeyError:
        setter = _setters.of(kind, name)
    if setter is None:
        if written_arguments.watching:
            written_arguments.note_store(owner)
        setattr(owner, name, value)
    else:
        setter(owner, value)


_OF_ALL = (type, types.ModuleType)


def _check_not_recorded(owner: Any) -> None:
    """Refuse to record a change of a class or module, which no program would make again."""
    tape = program_tape()
    if tape is not None:
        tape.refuse(f"an attribute of {owner.__name__} is set or deleted")


def _has_no_setters(kind: type) -> bool:
    return not any(
        name in ("__setattr__", "__delattr__")
        or isinstance(value, property)
        or type(getattr(type(value), "__set__", None)) is types.FunctionType
        for base in kind.__mro__[:-1]
        for name, value in base.__dict__.items()
    )


sets_as_ever = caches.fact_of_classes("classes without setters", _has_no_setters, set())
"""Whether no code written in Python runs when an attribute is set or deleted."""


def is_kept(owner: Any, name: str) -> bool:
    """Whether an attribute is what was put there last, in the object itself or a slot of it."""
    found = in_class(type(owner), name)
    kept = dict_of(owner)
    return name in kept if found is None else type(found) is types.MemberDescriptorType


def delete(owner: Any, name: str) -> None:
    """Delete an attribute; a user-defined accessor is traced."""
    if isinstance(owner, _OF_ALL):
        _check_not_recorded(owner)
    own, found = syntax_ops.special(type(owner), "__delattr__"), in_class(type(owner), name)
    if own is not None:
        syntax_ops.intercept(own)(owner, name)
    elif isinstance(found, property) and type(found.fdel) is types.FunctionType:
        syntax_ops.intercept(found.fdel)(owner)
    else:
        delattr(owner, name)


def _unless_replaced(kind: type, name: str, found: Any, do: Callable, again: Callable) -> Callable:
    """Return an accessor that calls `do` as long as the class has `found` under the name.

    After that `again` decides anew. `do` is a function, or the method of a property; it is traced.
    """
    if kind.__module__.partition(".")[0] == _OURS:
        return syntax_ops.intercept(do)

    # The accessor does not refer to the class: what is known of a class made in a function goes
    # with it. A property read from its class is itself; another descriptor may run its code.
    if type(found) is property:

        def by_property(*args: Any) -> Any:
            kind = type(args[0])
            # The attribute of a class may be a metaclass's.
            if getattr(kind, name, None) is found or in_class(kind, name) is found:
                return syntax_ops.intercept(do)(*args)
            _forget(kind, name)
            return again(*args)

        return by_property

    def by_descriptor(*args: Any) -> Any:
        if in_class(type(args[0]), name) is found:
            return syntax_ops.intercept(do)(*args) if isinstance(found, property) else do(*args)
        _forget(type(args[0]), name)
        return again(*args)

    return by_descriptor


def _forget(kind: type, name: str) -> None:
    _getters.forget(kind, name)
    _setters.forget(kind, name)


def forget() -> None:
    """After a change of the rules, decide anew."""
    _getters.clear()
    _setters.clear()


def _getter(kind: type, name: str) -> Callable | None:
    """Return what reads an attribute, if code written in Python does."""
    found = in_class(kind, name)
    do = _getter_by(kind, name, found)
    if do is None or found is None:
        return do
    return _unless_replaced(kind, name, found, do, lambda owner: read(owner, name))


def _array_of(owner: Any) -> Any:
    """Return the method ``__array__`` of a traced value, which Python code may call."""
    getattr(bare(owner), "__array__")  # noqa: B009 - a float has none

    def method(dtype: Any = None, *, copy: bool | None = None) -> Any:
        return syntax_ops.intercept(np.array)(owner, dtype, copy=copy)

    return method


_FOLLOWED = (types.FunctionType, functools._lru_cache_wrapper)
"""The classes of functions under properties that are traced."""


def _getter_by(kind: type, name: str, found: Any) -> Callable | None:
    if name == "__array__" and (kind is Tracer or kind is FloatTracer):
        return _array_of
    if isinstance(found, property):
        return found.fget if type(found.fget) in _FOLLOWED else None
    if isinstance(found, functools.cached_property):
        return functools.partial(_cached, found, name)
    get = getattr(type(found), "__get__", None)
    if type(get) is types.FunctionType:
        overrides = hasattr(type(found), "__set__")
        return functools.partial(_described, found, get, kind, name, overrides)
    if found is None:
        fallback = in_class(kind, "__getattr__")
        if type(fallback) is types.FunctionType:
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
    own = in_class(kind, "__setattr__")
    if type(own) is types.FunctionType:
        return lambda owner, value: syntax_ops.intercept(own)(owner, name, value)
    found = in_class(kind, name)
    do: Callable | None = None
    put = getattr(type(found), "__set__", None)
    if isinstance(found, property):
        do = found.fset if type(found.fset) is types.FunctionType else None
    elif type(put) is types.FunctionType:
        do = functools.partial(_put, found, put)
    if do is None:
        return None
    return _unless_replaced(kind, name, found, do, lambda owner, value: write(value, owner, name))


def _put(found: Any, put: types.FunctionType, owner: Any, value: Any) -> None:
    syntax_ops.intercept(put)(found, owner, value)


_getters = _Accessors("getters", _getter)
_setters = _Accessors("setters", _setter)
_lasting_getters, _lasting_setters = _getters.lasting, _setters.lasting
