"""Reading loops; a loop over a known tuple or list is unrolled."""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from autodiff.structured.form.function_ir import (
    LIST_WRITES,
    WRITES,
    For,
    Slot,
    While,
    ops_of,
)
from autodiff.structured.form.kinds import INT, Kind, MixedKindsError, UnsupportedError
from autodiff.structured.form.known_functions import iteration_count
from autodiff.structured.reading.builder import structure_of
from autodiff.structured.reading.iteration.iteration_space import IterationSpace
from autodiff.structured.reading.iteration.iterators import IteratorReader
from autodiff.structured.reading.jumps import breaks, recording_breaks, with_jumps_last

_MOST_PASSES = 6


class LoopReader(IteratorReader):
    """Layer of the reader: loops."""

    inlined_count = 0  # calls that are inlined, of functions that might have programs

    # Methods that subclasses define.
    statements: Callable[[list[ast.stmt]], None]
    generator_called: Callable[[ast.Call], tuple[Any, list[Any], dict[str, Any]] | None]
    generator_of_object: Callable[[Any], Any]
    loop_over_generator: Callable[[ast.For, Any, list[Any], dict[str, Any]], None]

    # -- for ---------------------------------------------------------------------------------------

    def on_for(self, node: ast.For) -> None:
        """Read a ``for`` loop."""
        given = self.taken(node.iter)
        if given is not node.iter:
            node = ast.copy_location(ast.For(node.target, given, node.body, node.orelse), node)
        inner = self.nested(node)
        if inner is not None:
            statements, items = inner
            self.forbid_writes(items, lambda: self.statements(statements))
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
                self._for_over(node, self.iterated(node.iter))
            else:
                self.loop_over_generator(node, *call)
        elif isinstance(node.iter, (ast.Name, ast.Attribute, ast.Subscript)):
            over = self.flattened(node.iter)
            method = self.generator_of_object(over)
            if method is None:
                self._for_over(node, self._over_value(over))
            else:
                self.loop_over_generator(node, method, [over], {})
        else:
            self._for_over(node, self.iterated(node.iter))

    def _for_over(self, node: ast.For, over: IterationSpace) -> None:
        """Read a loop, and check that it does not change what it iterates over."""
        over = self.in_lists(over, place_of(node))
        if over.is_endless:
            raise UnsupportedError("a loop over an iterator without end")

        def read() -> None:
            self.forbid_writes(
                over.tables, lambda: self._iterations(node, over), codes=frozenset({"drop"})
            )

        self.without_changes(
            over.functions, lambda: self.forbid_writes(over.read_only, read, begun=over.begun)
        )
        for xs, n in over.lists:
            length = self.length(self.read(xs))
            self.exit_unless(self.emit_call(operator.eq, [length, self.read(n)]))

    def in_lists(self, over: IterationSpace, place: tuple[int, int]) -> IterationSpace:
        """Return the iteration space of lists of the items if the loop at a place stays one."""
        if over.over_lists is None or not self.assumed.stays_loop.get(place):
            return over
        return over.over_lists()

    def _iterations(self, node: ast.For, over: IterationSpace) -> None:
        """Read the iterations: unrolled, or as a loop, perhaps with a peeled iteration."""
        if over.known is None and place_of(node) in self.assumed.peeled:
            self._peel(node, over)
        elif over.known is None:
            self._for_loop(node, over)
        elif self.may_unroll(over.known):
            self._unroll(node, over)
        else:
            raise UnsupportedError("a loop over a long tuple")

    def _for_loop(self, node: ast.For, over: IterationSpace) -> None:
        """Read a loop as a `For` of the IR."""
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
        self._generalize([node])
        self.flags.append(flag or "")

        def read() -> None:
            if item is not None:
                self.assign(node.target, item(self.read(name)))
            self.statements(nodes)

        def iteration() -> list:
            slot.holds(INT)
            self.kinds[slot] = INT
            return self.read_blocks(read)

        body, bound = self._loop(iteration, node)
        self.flags.pop()
        slot.writes += 2
        self._add_loop(For(slot, bounds, body, flag), node, readable)
        if self._must_iterate(node, bound):
            trip_count = self.emit_call(iteration_count, bounds)
            self.exit_unless(self.emit_call(operator.ge, [trip_count, self.const(1)]))

    def _peel(self, node: ast.For, over: IterationSpace) -> None:
        """Peel the first iteration, because a variable is of another kind before it."""
        n, item = self.hold(over.length()), over.item
        one = self.const(1)
        self.exit_unless(self.emit_call(operator.ge, [self.read(n), one]))

        def read_others() -> None:
            others = IterationSpace(
                lambda: self.emit_call(operator.sub, [self.read(n), one]),
                lambda i: item(self.emit_call(operator.add, [i, one])),
            )
            self._for_loop(node, others)

        def begin() -> None:
            self.assign(node.target, item(self.const(0)))

        self._first_iteration(node, begin, read_others)

    def _first_iteration(
        self, node: ast.For | ast.While, begin: Callable[[], None], read_others: Callable[[], None]
    ) -> None:
        """Read one iteration of a loop, and then the others, unless it leaves the loop."""
        nodes, left = self._inlined_body(node)
        begin()
        self.statements(nodes)
        if left:
            self.branches(self.read(left), lambda: None, read_others)
        else:
            read_others()

    def _must_iterate(self, node: ast.stmt, bound: dict[Slot, Kind]) -> bool:
        """Whether variables that only this loop binds are read after it."""
        place = place_of(node)
        if place in self.assumed.must_iterate:
            self.kinds |= {slot: kind.general() for slot, kind in bound.items()}
            return True
        self.bound_in_loop |= dict.fromkeys(bound, place)
        return False

    def _add_loop(self, loop: For | While, node: ast.stmt, readable: set[Slot]) -> None:
        loop.readable = readable
        loop.function, loop.line = self.scope.function.__qualname__, node.lineno
        self.add_node(loop)

    def _unroll(self, node: ast.For, over: IterationSpace) -> None:
        """Read the body once for each item."""
        nodes, left = self._inlined_body(node)
        names = {part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)}

        may_unbind = self.depth != self.scope.blocks
        unlike: set[str] = set()  # variables to which the items bind values of several forms

        def iteration(i: int) -> None:
            self._forget(names)
            item = over.item(self.const(i))
            for name, part in _bindings(node.target, item) if may_unbind else ():
                is_own = name not in self.scope.outer
                if is_own and self.variable_structure(name) not in (None, structure_of(part)):
                    self.unbind(name)
                    unlike.add(name)
            self.assign(node.target, item)
            self.statements(nodes)

        for i in self.unrolled(over, place_of(node)):
            if left:
                self.branches(self.read(left), lambda: None, functools.partial(iteration, i))
            else:
                iteration(i)
        if self.depth != self.scope.blocks:
            self._forget(names)
            for name in unlike:
                self.unbind(name)  # which item it is after the loop is unknown

    def _forget(self, names: set[str]) -> None:
        """Forget the functions and objects with these names, which each item binds again."""
        for name in names:
            self.scope.functions.pop(name, None)

    # -- loops -------------------------------------------------------------------------------------

    def _body_of(self, node: ast.For | ast.While) -> tuple[list[ast.stmt], str | None]:
        """Return the body of a loop with jumps last, and the name of its break flag, if any."""
        nodes = with_jumps_last(node.body, (ast.Break, ast.Continue, ast.Raise))
        return nodes, self.fresh("left") if any(map(breaks, node.body)) else None

    def _inlined_body(self, node: ast.For | ast.While) -> tuple[list[ast.stmt], str]:
        """Return the body of a loop, to be read outside of it, and a variable for its break flag.

        The variable is bound to False here; its name is empty if the body has no ``break``.
        """
        nodes, flag = self._body_of(node)
        if not flag:
            return nodes, ""
        left = self.hidden("left")
        self.bind(left, self.const(False))
        return recording_breaks(nodes, left, keep=False), left

    def _generalize(self, nodes: list[Any]) -> None:
        """Forget the known values of the numbers that a loop binds."""
        for node in nodes:
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    slot = self.scope.slots.get(part.id)
                    if slot is not None and slot in self.kinds and self.kinds[slot].is_scalar:
                        self.kinds[slot] = self.kinds[slot].general()

    def _loop(
        self, iteration: Callable[[], list], node: ast.For | ast.While
    ) -> tuple[list, dict[Slot, Kind]]:
        """Read the body of a loop until the kinds at its beginning hold for every iteration.

        Also return the variables that each iteration binds, and that may be unbound before.
        """
        try:
            return self._fixed_point(iteration)
        except MixedKindsError as error:
            if error.loop is None and place_of(node) not in self.assumed.peeled:
                error.loop = place_of(node)
            raise

    def _fixed_point(self, iteration: Callable[[], list]) -> tuple[list, dict[Slot, Kind]]:
        """Widen the kinds before the body until they hold after it, too."""
        skipped_before, inlined_before = self.skipped, self.inlined_count
        for _ in range(_MOST_PASSES):
            before, self.skipped = dict(self.kinds), None
            self.inlined_count = inlined_before
            n_unchecked = len(self.read_unchecked)
            items = [(memory, memory.root().contents()) for memory in self.lists]
            state = [(s, s.writes, s.reads) for s in self.program.slots]
            body = iteration()
            joined = {s: self.join_kinds(s, kind, self.kinds[s]) for s, kind in before.items()}
            same_items = all(memory.root().contents() == kinds for memory, kinds in items)
            skipped = self.skipped
            self.skipped = skipped or skipped_before
            if joined == before and same_items:
                if skipped is not None and len(self.flags) == 1:
                    raise skipped
                bound = {slot: kind for slot, kind in self.kinds.items() if slot not in before}
                self.kinds = before
                return body, bound
            self.kinds = joined
            del self.read_unchecked[n_unchecked:]
            for s, writes, reads in state:
                s.writes, s.reads = writes, reads
        raise UnsupportedError("a loop whose variables change their kinds")

    def on_while(self, node: ast.While) -> None:
        """Read a ``while`` loop."""
        if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test)):
            leaves = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [])
            loop = ast.While(ast.Constant(True), [leaves, *node.body], [])
            node = ast.fix_missing_locations(ast.copy_location(loop, node))
        if place_of(node) in self.assumed.peeled:
            self.exit_unless(self.truth(node.test))
            self._first_iteration(node, lambda: None, lambda: self._while_loop(node))
        else:
            self._while_loop(node)

    def _while_loop(self, node: ast.While) -> None:
        """Read a loop as a `While` of the IR."""
        has_run = ""
        if place_of(node) in self.assumed.must_iterate:
            has_run = self.hold(self.const(False))
        readable = set(self.kinds)
        self.end_block()
        nodes, flag = self._body_of(node)
        self._generalize(nodes)
        test: Any = None
        before: list = []  # the blocks that compute the test

        def read_test() -> None:
            nonlocal test
            test = self.truth(node.test)
            if test.kind.is_known and not (flag and test.kind.value):
                raise UnsupportedError("a loop without end")

        def read_body() -> None:
            if has_run:
                self.bind(has_run, self.const(True))
            self.statements(nodes)

        def iteration() -> list:
            nonlocal before
            before = self.read_blocks(read_test)
            return self.read_blocks(read_body)

        self.flags.append(flag or "")
        body, bound = self._loop(iteration, node)
        if any(op.code in (*WRITES, *LIST_WRITES) for op in ops_of(before)):
            raise UnsupportedError("a test that writes into an array")
        self.flags.pop()
        test.uses += 1
        self._add_loop(While(before, test, body, flag), node, readable)
        if self._must_iterate(node, bound):
            self.exit_unless(self.read(has_run))


def _bindings(target: ast.expr, item: Any) -> Iterator[tuple[str, Any]]:
    """Yield the variables of a target, each with the part of an item that it is bound to."""
    if isinstance(target, ast.Name):
        yield target.id, item
    elif isinstance(target, (ast.Tuple, ast.List)) and type(item) is tuple:
        for inner, part in zip(target.elts, item, strict=False):
            yield from _bindings(inner, part)


def place_of(node: ast.stmt | ast.expr) -> tuple[int, int]:
    """Return the line and column where a loop or comprehension starts; 0 if it was made up."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
