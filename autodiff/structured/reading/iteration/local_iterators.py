"""Reading iterators that variables hold: ``it = iter(xs)``, and what takes items from them."""

from __future__ import annotations

import operator
from typing import Any

from autodiff.structured.form.function_ir import HeldRange, Items, Value
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.reading.containers.sequences import is_sequence
from autodiff.structured.reading.iteration.dict_iteration import DictIterationReader
from autodiff.structured.reading.iteration.iteration_space import IterationSpace
from autodiff.structured.reading.scopes import LocalIterator


class LocalIteratorReader(DictIterationReader):
    """Layer of the reader: iterators in variables."""

    def new_iterator(self, xs: Any) -> LocalIterator:
        """Read ``iter(xs)`` of a list, a tuple, a range or a dict with fixed keys."""
        if type(xs) is HeldRange:
            xs = self.extended(self.new_list([]), xs)
        elif type(xs) is not Value and is_sequence(xs):
            xs = self.list_in_memory(Items(xs))
        elif type(xs) is Value and xs.kind.is_mapping and not xs.kind.is_table:
            xs = self.list_of_keys(xs)
        if type(xs) is not Value or not xs.kind.is_list or xs.kind.is_queue:
            raise UnsupportedError("an iterator over something other than a list, tuple or range")
        names = self.hold(xs), self.hold(self.length(xs)), self.hold(self.const(0))
        return LocalIterator(self.scope, *names)

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
        xs, n = self.read_in(it.scope, it.items), self._end(it)
        names = self.hold(xs), self.hold(n)
        start = self.hold(self.read_in(it.scope, it.place))

        def item(i: Value) -> Any:
            at = self.emit_call(operator.add, [self.read(start), i])
            place = self.read_in(it.scope, it.place)
            self.exit_unless(self.emit_call(operator.eq, [place, at]))
            return self._take(it, at)

        over = IterationSpace(
            lambda: self.emit_call(operator.sub, [self.read(names[1]), self.read(start)]), item
        )
        over.lists.append(names)
        return over

    def _end(self, it: LocalIterator) -> Value:
        """Return the length of the list; the program exits if it is not what it was at first."""
        n = self.length(self.read_in(it.scope, it.items))
        self.exit_unless(self.emit_call(operator.eq, [n, self.read_in(it.scope, it.length)]))
        return self.read_in(it.scope, it.length)

    def _take(self, it: LocalIterator, at: Value) -> Any:
        """Return the item at a position, behind which the iterator then is."""
        item = self.item(self.read_in(it.scope, it.items), at)
        outer, self.scope = self.scope, it.scope
        self.bind(it.place, self.emit_call(operator.add, [at, self.const(1)]))
        self.scope = outer
        return item
