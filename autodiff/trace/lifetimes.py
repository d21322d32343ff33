"""When a module is gone: what is remembered about its functions and classes goes with it.

What stands in place of a function has the function's globals, and so keeps it alive: no weak
reference to the function ends what a table holds. A module itself is held by nothing here.
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
    """Whether globals are those of a loaded module; then its end will be noted."""
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
    return module is not None  # a module of another kind; without one the class may be gone soon


def at_end(forget: Callable[[int, str], object]) -> None:
    """Have ``forget(id(globals), name)`` called when a module is gone."""
    _at_end.append(forget)


def _end(key: int) -> None:
    if sys is None or sys.is_finalizing():  # the tables may be gone as well
        return
    gone = _modules.pop(key, None)
    if gone is not None:
        for forget in _at_end:
            forget(key, gone[1])


def forget_classes(table: MutableMapping | MutableSet, name: str) -> None:
    """Take the classes of a module out of a table; its keys are classes, or begin with one."""
    for key in list(table):
        kind = key[0] if type(key) is tuple else key
        if isinstance(kind, type) and kind.__module__ == name:
            if isinstance(table, MutableMapping):
                table.pop(key, None)
            else:
                table.discard(key)
