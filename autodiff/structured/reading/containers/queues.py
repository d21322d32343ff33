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
from autodiff.structured.form.kinds import BOUNDED, DEQUE, INT, LIST, UnsupportedError
from autodiff.structured.form.known_functions import most_items
from autodiff.structured.reading.containers.lists import AT
from autodiff.structured.reading.containers.tables import TableReader
from autodiff.structured.reading.libraries.python_decompositions import (
    index_in_list,
    reverse_items,
)


class QueueReader(TableReader):
    """Layer of the reader: methods of lists and deques, and the construction of deques."""

    # Methods that subclasses define.
    expression_or_none: Callable[[ast.expr], Any]
    as_list_display: Callable[[ast.expr], ast.expr]
    extended: Callable[[Value, Any], Value]
    sort: Callable[[Value, dict[str, Any]], None]
    cleared: Callable[[Value], None]

    def append(self, xs: Value, x: Any) -> Value:
        """Read ``xs.append(x)``."""
        if xs.kind == BOUNDED:
            x = self._as_item(self.not_none(x))
            self._make_room(xs, 0)
        return super().append(xs, x)

    def insert(self, xs: Value, at: Any, x: Any) -> None:
        """Read ``xs.insert(at, x)``."""
        place, x = self.pack(at), self._as_item(x)
        if not place.kind.is_integral:
            raise UnsupportedError("an index of a list that is not an integer")
        self._note_item(xs, x)
        self.emit_effect(Op("insert", [xs, x, place], data=AT))

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
        given = [self.as_list_display(a) if name == "extend" else a for a in node.args]
        read = self.expression_or_none if name == "append" else self.expression
        made = getattr(self, method[0])(xs, *map(read, given))
        return self.const(None) if made is None else made

    def _maxlen_of(self, xs: Value) -> Value:
        return self.emit(Op("length", [xs], f=most_items), INT)

    def _make_room(self, xs: Value, at: int) -> None:
        """Drop the item at an index if a deque is full."""
        is_full = self.emit_call(operator.eq, [self.length(xs), self._maxlen_of(xs)])
        self.branches(is_full, lambda: self.delete_item(xs, self.const(at)), lambda: None)

    def _append_left(self, xs: Value, x: Any) -> None:
        item = self._as_item(x)
        if xs.kind == BOUNDED:
            self._make_room(xs, -1)
        self.insert(xs, self.const(0), item)

    def pop(self, xs: Value, at: Any = None) -> Any:
        """Read ``xs.pop(at)``."""
        place = self.const(-1) if at is None else self.pack(at)
        made = self.item(xs, place)
        self.delete_item(xs, place)
        return made

    def _pop_left(self, xs: Value) -> Any:
        return self.pop(xs, self.const(0))

    def _extend_list(self, xs: Value, items: Any) -> None:
        if type(items) is Value and items.memory is not None and items.root is xs.root:
            raise UnsupportedError("a list extended by itself")
        self.extended(xs, items)

    def _rotate(self, xs: Value, by: Any = None) -> None:
        steps = 1 if by is None else known(self.pack(by))
        if type(steps) is not int or abs(steps) != 1:
            raise UnsupportedError("a deque that is rotated by more than one item")
        first, last = self.const(0), self.const(-1)

        def rotate() -> None:
            if steps == 1:
                self.insert(xs, first, self.pop(xs, last))
            else:
                super(QueueReader, self).append(xs, self.pop(xs, first))

        self.branches(self.length(xs), rotate, lambda: None)

    def _index_of(self, xs: Value, x: Any) -> Any:
        item = self.pack(x)
        if not (item.kind.is_scalar and self._items_of(xs).is_scalar):
            raise UnsupportedError("the index of what is no number")
        return self.inline(index_in_list, [xs, item], {})

    def _reverse(self, xs: Value) -> None:
        self.inline(reverse_items, [xs], {})

    def _copy(self, xs: Value) -> Value:
        return self.extended(self.new_list([]), xs)


_OF_QUEUES: dict[str, tuple[str, tuple[int, ...]]] = {
    "append": ("append", (1,)),
    "appendleft": ("_append_left", (1,)),
    "pop": ("pop", (0,)),
    "popleft": ("_pop_left", (0,)),
    "extend": ("_extend_list", (1,)),
    "clear": ("cleared", (0,)),
    "rotate": ("_rotate", (0, 1)),
}
_OF_LISTS: dict[str, tuple[str, tuple[int, ...]]] = {
    "append": ("append", (1,)),
    "insert": ("insert", (2,)),
    "pop": ("pop", (0, 1)),
    "extend": ("_extend_list", (1,)),
    "clear": ("cleared", (0,)),
    "copy": ("_copy", (0,)),
    "index": ("_index_of", (1,)),
    "reverse": ("_reverse", (0,)),
}
"""Method of a list → the method that reads it, and how many arguments it may have."""
