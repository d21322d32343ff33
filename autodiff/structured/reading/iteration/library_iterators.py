"""Reading loops over iterators of `itertools` whose number of items is known before the loop."""

from __future__ import annotations

import ast
import functools
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

from autodiff.structured.form.function_ir import Items, Value, known
from autodiff.structured.form.kinds import UnsupportedError
from autodiff.structured.reading.containers.sequences import is_sequence
from autodiff.structured.reading.iteration.iteration_space import IterationSpace
from autodiff.structured.reading.iteration.local_iterators import LocalIteratorReader
from autodiff.structured.reading.iteration.nested_loops import memory_of_items
from autodiff.structured.reading.libraries.python_decompositions import (
    accumulate_from,
    accumulate_items,
)
from autodiff.structured.reading.rewriting import written
from autodiff.structured.reading.scopes import LocalFunction


class LibraryIteratorReader(LocalIteratorReader):
    """Layer of the reader: iterators of `itertools`."""

    # Methods that subclasses define.
    iterated: Callable[[ast.expr], IterationSpace]
    over_zip: Callable[[list[ast.expr]], IterationSpace]
    _over_value: Callable[[Any], IterationSpace]
    _over_list: Callable[[Value], IterationSpace]
    _known_items: Callable[[IterationSpace], Iterator[Any]]
    sources_of: Callable[[ast.expr], list[Any]]

    def over_chain(self, nodes: list[ast.expr]) -> IterationSpace:
        """Read ``itertools.chain(xs, ys)``."""
        overs = list(map(self.iterated, nodes))
        if None not in [over.known for over in overs]:
            items = [item for over in overs for item in self._known_items(over)]
            return IterationSpace(
                lambda: self.const(len(items)),
                lambda i: items[known(i)],
                known=len(items),
                of=overs,
            )
        overs = [
            over if over.known is None else self._over_list(self._listed(over)) for over in overs
        ]
        lengths = [self.hold(over.length()) for over in overs]

        def item(i: Value, k: int = 0) -> Any:
            if k == len(overs) - 1:
                return overs[k].item(i)
            n, place = self.read(lengths[k]), self.hold(i)
            return self.choose(
                self.emit_call(operator.lt, [i, n]),
                lambda: overs[k].item(self.read(place)),
                lambda: item(
                    self.emit_call(operator.sub, [self.read(place), self.read(lengths[k])]), k + 1
                ),
            )

        def length() -> Value:
            return functools.reduce(
                lambda a, b: self.emit_call(operator.add, [a, b]), map(self.read, lengths)
            )

        return IterationSpace(length, item, of=overs)

    def _listed(self, over: IterationSpace) -> Value:
        if over.computes:
            raise UnsupportedError("a chain of iterators that compute their items")
        return self.list_in_memory(Items(self._known_items(over)))

    def over_zip_longest(self, nodes: list[ast.expr], fillvalue: Any = None) -> IterationSpace:
        """Read ``itertools.zip_longest(..., fillvalue=x)``."""
        overs = list(map(self.iterated, nodes))
        if not overs or any(over.computes for over in overs):
            raise UnsupportedError("zip_longest of iterators that compute their items")
        lengths = [self.hold(over.length()) for over in overs]
        trips = [over.known for over in overs if over.known is not None]
        if len(trips) < len(overs):
            overs = [
                over if over.known is None else self._over_list(self._listed(over))
                for over in overs
            ]
        fill = self.const(fillvalue)

        def item(i: Value) -> Any:
            place, parts = self.hold(i), []
            for over, n in zip(overs, lengths, strict=True):
                is_there = self.emit_call(operator.lt, [self.read(place), self.read(n)])
                taken = functools.partial(lambda over: over.item(self.read(place)), over)
                parts.append(self.choose(is_there, taken, lambda: fill))
            return tuple(parts)

        def length() -> Value:
            both = list(map(self.read, lengths))
            return self.emit_call(max, both) if both[1:] else both[0]

        is_known = len(trips) == len(overs)
        return IterationSpace(length, item, known=max(trips) if is_known else None, of=overs)

    def over_repeat(self, nodes: list[ast.expr]) -> IterationSpace:
        """Read ``itertools.repeat(x)``, perhaps a number of times."""
        if not 1 <= len(nodes) <= 2:
            raise UnsupportedError("a call that fails")
        x = self.hold(self.expression(nodes[0]))
        n = self.value(nodes[1]) if nodes[1:] else self.const(sys.maxsize)
        if not n.kind.is_integral:
            raise UnsupportedError("repeat of so many items")
        times = self.hold(n)
        over = IterationSpace(lambda: self.read(times), lambda i: self.read(x))
        over.is_endless = not nodes[1:]
        return over

    def over_cycle(self, nodes: list[ast.expr]) -> IterationSpace:
        """Read ``itertools.cycle(xs)`` of a list, tuple or array: the loop must not change it."""
        if len(nodes) != 1:
            raise UnsupportedError("a call that fails")
        xs = self.expression(nodes[0])
        if type(xs) is not Value and is_sequence(xs):
            xs = self.list_in_memory(Items(xs))
        over = self._over_value(xs)
        if over.known is not None or over.computes:
            raise UnsupportedError("cycle of this iterator")
        n = self.hold(over.length())
        self.exit_unless(self.emit_call(operator.gt, [self.read(n), self.const(0)]))
        over.read_only += memory_of_items(xs)
        over.read_only += [
            x.memory for x in self.sources_of(nodes[0]) if type(x) is Value and x.memory is not None
        ]
        cycled = IterationSpace(
            lambda: self.const(sys.maxsize),
            lambda i: over.item(self.emit_call(operator.mod, [i, self.read(n)])),
            of=[over],
        )
        cycled.is_endless = True
        return cycled

    def over_accumulate(self, node: ast.Call) -> IterationSpace:
        """Read ``itertools.accumulate(xs, f, initial=...)`` of a list or array."""
        given = dict(zip(("iterable", "func"), node.args, strict=False))
        given |= {k.arg or "**": k.value for k in node.keywords}
        is_plain = not any(isinstance(a, ast.Starred) for a in node.args) and len(node.args) <= 2
        if not is_plain or not given.keys() <= {"iterable", "func", "initial"}:
            raise UnsupportedError("accumulate with these arguments")
        xs = self.expression(given["iterable"])
        if isinstance(xs, tuple) and is_sequence(xs):
            xs = self.list_in_memory(Items(xs))
        f: Any = self.const(operator.add)
        if "func" in given:
            f = self.expression(given["func"])
            is_lambda = type(f) is LocalFunction and isinstance(f.node, ast.Lambda)
            has_calls = is_lambda and any(isinstance(x, ast.Call) for x in ast.walk(f.node))
            if has_calls or not (is_lambda or type(f) is Value):
                raise UnsupportedError("accumulate with a function that may have side effects")
        first = self.expression(given["initial"]) if "initial" in given else self.const(None)
        if type(xs) is not Value or not (xs.kind.is_list or xs.kind.is_array):
            raise UnsupportedError("accumulate of something other than a list or array")
        is_from = type(first) is not Value or known(first) is not None
        made = (
            self.inline(accumulate_from, [xs, f, first], {})
            if is_from
            else self.inline(accumulate_items, [xs, f], {})
        )
        over = self._over_value(made)
        over.read_only.append(xs.memory)  # type: ignore[arg-type] # it has one
        over.functions.append(f)
        return over

    def over_pairwise(self, nodes: list[ast.expr]) -> IterationSpace:
        """Read ``itertools.pairwise(items)`` of a list or array."""
        if len(nodes) != 1:
            raise UnsupportedError("a call that fails")
        name = self.hidden("items")
        value = self.expression(nodes[0])
        self.bind(name, value)
        later = written("xs[1:]", xs=name)[0].value  # type: ignore[attr-defined]
        over = self.over_zip([ast.copy_location(ast.Name(name, ast.Load()), nodes[0]), later])
        over.read_only += memory_of_items(value)
        return over
