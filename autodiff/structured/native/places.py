"""Elements and rows of arrays at an array of places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.llvm.code import TYPES, constant
from autodiff.structured.native.makers import Makers
from autodiff.structured.native.values import Array, Number, Tree

_FLOAT = Kind(frozenset([float]))
_MOST_COMPARED = 64  # places, each with all before it


class Places(Makers):
    """Reads and writes at an array of places along the first axis."""

    def taken(self, base: Array, places: Array) -> Array:
        """Return the elements or rows at an array of places."""
        e = self.elementwise
        made = e.made(base.dtype, [*places.shape, *base.shape[1:]], self.store_of_new())
        if len(base.shape) > 1:
            with self.code.counted(places.shape[0]) as k:
                e.write(e.row(made, k), self._row_at(base, places, k))
            return made

        def body(at: list) -> None:
            e.put(made.dtype, e.read(base.dtype, self._address(base, places, at[1])), at[0])

        e.each(made.shape, [made, places], body)
        return made

    def put_at(self, base: Array, places: Array, x: Any, f: Callable | None = None) -> None:
        """Write at places, one after the other: `x`, or what `f` makes of what was there and `x`.

        Parameters
        ----------
        base : Array
            Where to write; nothing that `x` reads lies in it.
        places : Array
            The places: a vector.
        x : Number, Array or Tree
            What is written: one element or row for each place, or the same one for all.
        f : callable, optional
            A function of two numbers.
        """
        e = self.elementwise
        if len(places.shape) != 1 or not isinstance(x, (Number, Array, Tree)):
            raise UnsupportedError("a write at an array of places")
        if not isinstance(x, Number):
            x = e.at_hand(x)
            e.check_fits(x.shape, [*places.shape, *base.shape[1:]])
        if len(base.shape) > 1:
            with self.code.counted(places.shape[0]) as k:
                is_by_row = not isinstance(x, Number) and len(x.shape) == len(base.shape)
                e.write(self._row_at(base, places, k), e.row(x, k) if is_by_row else x, f)
            return

        def body(at: list) -> None:
            address = self._address(base, places, at[0])
            found = x if isinstance(x, Number) else e.read(x.dtype, at[1])
            if f is not None:
                old = e.read(base.dtype, address)
                found = self.scalars.function(f, [old, found], base.kind)
            e.put(base.dtype, found, address)

        arrays = [places] if isinstance(x, Number) else [places, x]
        e.each(places.shape, arrays, body, alone=False)  # places may come again

    def last_written(self, base: Array, places: Array) -> Array:
        """Return the elements or rows at places, with zeros where a place comes again later."""
        code, b, e = self.code, self.b, self.elementwise
        made, n = self.taken(base, places), places.shape[0]
        code.exit_if(code.less(code.whole(_MOST_COMPARED), n))

        def place(k: Any) -> Any:
            at = code.at(places.address, b.mul(k, places.strides[0]))
            return self._place_in(base, places, at)

        zero = Number(_FLOAT, "d", constant(TYPES["d"], 0.0))
        with (
            code.counted(n) as i,
            code.counted(i) as k,
            code.branch(code.equal(place(k), place(i))),
        ):
            if len(made.shape) > 1:
                e.write(e.row(made, k), zero)
            else:
                e.put(made.dtype, zero, code.at(made.address, b.mul(k, made.strides[0])))
        return made

    def _row_at(self, base: Array, places: Array, k: Any) -> Array:
        """Return the row that is named by the k-th of the places."""
        at = self.code.at(places.address, self.b.mul(k, places.strides[0]))
        return self.elementwise.row(base, self._place_in(base, places, at))

    def _address(self, base: Array, places: Array, at: Any) -> Any:
        """Return the address of the element whose place is at an address."""
        return self.code.at(
            base.address, self.b.mul(self._place_in(base, places, at), base.strides[0])
        )

    def _place_in(self, base: Array, places: Array, at: Any) -> Any:
        return self.indexing.place(self.elementwise.read(places.dtype, at).value, base.shape[0])
