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
    Attributes,
    BasesOf,
    ClassOf,
    LocalObject,
    Method,
    OutsideObject,
    OwnAttributes,
    Scope,
    Watched,
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
        if _decides_alone(found):
            raise UnsupportedError(f"attribute {name}, which its class decides about")
        if isinstance(owner, LocalObject):
            if _has(owner.scope, name):
                return self.read_in(owner.scope, name)
            owner.of_class.add(name)
        else:
            value = vars(owner.x).get(name, UNKNOWN)
            self._watch(ClassOf, owner.x, "", owner.cls)
            self._watch(OwnAttributes, owner.x, name, value)
            if value is not UNKNOWN:
                return self._from_outside(value)
        return self._bound_to(owner, found, name)

    def method(self, owner: LocalObject | OutsideObject, name: str) -> Any:
        """Read a method that Python itself calls: it is looked up in the class alone."""
        return self._bound_to(owner, self._of_class(owner.cls, name), name)

    def _bound_to(self, owner: LocalObject | OutsideObject, found: Any, name: str) -> Any:
        if type(found) is types.FunctionType:
            return Method(found, owner)
        if type(found) is staticmethod:
            return self.const(found.__func__)
        if found is UNKNOWN or hasattr(type(found), "__get__"):
            raise UnsupportedError(f"attribute {name}")
        return self.const(found)

    def _of_class(self, cls: type, name: str) -> Any:
        """Return what a class has under a name, or `UNKNOWN`; it is compared at each call."""
        if name.startswith("__") and not name.endswith("__"):
            raise UnsupportedError("an attribute whose name depends on the class")
        self._watch(BasesOf, cls, "", cls.__mro__)
        for base in cls.__mro__[:-1]:
            found = vars(base).get(name, UNKNOWN)
            self._watch(OwnAttributes, base, name, found)
            if found is not UNKNOWN:
                return found
        return UNKNOWN

    def _watch(self, kind: type[Watched], owner: Any, name: str, found: Any) -> None:
        """Note once what was looked up of an object or class: it is compared at each call."""
        key = kind, id(owner), name  # both are alive while the function is read
        if type(found) is np.ndarray or key not in self.watched:
            self.watched.add(key)
            self.guards.append((kind(owner), name, found))

    def set_attribute(self, target: ast.Attribute, owner: Any, value: Any) -> None:
        """Bind an attribute of an object that the function has made."""
        found = self.check_set(owner, target.attr)
        hides = found is not UNKNOWN and not _has(owner.scope, target.attr)
        if hides and self.depth != owner.scope.blocks:
            # Where the branch or turn has not run, the object has what its class has.
            was_read = target.attr in owner.of_class
            if was_read or type(value) is not Value:
                raise UnsupportedError("an attribute that hides the one of the class at times")
        self._bind_attribute(owner, target.attr, value)

    def check_set(self, owner: Any, name: str) -> Any:
        """Raise if an attribute may not be bound; return what the class has under this name."""
        if type(owner) is not LocalObject or owner.is_given:
            raise UnsupportedError("assignment to an attribute of what is from outside")
        found = self._of_class(owner.cls, name)
        frozen = dataclasses.is_dataclass(owner.cls) and owner.cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
        if frozen or _decides_alone(found):
            raise UnsupportedError(f"attribute {name}, which its class decides about")
        return found

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
        if type(init) is types.FunctionType and _sets_fields(init, cls):
            self._fill_fields(owner, init, args, named)
        elif type(init) is types.FunctionType:
            made = self.inline(init, [owner, *args], named)
            if type(made) is not Value or made.kind.value is not None:
                raise UnsupportedError("__init__ that returns something")
        elif init is not UNKNOWN or args or named:
            raise UnsupportedError(f"a new {cls.__name__}")
        return owner

    def _fill_fields(
        self, owner: LocalObject, init: types.FunctionType, args: list, named: dict[str, Any]
    ) -> None:
        """Bind the fields of a dataclass as the method that it has been given does."""
        for part in ("__code__", "__defaults__", "__kwdefaults__"):
            self.guards.append((Attributes(init), part, getattr(init, part)))
        code, defaults = init.__code__, init.__defaults__ or ()
        by_place = code.co_varnames[1 : code.co_argcount]
        names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
        if len(args) > len(by_place):
            raise UnsupportedError("a call that fails")
        given = dict(zip(by_place, args, strict=False))
        if named.keys() & given.keys() or not named.keys() <= set(names):
            raise UnsupportedError("a call that fails")
        given |= named
        last = by_place[len(by_place) - len(defaults) :]
        for name, x in (*zip(last, defaults, strict=True), *(init.__kwdefaults__ or {}).items()):
            if name not in given:
                given[name] = self.const(x)
        if given.keys() != set(names):
            raise UnsupportedError("a call that fails")
        for f in _fields_of_init(owner.cls):
            self._bind_attribute(owner, f.name, given[f.name])
        if _POST_INIT in code.co_names:
            after = self.attribute(owner, _POST_INIT)
            if type(after) is not Method:
                raise UnsupportedError(f"this {_POST_INIT}")
            self.inline(after.function, [owner], {})


_POST_INIT = "__post_init__"


def _decides_alone(x: Any) -> bool:
    """Whether what a class has under a name goes before what its objects have."""
    return hasattr(type(x), "__set__") or hasattr(type(x), "__delete__")


def _has(scope: Scope, name: str) -> bool:
    """Whether an object has ever had an attribute of its own of this name."""
    return name in scope.slots or name in scope.forms or name in scope.functions


def _fields_of_init(cls: type) -> list[dataclasses.Field]:
    return [f for f in dataclasses.fields(cls) if f.init]


def _sets_fields(init: types.FunctionType, cls: type) -> bool:
    """Whether a method is what a dataclass of these fields is given, which binds nothing else.

    It has no source. So it is compared with that of another dataclass of the same fields.
    """
    if not dataclasses.is_dataclass(cls) or definition_of(init) is not None:
        return False
    fields = dataclasses.fields(cls)
    if any(f.default_factory is not dataclasses.MISSING for f in fields):
        return False
    alike = dataclasses.make_dataclass(
        "Alike",
        [(f.name, object, _alike(f)) for f in fields],
        namespace={_POST_INIT: None} if _POST_INIT in init.__code__.co_names else {},
        frozen=cls.__dataclass_params__.frozen,  # type: ignore[attr-defined] # it has some
    )
    return _meaning(init.__code__) == _meaning(alike.__init__.__code__)  # type: ignore[misc] # its own


def _alike(f: dataclasses.Field) -> Any:
    return dataclasses.field(default=f.default, init=f.init, kw_only=f.kw_only)


def _meaning(code: types.CodeType) -> tuple:
    """Return what a function does, without its own name and place."""
    parameters = code.co_argcount, code.co_kwonlyargcount, code.co_flags
    names = code.co_names, code.co_varnames, code.co_freevars
    return code.co_code, code.co_consts, names, parameters
