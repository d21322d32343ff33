"""Several updates of overlapping parts of one array in one pass: the sweep of a stencil.

The cotangents of ``a[:-2] + a[1:-1] + a[2:]`` are added to three ranges of the shadow of `a`. Each
addition on its own is a pass over memory. Here the elements that lie in all ranges are updated in
one loop, and the others, at the edges, range by range.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from llvmlite import ir

from autodiff.structured.native.llvm.function_builder import TYPES, element_of
from autodiff.structured.native.lowered_values import Array, LazyArray, Number, leaves


class Window(NamedTuple):
    """The range of the array along each axis, and what is combined with it by `f`."""

    starts: list
    shape: list
    x: Any
    f: Callable


class RangeUpdates:
    """Emitter of the loops of one function."""

    def __init__(self, e: Any) -> None:  # `FusedLoops`, which imports this module
        self.e = e
        self.code = e.code

    @property
    def b(self) -> Any:
        """The instruction builder."""
        return self.code.b

    def write(self, target: Array, shape: list, windows: list[list]) -> None:
        """Emit the loops that update ranges of an array of a shape, in order: see `Window`."""
        self.target, self.windows = replace(target, shape=shape), [Window(*w) for w in windows]
        self._axis(0, [target.address, *self._origins()], [])

    def _arrays(self, windows: list[Window]) -> list[tuple[Array, list]]:
        """Return the array and all that the updates read, with the shapes that these cover."""
        read = [(a, w.shape) for w in windows for a in leaves(w.x)]
        return [(self.target, self.target.shape), *read]

    def _origins(self) -> list:
        """Return where the element at index 0 of the target would be in each array that is read."""
        found = []
        for w in self.windows:
            for a in leaves(w.x):
                address = a.address
                for axis, start in enumerate(w.starts):
                    stride = self.e.stride(a, w.shape, axis)
                    if stride is not None:
                        address = self.code.at(address, self.b.neg(self.b.mul(start, stride)))
                found.append(address)
        return found

    def _moved(self, windows: list[Window], axis: int, at: list, i: Any) -> list:
        """Return addresses moved along an axis to an index."""
        return [
            self.e.moved(p, a, self.e.stride(a, shape, axis), i)
            for (a, shape), p in zip(self._arrays(windows), at, strict=True)
        ]

    def _axis(self, axis: int, at: list, inside: list) -> None:
        """Emit the loops over an axis; `inside` says which ranges contain the outer indices."""
        if axis == len(self.target.shape) - 1:
            self._row(at, inside or [ir.Constant(TYPES["b"], 1)] * len(self.windows))
            return
        with self.code.counted(self.target.shape[axis]) as i:
            here = [
                self.b.icmp_unsigned("<", self.b.sub(i, w.starts[axis]), w.shape[axis])
                for w in self.windows
            ]
            if inside:
                here = [self.b.and_(x, y) for x, y in zip(inside, here, strict=True)]
            self._axis(axis + 1, self._moved(self.windows, axis, at, i), here)

    def _row(self, at: list, inside: list) -> None:
        """Emit the loops over a row: before, in and after what all ranges share."""
        b, windows = self.b, self.windows
        starts = [w.starts[-1] for w in windows]
        ends = [b.add(w.starts[-1], w.shape[-1]) for w in windows]
        are_all = functools.reduce(b.and_, inside)
        first = functools.reduce(self.code.greater, starts)
        last = self.code.greater(first, functools.reduce(self.code.lesser, ends))
        rows, begin = [], 1
        for w in windows:
            n = len(leaves(w.x))
            rows.append([at[0], *at[begin : begin + n]])
            begin += n
        edges = list(zip(windows, rows, starts, ends, inside, strict=True))
        for w, row, start, end, is_inside in edges:
            until = b.select(are_all, self.code.lesser(first, end), end)
            self._edge(w, row, start, b.select(is_inside, until, start))
        self._shared(at, first, b.select(are_all, last, first))
        for w, row, start, end, _ in edges:
            start = self.code.greater(last, start)
            self._edge(w, row, start, b.select(are_all, end, start))

    def _edge(self, w: Window, row: list, begin: Any, end: Any) -> None:
        """Emit one update of a range of a row, as a loop like any other."""
        e, axis = self.e, len(self.target.shape) - 1
        n = self.b.sub(end, begin)

        def part(a: Array, address: Any, shape: list) -> Array:
            stride, one = e.stride(a, shape, axis), self.code.whole(1)
            if stride is None:
                return Array(a.dtype, address, [one], [self.code.whole(0)], a.alias_set)
            return Array(a.dtype, e.moved(address, a, stride, begin), [n], [stride], a.alias_set)

        with self.code.branch(self.code.less(self.code.whole(0), n)):
            parts = {
                id(a): part(a, address, w.shape)
                for a, address in zip(leaves(w.x), row[1:], strict=True)
            }
            target = part(self.target, row[0], self.target.shape)
            e.write_at_once([n], [[target, _with_arrays(w.x, parts, [n]), w.f]])

    def _shared(self, at: list, begin: Any, end: Any) -> None:
        """Emit the loop over a range of a row that makes all updates."""
        e, target, axis = self.e, self.target, len(self.target.shape) - 1
        arrays = self._arrays(self.windows)
        steps = [(a.dtype.itemsize, e.stride(a, shape, axis)) for a, shape in arrays]
        is_dense = all(
            s is None or (isinstance(s, ir.Constant) and s.constant in (0, k)) for k, s in steps
        )
        _, letter = element_of(target.dtype)
        loop = self.code.counted(self.b.sub(end, begin), True, is_dense)
        with e.domain_checks(is_dense), loop as k:
            i = self.b.add(begin, k, flags=("nsw",))
            place, *places = self._moved(self.windows, axis, at, i)
            total = e.load_number(target.dtype, place)
            rest = iter(places)
            for w in self.windows:
                x = e.element(w.x, {id(a): next(rest) for a in leaves(w.x)})
                made = e.scalars.function(w.f, [total, x], target.kind)
                total = Number(total.kind, letter, e.scalars.converted(made, letter))
            e.store_number(target.dtype, total, place)


def _with_arrays(x: Any, arrays: dict[int, Array], shape: list) -> Any:
    """Return an expression with other arrays, by the ids of its own."""
    if isinstance(x, LazyArray):
        parts = [_with_arrays(p, arrays, shape) for p in x.parts]
        return replace(x, parts=parts, shape=shape)
    return arrays.get(id(x), x)
