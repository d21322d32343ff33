"""Arrays element by element: their memory, and loops over all axes.

An array is computed where it is used, with what it is made of, in one loop. Before that becomes
wrong, since something is written into what it reads, it is computed.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.llvm import memory
from autodiff.structured.native.llvm.code import (
    SHAPES_DIFFER,
    TYPES,
    Code,
    element_of,
)
from autodiff.structured.native.loop_functions import in_function
from autodiff.structured.native.numbers.scalars import Scalars
from autodiff.structured.native.values import Array, Fresh, Number, Tree, dtype_of, leaves


class Elements:
    """Writes loops over the elements of arrays."""

    def __init__(self, code: Code, scalars: Scalars, state: Any) -> None:
        self.code = code
        self.scalars = scalars
        self.state = state
        self.taken = 0  # how many arrays there are in the store that is given back

    @property
    def b(self) -> Any:
        """The builder."""
        return self.code.b

    # -- memory ------------------------------------------------------------------------------------

    def made(self, dtype: np.dtype, shape: list, store: int) -> Array:
        """Return a new array, whose elements are not set."""
        self.taken += store == memory.SCRATCH
        element_of(dtype)
        strides, size = self.strides_of(dtype, shape)
        address = memory.allocated(self.code, self.state, store, size)
        return Array(dtype, address, list(shape), strides, Fresh())

    def strides_of(self, dtype: np.dtype, shape: list) -> tuple[list, Any]:
        """Return the strides of a new array, in the order of C, and how many bytes it has."""
        size: Any = self.code.whole(dtype.itemsize)
        strides: list[Any] = []
        for n in reversed(shape):
            strides.insert(0, size)
            size = self.b.mul(size, n)
        return strides, size

    def computed(self, x: Array | Tree, store: int, dtype: np.dtype | None = None) -> Array:
        """Return a new array with the elements of another one, which may be converted."""
        made = self.made(dtype_of(x) if dtype is None else dtype, x.shape, store)
        self.write(made, x)
        return made

    # -- loops -------------------------------------------------------------------------------------

    def tree(self, f: Any, kind: Kind, parts: list) -> Tree:
        """Return what a function makes of arrays and numbers, element by element."""
        shape: list = []
        for p in parts:
            if not isinstance(p, Number):
                shape = self.broadcast(shape, p.shape)
        if len(shape) != kind.ndim:
            raise UnsupportedError("an array of other axes")
        return Tree(kind, f, parts, shape)

    def broadcast(self, a: list, c: list) -> list:
        """Return the shape of two arrays that are broadcast against each other.

        Axes of one element are broadcast if that is known; else all have to be as long.
        """
        if len(a) < len(c):
            a, c = c, a
        made = list(a)
        for k, n in enumerate(c, len(a) - len(c)):
            if is_one(made[k]):
                made[k] = n
            elif not is_one(n):
                self._check_equal(made[k], n)
        return made

    def _check_equal(self, m: Any, n: Any) -> None:
        if m is not n:
            self.code.exit_if(self.b.not_(self.code.equal(m, n)), SHAPES_DIFFER)

    def check_shape(self, shape: list, wanted: list) -> None:
        """Leave unless two shapes are the same."""
        if len(shape) != len(wanted):
            raise UnsupportedError("arrays of other axes")
        for m, n in zip(shape, wanted, strict=True):
            self._check_equal(m, n)

    def check_fits(self, shape: list, target: list) -> None:
        """Leave unless an array can be broadcast to a shape."""
        if len(shape) > len(target):
            raise UnsupportedError("an array of more axes")
        for m, n in zip(shape, target[len(target) - len(shape) :], strict=True):
            if not is_one(m):
                self._check_equal(m, n)

    def each(
        self, shape: list, arrays: list[Array], body: Callable[[list], None], alone: bool = True,
        around: Callable[[list], AbstractContextManager] | None = None,
    ) -> None:  # fmt: skip
        """Run a body for all elements; it is given their addresses, one for each array.

        `alone` says that none reads what another one writes. `around` is given the addresses of
        the first elements along the last axis, and is entered for each loop along it.
        """
        if not shape:
            raise UnsupportedError("an array without axes")
        self._axis(shape, arrays, [a.address for a in arrays], 0, body, alone, around or _nothing)

    def _axis(
        self, shape: list, arrays: list[Array], at: list, axis: int, body: Callable[[list], None],
        alone: bool, around: Callable[[list], AbstractContextManager],
    ) -> None:  # fmt: skip
        code, b = self.code, self.b
        steps = [self._stride(a, shape, axis) for a in arrays]
        n = shape[axis]
        if axis < len(shape) - 1:
            with code.counted(n) as i:
                rows = [code.at(p, b.mul(i, s)) if s is not None else p
                        for p, s in zip(at, steps, strict=True)]  # fmt: skip
                self._axis(shape, arrays, rows, axis + 1, body, alone, around)
            return

        sizes = [(a.dtype.itemsize, s) for a, s in zip(arrays, steps, strict=True) if s is not None]
        is_dense = all(isinstance(s, ir.Constant) and s.constant in (0, k) for k, s in sizes)
        with around(at), self._vectors(alone and is_dense), code.counted(n, alone, is_dense) as i:
            places = []
            for a, p, s in zip(arrays, at, steps, strict=True):
                if s is None:
                    places.append(p)
                elif isinstance(s, ir.Constant) and s.constant == a.dtype.itemsize:
                    places.append(b.gep(p, [i], source_etype=element_of(a.dtype)[0]))
                else:
                    places.append(code.at(p, b.mul(i, s)))
            body(places)

    @contextlib.contextmanager
    def _vectors(self, are_there: bool) -> Iterator[None]:
        """Write a loop over elements, and leave behind it if one was outside of a function."""
        scalars, before = self.scalars, (self.scalars.in_vectors, self.scalars.outside)
        scalars.in_vectors, scalars.outside = are_there, None
        yield
        found = scalars.outside
        scalars.in_vectors, scalars.outside = before
        if found is not None:
            self.code.exit_if(self.b.load(found, typ=TYPES["b"]))

    def _stride(self, a: Array, shape: list, axis: int) -> Any:
        """Return the step along an axis; None if the array is broadcast there."""
        k = axis - (len(shape) - len(a.shape))
        if k < 0 or (is_one(a.shape[k]) and not is_one(shape[axis])):
            return None
        return a.strides[k]

    def element(self, x: Any, places: dict[int, Any]) -> Number:
        """Return an element of an array; `places` says where those of arrays are."""
        if isinstance(x, Number):
            return x
        if isinstance(x, Array):
            return self.read(x.dtype, places[id(x)])
        return self.scalars.function(x.f, [self.element(p, places) for p in x.parts], x.kind)

    def read(self, dtype: np.dtype, address: Any) -> Number:
        """Return the number at an address."""
        kind, letter = element_of(dtype)
        value = self.code.accessed(self.b.load(address, typ=kind))
        if letter == "b":
            value = self.b.trunc(value, TYPES["b"])
        elif letter == "i" and kind is not TYPES["i"]:
            longer = self.b.sext if dtype.kind == "i" else self.b.zext
            value = longer(value, TYPES["i"])
        return Number(Kind(frozenset([dtype.type])), letter, value)

    def put(self, dtype: np.dtype, x: Number, address: Any) -> None:
        """Write a number to an address."""
        kind, letter = element_of(dtype)
        if letter == "i" and (kind is not TYPES["i"] or x.letter not in "ib"):
            raise UnsupportedError("a write into an array of integers")
        value = self.scalars.converted(x, letter)
        if letter == "b":
            value = self.b.zext(value, kind)
        self.code.accessed(self.b.store(value, address))

    def write(self, target: Array, x: Any, f: Any = None) -> None:
        """Write into an array: `x`, or what a function makes of what was there and of `x`.

        Nothing that `x` reads may lie in the array otherwise than at the same places.
        """
        if not isinstance(x, Number):
            self.check_fits(x.shape, target.shape)
        in_function(self.code, self._write, self.scalars.raises, target, x, f)

    def _write(self, target: Array, x: Any, f: Any) -> None:
        """Write into an array that `x` is known to fit."""
        sources = leaves(x)
        arrays = [target, *sources]

        def body(places: list) -> None:
            by_array = {id(a): p for a, p in zip(sources, places[1:], strict=True)}
            found = self.element(x, by_array)
            if f is not None:
                old = self.read(target.dtype, places[0])
                found = self.scalars.function(f, [old, found], target.kind)
            self.put(target.dtype, found, places[0])

        self.each(target.shape, arrays, body)

    # -- views ------------------------------------------------------------------------------------

    def row(self, x: Array, i: Any) -> Array:
        """Return a part of an array along the first axis."""
        address = self.code.at(x.address, self.b.mul(i, x.strides[0]))
        return Array(x.dtype, address, x.shape[1:], x.strides[1:], x.group)

    def transposed(self, x: Any) -> Array:
        """Return a matrix with its axes exchanged."""
        x = self.at_hand(x)
        return Array(x.dtype, x.address, x.shape[::-1], x.strides[::-1], x.group)

    def _size(self, n: Any) -> Any:
        return self.b.select(self.code.less(n, self.code.whole(0)), self.b.neg(n), n)

    def at_hand(self, x: Array | Tree) -> Array:
        """Return an array whose elements are computed."""
        return x if isinstance(x, Array) else self.computed(x, memory.SCRATCH)

    def outer(self, x: Any, y: Any, kind: Kind) -> Tree:
        """Return the products of all elements of two vectors."""
        x, y = self.at_hand(x), self.at_hand(y)
        one, zero = self.code.whole(1), self.code.whole(0)
        column = Array(x.dtype, x.address, [x.shape[0], one], [x.strides[0], zero], x.group)
        return Tree(kind, operator.mul, [column, y], [x.shape[0], y.shape[0]])


def _nothing(places: list) -> AbstractContextManager:
    return contextlib.nullcontext()


def is_one(n: Any) -> bool:
    """Whether it is known that an axis has one element."""
    return isinstance(n, ir.Constant) and n.constant == 1
