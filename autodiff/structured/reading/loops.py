"""Reading loops: over ranges and arrays, alone or by ``enumerate``, ``zip`` and ``reversed``.

A loop over tuples and lists that are known has its body read once for each item.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from autodiff.structured.form.ir import (
    LIST_WRITES,
    WRITES,
    Columns,
    For,
    Items,
    Named,
    Slot,
    Value,
    While,
    blocks_of,
    known,
)
from autodiff.structured.form.kinds import Kind, ManyKindsError, UnsupportedError, join
from autodiff.structured.form.known_functions import turns_of
from autodiff.structured.reading.jumps import breaks, structured, without_break
from autodiff.structured.reading.lists import own_names, written
from autodiff.structured.reading.scopes import NO_VALUES
from autodiff.structured.reading.several_indices import SeveralIndices

_INT = frozenset([int])
_MOST_ROUNDS = 6
_MANY, MOST_UNROLLED = 32, 64
"""Of so many items a loop goes over a list of numbers; of others it is read so many times."""


class Turns:
    """What a loop goes over, by the number of the turn.

    Attributes
    ----------
    length : callable
        Returns the number of turns, a value.
    item : callable
        Returns the item of a turn, given its number.
    bounds : list of Value, optional
        Of a range.
    known : int, optional
        The number of turns, if it is known.
    """

    def __init__(
        self,
        length: Callable[[], Value],
        item: Callable[[Value], Any],
        bounds: list[Value] | None = None,
        known: int | None = None,
    ) -> None:
        self.length = length
        self.item = item
        self.bounds = bounds
        self.known = known


class Loops(SeveralIndices):
    """Reads loops."""

    def statements(self, nodes: list[ast.stmt]) -> None:
        """Read statements."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any) -> None:
        """Bind a variable, or several, or write into an array."""
        raise NotImplementedError

    # -- for ---------------------------------------------------------------------------------------

    def on_for(self, node: ast.For) -> None:
        """Read a loop over something."""
        inner = self.nested(node)
        if inner is not None:
            self.statements(inner)
            return
        counted = self.counted(node)
        if counted is not None:
            self.statements(counted)
        elif self.is_generator(node.iter):
            self.over_generator(node)
        else:
            self._for(node, self.iterated(node.iter))

    def over_generator(self, node: ast.For) -> None:
        """Read a loop over what a generator function yields."""
        raise NotImplementedError

    def _for(self, node: ast.For, over: Turns) -> None:
        lengths, self.lengths = self.lengths, []
        if over.known is None and _place(node) in self.parted:
            self._part_turns(node, over)
        elif over.known is None:
            self._turn(node, over)
        elif over.known <= MOST_UNROLLED:
            self._unroll(node, over)
        else:
            raise UnsupportedError("a loop over a long tuple")
        for xs, n in lengths:
            self.leave_unless(self.call(operator.eq, [self.length(self.read(xs)), self.read(n)]))

    def _turn(self, node: ast.For, over: Turns) -> None:
        if over.bounds is not None and isinstance(node.target, ast.Name):
            bounds, name, item = over.bounds, node.target.id, None
        else:
            bounds, name, item = [over.length()], self.hidden("turn"), over.item
        for b in bounds:
            b.uses += 1
        slot = self._slot(name)
        readable = set(self.kinds)
        self.end_block()
        nodes, flag = self._body_of(node)
        self._widen([node])
        self.flags.append(flag or "")

        def read() -> None:
            if item is not None:
                self.assign(node.target, item(self.read(name)))
            self.statements(nodes)

        def turn() -> list:
            slot.holds(Kind(_INT))
            self.kinds[slot] = Kind(_INT)
            return self.apart(read)

        body, bound = self._loop(turn, node)
        self.flags.pop()
        slot.writes += 2
        self._add_loop(For(slot, bounds, body, flag), node, readable)
        if self._keeps(node, bound):
            turns = self.call(turns_of, bounds)
            self.leave_unless(self.call(operator.ge, [turns, self.const(1)]))

    def _part_turns(self, node: ast.For, over: Turns) -> None:
        """Read the first turn by itself: a variable is of another kind before it."""
        n, item = self.held(over.length()), over.item
        one = self.const(1)
        self.leave_unless(self.call(operator.ge, [self.read(n), one]))

        def others() -> None:
            rest = Turns(
                lambda: self.call(operator.sub, [self.read(n), one]),
                lambda i: item(self.call(operator.add, [i, one])),
            )
            self._turn(node, rest)

        self._first_turn(node, lambda: self.assign(node.target, item(self.const(0))), others)

    def _first_turn(
        self, node: ast.For | ast.While, begin: Callable[[], None], others: Callable[[], None]
    ) -> None:
        """Read one turn of a loop, and the others unless it ends there."""
        nodes, flag = self._body_of(node)
        left = self.hidden("left") if flag else ""
        if left:
            self.bind(left, self.const(False))
        begin()
        self.statements(without_break(nodes, left) if left else nodes)
        if left:
            self.branches(self.read(left), lambda: None, others)
        else:
            others()

    def _keeps(self, node: ast.stmt, bound: dict[Slot, Kind]) -> bool:
        """Whether variables that a loop alone binds are read behind it, so it must have a turn."""
        place = _place(node)
        if place in self.with_turns:
            self.kinds |= {slot: kind.general() for slot, kind in bound.items()}
            return True
        self.bound_by |= dict.fromkeys(bound, place)
        return False

    def _add_loop(self, loop: For | While, node: ast.stmt, readable: set[Slot]) -> None:
        loop.readable = readable
        loop.function, loop.line = self.scope.function.__qualname__, node.lineno
        self.add_node(loop)

    def _unroll(self, node: ast.For, over: Turns) -> None:
        nodes, flag = self._body_of(node)
        if flag:
            raise UnsupportedError("a loop over a tuple that ends early")
        names = {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}
        for item in self._items(over):
            self._forget(names)
            self.assign(node.target, item)
            self.statements(nodes)
        if self.depth != self.scope.blocks:
            self._forget(names)

    def _forget(self, names: set[str]) -> None:
        """Have functions and objects no longer known by these names: each item is bound anew."""
        for name in names:
            self.scope.functions.pop(name, None)

    def _items(self, over: Turns) -> Iterator[Any]:
        """Yield what a loop goes over if the number of turns is known."""
        for i in range(over.known or 0):
            yield over.item(self.const(i))

    def iterated(self, node: ast.expr) -> Turns:
        """Read what a loop goes over."""
        if isinstance(node, ast.GeneratorExp):
            return self._over_generator(node)
        if isinstance(node, ast.Call):
            method = _ITERATORS.get(self._made_by(node))
            if method is not None:
                names = {k.arg or "**" for k in node.keywords}
                if any(isinstance(a, ast.Starred) for a in node.args) or names - {_OPTIONS[method]}:
                    raise UnsupportedError("this call in a loop")
                options = {k.arg or "": known(self.value(k.value)) for k in node.keywords}
                return method(self, node.args, **options)
        return self._over_any(self.expression(node))

    def _over_generator(self, node: ast.GeneratorExp) -> Turns:
        """Read a generator: an item is computed in the turn that takes it."""
        first, *others = node.generators
        if others or first.ifs or any(isinstance(part, ast.NamedExpr) for part in ast.walk(node)):
            raise UnsupportedError("a generator of this form in a loop")
        over = self.iterated(first.iter)

        def item(i: Value) -> Any:
            renaming = own_names(node, self.hidden)
            self.assign(renaming.visit(first.target), over.item(i))
            return self.expression(renaming.visit(node.elt))

        return Turns(over.length, item, known=over.known)

    def _over_any(self, value: Any) -> Turns:
        if type(value) is Named:
            return self._over(list(map(self.const, value)))
        if type(value) is Value and value.kind.is_list:
            return self._over_list(value)
        if type(value) is Columns:
            overs = list(map(self._over_list, value))
            return Turns(overs[0].length, lambda i: tuple([over.item(i) for over in overs]))
        if isinstance(value, tuple) or not value.kind.is_array:
            return self._over(self._parts_of(value))
        if value.kind.ndim == 0:
            raise UnsupportedError("a loop over an array without axes")
        name = self.held(value)
        return Turns(
            lambda: self.called(len, [self.read(name)], {}),
            lambda i: self.indexed(self.read(name), [i], ("value", 0)),
        )

    def _over_list(self, xs: Value) -> Turns:
        """Read a list that may grow, but not while a loop goes over it."""
        name, n = self.held(xs), self.held(self.length(xs))
        self.lengths.append((name, n))
        return Turns(lambda: self.read(n), lambda i: self.item(self.read(name), i))

    def _over(self, items: list) -> Turns:
        columns = self._columns_of(items) if len(items) > _MANY else None
        if columns is not None:
            return self._over_any(columns)
        n = self.const(len(items))
        return Turns(lambda: n, lambda i: items[known(i)], known=len(items))

    def _columns_of(self, items: list) -> Columns | Value | None:
        """Return a list of what is known, or a list for each part of tuples: a loop goes over it.

        None if they are not all integers, all floats, or tuples of such.
        """
        rows = [self._parts_of(x) if _is_tuple(x) else [x] for x in items]
        if len(set(map(len, rows))) > 1 or not rows[0]:
            return None
        columns = list(zip(*rows, strict=True))
        for column in columns:
            classes = {type(known(x)) if type(x) is Value else None for x in column}
            if len(classes) > 1 or not classes <= {int, float}:
                return None
        made = [self.list_from(Items(column)) for column in columns]
        if not any(map(_is_tuple, items)):
            return made[0]
        return Columns(made) if all(map(_is_tuple, items)) else None

    def on_range(self, nodes: list[ast.expr]) -> Turns:
        """Read a range as a loop goes over it."""
        bounds = [self.value(a) for a in nodes]
        if not 1 <= len(bounds) <= 3 or not all(b.kind.is_integral for b in bounds):
            raise UnsupportedError("a range of what is no integer")
        names = [self.held(b) for b in bounds]

        def item(i: Value) -> Value:
            if len(names) == 1:
                return i
            first = self._integer(self.read(names[0]))
            if len(names) == 3:
                i = self.call(operator.mul, [i, self._integer(self.read(names[2]))])
            return self.call(operator.add, [first, i])

        return Turns(lambda: self.call(turns_of, list(map(self.read, names))), item, bounds)

    def _integer(self, value: Value) -> Value:
        """Return an integer of Python's: the items of a range are such."""
        return value if value.kind.classes == _INT else self.call(int, [value])

    def on_enumerate(self, nodes: list[ast.expr], start: int = 0) -> Turns:
        """Read ``enumerate(items, start)``."""
        if not 1 <= len(nodes) <= 2 or (nodes[1:] and start):
            raise UnsupportedError("a call that fails")
        over = self.iterated(nodes[0])
        first = self.value(nodes[1]) if nodes[1:] else self.const(start)
        if first.kind.classes != _INT:
            raise UnsupportedError("enumerate from what is no integer")
        name = self.held(first)
        item = over.item
        return Turns(
            over.length,
            lambda i: (self.call(operator.add, [self.read(name), i]), item(i)),
            known=over.known,
        )

    def on_zip(self, nodes: list[ast.expr], strict: bool = False) -> Turns:
        """Read ``zip(...)``: it ends with the shortest."""
        overs = [self.iterated(a) for a in nodes]
        if not overs:
            return self._over([])
        lengths = [over.length() for over in overs]
        if strict is not False:
            for n in lengths[1:]:
                self.leave_unless(self.call(operator.eq, [lengths[0], n]))
        turns = [over.known for over in overs if over.known is not None]
        if turns:  # the others are expected to be as long
            shortest = self.const(min(turns))
            for n in lengths:
                self.leave_unless(self.call(operator.ge, [n, shortest]))
        else:
            shortest = self.call(min, lengths) if lengths[1:] else lengths[0]
        name = self.held(shortest)
        return Turns(
            lambda: self.read(name),
            lambda i: tuple([over.item(i) for over in overs]),
            known=min(turns) if turns else None,
        )

    def is_iterator(self, node: ast.Call) -> bool:
        """Whether a call makes an iterator that loops go over, and no list."""
        f = self._made_by(node)
        return f is not range and f in _ITERATORS

    def _made_by(self, node: ast.Call) -> Any:
        """Return the function that is called, if it is read by name, alone or in a module."""
        if not isinstance(node.func, ast.Name):
            return self._callee(node)
        found = self.expression(node.func)
        return None if type(found) in NO_VALUES else known(found)

    def on_map(self, nodes: list[ast.expr]) -> Turns:
        """Read ``map(f, items, ...)``: an item is computed in the turn that takes it."""
        if len(nodes) < 2:
            raise UnsupportedError("a call that fails")
        f = self.hidden("mapped")
        self.bind(f, self.expression(nodes[0]))
        over = self.on_zip(nodes[1:])

        def item(i: Value) -> Any:
            names = [self.hidden("given") for _ in nodes[1:]]
            for name, x in zip(names, over.item(i), strict=True):
                self.bind(name, x)
            loads: list[ast.expr] = [ast.Name(name, ast.Load()) for name in names]
            call = ast.Call(ast.Name(f, ast.Load()), loads, [])
            return self.expression(ast.fix_missing_locations(ast.copy_location(call, nodes[0])))

        return Turns(over.length, item, known=over.known)

    def on_pairwise(self, nodes: list[ast.expr]) -> Turns:
        """Read ``itertools.pairwise(items)`` of a list or array."""
        if len(nodes) != 1:
            raise UnsupportedError("a call that fails")
        name = self.hidden("items")
        self.bind(name, self.expression(nodes[0]))
        later = written("xs[1:]", xs=name)[0].value  # type: ignore[attr-defined]
        return self.on_zip([ast.copy_location(ast.Name(name, ast.Load()), nodes[0]), later])

    def on_reversed(self, nodes: list[ast.expr]) -> Turns:
        """Read ``reversed(items)``."""
        if len(nodes) != 1:
            raise UnsupportedError("a call that fails")
        over = self.iterated(nodes[0])
        name = self.held(self.call(operator.sub, [over.length(), self.const(1)]))
        item = over.item
        return Turns(
            over.length,
            lambda i: item(self.call(operator.sub, [self.read(name), i])),
            known=over.known,
        )

    # -- loops -------------------------------------------------------------------------------------

    def _body_of(self, node: ast.For | ast.While) -> tuple[list[ast.stmt], str | None]:
        """Return the body of a loop without jumps, and the name that says that it was left."""
        nodes = structured(node.body, (ast.Break, ast.Continue, ast.Raise))
        return nodes, self.fresh("left") if any(map(breaks, node.body)) else None

    def _widen(self, nodes: list[Any]) -> None:
        """Forget the values of variables that a loop binds."""
        for node in nodes:
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    slot = self.scope.slots.get(part.id)
                    if slot is not None and slot in self.kinds and self.kinds[slot].is_scalar:
                        self.kinds[slot] = self.kinds[slot].general()

    def _loop(
        self, turn: Callable[[], list], node: ast.For | ast.While
    ) -> tuple[list, dict[Slot, Kind]]:
        """Read the body of a loop until the kinds at its beginning hold for every turn.

        Also return the variables that each turn binds, and that need not be bound before.
        """
        try:
            return self._rounds(turn)
        except ManyKindsError as error:
            if error.loop is None and _place(node) not in self.parted:
                error.loop = _place(node)
            raise

    def _rounds(self, turn: Callable[[], list]) -> tuple[list, dict[Slot, Kind]]:
        others = self.left_out
        for _ in range(_MOST_ROUNDS):
            before, self.left_out = dict(self.kinds), None
            items = [(memory, memory.root().contents()) for memory in self.lists]
            state = [(s, s.writes, s.reads) for s in self.program.slots]
            body = turn()
            joined = {s: join(kind, self.kinds[s]) for s, kind in before.items()}
            same_items = all(memory.root().contents() == kinds for memory, kinds in items)
            left_out = self.left_out
            self.left_out = left_out or others
            if joined == before and same_items:
                if left_out is not None and len(self.flags) == 1:
                    raise left_out
                bound = {slot: kind for slot, kind in self.kinds.items() if slot not in before}
                self.kinds = before
                return body, bound
            self.kinds = joined
            for s, writes, reads in state:
                s.writes, s.reads = writes, reads
        raise UnsupportedError("a loop whose variables change their kinds")

    def on_while(self, node: ast.While) -> None:
        """Read a loop with a test."""
        if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test)):
            raise UnsupportedError("a test of a loop that binds a variable")
        if _place(node) in self.parted:
            self.leave_unless(self.test(node.test))
            self._first_turn(node, lambda: None, lambda: self._while(node))
        else:
            self._while(node)

    def _while(self, node: ast.While) -> None:
        had_turn = ""
        if _place(node) in self.with_turns:
            had_turn = self.held(self.const(False))
        readable = set(self.kinds)
        self.end_block()
        nodes, flag = self._body_of(node)
        self._widen(nodes)
        parts: list = []

        def read_test() -> None:
            test = self.test(node.test)
            if test.kind.is_known and not (flag and test.kind.value):
                raise UnsupportedError("a loop without end")
            parts.append(test)

        def turn() -> list:
            parts.clear()
            parts.append(self.apart(read_test))
            return self.apart(read_body)

        def read_body() -> None:
            if had_turn:
                self.bind(had_turn, self.const(True))
            self.statements(nodes)

        self.flags.append(flag or "")
        body, bound = self._loop(turn, node)
        if any(
            op.code in (*WRITES, *LIST_WRITES) for block in blocks_of(parts[1]) for op in block.ops
        ):
            raise UnsupportedError("a test that writes into an array")
        self.flags.pop()
        parts[0].uses += 1
        self._add_loop(While(parts[1], parts[0], body, flag), node, readable)
        if self._keeps(node, bound):
            self.leave_unless(self.read(had_turn))


def _place(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _is_tuple(x: Any) -> bool:
    """Whether it is a tuple that is known part by part, or one that is a constant."""
    if type(x) is Value:
        return type(known(x)) is tuple
    return type(x) is tuple


_ITERATORS: dict[Any, Callable] = {
    range: Loops.on_range,
    enumerate: Loops.on_enumerate,
    zip: Loops.on_zip,
    reversed: Loops.on_reversed,
    map: Loops.on_map,
    itertools.pairwise: Loops.on_pairwise,
}

# Their arguments by name.
_OPTIONS: dict[Callable, str] = {
    Loops.on_range: "",
    Loops.on_enumerate: "start",
    Loops.on_zip: "strict",
    Loops.on_reversed: "",
    Loops.on_map: "",
    Loops.on_pairwise: "",
}
