"""Reading iterators that variables hold: ``it = iter(xs)``, and what takes items from them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable
from typing import Any

from autodiff.structured.form.function_ir import HeldRange, Items, Slot, Value
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.reading.containers.lists import AT
from autodiff.structured.reading.containers.sequences import is_sequence
from autodiff.structured.reading.iteration.dict_iteration import DictIterationReader
from autodiff.structured.reading.iteration.iteration_space import IterationSpace
from autodiff.structured.reading.scopes import (
    LocalFunction,
    LocalIterable,
    LocalIterator,
    LocalObject,
    Method,
    Scope,
)


def has_one_loop(node: ast.GeneratorExp) -> bool:
    """Whether a generator expression has one loop, without tests and assignments."""
    first, *others = node.generators
    is_plain = not any(isinstance(part, ast.NamedExpr) for part in ast.walk(node))
    return is_plain and not others and not first.ifs


def _read_by(x: Any, seen: set[Any]) -> list[Slot]:
    """Return the variables that an inner function, or an object, reads from around it."""
    if type(x) is Method:
        return _read_by(x.owner, seen)
    if type(x) is LocalObject:
        return [*x.scope.slots.values(), *_read_by_all(x.scope.functions.values(), seen)]
    if type(x) is not LocalFunction or x in seen:
        return []
    seen.add(x)
    names = {part.id for part in ast.walk(x.node) if isinstance(part, ast.Name)}
    names -= {part.arg for part in ast.walk(x.node.args) if isinstance(part, ast.arg)}
    found: list[Slot] = []
    scope: Scope | None = x.scope
    while scope is not None:
        own = names & scope.locals
        found += [s for name, s in scope.slots.items() if name.partition(".")[0] in own]
        found += _read_by_all([f for name, f in scope.functions.items() if name in own], seen)
        scope = scope.parent
    return found


def _read_by_all(functions: Iterable[Any], seen: set[Any]) -> list[Slot]:
    return [slot for f in functions for slot in _read_by(f, seen)]


class LocalIteratorReader(DictIterationReader):
    """Layer of the reader: iterators in variables."""

    # Methods that subclasses define.
    is_iterator: Callable[[ast.Call], bool]

    def new_iterator(self, xs: Any, *bounds: Value) -> Any:
        """Read ``iter(xs)``, perhaps from one position to another."""
        if type(xs) in (LocalIterator, LocalIterable) and not bounds:
            return xs
        if type(xs) is HeldRange:
            xs = self.extended(self.new_list([]), xs)
        elif type(xs) is not Value and is_sequence(xs):
            xs = self.list_in_memory(Items(xs))
        elif type(xs) is Value and xs.kind.is_mapping and not xs.kind.is_table:
            xs = self.list_of_keys(xs)
        is_list = type(xs) is Value and xs.kind.is_list and not xs.kind.is_queue
        if not is_list and not (type(xs) is Value and xs.kind.is_array and xs.kind.ndim):
            raise UnsupportedError("an iterator over something other than a list, tuple or array")
        n = self.hold(self._size(xs))
        start, end = map(self.hold, bounds) if bounds else (self.hold(self.const(0)), n)
        return LocalIterator(self.scope, self.hold(xs), n, start, end)

    def _size(self, xs: Value) -> Value:
        return self.length(xs) if xs.kind.is_list else self.read_call(len, [xs], {})

    def next_of(self, it: LocalIterator, name: str, *default: Any) -> Any:
        """Read ``next(it)``, perhaps with a default; `name` is a variable for the result."""
        is_there = self.emit_call(operator.lt, [self.read_in(it.scope, it.place), self._end(it)])

        def take() -> Any:
            return self._take(it, self.read_in(it.scope, it.place))

        if default:
            return self.choose(is_there, take, lambda: default[0], name)
        self.exit_unless(is_there)
        return take()

    def over_iterator(self, it: LocalIterator) -> IterationSpace:
        """Return the iteration space of the items that an iterator has left.

        The program exits if the body of the loop takes items, too, and the loop goes on.
        """
        xs, end = self.read_in(it.scope, it.items), self.hold(self._end(it))
        start = self.hold(self.read_in(it.scope, it.place))

        def item(i: Value) -> Any:
            at = self.emit_call(operator.add, [self.read(start), i])
            place = self.read_in(it.scope, it.place)
            self.exit_unless(self.emit_call(operator.eq, [place, at]))
            return self._take(it, at)

        over = IterationSpace(
            lambda: self.emit_call(operator.sub, [self.read(end), self.read(start)]),
            item,
            computes=True,
        )
        if xs.kind.is_list:
            over.lists.append((self.hold(xs), self.hold(self.length(xs))))
        return over

    def _end(self, it: LocalIterator) -> Value:
        """Return where an iterator ends; the program exits if the list has grown or shrunk."""
        xs = self.read_in(it.scope, it.items)
        if xs.kind.is_list:
            now = self.length(xs)
            self.exit_unless(self.emit_call(operator.eq, [now, self.read_in(it.scope, it.length)]))
        return self.read_in(it.scope, it.end)

    def _take(self, it: LocalIterator, at: Value) -> Any:
        """Return the item at a position, behind which the iterator then is."""
        xs = self.read_in(it.scope, it.items)
        item = self.item(xs, at) if xs.kind.is_list else self.indexed(xs, [at], AT)
        outer, self.scope = self.scope, it.scope
        self.bind(it.place, self.emit_call(operator.add, [at, self.const(1)]))
        self.scope = outer
        return item

    def new_iterable(self, f: Any, args: list[Any], named: dict[str, Any]) -> LocalIterable:
        """Read a call that returns an iterator: of its arguments now, of its items in a loop."""
        places = tuple(map(self.hold, args))
        by_name = {name: self.hold(x) for name, x in named.items()}
        is_taken = self.hold(self.const(False))
        return LocalIterable(self.scope, self.hold(f), places, by_name, is_taken)

    def on_generatorexp(self, node: ast.GeneratorExp) -> LocalIterable:
        """Read a generator expression: a generator, whose argument is the first iterable."""
        if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node)):
            raise UnsupportedError("an assignment in a generator expression")
        given = self.hidden("given")
        body: ast.stmt = ast.Expr(ast.Yield(node.elt))
        for k, generator in reversed(list(enumerate(node.generators))):
            for test in reversed(generator.ifs):
                body = ast.If(test, [body], [])
            over = generator.iter if k else ast.Name(given, ast.Load())
            body = ast.For(generator.target, over, [body], [])
        parameters = ast.arguments([], [ast.arg(given)], None, [], [], None, [])
        made = ast.FunctionDef("<genexpr>", parameters, [body], [])
        ast.fix_missing_locations(ast.copy_location(made, node))
        first = self.expression(node.generators[0].iter)
        return self.new_iterable(LocalFunction(made, self.scope, {}), [first], {})

    def on_ifexp(self, node: ast.IfExp) -> Any:
        """Read a conditional expression; one of ranges may be reversed in one branch."""
        both = node.body, node.orelse
        if not any(isinstance(x, ast.Call) and self.callee(x) is reversed for x in both):
            return super().on_ifexp(node)
        # An iterator over either: it goes backwards through a range that does so, too.
        chosen = self.choose(
            self.truth(node.test),
            lambda: self._backwards(both[0]),
            lambda: self._backwards(both[1]),
        )
        return self.new_iterable(self.const(reversed), [chosen], {})

    def _backwards(self, node: ast.expr) -> HeldRange:
        """Read a range in the reverse order, or a reversed range in its own."""
        is_reversed = isinstance(node, ast.Call) and self.callee(node) is reversed
        is_one = is_reversed and len(node.args) == 1 and not node.keywords  # type: ignore[attr-defined]
        found = self.expression(node.args[0] if is_one else node)  # type: ignore[attr-defined]
        if type(found) is not HeldRange:
            raise UnsupportedError("a reversed range or something else")
        if is_reversed:
            return found
        return self.subscripted(found, ast.Slice(None, None, ast.Constant(-1)))

    def without_changes(self, given: list[Any], read: Callable[[], None]) -> None:
        """Read a loop that must change neither arrays nor lists nor what functions read.

        Python takes the items, or calls the functions, at other times than the program.
        """

        def variables() -> list[tuple[Slot, int]]:
            return [(slot, slot.writes) for x in given for slot in _read_by(x, set())]

        before = variables()
        parts = [*given, *[slot for slot, _ in before]]
        memories = [x.memory for x in parts if type(x) in (Value, Slot) and x.memory]
        self.forbid_writes([*memories, *[m for own in memories for m in own.root().within()]], read)
        if variables() != before:  # a name may have got another variable
            raise UnsupportedError("a function that is called ahead, and reads what changes")

    def taken(self, node: ast.expr) -> ast.expr:
        """Replace variables that hold iterators in what a loop takes by calls that return these.

        The program exits if another loop has taken such an iterator before.
        """
        if isinstance(node, ast.Name):
            found = self._iterable_in(node.id)
            return node if found is None else ast.copy_location(self.call_of(found), node)
        if isinstance(node, ast.GeneratorExp) and not has_one_loop(node):
            return ast.copy_location(self.call_of(self.on_generatorexp(node)), node)
        if isinstance(node, ast.Call) and node.args and self.is_iterator(node):
            args = list(map(self.taken, node.args))
            return ast.copy_location(ast.Call(node.func, args, node.keywords), node)
        return node

    def _iterable_in(self, name: str) -> LocalIterable | None:
        scope: Scope = self.scope
        while name not in scope.locals and scope.parent is not None:
            scope = scope.parent
        found = scope.functions.get(name)
        return found if type(found) is LocalIterable else None

    def call_of(self, it: LocalIterable) -> ast.Call:
        """Return a call that returns an iterator, for the loop that takes it."""
        has_been = self.read_in(it.scope, it.is_taken)
        self.exit_unless(self.emit_call(operator.not_, [has_been]))
        outer, self.scope = self.scope, it.scope
        self.bind(it.is_taken, self.const(True))
        self.scope = outer

        def named(place: str) -> ast.expr:
            if it.scope is not self.scope:
                place = self.hold(self.read_in(it.scope, place))
            return ast.Name(place, ast.Load())

        by_name = [ast.keyword(name, named(place)) for name, place in it.named.items()]
        call = ast.Call(named(it.function), list(map(named, it.args)), by_name)
        return self.taken(ast.fix_missing_locations(ast.copy_location(call, self.calling[-1])))  # type: ignore[return-value]
