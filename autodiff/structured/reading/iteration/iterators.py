"""Reading what loops iterate over: ranges, arrays, lists, and iterators such as ``enumerate``."""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from autodiff.structured.form.function_ir import (
    Columns,
    HeldRange,
    Items,
    Named,
    RecordValue,
    Value,
    known,
)
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.form.known_functions import (
    iteration_count,
    length_of_slice,
    start_of_slice,
)
from autodiff.structured.reading.containers.classes import is_object
from autodiff.structured.reading.containers.sequences import is_sequence, is_transposition
from autodiff.structured.reading.iteration.iteration_space import (
    IterationSpace,
    LongLoopError,
    of_either,
)
from autodiff.structured.reading.iteration.library_iterators import LibraryIteratorReader
from autodiff.structured.reading.iteration.nested_loops import NESTED
from autodiff.structured.reading.libraries.python_decompositions import (
    transposed,
)
from autodiff.structured.reading.rewriting import renaming_for
from autodiff.structured.reading.scopes import (
    ArgumentRows,
    LocalIterable,
    LocalIterator,
    OutsideObject,
)

_INT = frozenset([int])
_NONE = type(None)
_KNOWN_ITEMS = frozenset([int, float, str, _NONE])
# The most known items of one loop, and the most bodies of nested loops, that are unrolled. More
# known numbers or arrays become a list, which a loop goes over.
_MOST_UNROLLED = 64, 256
_MOST_UNROLLED_NUMBERS = 32, 128
_MOST_UNROLLED_ARRAYS = 8, 32
# The most values and variables in all bodies of one loop: of one that can go over lists, of others.
_LONGEST_UNROLLED, _MOST_UNROLLED_NAMES = 500, 8000


class IteratorReader(LibraryIteratorReader):
    """Layer of the reader: what loops iterate over."""

    # Methods that subclasses define.
    assign: Callable[[ast.expr, Any], None]

    def may_unroll(self, n: int) -> bool:
        """Whether a loop over `n` items may be unrolled here, perhaps inside unrolled loops."""
        return self._is_within(n, _MOST_UNROLLED)

    def _is_within(self, n: int, limits: tuple[int, int]) -> bool:
        return n <= limits[0] and n * self.repeated <= limits[1]

    def unrolled(self, over: IterationSpace, place: tuple[int, int]) -> Iterator[int]:
        """Yield the numbers of the items; what is read meanwhile is read once for each.

        Raise if the bodies are long and the loop, at this place, can go over lists of the items.
        """
        n, repeated, before = over.known or 0, self.repeated, self.count
        may_stay = over.over_lists is not None and place not in self.assumed.stays_loop
        self.repeated *= n
        try:
            for i in range(n):
                yield i
                length = (self.count - before) * n
                if may_stay and length * repeated > _LONGEST_UNROLLED * (i + 1):
                    raise LongLoopError(place)
                if length > _MOST_UNROLLED_NAMES * (i + 1):
                    raise UnsupportedError("a loop that is very long if unrolled")
        finally:
            self.repeated = repeated

    def _known_items(self, over: IterationSpace) -> Iterator[Any]:
        """Yield the items, if the trip count is known."""
        for i in range(over.known or 0):
            yield over.item(self.const(i))

    def iterated(self, node: ast.expr) -> IterationSpace:
        """Read what a loop iterates over."""
        node = self.taken(node)
        if isinstance(node, ast.GeneratorExp):
            return self._over_generator_expression(node)
        table = self.table_of_view(node)
        if table is not None:
            return self.over_table(table, node.func.attr)  # type: ignore[attr-defined] # a method
        if isinstance(node, ast.Call):
            f = self.callee(node)
            if f is zip and is_transposition(node):
                return self._over_columns(node)
            if f is itertools.accumulate:
                return self.over_accumulate(node)
            if f in _ITERATORS:
                method, option = _ITERATORS[f]
                names = {k.arg or "**" for k in node.keywords}
                if any(isinstance(a, ast.Starred) for a in node.args) or names - {option}:
                    raise UnsupportedError("a loop over an iterator with these arguments")
                options = {k.arg or "": known(self.value(k.value)) for k in node.keywords}
                return method(self, node.args, **options)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            return self._over_subscript(node, node.slice)
        return self._over_value(self.flattened(node))

    def _over_subscript(self, node: ast.Subscript, part: ast.Slice) -> IterationSpace:
        """Read a loop over a slice; a list is copied only if the loop changes it."""
        base = self.flattened(node.value)
        is_list = type(base) is Value and base.kind.is_list and not base.kind.is_queue
        if not is_list or self.assumed.copies_slices:
            return self._over_value(self.subscripted(base, part))
        over = self.over_slice(base, self.bounds_in(part))
        over.read_only.append(base.memory)
        over.begun = self.position()
        return over

    def over_slice(self, xs: Value, bounds: list[Value]) -> IterationSpace:
        """Return the iteration space of a slice of a list, whose items are read in turn."""
        start, n, step = self.bounds_of_slice(xs, bounds)
        items = self.hold(xs)

        def item(i: Value) -> Any:
            offset = self.emit_call(operator.mul, [i, self.read(step)])
            source = self.read(items)
            return self.item_or_none(
                source, self.emit_call(operator.add, [self.read(start), offset])
            )

        return IterationSpace(lambda: self.read(n), item, known=0 if self.is_empty(xs) else None)

    def bounds_of_slice(self, xs: Value, bounds: list[Value]) -> tuple[str, str, str]:
        """Return hidden variables with the start, the length and the step of a slice of a list."""
        if not all(known(b) is None or b.kind.is_integral for b in bounds) or known(bounds[2]) == 0:
            raise UnsupportedError("a slice of a list with bounds that are not integers")
        given = [self.length(xs), *bounds]
        start, n = (self.hold(self.emit_call(f, given)) for f in (start_of_slice, length_of_slice))
        return start, n, self.hold(self.const(1) if known(bounds[2]) is None else bounds[2])

    def _over_generator_expression(self, node: ast.GeneratorExp) -> IterationSpace:
        """Read a generator expression: each iteration computes its item."""
        first = node.generators[0]
        over = self.iterated(first.iter)

        def item(i: Value) -> Any:
            renaming = renaming_for(node, self.hidden)
            self.assign(renaming.visit(first.target), over.item(i))
            return self.expression(renaming.visit(node.elt))

        return IterationSpace(over.length, item, known=over.known, computes=True, of=[over])

    def _items_to_unpack(self, value: Any) -> list | IterationSpace:
        """Return the items of a value, as an iteration space if their number is unknown."""
        has_parts = isinstance(value, tuple) or (type(value) is Value and value.kind.parts)
        if has_parts or is_object(value):
            return self._parts_of(value)
        over = self._over_value(value)
        return over if over.known is None else list(self._known_items(over))

    def _over_value(self, value: Any) -> IterationSpace:
        """Return the iteration space of a value."""
        if is_object(value):
            return self._over_value(self.iterable_of_object(value))
        if type(value) is LocalIterator:
            return self.over_iterator(value)
        if type(value) is LocalIterable:
            call = self.call_of(value)
            if self.callee(call) not in _ITERATORS:
                raise UnsupportedError("a generator that is taken together with other iterators")
            return self.iterated(call)
        if type(value) is HeldRange:
            return self._over_range(value)
        if type(value) is Named:
            return self._over_items(list(map(self.const, value)))
        if type(value) is Value and type(known(value)) is str:
            return self._over_items(list(map(self.const, known(value))))
        if type(value) is Value and value.kind.is_list:
            return self._over_list(value)
        if type(value) is ArgumentRows:
            return IterationSpace(
                lambda: self._length_of(value), lambda i: self.item_of_rows(value, i)
            )
        if type(value) is Columns:
            overs = list(map(self._over_list, value))
            return IterationSpace(
                overs[0].length, lambda i: tuple([over.item(i) for over in overs]), of=overs
            )
        if type(value) is Value and value.kind.is_mapping:
            return self.over_table(value, "keys")
        if isinstance(value, tuple) or not value.kind.is_array:
            return self._over_items(self._parts_of(value))
        if value.kind.ndim == 0:
            raise UnsupportedError("a loop over an array without axes")
        name = self.hold(value)
        return IterationSpace(
            lambda: self.read_call(len, [self.read(name)], {}),
            lambda i: self.indexed(self.read(name), [i], ("value", 0)),
        )

    def _over_list(self, xs: Value) -> IterationSpace:
        """Return the iteration space of a list that may grow, but not during the loop."""
        name, n = self.hold(xs), self.hold(self.length(xs))
        trips = 0 if self.is_empty(xs) else None
        over = IterationSpace(
            lambda: self.read(n), lambda i: self.item_or_none(self.read(name), i), known=trips
        )
        over.lists.append((name, n))
        if xs.kind.is_queue:  # it must not change at all
            over.read_only.append(xs.root)
        return over

    def _over_items(self, items: list) -> IterationSpace:
        """Return the iteration space of items that are known one by one."""
        columns = self._columns_in(items)

        def over_lists() -> IterationSpace:
            made = [self.list_in_memory(Items(column)) for column in columns]
            return self._over_value(Columns(made) if _is_tuple(items[0]) else made[0])

        parts = [x for column in columns for x in column]
        are_known = any(map(_class_of_object, parts)) or all(
            type(x) is Value and x.kind.is_known for x in parts
        )
        if columns and not (are_known and self._is_within(len(items), _MOST_UNROLLED_NUMBERS)):
            return over_lists()
        if not self.may_unroll(len(items)):
            return self._over_list(self.list_in_memory(Items(items)))
        n = self.const(len(items))
        over = IterationSpace(lambda: n, lambda i: items[known(i)], known=len(items))
        # Known texts and None do more: they decide branches and choose keys.
        do_more = any(type(x) is Value and type(known(x)) in (str, _NONE) for x in parts)
        over.over_lists = over_lists if columns and not do_more else None
        return over

    def _columns_in(self, items: list) -> list[tuple]:
        """Return many items as one column, or tuples as one column for each of their parts.

        Return nothing if there are few items, or if those in one column are not all known integers,
        known floats, texts, arrays of one kind, lists of such, or objects of one class. Some may be
        None.
        """
        if self._is_within(len(items), _MOST_UNROLLED_ARRAYS):
            return []
        rows = [self._parts_of(x) if _is_tuple(x) else [x] for x in items]
        if len(set(map(len, rows))) > 1 or not rows[0] or len(set(map(_is_tuple, items))) > 1:
            return []
        columns = list(zip(*rows, strict=True))
        kinds = [set[Any]().union(*map(_kinds_in, column)) - {_NONE} for column in columns]
        return columns if all(len(own) == 1 and None not in own for own in kinds) else []

    def range_of(self, nodes: list[ast.expr]) -> HeldRange:
        """Read ``range(...)`` with these arguments."""
        bounds = [self.value(a) for a in nodes]
        if not 1 <= len(bounds) <= 3 or not all(b.kind.is_integral for b in bounds):
            raise UnsupportedError("a range with bounds that are not integers")
        start, stop = (self.const(0), *bounds) if len(bounds) == 1 else bounds[:2]
        return HeldRange(start, stop, bounds[2] if len(bounds) == 3 else self.const(1))

    def over_range(self, nodes: list[ast.expr]) -> IterationSpace:
        """Read a loop over ``range(...)``."""
        return self._over_range(self.range_of(nodes))

    def _over_range(self, over: HeldRange) -> IterationSpace:
        bounds = [over.start, over.stop, over.step]
        if known(over.step) == 1:
            bounds = bounds[1:2] if known(over.start) == 0 else bounds[:2]
        names = [self.hold(b) for b in bounds]

        def item(i: Value) -> Value:
            if len(names) == 1:
                return i
            first = self._integer(self.read(names[0]))
            if len(names) == 3:
                i = self.emit_call(operator.mul, [i, self._integer(self.read(names[2]))])
            return self.emit_call(operator.add, [first, i])

        return IterationSpace(
            lambda: self.emit_call(iteration_count, list(map(self.read, names))), item, bounds
        )

    def _integer(self, value: Value) -> Value:
        """Convert an integer to Python's `int`, the class of the items of a range."""
        return value if value.kind.classes == _INT else self.emit_call(int, [value])

    def over_enumerate(self, nodes: list[ast.expr], start: int = 0) -> IterationSpace:
        """Read ``enumerate(items, start)``."""
        if not 1 <= len(nodes) <= 2 or (nodes[1:] and start):
            raise UnsupportedError("a call that fails")
        over = self.iterated(nodes[0])
        first = self.value(nodes[1]) if nodes[1:] else self.const(start)
        if first.kind.classes != _INT:
            raise UnsupportedError("enumerate with a start that is not an integer")
        name = self.hold(first)

        def enumerated(over: IterationSpace) -> IterationSpace:
            return IterationSpace(
                over.length,
                lambda i: (self.emit_call(operator.add, [self.read(name), i]), over.item(i)),
                known=over.known,
                of=[over],
            )

        return of_either(enumerated, [over])

    def over_zip(self, nodes: list[ast.expr], strict: bool = False) -> IterationSpace:
        """Read ``zip(...)``, which ends with the shortest iterator."""
        overs = [self.iterated(a) for a in nodes]
        if not overs:
            return self._over_items([])
        lengths = [over.length() for over in overs]
        if strict is not False:
            for n in lengths[1:]:
                self.exit_unless(self.emit_call(operator.eq, [lengths[0], n]))
        for k, over in enumerate(overs):
            if over.computes:  # its next item would be computed before a later iterator ends
                for n in lengths[k + 1 :]:
                    self.exit_unless(self.emit_call(operator.le, [lengths[k], n]))
        trips = [over.known for over in overs if over.known is not None]
        if trips:  # the others are expected to be as long
            shortest = self.const(min(trips))
            for n in lengths:
                self.exit_unless(self.emit_call(operator.ge, [n, shortest]))
        else:
            shortest = self.emit_call(min, lengths) if lengths[1:] else lengths[0]
        name = self.hold(shortest)

        def zipped(*overs: IterationSpace) -> IterationSpace:
            trips = [over.known for over in overs if over.known is not None]
            made = IterationSpace(
                lambda: self.read(name),
                lambda i: tuple([over.item(i) for over in overs]),
                known=min(trips) if trips else None,
                of=overs,
            )
            made.is_endless = all(over.is_endless for over in overs)
            return made

        return of_either(zipped, overs)

    def is_iterator(self, node: ast.Call) -> bool:
        """Whether a call makes an iterator, and no list or range."""
        f = self.callee(node)
        return f is not range and (f in _ITERATORS or f is itertools.accumulate)

    def _over_columns(self, node: ast.Call) -> IterationSpace:
        """Return the iteration space of ``zip(*rows)``: the loop must not write into the rows."""
        rows = self.rows_of(node)
        over = self._over_value(self.columns(node, rows))
        if type(rows) is Value:
            memory: Any = rows.root
            over.read_only += [memory, *memory.within()]
        return over

    def rows_of(self, node: ast.Call) -> Any:
        """Read the rows of ``zip(*rows)``: a tuple of known rows, a list or an array."""
        rows = self.expression(node.args[0].value)  # type: ignore[attr-defined] # it is starred
        if type(rows) is not Columns and isinstance(rows, tuple) and is_sequence(rows):
            return rows if rows and all(map(_is_tuple, rows)) else self.list_in_memory(Items(rows))
        is_one = type(rows) is Value and (rows.kind.is_list or rows.kind.is_array)
        if is_one or type(rows) is Columns:
            return rows
        raise UnsupportedError("zip(*rows) of something other than a list or array")

    def columns(self, node: ast.Call, rows: Any) -> Any:
        """Return the columns of the rows of ``zip(*rows)``."""
        strict = self.value(node.keywords[0].value) if node.keywords else self.const(False)
        if type(rows) is Columns:
            self.exit_unless(self.emit_call(operator.ge, [self.length(rows[0]), self.const(1)]))
            return tuple([self.fixed(self.extended(self.new_list([]), column)) for column in rows])
        if not isinstance(rows, tuple):
            return self.inline(transposed, [rows, strict], {})
        parts = list(map(self._parts_of, rows))
        if known(strict) is not False and len(set(map(len, parts))) > 1:
            raise UnsupportedError("a call that fails")
        return tuple(zip(*parts, strict=False))

    def is_filter(self, node: ast.expr) -> bool:
        """Whether this is ``filter(f, items)``."""
        is_one = isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords
        return is_one and self.callee(node) is filter  # type: ignore[arg-type] # it is a call

    def kept_by(self, node: ast.Call, item: str) -> tuple[ast.expr, ast.expr]:
        """Return the items of ``filter(f, items)``, and the test of an item with this name."""
        if any(isinstance(a, ast.Starred) for a in node.args):
            raise UnsupportedError("filter with these arguments")
        f, name = self.expression(node.args[0]), ast.Name(item, ast.Load())
        if type(f) is Value and known(f) is None:
            return node.args[1], name
        keeps = self.hidden("keeps")
        self.bind(keeps, f)
        return node.args[1], ast.Call(ast.Name(keeps, ast.Load()), [name], [])

    def over_map(self, nodes: list[ast.expr]) -> IterationSpace:
        """Read ``map(f, items, ...)``: each iteration computes its item."""
        if len(nodes) < 2:
            raise UnsupportedError("a call that fails")
        f = self.hidden("mapped")
        self.bind(f, self.expression(nodes[0]))
        over = self.over_zip(nodes[1:])

        def item(i: Value) -> Any:
            names = [self.hidden("given") for _ in nodes[1:]]
            for name, x in zip(names, over.item(i), strict=True):
                self.bind(name, x)
            loads: list[ast.expr] = [ast.Name(name, ast.Load()) for name in names]
            call = ast.Call(ast.Name(f, ast.Load()), loads, [])
            return self.expression(ast.fix_missing_locations(ast.copy_location(call, nodes[0])))

        return IterationSpace(over.length, item, known=over.known, computes=True, of=[over])

    def over_reversed(self, nodes: list[ast.expr]) -> IterationSpace:
        """Read ``reversed(items)``; the items must not be an iterator."""
        (items,) = nodes if len(nodes) == 1 else (None,)
        is_iterator = isinstance(items, ast.Call) and self.is_iterator(items)
        if items is None or is_iterator or isinstance(items, ast.GeneratorExp):
            raise UnsupportedError("a call that fails")
        over = self.iterated(items)
        name = self.hold(self.emit_call(operator.sub, [over.length(), self.const(1)]))

        def backwards(over: IterationSpace) -> IterationSpace:
            return IterationSpace(
                over.length,
                lambda i: over.item(self.emit_call(operator.sub, [self.read(name), i])),
                known=over.known,
                of=[over],
            )

        return of_either(backwards, [over])


def is_iterator_maker(f: Any) -> bool:
    """Whether this is a function of Python or NumPy that returns an iterator."""
    return f in _ITERATORS.keys() - {range} or f in NESTED or f in _OTHERS


def _kinds_in(x: Any) -> set:
    """Return the dtype and rank of an array, the class of a number or object, or those of items."""
    if type(x) is Items:
        return {(list, kind) for part in x for kind in _kinds_in(part) - {_NONE}}
    if _class_of_object(x):
        return {_class_of_object(x)}
    if type(x) is Value and x.kind.is_array:
        return {(x.kind.dtype, x.kind.ndim)} if x.kind.ndim else {None}
    cls = type(known(x)) if type(x) is Value else None
    return {cls if cls in _KNOWN_ITEMS else None}


def _class_of_object(x: Any) -> type | None:
    """Return the class of an object from outside or a named tuple."""
    if type(x) is OutsideObject:
        return x.cls
    return x.user_class() if isinstance(x, RecordValue) else None


def _is_tuple(x: Any) -> bool:
    """Whether this is a tuple whose parts are known one by one, or a constant one."""
    if type(x) is Value:
        return type(known(x)) is tuple
    return type(x) is tuple


# Function → the method that reads it, and its keyword argument.
_ITERATORS: dict[Any, tuple[Callable, str]] = {
    range: (IteratorReader.over_range, ""),
    enumerate: (IteratorReader.over_enumerate, "start"),
    zip: (IteratorReader.over_zip, "strict"),
    reversed: (IteratorReader.over_reversed, ""),
    map: (IteratorReader.over_map, ""),
    itertools.pairwise: (IteratorReader.over_pairwise, ""),
    itertools.chain: (IteratorReader.over_chain, ""),
    itertools.zip_longest: (IteratorReader.over_zip_longest, "fillvalue"),
    itertools.repeat: (IteratorReader.over_repeat, ""),
    itertools.cycle: (IteratorReader.over_cycle, ""),
}
_OTHERS = frozenset({itertools.accumulate, itertools.count, filter})
