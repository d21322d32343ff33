"""What a function has captured, kept as it is when a rule gets the function.

The pullback of an integral or a root calls the function again, when the sweep comes to it. By then
a loop has gone on, and its variable, which ``lambda t: n * t`` has captured, has another value. So
the function goes to the rule with variables of its own; only those that it assigns to, counters,
stay those of the program. What is inside of a list, dict or object that it has captured, and what
it reads of its module, is compared before each pullback: a change there is an error.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff.closures import outer_assignments
from autodiff.errors import MutationError
from autodiff.trace.pytree import parts_of
from chainrules_core import Closure
from chainrules_core.rules import name_of

_OURS = "__autodiff_"  # free variables by which rewritten code finds the engine
_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def assigned(f: types.FunctionType) -> list[str]:
    """Return the names of the captured variables that a function assigns to."""
    captured = [name for name, _ in _cells(f)]
    if not captured:
        return []
    found = outer_assignments.of(f)
    if found is None:
        raise MutationError(
            f"{name_of(f)} has captured {', '.join(captured)}, and is called again for the "
            "derivative. Whether it assigns to what it has captured is not known: its source is "
            "not at hand, and the bytecode of this version of Python is not one that is read. Put "
            "the function into a file, or give it what it needs as arguments."
        )
    return [name for name in captured if name in found.to_captured]


def _cells(f: types.FunctionType) -> Iterator[tuple[str, types.CellType]]:
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        if not name.startswith(_OURS):
            yield name, cell


def _content(cell: types.CellType) -> Any:
    """Return what a captured variable holds; None where it has no value (yet)."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _reached(f: Any, seen: dict[int, types.FunctionType]) -> None:
    """Note the functions that a function reaches by what it has captured."""
    if isinstance(f, functools.partial):
        _reached(f.func, seen)
    f = getattr(f, "__func__", f)
    if type(f) is not types.FunctionType or id(f) in seen:
        return
    seen[id(f)] = f
    for _, cell in _cells(f):
        _reached(_content(cell), seen)


def with_own_variables(f: Any) -> Any:
    """Return a function whose captured variables nobody else can bind to other values."""
    if isinstance(f, functools.partial):
        func = with_own_variables(f.func)
        return f if func is f.func else functools.partial(func, *f.args, **f.keywords)
    if type(f) is types.MethodType:
        function = with_own_variables(f.__func__)
        return f if function is f.__func__ else types.MethodType(function, f.__self__)
    if type(f) is not types.FunctionType or f.__closure__ is None:
        return f
    seen: dict[int, types.FunctionType] = {}
    _reached(f, seen)
    shared: set[int] = set()
    for g in seen.values():
        names = assigned(g)
        shared.update(id(cell) for name, cell in _cells(g) if name in names)
    made: dict[int, types.FunctionType] = {}
    own: dict[int, types.CellType] = {}
    return _copied(f, shared, made, own)


def _copied(
    f: types.FunctionType, shared: set[int], made: dict[int, Any], own: dict[int, types.CellType]
) -> types.FunctionType:
    if id(f) in made:
        return made[id(f)]
    if not any(True for _ in _cells(f)):
        return f
    fresh = []
    cells = []
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        if name.startswith(_OURS) or id(cell) in shared or _content(cell) is None:
            cells.append(cell)
            continue
        if id(cell) not in own:
            own[id(cell)] = types.CellType()
            fresh.append((own[id(cell)], cell))
        cells.append(own[id(cell)])
    new = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(cells))
    made[id(f)] = new
    for cell, old in fresh:
        content = _content(old)
        inner = type(content) is types.FunctionType
        cell.cell_contents = _copied(content, shared, made, own) if inner else content
    new.__kwdefaults__ = f.__kwdefaults__
    new.__dict__.update(f.__dict__)
    new.__qualname__, new.__module__, new.__doc__ = f.__qualname__, f.__module__, f.__doc__
    return new


# ----------------------------------------------------------------------- what is inside of things


_VALUES = (int, float, complex, str, np.ndarray, np.generic)


class Contents:
    """What the lists, dicts and objects hold that functions have captured, and their modules.

    Parameters
    ----------
    functions : list
        The functions that a rule is about to be given.

    Attributes
    ----------
    entries : list of tuple
        Who holds a value, where, and the value.
    arrays : list of numpy.ndarray
        The arrays among the values, whose content the functions may read.
    """

    __slots__ = ("arrays", "entries")

    def __init__(self, functions: list[Any]) -> None:
        self.entries: list[tuple[Any, Any, Any]] = []
        self.arrays: list[np.ndarray] = []
        seen: set[int] = set()
        for f in functions:
            self._note_function(f, seen)

    def _note_function(self, f: Any, seen: set[int]) -> None:
        if type(f) is Closure:
            f = getattr(f.make, "captured", None)
        if isinstance(f, functools.partial):
            self._note((f.args, f.keywords), seen)
            self._note_function(f.func, seen)
        if type(f) is types.MethodType:
            self._note(f.__self__, seen)
            f = f.__func__
        if type(f) is not types.FunctionType or id(f) in seen:
            return
        seen.add(id(f))
        for _, cell in _cells(f):
            self._note(_content(cell), seen)
        self._note(f.__defaults__, seen)
        outside = f.__globals__
        for name in f.__code__.co_names:
            value = outside.get(name)
            if isinstance(value, _VALUES):
                self.entries.append((outside, name, value))
            if type(value) is np.ndarray:
                self.arrays.append(value)

    def _note(self, x: Any, seen: set[int]) -> None:
        if type(x) in _FUNCTIONS:
            self._note_function(x, seen)
            return
        if type(x) is np.ndarray:
            self.arrays.append(x)
        parts = parts_of(x)
        if parts is None or id(x) in seen:
            return
        seen.add(id(x))
        for key, part in parts:
            if isinstance(part, _VALUES) and not isinstance(x, tuple):
                self.entries.append((x, key, part))
            self._note(part, seen)

    def guarded(self, pull: Callable, name: str) -> Callable:
        """Return a pullback that first looks whether all is as it was when the rule was called.

        What the functions themselves have changed while the rule called them does not count.
        """
        entries = [e for e in self.entries if _now(*e[:2]) is e[2]]
        if not entries:
            return pull

        @functools.wraps(pull)
        def guarded_pull(*args: Any) -> Any:
            for owner, key, before in entries:
                now = _now(owner, key)
                if now is not before and (type(now) not in _NUMBERS or now != before):
                    raise _changed(name, owner, key)
            return pull(*args)

        return guarded_pull


_NUMBERS = (int, float, complex, str)


def _now(owner: Any, key: Any) -> Any:
    """Return what an object holds in a place; None where that is gone."""
    try:
        return owner[key] if isinstance(owner, (list, dict)) else getattr(owner, key)
    except (LookupError, AttributeError):
        return None


def _changed(name: str, owner: Any, key: Any) -> MutationError:
    if isinstance(owner, dict) and "__builtins__" in owner:
        where = f"{key} in its module"
    elif isinstance(owner, (list, dict)):
        where = f"item {key!r} of a {type(owner).__name__}"
    else:
        where = f"{key!r} of a {type(owner).__name__}"
    given = "another one" if name.startswith("chainrules.") else name  # its own parts are private
    return MutationError(
        f"a function that was given to {given} reads {where}, which has another value by the time "
        "the gradient is computed: the derivative needs the old one. Give the function an object "
        "of its own (copy.deepcopy), or the value as an argument."
    )
