"""Elements and rows of arrays at arrays of places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.code import TYPES, constant
from autodiff.structured.native.values import Array, Number, Tree
from autodiff.structured.native.vectors import Vectors

_FLOAT, _INT = Kind(frozenset([float])), Kind(frozenset([int]))
_OFFSETS = np.dtype(np.int64)
_MOST_COMPARED = 256  # places, each with all before it


@dataclass
class Selection:
    """What an index with arrays of places selects.

    Attributes
    ----------
    base : Array
        The row at offset 0: the axes that are not indexed by arrays or numbers.
    offsets : Array
        Where the row of each place starts, in bytes.
    axis : int
        Before which axis of the rows those of the places stand.
    is_vector : bool
        Whether there is one array of places, which is a vector.
    """

    base: Array
    offsets: Array
    axis: int
    is_vector: bool

    @property
    def shape(self) -> list:
        """The shape of what is selected."""
        own = self.base.shape
        return [*own[: self.axis], *self.offsets.shape, *own[self.axis :]]

    def by_places(self, x: Array) -> Array:
        """Return a view of an array like what is selected, the axes of the places first."""
        first, n = self.axis, len(self.offsets.shape)
        order = [*range(first, first + n), *range(first), *range(first + n, len(x.shape))]
        shape, strides = ([kept[k] for k in order] for kept in (x.shape, x.strides))
        return Array(x.dtype, x.address, shape, strides, x.group)


class Places(Vectors):
    """Reads and writes at arrays of places."""

    def selection(self, base: Array, parts: list) -> Selection:
        """Return what an index with arrays selects; leave where a place is out of bounds."""
        code, b, e = self.code, self.b, self.elementwise
        parts = self.indexing.completed(parts, base)
        axis = 0
        for k, p in enumerate(parts):
            if isinstance(p, Array) and p.dtype == np.bool_:
                e.check_shape(p.shape, [base.shape[axis]])
                parts[k] = self.places_where(p)
            axis += p is not None
        view = self.indexing.part(
            base, [slice(None) if isinstance(p, Array) else p for p in parts], ""
        )
        axes = [p for p in parts if p is None or isinstance(p, (slice, Array))]
        chosen = [k for k, p in enumerate(axes) if isinstance(p, Array)]
        places: list[Any] = [axes[k] for k in chosen]
        shape: list = []
        for p in places:
            shape = e.broadcast(shape, p.shape)
        offsets = e.made(_OFFSETS, shape, memory.SCRATCH)

        def body(at: list) -> None:
            total: Any = code.whole(0)
            for k, p, address in zip(chosen, places, at[1:], strict=True):
                place = self.indexing.place(e.read(p.dtype, address).value, view.shape[k])
                total = b.add(total, b.mul(place, view.strides[k]))
            e.put(_OFFSETS, Number(_INT, "i", total), at[0])

        e.each(shape, [offsets, *places], body)
        own = [k for k in range(len(axes)) if k not in chosen]
        row = Array(base.dtype, view.address, [view.shape[k] for k in own],
                    [view.strides[k] for k in own], base.group)  # fmt: skip
        # NumPy has the axes of the places first where a slice stands between them.
        together = [k for k, p in enumerate(parts) if not (p is None or isinstance(p, slice))]
        is_together = together[-1] - together[0] < len(together)
        axis = together[0] if is_together else 0
        return Selection(row, offsets, axis, len(places) == len(shape) == 1)

    def taken(self, selected: Selection) -> Array:
        """Return the elements or rows at places."""
        e = self.elementwise
        made = e.made(selected.base.dtype, selected.shape, self.store_of_new())

        def put(there: Any, own: Any) -> None:
            e.put(made.dtype, e.read(made.dtype, there), own)

        self._at_each(selected, made, lambda row, own: e.write(own, row), put)
        return made

    def put_at(self, selected: Selection, x: Any, f: Callable | None = None) -> None:
        """Write at places, one after the other: `x`, or what `f` makes of what was there and `x`.

        Parameters
        ----------
        selected : Selection
            Where to write; nothing that `x` reads lies there.
        x : Number, Array or Tree
            What is written: one element or row for each place, or the same one for all.
        f : callable, optional
            A function of two numbers.
        """
        e, base = self.elementwise, selected.base
        if not isinstance(x, (Number, Array, Tree)):
            raise UnsupportedError("a write at an array of places")
        if f is None and not selected.is_vector:
            self._leave_if_again(selected)  # NumPy's order follows the memory of the places
        if not isinstance(x, Number):
            x = e.at_hand(x)
            e.check_fits(x.shape, selected.shape)
            missing = len(selected.shape) - len(x.shape)
            one, zero = self.code.whole(1), self.code.whole(0)
            x = Array(x.dtype, x.address, [one] * missing + x.shape, [zero] * missing + x.strides,
                      x.group)  # fmt: skip

        def put(there: Any, own: Any) -> None:
            found = x if isinstance(x, Number) else e.read(x.dtype, own)
            if f is not None:
                found = self.scalars.function(f, [e.read(base.dtype, there), found], base.kind)
            e.put(base.dtype, found, there)

        self._at_each(selected, x, lambda row, own: e.write(row, own, f), put)

    def last_written(self, selected: Selection) -> Array:
        """Return the elements or rows at places, with zeros where a place comes again later."""
        e = self.elementwise
        made, zero = self.taken(selected), Number(_FLOAT, "d", constant(TYPES["d"], 0.0))
        if not selected.is_vector:
            self._leave_if_again(selected)
            return made
        by_places = selected.by_places(made)

        def forget(k: Any) -> None:
            row = e.row(by_places, k)
            if row.shape:
                e.write(row, zero)
            else:
                e.put(made.dtype, zero, row.address)

        self._each_again(selected, forget)
        return made

    def _at_each(
        self,
        selected: Selection,
        x: Array | Number,
        of_rows: Callable[[Array, Any], None],
        of_elements: Callable[[Any, Any], None],
    ) -> None:
        """Run a body for each place, with what is there and the part of `x` that belongs to it."""
        e, base, offsets = self.elementwise, selected.base, selected.offsets
        arrays, n = [offsets], len(offsets.shape)
        if not isinstance(x, Number):
            x = selected.by_places(x)
            arrays.append(Array(x.dtype, x.address, x.shape[:n], x.strides[:n], x.group))

        def body(at: list) -> None:
            there = self.code.at(base.address, e.read(_OFFSETS, at[0]).value)
            if not base.shape:
                of_elements(there, at[-1])
                return
            row = Array(base.dtype, there, base.shape, base.strides, base.group)
            own: Any = x
            if not isinstance(x, Number):
                own = Array(x.dtype, at[1], x.shape[n:], x.strides[n:], x.group)
            of_rows(row, own)

        e.each(offsets.shape, arrays, body, alone=False)  # places may come again

    def _leave_if_again(self, selected: Selection) -> None:
        """Leave where a place comes again."""
        always = constant(TYPES["b"], 1)
        self._each_again(selected, lambda k: self.code.exit_if(always))

    def _each_again(self, selected: Selection, body: Callable[[Any], None]) -> None:
        """Run a body for each place that comes again later; leave if there are many places."""
        code, b, offsets = self.code, self.b, selected.offsets
        n: Any = code.whole(1)
        for size in offsets.shape:
            n = b.mul(n, size)
        code.exit_if(code.less(code.whole(_MOST_COMPARED), n))

        def offset(k: Any) -> Any:  # they lie side by side
            at = code.at(offsets.address, b.mul(k, code.whole(_OFFSETS.itemsize)))
            return self.elementwise.read(_OFFSETS, at).value

        with (
            code.counted(n) as i,
            code.counted(i) as k,
            code.branch(code.equal(offset(k), offset(i))),
        ):
            body(k)
