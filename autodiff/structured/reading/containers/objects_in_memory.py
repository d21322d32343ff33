"""Reading objects in memory: those that change, or that lists or other objects hold.

In the generated code such an object is a dict of its attributes. All references to it share that
dict, so aliases need no analysis.
"""

from __future__ import annotations

import ast
import dataclasses
import operator
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from autodiff.structured.form.function_ir import (
    InstanceValue,
    Maybe,
    Memory,
    Named,
    Op,
    RecordValue,
    Value,
    known,
)
from autodiff.structured.form.kinds import (
    BOOL,
    FIXED,
    LIST,
    UNKNOWN,
    EmptyListError,
    InMemoryError,
    Kind,
    MayBeMissingError,
    MixedKindsError,
    UnsupportedError,
)
from autodiff.structured.form.plain_classes import record_class
from autodiff.structured.reading.containers.classes import class_of, is_data_descriptor, is_object
from autodiff.structured.reading.containers.lists import ListReader
from autodiff.structured.reading.containers.objects import own_attributes
from autodiff.structured.reading.scopes import ContentLookup, LocalObject, OutsideObject


class MemoryObjectReader(ListReader):
    """Layer of the reader: objects in memory."""

    # Methods that subclasses define.
    read_attribute: Callable[[Any, str], Any]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.copied: list[tuple[int, int]] = []  # objects from outside that are being copied
        self.names_outside: dict[type, set[str]] = {}  # class → attributes of copied objects

    def moved(self, x: LocalObject) -> Value:
        """Move the attributes of a new object into memory; return the object."""
        made = {name: self.read_in(x.scope, name) for name in own_attributes(x.scope)}
        x.scope.is_in_memory = True
        return self._object_in_memory(x.cls, made)

    def _object_in_memory(self, cls: type, made: dict[str, Any]) -> Value:
        """Create an object in memory from its attributes."""
        parts = {name: part for name, part in made.items() if not _is_none(part)}
        for name in made.keys() - parts.keys():
            self._note_none(cls, name)
        for owner, name in self.optional_attributes:
            if owner is cls:
                parts[_flag(name)] = self.const(name in parts)
                if name not in parts:
                    parts[name] = self._placeholder(cls, name, name in made)
        for name in made.keys() - parts.keys():  # None in all objects so far
            parts[_flag(name)] = self.const(False)
        moved = self.dict_in_memory(Named(sorted(parts.items())), cls)
        for name in parts:
            self._note_value(cls, name, moved)
        return moved

    def _copied_from_outside(self, x: OutsideObject) -> Value:
        """Copy an object from outside into memory, once: it may be read, but not changed."""
        place = 0, id(x.x)
        if place in self.copied:
            raise UnsupportedError("objects from outside that refer to each other")

        def copied() -> Value:
            self.copied.append(place)
            contents = ContentLookup(vars(x.x), None)
            self.guards.append((contents, None, True))
            if self.names_outside.setdefault(x.cls, set(vars(x.x))) != vars(x.x).keys():
                raise UnsupportedError("an attribute that some objects lack")
            parts = {name: self.read_attribute(x, name) for name in contents.places}
            made = self._object_in_memory(x.cls, parts)
            made.root.copies.add(None)
            self.copied.pop()
            return made

        return self.at_start(place, copied)

    # -- attributes that may be missing ------------------------------------------------------------
    #
    # An object has a flag for such an attribute (`_flag`). If that is false, the attribute itself
    # is a placeholder, which nobody reads.

    def _note_none(self, cls: type, name: str) -> None:
        """Note that an attribute is None; raise if it has a value in another object."""
        key = cls, name
        if key in self.optional_attributes:
            return
        if key in self.known_present:
            field = self.known_present[key].root()
            raise MayBeMissingError(key, like(field.items, field.of_items), True)
        self.known_none.add(key)

    def _note_value(self, cls: type, name: str, owner: Value) -> None:
        """Note that an attribute has a value; raise if it is None in another object."""
        key, field = (cls, name), owner.root.fields[name].root()
        if key in self.known_none and key not in self.optional_attributes:
            raise MayBeMissingError(key, like(field.items, field.of_items), True)
        self.known_present[key] = field

    def _placeholder(self, cls: type, name: str, is_none: bool) -> Value:
        """Return a placeholder for a missing attribute."""
        if is_none != ((cls, name) in self.initially_none):
            raise UnsupportedError("an attribute that some objects lack, and others set to None")
        if not is_none and self.of_class(cls, name) is not UNKNOWN:
            raise UnsupportedError("an attribute that some objects lack")
        return self.placeholder(self.optional_attributes[cls, name])

    def placeholder(self, like: Any) -> Any:
        """Return a placeholder for a value, or a tuple of values, that is None or missing."""
        if type(like) is list:
            return tuple(map(self.placeholder, like))
        kind = like.kind
        if kind.is_text:
            return self.const("")
        if kind.parts:
            return self.pack(tuple([self.placeholder(Placeholder(part)) for part in kind.parts]))
        if kind.is_scalar:
            return self.const(min(kind.classes, key=lambda c: c.__name__)(0))
        if kind.is_member:
            (cls,) = kind.classes
            return self.const(next(iter(cls.__members__.values())))
        if kind.is_array:
            return self.emit_call(np.zeros, [self.const((0,) * kind.ndim), self.const(kind.dtype)])
        if kind in (LIST, FIXED):
            made = self.new_list([])
            return self.fixed(made) if kind == FIXED else made
        if not kind.is_dict:
            raise UnsupportedError("an attribute of this kind that some objects lack")
        parts = {name: self.placeholder(part) for name, part in like.fields}
        return self.dict_in_memory(Named(parts), kind.owner() if kind.owner else None)

    def attribute_is_not_none(self, owner: Any, name: str) -> Value | None:
        """Return whether an attribute is not None; None if it cannot be missing."""
        if type(owner) is not Value or not owner.kind.is_object:
            return None
        cls, fields = class_of(owner), owner.root.fields
        if _flag(name) not in fields or is_data_descriptor(self.of_class(cls, name)):
            return None
        if name not in fields:
            return self.const(False)
        if (cls, name) not in self.initially_none:
            raise UnsupportedError("a comparison of an attribute that some objects lack with None")
        return self.item(owner, self.const(_flag(name)))

    def exit_if_missing(self, owner: Value, name: str) -> None:
        """Exit the program if an attribute is missing."""
        fields = owner.root.fields
        if _flag(name) in fields:
            if name not in fields:
                raise UnsupportedError("an operator on None")
            self.exit_unless(self.item(owner, self.const(_flag(name))))

    def set_in_memory(self, owner: Value, name: str, x: Any) -> None:
        """Bind an attribute of an object in memory."""
        key, fields = (class_of(owner), name), owner.root.fields
        is_there = not _is_none(x)
        if not is_there:
            self._note_none(*key)
        elif name not in fields:
            item = self._as_item(x)
            raise MayBeMissingError(key, like(item.kind, item.memory), _flag(name) in fields)
        if name not in fields:
            return  # it stays None
        if _flag(name) in fields:
            self.set_item(owner, self.const(_flag(name)), self.const(is_there))
        if is_there:
            self.set_item(owner, self.const(name), x)

    def is_attribute_of_new_object(self, target: ast.expr) -> bool:
        """Whether a target is an attribute of a new object that will be moved into memory."""
        if not (isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)):
            return False
        owner = self.scope.functions.get(target.value.id)
        return type(owner) is LocalObject and owner.cls in self.in_memory and not owner.is_given

    def _as_item(self, x: Any) -> Value:
        """Convert a value to an item of a list, dict or object."""
        if type(x) is LocalObject or isinstance(x, InstanceValue):
            if class_of(x) not in self.in_memory:
                raise InMemoryError(class_of(x))
            raise UnsupportedError("an object that is an argument, in a list or another object")
        if type(x) is OutsideObject:
            return self._copied_from_outside(x)
        if id(x) in self.whole_tuples:  # read from a list: it goes as a whole into another place
            return self.whole_tuples[id(x)][1]
        if type(x) is tuple and tuple in self.in_memory:
            return self.dict_in_memory(Named(enumerate(x)), tuple)
        if type(x) is tuple and _are_mixed(x):
            raise InMemoryError(tuple)
        if isinstance(x, RecordValue):
            cls: Any = x.user_class()
            if cls in self.in_memory:
                return self.dict_in_memory(Named(zip(cls._fields, x, strict=True)), cls)
            try:
                made = super()._as_item(x)
            except MixedKindsError as error:  # fields of different kinds
                raise InMemoryError(cls) from error
            self.record_memories.append((made.root, cls))
            return made
        return super()._as_item(x)

    def item_or_none(self, xs: Value, at: Value) -> Any:
        """Read ``xs[at]``. All parts of a tuple are read, since it is immutable."""
        made = super().item_or_none(xs, at)
        if type(made) is Maybe:
            return made
        if made.kind.is_object and class_of(made) is tuple:
            parts = tuple([self.item(made, self.const(i)) for i in made.root.fields])
            self.whole_tuples[id(parts)] = parts, made
            return parts
        record = record_class(class_of(made)) if made.kind.is_object else None
        if record is None:
            return made
        fields: Any = class_of(made)._fields  # type: ignore[attr-defined] # it has some
        return record([self.item(made, self.const(name)) for name in fields])

    def attribute_in_memory(self, owner: Value, name: str) -> Any:
        """Read an attribute of an object."""
        fields = owner.root.fields

        def own() -> Any:
            if name in fields:
                self.exit_if_missing(owner, name)
                return self.item(owner, self.const(name))
            if _flag(name) not in fields:
                self.class_attribute_reads.append((owner.root, name))
                return UNKNOWN
            if self.flags:  # a later statement of the loop may bind it
                raise EmptyListError(f"attribute {name}, which is None")
            return self.const(None)

        return self.resolved(owner, self.of_class(class_of(owner), name), name, own)

    def dataclass_replace(self, x: Any, fields: dict[str, Any]) -> Any:
        """Read ``dataclasses.replace(x, name=value)``."""
        cls: Any = class_of(x)
        init = cls.__init__
        if not dataclasses.is_dataclass(cls) or type(init) is not types.FunctionType:
            raise UnsupportedError("dataclasses.replace of an object that is not a dataclass")
        code = init.__code__
        own = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
        if {f.name for f in dataclasses.fields(cls) if f.init} != set(own):
            raise UnsupportedError("dataclasses.replace of a dataclass with an __init__ of its own")
        given = {name: self.read_attribute(x, name) for name in own if name not in fields}
        return self.instance(class_of(x), [], given | fields)

    def check_attributes_of_classes(self) -> None:
        """Raise if an attribute was read from a class that an object may shadow."""
        if any(name in memory.root().fields for memory, name in self.class_attribute_reads):
            raise UnsupportedError("an attribute that some objects lack")

    def check_records(self, xs: Memory | None) -> None:
        """Raise if a list may be a named tuple, and its attributes are read, or it is returned."""
        for memory, cls in self.record_memories:
            if xs is not None and memory.root() is xs.root():
                raise InMemoryError(cls)

    def same_object(self, a: Any, b: Any) -> Any:
        """Read ``a is b`` for objects; NotImplemented for anything else."""
        if not (is_object(a) and is_object(b)):
            return NotImplemented
        if type(a) is Value is type(b):
            return self.emit(Op("length", [a, b], f=operator.is_), BOOL)
        made = [x for x in (a, b) if type(x) is LocalObject and not x.is_given]
        if all(type(x) is LocalObject for x in (a, b)) and made:
            return self.const(a is b)
        return NotImplemented


class Placeholder(NamedTuple):
    """The kind of a placeholder, and those of its attributes if it is an object or dict."""

    kind: Kind
    fields: tuple[tuple[str, Placeholder], ...] = ()


def like(kind: Any, memory: Memory | None, depth: int = 0) -> Any:
    """Describe a placeholder for a value of this kind; `memory` describes its attributes.

    For a tuple there are the kind and the memory of each part.
    """
    if type(kind) is list:
        return [like(own, inner, depth + 1) for own, inner in kind]
    if kind is None or depth > _DEEPEST:
        raise UnsupportedError("an attribute of this kind that some objects lack")
    if not kind.is_dict or memory is None:
        return Placeholder(kind.general())
    fields = [(name, field.root()) for name, field in memory.root().fields.items()]
    return Placeholder(
        kind.general(), tuple([(name, like(x.items, x.of_items, depth + 1)) for name, x in fields])
    )


_DEEPEST = 8  # an object may contain itself


def _flag(name: str) -> str:
    """Return the name of the flag that says whether an object has an attribute."""
    return f".has {name}"


def _are_mixed(x: tuple) -> bool:
    """Whether the parts of a tuple cannot be the items of one list, or would lose their classes."""
    kinds = [part.kind for part in x if type(part) is Value]
    is_integral = {kind.is_integral for kind in kinds}
    groups = {(kind.is_scalar, kind.is_text, kind.has_memory, kind.is_member) for kind in kinds}
    others = {type(part) for part in x if type(part) is not Value}
    return len(groups) + len(others) > 1 or len(is_integral) > 1


def _is_none(x: Any) -> bool:
    return type(x) is Value and known(x) is None
