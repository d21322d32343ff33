"""Gather and scatter: elements and rows of arrays at arrays of indices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff.structured.form.kinds import INT, Kind, UnsupportedError
from autodiff.structured.native.arrays.axis_functions import AxisFunctions
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.function_builder import TYPES, constant
from autodiff.structured.native.lowered_values import Array, LazyArray, Number

_FLOAT = Kind(frozenset([float]))
_OFFSETS = np.dtype(np.int64)


@dataclass
class Selection:
    """The part of an array that an index with arrays of integers selects.

    Attributes
    ----------
    base : Array
        The row at offset 0: the axes that are indexed by slices.
    offsets : Array
        The offset of the row at each index, in bytes.
    axis : int
        The position of the index axes among the axes of the rows.
    indices : list of Array
        The arrays of the index.
    lengths : list
        The lengths of the axes that they index.
    """

    base: Array
    offsets: Array
    axis: int
    indices: list[Array]
    lengths: list

    @property
    def shape(self) -> list:
        """The shape of the selected part."""
        own = self.base.shape
        return [*own[: self.axis], *self.offsets.shape, *own[self.axis :]]

    @property
    def is_vector(self) -> bool:
        """Whether the arrays of the index are vectors: NumPy goes through these in order."""
        return len(self.offsets.shape) == 1

    def index_axes_first(self, x: Array) -> Array:
        """Return a view of an array of this shape with the index axes first."""
        first, n = self.axis, len(self.offsets.shape)
        order = [*range(first, first + n), *range(first), *range(first + n, len(x.shape))]
        return x.with_axes(order)


class GatherScatter(AxisFunctions):
    """Gathers and scatters."""

    def selection(self, base: Array, parts: list) -> Selection:
        """Return what an index with arrays selects; bail out if an index is out of bounds."""
        code, b, e = self.code, self.b, self.elementwise
        parts = self.indexing.expand_ellipsis(parts, base)
        axis = 0
        for k, p in enumerate(parts):
            if isinstance(p, Array) and p.dtype == np.bool_:
                e.check_shape(p.shape, [base.shape[axis]])
                parts[k] = self.mask_positions(p)
            axis += p is not None
        view = self.indexing.part(
            base, [slice(None) if isinstance(p, Array) else p for p in parts], ""
        )
        axes = [p for p in parts if p is None or isinstance(p, (slice, Array))]
        indexed = [k for k, p in enumerate(axes) if isinstance(p, Array)]
        indices: list[Any] = [axes[k] for k in indexed]
        shape: list = []
        for p in indices:
            shape = e.broadcast(shape, p.shape)
        offsets = e.allocate(_OFFSETS, shape, memory.SCRATCH)

        def body(at: list) -> None:
            total: Any = code.whole(0)
            for k, p, address in zip(indexed, indices, at[1:], strict=True):
                index = e.load_number(p.dtype, address).value
                index = self.indexing.checked_index(index, view.shape[k])
                total = b.add(total, b.mul(index, view.strides[k]))
            e.store_number(_OFFSETS, Number(INT, "i", total), at[0])

        e.for_each(shape, [offsets, *indices], body)
        row = view.with_axes([k for k in range(len(axes)) if k not in indexed])
        # In NumPy, the index axes come first if a slice stands between them.
        at = [k for k, p in enumerate(parts) if not (p is None or isinstance(p, slice))]
        axis = at[0] if at[-1] - at[0] < len(at) else 0
        return Selection(row, offsets, axis, indices, [view.shape[k] for k in indexed])

    def take(self, selected: Selection) -> Array:
        """Gather elements or rows."""
        e = self.elementwise
        result = e.allocate(selected.base.dtype, selected.shape, self.store)

        def put(there: Any, own: Any) -> None:
            e.store_number(result.dtype, e.load_number(result.dtype, there), own)

        self._at_each(selected, result, lambda row, own: e.write(own, row), put)
        return result

    def put_at(self, selected: Selection, x: Any, f: Callable | None = None) -> None:
        """Scatter elements or rows, one index after the other.

        Parameters
        ----------
        selected : Selection
            Where to write. It does not overlap what `x` reads.
        x : Number, Array or LazyArray
            The elements or rows, which are broadcast to the shape of the selection.
        f : callable, optional
            Combines the old elements with `x`.
        """
        e, base = self.elementwise, selected.base
        if not isinstance(x, (Number, Array, LazyArray)):
            raise UnsupportedError("this write at an array of indices")
        if f is None and not selected.is_vector:
            self._exit_if_repeated(selected)  # NumPy writes in the memory order of the indices
        if not isinstance(x, Number):
            x = e.as_array(x)
            e.check_fits(x.shape, selected.shape)
            missing = len(selected.shape) - len(x.shape)
            one, zero = self.code.whole(1), self.code.whole(0)
            x = x.view(x.address, [one] * missing + x.shape, [zero] * missing + x.strides)

        def put(there: Any, own: Any) -> None:
            new = x if isinstance(x, Number) else e.load_number(x.dtype, own)
            e.update(base, there, new, f)

        self._at_each(selected, x, lambda row, own: e.write(row, own, f), put)

    def last_written(self, selected: Selection) -> Array:
        """Gather elements or rows, with zeros for every occurrence of an index but the last."""
        e = self.elementwise
        result, zero = self.take(selected), Number(_FLOAT, "d", constant(TYPES["d"], 0.0))
        if not selected.is_vector:
            self._exit_if_repeated(selected)
            return result
        rows = selected.index_axes_first(result)

        def clear(k: Any) -> None:
            row = e.row(rows, k)
            if row.shape:
                e.write(row, zero)
            else:
                e.store_number(result.dtype, zero, row.address)

        self._for_each_repeated(selected, clear)
        return result

    def _at_each(
        self,
        selected: Selection,
        x: Array | Number,
        of_rows: Callable[[Array, Any], None],
        of_elements: Callable[[Any, Any], None],
    ) -> None:
        """Emit a loop over the indices, with the selected row or element and that of `x`."""
        e, base, offsets = self.elementwise, selected.base, selected.offsets
        arrays, n = [offsets], len(offsets.shape)
        if not isinstance(x, Number):
            x = selected.index_axes_first(x)
            arrays.append(x.view(x.address, x.shape[:n], x.strides[:n]))

        def body(at: list) -> None:
            there = self.code.at(base.address, e.load_number(_OFFSETS, at[0]).value)
            if not base.shape:
                of_elements(there, at[-1])
                return
            row = base.view(there, base.shape, base.strides)
            own: Any = x
            if not isinstance(x, Number):
                own = x.view(at[1], x.shape[n:], x.strides[n:])
            of_rows(row, own)

        e.for_each(offsets.shape, arrays, body, is_parallel=False)  # indices may repeat

    def _exit_if_repeated(self, selected: Selection) -> None:
        always = constant(TYPES["b"], 1)
        self._for_each_repeated(selected, lambda k: self.code.exit_if(always))

    def _for_each_repeated(self, selected: Selection, body: Callable[[Any], None]) -> None:
        """Emit a loop over the indices that are repeated later."""
        code, e = self.code, self.elementwise
        places, n = self._places(selected), e.size_of(selected.offsets.shape)
        places = places.view(places.address, [n], [code.whole(_OFFSETS.itemsize)])
        last = e.allocate(_OFFSETS, [e.size_of(selected.lengths)], memory.SCRATCH)
        with code.counted(n) as k:
            e.store_item(last, e.load_item(places, k).value, Number(INT, "i", k))
        with code.counted(n) as k:
            latest = e.load_item(last, e.load_item(places, k).value).value
            with code.branch(self.b.not_(code.equal(latest, k))):
                body(k)

    def _places(self, selected: Selection) -> Array:
        """Return the place of each selected row among all that could be selected."""
        code, b, e = self.code, self.b, self.elementwise
        places = e.allocate(_OFFSETS, selected.offsets.shape, memory.SCRATCH)

        def body(at: list) -> None:
            place: Any = code.whole(0)
            for n, p, address in zip(selected.lengths, selected.indices, at[1:], strict=True):
                index = self.indexing.checked_index(e.load_number(p.dtype, address).value, n)
                place = b.add(b.mul(place, n), index)
            e.store_number(_OFFSETS, Number(INT, "i", place), at[0])

        e.for_each(places.shape, [places, *selected.indices], body)
        return places
