"""Reading lists that may grow.

A list whose items are known one by one, and which nobody changes, has a variable for each item
(`Items`). Any other list is a list in the generated code as well. All its items are of one kind:
numbers, arrays, lists or dicts. A dict in such a list is a dict in the generated code, whose keys
are known; what it has under each of them is of one kind.
"""

from __future__ import annotations

import ast
import math
import operator
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autodiff.structured.form.ir import Items, Memory, Named, Op, Value, known
from autodiff.structured.form.kinds import (
    DICT,
    FIXED,
    LIST,
    UNKNOWN,
    Kind,
    ListInMemoryError,
    NoItemsError,
    UnsupportedError,
    kind_of,
    samples,
)
from autodiff.structured.reading.containers.objects import Objects

_INT, _BOOL = Kind(frozenset([int])), Kind(frozenset([bool]))
_AT = ("value", 0)
_ARRAY = (np.array, np.asarray)
_JOINS = frozenset({np.stack, np.vstack, np.hstack, np.concatenate, *_ARRAY})
_SUMS = (sum, math.fsum)
_STACK, _CONCATENATE, _SUM = "stack", "concatenate", "sum"

# Functions that first make an array of a list.
_OF_ARRAYS = frozenset(
    {np.sum, np.mean, np.prod, np.max, np.min, np.amax, np.amin, np.std, np.var, np.dot, np.cumsum}
    | {np.diff, np.linalg.norm, np.argmax, np.argmin, np.median, np.average, np.ptp, np.cumprod}
    | {np.diag, np.outer, np.inner, np.vdot, np.convolve, np.interp, np.polyval, np.trapezoid}
    | {np.sort, np.argsort, np.flip, np.clip, np.linalg.solve, np.linalg.inv, np.linalg.det}
    | {np.linalg.eigvalsh, np.linalg.slogdet, np.linalg.cholesky, np.trace, np.transpose, np.cross}
)


class Lists(Objects):
    """Reads lists that may grow."""

    def list_of(self, items: list[Value], times: Value | None = None) -> Value:
        """Read a list that is displayed, and perhaps repeated."""
        op = Op("list", items if times is None else [*items, times], data=times is not None)
        made = self.made(op, LIST)
        memory: Any = made.memory
        memory.is_indexed = True  # it has a shadow
        self.lists.append(memory)
        for x in items:
            if times is not None and known(x) is None:
                memory.has_none = True
                continue
            if times is not None and not x.kind.is_scalar:
                raise UnsupportedError("a list that repeats what is no number")
            self._takes(made, x)
        return made

    def dict_from(self, items: Named, cls: type | None = None) -> Value:
        """Make a dict in memory of one whose items are known; a copy, if that has a name.

        It may be an object of a class.
        """
        parts = list(map(self._as_item, items.values()))
        kind = DICT if cls is None else DICT._replace(owner=weakref.ref(cls))
        made = self.made(Op("dict", parts, data=tuple(items)), kind)
        memory: Any = made.memory
        memory.is_indexed = True  # it has a shadow
        memory.copies |= items.own_places
        self.lists.append(memory)
        for key, x in zip(items, parts, strict=True):
            memory.fields[key] = Memory()
            self._takes(made, x, self.const(key))
        return made

    def list_from(self, items: Items) -> Value:
        """Make a list that may grow of one whose items are known.

        If that has a name, this is a copy, which may be read, but not be changed.
        """
        parts = list(map(self._as_item, items))
        made = self.list_of(parts)
        made.memory.root().copies |= items.own_places  # type: ignore[union-attr] # a list has one
        return made

    def _as_item(self, x: Any) -> Value:
        """Return what is put into a list; a tuple is a list there that nobody changes."""
        if type(x) is Named:
            return self.dict_from(x)
        if isinstance(x, tuple) and type(x) is not Items:
            return self.fixed(self.list_from(Items(x)))
        return self.list_from(x) if type(x) is Items else self.one(x)

    def check_copies(self) -> None:
        """Raise if a list is changed that may be a copy of one with another name."""
        roots = [memory.root() for memory in self.lists]
        check_copied([root for root in roots if root.is_changed], "a list that changes")

    def displayed(self, node: ast.expr, made: Items | Named) -> Any:
        """Return a list or dict that is displayed; in memory, if those of this place are so."""
        if not hasattr(node, "lineno"):  # the reader made it
            return made
        place = node.lineno, node.col_offset
        if place in self.displayed_in_memory:
            return self.dict_from(made) if isinstance(made, Named) else self.list_from(made)
        made.places = frozenset([place])
        return made

    def _takes(self, xs: Value, x: Value, at: Value | None = None) -> None:
        is_constant = (x.kind.is_text or x.kind.is_member) and xs.kind.is_object
        if not (x.kind.is_scalar or x.kind.has_memory or is_constant):
            raise UnsupportedError("a list of what is no number, array, list or dict")
        if x.memory is not None and x.memory.root() is xs.memory.root():  # type: ignore[union-attr] # a list has one
            raise UnsupportedError("a list in itself")
        self._holder(xs, at).takes(x.kind, x.memory)

    def _holder(self, xs: Value, at: Value | None) -> Memory:
        """Return what has the kind of the items of a list, or of a dict under a key."""
        memory: Any = xs.memory
        if not xs.kind.is_dict:
            if at is not None and not at.kind.is_integral:
                raise UnsupportedError("an index of a list that is no integer")
            return memory.root()
        key = UNKNOWN if at is None else known(at)
        if not is_key(key) or key not in memory.root().fields:
            raise UnsupportedError("a key that is not known")
        return memory.root().fields[key].root()

    def _changes(self, xs: Value, x: Value, at: Value | None = None) -> None:
        self._takes(xs, x, at)
        self.note_change(xs)

    def note_change(self, xs: Value) -> None:
        """Note that a list or dict is changed; raise if it is a tuple."""
        if xs.kind.is_fixed:
            raise UnsupportedError("a tuple that changes")
        xs.memory.root().is_changed = True  # type: ignore[union-attr] # a list has one

    def fixed(self, xs: Value) -> Value:
        """Return a list that nobody else has as a tuple."""
        xs.kind = FIXED
        return xs

    def append(self, xs: Value, x: Any) -> Value:
        """Read ``xs.append(x)``."""
        x = self._as_item(x)
        self._changes(xs, x)
        self.done(Op("append", [xs, x]))
        return self.const(None)

    def set_item(self, xs: Value, at: Value, x: Any) -> None:
        """Read ``xs[at] = x``."""
        x = self._as_item(x)
        self._changes(xs, x, at)
        self.done(Op("set", [xs, x, at], data=_AT))

    def _items_of(self, xs: Value, at: Value | None = None) -> Kind:
        kind = self._holder(xs, at).items
        if kind is None:
            raise NoItemsError("an item of a list that has none")
        return kind

    def is_empty(self, xs: Value) -> bool:
        """Whether nothing has been put into a list, and no later turn of a loop may do so."""
        holder = self._holder(xs, None)
        return not (self.flags or holder.has_none) and holder.items is None

    def item(self, xs: Value, at: Value) -> Value:
        """Read ``xs[at]``."""
        kind = self._items_of(xs, at)
        is_one = kind.is_scalar or kind.is_text or kind.is_member or bool(kind.parts)
        made = self.made(Op("load" if is_one else "item", [xs, at], data=_AT), kind)
        if not is_one:
            made.memory.share(self._holder(xs, at).of_items)  # type: ignore[union-attr, arg-type]
        if xs.kind.is_list:
            memory: Any = xs.memory
            if not memory.root().has_none:
                self.read_as_they_are.append(memory)
                return made
            self.leave_unless(
                self.made(Op("length", [made, self.const(None)], f=operator.is_not), _BOOL)
            )
        return made

    def check_none(self) -> None:
        """Raise if a list may hold None where an item was read as something else."""
        if any(memory.root().has_none for memory in self.read_as_they_are):
            raise UnsupportedError("an item of a list that may be None")

    def length(self, xs: Value) -> Value:
        """Read ``len(xs)``."""
        return self.made(Op("length", [xs], f=len), _INT)

    # -- functions of lists ------------------------------------------------------------------------

    def of_list(self, f: Callable, args: list[Any], options: dict[str, Any]) -> Any:
        """Read a call with a list that may grow; NotImplemented if it is any other function's."""
        if f is len and len(args) == 1 and not options:
            return self.length(args[0])
        if f in _SUMS and len(args) == 1 and not options:
            return self._sum_of(f, args[0])
        if f in _JOINS and len(args) == 1:
            return self._joined(f, args[0], {k: self.one(v) for k, v in options.items()})
        return NotImplemented

    def joined_parts(self, parts: tuple) -> tuple:
        """Return what is joined: lists of numbers beside vectors of floats are vectors of such."""
        is_vector = [type(p) is Value and p.kind.dtype == np.float64 for p in parts]
        if not any(is_vector):
            return parts
        return tuple([p if is_one else self.vector_of(p, of_integers=True)
                      for p, is_one in zip(parts, is_vector, strict=True)])  # fmt: skip

    def vector_of(self, p: Any, of_integers: bool = False) -> Any:
        """Return the vector of floats that a list of numbers becomes; anything else as it is."""
        if not isinstance(p, tuple) or not all(type(x) is Value and x.kind.is_scalar for x in p):
            return p
        if not p or not (of_integers or any(x.kind.is_inexact for x in p)):
            return p
        floats = [
            self.const(float(known(x))) if x.kind.is_known and not x.kind.is_complex else x
            for x in p
        ]
        return self.call(np.array, [self.one(tuple(floats), given=True)])

    def as_array(self, f: Callable, x: Any) -> Any:
        """Return the array that a function first makes of a list."""
        if type(x) is not Value or not x.kind.is_list:
            return x
        if not isinstance(f, np.ufunc) and f not in _OF_ARRAYS:
            raise UnsupportedError("a list as an argument")
        return self._joined(np.asarray, x, {})

    def _sum_of(self, f: Callable, xs: Value) -> Value:
        if f is sum and self.is_empty(xs):
            return self.const(0)
        kind = self._items_of(xs)
        if kind.has_items or (f is not sum and (kind.is_complex or not kind.is_scalar)):
            raise UnsupportedError("a sum of lists, or no sum of numbers")
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
        return self.made(Op("join", [xs], f=f, data=(_SUM, 0)), made)

    def _joined(self, f: Callable, xs: Value, options: dict[str, Value]) -> Value:
        """Read a function that makes an array of the items of a list."""
        sample = self._sample(self._items_of(xs), xs.memory.root())  # type: ignore[union-attr]
        if not all(v.kind.is_known for v in options.values()):
            raise UnsupportedError("an option that is not known")
        named = {name: known(v) for name, v in options.items()}
        if named.keys() - ({"dtype"} if f in _ARRAY else {"axis"}):
            raise UnsupportedError("this option")
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
            raise UnsupportedError("this option")
        data = (_STACK if stacks else _CONCATENATE, axis)
        return self.made(Op("join", [xs], f=f, options=options, data=data), kind)

    def _sample(self, kind: Kind, memory: Memory) -> Any:
        """Return an item of a list; for numbers of several classes the one that has a fraction."""
        if not kind.is_list:  # a dict has no samples
            return next((x for x in samples(kind) if not isinstance(x, int)), samples(kind)[0])
        inner: Any = memory.of_items and memory.of_items.root()
        if inner.items is None:
            raise NoItemsError("a list of empty lists")
        return [self._sample(inner.items, inner)] * 2


def check_copied(memories: Iterable[Memory], what: str) -> None:
    """Raise if a list or dict in some memory may be a copy of one that has a name."""
    copies = {place for memory in memories for place in memory.root().copies}
    if copies:
        raise ListInMemoryError(f"{what}, and has another name", filter(None, copies))


VIEWS = frozenset({"keys", "values", "items"})
"""Methods of dicts that give views."""
CHANGES = frozenset({"append", "insert", "pop", "extend", "clear"})
"""Methods that change a list."""


def has_no_other_name(name: str, function: ast.AST) -> bool:
    """Whether a function makes a dict that is only its own: nobody else sees it change.

    It is displayed, or a comprehension, bound to this name alone, and then only its items are read
    and written, its keys gone over, or its values handed to a function: views of a dict change with
    it.
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
    """Whether it may be the key of a dict."""
    return type(x) in (str, int)


def grown_in(node: ast.FunctionDef | ast.Lambda) -> set[str]:
    """Return the names of lists, or arrays, that a function changes: by item or by ``append``."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
            owner: ast.expr = part.value
        elif isinstance(part, ast.AugAssign):
            owner = part.target
        elif isinstance(part, ast.Attribute) and part.attr in CHANGES:
            owner = part.value
        else:
            continue
        while isinstance(owner, ast.Subscript):
            owner = owner.value
        if isinstance(owner, ast.Name):
            found.add(owner.id)
    return found


def changes_dicts(node: ast.FunctionDef | ast.Lambda) -> bool:
    """Whether a function writes under keys that are texts: not only into dicts of its own."""
    stores = [
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Subscript)
        and isinstance(part.ctx, ast.Store)
        and isinstance(part.slice, ast.Constant)
        and type(part.slice.value) is str
    ]
    return any(not (isinstance(x, ast.Name) and has_no_other_name(x.id, node)) for x in stores)


def comprehended(
    node: ast.ListComp | ast.DictComp, name: str, fresh: Callable[[str], str]
) -> ast.For:
    """Return a comprehension as a loop that appends to a list of this name, or fills a dict.

    The variables of the comprehension get names of their own.
    """
    first = node.generators[0].iter
    renaming = own_names(node, fresh)
    owner = ast.Name(name, ast.Load())
    made: Any
    if isinstance(node, ast.DictComp):
        place = ast.Subscript(owner, renaming.visit(node.key), ast.Store())
        made = ast.Assign([place], renaming.visit(node.value))
    else:
        target = ast.Attribute(owner, "append", ast.Load())
        made = ast.Expr(ast.Call(target, [renaming.visit(node.elt)], []))
    for generator in reversed(node.generators):
        if generator.is_async:
            raise UnsupportedError("async")
        for test in reversed(generator.ifs):
            made = ast.If(renaming.visit(test), [made], [])
        over = generator.iter if generator.iter is first else renaming.visit(generator.iter)
        made = ast.For(renaming.visit(generator.target), over, [made], [])
    return ast.fix_missing_locations(ast.copy_location(made, node))


def decided_by(
    node: ast.GeneratorExp, decides: bool, found: str, fresh: Callable[[str], str], ends: bool
) -> ast.For:
    """Return a generator as a loop that looks for the first item that is true, or false.

    Where it is, a variable of the name `found` becomes that; the inner loops end there, and the
    outermost one if it `ends`.
    """
    first = node.generators[0]
    renaming = own_names(node, fresh)

    def test(x: ast.expr) -> ast.expr:
        return x if decides else ast.UnaryOp(ast.Not(), x)

    name = ast.Name(found, ast.Store())
    bound = ast.Assign([name], ast.Constant(decides))
    made: Any = [ast.If(test(renaming.visit(node.elt)), [bound], [])]
    for generator in reversed(node.generators):
        if generator.is_async:
            raise UnsupportedError("async")
        for given in reversed(generator.ifs):
            made = [ast.If(renaming.visit(given), made, [])]
        over = generator.iter if generator is first else renaming.visit(generator.iter)
        if ends or generator is not first:
            made = [*made, ast.If(test(ast.Name(found, ast.Load())), [ast.Break()], [])]
        made = [ast.For(renaming.visit(generator.target), over, made, [])]
    return ast.fix_missing_locations(ast.copy_location(made[0], node))


def as_list(node: ast.expr) -> ast.expr:
    """Return the list of what a generator makes; other expressions as they are."""
    if not isinstance(node, ast.GeneratorExp):
        return node
    return ast.copy_location(ast.ListComp(node.elt, node.generators), node)


def own_names(
    node: ast.ListComp | ast.GeneratorExp | ast.DictComp, fresh: Callable[[str], str]
) -> _Renaming:
    """Return what gives the variables of a comprehension names of their own.

    Functions that it calls, and comprehensions in it, may have variables of the same names.
    """
    targets = [part for generator in node.generators for part in ast.walk(generator.target)]
    return _Renaming({t.id: fresh(t.id) for t in targets if isinstance(t, ast.Name)})


def written(text: str, **names: str) -> list[ast.stmt]:
    """Return statements, in which variables have the names that are given for those written."""
    renaming = _Renaming(names)
    return [ast.fix_missing_locations(renaming.visit(node)) for node in ast.parse(text).body]


class _Renaming(ast.NodeTransformer):
    """Copies expressions with other names in them."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Return a copy."""
        fields = {
            name: [self.visit(x) if isinstance(x, ast.AST) else x for x in value]
            if isinstance(value, list)
            else self.visit(value)
            if isinstance(value, ast.AST)
            else value
            for name, value in ast.iter_fields(node)
        }
        return ast.copy_location(type(node)(**fields), node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Return a parameter, which hides a variable of its name."""
        return ast.copy_location(ast.arg(self.names.get(node.arg, node.arg)), node)

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Return a name, or the other name for it."""
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)
