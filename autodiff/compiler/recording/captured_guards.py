"""Globals and closure variables that a function reads, guarded by identity."""

from __future__ import annotations

import builtins
import functools
import operator
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff.closures.captured_values import content_of, is_empty
from autodiff.closures.code_mentions import mentions_of, read_globally
from autodiff.compiler.recording.array_contents import is_large
from autodiff.compiler.recording.changing_objects import Ways, is_new_way, may_change
from autodiff.compiler.recording.content_guards import (
    OURS,
    SIMPLE,
    is_foreign,
    is_of_users,
    items_of,
)
from autodiff.compiler.recording.dependency import Dependency
from autodiff.compiler.recording.mentioned_names import (
    BY_TEXT,
    Mentioned,
    is_reader,
    not_followed,
)
from autodiff.intercept.source.library_code import is_of_library
from autodiff.trace.pytree import parts_of
from chainrules_core.tangents.fields import dict_of, slots_of

_MOST = 256
_MOST_HELD = 512
_BUILTINS = vars(builtins)
_LOOKED_UP = (object, type, complex, float, int, list, dict)
_SPECIAL = {n for kind in _LOOKED_UP for n in dir(kind) if n.startswith("__")} | {
    "__array__", "__array_function__", "__array_interface__", "__array_priority__",
    "__array_struct__", "__array_ufunc__", "__del__", "__delete__", "__enter__", "__exit__",
    "__get__", "__getattr__", "__imatmul__", "__length_hint__", "__matmul__", "__missing__",
    "__next__", "__rmatmul__", "__set__",
}  # fmt: skip
_SPECIAL -= {"__abstractmethods__", "__annotations__", "__doc__", "__text_signature__"}
"""Names under which Python and NumPy look for methods in a class by themselves."""
_MAKING = frozenset({"__init__", "__new__", "__post_init__"})  # what makes other objects
_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError"})


def dependencies(f: Callable, given: Sequence[tuple[Any, frozenset[str]]] = ()) -> Search:
    """Return the variables that a function and those it calls read, and what else they do.

    Found in the code: in functions by their names, in methods of the user's classes that some
    function names, and in the objects in the arguments: `given` has them, and the ways to each.
    """
    search = Search()
    if _function_of(f) is None:  # an object: what it holds may change
        search.enter_constant(f, "the function")
    search.enter(f)
    search.run()
    waiting = list(given)
    while reached := [(x, path) for x, path in waiting if search.reaches(path)]:
        waiting = [(x, path) for x, path in waiting if not search.reaches(path)]
        for x, path in reached:
            search.enter_argument(x, path)
        search.run()
    search.look_inside()
    return search


class Outside:
    """What a function reads from outside and is given, to be compared when it is called again.

    What the call itself changes, a counter or a log, does not count.
    """

    __slots__ = ("_found", "large")

    def __init__(self, f: Callable, given: Sequence[Any]) -> None:
        search = Search(_MAKING)
        search.enter(f)
        for x in given:
            if type(x) not in SIMPLE and type(x) is not np.ndarray:
                search.enter_constant(x, "an argument")
        search.run()
        search.look_inside()
        self._found = search.found
        values = [d.value for d in self._found]
        self.large = [x for x in values if type(x) is np.ndarray and is_large(x)]

    def settle(self) -> None:
        """Leave out what has changed since: the first call has changed it."""
        self._found = [d for d in self._found if not d.has_changed()]

    def changed(self) -> str:
        """Return a name of what is no longer what it was; "" if everything is."""
        return next((d.label for d in self._found if d.has_changed()), "")


class Search:
    """The functions that may be called, and the variables that they read.

    Attributes
    ----------
    found : list of Dependency
        The variables.
    why_not : str
        What the functions do that no guard can follow; "" if nothing.
    functions : list of function
        The functions that were analysed.
    found_again : set of int
        Identities of functions and constants in two places: a recursive function, say.
    names : Mentioned
        The names in their code.
    """

    def __init__(self, besides: frozenset[str] = frozenset()) -> None:
        self._besides = besides
        self.found: list[Dependency] = []
        self.why_not = ""
        self.functions: list[types.FunctionType] = []
        self.found_again: set[int] = set()
        self._waiting: list[types.FunctionType] = []
        self._seen: set[int] = set()
        self._known: set[tuple[int, Any]] = set()
        self._constants: set[int] = set()
        self._entered: set[tuple[int, str]] = set()  # what stands in classes
        self.names = Mentioned()
        self._arguments: list[Any] = []  # objects of which a program reads the parts
        self._changing: list[tuple[frozenset[str], str]] = []  # by the attributes on the way there
        self._classes: list[type] = []
        self._reached: set[type] = set()  # classes that are values, which code may call
        self._modules: list[types.ModuleType] = []  # in objects, containers and defaults
        self._scopes: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self._attributes: set[tuple[int, Any]] = set()  # of modules

    def enter(self, x: Any) -> None:
        """Note the functions behind a value, and its class."""
        x = x.__func__ if isinstance(x, (staticmethod, classmethod)) else x
        self._check_reader(x)
        function = _function_of(x)
        if function is not None:
            if type(x) is types.MethodType:
                self.enter_constant(x.__self__, f"what {x.__name__} is a method of")
            if not is_foreign(function):
                self._waiting.append(function)
            elif _function_of(getattr(function, "__wrapped__", None)) is not None:
                self._enter_wrapper(function)
        elif isinstance(x, functools.partial):
            for a in (x.func, *x.args, x.keywords, *x.keywords.values()):
                self.enter_constant(a, "an argument of a partial")
        elif isinstance(x, (types.BuiltinFunctionType, types.MethodWrapperType)):
            if not isinstance(x.__self__, (types.ModuleType, type, *SIMPLE)):
                self.enter_constant(x.__self__, f"what {x.__name__} is a method of")
        elif isinstance(x, (operator.attrgetter, operator.methodcaller)):
            given: Any = x.__reduce__()[1]
            self.names.names.update(n for t in given if type(t) is str for n in t.split("."))
        elif isinstance(x, type):
            self._reached.add(x)
            self._enter_class(x)
            self._enter_class(type(x))
        elif isinstance(x, types.ModuleType):
            if not _is_foreign_module(x) and x not in self._modules:
                self._modules.append(x)
        elif _function_of(wrapped := getattr(x, "__wrapped__", None)) is not None:
            self.enter(wrapped)
        else:
            self._enter_class(type(x))

    def _check_reader(self, x: Any) -> None:
        """Refuse `getattr` and the like in tables and defaults: no name tells what they read."""
        if is_reader(x) and x.__name__ not in self.names.names:
            self.why_not = self.why_not or f"may use {x.__name__}, which it does not name"

    def _enter_wrapper(self, function: types.FunctionType) -> None:
        """Note what a library's decorator has made of a function: others may be registered."""
        self.enter(function.__wrapped__)  # type: ignore[attr-defined] # it has one
        waiting, seen = [function], set()
        while waiting:
            g = waiting.pop()
            seen.add(id(g))
            for held in map(content_of, g.__closure__ or ()):
                if isinstance(held, (list, dict)):
                    self.enter_constant(held, f"what {function.__name__} keeps")
                elif type(held) is types.FunctionType and is_foreign(held) and id(held) not in seen:
                    waiting.append(held)

    def _enter_held(self, x: Any, label: str, path: frozenset[str] = frozenset()) -> None:
        """Note the functions in a container or object, and the objects that cannot be compared."""
        waiting = [(x, path)]
        seen: Ways = {}
        while waiting and len(seen) < _MOST_HELD:
            x, path = waiting.pop()
            if not is_new_way(seen, x, path):
                continue
            path = seen[id(x)][1]
            if may_change(x):
                self._changing.append((path, f"reads {label}: a {type(x).__name__} may change"))
            held = items_of(x)
            parts = [(path, part) for part in (held if len(held) < _MOST_HELD else ())]
            if isinstance(x, types.SimpleNamespace) or (
                is_of_users(type(x)) and not isinstance(x, type)
            ):
                parts += [(path | {name}, part) for name, part in dict_of(x).items()]
            for path_of_part, part in parts:
                if type(part) not in SIMPLE:
                    waiting.append((part, path_of_part))
                    self.enter(part)

    def enter_constant(self, x: Any, label: str, path: frozenset[str] = frozenset()) -> None:
        """Note what cannot become another object, and what it holds."""
        if id(x) in self._constants:
            self.found_again.add(id(x))
        self._constants.add(id(x))
        if (id(x), path) in self._known:
            return
        self._known.add((id(x), path))
        self.enter(x)
        self._enter_held(x, label, path)
        self.found.append(Dependency(None, None, x, label))

    def reaches(self, path: frozenset[str], besides: Collection[str] = ()) -> bool:
        """Whether the code may read all these attributes, none of them `besides`."""
        reads_any = self.names.by_text or self.names.has_patterns
        return reads_any or path <= self.names.names.difference(besides)

    def enter_argument(self, x: Any, path: frozenset[str]) -> None:
        """Note what a program does not read of an argument: all of it, if it has no parts.

        `path` has the attributes on the way from the argument to `x`.
        """
        if parts_of(x) is None:
            self.enter_constant(x, "an argument", path)
            return
        if may_change(x):
            self._changing.append((path, f"reads an argument: a {type(x).__name__} may change"))
        self.enter(x)
        self._arguments.append(x)

    def _check_arguments(self) -> None:
        """Refuse attributes of arguments that the code mentions, but that are none of their parts.

        Such are those of a list, of a dataclass besides its fields, and what a
        `cached_property` has kept.
        """
        for x in self._arguments:
            kind = type(x)
            held = dict_of(x).keys() | slots_of(kind).keys()
            more = held.difference([key for key, _ in parts_of(x) or ()])
            read = more & (self.names.of(kind) - self.names.only_bound)
            read = more if self.names.by_text else read
            if read:
                name = f"{kind.__name__}.{min(read)}"
                self.why_not = self.why_not or f"reads {name}, which is no field of the argument"

    def _enter_class(self, kind: type) -> None:
        if kind.__module__.partition(".")[0] in OURS or is_of_library(kind):
            return
        if kind not in self._classes and len(self._classes) < _MOST:
            self._classes.append(kind)
            self.names.add_protocol(kind)

    def look_inside(self) -> None:
        """Note what is in the variables found, and what the classes have by the names mentioned."""
        self._check_arguments()
        for path, why_not in self._changing:
            if self.reaches(path, self.names.only_bound):
                self.why_not = self.why_not or why_not
        spaces = {id(g.__globals__) for g in self.functions if not self.names.by_text}
        for dependency in self.found:
            dependency.look_inside(self.names)
            is_named = dependency.place not in self._attributes
            dependency.is_global = is_named and id(dependency.container) in spaces
        kinds = [Dependency(None, None, kind, kind.__name__) for kind in self._classes]
        for dependency in kinds:
            dependency.look_inside(self.names)
        self.found += kinds
        for kind in {base: None for k in self._classes for base in k.__mro__[:-1]}:
            if is_of_library(kind):
                continue
            own = vars(kind)
            special = {n for n in own if n.startswith("__") and _function_of(own[n]) is not None}
            read = self.names.of(kind) | special
            if self.names.by_text:
                read |= {n for n in own if not n.startswith("__")}
            for name in sorted(read & own.keys()):
                dependency = Dependency(own, name, own[name], f"{kind.__name__}.{name}", kind)
                dependency.look_inside(self.names)
                self.found.append(dependency)
            # What it is given may hide what another class, or the object itself, has by this name.
            not_there = frozenset((self.names.of(kind) | _SPECIAL) - own.keys())
            self._note_absent(own, None if self.names.by_text else not_there, kind)

        for scope, names in self._scopes.values():
            absent = {n for n in names - scope.keys() if self.names.may_miss or n in _BUILTINS}
            self._note_absent(scope, frozenset(absent), None)
        # Functions that no variable holds (in tables, properties) may have other code or defaults.
        named = {id(dependency.value) for dependency in self.found}
        for g in self.functions:
            if id(g) not in named:
                dependency = Dependency(None, None, g, g.__name__)
                dependency.look_inside(self.names)
                self.found.append(dependency)

    def _note_absent(self, own: Mapping, absent: frozenset[str] | None, owner: Any) -> None:
        """Note names that a class, a module or the global variables do not have so far."""
        if absent is None or absent:
            dependency = Dependency(own, None, None, getattr(owner, "__name__", "the variables"))
            dependency.absent = absent
            self.found.append(dependency)

    def run(self) -> None:
        """Look into all of them."""
        while len(self._seen) < _MOST:
            if not self._waiting:
                self._read_modules()
                self._read_classes()
            if not self._waiting:
                return
            function = self._waiting.pop()
            if id(function) in self._seen:
                self.found_again.add(id(function))
            if id(function) in self._seen or is_foreign(function):
                self._seen.add(id(function))
                continue
            self._seen.add(id(function))
            self.functions.append(function)
            self.why_not = self.why_not or not_followed(function)
            for a in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
                self.enter_constant(a, f"a default of {function.__name__}")
            read = self.names.add(function)
            for container, name, value, label in _read_by(function, read, self._look_for):
                self._read(container, name, value, label)

    def _is_called_unnamed(self, kind: type, name: str) -> bool:
        """Whether a method may be called by Python, without a name in the code.

        `__init__` is called with a class, so not if no code reaches the class.
        """
        if name not in ("__init__", "__post_init__"):
            return name.startswith("__")
        return (
            kind in self._reached
            or self.names.by_text
            or not self.names.names.isdisjoint(("__class__", "type"))
            or any(is_of_library(base) for base in kind.__mro__[:-1])
            or any(isinstance(x, classmethod) for base in kind.__mro__ for x in vars(base).values())
        )

    def _read(self, container: Any, name: str | None, value: Any, label: str) -> None:
        place = id(container), name
        if label != name:
            self._attributes.add(place)
        if place in self._known:
            return
        self._known.add(place)
        self.enter(value)
        self._enter_held(value, label)
        self.found.append(Dependency(container, name, value, label))

    def _look_for(self, scope: dict[str, Any], names: set[str]) -> None:
        """Note that names are looked up in the global variables of a module."""
        self._scopes.setdefault(id(scope), (scope, set()))[1].update(names)

    def _read_classes(self) -> None:
        """Look at what stands in classes: under the names mentioned, and what Python calls."""
        for kind in self._classes:
            for base in [base for base in kind.__mro__ if not is_of_library(base)]:
                for name, value in vars(base).items():
                    is_named = name in self.names.names
                    if is_named and (id(value), name) not in self._entered:
                        self._entered.add((id(value), name))
                        self.enter(value)
                        self._enter_held(value, f"{base.__name__}.{name}")
                    is_called = is_named or self._is_called_unnamed(kind, name)
                    if is_called and name not in self._besides:
                        self._waiting += [
                            g for g in _functions_in(value) if id(g) not in self._seen
                        ]

    def _read_modules(self) -> None:
        """Read what modules have that are reached through objects, by the names mentioned."""
        for module in self._modules:
            scope = vars(module)
            self._look_for(scope, self.names.names)
            for name in sorted(self.names.names & scope.keys()):
                self._read(scope, name, scope[name], f"{module.__name__}.{name}")


def _function_of(x: Any) -> types.FunctionType | None:
    if type(x) is types.MethodType:
        x = x.__func__
    return x if type(x) is types.FunctionType else None


def _functions_in(value: Any) -> list[types.FunctionType]:
    """Return the functions that an attribute of a class is made of."""
    values = [value]
    if isinstance(value, property):
        values = [value.fget, value.fset, value.fdel]
    elif isinstance(value, (staticmethod, classmethod)):
        values = [value.__func__]
    elif isinstance(value, functools.cached_property):
        values = [value.func]
    functions = [_function_of(getattr(part, "__wrapped__", part)) for part in values]
    return [g for g in functions if g is not None]


def _read_by(
    function: types.FunctionType, names: set[str], look_for: Callable
) -> Iterator[tuple[Any, str | None, Any, str]]:
    """Yield the container, key, value and label of each variable outside that a function reads.

    `look_for` is told where which names are looked up, found or not.
    """
    modules, cells = [], function.__closure__ or ()
    for label, cell in zip(function.__code__.co_freevars, cells, strict=True):
        if label.startswith("__autodiff_"):  # the engine's own, in rewritten code
            continue
        if is_empty(cell):  # not filled yet
            continue
        value = cell.cell_contents
        modules.append(value)
        yield cell, None, value, label
    scope = function.__globals__
    by_text = not names.isdisjoint(BY_TEXT)
    variables = names if by_text else names & read_globally(function.__code__)
    look_for(scope, variables)
    for name in sorted(variables & scope.keys()):
        modules.append(scope[name])
        yield scope, name, scope[name], name
    for name in sorted(variables & _BUILTINS.keys() - scope.keys()):
        yield _BUILTINS, name, _BUILTINS[name], name
    if names & _IMPORT_ERRORS:
        look_for(sys.modules, names)  # a module that can be imported later
    package = scope.get("__package__") or ""
    imported = mentions_of(function.__code__).of("IMPORT_NAME")
    for name in sorted(imported & sys.modules.keys()):
        yield sys.modules, name, sys.modules[name], name
    modules += [sys.modules.get(n) for name in names for n in (name, f"{package}.{name}")]
    modules = [m for m in modules if isinstance(m, types.ModuleType)]
    for module in modules:
        own = vars(module)
        # No builtin is looked up in a library's module by the code of the user.
        look_for(own, names - _BUILTINS.keys() if _is_foreign_module(module) else names)
        for name in sorted(names & own.keys()):
            value = own[name]
            if isinstance(value, types.ModuleType) and value not in modules:
                modules.append(value)
            yield own, name, value, f"{module.__name__}.{name}"


def _is_foreign_module(module: types.ModuleType) -> bool:
    if getattr(module, "__file__", None) is None:  # made while the program runs, or Python's own
        return module.__name__ in sys.builtin_module_names
    return is_of_library(module) or module.__name__.partition(".")[0] in OURS
