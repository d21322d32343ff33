"""Values that another system differentiates, and that a function of ours has not been given.

Such a value would count as a constant, and its derivative would be zero without an error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from autodiff.closures.captured_values import cells_of, content_of
from autodiff.closures.code_mentions import mentions_of, read_globally
from autodiff.errors import ArgumentError
from chainrules_core.rules import name_of

Found = Iterator[tuple[str, Any]]


def check_captures(f: Callable, is_variable: Callable[[Any], bool], system: str) -> None:
    """Raise if a function reads a value that another system differentiates.

    What is looked at: captured variables, defaults, global variables and attributes that the code
    names, also inside tuples, lists and dicts; and the same of functions that are found there, if
    they are of the same module.

    Parameters
    ----------
    f : callable
        The function.
    is_variable : callable
        Whether a value is being differentiated, or traced.
    system : str
        The name of the system.
    """
    if isinstance(f, (np.ufunc, BuiltinFunctionType)):
        return
    for name, value in _reached(f, "an argument of a partial", frozenset(), set()):
        if is_variable(value):
            raise ArgumentError(
                f"{name_of(f)} reads {name}, a value of the class {type(value).__name__} that it "
                f"was not given as an argument, and that {system} differentiates or traces: its "
                f"derivative would be lost. Pass it to the function as an argument; if it is a "
                "constant, capture a plain array of its numbers instead."
            )


def _reached(x: Any, name: str, named: frozenset[str], seen: set[int]) -> Found:
    """Yield names and values that can be reached from `x` by the names in some code."""
    kind = type(x)
    if kind is FunctionType:
        yield from _read_by(x, seen)
    elif kind is MethodType:
        yield from _method(x.__func__, x.__self__, seen)
    elif kind is functools.partial:
        for part in (x.func, x.args, x.keywords):
            yield from _reached(part, name, named, seen)
    elif isinstance(x, (tuple, list, dict)):
        for part in x.values() if isinstance(x, dict) else x:
            yield from _reached(part, name, named, seen)
    else:
        yield name, x
        if isinstance(x, (type, ModuleType)) or id(x) in seen:
            return
        seen.add(id(x))
        call = getattr(type(x), "__call__", None)  # noqa: B004 - the function itself is wanted
        if type(call) is FunctionType:
            yield from _method(call, x, seen)
        yield from _attributes(x, named, seen)


def _method(function: Any, owner: Any, seen: set[int]) -> Found:
    if type(function) is FunctionType and not isinstance(owner, (type, ModuleType)):
        yield from _read_by(function, seen)
        yield from _attributes(owner, mentions_of(function.__code__).names, seen)


def _attributes(x: Any, named: frozenset[str], seen: set[int]) -> Found:
    """Yield what is reached by attributes; an object may keep them in dicts of its own."""
    fields = getattr(x, "__dict__", None)
    if not isinstance(fields, dict):
        return
    for table in (fields, *(v for v in fields.values() if type(v) is dict)):
        for name in named & table.keys():
            yield from _reached(table[name], name, named, seen)


def _read_by(f: FunctionType, seen: set[int]) -> Found:
    """Yield what is reached from the variables of a function."""
    if id(f) in seen:
        return
    seen.add(id(f))
    names, named = read_globally(f.__code__), mentions_of(f.__code__).names
    for name, cell in cells_of(f):
        yield from _reached(content_of(cell), name, named, seen)
    for value in (f.__defaults__, f.__kwdefaults__):
        yield from _reached(value, "a default", named, seen)
    for name in names & f.__globals__.keys():
        value = f.__globals__[name]
        if type(value) is not FunctionType or value.__globals__ is f.__globals__:
            yield from _reached(value, name, named, seen)
