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


class NoSourceError(Exception):
    """A partial derivative does something that is not written as source."""


NOTHING: Any = object()
"""What a name stands for, where that is not known."""


class Printer:
    """Writes what a function computes as an expression, as its symbols show it.

    Parameters
    ----------
    text : callable
        ``text(i)`` writes a parameter.
    """

    operations: Container[str] = frozenset({*_SIGNS, *_PREFIXES, "call"})
    """Those that are written."""

    def __init__(self, text: Callable[[int], str]) -> None:
        self.text = text

    def number(self, x: Any) -> str:
        """Write a number."""
        raise NotImplementedError

    def value_of(self, x: Symbol) -> Any:
        """Return what a name stands for; `NOTHING` for other symbols, or if it is not known."""
        return NOTHING

    def call(self, f: Any, args: list[str]) -> str:
        """Write the call of a function."""
        raise NotImplementedError

    def expression(self, x: Any) -> str:
        """Write a symbol or a number.

        Raises
        ------
        UnclearError
            If it cannot be written.
        """
        if type(x) is not Symbol:
            if type(x) in (int, float, bool, complex):
                return self.number(x)
            raise NoSourceError
        operation = x.operation
        if operation.startswith("parameter "):
            return self.text(int(operation.removeprefix("parameter ")))
        found = self.value_of(x)
        if found is not NOTHING:
            return self.number(found)
        if operation not in self.operations:
            raise NoSourceError
        if operation == "call":
            f, args, kwargs = x.operands
            callee = NOTHING if kwargs else self.value_of(f)
            if callee is NOTHING:
                raise NoSourceError
            return self.call(callee, [self.expression(a) for a in args])
        parts = [self.expression(a) for a in x.operands]
        if operation in _SIGNS:
            return f"({parts[0]} {_SIGNS[operation]} {parts[1]})"
        return f"({_PREFIXES[operation]}{parts[0]})"


class _PartialPrinter(Printer):
    """Writes a partial derivative, in which names stand for what is not shown."""

    def __init__(
        self, partial: Partial, text: Callable[[int], str], constants: Constants, call: Call | None
    ) -> None:
        super().__init__(text)
        self.function: Any = partial.function
        self.constants = constants
        self.write_call = call

    def number(self, x: Any) -> str:
        """Write a number, or what a rule names."""
        if not _is_literal(x):
            return self.constants.name(x)
        return f"({x!r})" if x < 0 else repr(x)

    def value_of(self, x: Symbol) -> Any:
        """Return what a name, or an attribute of a module, stands for."""
        function = self.function
        if x.operation.startswith("name "):
            return function.__globals__.get(x.operation.removeprefix("name "), NOTHING)
        if x.operation.startswith("captured "):
            name = x.operation.removeprefix("captured ")
            return function.__closure__[function.__code__.co_freevars.index(name)].cell_contents
        if x.operation == "attribute":
            owner = self.value_of(x.operands[0])
            return NOTHING if owner is NOTHING else getattr(owner, x.operands[1])
        return NOTHING

    def call(self, f: Any, args: list[str]) -> str:
        """Write the call of a function, which its caller may do in another way."""
        written = self.write_call(f, args) if self.write_call is not None else None
        return written or f"{self.constants.name(f)}({', '.join(args)})"


Call = Callable[[Any, list[str]], str | None]


def partial_source(
    partial: Partial,
    text: Callable[[int], str],
    n: int,
    constants: Constants,
    call: Call | None = None,
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
    call : callable, optional
        ``call(f, args)`` writes a call of a function in the expression; it returns None for one
        that is written as it is.

    Returns
    -------
    str or None
        "0" where it vanishes; None where it is not implemented.
    """
    try:
        return written_source(partial, text, constants, call)
    except NoSourceError:
        pass
    reads = partial.reads
    args = [text(i) if i in reads else "None" for i in range(n)]
    return f"{constants.name(partial)}({', '.join(args)})"


def written_source(
    partial: Partial, text: Callable[[int], str], constants: Constants, call: Call | None = None
) -> str | None:
    """Return a partial derivative as its author has written it, as `partial_source` does.

    Raises
    ------
    UnclearError
        If its symbols do not show it.
    """
    if partial.function is None:
        constant = partial.constant
        if isinstance(constant, AbstractZero):
            return "0"
        if isinstance(constant, NotImplementedTangent):
            return None
        return repr(constant) if _is_literal(constant) else constants.name(constant)
    if partial.result is None:
        raise NoSourceError
    return _PartialPrinter(partial, text, constants, call).expression(partial.result)


def _is_literal(x: Any) -> bool:
    """Whether a number can be written as it is shown."""
    return type(x) in (int, bool) or (type(x) is float and math.isfinite(x))
