"""What a function has captured, kept unchanged while a rule holds the function.

The pullback of an integral or a root calls the function again during the sweep. By then a loop may
have gone on: its variable, captured by ``lambda t: n * t``, has another value. So the rule gets a
function with variables of its own. Only variables that the function assigns to, such as counters,
stay those of the program. The contents of captured lists, dicts and objects, and the globals that
the function reads, are compared before each pullback: a change is an error.
"""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.closures import outer_assignments
from autodiff.closures.captured_values import (
    FUNCTIONS,
    captured,
    cells_of,
    content_of,
    parts_of_function,
    with_cells,
)
from autodiff.errors import MutationError
from autodiff.trace.pytree import parts_of
from chainrules_core import Closure
from chainrules_core.rules import name_of


def assigned(f: types.FunctionType) -> list[str]:
    """Return the names of the captured variables that a function assigns to."""
    captured = [name for name, _ in cells_of(f)]
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


def with_own_variables(f: Any) -> Any:
    """Return a function whose captured variables nobody else can assign to."""
    if isinstance(f, functools.partial):
        func = with_own_variables(f.func)
        return f if func is f.func else functools.partial(func, *f.args, **f.keywords)
    if type(f) is types.MethodType:
        function = with_own_variables(f.__func__)
        return f if function is f.__func__ else types.MethodType(function, f.__self__)
    if type(f) is not types.FunctionType or f.__closure__ is None:
        return f
    seen: dict[int, Any] = {}
    collections.deque(captured(f, seen), 0)
    shared: set[int] = set()
    for g in [g for g in seen.values() if type(g) is types.FunctionType]:
        names = assigned(g)
        shared.update(id(cell) for name, cell in cells_of(g) if name in names)
    made: dict[int, types.FunctionType] = {}
    own: dict[int, types.CellType] = {}
    return _copied(f, shared, made, own)


def _copied(
    f: types.FunctionType, shared: set[int], made: dict[int, Any], own: dict[int, types.CellType]
) -> types.FunctionType:
    if id(f) in made:
        return made[id(f)]
    if not cells_of(f):
        return f
    fresh = []
    for _, cell in cells_of(f):
        if id(cell) not in own and id(cell) not in shared and content_of(cell) is not None:
            own[id(cell)] = types.CellType()
            fresh.append(cell)
    made[id(f)] = new = with_cells(f, [own.get(id(c), c) for c in f.__closure__ or ()])
    for cell in fresh:
        content = cell.cell_contents
        is_function = type(content) is types.FunctionType
        copy = _copied(content, shared, made, own) if is_function else content
        own[id(cell)].cell_contents = copy
    return new


_VALUES = (int, float, complex, str, np.ndarray, np.generic)


class Contents:
    """The contents of lists, dicts and objects that functions have captured, and their globals.

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
            f = getattr(f.make, "captured", None) if type(f) is Closure else f
            if isinstance(f, FUNCTIONS):
                self._note(f, seen)

    def _note(self, x: Any, seen: set[int]) -> None:
        if type(x) is np.ndarray:
            self.arrays.append(x)
        if isinstance(x, FUNCTIONS):
            self._note_function(x, seen)
            return
        parts = parts_of(x)
        if parts is None or id(x) in seen:
            return
        seen.add(id(x))
        for key, part in parts:
            if isinstance(part, _VALUES) and not isinstance(x, tuple):
                self.entries.append((x, key, part))
            self._note(part, seen)

    def _note_function(self, f: Any, seen: set[int]) -> None:
        if type(f) is types.FunctionType:
            if id(f) in seen:
                return
            seen.add(id(f))
            self._note_globals(f)
        for part in parts_of_function(f):
            self._note(part, seen)

    def _note_globals(self, f: types.FunctionType) -> None:
        outside = f.__globals__
        for name in f.__code__.co_names:
            value = outside.get(name)
            if isinstance(value, _VALUES):
                self.entries.append((outside, name, value))
            if type(value) is np.ndarray:
                self.arrays.append(value)

    def guarded(self, pull: Callable, name: str) -> Callable:
        """Return a pullback that raises if the contents have changed since the rule was called.

        Changes that the functions made while the rule called them do not count.
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
    """Return an item or attribute of an object; None if it is gone."""
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
