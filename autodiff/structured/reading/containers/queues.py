"""Reading methods of lists and deques.

A deque is a deque in the generated code, too; its shadow is a list. As in Python, one with `maxlen`
drops an item at the other end before it takes a new one.
"""

from __future__ import annotations

import ast
import collections
import operator
from collections.abc import Callable
from typing import Any

from autodiff.structured.form.function_ir import Op, Value, known
from autodiff.structured.form.kinds import BOUNDED, DEQUE, LIST, Kind, UnsupportedError
from autodiff.structured.form.known_functions import most_items
from autodiff.structured.reading.containers.lists import AT, memory_of
from autodiff.structured.reading.containers.tables import TableReader
from autodiff.structured.reading.libraries.python_decompositions import index_in_list

_INT = Kind(frozenset([int]))


class QueueReader(TableReader):
    """Layer of the reader: methods of lists and deques, and the construction of deques."""

    # Methods that subclasses define.
    as_list_display: Callable[[ast.expr], ast.expr]
    extended: Callable[[Value, Any], Value]
    sort: Callable[[Value, dict[str, Any]], None]
    cleared: Callable[[Value], None]

    def append(self, xs: Value, x: Any) -> Value:
        """Read ``xs.append(x)``."""
        x = self._as_item(x)
        if xs.kind == BOUNDED:
            self._make_room(xs, 0)
        return super().append(xs, x)

    def insert(self, xs: Value, at: Value, x: Any) -> None:
        """Read ``xs.insert(at, x)``."""
        x = self._as_item(x)
        self._note_item(xs, x)
        self.emit_effect(Op("insert", [xs, x, at], data=AT))

    def delete_item(self, xs: Value, at: Value) -> None:
        """Read ``del xs[at]``."""
        if xs.kind.is_table:
            self._item_memory(xs, at)
        elif not xs.kind.is_list or not at.kind.is_integral:
            raise UnsupportedError("del of something other than one item of a list")
        self.note_mutation(xs)
        self.emit_effect(Op("drop", [xs, at], data=AT))

    def new_deque(self, args: list[Any], options: dict[str, Any]) -> Value:
        """Read ``deque(items, maxlen)``."""
        given = dict(zip(("iterable", "maxlen"), args, strict=False)) | options
        if len(args) > 2 or given.keys() - {"iterable", "maxlen"} or len(args) + len(options) > 2:
            raise UnsupportedError("a call that fails")
        maxlen = self.pack(given.get("maxlen", self.const(None)))
        is_bounded = known(maxlen) is not None
        if is_bounded and not maxlen.kind.is_integral:
            raise UnsupportedError("a maxlen that is not an integer")
        limit = {"maxlen": maxlen} if is_bounded else {}
        op = Op("list", [], f=collections.deque, options=limit, data=False)
        made = self.new_container(op, BOUNDED if is_bounded else DEQUE)
        return self.extended(made, given["iterable"]) if "iterable" in given else made

    def attribute_of_queue(self, xs: Value, name: str) -> Value:
        """Read ``xs.maxlen``."""
        if name != "maxlen":
            raise UnsupportedError(f"attribute {name} of a deque")
        return self._maxlen_of(xs) if xs.kind == BOUNDED else self.const(None)

    def of_list_method(self, xs: Value, node: ast.Call) -> Any:
        """Read a call of a method of a list or deque."""
        name = node.func.attr  # type: ignore[attr-defined] # it is an attribute
        methods = _OF_QUEUES if xs.kind.is_queue else {} if xs.kind.is_fixed else _OF_LISTS
        method = methods.get(name)
        if name == "sort" and xs.kind == LIST and not node.args:
            self.sort(xs, self._named(node))
            return self.const(None)
        is_plain = not any(isinstance(a, ast.Starred) for a in node.args) and not node.keywords
        if method is None or not is_plain or len(node.args) not in method[1]:
            self.check_records(xs.memory)
            raise UnsupportedError(f"method {name} of a list")
        made = method[0](self, xs, *node.args)
        return self.const(None) if made is None else made

    def _maxlen_of(self, xs: Value) -> Value:
        return self.emit(Op("length", [xs], f=most_items), _INT)

    def _make_room(self, xs: Value, at: int) -> None:
        """Drop the item at an index if a deque is full."""
        is_full = self.emit_call(operator.eq, [self.length(xs), self._maxlen_of(xs)])
        self.branches(is_full, lambda: self.delete_item(xs, self.const(at)), lambda: None)

    def _append(self, xs: Value, x: ast.expr) -> None:
        self.append(xs, self.expression(x))

    def _append_left(self, xs: Value, x: ast.expr) -> None:
        item = self._as_item(self.expression(x))
        if xs.kind == BOUNDED:
            self._make_room(xs, -1)
        self.insert(xs, self.const(0), item)

    def _insert(self, xs: Value, at: ast.expr, x: ast.expr) -> None:
        place, item = self.pack(self.expression(at)), self.expression(x)
        if not place.kind.is_integral:
            raise UnsupportedError("an index of a list that is not an integer")
        self.insert(xs, place, item)

    def _pop(self, xs: Value, at: ast.expr | None = None) -> Any:
        return self._pop_at(xs, self.const(-1) if at is None else self.pack(self.expression(at)))

    def _pop_left(self, xs: Value) -> Any:
        return self._pop_at(xs, self.const(0))

    def _pop_at(self, xs: Value, at: Value) -> Any:
        made = self.item(xs, at)
        self.delete_item(xs, at)
        return made

    def _extend_list(self, xs: Value, items: ast.expr) -> None:
        found = self.expression(self.as_list_display(items))
        memory = found.memory if type(found) is Value else None
        if memory is not None and memory.root() is memory_of(xs):
            raise UnsupportedError("a list extended by itself")
        self.extended(xs, found)

    def _clear(self, xs: Value) -> None:
        self.cleared(xs)

    def _rotate(self, xs: Value, by: ast.expr | None = None) -> None:
        steps = 1 if by is None else known(self.pack(self.expression(by)))
        if type(steps) is not int or abs(steps) != 1:
            raise UnsupportedError("a deque that is rotated by more than one item")
        first, last = self.const(0), self.const(-1)

        def rotate() -> None:
            if steps == 1:
                self.insert(xs, first, self._pop_at(xs, last))
            else:
                super(QueueReader, self).append(xs, self._pop_at(xs, first))

        self.branches(self.length(xs), rotate, lambda: None)

    def _index_of(self, xs: Value, x: ast.expr) -> Any:
        item = self.pack(self.expression(x))
        if not (item.kind.is_scalar and self._items_of(xs).is_scalar):
            raise UnsupportedError("the index of what is no number")
        return self.inline(index_in_list, [xs, item], {})

    def _copy(self, xs: Value) -> Value:
        return self.extended(self.new_list([]), xs)


_OF_QUEUES: dict[str, tuple[Callable, tuple[int, ...]]] = {
    "append": (QueueReader._append, (1,)),
    "appendleft": (QueueReader._append_left, (1,)),
    "pop": (QueueReader._pop, (0,)),
    "popleft": (QueueReader._pop_left, (0,)),
    "extend": (QueueReader._extend_list, (1,)),
    "clear": (QueueReader._clear, (0,)),
    "rotate": (QueueReader._rotate, (0, 1)),
}
_OF_LISTS: dict[str, tuple[Callable, tuple[int, ...]]] = {
    "append": (QueueReader._append, (1,)),
    "insert": (QueueReader._insert, (2,)),
    "pop": (QueueReader._pop, (0, 1)),
    "extend": (QueueReader._extend_list, (1,)),
    "clear": (QueueReader._clear, (0,)),
    "copy": (QueueReader._copy, (0,)),
    "index": (QueueReader._index_of, (1,)),
}
"""The methods that are read, and how many arguments they may have."""
