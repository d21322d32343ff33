"""Fusion of loops over elements.

An elementwise expression is lazy (`LazyArray`): it is part of the loops that use it. These loops
wait (`FusedLoops.groups`). A loop joins a group of others over the same shape, so that each array
is read once and each expression computed once. It must not write what another loop of the group
reads or writes, unless that is at the same element. The loops of a group are emitted as one, before
anything else touches memory and before each branch or loop of the program.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.arrays.element_loops import ElementLoops
from autodiff.structured.native.arrays.updates import RangeUpdates
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.function_builder import FunctionBuilder, root_of
from autodiff.structured.native.lowered_values import (
    Array,
    LazyArray,
    Number,
    dtype_of,
    leaves,
    nodes_of,
)
from autodiff.structured.native.numbers.scalars import Scalars
from autodiff.structured.native.outlining import call_outlined

_MOST_ARRAYS = 12  # in one loop: their addresses are held in registers


class Store(NamedTuple):
    """A loop: ``target[...] = x``, or ``target[...] = f(target, x)``.

    Attributes
    ----------
    read : list of Array
        The arrays that `x` reads.
    base : Array or None
        If it is a sum into one range along each axis of an array, that array.
    """

    target: Array
    x: Array | LazyArray | Number
    f: Callable | None
    read: list[Array]
    base: Array | None

    @property
    def is_range(self) -> bool:
        """Whether it is a sum into a part of its base."""
        if self.base is None:
            return False
        pairs = zip(self.target.shape, self.base.shape, strict=True)
        return any(m is not n for m, n in pairs)


class FusedLoops(ElementLoops):
    """Loops that wait for others.

    Attributes
    ----------
    groups : list
        The groups of loops that wait, in the order in which they will run.
    before_settling : callable
        Called before they are emitted; it may add more.
    """

    def __init__(self, code: FunctionBuilder, scalars: Scalars, state: Any) -> None:
        super().__init__(code, scalars, state)
        self.groups: list[list[Store]] = []
        self.before_settling: Callable[[], None] = lambda: None
        self._new: dict[int, Any] = {}  # id of an address → the address
        code.on_settle = self._settle

    def note_new(self, address: Any) -> None:
        """Note that memory has just been allocated: no other array can be in it.

        This holds until memory is read or a block ends, which may give its address to others.
        """
        self._new[id(address)] = address

    def allocate(self, dtype: np.dtype, shape: list, store: int) -> Array:
        """Allocate an uninitialized array in C order."""
        result = super().allocate(dtype, shape, store)
        self.note_new(result.address)
        return result

    def materialize(self, x: Array | LazyArray, store: int, dtype: np.dtype | None = None) -> Array:
        """Compute or copy an array into a new one, optionally of another dtype."""
        result = self.allocate(dtype_of(x) if dtype is None else dtype, x.shape, store)
        self.write(result, x)
        return result

    def as_array(self, x: Array | LazyArray) -> Array:
        """Return an array in memory, which is computed if it is lazy."""
        if not isinstance(x, (Array, LazyArray)):
            raise UnsupportedError("something other than an array")
        return x if isinstance(x, Array) else self.materialize(x, memory.SCRATCH)

    def transposed(self, x: Any) -> Array:
        """Return the view ``x.T``."""
        x = self.as_array(x)
        return x.with_axes(reversed(range(len(x.shape))))

    def outer(self, x: Any, y: Any, kind: Kind) -> LazyArray:
        """Return the outer product of two vectors, lazily."""
        x, y = self.as_array(x), self.as_array(y)
        one, zero = self.code.whole(1), self.code.whole(0)
        column = x.view(x.address, [x.shape[0], one], [x.strides[0], zero])
        return LazyArray(kind, operator.mul, [column, y], [x.shape[0], y.shape[0]])

    def write(self, target: Array, x: Any, f: Any = None) -> None:
        """Write ``target[...] = x`` or ``target[...] = f(target, x)``.

        `x` may read `target` only at the element that is being written.
        """
        if not target.shape:
            raise UnsupportedError("a 0-d array")
        read = leaves(x)
        base = target.window[0] if target.window else target
        if not isinstance(x, Number):
            self.check_fits(x.shape, target.shape)
        is_sum = f in (operator.add, operator.sub) and not isinstance(x, Number)
        is_apart = is_sum and not any(self._may_share(base, a) for a in read)
        store = Store(target, x, f, read, base if is_apart else None)
        self._group_for(store).append(store)

    # -- groups ------------------------------------------------------------------------------------

    def _group_for(self, store: Store) -> list[Store]:
        """Return the last group that a loop can join, a new one if there is none."""
        for group in reversed(self.groups):
            if self._joins(store, group):
                return group
            if any(self._conflict(store, other) for other in group):
                break
        self.groups.append([])
        return self.groups[-1]

    def _joins(self, store: Store, group: list[Store]) -> bool:
        """Whether a loop can join a group."""
        arrays = {id(a) for s in (store, *group) for a in (s.target, *s.read)}
        if len(arrays) > _MOST_ARRAYS:
            return False
        base = store.base
        if base is not None and all(
            s.base is not None and self._is_same_array(s.base, base) for s in group
        ):
            return True
        shape = store.target.shape
        return (
            not any(s.is_range for s in (store, *group))
            and self._keys_of(shape) == self._keys_of(group[0].target.shape)
            and self._is_dense(store) == self._is_dense(group[0])
            and not any(self._conflict(store, other, shape) for other in group)
        )

    def _conflict(self, s: Store, t: Store, shape: list | None = None) -> bool:
        """Whether one of two loops may write what the other one reads or writes.

        If a shape is given, they may do so at the same element of arrays of this shape.
        """
        pairs = [(s.target, a) for a in (t.target, *t.read)] + [(t.target, a) for a in s.read]
        return any(
            self._may_share(a, b)
            and (shape is None or self._place(a, shape) != self._place(b, shape))
            for a, b in pairs
        )

    def _may_share(self, a: Array, b: Array) -> bool:
        """Whether two arrays may share memory."""
        first, second = root_of(a.address), root_of(b.address)
        if first is second:
            return True
        if id(first) in self._new or id(second) in self._new:
            return False
        return a.alias_set is b.alias_set

    def _place(self, a: Array, shape: list) -> tuple:
        """Return where the elements of an array are, as values that can be compared."""
        steps = [self.stride(a, shape, k) for k in range(len(shape))]
        key = self.b.known.key
        return a.dtype, key(a.address), *[None if s is None else key(s) for s in steps]

    def _is_same_array(self, a: Array, b: Array) -> bool:
        """Whether two arrays have the same elements at the same indices."""
        return self._keys_of(a.shape) == self._keys_of(b.shape) and (
            self._place(a, a.shape) == self._place(b, a.shape)
        )

    def _keys_of(self, values: list) -> list:
        return [self.b.known.key(n) for n in values]

    def _is_dense(self, store: Store) -> bool:
        """Whether a loop over the last axis reads and writes neighbouring elements."""
        shape = store.target.shape
        for a in (store.target, *store.read):
            step = self.stride(a, shape, len(shape) - 1)
            is_next = isinstance(step, ir.Constant) and step.constant in (0, a.dtype.itemsize)
            if not (step is None or is_next):
                return False
        return True

    def is_computed_with(self, x: LazyArray) -> bool:
        """Whether a loop that waits computes a part of an expression."""
        waiting = {id(n) for group in self.groups for s in group for n in nodes_of(s.x)}
        return any(id(n) in waiting for n in nodes_of(x) if isinstance(n, LazyArray))

    # -- emission ----------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Emit all groups."""
        if self.groups:
            self.before_settling()
            groups, self.groups = self.groups, []
            for group in groups:
                self._emit(group)
        self._new = {}

    def _emit(self, group: list[Store]) -> None:
        first = group[0]
        if len(group) > 1 and any(s.is_range for s in group):
            assert first.base is not None
            ranges = [[*self._range(s.target), s.x, s.f] for s in group]
            operands = [first.base, first.base.shape, ranges]
            call_outlined(self.code, RangeUpdates(self).write, self.scalars.raises, operands)
            return
        shape, known, places = first.target.shape, dict[int, Any](), dict[tuple, Array]()

        def same(x: Any) -> Any:
            """Return an expression in which all arrays at one place are one object."""
            if isinstance(x, Number):
                return x
            if id(x) not in known:
                known[id(x)] = (
                    replace(x, parts=[same(p) for p in x.parts])
                    if isinstance(x, LazyArray)
                    else places.setdefault(self._place(x, shape), x)
                )
            return known[id(x)]

        stores = [[same(s.target), same(s.x), s.f] for s in group]
        self.write_at_once(shape, stores)

    def write_at_once(self, shape: list, stores: list[list]) -> None:
        """Emit one loop for several loops over a shape, as a function that equal ones share."""
        call_outlined(self.code, self._write, self.scalars.raises, [shape, stores])

    def _range(self, part: Array) -> tuple[list, list]:
        """Return the first index and the length of a part along each axis."""
        starts = part.window[1] if part.window else [self.code.whole(0)] * len(part.shape)
        return starts, part.shape

    def _write(self, shape: list, stores: list[list]) -> None:
        """Emit one loop for several loops over a shape, in order."""
        arrays = {id(a): a for target, x, _ in stores for a in (target, *leaves(x))}

        def body(addresses: list) -> None:
            at = dict(zip(arrays, addresses, strict=True))
            known: dict[int, Number] = {}
            for target, x, f in stores:
                new = self.computed(x, known, at)
                if f is not None:
                    old = self.computed(target, known, at)
                    new = self.scalars.function(f, [old, new], target.kind)
                known[id(target)] = self.as_element(target.dtype, new)
            for k in {id(target): None for target, *_ in stores}:
                self.store_number(arrays[k].dtype, known[k], at[k])

        self.for_each(shape, list(arrays.values()), body)
