"""Reading tables: dicts to which keys are added at run time.

In the generated code a table is a dict, and its shadow is one whose values start at zero. All keys
are integers, strings, or tuples of these; all values are of one kind.
"""

from __future__ import annotations

import ast
import operator
import weakref
from collections.abc import Callable
from typing import Any

from autodiff.structured.form.function_ir import Memory, Named, Op, Value, known
from autodiff.structured.form.kinds import LIST, TABLE, Kind, UnsupportedError, join
from autodiff.structured.reading.containers.lists import memory_of
from autodiff.structured.reading.containers.objects_in_memory import MemoryObjectReader

_BOOL = Kind(frozenset([bool]))
_FACTORIES: dict[type, Any] = {float: 0.0, int: 0, list: None}


class TableReader(MemoryObjectReader):
    """Layer of the reader: tables."""

    # Methods that subclasses define.
    expression: Callable[[ast.expr], Any]
    _named: Callable[[ast.Call], dict[str, Any]]
    delete_item: Callable[[Value, Value], None]

    def new_table(self, items: Named, factory: type | None = None) -> Value:
        """Create a table from known items; with a factory, it is a `defaultdict`."""
        kind = TABLE if factory is None else TABLE._replace(owner=weakref.ref(factory))
        made = self.new_container(Op("dict", [], data=()), kind)
        for key, x in items.items():
            self.set_item(made, self.const(key), x)
        return made

    def new_defaultdict(self, args: list[Any]) -> Value:
        """Read ``defaultdict(factory)``."""
        factory = known(self.pack(args[0])) if len(args) == 1 else None
        if factory not in _FACTORIES:
            raise UnsupportedError("a defaultdict with this factory")
        return self.new_table(Named(), factory)

    def _item_memory(self, xs: Value, at: Value | None) -> Memory:
        if not xs.kind.is_table:
            return super()._item_memory(xs, at)
        memory = memory_of(xs)
        if at is not None:
            if not _may_be_key(at.kind):
                raise UnsupportedError("a key that is not an integer or string")
            key = at.kind.general()
            memory.keys = key if memory.keys is None else join(memory.keys, key)
        return memory

    def item(self, xs: Value, at: Value) -> Any:
        """Read ``xs[at]``; a `defaultdict` inserts a missing item."""
        factory = xs.kind.owner() if xs.kind.is_table and xs.kind.owner else None
        if factory is not None:
            value = self.new_list([]) if factory is list else self.const(_FACTORIES[factory])
            self.branches(self.has_key(xs, at), lambda: None, lambda: self.set_item(xs, at, value))
        return super().item(xs, at)

    def stored(self, xs: Value, at: Value) -> Any:
        """Read ``xs[at]`` for a key that the table has."""
        return super().item(xs, at)

    def has_key(self, xs: Value, at: Value) -> Value:
        """Read ``at in xs``."""
        self._item_memory(xs, at)
        return self.emit(Op("length", [xs, at], f=operator.contains), _BOOL)

    def list_of_keys(self, xs: Value) -> Value:
        """Return a new list of the keys."""
        made = self.emit(Op("length", [xs], f=list), LIST)
        self.lists.append(made.memory)  # type: ignore[arg-type] # a list has one
        memory_of(made).items = memory_of(xs).keys
        return made

    def of_table_method(self, xs: Value, node: ast.Call) -> Any:
        """Read a call of a method of a table."""
        name = node.func.attr  # type: ignore[attr-defined] # it is an attribute
        if name == "update" and not node.args:
            self._update(xs, Named(self._named(node)))
            return self.const(None)
        is_plain = not any(isinstance(a, ast.Starred) for a in node.args) and not node.keywords
        if not is_plain or len(node.args) not in _ARITIES.get(name, ()):
            raise UnsupportedError(f"method {name} of a dict")
        if name == "pop":
            return self._pop_key(xs, *map(self.expression, node.args))
        if name == "update":
            self._update(xs, self.expression(node.args[0]))
            return self.const(None)
        at, otherwise = self.pack(self.expression(node.args[0])), self.expression(node.args[1])
        if name == "setdefault":
            otherwise = self._as_item(otherwise)
            self.branches(
                self.has_key(xs, at), lambda: None, lambda: self.set_item(xs, at, otherwise)
            )
            return self.stored(xs, at)
        if self._item_memory(xs, at).items is None:  # none so far in this reading of a loop
            return otherwise
        return self.choose(self.has_key(xs, at), lambda: self.stored(xs, at), lambda: otherwise)

    def _pop_key(self, xs: Value, key: Any, *otherwise: Any) -> Any:
        """Read ``xs.pop(key)``, perhaps with a default."""
        at, table = self.pack(key), self.hold(xs)
        self._item_memory(xs, at)

        def pop() -> Any:
            item = self.hold(self.stored(self.read(table), at))
            self.delete_item(self.read(table), at)
            return self.read(item)

        if not otherwise:
            return pop()
        return self.choose(self.has_key(xs, at), pop, lambda: otherwise[0])

    def _update(self, xs: Value, others: Any) -> None:
        """Read ``xs.update(others)`` for a dict of known items."""
        if type(others) is not Named:
            raise UnsupportedError("update of a dict with something other than known items")
        for key, x in others.items():
            self.set_item(xs, self.const(key), x)


_ARITIES = {"get": (2,), "setdefault": (2,), "pop": (1, 2), "update": (1,)}
"""The methods that are read → how many arguments they may have."""


def _may_be_key(kind: Kind) -> bool:
    if kind.parts:
        return kind.classes == {tuple} and all(map(_may_be_key, kind.parts))
    return kind.is_integral or kind.is_text


def may_change_keys(name: str, keys: Named, function: ast.AST) -> bool:
    """Whether a function may add keys to, or remove keys from, a dict of this name."""
    for part in ast.walk(function):
        if not isinstance(part, (ast.Subscript, ast.Attribute)):
            continue
        if not isinstance(part.value, ast.Name) or part.value.id != name:
            continue
        if isinstance(part, ast.Attribute):
            changes_keys = part.attr in ("setdefault", "pop", "update")
        else:
            is_there = isinstance(part.slice, ast.Constant) and part.slice.value in keys
            is_store = isinstance(part.ctx, ast.Store)
            changes_keys = isinstance(part.ctx, ast.Del) or (is_store and not is_there)
        if changes_keys:
            return True
    return False
