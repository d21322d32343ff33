"""Objects in memory: those that change, and that lists or other objects hold.

In the generated code such an object is a dict of its attributes. All names for it, and all lists
that hold it, have the same dict, so what is written through one is read through the others.
"""

from __future__ import annotations

import ast
import dataclasses
import operator
import types
from typing import Any

from autodiff.structured.form.ir import Instance, Memory, Named, Op, Record, Value
from autodiff.structured.form.kinds import InMemoryError, Kind, ManyKindsError, UnsupportedError
from autodiff.structured.reading.containers.classes import class_of, decides_alone, is_object
from autodiff.structured.reading.containers.lists import Lists
from autodiff.structured.reading.containers.objects import own_attributes
from autodiff.structured.reading.scopes import LocalObject, record_class

_BOOL = Kind(frozenset([bool]))


class ObjectsInMemory(Lists):
    """Reads objects in memory."""

    def moved(self, x: LocalObject) -> Value:
        """Return an object whose attributes are in memory, in the place of one that was made."""
        made = {name: self.read_in(x.scope, name) for name in own_attributes(x.scope)}
        x.scope.has_moved = True
        return self.dict_from(Named(made), x.cls)

    def is_moving(self, target: ast.expr) -> bool:
        """Whether a target is an attribute of an object that is going to be in memory."""
        if not (isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)):
            return False
        owner = self.scope.functions.get(target.value.id)
        return type(owner) is LocalObject and owner.cls in self.in_memory and not owner.is_given

    def _as_item(self, x: Any) -> Value:
        """Return what is put into a list, a dict or an object."""
        if type(x) is LocalObject or isinstance(x, Instance):
            if class_of(x) not in self.in_memory:
                raise InMemoryError(class_of(x))
            raise UnsupportedError("an object that is an argument, in a list")
        if isinstance(x, Record):
            cls: Any = x.user_class()
            if cls in self.in_memory:
                return self.dict_from(Named(zip(cls._fields, x, strict=True)), cls)
            try:
                made = super()._as_item(x)
            except ManyKindsError as error:  # its fields
                raise InMemoryError(cls) from error
            self.of_records.append((made.memory, cls))  # type: ignore[arg-type] # a list has one
            return made
        return super()._as_item(x)

    def item(self, xs: Value, at: Value) -> Any:
        """Read ``xs[at]``; of a named tuple all fields are read, since nobody changes them."""
        made = super().item(xs, at)
        record = record_class(class_of(made)) if made.kind.is_object else None
        if record is None:
            return made
        fields: Any = class_of(made)._fields  # type: ignore[attr-defined] # it has some
        return record([self.item(made, self.const(name)) for name in fields])

    def attribute_in_memory(self, owner: Value, name: str) -> Any:
        """Read an attribute of an object."""
        found = self.of_class(class_of(owner), name)
        if type(found) is property:
            return self.inline(found.fget, [owner], {})
        if decides_alone(found):
            raise UnsupportedError(f"attribute {name}, which its class decides about")
        if name in owner.memory.root().fields:  # type: ignore[union-attr] # an object has one
            return self.item(owner, self.const(name))
        self.from_classes.append((owner.memory, name))  # type: ignore[arg-type]
        return self.bound_to(owner, found, name)

    def with_fields(self, x: Any, fields: dict[str, Any]) -> Any:
        """Read ``dataclasses.replace(x, name=value)``."""
        cls: Any = class_of(x)
        init = cls.__init__
        if not dataclasses.is_dataclass(cls) or type(init) is not types.FunctionType:
            raise UnsupportedError("a copy of an object that is no dataclass")
        code = init.__code__
        own = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
        if {f.name for f in dataclasses.fields(cls) if f.init} != set(own):
            raise UnsupportedError("a copy of a dataclass with other parameters")
        given = {name: self.attribute_of_any(x, name) for name in own if name not in fields}
        return self.instance(class_of(x), [], given | fields)

    def attribute_of_any(self, owner: Any, name: str) -> Any:
        """Read an attribute of what has been read."""
        raise NotImplementedError

    def check_attributes_of_classes(self) -> None:
        """Raise if an attribute was read of a class that an object may have itself."""
        if any(name in memory.root().fields for memory, name in self.from_classes):
            raise UnsupportedError("an attribute that some objects have, and others do not")

    def check_records(self, xs: Memory | None) -> None:
        """Raise if a list that is asked for an attribute, or seen outside, may be a named tuple."""
        for memory, cls in self.of_records:
            if xs is not None and memory.root() is xs.root():
                raise InMemoryError(cls)

    def same_object(self, a: Any, b: Any) -> Any:
        """Read ``a is b`` of objects; NotImplemented of others."""
        if not (is_object(a) and is_object(b)):
            return NotImplemented
        if type(a) is Value is type(b):
            return self.made(Op("length", [a, b], f=operator.is_), _BOOL)
        made = [x for x in (a, b) if type(x) is LocalObject and not x.is_given]
        if all(type(x) is LocalObject for x in (a, b)) and made:
            return self.const(a is b)
        return NotImplemented
