"""Reading objects of the user's classes: the attributes of one that a function makes are variables.

Such an object is an instance of a plain class, which decides nothing about attributes by itself,
and nobody else sees it: it has names, and its attributes and methods are used. Of an object from
outside, attributes are read and methods called.
"""

from __future__ import annotations

import ast
import dataclasses
import types
from typing import Any

import numpy as np

from autodiff.intercept.source.find_source import definition_of
from autodiff.structured.form.ir import Value
from autodiff.structured.form.kinds import UNKNOWN, UnsupportedError
from autodiff.structured.reading.building import Builder
from autodiff.structured.reading.scopes import (
    LocalObject,
    Method,
    OutsideObject,
    OwnAttributes,
    Scope,
    is_plain_class,
)


class Objects(Builder):
    """Reads objects and their attributes."""

    def inline(self, function: Any, args: list[Any], names: dict[str, Any]) -> Any:
        """Read a function in the place of its call."""
        raise NotImplementedError

    def read_outside(self, name: str) -> Any:
        """Return what a name from outside stands for."""
        return self._from_outside(self.outside(name))

    def _from_outside(self, found: Any) -> Any:
        if type(found) is np.ndarray:
            return self.captured(found)
        return OutsideObject(found) if is_plain_class(type(found)) else self.const(found)

    # -- attributes --------------------------------------------------------------------------------

    def attribute(self, owner: LocalObject | OutsideObject, name: str) -> Any:
        """Read an attribute of an object; a method belongs to it."""
        found = self._of_class(owner.cls, name)
        if type(found) is property:
            return self.inline(found.fget, [owner], {})
        if hasattr(type(found), "__set__"):
            raise UnsupportedError(f"attribute {name}, which its class decides about")
        if isinstance(owner, LocalObject):
            scope = owner.scope
            if name in scope.slots or name in scope.forms or name in scope.functions:
                return self.read_in(scope, name)
        else:
            value = vars(owner.x).get(name, UNKNOWN)
            self.guards.append((OwnAttributes(owner.x), name, value))
            if value is not UNKNOWN:
                return self._from_outside(value)
        if found is UNKNOWN:
            raise UnsupportedError(f"attribute {name}")
        if type(found) is types.FunctionType:
            return Method(found, owner)
        return self.const(found.__func__ if type(found) is staticmethod else found)

    def _of_class(self, cls: type, name: str) -> Any:
        """Return what a class has under a name, or `UNKNOWN`; it is compared at each call."""
        if name.startswith("__") and not name.endswith("__"):
            raise UnsupportedError("an attribute whose name depends on the class")
        for base in cls.__mro__[:-1]:
            found = vars(base).get(name, UNKNOWN)
            self.guards.append((OwnAttributes(base), name, found))
            if found is not UNKNOWN:
                return found
        return UNKNOWN

    def set_attribute(self, target: ast.Attribute, owner: Any, value: Any) -> None:
        """Bind an attribute of an object that the function has made."""
        if type(owner) is not LocalObject:
            raise UnsupportedError("assignment to an attribute of what is from outside")
        found = self._of_class(owner.cls, target.attr)
        frozen = dataclasses.is_dataclass(owner.cls) and owner.cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
        if frozen or hasattr(type(found), "__set__"):
            raise UnsupportedError(f"attribute {target.attr}, which its class decides about")
        self._bind_attribute(owner, target.attr, value)

    def _bind_attribute(self, owner: LocalObject, name: str, value: Any) -> None:
        caller, self.scope = self.scope, owner.scope
        try:
            self.bind(name, value)
        finally:
            self.scope = caller

    # -- new objects -------------------------------------------------------------------------------

    def new_object(self, cls: type, args: list[Any], named: dict[str, Any]) -> LocalObject:
        """Read a call of a class."""
        if self.depth != self.scope.blocks:
            raise UnsupportedError("an object that is made in a branch or loop")
        function = self.scope.function
        owner = LocalObject(cls, Scope(function, self.scope.depth, blocks=self.depth))
        init = self._of_class(cls, "__init__")
        if type(init) is types.FunctionType and definition_of(init) is not None:
            made = self.inline(init, [owner, *args], named)
            if type(made) is not Value or made.kind.value is not None:
                raise UnsupportedError("__init__ that returns something")
        elif dataclasses.is_dataclass(cls):
            self._fill_fields(owner, args, named)
        elif init is not UNKNOWN or args or named:
            raise UnsupportedError(f"a new {cls.__name__}")
        return owner

    def _fill_fields(self, owner: LocalObject, args: list[Any], named: dict[str, Any]) -> None:
        """Bind the fields of a dataclass as the method that it has been given does."""
        fields = [f for f in dataclasses.fields(owner.cls) if f.init]
        every = owner.cls.__dataclass_fields__.values()  # type: ignore[attr-defined] # it has them
        of_init = [f for f in every if f._field_type is _INIT]
        by_place = [f.name for f in fields if not f.kw_only]
        if of_init or len(args) > len(by_place):
            raise UnsupportedError("this dataclass")
        given = dict(zip(by_place, args, strict=False))
        if named.keys() & given.keys() or named.keys() - {f.name for f in fields}:
            raise UnsupportedError("a call that fails")
        given |= named
        for f in fields:
            if f.name not in given:
                if f.default is dataclasses.MISSING:
                    raise UnsupportedError("a field with a factory, or without a value")
                given[f.name] = self.const(f.default)
            self._bind_attribute(owner, f.name, given[f.name])
        after = self._of_class(owner.cls, "__post_init__")
        if after is not UNKNOWN:
            self.inline(after, [owner], {})


_INIT = dataclasses._FIELD_INITVAR  # type: ignore[attr-defined] # the mark of `InitVar`
