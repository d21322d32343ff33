"""Reading dicts that grow: tables, whose keys are found while the program runs.

In the generated code a table is a dict, and its shadow one of zeros. All its keys are integers,
texts, or tuples of such; all its values are of one kind.
"""

from __future__ import annotations

import ast
import operator
import weakref
from typing import Any

from autodiff.structured.form.ir import Memory, Named, Op, Value, known
from autodiff.structured.form.kinds import LIST, TABLE, Kind, UnsupportedError, join
from autodiff.structured.reading.containers.objects_in_memory import ObjectsInMemory

_BOOL = Kind(frozenset([bool]))
_FACTORIES: dict[type, Any] = {float: 0.0, int: 0, list: None}


class Tables(ObjectsInMemory):
    """Reads tables."""

    def expression(self, node: ast.expr) -> Any:
        """Read an expression."""
        raise NotImplementedError

    def table_from(self, items: Named, factory: type | None = None) -> Value:
        """Make a table of a dict whose items are known; it may be a `defaultdict`."""
        kind = TABLE if factory is None else TABLE._replace(owner=weakref.ref(factory))
        made = self.made(Op("dict", [], data=()), kind)
        memory: Any = made.memory
        memory.is_indexed = True  # it has a shadow
        self.lists.append(memory)
        for key, x in items.items():
            self.set_item(made, self.const(key), x)
        return made

    def default_table(self, args: list[Any]) -> Value:
        """Read ``defaultdict(float)``."""
        factory = known(self.one(args[0])) if len(args) == 1 else None
        if factory not in _FACTORIES:
            raise UnsupportedError("a defaultdict of this form")
        return self.table_from(Named(), factory)

    def _holder(self, xs: Value, at: Value | None) -> Memory:
        if not xs.kind.is_table:
            return super()._holder(xs, at)
        memory: Memory = xs.memory.root()  # type: ignore[union-attr] # a table has one
        if at is not None:
            if not _may_be_key(at.kind):
                raise UnsupportedError("a key that is no integer or text")
            memory.keys = _joined_key(memory.keys, at.kind.general())
        return memory

    def item(self, xs: Value, at: Value) -> Any:
        """Read ``xs[at]``; a `defaultdict` gets what is missing."""
        factory = xs.kind.owner() if xs.kind.is_table and xs.kind.owner else None
        if factory is not None:
            value = self.list_of([]) if factory is list else self.const(_FACTORIES[factory])
            self.branches(self.has_key(xs, at), lambda: None, lambda: self.set_item(xs, at, value))
        return super().item(xs, at)

    def stored(self, xs: Value, at: Value) -> Any:
        """Read what is under a key."""
        return super().item(xs, at)

    def has_key(self, xs: Value, at: Value) -> Value:
        """Read ``at in xs``."""
        self._holder(xs, at)
        return self.made(Op("length", [xs, at], f=operator.contains), _BOOL)

    def keys_of(self, xs: Value) -> Value:
        """Return a list of the keys as they are now."""
        memory: Memory = xs.memory.root()  # type: ignore[union-attr] # a table has one
        made = self.made(Op("length", [xs], f=list), LIST)
        self.lists.append(made.memory)  # type: ignore[arg-type] # a list has one
        made.memory.root().items = memory.keys  # type: ignore[union-attr]
        return made

    def of_table_method(self, xs: Value, node: ast.Call) -> Any:
        """Read a call of a method of a table."""
        name = node.func.attr  # type: ignore[attr-defined] # it is an attribute
        is_plain = not any(isinstance(a, ast.Starred) for a in node.args) and not node.keywords
        if not is_plain or len(node.args) not in _NUMBERS.get(name, ()):
            raise UnsupportedError(f"method {name} of a dict")
        if name == "pop":
            return self._popped(xs, *map(self.expression, node.args))
        if name == "update":
            self._updated(xs, self.expression(node.args[0]))
            return self.const(None)
        at, otherwise = self.one(self.expression(node.args[0])), self.expression(node.args[1])
        if name == "setdefault":
            otherwise = self._as_item(otherwise)
            self.branches(
                self.has_key(xs, at), lambda: None, lambda: self.set_item(xs, at, otherwise)
            )
            return self.stored(xs, at)
        if self._holder(xs, at).items is None:  # in this round of a loop
            return otherwise
        return self.choose(self.has_key(xs, at), lambda: self.stored(xs, at), lambda: otherwise)

    def _popped(self, xs: Value, key: Any, *otherwise: Any) -> Any:
        """Read ``xs.pop(key)``, perhaps with what is returned if there is none."""
        at, held = self.one(key), self.held(xs)
        self._holder(xs, at)

        def taken() -> Any:
            item = self.held(self.stored(self.read(held), at))
            self.drop_item(self.read(held), at)
            return self.read(item)

        if not otherwise:
            return taken()
        return self.choose(self.has_key(xs, at), taken, lambda: otherwise[0])

    def _updated(self, xs: Value, others: Any) -> None:
        """Read ``xs.update(others)`` of a dict whose keys are known."""
        if type(others) is not Named:
            raise UnsupportedError("method update of a dict, with what is no dict of known keys")
        for key, x in others.items():
            self.set_item(xs, self.const(key), x)

    def drop_item(self, xs: Value, at: Value) -> None:
        """Read ``del xs[at]``."""
        raise NotImplementedError


# Of the methods that are read: how many arguments each may have.
_NUMBERS = {"get": (2,), "setdefault": (2,), "pop": (1, 2), "update": (1,)}


def _may_be_key(kind: Kind) -> bool:
    if kind.parts:
        return kind.classes == {tuple} and all(map(_may_be_key, kind.parts))
    return kind.is_integral or kind.is_text


def _joined_key(a: Kind | None, b: Kind) -> Kind:
    return b if a is None else join(a, b)


def grows_by_keys(name: str, keys: Named, function: ast.AST) -> bool:
    """Whether a function writes under other keys of a dict of this name than those displayed."""
    for part in ast.walk(function):
        if isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
            is_own = isinstance(part.value, ast.Name) and part.value.id == name
            is_there = isinstance(part.slice, ast.Constant) and part.slice.value in keys
            if is_own and (not is_there or isinstance(part.ctx, ast.Del)):
                return True
        elif isinstance(part, ast.Attribute) and part.attr in ("setdefault", "pop", "update"):
            is_own = isinstance(part.value, ast.Name) and part.value.id == name
            if is_own:
                return True
    return False
