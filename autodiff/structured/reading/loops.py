"""Reading loops.

A loop over tuples and lists that are known has its body read once for each item.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable
from typing import Any

from autodiff.structured.form.ir import (
    LIST_WRITES,
    WRITES,
    For,
    Slot,
    While,
    ops_of,
)
from autodiff.structured.form.kinds import Kind, ManyKindsError, UnsupportedError
from autodiff.structured.form.known_functions import turns_of
from autodiff.structured.reading.building import form_of_value
from autodiff.structured.reading.iterators import Iterators, Turns
from autodiff.structured.reading.jumps import breaks, noting_breaks, structured

_INT = frozenset([int])
_MOST_ROUNDS = 6
MOST_UNROLLED = 64


class Loops(Iterators):
    """Reads loops."""

    def statements(self, nodes: list[ast.stmt]) -> None:
        """Read statements."""
        raise NotImplementedError

    # -- for ---------------------------------------------------------------------------------------

    def on_for(self, node: ast.For) -> None:
        """Read a loop over something."""
        inner = self.nested(node)
        if inner is not None:
            statements, taken = inner
            self.spares(taken, lambda: self.statements(statements))
            return
        if self.is_filter(node.iter):
            item = self.hidden("item")
            over, test = self.kept_by(node.iter, item)  # type: ignore[arg-type] # it is a call
            bound = ast.Assign([node.target], ast.Name(item, ast.Load()))
            body: list[ast.stmt] = [ast.If(test, [bound, *node.body], [])]
            loop = ast.For(ast.Name(item, ast.Store()), over, body, node.orelse)
            self.on_for(ast.fix_missing_locations(ast.copy_location(loop, node)))
            return
        counted = self.counted(node)
        if counted is not None:
            self.statements(counted)
        elif isinstance(node.iter, ast.Call):
            call = self.generator_called(node.iter)
            if call is None:
                self._for(node, self.iterated(node.iter))
            else:
                self.over_generator(node, *call)
        elif isinstance(node.iter, (ast.Name, ast.Attribute, ast.Subscript)):
            over = self.flattened(node.iter)
            method = self.generator_of_object(over)
            if method is None:
                self._for(node, self._over_any(over))
            else:
                self.over_generator(node, method, [over], {})
        else:
            self._for(node, self.iterated(node.iter))

    def generator_called(self, node: ast.Call) -> tuple[Any, list[Any], dict[str, Any]] | None:
        """Return the generator function that a call calls, and the arguments; None for others."""
        raise NotImplementedError

    def generator_of_object(self, x: Any) -> Any:
        """Return the method of an object that a loop over it runs, if it is a generator."""
        raise NotImplementedError

    def over_generator(
        self, node: ast.For, f: Any, args: list[Any], names: dict[str, Any]
    ) -> None:  # fmt: skip
        """Read a loop over what a generator function yields."""
        raise NotImplementedError

    def _for(self, node: ast.For, over: Turns) -> None:
        def turns() -> None:
            self.spares(over.tables, lambda: self._turns(node, over), codes=frozenset({"drop"}))

        self.spares(over.taken, turns)
        for xs, n in over.lists:
            self.leave_unless(self.call(operator.eq, [self.length(self.read(xs)), self.read(n)]))

    def _turns(self, node: ast.For, over: Turns) -> None:
        if over.known is None and _place(node) in self.parted:
            self._part_turns(node, over)
        elif over.known is None:
            self._turn(node, over)
        elif over.known <= MOST_UNROLLED:
            self._unroll(node, over)
        else:
            raise UnsupportedError("a loop over a long tuple")

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
        self.statements(noting_breaks(nodes, left, stays=False) if left else nodes)
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
        left = self.hidden("left") if flag else ""
        if left:
            self.bind(left, self.const(False))
            nodes = noting_breaks(nodes, left, stays=False)
        names = {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}

        own = node.target.id if isinstance(node.target, ast.Name) else ""
        may_be_anew = own not in self.scope.outer and self.depth != self.scope.blocks
        are_alike = True

        def turn(i: int) -> None:
            nonlocal are_alike
            self._forget(names)
            item = over.item(self.const(i))
            if may_be_anew and self.form_of(own) not in (None, form_of_value(item)):
                self.unbind(own)
                are_alike = False
            self.assign(node.target, item)
            self.statements(nodes)

        for i in range(over.known or 0):
            if left:
                self.branches(self.read(left), lambda: None, functools.partial(turn, i))
            else:
                turn(i)
        if self.depth != self.scope.blocks:
            self._forget(names)
            if not are_alike:
                self.unbind(own)  # behind the loop, nobody knows which item it is

    def _forget(self, names: set[str]) -> None:
        """Have functions and objects no longer known by these names: each item is bound anew."""
        for name in names:
            self.scope.functions.pop(name, None)

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
            joined = {s: self.joined(s, kind, self.kinds[s]) for s, kind in before.items()}
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
            leaves = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [])
            loop = ast.While(ast.Constant(True), [leaves, *node.body], [])
            node = ast.fix_missing_locations(ast.copy_location(loop, node))
        if _place(node) in self.parted:
            self.leave_unless(self.truth(node.test))
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
            test = self.truth(node.test)
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
        if any(op.code in (*WRITES, *LIST_WRITES) for op in ops_of(parts[1])):
            raise UnsupportedError("a test that writes into an array")
        self.flags.pop()
        parts[0].uses += 1
        self._add_loop(While(parts[1], parts[0], body, flag), node, readable)
        if self._keeps(node, bound):
            self.leave_unless(self.read(had_turn))


def _place(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset
