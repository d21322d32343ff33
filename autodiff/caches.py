"""Caches: what the engine remembers, and when it is forgotten.

A cache is a plain dict or set of the module that uses it, so that a look into it costs nothing
more. It is registered here by name, with what ends its entries:

* a change of the rules (`of_rules`), after which everything is decided anew;
* the end of a module: of the classes among its keys (`of_classes`), or what a function given to
  `on_module_end` drops. What is called in place of a function refers to the function's globals, and
  so keeps it alive: a weak reference to the function would not end the entry. Nothing here keeps
  a module alive;
* its size (`put`), where nothing tells that an entry is no longer needed.

`sizes` counts the entries of all caches.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import types
import weakref
from collections.abc import Callable, MutableMapping
from typing import Any, TypeVar

import numpy as np

from chainrules_core import frule, rrule
from chainrules_core.rule import Rule

Table = TypeVar("Table", bound=Any)

_registered: dict[str, Any] = {}
_of_rules: list[Any] = []
_of_classes: list[Any] = []
_modules: dict[int, tuple[weakref.ref, str]] = {}  # id(globals) → the module, its name
_module_ends: list[Callable[[int, str], object]] = []


def register(name: str, table: Table, *, of_rules: bool = False, of_classes: bool = False) -> Table:
    """Register a cache and return it.

    Parameters
    ----------
    name : str
        What `sizes` calls it.
    table : dict or set
        The cache.
    of_rules : bool
        Whether it is emptied when a rule of either mode comes or goes.
    of_classes : bool
        Whether its keys are classes, or tuples that begin with one, which go with their module.
    """
    if name in _registered:
        raise ValueError(f"there are two caches called {name}")
    _registered[name] = table
    if of_rules:
        _of_rules.append(table)
    if of_classes:
        _of_classes.append(table)
    return table


def sizes() -> dict[str, int]:
    """Return the number of entries of each cache."""
    return {name: len(table) for name, table in _registered.items()}


def put(table: MutableMapping, key: Any, value: Any, most: int) -> Any:
    """Store a value and return it; a cache of `most` entries is emptied first."""
    if len(table) >= most:
        table.clear()
    table[key] = value
    return value


def keep_with(table: MutableMapping, x: Any, *values: Any) -> None:
    """Store ``(reference to x, *values)`` under ``id(x)``, until `x` is gone."""
    key = id(x)

    def drop(_: weakref.ref, table: MutableMapping = table) -> None:
        table.pop(key, None)

    table[key] = weakref.ref(x, drop), *values


# -- changes of the rules ------------------------------------------------------------------------


def on_rule_change(forget: Callable[[Rule], object]) -> None:
    """Have ``forget(rule)`` called when a rule of either mode comes or goes."""
    rrule.watch(forget)
    frule.watch(forget)


def _forget_decisions(rule: Rule) -> None:
    for table in _of_rules:
        table.clear()


on_rule_change(_forget_decisions)


# -- ends of modules -----------------------------------------------------------------------------


def _end(key: int) -> None:
    if sys is None or sys.is_finalizing():  # the caches may be gone as well
        return
    gone = _modules.pop(key, None)
    if gone is not None:
        for forget in _module_ends:
            forget(key, gone[1])


def is_of_module(namespace: dict[str, Any]) -> bool:
    """Whether globals are those of a loaded module; its end will be noticed."""
    key = id(namespace)
    known = _modules.get(key)
    if known is not None:
        return known[0]() is not None
    name = namespace.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    if type(module) is not types.ModuleType or vars(module) is not namespace:
        return False

    def gone(_: weakref.ref, end: Callable = _end) -> None:  # a global may be gone before
        end(key)

    _modules[key] = weakref.ref(module, gone), module.__name__
    return True


def stays(kind: type) -> bool:
    """Whether a class is one of a loaded module, and not made by a function."""
    if "<locals>" in kind.__qualname__:
        return False
    module = sys.modules.get(kind.__module__)
    if type(module) is types.ModuleType:
        return is_of_module(vars(module))
    return module is not None  # a module of another kind; without one the class may be gone soon


def on_module_end(forget: Callable[[int, str], object]) -> None:
    """Have ``forget(id(globals), name)`` called when a module is gone."""
    _module_ends.append(forget)


def of_functions(most: int) -> Callable[[Any], Any]:
    """Return a decorator: a cache of `most` results of a function that is given functions.

    No function is kept alive that is made while a program runs: it may hold all that a call made.
    """

    def decorate(function: Any) -> Any:
        lasting = functools.lru_cache(most)(function)
        known: dict[int, tuple[weakref.ref, Any]] = {}

        def cached(g: Any) -> Any:
            found = known.get(id(g))
            if found is not None and found[0]() is g:
                return found[1]
            if type(g) in _OF_CLASSES or (type(g) is np.ufunc and not calls_python(g)):
                return lasting(g)
            result = function(g)
            if len(known) >= most:
                known.clear()
            with contextlib.suppress(TypeError):  # it cannot be referred to weakly
                keep_with(known, g, result)
            return result

        return functools.wraps(function)(cached)

    return decorate


_OF_CLASSES = {
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    type(np.sum),
}
"""The types of the methods of classes made in C, and of NumPy's own functions.

Nobody can refer to them weakly. They are there for as long as their module is.
"""


def calls_python(f: np.ufunc) -> bool:
    """Whether a ufunc calls a function of Python for each element."""
    return f.__name__.endswith("(vectorized)")  # so names `np.frompyfunc` its results


def _forget_classes(key: int, name: str) -> None:
    for table in _of_classes:
        drop_classes(table, name)


def drop_classes(table: Any, name: str) -> None:
    """Take the classes of a module out of a cache."""
    for key in list(table):
        kind = key[0] if type(key) is tuple else key
        if isinstance(kind, type) and kind.__module__ == name:
            if isinstance(table, MutableMapping):
                table.pop(key, None)
            else:
                table.discard(key)


on_module_end(_forget_classes)
register("modules", _modules)


# -- facts about classes -------------------------------------------------------------------------


def fact_of_classes(name: str, find: Callable[[type], bool], lasting: set[Any]) -> Callable:
    """Return a function that says whether something holds for a class, and finds it out once.

    Parameters
    ----------
    name : str
        What `sizes` calls the caches.
    find : callable
        Finds it out.
    lasting : set of type
        Classes of modules for which it holds, in a set that may be asked directly. What is known of
        other classes is kept as long as they are.
    """
    register(name, lasting, of_classes=True)
    others: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()
    register(f"{name}, other classes", others)

    def holds(kind: type) -> bool:
        if kind in lasting:
            return True
        known = others.get(kind)
        if known is None:
            known = find(kind)
            if known and stays(kind):
                lasting.add(kind)
            else:
                others[kind] = known
        return known

    return holds
