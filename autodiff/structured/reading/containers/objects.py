"""Reading objects of the user's classes.

An object that the function creates has a variable for each attribute, as long as it does not
escape: only its attributes and methods are used. Its class must have ordinary attribute access. Of
an object from outside, attributes are read and methods called.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff import caches
from autodiff.intercept.source.find_source import definition_of
from autodiff.intercept.source.library_code import is_library
from autodiff.structured.argument_forms import RowForm, columns_of_rows
from autodiff.structured.form.function_ir import (
    InstanceValue,
    Items,
    Named,
    RecordValue,
    Value,
    parts_of,
)
from autodiff.structured.form.kinds import (
    UNKNOWN,
    BindsAttributeError,
    InMemoryError,
    MadeInLoopError,
    UnsupportedError,
)
from autodiff.structured.form.plain_classes import is_plain_class, record_class
from autodiff.structured.list_arguments import ListArgument, as_list_argument
from autodiff.structured.reading.builder import is_constant
from autodiff.structured.reading.containers.classes import (
    check_not_moved,
    class_of,
    is_data_descriptor,
    is_frozen,
    is_object,
    is_slot_descriptor,
)
from autodiff.structured.reading.containers.special_methods import SpecialMethodReader
from autodiff.structured.reading.scopes import (
    ArgumentRows,
    AttributeView,
    ClassLookup,
    ColumnLookup,
    ContentLookup,
    LocalObject,
    Method,
    OutsideObject,
    OwnAttributeLookup,
    Scope,
    SuperProxy,
)


class ObjectReader(SpecialMethodReader):
    """Layer of the reader: objects and their attributes."""

    # Methods that subclasses define.
    in_memory_at: Callable[[Named | Items, tuple[int, int]], Value]
    new_list: Callable[..., Value]
    set_in_memory: Callable[[Value, str, Any], None]
    moved: Callable[[LocalObject], Value]

    def read_free_name(self, name: str) -> Any:
        """Return the value of a name from outside."""
        return self.variable_from_outside(self.look_up(name))

    def variable_from_outside(self, found: Any) -> Any:
        """Convert what a variable holds, which the last guard compares.

        A number that differs from call to call is an argument.
        """
        varies = type(found) in (int, float) and self.guards[-1][1] in self.assumed.varying
        return self.capture(found) if varies else self.from_outside(found)

    def from_outside(self, found: Any) -> Any:
        """Convert an object from outside, whose lookup is guarded; guard its parts, too."""
        if type(found) is np.ndarray:
            return self.capture(found)
        if is_plain_class(type(found)):
            return self.outside_object(found)
        cls = type(found)
        if id(found) in self.constants_outside:  # looked at before, so its items have guards
            return self.constants_outside[id(found)]
        if cls in (list, dict):
            self.outside_lists.append(found)
        if cls in (list, tuple) and len(found) > _MOST_VARIABLES:
            whole = as_list_argument(found)
            if whole is not None and not whole.variables and not whole.tapes:
                self.outside_lists += whole.own
                return self.capture(whole)
            rows = columns_of_rows(found)
            is_large = len(found) > _MOST_PARTS  # copies of fewer objects may also be compared
            if rows is not None and (is_large or not is_plain_class(rows[1].cls)):
                return self._rows_from_outside(*rows)
        if not (cls in (list, dict) or (isinstance(found, tuple) and not is_constant(found))):
            return self.const(found)
        record = record_class(cls)
        if len(found) > _MOST_PARTS or not (cls in (list, dict, tuple) or record):
            raise UnsupportedError(f"a value of class {cls.__name__} from outside")
        items = list(found.values() if cls is dict else found)
        is_of_constants = cls in (list, dict) and all(map(is_constant, items))
        contents = ContentLookup(found, items if is_of_constants else None)
        self.guards.append((contents, None, True))
        parts = {key: self._part_from_outside(contents, key) for key in contents.places}
        values = tuple(parts.values())
        made: Any = record(values) if record is not None else values
        if cls in (list, dict):
            made = self._given(Named(parts) if cls is dict else Items(values), (0, id(found)))
        if self._is_of_constants(values):
            self.constants_outside[id(found)] = made
        return made

    def _rows_from_outside(
        self, depth: int, row: RowForm, columns: list[ListArgument]
    ) -> ArgumentRows:  # fmt: skip
        """Return a long list of rows from outside, as one further argument for each column."""
        if any(x.variables or x.tapes for x in columns):
            raise UnsupportedError("rows from outside that are traced")
        d, name, _ = self.guards.pop()
        key = id(d), name
        lookup = self.column_lookups.setdefault(key, ColumnLookup(d, name, depth, row))
        names = []
        for k, x in enumerate(columns):
            self.outside_lists += x.own
            self.guards.append((lookup, k, x))
            names.append(self.hold(self.capture(x)))
        return ArgumentRows(self.scope, tuple(names), depth, row)

    def _given(self, x: Named | Items, place: tuple[int, int]) -> Any:
        """Return a list or dict from outside; in memory if its place requires that."""
        x.has_name = x.is_given = True
        if place not in self.displayed_in_memory:
            x.places = frozenset([place])
            return x
        if not self._is_of_constants(x):
            return self.in_memory_at(x, place)
        return self.at_start(place, lambda: self.in_memory_at(x, place))

    def _is_of_constants(self, x: Any) -> bool:
        """Whether nested containers hold known values, and lists made at the start, alone."""
        if isinstance(x, (tuple, Named)):
            return all(map(self._is_of_constants, parts_of(x)))
        return type(x) is Value and (x.kind.is_known or x in self.made_first.values())

    def _part_from_outside(self, contents: ContentLookup, key: Any) -> Any:
        found = contents.get(key)
        if contents.constants is None:
            self.guards.append((contents, key, found))
        return self.from_outside(found)

    def outside_object(self, x: Any) -> OutsideObject:
        """Return an object from outside, and keep a weak reference to it."""
        self.outside_objects.append(weakref.ref(x))
        return OutsideObject(x)

    # -- attributes --------------------------------------------------------------------------------

    def attribute(self, owner: LocalObject | OutsideObject | SuperProxy, name: str) -> Any:
        """Read an attribute of an object; a method is bound to it."""
        if isinstance(owner, SuperProxy):
            return self.super_attribute(owner, name)

        def own() -> Any:
            if isinstance(owner, LocalObject):
                check_not_moved(owner)
                if _has_own(owner.scope, name):
                    return self.read_in(owner.scope, name)
                owner.of_class.add(name)
                return UNKNOWN
            value = vars(owner.x).get(name, UNKNOWN)
            self.guard_lookup(ClassLookup, owner.x, "", owner.cls)
            self.guard_lookup(OwnAttributeLookup, owner.x, name, value)
            return value if value is UNKNOWN else self.from_outside(value)

        return self.resolved(owner, self.of_class(owner.cls, name), name, own)

    def of_record(self, owner: RecordValue, name: str) -> Any:
        """Read an attribute of a named tuple: a field, a property or a method."""
        cls: Any = owner.user_class()
        if isinstance(owner, InstanceValue):
            return self._of_instance(owner, cls, name)
        if name in cls._fields:
            return owner[cls._fields.index(name)]
        found = self.of_class(cls, name)
        if type(found) is property:
            return self.inline(found.fget, [owner], {})
        if type(found) is types.FunctionType and not is_library(found):
            return Method(found, owner)
        raise UnsupportedError(f"attribute {name} of a named tuple")

    def _of_instance(self, owner: InstanceValue, cls: type, name: str) -> Any:
        """Read an attribute of an immutable object."""

        def own() -> Any:
            return owner[owner.names.index(name)] if name in owner.names else UNKNOWN

        return self.resolved(owner, self.of_class(cls, name), name, own)

    def _new_record(
        self, record: type[RecordValue], args: list[Any], named: dict[str, Any]
    ) -> RecordValue:  # fmt: skip
        """Read the construction of a named tuple."""
        cls = record.user_class()
        self.of_class(cls, "__new__")
        self.guard_code(cls.__new__)
        return record(_bound_arguments(cls.__new__, args, named, self.const).values())

    def replaced(self, x: RecordValue, named: dict[str, Any]) -> RecordValue:
        """Read ``x._replace(name=value)``."""
        fields = x.user_class()._fields
        if not named.keys() <= set(fields):
            raise UnsupportedError("a call that fails")
        return type(x)([named.get(name, part) for name, part in zip(fields, x, strict=True)])

    def set_attribute(self, target: ast.Attribute, owner: Any, value: Any) -> None:
        """Read ``owner.name = value``."""
        setter = self.property_setter(owner, target.attr)
        if setter is not None:
            self.inline(setter, [owner, value], {})
            return
        found = self.check_assignable(owner, target.attr)
        if type(owner) is Value:
            self.set_in_memory(owner, target.attr, value)
            return
        hides = found is not UNKNOWN and not _has_own(owner.scope, target.attr)
        if hides and self.depth != owner.scope.blocks:
            # If the branch or loop does not run, the object still has the class attribute.
            was_read = target.attr in owner.of_class
            if was_read or type(value) is not Value:
                raise UnsupportedError("an attribute that hides one of the class on some paths")
        if owner.is_given and (owner, target.attr) not in self.rebound_attributes:
            self.rebound_attributes.append((owner, target.attr))
        self._bind_attribute(owner, target.attr, value)

    def check_assignable(self, owner: Any, name: str) -> Any:
        """Raise if an attribute may not be bound; return the class attribute of this name."""
        cls: Any = class_of(owner) if is_object(owner) else None
        if isinstance(owner, InstanceValue) and cls not in self.in_memory:
            raise InMemoryError(cls)
        if type(owner) not in (LocalObject, Value) or cls is None:
            raise BindsAttributeError("assignment to an attribute of something from outside")
        if type(owner) is LocalObject:
            check_not_moved(owner)
        found = self.of_class(cls, name)
        if not cls.__dictoffset__ and not is_slot_descriptor(getattr(cls, name, None), cls, name):
            raise UnsupportedError(f"attribute {name}, which its objects cannot have")
        if is_frozen(cls) or is_data_descriptor(found):
            raise UnsupportedError(f"attribute {name}, which its class controls")
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
        if record is None:
            return self._new_object(cls, args, named)
        return self._new_record(record, args, named)

    # -- new objects -------------------------------------------------------------------------------

    def _new_object(self, cls: type, args: list[Any], named: dict[str, Any]) -> Any:
        """Read the construction of an object."""
        if self.depth != self.scope.blocks and cls not in self.value_classes | self.in_memory:
            raise MadeInLoopError(cls)
        function = self.scope.function
        owner = LocalObject(cls, Scope(function, self.scope.depth, blocks=self.depth))
        init = self.of_class(cls, "__init__")
        if type(init) is types.FunctionType and _is_generated_init(init, cls):
            self._bind_fields(owner, init, args, named)
        elif type(init) is types.FunctionType:
            made = self.inline(init, [owner, *args], named)
            if type(made) is not Value or made.kind.value is not None:
                raise UnsupportedError("an __init__ that returns a value")
        elif init is not UNKNOWN or args or named:
            raise UnsupportedError(f"a new {cls.__name__}")
        if cls in self.in_memory:
            return self.moved(owner)
        return self._frozen(owner) if cls in self.value_classes else owner

    def _frozen(self, x: LocalObject) -> InstanceValue:
        """Freeze a new object: return the values of its attributes."""
        if x.scope.functions:
            raise InMemoryError(x.cls)
        names = own_attributes(x.scope)
        return instance_class(x.cls, names)([self.read_in(x.scope, name) for name in names])

    def guard_code(self, function: types.FunctionType) -> None:
        """Check at each call that a function has the same code and defaults."""
        for part in ("__code__", "__defaults__", "__kwdefaults__"):
            self.guards.append((AttributeView(function), part, getattr(function, part)))
        named = function.__kwdefaults__ or {}
        self.guards += [(named, name, x) for name, x in named.items()]

    def _bind_fields(
        self, owner: LocalObject, init: types.FunctionType, args: list, named: dict[str, Any]
    ) -> None:
        """Bind the fields of a dataclass as its generated ``__init__`` does."""
        self.guard_code(init)
        given = _bound_arguments(
            init, args, named, lambda x: x if x is _BY_FACTORY else self.const(x)
        )
        for f in _fields_of_init(owner.cls):
            is_made = given[f.name] is _BY_FACTORY
            x = self._default_of(f.default_factory) if is_made else given[f.name]
            self._bind_attribute(owner, f.name, x)
        if _POST_INIT in init.__code__.co_names:
            after = self.attribute(owner, _POST_INIT)
            if type(after) is not Method:
                raise UnsupportedError(f"this {_POST_INIT}")
            self.inline(after.function, [owner], {})

    def _default_of(self, factory: Any) -> Any:
        return self.new_list([]) if factory is list else self.read_call(factory, [], {})


_instance_classes: weakref.WeakKeyDictionary[type, dict[tuple, type[InstanceValue]]]
_instance_classes = caches.register("instances in programs", weakref.WeakKeyDictionary())


def instance_class(cls: type, names: tuple[str, ...]) -> type[InstanceValue]:
    """Return the `InstanceValue` class for objects of a class with these attributes."""
    made = _instance_classes.setdefault(cls, {})
    if names not in made:
        own = {"user_class": staticmethod(weakref.ref(cls)), "names": names}
        made[names] = type(cls.__name__, (InstanceValue,), own)
    return made[names]


def own_attributes(scope: Scope) -> tuple[str, ...]:
    """Return the names of the attributes of an object."""
    parts = {part for form in scope.forms.values() for part in parts_of(form)}
    return tuple(sorted({*scope.slots, *scope.forms, *scope.functions} - parts))


_POST_INIT = "__post_init__"
_BY_FACTORY = dataclasses._HAS_DEFAULT_FACTORY  # type: ignore[attr-defined] # the default in the signature
_MOST_VARIABLES = 50  # for the items of a list; a longer one is passed as a whole
_MOST_PARTS = 1024  # of a list, tuple or dict from outside


def _bound_arguments(
    function: Any, args: list, named: dict[str, Any], const: Callable[[Any], Any]
) -> dict[str, Any]:  # fmt: skip
    """Bind the arguments of a call to the parameters of a function, without the first one."""
    signature = inspect.signature(function, follow_wrapped=False)
    try:
        given = signature.bind(None, *args, **named).arguments
    except TypeError as error:
        raise UnsupportedError("a call that fails") from error
    _, *parameters = signature.parameters.values()
    return {p.name: given[p.name] if p.name in given else const(p.default) for p in parameters}


def _has_own(scope: Scope, name: str) -> bool:
    """Whether an object has ever had an attribute of its own of this name."""
    return name in scope.slots or name in scope.forms or name in scope.functions


def _fields_of_init(cls: type) -> list[dataclasses.Field]:
    return [f for f in dataclasses.fields(cls) if f.init]


def _is_generated_init(init: types.FunctionType, cls: type) -> bool:
    """Whether a method is the ``__init__`` that `dataclasses` generates for this class.

    That has no source, so it is compared with the one of another dataclass with the same fields.
    """
    if not dataclasses.is_dataclass(cls) or definition_of(init) is not None:
        return False
    fields = dataclasses.fields(cls)
    if any(f.default_factory is not dataclasses.MISSING and not f.init for f in fields):
        return False
    alike = dataclasses.make_dataclass(
        "Alike",
        [(f.name, object, _same_field(f)) for f in fields],
        namespace={_POST_INIT: None} if _POST_INIT in init.__code__.co_names else {},
        frozen=cls.__dataclass_params__.frozen,  # type: ignore[attr-defined] # it has some
    )
    return _code_key(init.__code__) == _code_key(alike.__init__.__code__)  # type: ignore[misc] # its own


def _same_field(f: dataclasses.Field) -> Any:
    default: dict[str, Any] = {"default": f.default}
    if f.default_factory is not dataclasses.MISSING:
        default = {"default_factory": f.default_factory}
    return dataclasses.field(**default, init=f.init, kw_only=f.kw_only)


def _code_key(code: types.CodeType) -> tuple:
    """Return the bytecode of a function with all that it refers to, but no name or line."""
    parameters = code.co_argcount, code.co_kwonlyargcount, code.co_flags
    names = code.co_names, code.co_varnames, code.co_freevars
    return code.co_code, code.co_consts, names, parameters
