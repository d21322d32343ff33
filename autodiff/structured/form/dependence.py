"""Dependence analysis: whether a write may overwrite elements that were read before.

The read may come from an earlier loop iteration, unless that has made an array of its own. Indices
and slice bounds are affine expressions: sums of loop variables, variables that are bound once, and
constants. Each loop variable lies within its range, and below its value in a later iteration if the
loop counts up. A write and a read are disjoint if their indices along some axis are: if the minimum
of the difference is at least 1.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import For, Op, Slot, Value, While, known
from autodiff.structured.form.indices import parts_of_index
from autodiff.structured.form.known_functions import makes_new
from autodiff.structured.form.order import Order

_Affine = dict[Any, int]
"""An affine expression: the coefficient of each symbol; the symbol ``1`` has the constant term."""

_WIDE = frozenset({int, np.int64})
"""The classes of integers whose sums do not overflow in practice."""

_Bound = tuple[_Affine | None, _Affine | None]
"""The minimum and the maximum, None if unknown."""


def spares(write: Op, reader: Op, read: Value, order: Order) -> bool:
    """Whether a write never overwrites elements that an operation has read before.

    Parameters
    ----------
    write : Op
        The write.
    reader, read : Op, Value
        An operation that reads elements of an array, and this array.
    order : Order
        The order of operations in the program.
    """
    written = _Part.of(order, write.args[0], write.data, write.args[2:])
    loaded = _Part.of(order, read)
    if written is None or loaded is None or written.array is not loaded.array:
        return False
    position, write_loops = order.places[write]
    earlier, read_loops = order.places[reader]
    common = [a for a, b in zip(write_loops, read_loops, strict=False) if a is b]
    renewing = 0  # the number of loops that make the array anew in each iteration
    if isinstance(written.array, Value):
        made = written.array.op
        if not (order.always_follows(write, made) and order.always_follows(reader, made)):
            return False
        renewing = len(order.places[made][1])
    cases = list(range(renewing, len(common)))
    if earlier <= position:
        cases.append(len(common))
    return all(_are_apart(order, written, write_loops, loaded, read_loops, k) for k in cases)


def are_nonnegative(op: Op, values: list[Value], order: Order) -> bool:
    """Whether integers that an operation reads are never negative, so that they index from 0."""
    iteration = _Iteration(order, order.places[op][1], "", 0)
    return all(iteration.is_nonnegative(iteration.affine_of(v)) for v in values)


class _Part:
    """A part of an array, selected by an index.

    The array is the variable that always holds it, or the new array that an operation makes.
    """

    def __init__(self, array: Slot | Value, template: Any, values: list[Value]) -> None:
        self.array = array
        self.template = template
        self.values = values

    @classmethod
    def of(
        cls, order: Order, base: Value, template: Any = None, values: list[Value] | None = None
    ) -> Any:
        """Return the part that an index selects, or that a view is; None if it is not known."""
        while base.op.code == "view":
            template, values = base.op.data, base.op.args[1:]
            base = base.op.args[0]
        if type(template) is not tuple or values is None:  # the whole array
            template, values = (), []
        array = _array_of(base, order)
        return None if array is None else cls(array, template, values)

    def axes(self, iteration: _Iteration) -> Iterator[_Bound]:
        """Yield the bounds of the indices along the first axes."""
        for part in parts_of_index(self.template):
            if part == ("known", None):
                continue
            if part[0] == "value":
                at = iteration.affine_of(self.values[part[1]])
                yield (at, at) if iteration.is_nonnegative(at) else (None, None)
            elif part[0] == "slice":
                yield self._of_slice(part, iteration)
            else:
                return

    def _of_slice(self, part: tuple, iteration: _Iteration) -> _Bound:
        start, stop, step = [None if k is None else self.values[k] for k in part[1:]]
        if step is not None and not (type(known(step)) is int and known(step) > 0):
            return None, None
        low: _Affine | None = {} if start is None else iteration.affine_of(start)
        high = None if stop is None else iteration.affine_of(stop)
        return (
            low if iteration.is_nonnegative(low) else None,
            _plus(high, {1: -1}) if iteration.is_nonnegative(high) else None,
        )


def _array_of(base: Value, order: Order) -> Slot | Value | None:
    """Return what identifies an array; None if it may be one of several."""
    v, slot = base, None
    if base.op.code == "read":
        slot = base.op.data
        bound = order.bound.get(slot, [])
        v = bound[0] if len(bound) == 1 else base
    if v.op.code == "call" and v.kind.is_array and makes_new(v.op):
        return v
    return slot if slot is not None and slot.is_stable else None


class _Iteration:
    """One iteration of each of the loops around an operation.

    Parameters
    ----------
    order : Order
        The order of operations in the program.
    loops : sequence of For or While
        The loops, outer ones first.
    name : str
        A name that distinguishes it from another iteration.
    shared : int
        The number of outer loops that are in the same iteration as in the other one.
    """

    def __init__(self, order: Order, loops: tuple, name: str, shared: int) -> None:
        self.order = order
        self.loops = loops
        self.symbols = [
            ("" if k < shared else name, loop.slot) if isinstance(loop, For) else None
            for k, loop in enumerate(loops)
        ]
        self.bounds: list[tuple[Any, _Bound]] = []  # of the loop variables, outer ones first
        for k, loop in enumerate(loops):
            if isinstance(loop, For):
                self.bounds.append((self.symbols[k], self._bounds(loop, k)))

    def _bounds(self, loop: For, depth: int) -> _Bound:
        sums = [self.affine_of(v, depth) for v in loop.bounds]
        start = {} if len(sums) == 1 else sums[0]
        stop = sums[0] if len(sums) == 1 else sums[1]
        step = _step_of(loop)
        if step is None:
            return None, None
        return (start, _plus(stop, {1: -1})) if step > 0 else (_plus(stop, {1: 1}), start)

    def affine_of(self, v: Value, depth: int | None = None) -> _Affine | None:
        """Return an integer as an affine expression; None if it is not one."""
        x = known(v)
        if type(x) is int:
            return {1: x}
        if v.op.code == "read":
            return self._of_variable(v.op.data, self.loops[:depth])
        if v.op.code != "call" or v.op.options or not v.kind.classes <= _WIDE:
            return None
        sums = [self.affine_of(a, depth) for a in v.op.args]
        return None if None in sums else _result(v.op.f, sums)  # type: ignore[arg-type]

    def _of_variable(self, slot: Slot, loops: tuple) -> _Affine | None:
        for k in reversed(range(len(loops))):
            if isinstance(loops[k], For) and loops[k].slot is slot:
                is_other = self.order.rebinds_its_variable(loops[k])
                return None if is_other else {self.symbols[k]: 1}
        return {slot: 1} if slot.is_stable else None

    def is_nonnegative(self, x: _Affine | None) -> bool:
        """Whether an integer is never negative, so that it indexes from 0."""
        least = _minimum(x, self.bounds)
        return least is not None and least >= 0


def _step_of(loop: For) -> int | None:
    """Return the step of a loop; None if it is not a known constant."""
    step = known(loop.bounds[2]) if len(loop.bounds) > 2 else 1
    return step if type(step) is int and step else None


def _are_apart(
    order: Order, written: _Part, write_loops: tuple, loaded: _Part, read_loops: tuple, shared: int
) -> bool:
    """Whether a write is disjoint from a read in the same iteration of the `shared` outer loops.

    If both are in the next loop, the read is in an earlier iteration of it.
    """
    later = _Iteration(order, write_loops, "later", shared)
    earlier = _Iteration(order, read_loops, "earlier", shared)
    bounds = [*later.bounds, *earlier.bounds[sum(s is not None for s in later.symbols[:shared]) :]]
    loops = write_loops[shared : shared + 1]
    if loops and loops == read_loops[shared : shared + 1]:
        bounds = _with_order(bounds, loops[0], later.symbols[shared], earlier.symbols[shared])
    for (low, high), (other_low, other_high) in zip(
        written.axes(later), loaded.axes(earlier), strict=False
    ):
        for a, b in ((low, other_high), (other_low, high)):
            least = None if a is None or b is None else _minimum(_minus(a, b), bounds)
            if least is not None and least >= 1:
                return True
    return False


def _with_order(
    bounds: list[tuple[Any, _Bound]], loop: For | While, later: Any, earlier: Any
) -> list[tuple[Any, _Bound]]:
    """Return bounds with the symbol `earlier` limited to iterations before that of `later`."""
    step = _step_of(loop) if isinstance(loop, For) else None
    if step is None:
        return bounds
    found = []
    for symbol, (low, high) in bounds:
        if symbol == earlier:
            low, high = (low, {later: 1, 1: -1}) if step > 0 else ({later: 1, 1: 1}, high)
        found.append((symbol, (low, high)))
    return found


def _minimum(x: _Affine | None, bounds: list[tuple[Any, _Bound]]) -> int | None:
    """Return the minimum of an affine expression; None if it is unknown."""
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


def _plus(x: _Affine | None, y: _Affine | None) -> _Affine | None:
    if x is None or y is None:
        return None
    return {symbol: x.get(symbol, 0) + y.get(symbol, 0) for symbol in {**x, **y}}


def _times(x: _Affine, factor: int) -> _Affine:
    return {symbol: factor * n for symbol, n in x.items()}


def _minus(x: _Affine, y: _Affine) -> _Affine | None:
    return _plus(x, _times(y, -1))


def _result(f: Callable | None, sums: list[_Affine]) -> _Affine | None:
    """Apply an arithmetic operator to affine expressions; None if the result is not affine."""
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
