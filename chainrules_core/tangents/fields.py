"""The fields of classes and of objects: what a structural tangent can name, and building anew."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import weakref
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, GenericAlias, MethodType, ModuleType
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
        f"A structural tangent is of a class, and {primal!r} is none: write Tangent[Foo](a=...) "
        "with the class of the primal, or Tangent[Any] where it is not known."
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
        return tuple(_slots(cls)) or None
    return None


def _slots(cls: type) -> Iterator[str]:
    for base in reversed(cls.__mro__):
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name.startswith("__") and not name.endswith("__"):
                yield f"_{base.__name__.lstrip('_')}{name}"  # private names are mangled
            elif name not in ("__weakref__", "__dict__"):
                yield name


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
    words = 2 + sum(1 for _ in _slots(cls))
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
    if isinstance(x, dict):
        return dict(x)
    names = declared_fields(cls)
    if names is not None:
        return {name: getattr(x, name) for name in names if hasattr(x, name)}
    if not is_structure(cls):
        return None
    slots = {name: getattr(x, name) for name in _slots(cls) if hasattr(x, name)}
    return _attributes(x) | slots


def _attributes(x: Any) -> dict[str, Any]:
    cls = type(x)
    return {
        name: value
        for name, value in (vars(x).items() if cls.__dictoffset__ else ())
        if not isinstance(getattr(cls, name, None), functools.cached_property)
    }


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
        raise PrimalAdditionError(cls, "it has contents that are no attributes")
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
