"""Partial derivatives as source: the expression that a rule's author has written."""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from typing import Any

from autodiff.python_operators import BINARY, COMPARISONS, UNARY
from chainrules_core.define.partial import Partial
from chainrules_core.define.symbolic import Symbol
from chainrules_core.tangents import AbstractZero
from chainrules_core.tangents.missing import NotImplementedTangent

_SIGNS = {o.name: o.sign for o in (*BINARY.values(), *COMPARISONS.values())}
_PREFIXES = {o.name: o.sign for o in UNARY.values()}


class Constants:
    """What generated code reads by name."""

    def __init__(self) -> None:
        self.scope: dict[str, Any] = {}
        self._names: dict[int, str] = {}

    def name(self, x: Any) -> str:
        """Return the name of an object."""
        name = self._names.get(id(x))
        if name is None:
            stem = getattr(x, "__name__", "c")
            stem = stem if isinstance(stem, str) and stem.isidentifier() else "c"
            name = self._names[id(x)] = f"{stem}_{len(self._names)}_"
            self.scope[name] = x
        return name


class UnclearError(Exception):
    """A partial derivative does something that is not written as source."""


NOTHING: Any = object()
"""What a name stands for, where that is not known."""


def partial_source(
    partial: Partial, text: Callable[[int], str], n: int, constants: Constants
) -> str | None:
    """Return a partial derivative as an expression.

    Parameters
    ----------
    partial : Partial
        The derivative.
    text : callable
        ``text(i)`` writes ``(y, *args)[i]``; it is asked for what is read.
    n : int
        How many values the partial is called with.
    constants : Constants
        Where what the expression reads by name is put.

    Returns
    -------
    str or None
        "0" where it vanishes; None where it is not implemented.
    """
    if partial.function is None:
        constant = partial.constant
        if isinstance(constant, AbstractZero):
            return "0"
        if isinstance(constant, NotImplementedTangent):
            return None
        return repr(constant) if _is_literal(constant) else constants.name(constant)
    result = partial.result
    if result is not None:
        try:
            return symbol_source(
                result, text, lambda x: _number(x, constants), lambda x: _value_of(x, partial)
            )
        except UnclearError:
            pass
    reads = partial.reads
    args = [text(i) if i in reads else "None" for i in range(n)]
    return f"{constants.name(partial)}({', '.join(args)})"


def symbol_source(
    x: Any,
    text: Callable[[int], str],
    number: Callable[[Any], str],
    value_of: Callable[[Symbol], Any],
    operations: Container[str] | None = None,
) -> str:
    """Write what a function computes, as its symbols show it.

    Parameters
    ----------
    x : Symbol, number
        What it returns.
    text : callable
        ``text(i)`` writes a parameter.
    number : callable
        Writes a number, or what a name stands for.
    value_of : callable
        What a name stands for; `NOTHING` if it is not known.
    operations : container of str, optional
        Those that may be written; otherwise all.

    Returns
    -------
    str
        An expression.

    Raises
    ------
    UnclearError
        If it cannot be written.
    """
    if type(x) is not Symbol:
        if type(x) in (int, float, bool, complex):
            return number(x)
        raise UnclearError
    operation = x.operation
    if operation.startswith("parameter "):
        return text(int(operation.removeprefix("parameter ")))
    found = value_of(x)
    if found is not NOTHING:
        return number(found)
    if operations is not None and operation not in operations:
        raise UnclearError

    def written(a: Any) -> str:
        return symbol_source(a, text, number, value_of, operations)

    if operation in _SIGNS:
        left, right = map(written, x.operands)
        return f"({left} {_SIGNS[operation]} {right})"
    if operation in _PREFIXES:
        return f"({_PREFIXES[operation]}{written(x.operands[0])})"
    if operation == "call":
        f, args, kwargs = x.operands
        callee = NOTHING if kwargs else value_of(f)
        if callee is not NOTHING:
            return f"{number(callee)}({', '.join(map(written, args))})"
    raise UnclearError


def _is_literal(x: Any) -> bool:
    """Whether a number can be written as it is shown."""
    return type(x) in (int, bool) or (type(x) is float and math.isfinite(x))


def _number(x: Any, constants: Constants) -> str:
    """Return what stands for a number, or for what a rule names."""
    if not _is_literal(x):
        return constants.name(x)
    return f"({x!r})" if x < 0 else repr(x)


def _value_of(x: Symbol, partial: Partial) -> Any:
    """Return what a name, or an attribute of a module, stands for."""
    function: Any = partial.function
    if x.operation.startswith("name "):
        name = x.operation.removeprefix("name ")
        return function.__globals__.get(name, NOTHING)
    if x.operation.startswith("captured "):
        name = x.operation.removeprefix("captured ")
        return function.__closure__[function.__code__.co_freevars.index(name)].cell_contents
    if x.operation == "attribute":
        owner = _value_of(x.operands[0], partial)
        return NOTHING if owner is NOTHING else getattr(owner, x.operands[1])
    return NOTHING
