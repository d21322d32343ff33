"""Reading tables: dicts to which keys are added at run time.

In the generated code a table is a dict, and its shadow is one whose values start at zero. All keys
are integers, strings, or tuples of these; all values are of one kind.
"""

from __future__ import annotations

import ast
import collections
import operator
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from autodiff.structured.form.function_ir import Items, Memory, Named, Op, Value, known
from autodiff.structured.form.kinds import BOOL, LIST, TABLE, Kind, UnsupportedError, join
from autodiff.structured.form.known_functions import has_keys
from autodiff.structured.reading.containers.lists import AT, is_key
from autodiff.structured.reading.containers.objects_in_memory import MemoryObjectReader

_FACTORIES: dict[type, Any] = {float: 0.0, int: 0, list: None, set: None, collections.Counter: 0}
_SET = TABLE._replace(owner=weakref.ref(set))


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
        if factory not in _FACTORIES or factory is collections.Counter:
            raise UnsupportedError("a defaultdict with this factory")
        return self.new_table(Named(), _Sets if factory is set else factory)

    def new_counter(self) -> Value:
        """Read ``Counter()``: a dict in which missing numbers are 0."""
        return self.new_table(Named(), collections.Counter)

    def new_set(self, items: Iterable[Any]) -> Value:
        """Create a set from known items."""
        made = self.new_container(Op("dict", [], data=()), _SET)
        for x in items:
            self.add_to_set(made, x)
        return made

    def set_from(self, f: Callable, *args: Value) -> Value:
        """Return the set that a function makes of sets, or of a dict."""
        made = self.emit(Op("length", list(args), f=f), _SET)
        self.lists.append(made.memory)  # type: ignore[arg-type] # a set has one
        for xs in args:
            self._takes_keys(made, xs.root.keys)
        return made

    def _takes_keys(self, xs: Value, keys: Kind | None) -> None:
        """Note that a set has items of this kind."""
        memory = xs.root
        if keys is not None:
            memory.keys = keys if memory.keys is None else join(memory.keys, keys)
            memory.takes(BOOL, None)

    def update_set(self, xs: Value, others: Any) -> None:
        """Read ``xs |= others`` of two sets."""
        if type(others) is not Value or not others.kind.is_set:
            raise UnsupportedError("update of a set with something other than a set")
        self._takes_keys(xs, others.root.keys)
        self.note_mutation(xs)
        self.emit_effect(Op("set", [xs, self.const(True), others], data=AT))

    def add_to_set(self, xs: Value, x: Any) -> None:
        """Read ``xs.add(x)``."""
        self.set_item(xs, self.pack(x), self.const(True))

    def _of_set(self, xs: Value, node: ast.Call) -> Value:
        """Read a call of a method of a set."""
        name = node.func.attr  # type: ignore[attr-defined] # it is an attribute
        is_one = len(node.args) == 1 and not isinstance(node.args[0], ast.Starred)
        if name == "copy" and not node.args:
            return self.set_from(set.copy, xs)
        if not is_one or node.keywords:
            raise UnsupportedError(f"method {name} of a set")
        given = self.expression(node.args[0])
        if name in _OF_SETS and type(given) is Value and given.kind.is_set:
            return self.set_from(_OF_SETS[name], xs, given)
        if name == "update":
            self.update_set(xs, given)
            return self.const(None)
        if name not in ("add", "discard", "remove"):
            raise UnsupportedError(f"method {name} of a set")
        at = self.pack(given)
        if name == "add":
            self.add_to_set(xs, at)
        elif name == "remove":
            self.delete_item(xs, at)
        else:
            self.branches(self.has_key(xs, at), lambda: self.delete_item(xs, at), lambda: None)
        return self.const(None)

    def _item_memory(self, xs: Value, at: Value | None) -> Memory:
        if not xs.kind.is_table:
            return super()._item_memory(xs, at)
        memory = xs.root
        if at is not None:
            if not may_be_key(at.kind):
                raise UnsupportedError("a key that is not an integer or string")
            key = at.kind.general()
            memory.keys = key if memory.keys is None else join(memory.keys, key)
        return memory

    def item_or_none(self, xs: Value, at: Value) -> Any:
        """Read ``xs[at]``; a `defaultdict` inserts a missing item."""
        factory = _factory_of(xs)
        if xs.kind.is_set:
            raise UnsupportedError("an item of a set")
        if factory is collections.Counter:
            return self.item_or(xs, at, self.const(0))
        if factory is not None:
            value = self._default_item(factory)
            self.branches(self.has_key(xs, at), lambda: None, lambda: self.set_item(xs, at, value))
        return super().item_or_none(xs, at)

    def _default_item(self, factory: Any) -> Value:
        if factory is _Sets:
            return self.new_set([])
        return self.new_list([]) if factory is list else self.const(_FACTORIES[factory])

    def stored(self, xs: Value, at: Value) -> Any:
        """Read ``xs[at]`` for a key that the table has."""
        return super().item_or_none(xs, at)

    def set_item(self, xs: Value, at: Value, x: Any) -> None:
        """Read ``xs[at] = x``; the program exits if that adds a key to a dict with fixed keys."""
        if xs.kind.is_mapping and not xs.kind.is_table and not at.kind.is_known:
            self.exit_unless(self.has_key(xs, at))
        super().set_item(xs, at, x)

    def has_key(self, xs: Value, at: Value) -> Value:
        """Read ``at in xs``."""
        if xs.kind.is_table:
            self._item_memory(xs, at)
        elif not may_be_key(at.kind):
            raise UnsupportedError("a key that is not an integer or string")
        return self.emit(Op("length", [xs, at], f=operator.contains), BOOL)

    def list_of_keys(self, xs: Value) -> Value:
        """Return a new list of the keys."""
        if not xs.kind.is_table:
            return self.list_in_memory(Items(map(self.const, self.keys_in_order(xs))))
        return self.list_of(list, xs.root.keys, xs)

    def list_of(self, f: Callable, items: Kind | None, *args: Value) -> Value:
        """Return a new list that a function makes, with items of this kind: keys or integers."""
        made = self.emit(Op("length", list(args), f=f), LIST)
        self.lists.append(made.root)
        made.root.items = items
        return made

    def keys_in_order(self, xs: Value) -> tuple:
        """Return the keys of a dict with fixed keys; the program exits if their order differs."""
        keys = tuple(xs.root.fields)
        self.exit_unless(self.emit(Op("length", [xs, self.const(keys)], f=has_keys), BOOL))
        return keys

    def of_table_method(self, xs: Value, node: ast.Call) -> Any:
        """Read a call of a method of a dict in memory that reads or changes items."""
        name = node.func.attr  # type: ignore[attr-defined] # it is an attribute
        if xs.kind.is_set:
            return self._of_set(xs, node)
        if not xs.kind.is_table and name != "get":  # its keys are fixed
            raise UnsupportedError(f"method {name} of a dict")
        if name == "update" and _factory_of(xs) is collections.Counter:
            raise UnsupportedError("update of a Counter, which adds")
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
        at = self.pack(self.expression(node.args[0]))
        if not node.args[1:]:
            # Each reading of the function gives it the same name: `may_be_none` refers to it.
            chosen = f".got_{node.lineno}_{node.col_offset}"
            return self.item_or(xs, at, self.const(None), chosen)
        otherwise = self.expression(node.args[1])
        if name == "get":
            return self.item_or(xs, at, otherwise)
        otherwise = self._as_item(otherwise)
        self.branches(self.has_key(xs, at), lambda: None, lambda: self.set_item(xs, at, otherwise))
        return self.stored(xs, at)

    def item_or(self, xs: Value, at: Value, otherwise: Any, name: str | None = None) -> Any:
        """Read ``xs.get(at, otherwise)``; `name` is a variable for the result."""
        is_missing = is_key(known(at)) and known(at) not in xs.root.fields
        if not xs.kind.is_table and is_missing:
            return otherwise
        if self._item_memory(xs, at).items is None:  # none so far in this reading of a loop
            return otherwise
        return self.choose(
            self.has_key(xs, at), lambda: self.stored(xs, at), lambda: otherwise, name
        )

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


class _Sets:
    """Stands for the factory `set` of a defaultdict: a table whose factory is `set` is a set."""


_OF_SETS: dict[str, Callable] = {
    "union": operator.or_, "intersection": operator.and_, "difference": operator.sub,
    "symmetric_difference": operator.xor,
}  # fmt: skip
"""Methods of sets → the operators that do the same for two sets."""

SET_OPERATORS = frozenset(_OF_SETS.values())

_ARITIES = {"get": (1, 2), "setdefault": (2,), "pop": (1, 2), "update": (1,)}
"""The methods that are read → how many arguments they may have."""


def _factory_of(xs: Value) -> Any:
    """Return the factory of a defaultdict, `Counter` or `set`; None for other dicts."""
    return xs.kind.owner() if xs.kind.is_table and xs.kind.owner else None


def may_be_key(kind: Kind) -> bool:
    """Whether values of this kind may be keys: integers, texts, and tuples of these."""
    if kind.parts:
        return kind.classes == {tuple} and all(map(may_be_key, kind.parts))
    return kind.is_integral or kind.is_text


def may_change_keys(name: str, keys: Named, function: ast.AST) -> bool:
    """Whether a function may add keys to, or remove keys from, a dict of this name.

    A store under the key that a loop over the dict itself has reached (``for k in d``) does not.
    """
    under_own = {id(part) for part in _stores_in_loops_over(name, function)}
    for part in ast.walk(function):
        if not isinstance(part, (ast.Subscript, ast.Attribute)):
            continue
        if not isinstance(part.value, ast.Name) or part.value.id != name:
            continue
        if isinstance(part, ast.Attribute):
            changes_keys = part.attr in ("setdefault", "pop", "update")
        else:
            is_there = id(part) in under_own or (
                isinstance(part.slice, ast.Constant) and part.slice.value in keys
            )
            is_store = isinstance(part.ctx, ast.Store)
            changes_keys = isinstance(part.ctx, ast.Del) or (is_store and not is_there)
        if changes_keys:
            return True
    return False


def _stores_in_loops_over(name: str, function: ast.AST) -> Iterator[ast.AST]:
    """Yield the items ``d[k]`` in loops ``for k in d`` over a dict of this name."""
    for loop in ast.walk(function):
        if not (isinstance(loop, ast.For) and isinstance(loop.iter, ast.Name)):
            continue
        if loop.iter.id != name or not isinstance(loop.target, ast.Name):
            continue
        for part in ast.walk(loop):
            at = part.slice if isinstance(part, ast.Subscript) else None
            if isinstance(at, ast.Name) and at.id == loop.target.id:
                yield part
