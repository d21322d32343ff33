"""Names: the variables of functions, and where names from outside are looked up again."""

from __future__ import annotations

import collections
import operator
import types
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from autodiff import caches
from autodiff.closures.captured_values import is_empty
from autodiff.intercept.source.library_code import is_of_library
from autodiff.structured.form.ir import Record, Slot
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
        self.functions: dict[str, Any] = {}  # and objects: `NO_VALUES`
        self.outer: set[str] = set()  # names that belong to an outer function, by ``nonlocal``
        self.lasting: set[str] = set()  # variables that are read only where they are bound
        self.at_once: set[str] = set()  # those that are read only behind where they were bound last
        self.has_moved = False  # of an object: its attributes are in memory
        code = function.__code__
        own = code.co_varnames + code.co_cellvars
        self.locals = frozenset(own if parent is None else names)


@dataclass(frozen=True, eq=False)
class LocalFunction:
    """A function that is defined inside another one.

    Attributes
    ----------
    node : FunctionDef or Lambda
        Its definition.
    scope : Scope
        Where it is defined: there its other names are looked up, when it is called.
    defaults : dict
        Parameters → hidden variables of that scope, with their default values.
    """

    node: Any
    scope: Scope
    defaults: dict[str, str]

    @property
    def kind(self) -> Kind:
        """Raise an error: it has none, since it is no value of the program."""
        raise UnsupportedError("a function as a value")


@dataclass(frozen=True, eq=False)
class LocalPartial:
    """What `functools.partial` makes: variables of a scope with the function and arguments."""

    scope: Scope
    function: str
    args: tuple[str, ...]
    named: dict[str, str]

    @property
    def kind(self) -> Kind:
        """Raise an error: it has none, since it is no value of the program."""
        raise UnsupportedError("a function as a value")


@dataclass(frozen=True, eq=False)
class LocalObject:
    """An object that the function makes, or is given, if it has traced attributes.

    Attributes
    ----------
    cls : type
        Its class.
    scope : Scope
        Its attributes.
    of_class : set of str
        The attributes that were read of its class, because it had none of its own.
    place : int, optional
        Of an argument: it is the object of this number among those that are.
    """

    cls: type
    scope: Scope
    of_class: set[str] = field(default_factory=set)
    place: int | None = None

    @property
    def is_given(self) -> bool:
        """Whether it is an argument, and the function has not made it."""
        return self.place is not None

    @property
    def kind(self) -> Kind:
        """Raise an error: it has none, since it is no value of the program."""
        raise UnsupportedError("an object as a value")


@dataclass(frozen=True, eq=False)
class GivenRows:
    """A list of tuples that is an argument, or of lists of such, which nobody changes.

    Attributes
    ----------
    scope : Scope
        Where its columns are.
    columns : tuple of str
        Variables of it: for each part of the tuples, a list of these parts, or of lists of such.
    depth : int
        How many lists stand one in another.
    """

    scope: Scope
    columns: tuple[str, ...]
    depth: int

    @property
    def kind(self) -> Kind:
        """Raise an error: it has none, since it is no value of the program."""
        raise UnsupportedError("a list of tuples as a value")


@dataclass(frozen=True, eq=False)
class OutsideObject:
    """An object from outside."""

    x: Any

    @property
    def cls(self) -> type:
        """Its class."""
        return type(self.x)

    @property
    def kind(self) -> Kind:
        """Raise an error: it has none, since it is no value of the program."""
        raise UnsupportedError("an object as a value")


@dataclass(frozen=True, eq=False)
class Method:
    """A function of a class, and the object that it is called of."""

    function: types.FunctionType
    owner: Any  # an object, or a value that is a class

    @property
    def kind(self) -> Kind:
        """Raise an error: it has none, since it is no value of the program."""
        raise UnsupportedError("a method as a value")


@dataclass(frozen=True, eq=False)
class Above:
    """What ``super()`` is: an object, and the classes in which its attributes are looked up."""

    owner: Any
    classes: tuple[type, ...]

    @property
    def kind(self) -> Kind:
        """Raise an error: it has none, since it is no value of the program."""
        raise UnsupportedError("super() as a value")


OBJECTS = (LocalObject, OutsideObject)

OWNERS = (*OBJECTS, Above)
"""Objects, and ``super()``: what has attributes."""

NO_VALUES = (
    LocalFunction, LocalPartial, LocalObject, OutsideObject, GivenRows, Method, Above,
)  # fmt: skip
"""What a name can stand for while a function is read, and no value of the program is."""


IS_TANGENT = "__is_tangent__"
"""What the globals of a tangent function have: it calls helpers of rules."""


def is_the_same(a: Any, b: Any) -> bool:
    """Whether two of these are one."""
    if type(a) is not type(b):
        return False
    if type(a) is LocalFunction:
        return a.node is b.node and a.scope is b.scope
    if type(a) is Method:
        return a.function is b.function and is_the_same(a.owner, b.owner)
    return a.x is b.x if type(a) is OutsideObject else a is b


def is_plain_class(cls: type) -> bool:
    """Whether a class is the user's, and its objects have dicts of attributes, and nothing else."""
    return may_be_made(cls) and not any("__slots__" in vars(base) for base in cls.__mro__)


def may_be_made(cls: type) -> bool:
    """Whether a class is the user's, and of attributes it says only which its objects may have."""
    *own, last = cls.__mro__
    return (
        type(cls) is type
        and last is object
        and bool(own)
        and not any(is_of_library(base) or _decides(base) for base in own)
    )


_records: weakref.WeakKeyDictionary[type, type[Record] | None]
_records = caches.register("named tuples in programs", weakref.WeakKeyDictionary())


def record_class(cls: type) -> type[Record] | None:
    """Return the class that stands for a class of named tuples; None for other classes."""
    if not issubclass(cls, tuple):
        return None
    if cls not in _records:
        own = {"user_class": staticmethod(weakref.ref(cls))}
        _records[cls] = type(cls.__name__, (Record,), own) if _has_fields_alone(cls) else None
    return _records[cls]


def _has_fields_alone(cls: Any) -> bool:
    """Whether a class is one of named tuples whose fields are what it is called with."""
    fields = getattr(cls, "_fields", None)
    if type(cls) is not type or type(fields) is not tuple:
        return False
    if is_of_library(cls) and cls.__module__.partition(".")[0] not in ("numpy", "scipy"):
        return False
    if any(not _DECIDES_OF_RECORD.isdisjoint(vars(base)) for base in cls.__mro__[:-2]):
        return False
    make: Any = collections.namedtuple
    own = make("Alike", fields)
    new = cls.__new__
    if type(new) is not types.FunctionType or new.__code__.co_code != own.__new__.__code__.co_code:
        return False
    return all(_same_field(getattr(cls, f, None), getattr(own, f)) for f in fields)


def _same_field(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a.__reduce__()[1][0] == b.__reduce__()[1][0]


_DECIDES_OF_RECORD = frozenset(
    {"__init__", "__getattribute__", "__getattr__", "__len__", "__iter__", "__getitem__"}
)


def _decides(cls: type) -> bool:
    """Whether a class itself says what its attributes are, and not that none may be set."""
    params = vars(cls).get("__dataclass_params__")
    names = _DECIDES - _OF_FROZEN if params is not None and params.frozen else _DECIDES
    return not names.isdisjoint(vars(cls))


_DECIDES = frozenset({
    "__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__new__", "__del__",
    "__class__",
})  # fmt: skip
_OF_FROZEN = frozenset({"__setattr__", "__delattr__"})  # of a frozen dataclass, which makes them


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


class Watched(dict):
    """What is looked up of an object or a class, which does not stay alive for that."""

    def __init__(self, owner: Any) -> None:
        self.owner = weakref.ref(owner)

    def get(self, name: str, default: Any = None) -> Any:
        """Return what is looked up; if the owner is gone, what nothing is identical to."""
        owner = self.owner()
        return object() if owner is None else self.of(owner, name, default)

    def of(self, owner: Any, name: str, default: Any) -> Any:
        """Look it up."""
        raise NotImplementedError


class Contents(dict):
    """What a list, tuple or dict has in it; under None, whether it has as many parts as before.

    Attributes
    ----------
    places : tuple
        Its keys or indices.
    constants : list, optional
        What a list holds that holds nothing else: under None, these are compared as well.
    """

    def __init__(self, owner: Any, constants: list | None) -> None:
        self.owner = owner
        self.places = self._places_now()
        self.constants = constants

    def _places_now(self) -> tuple:
        return tuple(self.owner if type(self.owner) is dict else range(len(self.owner)))

    def get(self, name: Any, default: Any = None) -> Any:
        """Return what is there now."""
        if name is None and self.constants is not None:
            is_as_long = len(self.owner) == len(self.constants)
            return is_as_long and all(map(operator.is_, self.owner, self.constants))
        if name is None:
            return self._places_now() == self.places
        return self.owner.get(name, default) if type(self.owner) is dict else self.owner[name]


class OwnAttributes(Watched):
    """What an object or a class itself has."""

    def of(self, owner: Any, name: str, default: Any) -> Any:
        """Return the attribute of this name."""
        return vars(owner).get(name, default)


class ClassOf(Watched):
    """The class of an object."""

    def of(self, owner: Any, name: str, default: Any) -> Any:
        """Return the class."""
        return type(owner)


class BasesOf(Watched):
    """The classes in which attributes of a plain class are looked up, while it is plain."""

    def of(self, owner: Any, name: str, default: Any) -> Any:
        """Return the classes."""
        bases = owner.__mro__
        return default if any(map(_decides, bases[:-1])) else bases


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
