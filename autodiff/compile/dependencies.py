"""What a function reads from outside: globals and closure variables, guarded by identity."""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff.intercept.bodies import is_library

_OURS = ("autodiff", "chainrules", "chainrules_core")
_MOST = 256
_MISSING = object()


class Dependency:
    """A variable outside a function, and what it held while recording."""

    __slots__ = ("container", "content", "label", "name", "value")

    def __init__(self, container: Any, name: str | None, value: Any, label: str) -> None:
        self.container = container
        self.name = name
        self.value = value
        self.label = label
        self.content = _content(value)

    def undo(self) -> bool:
        """Put the content back if it has changed; say whether it had."""
        if self.content is None or _content(self.value) == self.content:
            return False
        if type(self.value) is list:
            self.value[:] = self.content
        elif type(self.value) is dict:
            self.value.clear()
            self.value.update(self.content)
        else:
            before = np.frombuffer(self.content, self.value.dtype)
            self.value[...] = before.reshape(self.value.shape)
        return True


_SMALL = 4096
_SIMPLE = (int, float, complex, str, bool, type(None))


def _content(x: Any) -> Any:
    """Return a copy of what is in a small array, list or dict, to be compared; None for others."""
    if type(x) is np.ndarray:
        return x.tobytes() if x.nbytes <= _SMALL and x.dtype.kind != "O" else None
    if type(x) in (list, dict) and len(x) <= 64:
        values = x.values() if type(x) is dict else x
        return x.copy() if all(type(v) in _SIMPLE for v in values) else None
    return None


def dependencies(f: Callable) -> tuple[list[Dependency], str]:
    """Return the variables that a function and those it calls read, and what they write to, if so.

    Found in the code, so calls through objects are not followed.
    """
    found: list[Dependency] = []
    seen: set[int] = set()
    waiting: list[Any] = [f]
    writes = ""
    while waiting and len(seen) < _MOST:
        function = _function_of(waiting.pop())
        if function is None or id(function) in seen or _is_foreign(function):
            continue
        seen.add(id(function))
        writes = writes or _writes(function)
        for dependency in _read_by(function):
            value = dependency.value
            if isinstance(value, types.ModuleType) or (
                _function_of(value) is None and callable(value)
            ):
                continue
            inner = _function_of(value)
            if inner is not None and _is_foreign(inner):
                continue
            found.append(dependency)
            if inner is not None:
                waiting.append(inner)
    return found, writes


def _function_of(x: Any) -> types.FunctionType | None:
    if type(x) is types.MethodType:
        x = x.__func__
    return x if type(x) is types.FunctionType else None


def _is_foreign(function: types.FunctionType) -> bool:
    module = function.__globals__.get("__name__", "") or ""
    if "<locals>" in function.__qualname__ and module.partition(".")[0] in _OURS:
        return False
    return module.partition(".")[0] in _OURS or is_library(function)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _read_by(function: types.FunctionType) -> Iterator[Dependency]:
    names_of_cells = function.__code__.co_freevars
    for label, cell in zip(names_of_cells, function.__closure__ or (), strict=True):
        try:
            yield Dependency(cell, None, cell.cell_contents, label)
        except ValueError:  # not filled yet
            continue
    scope = function.__globals__
    names = {n for code in _codes(function.__code__) for n in code.co_names}
    for name in sorted(names):
        value = scope.get(name, _MISSING)
        if value is not _MISSING:
            yield Dependency(scope, name, value, name)


def _writes(function: types.FunctionType) -> str:
    """Return the name of a variable outside that the function writes, "" if none."""
    outer = set(function.__code__.co_freevars)
    for code in _codes(function.__code__):
        for instruction in dis.get_instructions(code):
            if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                return f"the global variable {instruction.argval!r}"
            if instruction.opname == "STORE_DEREF" and instruction.argval in outer:
                return f"the variable {instruction.argval!r} of the function around it"
    return ""
