"""What a function reads from outside: globals and closure variables, guarded by identity."""

from __future__ import annotations

import array
import collections
import contextvars
import dis
import functools
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from autodiff.compile.snapshots import OURS, SIMPLE, SMALL, Snapshot, is_of_users
from autodiff.intercept.libraries import is_library, is_of_library

_MOST = 256
_MOST_HELD = 512
_MISSING = object()
_CHANGING = (
    array.array, bytearray, memoryview, types.MappingProxyType, contextvars.ContextVar,
    threading.local,
)  # fmt: skip
_BY_TEXT = frozenset({"getattr", "attrgetter", "__dict__", "vars"})
_ANYTHING = frozenset({"globals", "eval", "exec"})


class Dependency:
    """A variable outside a function, and what it held while recording.

    Attributes
    ----------
    container : dict or cell or None
        What holds it; None for what cannot become another object (a default, say).
    name : str or None
        Its key in a dict.
    content : Any
        What a small array, list or dict held; None for others.
    inside : Snapshot or None
        What other nests and objects held.
    """

    __slots__ = ("container", "content", "inside", "label", "name", "value")

    def __init__(self, container: Any, name: str | None, value: Any, label: str) -> None:
        self.container = container
        self.name = name
        self.value = value
        self.label = label
        self.content = content_of(value)
        self.inside: Snapshot | None = None

    def look_inside(self, names: set[str]) -> None:
        """Note what a nest or an object holds, as far as attributes of these names go."""
        if self.content is None:
            self.inside = Snapshot(self.value, names) or None

    def undo(self) -> bool:
        """Put the content back if it has changed; say whether it had."""
        if self.inside is not None:
            return self.inside.undo()
        if self.content is None or content_of(self.value) == self.content:
            return False
        if type(self.value) is list:
            self.value[:] = self.content[0]
        elif type(self.value) is dict:
            self.value.clear()
            self.value.update(self.content[0])
        else:
            before = np.frombuffer(self.content, self.value.dtype)
            self.value[...] = before.reshape(self.value.shape)
        return True


def content_of(x: Any) -> Any:
    """Return a copy of what is in a small array, list or dict, to be compared; None for others."""
    if type(x) is np.ndarray:
        return x.tobytes() if x.nbytes <= SMALL and x.dtype.kind != "O" else None
    if type(x) in (list, dict) and len(x) <= 64:
        held = list(x.values() if type(x) is dict else x)
        kinds: list[Any] = list(map(type, held))  # 1 == 1.0 == True
        if any(kind not in SIMPLE for kind in kinds):
            return None
        if type(x) is dict:  # its order counts, and what kinds its keys are of
            kinds += [*x, *map(type, x)]
        zeros = [str(part) for part in held if part == 0 and type(part) in (float, complex)]
        return x.copy(), kinds, zeros  # 0.0 == -0.0
    return None


def dependencies(f: Callable, given: Sequence[Any] = ()) -> tuple[list[Dependency], str]:
    """Return the variables that a function and those it calls read, and what else they do, if so.

    Found in the code: in functions by their names, also those of the user's modules, in methods of
    the user's classes that some function names, and in the functions among the arguments `given`.
    """
    search = _Search()
    if _function_of(f) is None:  # an object: what it holds may change
        search._enter_constant(f, "the function")
    for x in (f, *given):
        search.enter(x)
    search.run()
    search.look_inside()
    return search.found, search.why_not


class _Search:
    """The functions that may be called, and the variables that they read."""

    def __init__(self) -> None:
        self.found: list[Dependency] = []
        self.why_not = ""
        self._waiting: list[types.FunctionType] = []
        self._seen: set[int] = set()
        self._known: set[tuple[int, str | None]] = set()
        self._names: set[str] = set()
        self._classes: list[type] = []

    def enter(self, x: Any) -> None:
        """Note the functions behind a value, and its class."""
        function = _function_of(x)
        if function is not None:
            if type(x) is types.MethodType:
                self._enter_constant(x.__self__, f"what {x.__name__} is a method of")
            if not is_foreign(function):
                self._waiting.append(function)
        elif isinstance(x, functools.partial):
            for a in (x.func, *x.args, *x.keywords.values()):
                self._enter_constant(a, "an argument of a partial")
        elif isinstance(x, type):
            self._enter_class(x)
            self._enter_class(type(x))
        elif _function_of(wrapped := getattr(x, "__wrapped__", None)) is not None:
            self.enter(wrapped)
        else:
            self._enter_class(type(x))

    def _enter_held(self, x: Any, label: str) -> None:
        """Note the functions that a nest or an object holds, and what nobody can look into."""
        waiting, seen = [x], {id(x)}
        while waiting and len(seen) < _MOST_HELD:
            x = waiting.pop()
            if isinstance(x, _CHANGING) or (hasattr(type(x), "__next__") and not callable(x)):
                self.why_not = self.why_not or f"reads {label}: a {type(x).__name__} may change"
            parts: Any = ()
            if isinstance(x, (tuple, list, set, collections.deque)):
                parts = x if len(x) < _MOST_HELD else ()
            elif isinstance(x, dict):
                parts = x.values() if len(x) < _MOST_HELD else ()
            elif is_of_users(type(x)) and not isinstance(x, type):
                parts = getattr(x, "__dict__", {}).values()
            for part in list(parts):
                if id(part) not in seen and type(part) not in SIMPLE:
                    seen.add(id(part))
                    waiting.append(part)
                    self.enter(part)

    def _enter_constant(self, x: Any, label: str) -> None:
        if (id(x), None) in self._known:
            return
        self._known.add((id(x), None))
        self.enter(x)
        self._enter_held(x, label)
        self.found.append(Dependency(None, None, x, label))

    def _enter_class(self, kind: type) -> None:
        if kind.__module__.partition(".")[0] in OURS or is_of_library(kind):
            return
        if kind not in self._classes and len(self._classes) < _MOST:
            self._classes.append(kind)

    def look_inside(self) -> None:
        """Note what is in the variables found, and what the classes have by the names mentioned."""
        for dependency in self.found:
            dependency.look_inside(self._names)
        for kind in {base: None for k in self._classes for base in k.__mro__[:-1]}:
            if is_of_library(kind):
                continue
            own = vars(kind)
            special = {n for n in own if n.startswith("__") and _function_of(own[n]) is not None}
            for name in self._names | special:
                if name in own or any(name in vars(base) for base in kind.__mro__[1:-1]):
                    label = f"{kind.__name__}.{name}"
                    dependency = Dependency(own, name, own.get(name), label)
                    dependency.look_inside(self._names)
                    self.found.append(dependency)

    def run(self) -> None:
        """Look into all of them."""
        while len(self._seen) < _MOST:
            if not self._waiting:
                self._waiting = [
                    g
                    for kind in self._classes
                    for name, g in _methods_of(kind)
                    if (name in self._names or name.startswith("__")) and id(g) not in self._seen
                ]
            if not self._waiting:
                return
            function = self._waiting.pop()
            if id(function) in self._seen or is_foreign(function):
                self._seen.add(id(function))
                continue
            self._seen.add(id(function))
            self.why_not = self.why_not or _why_not(function)
            for a in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
                self._enter_constant(a, f"a default of {function.__name__}")
            self._names |= _names_in(function)
            for container, name, value, label in _read_by(function):
                if (id(container), name) in self._known:
                    continue
                self._known.add((id(container), name))
                self.enter(value)
                self._enter_held(value, label)
                self.found.append(Dependency(container, name, value, label))


def _function_of(x: Any) -> types.FunctionType | None:
    if type(x) is types.MethodType:
        x = x.__func__
    return x if type(x) is types.FunctionType else None


def _methods_of(kind: type) -> Iterator[tuple[str, types.FunctionType]]:
    """Yield the functions that a class of the user's, or one that it is made of, defines."""
    for base in kind.__mro__:
        if is_of_library(base):
            continue
        for name, value in vars(base).items():
            if isinstance(value, property):
                value = value.fget
            elif isinstance(value, (staticmethod, classmethod)):
                value = value.__func__
            elif isinstance(value, functools.cached_property):
                value = value.func
            function = _function_of(getattr(value, "__wrapped__", value))
            if function is not None:
                yield name, function


def is_foreign(function: types.FunctionType) -> bool:
    """Whether a function is a library's, or ours."""
    module = function.__globals__.get("__name__", "") or ""
    if "<locals>" in function.__qualname__ and module.partition(".")[0] in OURS:
        return False
    return module.partition(".")[0] in OURS or is_library(function)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _names_in(function: types.FunctionType) -> set[str]:
    return {n for code in _codes(function.__code__) for n in code.co_names}


def _texts_in(function: types.FunctionType) -> set[str]:
    """Return what may be the names of attributes that are read by their text."""
    if _BY_TEXT.isdisjoint(_names_in(function)):
        return set()
    constants = [c for code in _codes(function.__code__) for c in code.co_consts]
    return {c for c in constants if type(c) is str and c.isidentifier()}


def _read_by(function: types.FunctionType) -> Iterator[tuple[Any, str | None, Any, str]]:
    """Yield the container, key, value and label of each variable outside that a function reads."""
    names_of_cells = function.__code__.co_freevars
    modules = []
    for label, cell in zip(names_of_cells, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # not filled yet
            continue
        modules.append(value)
        yield cell, None, value, label
    scope = function.__globals__
    names = sorted(_names_in(function) | _texts_in(function))
    for name in names:
        value = scope.get(name, _MISSING)
        if value is not _MISSING:
            modules.append(value)
            yield scope, name, value, name
    package = scope.get("__package__") or ""
    modules += [sys.modules.get(n) for name in names for n in (name, f"{package}.{name}")]
    modules = [m for m in modules if isinstance(m, types.ModuleType)]
    for module in modules:
        if is_of_library(module) or module.__name__.partition(".")[0] in OURS:
            continue
        for name in names:
            value = vars(module).get(name, _MISSING)
            if value is not _MISSING:
                if isinstance(value, types.ModuleType) and value not in modules:
                    modules.append(value)
                yield vars(module), name, value, f"{module.__name__}.{name}"


def _why_not(function: types.FunctionType) -> str:
    """Say what a function does with variables outside that is not followed, "" if nothing."""
    anything = _ANYTHING & _names_in(function)
    if anything:
        return f"calls {min(anything)}"
    outer = set(function.__code__.co_freevars)
    for code in _codes(function.__code__):
        for instruction in dis.get_instructions(code):
            if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                return f"writes the global variable {instruction.argval!r}"
            if instruction.opname == "STORE_DEREF" and instruction.argval in outer:
                return f"writes the variable {instruction.argval!r} of the function around it"
    return ""
