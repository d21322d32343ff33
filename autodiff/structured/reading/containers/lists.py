"""Reading lists in memory.

A list of known items that is never mutated has a variable for each item (`Items`). Any other list
is a list in the generated code, too. All its items are of one kind: numbers, arrays, lists or
dicts. Such a dict has known keys, and the values under each key are of one kind.
"""

from __future__ import annotations

import ast
import math
import operator
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import Items, Maybe, Memory, Named, Op, Value, known
from autodiff.structured.form.kinds import (
    BOOL,
    DICT,
    FIXED,
    INT,
    LIST,
    TABLE,
    UNKNOWN,
    EmptyListError,
    Kind,
    ListInMemoryError,
    MixedKindsError,
    UnsupportedError,
    kind_of,
    samples,
)
from autodiff.structured.form.known_functions import has_item, item_or
from autodiff.structured.reading.containers.objects import ObjectReader
from autodiff.structured.reading.libraries.python_decompositions import HEAPS

_ARRAY = (np.array, np.asarray)
AT = ("value", 0)
"""The template of an index that is one value."""

_JOINS = frozenset({np.stack, np.vstack, np.hstack, np.concatenate, *_ARRAY})
_SUMS = (sum, math.fsum)
_STACK, _CONCATENATE, _SUM = "stack", "concatenate", "sum"

# Functions that convert a list to an array.
_OF_ARRAYS = frozenset(
    {np.sum, np.mean, np.prod, np.max, np.min, np.amax, np.amin, np.std, np.var, np.dot, np.cumsum}
    | {np.diff, np.linalg.norm, np.argmax, np.argmin, np.median, np.average, np.ptp, np.cumprod}
    | {np.diag, np.outer, np.inner, np.vdot, np.convolve, np.interp, np.polyval, np.trapezoid}
    | {np.sort, np.argsort, np.flip, np.clip, np.linalg.solve, np.linalg.inv, np.linalg.det}
    | {np.linalg.eigvalsh, np.linalg.slogdet, np.linalg.cholesky, np.trace, np.transpose, np.cross}
    | {np.ix_, math.dist}
)


class MissingKeyError(UnsupportedError):
    """A dict with fixed keys is read or written under a key that it may not have."""

    def __init__(self) -> None:
        super().__init__("a key that the dict may not have")


class ListReader(ObjectReader):
    """Layer of the reader: lists in memory."""

    def new_list(self, items: list[Value], times: Value | None = None) -> Value:
        """Read a list display, perhaps repeated."""
        op = Op("list", items if times is None else [*items, times], data=times is not None)
        made = self.new_container(op, LIST)
        for x in items:
            if times is not None and not (x.kind.is_scalar or known(x) is None):
                raise UnsupportedError("a list that repeats items other than numbers")
            self._join_item(made, x)
        return made

    def new_container(self, op: Op, kind: Kind) -> Value:
        """Emit an operation that creates a list or dict."""
        made = self.emit(op, kind)
        memory: Any = made.memory
        memory.is_indexed = True  # it has a shadow
        self.lists.append(memory)
        return made

    def dict_in_memory(self, items: Named, cls: type | None = None) -> Value:
        """Create a dict in memory from known items; with a class, it is an object.

        If the dict has a name, the new one is a copy: it may be read, but not mutated.
        """
        kind = DICT if cls is None else DICT._replace(owner=weakref.ref(cls))
        return self._displayed_dict(items, kind)

    def _displayed_dict(self, items: Named, kind: Kind) -> Value:
        parts = list(map(self._as_item, items.values()))
        made = self.new_container(Op("dict", parts, data=tuple(items)), kind)
        memory = made.root
        memory.copies |= items.own_places
        for key, x in zip(items, parts, strict=True):
            if kind.is_dict:
                memory.fields[key] = Memory()
            self._join_item(made, x, self.const(key))
        return made

    def in_memory_at(self, x: Named | Items, place: tuple[int, int]) -> Value:
        """Create the list or dict of a place in memory; a named one is copied."""
        if isinstance(x, Items):
            return self.list_in_memory(x)
        grows = place in self.assumed.displayed_tables
        return self._displayed_dict(x, TABLE if grows else DICT)

    def list_in_memory(self, items: Items) -> Value:
        """Create a list in memory from known items.

        If the list has a name, the new one is a copy: it may be read, but not mutated.
        """
        made = self.new_list(list(map(self._as_item, items)))
        made.root.copies |= items.own_places
        return made

    def _as_item(self, x: Any) -> Value:
        """Convert a value to an item of a list; a tuple becomes an immutable list."""
        if type(x) is Named:  # an empty one gets its keys later
            return self.dict_in_memory(x) if x else self._displayed_dict(x, TABLE)
        if isinstance(x, tuple) and type(x) is not Items:
            return self.fixed(self.list_in_memory(Items(x)))
        return self.list_in_memory(x) if type(x) is Items else self.pack(x)

    def check_copies(self) -> None:
        """Raise if a list is mutated that may be a copy of one with another name."""
        roots = [memory.root() for memory in self.lists]
        check_not_copied([root for root in roots if root.is_changed], "a list that changes")

    def displayed(self, node: ast.expr, made: Items | Named) -> Any:
        """Return a displayed list or dict, in memory if its place in the source requires that."""
        if not hasattr(node, "lineno"):  # not in the source
            return made
        place = node.lineno, node.col_offset
        if place in self.displayed_in_memory:
            return self.in_memory_at(made, place)
        made.places = frozenset([place])
        return made

    def _join_item(self, xs: Value, x: Value, at: Value | None = None) -> None:
        """Join the kind and memory of an item with those of the other items."""
        if known(x) is None and xs.kind.is_list and not xs.kind.is_queue:
            xs.root.has_none = True
            return
        is_constant = x.kind.is_text or x.kind.is_member
        if not (x.kind.is_scalar or x.kind.has_memory or is_constant):
            raise UnsupportedError(
                "a list of items other than numbers, texts, arrays, lists, dicts"
            )
        if x.memory is not None and x.root is xs.root:
            raise UnsupportedError("a list that contains itself")
        self._item_memory(xs, at).takes(x.kind, x.memory)

    def _item_memory(self, xs: Value, at: Value | None) -> Memory:
        """Return the memory whose `items` is the kind of ``xs[at]``."""
        memory = xs.root
        if not xs.kind.is_dict:
            if at is not None and not at.kind.is_integral:
                raise UnsupportedError("an index of a list that is not an integer")
            return memory
        key = UNKNOWN if at is None else known(at)
        if at is not None and key is UNKNOWN and xs.kind.is_mapping:
            return _any_field(memory)
        if not is_key(key) or key not in memory.fields:
            raise MissingKeyError
        return memory.fields[key].root()

    def _note_item(self, xs: Value, x: Value, at: Value | None = None) -> None:
        """Note that an item is put into a list or dict."""
        self._join_item(xs, x, at)
        self.note_mutation(xs)

    def note_mutation(self, xs: Value) -> None:
        """Note that a list or dict is mutated; raise if it is a tuple."""
        if xs.kind.is_fixed:
            raise UnsupportedError("a tuple that changes")
        xs.root.is_changed = True

    def fixed(self, xs: Value) -> Value:
        """Make a tuple of a list to which there is no other reference."""
        xs.kind = FIXED
        return xs

    def append(self, xs: Value, x: Any) -> Value:
        """Read ``xs.append(x)``."""
        if type(x) is Maybe:
            self._of_either(x, lambda y: self.append(xs, y))
            return self.const(None)
        x = self._as_item(x)
        self._note_item(xs, x)
        self.emit_effect(Op("append", [xs, x]))
        return self.const(None)

    def _of_either(self, x: Maybe, read: Callable[[Any], Any]) -> None:
        """Read what is done to a value that may be None: to the value, and to None."""
        self.branches(x.has, lambda: read(x.value), lambda: read(self.const(None)))

    def set_item(self, xs: Value, at: Value, x: Any) -> None:
        """Read ``xs[at] = x``."""
        if type(x) is Maybe:
            self._of_either(x, lambda y: self.set_item(xs, at, y))
            return
        x = self._as_item(x)
        self._note_item(xs, x, at)
        self.emit_effect(Op("set", [xs, x, at], data=AT))

    def _items_of(self, xs: Value, at: Value | None = None) -> Kind:
        """Return the kind of the items of a list, or of the value under a key."""
        kind = self._item_memory(xs, at).items
        if kind is None:
            raise EmptyListError("an item of an empty list")
        return kind

    def is_empty(self, xs: Value) -> bool:
        """Whether a list is empty, and no later iteration of a loop can append to it."""
        holder = self._item_memory(xs, None)
        return not (self.flags or holder.has_none) and holder.items is None

    def item(self, xs: Value, at: Value) -> Any:
        """Read ``xs[at]``, which must not be None."""
        return self.not_none(self.item_or_none(xs, at))

    def item_or_none(self, xs: Value, at: Value) -> Any:
        """Read ``xs[at]``."""
        kind = self._items_of(xs, at)
        is_value = kind.is_scalar or kind.is_text or kind.is_member or bool(kind.parts)
        if xs.kind.is_list and xs.root.has_none and (kind.is_scalar or kind.is_text):
            has = self.emit(Op("length", [xs, at], f=has_item), BOOL)
            otherwise = self.const(min(kind.classes, key=lambda c: c.__name__)(0))
            return Maybe(
                has, self.emit(Op("load", [xs, at, otherwise], f=item_or, data=AT), kind.general())
            )
        made = self.emit(Op("load" if is_value else "item", [xs, at], data=AT), kind)
        if not is_value:
            made.root.share(self._item_memory(xs, at).of_items)  # type: ignore[arg-type] # it has one
        if xs.kind.is_list:
            if not xs.root.has_none:
                self.read_unchecked.append(xs.root)
                return made
            self.exit_unless(
                self.emit(Op("length", [made, self.const(None)], f=operator.is_not), BOOL)
            )
        return made

    def check_items_not_none(self) -> None:
        """Raise if an item that was read without a check may be None."""
        if any(memory.root().has_none for memory in self.read_unchecked):
            raise UnsupportedError("an item of a list that may be None")

    def length(self, xs: Value) -> Value:
        """Read ``len(xs)``."""
        return self.emit(Op("length", [xs], f=len), INT)

    # -- functions of lists ------------------------------------------------------------------------

    def of_list(self, f: Callable, args: list[Any], options: dict[str, Any]) -> Any:
        """Read a call with a list in memory; NotImplemented for other functions."""
        if f is len and len(args) == 1 and not options:
            return self.length(args[0])
        if f is has_item or f is item_or:  # in a tangent function
            found = self.item_or_none(*args[:2])
            if type(found) is not Maybe:
                return self.const(True) if f is has_item else found
            return found.has if f is has_item else found.value
        if f in _SUMS and len(args) == 1 and not options:
            return self._sum_of(f, args[0])
        if f in _JOINS and len(args) == 1:
            return self._joined(f, args[0], {k: self.pack(v) for k, v in options.items()})
        return NotImplemented

    def vectors_to_join(self, parts: tuple) -> tuple:
        """Convert lists of numbers that are joined with vectors of floats to vectors."""
        is_vector = [type(p) is Value and p.kind.dtype == np.float64 for p in parts]
        if not any(is_vector):
            return parts
        return tuple([p if is_one else self.as_vector(p, of_integers=True)
                      for p, is_one in zip(parts, is_vector, strict=True)])  # fmt: skip

    def as_vector(self, p: Any, of_integers: bool = False) -> Any:
        """Convert a list of numbers to a vector of floats; return anything else unchanged."""
        if not isinstance(p, tuple) or not all(type(x) is Value and x.kind.is_scalar for x in p):
            return p
        if not p or not (of_integers or any(x.kind.is_inexact for x in p)):
            return p
        floats = [
            self.const(float(known(x))) if x.kind.is_known and not x.kind.is_complex else x
            for x in p
        ]
        return self.emit_call(np.array, [self.pack(tuple(floats), given=True)])

    def as_array(self, f: Callable, x: Any) -> Any:
        """Convert a list in memory to an array, if the function does that."""
        if type(x) is not Value or not x.kind.is_list:
            return x
        if not isinstance(f, np.ufunc) and f not in _OF_ARRAYS:
            raise UnsupportedError("a list as an argument")
        return self._joined(np.asarray, x, {})

    def _sum_of(self, f: Callable, xs: Value) -> Value:
        """Read ``sum(xs)`` or ``math.fsum(xs)``."""
        if f is sum and self.is_empty(xs):
            return self.const(0)
        kind = self._items_of(xs)
        if kind.has_items or (f is not sum and (kind.is_complex or not kind.is_scalar)):
            raise UnsupportedError("a sum of items other than numbers and arrays")
        if f is not sum:
            made = Kind(frozenset([float]))
        elif kind.is_array:
            made = kind_of(0 + samples(kind)[0])
        else:
            classes: set[type] = {int}
            for _ in range(2):
                classes |= {type(c(2) + x) for c in classes for x in samples(kind)}
            made = Kind(frozenset(classes))
            if not made.is_scalar:
                raise UnsupportedError("a sum of numbers of other classes")
        return self.emit(Op("join", [xs], f=f, data=(_SUM, 0)), made)

    def _joined(self, f: Callable, xs: Value, options: dict[str, Value]) -> Value:
        """Read a function that joins or stacks the items of a list."""
        sample = self._sample(self._items_of(xs), xs.root)
        if not all(v.kind.is_known for v in options.values()):
            raise UnsupportedError("an option that is not a constant")
        named = {name: known(v) for name, v in options.items()}
        if named.keys() - ({"dtype"} if f in _ARRAY else {"axis"}):
            raise UnsupportedError("an array of a list, with this option")
        try:
            kind = kind_of(f([sample, sample], **named))
        except (TypeError, ValueError) as error:
            raise UnsupportedError("a call that fails") from error
        axis = named.get("axis", 0)
        ndim = np.ndim(sample)
        stacks = f in (*_ARRAY, np.stack) or (f is np.vstack and ndim == 1)
        if f in (np.vstack, np.hstack):
            axis = int(f is np.hstack and ndim > 1)
        if type(axis) is not int or (not stacks and not ndim):
            raise UnsupportedError("an array of a list, with this option")
        data = (_STACK if stacks else _CONCATENATE, axis)
        return self.emit(Op("join", [xs], f=f, options=options, data=data), kind)

    def _sample(self, kind: Kind, memory: Memory) -> Any:
        """Return a sample item of a list: a float if the items may be floats or integers."""
        if not kind.is_list:  # a dict has no samples
            return next((x for x in samples(kind) if not isinstance(x, int)), samples(kind)[0])
        inner: Any = memory.of_items and memory.of_items.root()
        if inner.items is None:
            raise EmptyListError("a list of empty lists")
        return [self._sample(inner.items, inner)] * 2


def check_not_copied(memories: Iterable[Memory], what: str) -> None:
    """Raise if a list or dict in this memory may be a copy of one that has a name."""
    copies = {place for memory in memories for place in memory.root().copies}
    if copies:
        raise ListInMemoryError(f"{what}, and has another name", filter(None, copies))


VIEWS = frozenset({"keys", "values", "items"})
"""Methods of dicts that return views."""
CHANGES = frozenset({"append", "insert", "pop", "extend", "clear"})
"""Methods that mutate a list."""
_CHANGING = frozenset({f.__name__ for f in HEAPS})


def is_unaliased_dict(name: str, function: ast.AST) -> bool:
    """Whether a dict of this name is local to the function and has no alias.

    It is displayed, or a comprehension, bound to this name alone. It is used only to read and write
    items, to iterate over keys, and to pass views to a function: a view changes with the dict.
    """
    uses = {id(part.value) for part in ast.walk(function) if isinstance(part, ast.Subscript)}
    uses |= {id(part.iter) for part in ast.walk(function) if isinstance(part, ast.For)}
    handed = {id(a) for part in ast.walk(function) if isinstance(part, ast.Call) for a in part.args}
    uses |= {
        id(part.func.value)
        for part in ast.walk(function)
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)
        if part.func.attr == "get" or (part.func.attr in VIEWS and id(part) in handed)
    }
    displayed = {
        id(part.targets[0])
        for part in ast.walk(function)
        if isinstance(part, ast.Assign) and len(part.targets) == 1
        if isinstance(part.value, (ast.Dict, ast.DictComp))
    }
    names = [part for part in ast.walk(function) if isinstance(part, ast.Name) and part.id == name]
    made = [part for part in names if id(part) not in uses]
    if any(isinstance(part, ast.arg) and part.arg == name for part in ast.walk(function)):
        return False
    return len(made) == 1 and id(made[0]) in displayed


def is_key(x: Any) -> bool:
    """Whether this may be the key of a dict: an integer, a text, or a tuple of these."""
    return type(x) in (str, int) or (type(x) is tuple and all(map(is_key, x)))


def _any_field(memory: Memory) -> Memory:
    """Return the memory of the values of a dict with known keys, under a key that is not known.

    From then on all values of the dict are of one kind and in one alias class.
    """
    first, *others = memory.fields.values()
    try:
        for field in others:
            first.root().share(field)
    except MixedKindsError:
        raise UnsupportedError("a key that is not known, of values of several kinds") from None
    return first.root()


def mutated_names(node: ast.FunctionDef | ast.Lambda) -> set[str]:
    """Return the names whose lists or arrays a function mutates, by item or by method."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
            owner: ast.expr = part.value
        elif isinstance(part, ast.AugAssign):
            owner = part.target
        elif isinstance(part, ast.Attribute) and part.attr in CHANGES:
            owner = part.value
        elif isinstance(part, ast.Call) and part.args and _last_name(part.func) in _CHANGING:
            owner = part.args[0]
        else:
            continue
        while isinstance(owner, ast.Subscript):
            owner = owner.value
        if isinstance(owner, ast.Name):
            found.add(owner.id)
    return found


def _last_name(node: ast.expr) -> str:
    """Return the name of a function, without that of its module."""
    return getattr(node, "attr", getattr(node, "id", ""))


def mutates_dicts(node: ast.FunctionDef | ast.Lambda) -> bool:
    """Whether a function stores under constant string keys, not only in dicts of its own."""
    stores = [
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Subscript)
        and isinstance(part.ctx, ast.Store)
        and isinstance(part.slice, ast.Constant)
        and type(part.slice.value) is str
    ]
    return any(not (isinstance(x, ast.Name) and is_unaliased_dict(x.id, node)) for x in stores)
