"""The fields of classes and of objects: what a structural tangent can name, and building anew."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import enum
import functools
import weakref
from collections.abc import Callable, Iterable
from types import (
    BuiltinFunctionType,
    FunctionType,
    GenericAlias,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, TypeVar, get_origin

from chainrules_core.errors import PrimalAdditionError, TangentTypeError

V = TypeVar("V")

_HEAP_TYPE = 1 << 9  # CPython's Py_TPFLAGS_HEAPTYPE: made by a class statement, or as if by one
_NOT_STRUCTURES = (
    type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, BaseException, enum.Enum,
)  # fmt: skip


def per_class(function: Callable[[type], V]) -> Callable[[type], V]:
    """Remember a function's value for each class, as long as the class lives.

    The key is the class's id, which is faster than a weak dictionary's; a class takes its entry
    along when it dies.
    """
    known: dict[int, tuple[Any, V]] = {}

    @functools.wraps(function)
    def remembered(cls: type) -> V:
        entry = known.get(id(cls))
        if entry is None:
            key = id(cls)
            value = function(cls)
            reference = weakref.ref(cls, lambda _: known.pop(key, None))
            entry = known.setdefault(key, (reference, value))  # of two threads one wins
        return entry[1]

    remembered.forget_all = known.clear  # type: ignore[attr-defined]
    return remembered


def primal_class(primal: Any) -> type:
    """The class that a structural tangent is indexed by: itself, or the origin of ``Foo[int]``.

    Raises
    ------
    TangentTypeError
        If `primal` is not a class.
    """
    if isinstance(primal, type) and not isinstance(primal, GenericAlias):
        return primal
    origin = get_origin(primal)
    if isinstance(origin, type):
        return origin
    raise TangentTypeError(
        f"A structural tangent is of a class, and {primal!r:.60} is not a class. Write "
        "Tangent[Foo](a=...) with the class of the primal, or Tangent[Any](a=...) where it is not "
        "known."
    )


@per_class
def declared_fields(cls: type) -> tuple[str, ...] | None:
    """The names of the fields of a class in order, or None where only its instances know.

    Dataclasses, attrs classes, named tuples and classes with ``__slots__`` declare them. A
    subclass of a dataclass that is not decorated itself may set other attributes: None.

    Examples
    --------
    >>> declared_fields(dataclasses.make_dataclass("Foo", ["a", "b"]))
    ('a', 'b')
    >>> declared_fields(list) is None
    True
    """
    own = vars(cls)
    if "__dataclass_fields__" in own:
        return tuple(f.name for f in dataclasses.fields(cls))
    if "__attrs_attrs__" in own:
        return tuple(a.name for a in own["__attrs_attrs__"])
    if is_namedtuple(cls):
        return tuple(cls._fields)  # type: ignore[attr-defined]
    if cls.__dictoffset__ == 0 and is_structure(cls):
        return tuple(slots_of(cls)) or None
    return None


# -- what an object holds, read without running any code of its class -----------------------------


@per_class
def slots_of(cls: type) -> dict[str, MemberDescriptorType]:
    """The slots of a class and its bases, those of the bases first: name → descriptor.

    The descriptors that Python made are asked, not ``__slots__``: that may be anything.

    Examples
    --------
    >>> class Foo: __slots__ = ("a", "__b")
    >>> list(slots_of(Foo))
    ['a', '_Foo__b']
    """
    found: dict[str, MemberDescriptorType] = {}
    for base in reversed(cls.__mro__):
        own = vars(base)
        declared = own.get("__slots__")
        if declared is None:
            continue
        prefix = f"_{base.__name__.lstrip('_')}"
        # In the order of the class statement, where that is still known.
        order = declared if type(declared) in (tuple, list, dict) else ()
        names = [prefix + n if f"{n}"[:2] == "__" and n[-2:] != "__" else n for n in order]
        for name in (*names, *own):
            if type(own.get(name)) is MemberDescriptorType:
                found[name] = own[name]
    return found


@per_class
def _dict_reader(cls: type) -> Callable[[Any], dict[str, Any]]:
    """Return what reads the ``__dict__`` of an instance, whatever the class says it is."""
    for base in cls.__mro__:
        found: Any = vars(base).get("__dict__")
        if type(found) in (GetSetDescriptorType, MemberDescriptorType):
            return found.__get__
    return lambda x: {}


def dict_of(x: Any) -> dict[str, Any]:
    """The attributes that an object keeps in its ``__dict__``; an empty dict if it has none.

    No code of its class runs: no ``__getattr__``, no property. The dict is the object's own.

    Examples
    --------
    >>> class Proxy:
    ...     def __getattr__(self, name): return name
    >>> dict_of(Proxy())
    {}
    """
    try:
        return _dict_reader(type(x))(x)
    except (AttributeError, ValueError):  # of a wrapper made in C that holds nothing yet
        return {}


def slot_values(x: Any) -> dict[str, Any]:
    """The values of an object's slots by name; without the slots that are not set.

    Examples
    --------
    >>> class Foo: __slots__ = ("a", "b")
    >>> foo = Foo()
    >>> foo.a = 1.0
    >>> slot_values(foo)
    {'a': 1.0}
    """
    kind = type(x)
    values: dict[str, Any] = {}
    for name, slot in slots_of(kind).items():
        with contextlib.suppress(AttributeError):
            values[name] = slot.__get__(x, kind)
    return values


def in_class(cls: type, name: str, default: Any = None) -> Any:
    """Return a class attribute as it is stored, without calling descriptors."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return default


def is_special(name: str, value: Any) -> bool:
    """Whether Python itself may call an attribute of a class: a special method, of any kind.

    Examples
    --------
    >>> is_special("__add__", len), is_special("__doc__", "A text."), is_special("add", len)
    (True, False, False)
    """
    is_code = callable(value) or hasattr(type(value), "__get__")
    return name.startswith("__") and name not in ("__dict__", "__weakref__") and is_code


def is_remembered(cls: type, name: str) -> bool:
    """Whether an attribute holds what a ``cached_property`` has computed."""
    return isinstance(in_class(cls, name), functools.cached_property)


def is_namedtuple(cls: type) -> bool:
    """Whether a class is a named tuple."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields") and hasattr(cls, "_make")


@per_class
def is_structure(cls: type) -> bool:
    """Whether the instances of a class are their attributes: Python classes all the way down.

    False for what has hidden contents: functions, modules, exceptions, classes, and everything
    that derives from a class written in C.

    Examples
    --------
    >>> class Foo: pass
    >>> is_structure(Foo), is_structure(float), is_structure(OSError)
    (True, False, False)
    """
    if cls is object or issubclass(cls, _NOT_STRUCTURES):
        return False
    if not all(base is object or base.__flags__ & _HEAP_TYPE for base in cls.__mro__):
        return False
    # Members in C make instances larger than slots, __dict__ and __weakref__ do.
    words = 2 + len(slots_of(cls))
    return cls.__basicsize__ <= object.__basicsize__ + 8 * words and cls.__itemsize__ == 0


def fields_of(x: Any) -> dict[Any, Any] | None:
    """The fields of a structured value by name, or None for what is no structure.

    Named tuples, dicts, dataclasses, attrs classes, classes with slots, plain objects. Left out
    are declared attributes that are not set, and values that a ``cached_property`` remembers:
    they follow from the others.

    Examples
    --------
    >>> class Foo:
    ...     def __init__(self): self.a = 1.0
    >>> fields_of(Foo())
    {'a': 1.0}
    """
    cls = type(x)
    if issubclass(cls, dict):
        return dict(x)
    names = declared_fields(cls)
    if names is not None:
        return (
            dict(zip(names, x, strict=False)) if is_namedtuple(cls) else declared_values(x, names)
        )
    if not is_structure(cls):
        return None
    return _attributes(x) | slot_values(x)


def declared_values(x: Any, names: Iterable[str]) -> dict[str, Any]:
    """The declared fields of an object that are set, by name.

    Of code of its class only a descriptor that a dataclass has for a field is run.
    """
    held = dict_of(x)
    if slots_of(type(x)):
        held = held | slot_values(x)
    values: dict[str, Any] = {}
    for name in names:
        if name in held:
            values[name] = held[name]
            continue
        found = in_class(type(x), name, _ABSENT)
        if found is not _ABSENT and type(found) is not MemberDescriptorType:  # a default
            with contextlib.suppress(AttributeError, KeyError):  # it is not set yet
                described = in_class(type(found), "__get__") is not None
                values[name] = getattr(x, name) if described else found
    return values


_ABSENT = object()


def _attributes(x: Any) -> dict[str, Any]:
    cls = type(x)
    return {n: value for n, value in dict_of(x).items() if not is_remembered(cls, n)}


@functools.singledispatch
def construct(primal: Any, fields: Any) -> Any:
    """Build a value like `primal` from new fields; used for primal + tangent.

    A structure is built by setting the attributes of a new instance, without its ``__init__``.
    Register a function for a class whose instances need more.

    Parameters
    ----------
    primal : object
        The value to resemble; it is not changed.
    fields : dict or list
        The values of *all* fields by name, or of all elements for tuples and lists.

    Raises
    ------
    PrimalAdditionError
        If this cannot be done.

    Examples
    --------
    >>> class Circle:
    ...     def __init__(self, r): self.r, self.area = r, 3.0 * r * r
    >>> @construct.register(Circle)
    ... def construct_circle(primal, fields):
    ...     return Circle(fields["r"])
    >>> construct(Circle(1.0), {"r": 2.0, "area": 0.0}).area
    12.0
    """
    cls = type(primal)
    if not is_structure(cls):
        raise PrimalAdditionError(cls, "it has contents that are not attributes")
    new = object.__new__(cls)
    # Attributes beside the fields, as __post_init__ may set them, are the old ones.
    for name, value in {**_attributes(primal), **fields}.items():
        object.__setattr__(new, name, value)
    return new


@construct.register(tuple)
def _construct_tuple(primal: tuple, fields: Any) -> tuple:
    cls = type(primal)
    if is_namedtuple(cls):
        return cls._make(fields[name] for name in cls._fields)  # type: ignore[attr-defined]
    return tuple(fields) if cls is tuple else cls(fields)


@construct.register(list)
def _construct_list(primal: list, fields: Any) -> list:
    if type(primal) is list:
        return list(fields)
    new = copy.copy(primal)
    new[:] = fields
    return new


@construct.register(dict)
def _construct_dict(primal: dict, fields: Any) -> dict:
    if type(primal) is dict:
        return dict(fields)
    new = copy.copy(primal)  # keeps the factory of a defaultdict
    new.update(fields)
    return new
