"""Names: the variables of functions, and where names from outside are looked up again."""

from __future__ import annotations

import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from autodiff.closures.captured_values import is_empty
from autodiff.structured.form.ir import Slot
from autodiff.structured.form.kinds import UNKNOWN, Kind, UnsupportedError


class Scope:
    """The names of one function: the one that is read, one that it calls, or one inside these.

    Attributes
    ----------
    function : FunctionType
        The function; for one inside another, the outer one.
    parent : Scope, optional
        That of the outer function.
    depth : int
        0 for the function that is read, and those inside it.
    blocks : int
        How many loops and branches the call of the function stands in.
    """

    def __init__(
        self,
        function: types.FunctionType,
        depth: int,
        parent: Scope | None = None,
        names: Iterable[str] = (),
        blocks: int = 0,
    ) -> None:
        self.function = function
        self.depth = depth
        self.parent = parent
        self.blocks = blocks
        self.slots: dict[str, Slot] = {}
        self.forms: dict[str, Any] = {}  # of variables that hold tuples: the names of the parts
        self.functions: dict[str, LocalFunction] = {}
        self.lasting: set[str] = set()  # variables that are read only where they are bound
        code = function.__code__
        own = code.co_varnames + code.co_cellvars
        self.locals = frozenset(own if parent is None else names)


@dataclass(frozen=True)
class LocalFunction:
    """A function that is defined inside another one.

    Attributes
    ----------
    node : FunctionDef or Lambda
        Its definition.
    scope : Scope
        Where it is defined: there its other names are looked up, when it is called.
    defaults : tuple of str
        Hidden variables of that scope, with the default values of its last parameters.
    """

    node: Any
    scope: Scope
    defaults: tuple[str, ...]

    @property
    def kind(self) -> Kind:
        """Raise an error: it has none, since it is no value of the program."""
        raise UnsupportedError("a function as a value")


OWN_CELLS: dict = {}
"""In a guard: the captured variables of the function that is called, by their place."""


def looked_up(d: dict, name: Any, g: Any) -> Any:
    """Return what stands at the place of a guard now; `g` is the function that is called."""
    if d is OWN_CELLS:
        return content_of(g.__closure__[name])
    return d.get(name, UNKNOWN)


def content_of(cell: Any) -> Any:
    """Return what a captured variable is bound to, or `UNKNOWN`."""
    return UNKNOWN if is_empty(cell) else cell.cell_contents


class Attributes(dict):
    """The attributes of a function or cell, read as the entries of a dict are."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def get(self, name: str, default: Any = None) -> Any:
        """Return the attribute of this name."""
        try:
            return getattr(self.owner, name, default)
        except ValueError:  # an empty cell
            return default
