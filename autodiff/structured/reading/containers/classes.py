"""Reading attributes of the user's classes: methods, properties, constants and ``super()``.

Each lookup in a class becomes a guard, which is checked at each call.
"""

from __future__ import annotations

import abc
import ast
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.intercept.source.library_code import is_of_library
from autodiff.structured.form.function_ir import InstanceValue, RecordValue, Value
from autodiff.structured.form.kinds import UNKNOWN, UnsupportedError
from autodiff.structured.form.plain_classes import is_constructible
from autodiff.structured.reading.builder import ProgramBuilder
from autodiff.structured.reading.libraries.python_decompositions import object_init
from autodiff.structured.reading.scopes import (
    OBJECTS,
    BasesLookup,
    ClassLookup,
    LocalObject,
    Method,
    OutsideObject,
    OwnAttributeLookup,
    SuperProxy,
    WeakLookup,
)


class ClassReader(ProgramBuilder):
    """Layer of the reader: attributes of classes."""

    # Methods that subclasses define.
    inline: Callable[[Any, list[Any], dict[str, Any]], Any]

    def _bound_attribute(self, owner: Any, found: Any, name: str) -> Any:
        """Bind an attribute of the class of an object to the object, as Python does."""
        if type(found) is types.FunctionType:
            return Method(found, owner)
        return self._unbound_attribute(class_of(owner), found, name)

    def _unbound_attribute(self, cls: type, found: Any, name: str) -> Any:
        """Return a class attribute that does not depend on the object."""
        if type(found) is staticmethod:
            return self.const(found.__func__)
        if type(found) is classmethod and type(found.__func__) is types.FunctionType:
            return Method(found.__func__, self.const(cls))
        if found is UNKNOWN or hasattr(type(found), "__get__"):
            raise UnsupportedError(f"attribute {name}")
        return self.const(found)

    def attribute_of_class(self, cls: type, name: str) -> Any:
        """Read an attribute of one of the user's classes."""
        if is_data_descriptor(vars(type).get(name)):
            raise UnsupportedError(f"attribute {name}")
        found = self.of_class(cls, name)
        if type(found) is types.FunctionType:
            return self.const(found)
        return self._unbound_attribute(cls, found, name)

    def above(self, node: ast.Call) -> SuperProxy:
        """Read ``super()`` in a method."""
        if node.args or node.keywords or not _is_super(node.func):
            raise UnsupportedError("super() with arguments, or by another name")
        code = self.scope.function.__code__
        if self.scope.parent is not None or _has_super_inside(self.calling[-1]):
            raise UnsupportedError("super() in an inner function")
        if "__class__" not in code.co_freevars or not code.co_argcount:
            raise UnsupportedError("super() outside of a class")
        cls, owner = self.look_up("__class__"), self.read_in(self.scope, code.co_varnames[0])
        bases = class_of(owner).__mro__ if is_object(owner) else ()
        if cls not in bases:
            raise UnsupportedError("super() without an object of this class")
        self.guarded_class(owner)
        return SuperProxy(owner, bases[bases.index(cls) + 1 : -1])

    def guarded_class(self, owner: Any) -> type:
        """Return the class of an object, and guard that it stays, with its bases."""
        cls = class_of(owner)
        if type(owner) is OutsideObject:
            self.guard_lookup(ClassLookup, owner.x, "", cls)
        self.guard_lookup(BasesLookup, cls, "", cls.__mro__)
        return cls

    def super_attribute(self, owner: SuperProxy, name: str) -> Any:
        """Read an attribute of ``super()``."""
        if type(owner.owner) is LocalObject:
            check_not_moved(owner.owner)
        found = self.first_attribute(owner.classes, name)

        def own() -> Any:
            if name == "__init__" and found is UNKNOWN:
                return Method(object_init, owner.owner)  # type: ignore[arg-type] # it is a function
            return UNKNOWN

        return self.resolved(owner.owner, found, name, own)

    def resolved(self, owner: Any, found: Any, name: str, own: Callable[[], Any]) -> Any:
        """Read an attribute in Python's order: property, own attribute, class attribute.

        Parameters
        ----------
        owner : Any
            The object.
        found : Any
            The attribute of its class, or `UNKNOWN`.
        name : str
            The name.
        own : callable
            Reads the attribute of the object itself; returns `UNKNOWN` if it has none.
        """
        if type(found) is property:
            return self.inline(found.fget, [owner], {})
        if is_data_descriptor(found):
            raise UnsupportedError(f"attribute {name}, which its class controls")
        x = own()
        return self._bound_attribute(owner, found, name) if x is UNKNOWN else x

    def of_class(self, cls: type, name: str) -> Any:
        """Look up a class attribute, or `UNKNOWN` if there is none, and guard the lookup.

        What `object` has does not count, nor does what named tuples have from `tuple`.
        """
        if issubclass(cls, tuple):
            return self.first_attribute(cls.__mro__[:-2], name)
        self.guard_lookup(BasesLookup, cls, "", cls.__mro__)
        found = self.first_attribute(cls.__mro__[:-1], name)
        return UNKNOWN if is_slot_descriptor(found, cls, name) else found

    def first_attribute(self, classes: tuple[type, ...], name: str) -> Any:
        """Look up a name in classes, in order; `UNKNOWN` if none has it. Guard each lookup."""
        if name.startswith("__") and not name.endswith("__"):
            raise UnsupportedError("an attribute with a private name (two underscores)")
        for base in classes:
            found = vars(base).get(name, UNKNOWN)
            self.guard_lookup(OwnAttributeLookup, base, name, found)
            if found is not UNKNOWN:
                return found
        return UNKNOWN

    def guard_lookup(self, kind: type[WeakLookup], owner: Any, name: str, found: Any) -> None:
        """Guard what was looked up in an object or class, once."""
        key = kind, id(owner), name  # both outlive the reading, so the id is unique
        if type(found) is np.ndarray or key not in self.watched:
            self.watched.add(key)
            self.guards.append((kind(owner), name, found))

    def property_setter(self, owner: Any, name: str) -> types.FunctionType | None:
        """Return the setter of an attribute if that is a property, else None."""
        if type(owner) not in (LocalObject, Value) or not is_object(owner):
            return None
        found = self.of_class(class_of(owner), name)
        if type(found) is not property or is_frozen(class_of(owner)):
            return None
        return found.fset if type(found.fset) is types.FunctionType else None


def is_object(x: Any) -> bool:
    """Whether this is an object of one of the user's classes."""
    if type(x) is Value:
        return x.kind.is_object and not issubclass(class_of(x), tuple)
    return type(x) in OBJECTS or isinstance(x, InstanceValue)


def may_have_operators(x: Any) -> bool:
    """Whether this is an object or a named tuple, whose class may define operators."""
    return is_object(x) or isinstance(x, RecordValue)


def is_class(x: Any) -> bool:
    """Whether this is one of the user's classes, with ordinary attribute access."""
    return isinstance(x, type) and is_constructible(x)


def is_frozen(cls: type) -> bool:
    """Whether a class is a frozen dataclass."""
    params = getattr(cls, "__dataclass_params__", None)
    return params is not None and params.frozen


def class_of(x: Any) -> type:
    """Return the class of an object."""
    if type(x) is Value:
        return x.kind.owner()  # type: ignore[misc, return-value] # the function refers to it
    return x.user_class() if isinstance(x, RecordValue) else x.cls


def check_not_moved(x: LocalObject) -> None:
    """Raise if ``__init__`` let out a reference to an object that is in memory by now."""
    if x.scope.is_in_memory:
        raise UnsupportedError("an object that __init__ passes on before it returns")


def is_slot_descriptor(x: Any, cls: type, name: str) -> bool:
    """Whether a class attribute is the descriptor of a slot of this name."""
    is_named = type(x) is types.MemberDescriptorType and x.__name__ == name
    return is_named and x.__objclass__ in cls.__mro__


def _has_super_inside(function: ast.AST) -> bool:
    """Whether ``super()`` occurs in a comprehension, which has no ``self`` of its own."""
    comprehensions = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    inside = (p for c in ast.walk(function) if isinstance(c, comprehensions) for p in ast.walk(c))
    return any(map(_is_super, inside))


def _is_super(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "super"


def is_data_descriptor(x: Any) -> bool:
    """Whether a class attribute takes precedence over those of its objects."""
    return hasattr(type(x), "__set__") or hasattr(type(x), "__delete__")


def is_asked_by_class(asked: Any) -> bool:
    """Whether ``isinstance(x, asked)`` depends on the class of `x` alone, at all calls.

    A metaclass may answer otherwise, and other classes may be registered with an abstract one.
    """
    if isinstance(asked, tuple):
        return all(map(is_asked_by_class, asked))
    if isinstance(asked, types.UnionType):
        return is_asked_by_class(asked.__args__)
    if not isinstance(asked, type):
        return False
    answer: Any = type(asked).__instancecheck__
    is_abstract = answer is abc.ABCMeta.__instancecheck__
    return answer is type.__instancecheck__ or (is_abstract and is_of_library(asked))
