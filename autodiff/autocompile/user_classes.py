"""User-defined classes and their objects in purity proofs.

A class is supported if it is plain: attribute lookup is Python's default. Methods are proved if the
code mentions their names.
"""

from __future__ import annotations

import abc
import ast
import builtins
import collections
import dataclasses
import enum
import functools
import types
import typing
from collections.abc import Iterator
from typing import Any

import numpy as np

from autodiff.autocompile.outer_names import Impurity
from autodiff.intercept.source.library_code import is_library, is_of_library
from autodiff.structured.form.plain_classes import record_class
from chainrules_core.tangents.fields import dict_of, in_class, is_special, slot_values

_SHOWN = frozenset({"__format__", "__replace__", "__repr__", "__str__"})
"""Methods that, among pure functions, only `str` calls."""
_MAKING = frozenset({"__init__", "__post_init__"})
_OPERATORS = frozenset({
    "__abs__", "__add__", "__divmod__", "__floordiv__", "__iadd__", "__imatmul__", "__imul__",
    "__invert__", "__isub__", "__itruediv__", "__matmul__", "__mod__", "__mul__", "__neg__",
    "__pos__", "__pow__", "__radd__", "__rfloordiv__", "__rmatmul__", "__rmod__", "__rmul__",
    "__rpow__", "__rsub__", "__rtruediv__", "__sub__", "__truediv__",
})  # fmt: skip
_FOLLOWED = _MAKING | _OPERATORS | {
    "__bool__", "__call__", "__contains__", "__delitem__", "__enter__", "__eq__", "__exit__",
    "__ge__", "__getitem__", "__gt__", "__hash__", "__iter__", "__le__", "__len__", "__lt__",
    "__ne__", "__next__", "__reversed__", "__setitem__",
}  # fmt: skip
"""The special methods that classes may define. Others may change attribute lookup, or return
anything where an array is expected."""
_GENERATED = frozenset({"__ge__", "__gt__", "__le__", "__lt__"}) | {
    "_dataclass_getstate", "_dataclass_setstate",
}  # fmt: skip
_HOLDING = frozenset({"default_factory", "func", "pyfunc"})
"""Attributes of objects of Python and NumPy that hold functions."""
_NAMES_IN_GENERATED = frozenset(
    {
        "NotImplemented", "__class__", "__delattr__", "__post_init__", "__setattr__", "hash",
        "super", "type",
    }
)  # fmt: skip


def is_plain_class(x: Any) -> bool:
    """Whether `x` is a user-defined class with the default attribute lookup."""
    if type(x) not in (type, abc.ABCMeta) or x in _BASES:
        return False
    is_record = issubclass(x, tuple)
    if is_record and (record_class(x) is None or x.__dictoffset__):
        return False
    return all(
        type(base) in (type, abc.ABCMeta)
        and not is_of_library(base)
        and all(_is_followed(base, name, value) for name, value in _own_attributes(base))
        for base in _bases_of(x)
    )


_BASES = frozenset(
    {object, tuple, abc.ABC, typing.Generic}
    | {x for x in vars(builtins).values() if isinstance(x, type) and issubclass(x, BaseException)}
)
"""Classes of Python that plain classes may derive from."""


def _bases_of(kind: type) -> list[type]:
    """Return a class and its bases that are the user's."""
    return [base for base in kind.__mro__ if base not in _BASES]


def member_of(kind: Any, names: list[str]) -> Any:
    """Return the member of an enumeration that `names` names, if that is a plain constant."""
    if type(kind) is not enum.EnumMeta or kind.__mro__[1:] != enum.Enum.__mro__ or len(names) != 1:
        return None
    member = kind.__members__.get(names[0])
    has_code = any(
        isinstance(value, (property, staticmethod, classmethod, types.FunctionType))
        for name, value in vars(kind).items()
        if name not in ("__new__", "_generate_next_value_")  # of every enumeration
    )
    is_constant = member is not None and type(member.value) in (int, float, str)
    return member if is_constant and not has_code else None


def is_member(x: Any) -> bool:
    """Whether a value is a member of an enumeration that is a plain constant."""
    return isinstance(x, enum.Enum) and member_of(type(x), [x.name]) is x


def _own_attributes(kind: Any) -> list[tuple[str, Any]]:
    """Return the attributes of a class, without its slots and what every named tuple has."""
    items = [(n, x) for n, x in vars(kind).items() if type(x) is not types.MemberDescriptorType]
    if not hasattr(kind, "_fields") or not issubclass(kind, tuple):
        return items
    generated = vars(collections.namedtuple("Alike", kind._fields))
    return [(n, x) for n, x in items if n not in generated or not _is_alike(x, generated[n])]


def _is_alike(x: Any, generated: Any) -> bool:
    """Whether an attribute of a named tuple is what Python makes it."""
    codes = [getattr(getattr(y, "__func__", y), "__code__", None) for y in (x, generated)]
    if codes[0] is None or codes[1] is None:
        return type(x) is type(generated) and not callable(x) and type(x) is not dict
    return codes[0].co_code == codes[1].co_code and codes[0].co_names == codes[1].co_names


def _is_followed(kind: type, name: str, value: Any) -> bool:
    """Whether a class attribute is supported."""
    if is_special(name, value) and type(value) is functools._lru_cache_wrapper:
        return False  # Python calls it, where no recording sees what the cache keeps
    known = name in _FOLLOWED or name in _SHOWN or _is_generated(kind, value)
    return known or not is_special(name, value)


def _is_generated(kind: type, g: Any) -> bool:
    """Whether `dataclasses` or `functools.total_ordering` generated a method.

    It accesses the fields or calls the other comparisons.
    """
    home = getattr(g, "__globals__", None)
    if home is vars(functools) or home is vars(dataclasses):
        return g.__name__ in _GENERATED
    fields = vars(kind).get("__dataclass_fields__")
    if fields is None or type(g) is not types.FunctionType or g.__code__.co_filename != "<string>":
        return False
    return _NAMES_IN_GENERATED.union(fields).issuperset(g.__code__.co_names)


def held_by(x: Any) -> dict[str, Any]:
    """Return the attributes that an object has, in slots too."""
    return {**slot_values(x), **dict_of(x)}


def first_parameter(node: Any) -> str | None:
    """Return the name of a method's first parameter; None if the method rebinds it."""
    arguments = [*node.args.posonlyargs, *node.args.args]
    if not arguments:
        return None
    name = arguments[0].arg
    others = [a for a in ast.walk(node) if isinstance(a, ast.arg) and a.arg == name]
    bound = any(
        isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)
        for n in ast.walk(node)
    )
    return None if bound or len(others) > 1 else name


def names_in(node: ast.AST) -> set[str]:
    """Return the names of the attributes that code may read, also from strings."""
    nodes = list(ast.walk(node))
    texts = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return texts.union(n.attr for n in nodes if isinstance(n, ast.Attribute))


class UserClasses:
    """The classes and objects that a proof has met.

    Attributes
    ----------
    asks : bool
        Whether code inspects the class, the string, or the attributes of a value.
    mentioned : set of str
        The names of attributes in all checked code.
    kinds : dict
        Class → whether it is called; otherwise it is the class of an object.
    given : list
        The outer objects.
    by_class : set of str
        The names of the attributes that are read of classes themselves.
    made_by : set of type
        The classes with methods that make objects of the class of theirs.
    given_to : dict
        The name of a method → the most arguments that code calls it with.
    written : set of str
        The names of the attributes that code writes.
    """

    def __init__(self) -> None:
        self.asks = False
        self.mentioned: set[str] = set()
        self.kinds: dict[type, bool] = {}
        self.given: list[Any] = []
        self.by_class: set[str] = set()
        self.made_by: set[type] = set()
        self.given_to: dict[str, float] = {}
        self.written: set[str] = set()
        self._seen: set[tuple[int, str]] = set()

    def enter(self, kind: type, is_called: bool) -> None:
        """Record a class, and whether it is called."""
        self.kinds[kind] = self.kinds.get(kind, False) or is_called

    def hold(self, x: Any) -> None:
        """Record an outer object."""
        if not any(x is known for known in self.given):
            self.given.append(x)
            self.enter(type(x), False)

    def note_call(self, name: str, given: float) -> None:
        """Record a call of a method with at most `given` arguments."""
        self.given_to[name] = max(self.given_to.get(name, -1.0), given)

    def most_given(self) -> float:
        """Return the most arguments of a method call that may call what an attribute holds."""
        calls = self.given_to.items()
        return max((n for name, n in calls if not self._is_method(name)), default=-1.0)

    def _is_method(self, name: str) -> bool:
        """Whether the user's methods are all that objects have under a name."""
        if name in self.written or name in _HOLDING or any(name in held_by(x) for x in self.given):
            return False
        bases = [vars(base) for kind in self.kinds for base in _bases_of(kind)]
        found = [attributes[name] for attributes in bases if name in attributes]
        return bool(found) and all(
            type(x) is types.FunctionType and not is_library(x) for x in found
        )

    def unproved(self) -> Iterator[tuple[Any, type | None, str]]:
        """Yield the attributes of classes and objects that code mentions, each only once.

        With each come the class if it is a method, and a label.
        """
        for kind in list(self.kinds):
            is_called = self.kinds[kind] or not self.made_by.isdisjoint(kind.__mro__)
            for base in _bases_of(kind):
                for name, value in _own_attributes(base):
                    if not self._is_read(name, value, is_called) or not self._is_new(base, name):
                        continue
                    if not _is_generated(base, value):
                        yield from _code_in(value, base, f"{base.__name__}.{name}")
                    elif name == "__init__":
                        yield from self._fields_of(base)
        for x in list(self.given):
            for name, value in held_by(x).items():
                if self._is_mentioned(name) and self._is_new(x, name):
                    yield value, None, f"{type(x).__name__}.{name}"

    def _fields_of(self, kind: type) -> Iterator[tuple[Any, None, str]]:
        """Record that a dataclass assigns its fields; yield their defaults and factories."""
        for name, field in vars(kind)["__dataclass_fields__"].items():
            self.mentioned.add(name)
            self.written.add(name)
            for value in (field.default, field.default_factory):
                if type(value).__name__ != "_MISSING_TYPE":
                    yield value, None, f"{kind.__name__}.{name}"

    def _is_read(self, name: str, value: Any, is_called: bool) -> bool:
        """Whether anything may read a class attribute."""
        if name in _MAKING:
            return is_called
        if name in _SHOWN:
            return False
        return is_special(name, value) or self._is_mentioned(name)

    def _is_mentioned(self, name: str) -> bool:
        """Whether code may read an attribute; NumPy functions call the method of the same name."""
        return name in self.mentioned or (hasattr(np.ndarray, name) and not name.startswith("__"))

    def _is_new(self, owner: Any, name: str) -> bool:
        """Whether an attribute was not yielded before."""
        key = id(owner), name
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def doubt(self) -> Exception | None:
        """Return the doubt about classes and attributes, or None."""
        if self.kinds and self.asks:
            return Impurity("the class, the text or the attributes of a value are asked for")
        for kind in self.kinds:
            for name in self.by_class:
                if type(in_class(kind, name)) is types.FunctionType:
                    return Impurity(f"{kind.__name__}.{name} may be called without an object")
        return None


def _code_in(value: Any, kind: type, label: str) -> Iterator[tuple[Any, type | None, str]]:
    """Yield the functions behind a class attribute, or its value."""
    if isinstance(value, property):
        for g in (value.fget, value.fset, value.fdel):
            if g is not None:
                yield g, kind, label
    elif isinstance(value, staticmethod):
        yield value.__func__, None, label
    elif isinstance(value, classmethod):
        yield value, kind, label
    else:
        yield value, kind if type(value) is types.FunctionType else None, label
