"""Scopes, the static values that names can stand for, and the guards of names from outside."""

from __future__ import annotations

import operator
import types
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from autodiff.closures.captured_values import is_empty
from autodiff.structured.form.function_ir import HeldRange, Slot
from autodiff.structured.form.kinds import UNKNOWN, Kind, UnsupportedError
from autodiff.structured.form.plain_classes import customizes_attributes


class Scope:
    """The names of a function that is read, inlined, or defined inside another one.

    Attributes
    ----------
    function : FunctionType
        The function; for an inner function, the outer one.
    parent : Scope, optional
        The scope of the outer function.
    depth : int
        0 for the function that the program is for, and its inner functions.
    blocks : int
        How many loops and branches enclose the call of the function.
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
        self.forms: dict[str, Any] = {}  # variables that hold tuples → the names of the parts
        self.functions: dict[str, Static] = {}  # and objects
        self.outer: set[str] = set()  # ``nonlocal`` names
        self.definite: set[str] = set()  # variables assigned on every path to where they are read
        self.temporaries: set[str] = set()  # those of which only the latest binding is read
        self.is_in_memory = False  # of an object: its attributes are in memory
        code = function.__code__
        own = code.co_varnames + code.co_cellvars
        self.locals = frozenset(own if parent is None else names)


class Static:
    """What a name can stand for while a function is read, but no value of the program is.

    Attributes
    ----------
    noun : str
        What error messages call it.
    """

    noun: ClassVar[str]

    @property
    def kind(self) -> Kind:
        """Raise an error: only values of the program have a kind."""
        raise UnsupportedError(f"{self.noun} as a value")


@dataclass(frozen=True, eq=False)
class LocalFunction(Static):
    """A function that is defined inside another one.

    Attributes
    ----------
    node : FunctionDef or Lambda
        Its definition.
    scope : Scope
        The scope that it is defined in, where a call looks up its free names.
    defaults : dict
        Parameters → hidden variables of that scope, with their default values.
    """

    noun = "a function"
    node: Any
    scope: Scope
    defaults: dict[str, str]


@dataclass(frozen=True, eq=False)
class LocalPartial(Static):
    """A `functools.partial`: variables of a scope hold the function and its arguments."""

    noun = "a function"
    scope: Scope
    function: str
    args: tuple[str, ...]
    named: dict[str, str]


@dataclass(frozen=True, eq=False)
class LocalPullback(Static):
    """What ``pullback(f, x)`` and ``vjp(f, x)`` return to be called; `read` reads a call."""

    noun = "a pullback"
    read: Callable[[list], Any]


@dataclass(frozen=True, eq=False)
class LocalObject(Static):
    """An object that the function makes, or an argument with traced attributes.

    Attributes
    ----------
    cls : type
        Its class.
    scope : Scope
        Its attributes.
    of_class : set of str
        The attributes that were read from its class, because it had none of its own.
    place : int, optional
        Of an argument: its number among the objects that are arguments.
    """

    noun = "an object"
    cls: type
    scope: Scope
    of_class: set[str] = field(default_factory=set)
    place: int | None = None

    @property
    def is_given(self) -> bool:
        """Whether it is an argument."""
        return self.place is not None


@dataclass(frozen=True, eq=False)
class ArgumentRows(Static):
    """A read-only argument that is a list of rows, perhaps nested in further lists.

    Attributes
    ----------
    scope : Scope
        The scope of its columns.
    columns : tuple of str
        For each part of the rows, the variable with a list of these parts, nested alike.
    depth : int
        How deep the lists are nested.
    row : RowForm
        The form of a row.
    """

    noun = "a list of rows"
    scope: Scope
    columns: tuple[str, ...]
    depth: int
    row: Any


@dataclass(frozen=True, eq=False)
class LocalIterator(Static):
    """An iterator over a list or array, of which a loop or ``next`` takes one item after the other.

    Variables of a scope hold the list, its length, the position, and where the iterator ends.
    """

    noun = "an iterator"
    scope: Scope
    items: str
    length: str
    place: str
    end: str


@dataclass(frozen=True, eq=False)
class LocalIterable(Static):
    """An iterator that one loop takes as a whole: ``zip(xs, ys)``, or what a generator returns.

    Variables of a scope hold the function that returns it, the arguments, and whether a loop has
    taken it.
    """

    noun = "an iterator"
    scope: Scope
    function: str
    args: tuple[str, ...]
    named: dict[str, str]
    is_taken: str


@dataclass(frozen=True, eq=False)
class OutsideObject(Static):
    """An object from outside."""

    noun = "an object"
    x: Any

    @property
    def cls(self) -> type:
        """Its class."""
        return type(self.x)


@dataclass(frozen=True, eq=False)
class Method(Static):
    """A bound method: a function of a class, and its owner."""

    noun = "a method"
    function: types.FunctionType
    owner: Any  # an object, or a value that is a class


@dataclass(frozen=True, eq=False)
class SuperProxy(Static):
    """What ``super()`` returns: an object, and the classes in which it looks up attributes."""

    noun = "super()"
    owner: Any
    classes: tuple[type, ...]


ITERATORS = (LocalIterator, LocalIterable)
"""Iterators that variables hold."""

OBJECTS = (LocalObject, OutsideObject)

OWNERS = (*OBJECTS, SuperProxy)
"""Objects, and ``super()``: what has attributes."""


@dataclass
class HeldSlice(HeldRange):
    """A slice that a variable holds: its bounds, which may be None."""


def is_the_same(a: Any, b: Any) -> bool:
    """Whether two static values are the same."""
    if type(a) is not type(b):
        return False
    if type(a) is LocalFunction:
        return a.node is b.node and a.scope is b.scope
    if type(a) is Method:
        return a.function is b.function and is_the_same(a.owner, b.owner)
    return a.x is b.x if type(a) is OutsideObject else a is b


CELLS_OF_CALLEE: dict = {}
"""In a guard, in place of a dict: the cells of the called function, by position."""


class ColumnLookup(dict):
    """The columns of a long list of rows from outside, read like the entries of a dict.

    Attributes
    ----------
    where, name : dict, Any
        Where the list is looked up.
    depth, row : int, RowForm
        What `columns_of_rows` has returned for it.
    """

    def __init__(self, where: dict, name: Any, depth: int, row: Any) -> None:
        self.where, self.name, self.depth, self.row = where, name, depth, row


def guarded_value(d: dict, name: Any, g: Any) -> Any:
    """Return the present value that a guard checks; `g` is the called function."""
    if d is CELLS_OF_CALLEE:
        return content_of(g.__closure__[name])
    return d.get(name, UNKNOWN)


def content_of(cell: Any) -> Any:
    """Return what a captured variable is bound to, or `UNKNOWN`."""
    return UNKNOWN if is_empty(cell) else cell.cell_contents


class WeakLookup(dict):
    """Something of an object or class, read like an entry of a dict; the owner is held weakly."""

    def __init__(self, owner: Any) -> None:
        self.owner = weakref.ref(owner)

    def get(self, name: str, default: Any = None) -> Any:
        """Return what `of` finds; a new object, equal to none, if the owner is gone."""
        owner = self.owner()
        return object() if owner is None else self.of(owner, name, default)

    def of(self, owner: Any, name: str, default: Any) -> Any:
        """Look up something of the owner."""
        raise NotImplementedError


class ContentLookup(dict):
    """The items of a list, tuple or dict; under None, whether its keys are as before.

    Attributes
    ----------
    places : tuple
        Its keys or indices.
    constants : list, optional
        The items of a list or dict of constants alone: the entry None compares these, too.
    """

    def __init__(self, owner: Any, constants: list | None) -> None:
        self.owner = owner
        self.places = self._places_now()
        self.constants = constants

    def _places_now(self) -> tuple:
        return tuple(self.owner if type(self.owner) is dict else range(len(self.owner)))

    def get(self, name: Any, default: Any = None) -> Any:
        """Return the present item, or what None stands for."""
        if name is None:
            if self._places_now() != self.places:
                return False
            now = self.owner.values() if type(self.owner) is dict else self.owner
            return self.constants is None or all(map(operator.is_, now, self.constants))
        return self.owner.get(name, default) if type(self.owner) is dict else self.owner[name]


class OwnAttributeLookup(WeakLookup):
    """The attributes in the dict of an object or class."""

    def of(self, owner: Any, name: str, default: Any) -> Any:
        """Return the attribute of this name."""
        return vars(owner).get(name, default)


class ClassLookup(WeakLookup):
    """The class of an object."""

    def of(self, owner: Any, name: str, default: Any) -> Any:
        """Return the class."""
        return type(owner)


class BasesLookup(WeakLookup):
    """The method resolution order of a plain class, as long as it is plain."""

    def of(self, owner: Any, name: str, default: Any) -> Any:
        """Return the classes."""
        bases = owner.__mro__
        return default if any(map(customizes_attributes, bases[:-1])) else bases


class AttributeView(dict):
    """The attributes of a function or cell, read like the entries of a dict."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def get(self, name: str, default: Any = None) -> Any:
        """Return the attribute of this name."""
        try:
            return getattr(self.owner, name, default)
        except ValueError:  # an empty cell
            return default
