"""Dropping what the caches hold about the functions and classes of a module that is deleted.

A weak reference to a function would not do: its replacement has its globals and keeps it alive.
Nothing here holds a module itself.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Callable, MutableMapping, MutableSet
from typing import Any

_modules: dict[int, tuple[weakref.ref, str]] = {}  # id(globals) → the module, its name
_at_end: list[Callable[[int, str], object]] = []


def is_of_module(namespace: dict[str, Any]) -> bool:
    """Whether globals are those of a loaded module; from then on its end is noticed."""
    key = id(namespace)
    known = _modules.get(key)
    if known is not None:
        return known[0]() is not None
    name = namespace.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    if type(module) is not types.ModuleType or vars(module) is not namespace:
        return False
    _modules[key] = weakref.ref(module, lambda _: _end(key)), module.__name__
    return True


def stays(kind: type) -> bool:
    """Whether a class is one of a loaded module, and not made by a function."""
    if "<locals>" in kind.__qualname__:
        return False
    module = sys.modules.get(kind.__module__)
    if type(module) is types.ModuleType:
        return is_of_module(vars(module))
    return module is not None  # without a module, the class may be deleted soon


def at_end(forget: Callable[[int, str], object]) -> None:
    """Have ``forget(id(globals), name)`` called when a module is deleted."""
    _at_end.append(forget)


def _end(key: int) -> None:
    if sys is None or sys.is_finalizing():  # the tables may be gone as well
        return
    gone = _modules.pop(key, None)
    if gone is not None:
        for forget in _at_end:
            forget(key, gone[1])


def forget_classes(table: MutableMapping | MutableSet, name: str) -> None:
    """Remove the classes of a module from a table whose keys are, or start with, classes."""
    for key in list(table):
        kind = key[0] if type(key) is tuple else key
        if isinstance(kind, type) and kind.__module__ == name:
            if isinstance(table, MutableMapping):
                table.pop(key, None)
            else:
                table.discard(key)
