"""Whether a write spares what was read of the same array before, in an earlier turn of a loop too.

Indices and the bounds of slices are taken as sums of loop variables, variables that are bound once,
and numbers. Each loop variable lies between the bounds of its range, and below the one of a later
turn if the loop counts up. A write and a read are apart if the indices along some axis are: if the
least that their difference can be is 1.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff.structured.form.indices import parts_of_index
from autodiff.structured.form.ir import For, Op, Slot, Value, While, known
from autodiff.structured.form.order import Order, binds

_Sum = dict[Any, int]
"""For each symbol its factor; the number that is added has the symbol ``1``."""

_WIDE = frozenset({int, np.int64})
"""Sums of other integers may begin again from the least one."""

_Bound = tuple[_Sum | None, _Sum | None]
"""The least and the greatest value, None where it is not known."""


def spares(write: Op, reader: Op, read: Value, order: Order) -> bool:
    """Whether a write never replaces what an operation has read before.

    Parameters
    ----------
    write : Op
        The write.
    reader, read : Op, Value
        An operation that reads the elements of an array, and this array.
    order : Order
        Where both stand.
    """
    given = _Part.of(write.args[0], write.data, write.args[2:])
    taken = _Part.of(read)
    if given is None or taken is None or given.slot is not taken.slot:
        return False
    place, around = order.places[write]
    other, others = order.places[reader]
    common = [a for a, b in zip(around, others, strict=False) if a is b]
    cases = [k for k, loop in enumerate(common)]
    if other <= place:
        cases.append(len(common))
    return all(_are_apart(given, around, taken, others, k) for k in cases)


def are_from_zero(op: Op, values: list[Value], order: Order) -> bool:
    """Whether integers that an operation reads are never negative: as indices, from the front."""
    turn = _Turn(order.places[op][1], "", 0)
    return all(turn.is_from_zero(turn.sum_of(v)) for v in values)


class _Part:
    """A part of an array that one variable holds, as an index gives it."""

    def __init__(self, slot: Slot, template: Any, values: list[Value]) -> None:
        self.slot = slot
        self.template = template
        self.values = values

    @classmethod
    def of(cls, base: Value, template: Any = None, values: list[Value] | None = None) -> Any:
        """Return the part that an array is, or a part of it; None if nothing is known of it."""
        while base.op.code == "view":
            template, values = base.op.data, base.op.args[1:]
            base = base.op.args[0]
        if base.op.code != "read" or not base.op.data.is_stable:
            return None
        if type(template) is not tuple or values is None:
            return None
        return cls(base.op.data, template, values)

    def axes(self, turn: _Turn) -> Iterator[_Bound]:
        """Yield the bounds of the elements along the first axes."""
        for part in parts_of_index(self.template):
            if part == ("known", None):
                continue
            if part[0] == "value":
                at = turn.sum_of(self.values[part[1]])
                yield (at, at) if turn.is_from_zero(at) else (None, None)
            elif part[0] == "slice":
                yield self._of_slice(part, turn)
            else:
                return

    def _of_slice(self, part: tuple, turn: _Turn) -> _Bound:
        start, stop, step = [None if k is None else self.values[k] for k in part[1:]]
        if step is not None and not (type(known(step)) is int and known(step) > 0):
            return None, None
        low: _Sum | None = {} if start is None else turn.sum_of(start)
        high = None if stop is None else turn.sum_of(stop)
        return (
            low if turn.is_from_zero(low) else None,
            _plus(high, {1: -1}) if turn.is_from_zero(high) else None,
        )


class _Turn:
    """One turn of each of the loops around an operation.

    Parameters
    ----------
    loops : sequence of For or While
        The loops.
    name : str
        What distinguishes it from another turn.
    shared : int
        So many of the loops are in the same turn as in any other.
    """

    def __init__(self, loops: tuple, name: str, shared: int) -> None:
        self.loops = loops
        self.symbols = [
            ("" if k < shared else name, loop.slot) if isinstance(loop, For) else None
            for k, loop in enumerate(loops)
        ]
        self.bounds: list[tuple[Any, _Bound]] = []  # of the variables, outer ones first
        for k, loop in enumerate(loops):
            if isinstance(loop, For):
                self.bounds.append((self.symbols[k], self._bounds(loop, k)))

    def _bounds(self, loop: For, depth: int) -> _Bound:
        sums = [self.sum_of(v, depth) for v in loop.bounds]
        start = {} if len(sums) == 1 else sums[0]
        stop = sums[0] if len(sums) == 1 else sums[1]
        step = _step_of(loop)
        if step is None:
            return None, None
        return (start, _plus(stop, {1: -1})) if step > 0 else (_plus(stop, {1: 1}), start)

    def sum_of(self, v: Value, depth: int | None = None) -> _Sum | None:
        """Return an integer as a sum; None if it is something else."""
        x = known(v)
        if type(x) is int:
            return {1: x}
        if v.op.code == "read":
            return self._of_variable(v.op.data, self.loops[:depth])
        if v.op.code != "call" or v.op.options or not v.kind.classes <= _WIDE:
            return None
        sums = [self.sum_of(a, depth) for a in v.op.args]
        return None if None in sums else _result(v.op.f, sums)  # type: ignore[arg-type]

    def _of_variable(self, slot: Slot, loops: tuple) -> _Sum | None:
        for k in reversed(range(len(loops))):
            if isinstance(loops[k], For) and loops[k].slot is slot:
                return None if binds(loops[k].body, slot) else {self.symbols[k]: 1}
        return {slot: 1} if slot.is_stable else None

    def is_from_zero(self, x: _Sum | None) -> bool:
        """Whether an integer is never negative: as an index it counts from the front."""
        least = _least(x, self.bounds)
        return least is not None and least >= 0


def _step_of(loop: For) -> int | None:
    """Return by how much the variable of a loop changes; None if that is not known."""
    step = known(loop.bounds[2]) if len(loop.bounds) > 2 else 1
    return step if type(step) is int and step else None


def _are_apart(
    given: _Part, around: tuple[For | While, ...], taken: _Part, others: tuple, shared: int
) -> bool:
    """Whether a write spares what was read in the same turn of so many loops.

    Of the next loop, if both are in it, the read is in an earlier turn.
    """
    later, earlier = _Turn(around, "later", shared), _Turn(others, "earlier", shared)
    bounds = [*later.bounds, *earlier.bounds[sum(s is not None for s in later.symbols[:shared]) :]]
    if shared < min(len(around), len(others)) and around[shared] is others[shared]:
        bounds = _with_order(bounds, around[shared], later.symbols[shared], earlier.symbols[shared])
    for (low, high), (other_low, other_high) in zip(
        given.axes(later), taken.axes(earlier), strict=False
    ):
        for a, b in ((low, other_high), (other_low, high)):
            least = None if a is None or b is None else _least(_minus(a, b), bounds)
            if least is not None and least >= 1:
                return True
    return False


def _with_order(
    bounds: list[tuple[Any, _Bound]], loop: For | While, later: Any, earlier: Any
) -> list[tuple[Any, _Bound]]:
    """Return the bounds of variables, of which one has its value in an earlier turn of a loop."""
    step = _step_of(loop) if isinstance(loop, For) else None
    if step is None:
        return bounds
    found = []
    for symbol, (low, high) in bounds:
        if symbol == earlier:
            low, high = (low, {later: 1, 1: -1}) if step > 0 else ({later: 1, 1: 1}, high)
        found.append((symbol, (low, high)))
    return found


def _least(x: _Sum | None, bounds: list[tuple[Any, _Bound]]) -> int | None:
    """Return the least value of a sum; None if none is known."""
    if x is None:
        return None
    left = dict(x)
    for symbol, (low, high) in reversed(bounds):
        factor = left.pop(symbol, 0)
        if factor:
            bound = low if factor > 0 else high
            if bound is None:
                return None
            for other, n in bound.items():
                left[other] = left.get(other, 0) + factor * n
    constant = left.pop(1, 0)
    return None if any(left.values()) else constant


def _plus(x: _Sum | None, y: _Sum | None) -> _Sum | None:
    if x is None or y is None:
        return None
    return {symbol: x.get(symbol, 0) + y.get(symbol, 0) for symbol in {**x, **y}}


def _times(x: _Sum, factor: int) -> _Sum:
    return {symbol: factor * n for symbol, n in x.items()}


def _minus(x: _Sum, y: _Sum) -> _Sum | None:
    return _plus(x, _times(y, -1))


def _result(f: Callable | None, sums: list[_Sum]) -> _Sum | None:
    """Return what an operator gives for sums, if it is one."""
    if f is operator.add:
        return _plus(*sums)
    if f is operator.sub:
        return _minus(*sums)
    if f is operator.neg:
        return _times(sums[0], -1)
    if f is operator.mul:
        for x, y in (sums, sums[::-1]):
            if set(x) <= {1}:
                return _times(y, x.get(1, 0))
    return None
