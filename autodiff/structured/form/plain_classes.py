"""Which classes programs take apart: plain ones of the user's, and named tuples.

Each traced call asks, so this stands apart from the reader, which is imported at the first loop.
"""

from __future__ import annotations

import abc
import collections
import inspect
import types
import weakref
from typing import Any

from autodiff import caches
from autodiff.intercept.source.library_code import is_of_library
from autodiff.python_operators import COMPARISONS
from autodiff.structured.form.function_ir import RecordValue

TANGENT_MARK = "__is_tangent__"
"""A name in the globals of generated tangent functions, which may call helpers of rules."""


def is_plain_class(cls: type) -> bool:
    """Whether a class is the user's, and its objects have a dict of attributes and no slots."""
    bases = [base for base in cls.__mro__ if base is not abc.ABC]
    return is_constructible(cls) and not any("__slots__" in vars(base) for base in bases)


def is_constructible(cls: type) -> bool:
    """Whether a class is the user's, and does not customize making objects or their attributes.

    Of an abstract class no objects can be made, of those derived from it they can.
    """
    *own, last = [base for base in cls.__mro__ if base is not abc.ABC]
    return (
        (type(cls) is type or (type(cls) is abc.ABCMeta and not inspect.isabstract(cls)))
        and last is object
        and bool(own)
        and not any(is_of_library(base) or customizes_attributes(base) for base in own)
    )


_records: weakref.WeakKeyDictionary[type, type[RecordValue] | None]
_records = caches.register("named tuples in programs", weakref.WeakKeyDictionary())


def record_class(cls: type) -> type[RecordValue] | None:
    """Return the `RecordValue` class for a class of named tuples; None for other classes."""
    if not issubclass(cls, tuple):
        return None
    if cls not in _records:
        own = {"user_class": staticmethod(weakref.ref(cls))}
        _records[cls] = type(cls.__name__, (RecordValue,), own) if _has_fields_alone(cls) else None
    return _records[cls]


def _has_fields_alone(cls: Any) -> bool:
    """Whether a class is a plain named tuple: its fields are the arguments that make it."""
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


_DECIDES_OF_RECORD = frozenset({
    "__init__", "__getattribute__", "__getattr__", "__len__", "__iter__", "__getitem__",
    "__contains__", "__reversed__", "__bool__", "__hash__", "__abs__", "__round__", "__index__",
    "__int__", "__float__", "__complex__", "__array__", "__array_ufunc__", "__array_function__",
    *[f"__{comparison.name}__" for comparison in COMPARISONS.values()],
})  # fmt: skip


def customizes_attributes(cls: type) -> bool:
    """Whether a class customizes attributes, other than as a frozen dataclass does."""
    params = vars(cls).get("__dataclass_params__")
    names = _DECIDES - _OF_FROZEN if params is not None and params.frozen else _DECIDES
    return not names.isdisjoint(vars(cls))


_DECIDES = frozenset({
    "__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__new__", "__del__",
    "__class__",
})  # fmt: skip
_OF_FROZEN = frozenset({"__setattr__", "__delattr__"})  # made by a frozen dataclass
