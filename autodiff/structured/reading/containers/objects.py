"""Reading objects of the user's classes: the attributes of one that a function makes are variables.

Such an object is an instance of a plain class, which decides nothing about attributes by itself,
and nobody else sees it: it has names, and its attributes and methods are used. Of an object from
outside, attributes are read and methods called.
"""

from __future__ import annotations

import ast
import dataclasses
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.intercept.source.find_source import definition_of
from autodiff.intercept.source.library_code import is_library
from autodiff.structured.form.ir import Instance, Items, Named, Record, Value, parts_of
from autodiff.structured.form.kinds import (
    UNKNOWN,
    BindsAttributeError,
    InMemoryError,
    MadeInLoopError,
    UnsupportedError,
)
from autodiff.structured.reading.building import is_constant
from autodiff.structured.reading.containers.classes import (
    check_place,
    class_of,
    decides_alone,
    is_object,
    is_slot,
)
from autodiff.structured.reading.containers.special_methods import SpecialMethods
from autodiff.structured.reading.scopes import (
    Above,
    Attributes,
    ClassOf,
    Contents,
    LocalObject,
    Method,
    OutsideObject,
    OwnAttributes,
    Scope,
    is_plain_class,
    record_class,
)
from autodiff.structured.whole_lists import whole_list


class Objects(SpecialMethods):
    """Reads objects and their attributes."""

    def list_of(self, items: list[Value], times: Value | None = None) -> Value:
        """Read a list that is displayed."""
        raise NotImplementedError

    def read_outside(self, name: str) -> Any:
        """Return what a name from outside stands for."""
        return self.from_outside(self.outside(name))

    def from_outside(self, found: Any) -> Any:
        """Return what was found outside, where it is looked up at each call.

        So is what a list, tuple or dict has in it.
        """
        if type(found) is np.ndarray:
            return self.captured(found)
        if is_plain_class(type(found)):
            return self.outside_object(found)
        cls = type(found)
        if cls in (list, dict):
            self.outside_lists.append(found)
        if cls in (list, tuple) and len(found) > _MOST_VARIABLES:
            whole = whole_list(found)
            if whole is not None and not whole.variables and not whole.tapes:
                self.outside_lists += whole.own
                return self.captured(whole)
        if not (cls in (list, dict) or (isinstance(found, tuple) and not is_constant(found))):
            return self.const(found)
        record = record_class(cls)
        if len(found) > _MOST_PARTS or not (cls in (list, dict, tuple) or record):
            raise UnsupportedError(f"a value of class {cls.__name__} from outside")
        is_of_constants = cls is list and all(map(is_constant, found))
        contents = Contents(found, list(found) if is_of_constants else None)
        self.guards.append((contents, None, True))
        parts = {key: self._part_from_outside(contents, key) for key in contents.places}
        if cls is dict:
            named = Named(parts)
            named.is_given = True
            return named
        if record is not None:
            return record(parts.values())
        made = Items(parts.values()) if cls is list else tuple(parts.values())
        if type(made) is Items:
            made.has_name = made.is_given = True
        return made

    def _part_from_outside(self, contents: Contents, key: Any) -> Any:
        found = contents.get(key)
        if contents.constants is None:
            self.guards.append((contents, key, found))
        return self.from_outside(found)

    def outside_object(self, x: Any) -> OutsideObject:
        """Return an object from outside, and note it."""
        self.outside_objects.append(weakref.ref(x))
        return OutsideObject(x)

    # -- attributes --------------------------------------------------------------------------------

    def attribute(self, owner: LocalObject | OutsideObject | Above, name: str) -> Any:
        """Read an attribute of an object; a method belongs to it."""
        if isinstance(owner, Above):
            return self.attribute_above(owner, name)
        found = self.of_class(owner.cls, name)
        if type(found) is property:
            return self.inline(found.fget, [owner], {})
        if decides_alone(found):
            raise UnsupportedError(f"attribute {name}, which its class decides about")
        if isinstance(owner, LocalObject):
            check_place(owner)
            if _has(owner.scope, name):
                return self.read_in(owner.scope, name)
            owner.of_class.add(name)
        else:
            value = vars(owner.x).get(name, UNKNOWN)
            self.watch(ClassOf, owner.x, "", owner.cls)
            self.watch(OwnAttributes, owner.x, name, value)
            if value is not UNKNOWN:
                return self.from_outside(value)
        return self.bound_to(owner, found, name)

    def of_record(self, owner: Record, name: str) -> Any:
        """Read an attribute of a named tuple: a field, or what its class has."""
        cls: Any = owner.user_class()
        if isinstance(owner, Instance):
            return self._of_instance(owner, cls, name)
        if name in cls._fields:
            return owner[cls._fields.index(name)]
        found = self._of_record_class(cls, name)
        if type(found) is property:
            return self.inline(found.fget, [owner], {})
        if type(found) is types.FunctionType and not is_library(found):
            return Method(found, owner)
        raise UnsupportedError(f"attribute {name} of a named tuple")

    def _of_instance(self, owner: Instance, cls: type, name: str) -> Any:
        """Read an attribute of an object that nobody changes."""
        found = self.of_class(cls, name)
        if type(found) is property:
            return self.inline(found.fget, [owner], {})
        if decides_alone(found):
            raise UnsupportedError(f"attribute {name}, which its class decides about")
        if name in owner.names:
            return owner[owner.names.index(name)]
        return self.bound_to(owner, found, name)

    def _of_record_class(self, cls: type, name: str) -> Any:
        """Return what the class of a named tuple has under a name, but for those of tuples."""
        return self.of_first(cls.__mro__[:-2], name)

    def new_record(
        self, record: type[Record], args: list[Any], named: dict[str, Any]
    ) -> Record:  # fmt: skip
        """Read a call of the class of a named tuple."""
        cls = record.user_class()
        self._of_record_class(cls, "__new__")
        return record(_arguments(cls.__new__, args, named, self.const).values())

    def replaced(self, x: Record, named: dict[str, Any]) -> Record:
        """Read ``x._replace(name=value)``."""
        fields = x.user_class()._fields
        if not named.keys() <= set(fields):
            raise UnsupportedError("a call that fails")
        return type(x)([named.get(name, part) for name, part in zip(fields, x, strict=True)])

    def set_attribute(self, target: ast.Attribute, owner: Any, value: Any) -> None:
        """Bind an attribute of an object that the function has made, or is given."""
        setter = self.setter_of(owner, target.attr)
        if setter is not None:
            self.inline(setter, [owner, value], {})
            return
        found = self.check_set(owner, target.attr)
        if type(owner) is Value:
            self.set_in_memory(owner, target.attr, value)
            return
        hides = found is not UNKNOWN and not _has(owner.scope, target.attr)
        if hides and self.depth != owner.scope.blocks:
            # Where the branch or turn has not run, the object has what its class has.
            was_read = target.attr in owner.of_class
            if was_read or type(value) is not Value:
                raise UnsupportedError("an attribute that hides the one of the class at times")
        if owner.is_given and (owner, target.attr) not in self.bound_attributes:
            self.bound_attributes.append((owner, target.attr))
        self._bind_attribute(owner, target.attr, value)

    def set_in_memory(self, owner: Value, name: str, x: Any) -> None:
        """Bind an attribute of an object in memory."""
        raise NotImplementedError

    def check_set(self, owner: Any, name: str) -> Any:
        """Raise if an attribute may not be bound; return what the class has under this name."""
        cls: Any = class_of(owner) if is_object(owner) else None
        if isinstance(owner, Instance) and cls not in self.in_memory:
            raise InMemoryError(cls)
        if type(owner) not in (LocalObject, Value) or cls is None:
            raise BindsAttributeError("assignment to an attribute of what is from outside")
        if type(owner) is LocalObject:
            check_place(owner)
        found = self.of_class(cls, name)
        if not cls.__dictoffset__ and not is_slot(getattr(cls, name, None), cls, name):
            raise UnsupportedError(f"attribute {name}, which its objects cannot have")
        params = getattr(cls, "__dataclass_params__", None)
        if (params is not None and params.frozen) or decides_alone(found):
            raise UnsupportedError(f"attribute {name}, which its class decides about")
        return found

    def _bind_attribute(self, owner: LocalObject, name: str, value: Any) -> None:
        caller, self.scope = self.scope, owner.scope
        try:
            self.bind(name, value)
        finally:
            self.scope = caller

    def instance(self, cls: type, args: list[Any], named: dict[str, Any]) -> Any:
        """Read a call of one of the user's classes."""
        record = record_class(cls)
        return (
            self.new_object(cls, args, named)
            if record is None
            else self.new_record(record, args, named)
        )

    # -- new objects -------------------------------------------------------------------------------

    def new_object(self, cls: type, args: list[Any], named: dict[str, Any]) -> Any:
        """Read a call of a class."""
        if self.depth != self.scope.blocks and cls not in self.of_values | self.in_memory:
            raise MadeInLoopError(cls)
        function = self.scope.function
        owner = LocalObject(cls, Scope(function, self.scope.depth, blocks=self.depth))
        init = self.of_class(cls, "__init__")
        if type(init) is types.FunctionType and _sets_fields(init, cls):
            self._fill_fields(owner, init, args, named)
        elif type(init) is types.FunctionType:
            made = self.inline(init, [owner, *args], named)
            if type(made) is not Value or made.kind.value is not None:
                raise UnsupportedError("__init__ that returns something")
        elif init is not UNKNOWN or args or named:
            raise UnsupportedError(f"a new {cls.__name__}")
        if cls in self.in_memory:
            return self.moved(owner)
        return self._values_of(owner) if cls in self.of_values else owner

    def moved(self, x: LocalObject) -> Value:
        """Return an object whose attributes are in memory, in the place of one that was made."""
        raise NotImplementedError

    def _values_of(self, x: LocalObject) -> Instance:
        """Return an object that nobody changes as the values of its attributes."""
        if x.scope.functions:
            raise InMemoryError(x.cls)
        names = own_attributes(x.scope)
        return _instances(x.cls, names)([self.read_in(x.scope, name) for name in names])

    def _fill_fields(
        self, owner: LocalObject, init: types.FunctionType, args: list, named: dict[str, Any]
    ) -> None:
        """Bind the fields of a dataclass as the method that it has been given does."""
        for part in ("__code__", "__defaults__", "__kwdefaults__"):
            self.guards.append((Attributes(init), part, getattr(init, part)))
        given = _arguments(init, args, named, lambda x: x if x is _BY_FACTORY else self.const(x))
        for f in _fields_of_init(owner.cls):
            is_made = given[f.name] is _BY_FACTORY
            x = self._by_factory(f.default_factory) if is_made else given[f.name]
            self._bind_attribute(owner, f.name, x)
        if _POST_INIT in init.__code__.co_names:
            after = self.attribute(owner, _POST_INIT)
            if type(after) is not Method:
                raise UnsupportedError(f"this {_POST_INIT}")
            self.inline(after.function, [owner], {})

    def _by_factory(self, factory: Any) -> Any:
        return self.list_of([]) if factory is list else self.called(factory, [], {})


_known: weakref.WeakKeyDictionary[type, dict[tuple, type[Instance]]]
_known = caches.register("instances in programs", weakref.WeakKeyDictionary())


def _instances(cls: type, names: tuple[str, ...]) -> type[Instance]:
    """Return the class of objects of a class with these attributes."""
    made = _known.setdefault(cls, {})
    if names not in made:
        own = {"user_class": staticmethod(weakref.ref(cls)), "names": names}
        made[names] = type(cls.__name__, (Instance,), own)
    return made[names]


def own_attributes(scope: Scope) -> tuple[str, ...]:
    """Return the names of the attributes that an object has."""
    parts = {part for form in scope.forms.values() for part in parts_of(form)}
    return tuple(sorted({*scope.slots, *scope.forms, *scope.functions} - parts))


_POST_INIT = "__post_init__"
_BY_FACTORY = dataclasses._HAS_DEFAULT_FACTORY  # type: ignore[attr-defined] # the default of such fields
_MOST_VARIABLES = 50  # of lists of numbers that have one for each
_MOST_PARTS = 1024  # of lists, tuples and dicts from outside


def _arguments(
    function: Any, args: list, named: dict[str, Any], const: Callable[[Any], Any]
) -> dict[str, Any]:  # fmt: skip
    """Return what the parameters of a function are given, but for the first one."""
    code, defaults = function.__code__, function.__defaults__ or ()
    by_place = code.co_varnames[1 : code.co_argcount]
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    if len(args) > len(by_place):
        raise UnsupportedError("a call that fails")
    given = dict(zip(by_place, args, strict=False))
    if named.keys() & given.keys() or not named.keys() <= set(names):
        raise UnsupportedError("a call that fails")
    given |= named
    last = by_place[len(by_place) - len(defaults) :]
    for name, x in (*zip(last, defaults, strict=True), *(function.__kwdefaults__ or {}).items()):
        if name not in given:
            given[name] = const(x)
    if given.keys() != set(names):
        raise UnsupportedError("a call that fails")
    return {name: given[name] for name in names}


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
    if any(f.default_factory is not dataclasses.MISSING and not f.init for f in fields):
        return False
    alike = dataclasses.make_dataclass(
        "Alike",
        [(f.name, object, _alike(f)) for f in fields],
        namespace={_POST_INIT: None} if _POST_INIT in init.__code__.co_names else {},
        frozen=cls.__dataclass_params__.frozen,  # type: ignore[attr-defined] # it has some
    )
    return _meaning(init.__code__) == _meaning(alike.__init__.__code__)  # type: ignore[misc] # its own


def _alike(f: dataclasses.Field) -> Any:
    default: dict[str, Any] = {"default": f.default}
    if f.default_factory is not dataclasses.MISSING:
        default = {"default_factory": f.default_factory}
    return dataclasses.field(**default, init=f.init, kw_only=f.kw_only)


def _meaning(code: types.CodeType) -> tuple:
    """Return what a function does, without its own name and place."""
    parameters = code.co_argcount, code.co_kwonlyargcount, code.co_flags
    names = code.co_names, code.co_varnames, code.co_freevars
    return code.co_code, code.co_consts, names, parameters
