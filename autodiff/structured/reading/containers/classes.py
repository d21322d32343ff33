"""Reading what the user's classes have: methods, properties and constants, and ``super()``.

What is looked up in a class is compared at each call.
"""

from __future__ import annotations

import ast
import types
from typing import Any

import numpy as np

from autodiff.structured.form.ir import Instance, Record, Value
from autodiff.structured.form.kinds import UNKNOWN, UnsupportedError
from autodiff.structured.reading.building import Builder
from autodiff.structured.reading.libraries.python_functions import init_of_object
from autodiff.structured.reading.scopes import (
    OBJECTS,
    Above,
    BasesOf,
    ClassOf,
    LocalObject,
    Method,
    OutsideObject,
    OwnAttributes,
    Watched,
    may_be_made,
)


class Classes(Builder):
    """Reads what classes have."""

    def inline(self, function: Any, args: list[Any], names: dict[str, Any]) -> Any:
        """Read a function in the place of its call."""
        raise NotImplementedError

    def bound_to(self, owner: Any, found: Any, name: str) -> Any:
        """Return what an object gets of its class: a method belongs to it."""
        if type(found) is types.FunctionType:
            return Method(found, owner)
        return self._without_owner(class_of(owner), found, name)

    def _without_owner(self, cls: type, found: Any, name: str) -> Any:
        """Return what was found in a class, if no object is needed for it."""
        if type(found) is staticmethod:
            return self.const(found.__func__)
        if type(found) is classmethod and type(found.__func__) is types.FunctionType:
            return Method(found.__func__, self.const(cls))
        if found is UNKNOWN or hasattr(type(found), "__get__"):
            raise UnsupportedError(f"attribute {name}")
        return self.const(found)

    def of_class_itself(self, cls: type, name: str) -> Any:
        """Read an attribute of one of the user's classes."""
        if decides_alone(vars(type).get(name)):
            raise UnsupportedError(f"attribute {name}")
        found = self.of_class(cls, name)
        if type(found) is types.FunctionType:
            return self.const(found)
        return self._without_owner(cls, found, name)

    def above(self, node: ast.Call) -> Above:
        """Read ``super()``, in a method of an object."""
        if node.args or node.keywords or not _is_super(node.func):
            raise UnsupportedError("super() with arguments, or by another name")
        code = self.scope.function.__code__
        if self.scope.parent is not None or _has_super_inside(self.calling[-1]):
            raise UnsupportedError("super() in a function inside")
        if "__class__" not in code.co_freevars or not code.co_argcount:
            raise UnsupportedError("super() outside of a class")
        cls, owner = self.outside("__class__"), self.read_in(self.scope, code.co_varnames[0])
        bases = class_of(owner).__mro__ if is_object(owner) else ()
        if cls not in bases:
            raise UnsupportedError("super() of what is no object of this class")
        if type(owner) is OutsideObject:
            self.watch(ClassOf, owner.x, "", owner.cls)
        self.watch(BasesOf, class_of(owner), "", bases)
        return Above(owner, bases[bases.index(cls) + 1 : -1])

    def attribute_above(self, owner: Above, name: str) -> Any:
        """Read an attribute of ``super()``."""
        if type(owner.owner) is LocalObject:
            check_place(owner.owner)
        found = self.of_first(owner.classes, name)
        if type(found) is property:
            return self.inline(found.fget, [owner.owner], {})
        if decides_alone(found):
            raise UnsupportedError(f"attribute {name}, which its class decides about")
        if name == "__init__" and found is UNKNOWN:
            return Method(init_of_object, owner.owner)  # type: ignore[arg-type] # it is a function
        return self.bound_to(owner.owner, found, name)

    def of_class(self, cls: type, name: str) -> Any:
        """Return what a class has under a name, or `UNKNOWN`; it is compared at each call."""
        self.watch(BasesOf, cls, "", cls.__mro__)
        found = self.of_first(cls.__mro__[:-1], name)
        return UNKNOWN if is_slot(found, cls, name) else found

    def of_first(self, classes: tuple[type, ...], name: str) -> Any:
        """Return what the first of some classes that has it has under a name, or `UNKNOWN`."""
        if name.startswith("__") and not name.endswith("__"):
            raise UnsupportedError("an attribute whose name depends on the class")
        for base in classes:
            found = vars(base).get(name, UNKNOWN)
            self.watch(OwnAttributes, base, name, found)
            if found is not UNKNOWN:
                return found
        return UNKNOWN

    def watch(self, kind: type[Watched], owner: Any, name: str, found: Any) -> None:
        """Note once what was looked up of an object or class: it is compared at each call."""
        key = kind, id(owner), name  # both are alive while the function is read
        if type(found) is np.ndarray or key not in self.watched:
            self.watched.add(key)
            self.guards.append((kind(owner), name, found))

    def setter_of(self, owner: Any, name: str) -> types.FunctionType | None:
        """Return what a property calls when it is bound, if an attribute is one."""
        if type(owner) not in (LocalObject, Value) or not is_object(owner):
            return None
        params = getattr(class_of(owner), "__dataclass_params__", None)
        found = self.of_class(class_of(owner), name)
        if type(found) is not property or (params is not None and params.frozen):
            return None
        return found.fset if type(found.fset) is types.FunctionType else None


def is_object(x: Any) -> bool:
    """Whether it is an object of one of the user's classes."""
    if type(x) is Value:
        return x.kind.is_object and not issubclass(class_of(x), tuple)
    return type(x) in OBJECTS or isinstance(x, Instance)


def is_class(x: Any) -> bool:
    """Whether it is one of the user's classes, which decides nothing about attributes by itself."""
    return isinstance(x, type) and may_be_made(x)


def class_of(x: Any) -> type:
    """Return the class of an object."""
    if type(x) is Value:
        return x.kind.owner()  # type: ignore[misc, return-value] # the function that is read has it
    return x.user_class() if isinstance(x, Record) else x.cls


def check_place(x: LocalObject) -> None:
    """Raise if an object is used by what had it before its attributes were in memory."""
    if x.scope.has_moved:
        raise UnsupportedError("an object that somebody has before it is complete")


def is_slot(x: Any, cls: type, name: str) -> bool:
    """Whether what a class has under a name is the place of that attribute in its objects."""
    is_one = type(x) is types.MemberDescriptorType and x.__name__ == name
    return is_one and x.__objclass__ in cls.__mro__


def _has_super_inside(function: ast.AST) -> bool:
    """Whether ``super()`` is in a comprehension, whose first variable is another."""
    comprehensions = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    inside = (p for c in ast.walk(function) if isinstance(c, comprehensions) for p in ast.walk(c))
    return any(map(_is_super, inside))


def _is_super(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "super"


def decides_alone(x: Any) -> bool:
    """Whether what a class has under a name goes before what its objects have."""
    return hasattr(type(x), "__set__") or hasattr(type(x), "__delete__")
