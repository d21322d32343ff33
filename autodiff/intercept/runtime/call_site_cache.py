"""What each call site calls in place of a function, so that most calls need no lookup.

A global name refers to the same function at nearly every call. ``g(x)`` becomes
``(replaced[7] if g is known[7] else see(g, 7))(x)``: one comparison, where `known` holds the
function of the last lookup. Slots are emptied when the rules change. Each holds one function, so
one that a notebook redefines is not kept alive. For a user's function ``__code__`` is compared as
well, and the defaults if it has some.

No other thread can run between the comparison and the reading of `replaced`: none of the
instructions in between calls Python or jumps back.
"""

from __future__ import annotations

import collections
import operator
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.intercept.source.library_code import is_library
from autodiff.mutation.identity import as_key
from autodiff.mutation.written_arguments import watching
from autodiff.trace.tracer import FloatTracer, Tracer

_EMPTY = object()
_changing = threading.RLock()  # of the lists here, of which each is as long as the others
known: list[Any] = []
"""Slot → what the name was bound to."""
replaced: list[Any] = []
"""Slot → what is called in its place."""
made_of: dict[str, list[Any]] = {"__code__": [], "__defaults__": [], "__kwdefaults__": []}
"""For each attribute, slot → its value in the function: tools that reload modules replace it."""
compared: list[tuple[str, ...]] = []
"""Slot → the attributes that are compared there, besides the function itself."""
_owners: list[int] = []  # the id of the globals of the code that has the slot
_free: list[int] = []  # slots of modules that are gone

_KINDS = (
    types.FunctionType, types.BuiltinFunctionType, type, np.ufunc, type(np.sum),
)  # fmt: skip


def slot_for(name: str, namespace: dict[str, Any]) -> int | None:
    """Return a new slot for the calls of a name, ``g`` or ``module.g``; None if it may have none.

    Parameters
    ----------
    name : str
        The name as it stands in the source.
    namespace : dict
        The globals in which it is looked up.
    """
    value = value_of(name, namespace)
    if type(value) not in _KINDS or not caches.is_of_module(namespace):
        return None  # without a module nothing tells when the slot is free again
    with _changing:
        if _free:
            slot = _free.pop()
            compared[slot], _owners[slot] = parts_of(value), id(namespace)
            return slot
        for table in (known, *made_of.values()):
            table.append(_EMPTY)
        replaced.append(None)
        compared.append(parts_of(value))
        _owners.append(id(namespace))
        return len(known) - 1


def forget_module(key: int, name: str) -> None:
    """Empty the slots of a module that is gone, and those that hold functions of it."""
    with _changing:
        for slot, owner in enumerate(_owners):
            if owner == key or id(getattr(known[slot], "__globals__", None)) == key:
                _empty(slot)
            if owner == key:
                _owners[slot] = 0
                _free.append(slot)
    for kinds in quiet:
        caches.drop_classes(kinds, name)


def _empty(slot: int) -> None:
    known[slot] = _EMPTY
    replaced[slot] = None
    for table in made_of.values():
        table[slot] = _EMPTY


def value_of(name: str, namespace: dict[str, Any]) -> Any:
    """Return what a name is bound to; None if it is no name of a module's."""
    first, *rest = name.split(".")
    builtins = namespace.get("__builtins__", {})
    at_hand = builtins if isinstance(builtins, dict) else vars(builtins)
    value = namespace.get(first, at_hand.get(first))
    for attribute in rest:
        if type(value) is not types.ModuleType:
            return None  # what a property does is not to be done twice
        value = vars(value).get(attribute)
    return value


def parts_of(g: Any) -> tuple[str, ...]:
    """Return the attributes of a user's function that can be replaced in place."""
    if type(g) is not types.FunctionType or is_library(g):
        return ()
    return (
        "__code__",
        *(["__defaults__"] if g.__defaults__ else []),
        *(["__kwdefaults__"] if g.__kwdefaults__ else []),
    )


quiet: list[set[type]] = []
"""For each attribute that rewritten code reads of a variable: the classes for which a plain read
will do, since it runs no Python code but the engine's."""
_attributes: dict[str, int] = {}


def slot_of_attribute(name: str) -> int:
    """Return the place of an attribute in `quiet`."""
    with _changing:
        if name not in _attributes:
            quiet.append(set())
            _attributes[name] = len(quiet) - 1
        return _attributes[name]


def read_as_ever(kind: type, name: str) -> None:
    """Remember that a plain read of an attribute will do for a class."""
    if name in _attributes:
        quiet[_attributes[name]].add(kind)


def fill(slot: int, g: Any, replacement: Callable) -> None:
    """Remember what is called in place of what a name is bound to."""
    parts = compared[slot]
    if parts_of(g) != parts:  # not the kind of function for which the code at the slot was written
        return
    with _changing:
        known[slot] = _EMPTY
        replaced[slot] = replacement
        for name in parts:
            made_of[name][slot] = getattr(g, name)
        known[slot] = g


def forget() -> None:
    """After a change of the rules, decide anew."""
    with _changing:
        known[:] = [_EMPTY] * len(known)
        replaced[:] = [None] * len(replaced)
        for table in made_of.values():
            table[:] = [_EMPTY] * len(table)
    for kinds in (*_quiet_methods.values(), *quiet):
        kinds.clear()


CONTAINERS = frozenset({list, dict, set, tuple, str, collections.deque, type({}.keys())})
_OWNERS = CONTAINERS | {Tracer, FloatTracer}
METHODS = frozenset(
    {
        "add", "append", "appendleft", "clear", "copy", "count", "discard", "endswith", "extend",
        "format", "get", "index", "insert", "items", "join", "keys", "lower", "pop", "popleft",
        "remove", "replace", "reverse", "setdefault", "split", "startswith", "strip", "update",
        "upper", "values",
        "all", "any", "argmax", "argmin", "astype", "clip", "conj", "cumsum", "dot", "fill",
        "flatten", "item", "max", "mean", "min", "prod", "ravel", "repeat", "reshape", "round",
        "sort", "squeeze", "std", "sum", "swapaxes", "take", "tolist", "trace", "transpose", "var",
    }
)  # fmt: skip
"""Names of methods of containers and arrays, where the type of the owner decides first."""
_quiet_methods: dict[str, set[type]] = {name: set() for name in METHODS}

_LOOKING = frozenset({"count", "discard", "get", "index", "pop", "remove", "setdefault"})


def _looking(owner: Any, method: Callable) -> Callable:
    """Return a method that looks for an object, which may be the copy of what is there."""

    def look(*args: Any, **kwargs: Any) -> Any:
        return method(*[as_key(x, owner) for x in args[:1]], *args[1:], **kwargs)

    return look


def method_called(
    name: str, intercept: Callable, array_method: Callable, read: Callable[[Any, str], Any]
) -> Callable:
    """Return a function that looks up a method for a call, for a name in `METHODS`.

    `read` reads an attribute: a method may be what a property returns.
    """
    kinds, of_owner = _quiet_methods[name], operator.attrgetter(name)
    of_array = array_method(name) if hasattr(np.ndarray, name) else None
    is_looking = name in _LOOKING

    def of_name(owner: Any) -> Any:
        kind = type(owner)
        if kind in kinds:
            method = of_owner(owner)
            return _looking(owner, method) if is_looking and watching else method
        if kind is np.ndarray and of_array is not None:
            return types.MethodType(of_array, owner)
        method = read(owner, name)
        seen = intercept(method)
        if seen == method and kind in _OWNERS:
            kinds.add(kind)
            return of_name(owner)
        return seen

    return of_name


caches.on_module_end(forget_module)
