"""Reading tuples, lists and dicts of known items."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from autodiff.structured.form.function_ir import (
    Columns,
    HeldRange,
    InstanceValue,
    Items,
    Named,
    Op,
    RecordValue,
    Value,
    known,
)
from autodiff.structured.form.kinds import (
    DICT,
    INT,
    UNKNOWN,
    ListInMemoryError,
    UnsupportedError,
)
from autodiff.structured.form.known_functions import iteration_count
from autodiff.structured.form.plain_classes import record_class
from autodiff.structured.reading.containers.classes import is_object
from autodiff.structured.reading.containers.lists import is_key
from autodiff.structured.reading.containers.objects import instance_class
from autodiff.structured.reading.containers.queues import QueueReader
from autodiff.structured.reading.iteration.iteration_space import IterationSpace
from autodiff.structured.reading.scopes import ArgumentRows


class SequenceReader(QueueReader):
    """Layer of the reader: displays of tuples, lists and dicts, and their items."""

    # Methods that subclasses define.
    expression_or_none: Callable[[ast.expr], Any]
    value: Callable[[ast.expr], Value]
    _items_to_unpack: Callable[[Any], list | IterationSpace]
    _unpacked: Callable[[list | IterationSpace, int], list]
    _append_each: Callable[[str, IterationSpace], None]
    sliced: Callable[[Value, list[Value]], Value]
    bounds_in: Callable[[ast.Slice], list[Value]]

    def on_tuple(self, node: ast.Tuple, may_be_none: bool = False) -> Any:
        """Read a tuple."""
        made = self._with_stars(node.elts, may_be_none)
        return tuple(made) if type(made) is Items else self.fixed(made)

    def on_list(self, node: ast.List) -> Any:
        """Read a list display."""
        made = self._with_stars(node.elts)
        return self.displayed(node, made) if type(made) is Items else made

    def _with_stars(self, nodes: list[ast.expr], may_be_none: bool = False) -> Any:
        """Read the items of a display: `Items`, or a list in memory if their number is unknown."""
        parts: list = []
        made: Value | None = None
        for part in nodes:
            if not isinstance(part, ast.Starred):
                parts.append((self.expression_or_none if may_be_none else self.expression)(part))
                continue
            over = self._items_to_unpack(self.expression(self.as_list_display(part.value)))
            if isinstance(over, list):
                parts += over
                continue
            name = self.hold(self.extended(made or self.new_list([]), Items(parts)))
            self._append_each(name, over)
            made, parts = self.read(name), []
        return Items(parts) if made is None else self.extended(made, Items(parts))

    def on_dict(self, node: ast.Dict) -> Any:
        """Read a dict whose keys are strings or integers."""
        keys = [UNKNOWN if k is None else known(self.value(k)) for k in node.keys]
        made = Named()
        for k, key, value in zip(node.keys, keys, map(self.expression, node.values), strict=True):
            others = self.named_items(value) if k is None else None
            if others is None and not is_key(key):
                raise UnsupportedError("a dict with keys other than strings and integers")
            made.update({key: value} if others is None else others)
        return self.displayed(node, made)

    def named_items(self, x: Any) -> Named | None:
        """Return the items of a dict with known keys, as a new dict; None for anything else.

        Of a dict in memory, the order of the keys is checked: branches may give it different ones.
        """
        if type(x) is Named:
            return Named(x)
        if type(x) is not Value or x.kind != DICT:
            return None
        name, keys = self.hold(x), self.keys_in_order(x)
        return Named({key: self.item(self.read(name), self.const(key)) for key in keys})

    def keyed_in_memory(self, x: Named) -> Value:
        """Return a dict of known items as one in memory, to read items by keys that are not known.

        A displayed one is in memory from its display on; of an argument this is a copy.
        """
        inner = [part for part in x.values() if type(part) is Named]
        if len(set(map(tuple, inner))) > 1:  # they differ in their keys
            places = {place for part in inner for place in part.places}
            raise ListInMemoryError("a key that is not known", places, grow=True)
        if x.places:
            raise ListInMemoryError("a key that is not known", x.places)
        return self.dict_in_memory(x)

    def _displayed(
        self, nodes: list[ast.expr], total: int | None = None, may_be_none: bool = False
    ) -> list:  # fmt: skip
        """Read expressions from left to right; the total number of items may be known."""
        read = self.expression_or_none if may_be_none else self.expression
        parts: list = []
        others = len(nodes) - 1
        has_one_star = sum(isinstance(node, ast.Starred) for node in nodes) == 1
        for node in nodes:
            if not isinstance(node, ast.Starred):
                parts.append(read(node))
                continue
            over = self._items_to_unpack(self.expression(self.as_list_display(node.value)))
            if isinstance(over, list):
                parts += over
            elif has_one_star and total is not None and others <= total:
                parts += self._unpacked(over, total - others)
            else:
                raise UnsupportedError("the items of something whose length is not known")
        return parts

    def _parts_of(self, x: Any) -> list:
        """Return the items of an object, tuple or list, whose number is known."""
        if is_object(x):
            return self.parts_of_object(x)
        if isinstance(x, tuple):
            return list(x)
        if not x.kind.parts and not (x.kind.is_known and x.kind.value == ()):
            raise UnsupportedError("the items of something whose length is not known")
        return [self._part(x, self.const(i)) for i in range(len(x.kind.parts))]

    def of_known_text(self, text: Value, f: Callable, node: ast.Call) -> Any:
        """Read a method call on a constant string; evaluate it if all arguments are constants."""
        args, named = self._displayed(list(map(self.as_list_display, node.args))), self._named(node)
        given = list(map(_constant_of, args))
        options = {name: _constant_of(x) for name, x in named.items()}
        if any(x is UNKNOWN for x in (*given, *options.values())):
            return self.read_call(f, [text, *args], named)
        try:
            return self._from_constant(f(known(text), *given, **options))
        except (TypeError, ValueError) as error:
            raise UnsupportedError("a call that fails") from error

    def _from_constant(self, x: Any) -> Any:
        """Convert a constant, or a list or tuple of constants, to values."""
        if type(x) in (list, tuple):
            return (Items if type(x) is list else tuple)(map(self._from_constant, x))
        return self.const(x)

    def _together(self, a: Any, b: Any) -> Any:
        """Read the concatenation of two lists, or of two tuples."""
        kind = _plain_class(a)
        if kind is _plain_class(b) is not Value:
            return kind([*a, *b])
        if tuple in map(_plain_class, (a, b)):
            raise UnsupportedError("a sum of a list and a tuple")
        made = self.new_list([])
        for xs in (a, b):
            made = self.extended(made, xs)
        return made

    def _part(self, base: Any, at: Value) -> Any:
        """Read an item of a tuple, or of a list of known items."""
        if isinstance(base, InstanceValue):
            raise UnsupportedError("an item of an object")
        i = known(at)
        if type(i) is not int:
            base = tuple(self._parts_of(base)) if type(base) is Value else base
            if not isinstance(base, tuple) or not at.kind.is_integral:
                raise UnsupportedError("this index of a tuple")
            if type(base) is Items and base.places:
                raise ListInMemoryError("an index of a list that is not known", base.places)
            return self.item_or_none(self.list_in_memory(Items(base)), at)
        parts = base if isinstance(base, tuple) else base.kind.parts
        if not -len(parts) <= i < len(parts):
            if type(base) is Items and base.places:  # it may have more items by then
                raise ListInMemoryError("an index beyond a list", base.places)
            raise UnsupportedError("this index of a tuple")
        if isinstance(base, tuple):
            return base[i]
        if parts[i].is_known:
            return self.const(parts[i].value)
        return self.emit(Op("part", [base], data=i), parts[i])

    def _slice_of(self, base: tuple, node: ast.Slice) -> Any:
        """Read a slice of a tuple, or of a list of known items."""
        if isinstance(base, InstanceValue):
            raise UnsupportedError("a slice of an object")
        parts = (node.lower, node.upper, node.step)
        bounds = [None if part is None else known(self.value(part)) for part in parts]
        if not all(b is None or type(b) is int for b in bounds) or bounds[2] == 0:
            raise UnsupportedError("a slice with bounds that are not constants")
        return _plain_class(base)(base[slice(*bounds)])

    def _item_of_columns(self, xs: Columns, at: Value) -> tuple:
        """Read an item of a list of tuples."""
        return tuple([self.item_or_none(column, at) for column in xs])

    def item_of_rows(self, xs: ArgumentRows, at: Value) -> Any:
        """Read an item of an argument that is a list of rows, or of lists of rows."""
        columns = [self.read_in(xs.scope, name) for name in xs.columns]
        parts = tuple([self.item_or_none(column, at) for column in columns])
        if xs.depth > 1:
            return ArgumentRows(self.scope, tuple(map(self.hold, parts)), xs.depth - 1, xs.row)
        cls, names = xs.row
        if cls is dict:
            row = Named(zip(names, parts, strict=True))
            row.has_name = row.is_given = True
            return row
        if issubclass(cls, tuple):
            record = record_class(cls)
            return parts if record is None else record(parts)
        return instance_class(cls, names)(parts)

    def part_of_rows(self, xs: ArgumentRows, index: ast.expr) -> Any:
        """Read an item or a slice of an argument that is a list of rows."""
        if not isinstance(index, ast.Slice):
            return self.item_of_rows(xs, self.value(index))
        bounds = self.bounds_in(index)
        columns = [self.sliced(self.read_in(xs.scope, name), bounds) for name in xs.columns]
        return ArgumentRows(self.scope, tuple(map(self.hold, columns)), xs.depth, xs.row)

    def _append_to_columns(self, xs: Columns, x: Any) -> Value:
        """Append a tuple to a list of tuples."""
        for column, part in zip(xs, x, strict=True):
            self.append(column, part)
        return self.const(None)

    def _length_of(self, x: Any) -> Any:
        """Read ``len(x)``; NotImplemented for a list in memory."""
        if is_object(x):
            return self.length_of_object(x)
        if type(x) is Columns:
            return self.length(x[0])
        if type(x) is ArgumentRows:
            return self.length(self.read_in(x.scope, x.columns[0]))
        if isinstance(x, (tuple, Named)):
            return self.const(len(x))
        if type(x) is HeldRange:
            return self.emit_call(iteration_count, [x.start, x.stop, x.step])
        if x.kind.is_mapping:
            return self.length(x)
        if x.kind.parts:
            return self.const(len(x.kind.parts))
        if x.kind.is_array and x.kind.ndim:
            return self.emit(Op("form", [x], data="len"), INT)
        return NotImplemented

    def _copied(self, f: type, xs: Any) -> Any:
        """Read ``list(xs)`` or ``tuple(xs)``."""
        if is_object(xs) or (type(xs) is Value and xs.kind.parts):
            xs = tuple(self._parts_of(xs))
        if type(xs) is HeldRange:
            made = self.extended(self.new_list([]), xs)
            return made if f is list else self.fixed(made)
        if type(xs) is not Value:
            return (Items if f is list else tuple)(xs)
        if f is tuple and xs.kind.is_fixed:
            return xs
        if f is list and xs.kind.is_mapping:
            return self.list_of_keys(xs)
        made = self.extended(self.new_list([]), xs)
        return self.fixed(made) if f is tuple else made

    def _of_dict(self, x: Named, node: ast.Call) -> Any:
        """Read a call of a method of a dict of known items."""
        name = node.func.attr  # type: ignore[attr-defined] # it is an attribute
        if name == "get" and 1 <= len(node.args) <= 2 and not node.keywords:
            key, *others = map(self.expression, node.args)
            at, otherwise = self.pack(key), others[0] if others else self.const(None)
            if not at.kind.is_known:
                return self.item_or(self.keyed_in_memory(x), at, otherwise)
            return x.get(known(at), otherwise)
        if name == "copy" and not (node.args or node.keywords):
            return self.displayed(node, self.named_items(x))  # type: ignore[arg-type] # it is one
        if node.args or node.keywords or name not in ("keys", "values", "items"):
            raise UnsupportedError(f"method {name} of a dict")
        keys = map(self.const, x)
        if name == "keys":
            return tuple(keys)
        return tuple(x.values() if name == "values" else zip(keys, x.values(), strict=True))


def _constant_of(x: Any) -> Any:
    """Return a constant, or a list or tuple of constants; `UNKNOWN` if one is not known."""
    if type(x) in (Items, tuple):
        parts = list(map(_constant_of, x))
        if any(part is UNKNOWN for part in parts):
            return UNKNOWN
        return parts if type(x) is Items else tuple(parts)
    return known(x) if type(x) is Value else UNKNOWN


def _plain_class(x: Any) -> type:
    """Return the class of a slice or sum of these; for a named tuple `tuple`."""
    return tuple if isinstance(x, RecordValue) else type(x)


def appended_tuple_length(name: str, function: ast.AST) -> int:
    """Return the length of the tuples that a function appends to an initially empty list.

    Return 0 unless all have one length and the function otherwise only iterates over the list, and
    reads its items and length.
    """
    names = [part for part in ast.walk(function) if isinstance(part, ast.Name) and part.id == name]
    lengths: set[int] = set()
    allowed: set[int] = set()
    for part in ast.walk(function):
        used: list[ast.expr] = []
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.List):
            used = part.targets if len(part.targets) == 1 and not part.value.elts else []
        elif isinstance(part, (ast.For, ast.comprehension)):
            used = [part.iter]
        elif isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Load):
            used = [] if isinstance(part.slice, ast.Slice) else [part.value]
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            (given,) = part.args if len(part.args) == 1 else (None,)
            is_tuple = isinstance(given, ast.Tuple) and part.func.attr == "append"
            if is_tuple and isinstance(part.func.value, ast.Name) and part.func.value.id == name:
                lengths.add(len(given.elts))  # type: ignore[union-attr] # it is a tuple
                used = [part.func.value]
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Name):
            used = part.args if part.func.id in _ITERATING else []
            if part.func.id == "zip" and is_transposition(part):
                used = [part.args[0].value]  # type: ignore[attr-defined] # it is starred
        allowed.update(map(id, used))
    starred = [part.value for part in ast.walk(function) if isinstance(part, ast.Starred)]
    has_starred = any(id(part) not in allowed for part in starred)
    is_own = all(id(part) in allowed for part in names) and not has_starred
    return lengths.pop() if is_own and len(lengths) == 1 else 0


_ITERATING = frozenset({"len", "enumerate", "zip", "reversed"})


def is_transposition(node: ast.Call) -> bool:
    """Whether a call has the form ``zip(*rows)``, perhaps with ``strict``."""
    is_one = len(node.args) == 1 and isinstance(node.args[0], ast.Starred)
    return is_one and all(k.arg == "strict" for k in node.keywords)


def is_sequence(x: Any) -> bool:
    """Whether this is a list, or a tuple of known items."""
    if type(x) is Value:
        return x.kind.is_list and not (x.kind.is_queue or x.kind.is_fixed)
    return isinstance(x, tuple) and not isinstance(x, InstanceValue)
