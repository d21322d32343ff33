"""Arrays element by element: loops over all axes, sums, and products of vectors and matrices.

An array is computed where it is used, with what it is made of, in one loop. Before that becomes
wrong, since something is written into what it reads, it is computed.
"""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.llvm import blas, memory
from autodiff.structured.native.llvm.code import (
    I64,
    PTR,
    SHAPES_DIFFER,
    TYPES,
    Code,
    constant,
    element_of,
)
from autodiff.structured.native.numbers.scalars import Scalars
from autodiff.structured.native.values import Array, Fresh, Number, Tree, dtype_of, leaves

_LEAST_SUMMED = 4  # products for a number: fewer are added faster in loops
_LEAST_OF = {">": float("-inf"), "<": float("inf")}
"""What every number exceeds, or is exceeded by."""


class Elementwise:
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
        size: Any = self.code.whole(dtype.itemsize)
        strides: list[Any] = []
        for n in reversed(shape):
            strides.insert(0, size)
            size = self.b.mul(size, n)
        address = memory.allocated(self.code, self.state, store, size)
        return Array(dtype, address, list(shape), strides, Fresh())

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

    # -- sums and extrema --------------------------------------------------------------------------

    def total(self, x: Array | Tree) -> Number:
        """Return the sum of all elements, in an order of its own, as NumPy does."""
        return self._folded(x, 0.0, self._sum)

    def extremum(self, x: Array | Tree, sign: str) -> Number:
        """Return the largest or smallest element; leave if one is NaN, or there is none."""
        found = self._folded(x, _LEAST_OF[sign], self._further(sign))
        self._check_finite(found)
        return found

    def place_of_extremum(self, x: Array | Tree, sign: str, kind: Kind) -> Number:
        """Return the place of the first largest or smallest element, or of the first NaN.

        Elements are counted in the order of C. Leave if there is none.
        """
        b, code = self.b, self.code
        code.exit_if(functools.reduce(b.or_, [code.equal(n, code.whole(0)) for n in x.shape]))
        letter = "i" if dtype_of(x).kind in "biu" else _letter_of_floats(x)
        best, found, count = map(code.variable, (TYPES[letter], I64, I64))
        for place in (found, count):
            b.store(code.whole(0), place)
        sources = leaves(x)

        def body(places: list) -> None:
            element = self.element(x, {id(a): p for a, p in zip(sources, places, strict=True)})
            new = self.scalars.converted(element, letter)
            old, at = b.load(best, typ=TYPES[letter]), b.load(count, typ=I64)
            if letter == "i":
                is_next = b.icmp_signed(sign, new, old)
            else:
                is_next = b.fcmp_unordered(sign, new, old)
                is_next = b.and_(is_next, b.fcmp_ordered("ord", old, old))
            is_next = b.or_(is_next, code.equal(at, code.whole(0)))
            b.store(b.select(is_next, new, old), best)
            b.store(b.select(is_next, at, b.load(found, typ=I64)), found)
            b.store(b.add(at, code.whole(1)), count)

        self.each(x.shape, sources, body)
        return Number(kind, "i", b.load(found, typ=I64))

    def summed_along(self, x: Array | Tree, axes: set[int], keeps: bool, store: int) -> Array:
        """Return the sums along some axes, which are left out unless they are kept."""
        return self._folded_along(x, axes, keeps, store, 0.0, self._sum)

    def extremum_along(
        self, x: Array | Tree, axes: set[int], keeps: bool, store: int, sign: str
    ) -> Array:  # fmt: skip
        """Return the extrema along some axes; leave if one is NaN, or there is none."""
        first, fold = _LEAST_OF[sign], self._further(sign)
        made = self._folded_along(x, axes, keeps, store, first, fold)
        self.each(made.shape, [made], lambda at: self._check_finite(self.read(made.dtype, at[0])))
        return made

    def summed_to(self, x: Array | Tree, shape: list, store: int) -> Array:
        """Return the sums along the axes that have one element in a shape, or are not in it."""
        return self._folded_to(x, shape, store, 0.0, self._sum)

    def _sum(self, old: Any, new: Any) -> Any:
        return self.b.fadd(old, new, flags=("reassoc",))

    def _further(self, sign: str) -> Callable[[Any, Any], Any]:
        """Return what gives the larger or smaller one of two numbers; a NaN stays."""
        b = self.b

        def further(old: Any, new: Any) -> Any:
            is_next = b.fcmp_unordered(sign, new, old)
            return b.select(b.and_(is_next, b.fcmp_ordered("ord", old, old)), new, old)

        return further

    def _check_finite(self, x: Number) -> None:
        size = self.scalars.library("fabs", [x.value], x.letter)
        limit = ir.Constant(TYPES[x.letter], float("inf"))
        self.code.exit_if(self.b.not_(self.b.fcmp_ordered("<", size, limit)))

    def _folded(self, x: Array | Tree, first: float, fold: Callable[[Any, Any], Any]) -> Number:
        """Return what a function of two numbers makes of all elements, one after the other."""
        dtype, letter = dtype_of(x), _letter_of_floats(x)
        kind = TYPES[letter]
        place = self.code.variable(kind)
        self.b.store(constant(kind, first), place)
        sources = leaves(x)
        self.each(x.shape, sources, self._folding(x, sources, place, fold))
        return Number(Kind(frozenset([dtype.type])), letter, self.b.load(place, typ=kind))

    def _folding(
        self, x: Array | Tree, sources: list[Array], place: Any, fold: Callable[[Any, Any], Any]
    ) -> Callable[[list], None]:
        """Return a body that folds each element into a variable."""
        letter = _letter_of_floats(x)
        kind, b = TYPES[letter], self.b

        def body(places: list) -> None:
            found = self.element(x, {id(a): p for a, p in zip(sources, places, strict=True)})
            value = self.scalars.converted(found, letter)
            b.store(fold(b.load(place, typ=kind), value), place)

        return body

    def _folded_along(
        self, x: Array | Tree, axes: set[int], keeps: bool, store: int, first: float,
        fold: Callable[[Any, Any], Any],
    ) -> Array:  # fmt: skip
        one = self.code.whole(1)
        shape = [one if k in axes else n for k, n in enumerate(x.shape)]
        made = self._folded_to(x, shape, store, first, fold)
        if not keeps:
            left = [k for k in range(len(x.shape)) if k not in axes]
            made.shape = [made.shape[k] for k in left]
            made.strides = [made.strides[k] for k in left]
        return made

    def _folded_to(
        self, x: Array | Tree, shape: list, store: int, first: float,
        fold: Callable[[Any, Any], Any],
    ) -> Array:  # fmt: skip
        """Fold along the axes that have one element in a shape, or are not in it."""
        letter = _letter_of_floats(x)
        made = self.made(dtype_of(x), shape, store)
        kind, b = TYPES[letter], self.b
        own = Kind(frozenset([made.dtype.type]))
        self.write(made, Number(own, letter, constant(kind, first)))
        self.check_fits(shape, x.shape)
        sources = leaves(x)
        if not shape or is_one(shape[-1]):  # each of them is a variable while it grows
            place = self.code.variable(kind)
            folding = self._folding(x, sources, place, fold)

            @contextlib.contextmanager
            def around(places: list) -> Iterator[None]:
                b.store(b.load(places[0], typ=kind), place)
                yield
                b.store(b.load(place, typ=kind), places[0])

            self.each(x.shape, [made, *sources], lambda at: folding(at[1:]), around=around)
            return made

        def body(places: list) -> None:
            by_array = {id(a): p for a, p in zip(sources, places[1:], strict=True)}
            new = self.scalars.converted(self.element(x, by_array), letter)
            old = self.read(made.dtype, places[0]).value
            self.put(made.dtype, Number(own, letter, fold(old, new)), places[0])

        self.each(x.shape, [made, *sources], body, alone=False)
        return made

    # -- products ----------------------------------------------------------------------------------

    def product(self, x: Any, y: Any, kind: Kind, store: int) -> Any:
        """Return the product of two arrays of one or two axes: by BLAS, if it is a large one."""
        ranks = (len(x.shape), len(y.shape))
        if ranks == (1, 1):
            self.check_shape(x.shape, y.shape)
            dtype = np.result_type(x.kind.dtype, y.kind.dtype)
            vector = Kind(frozenset([np.ndarray]), dtype, 1)
            return self.total(Tree(vector, operator.mul, [x, y], x.shape))
        if ranks == (1, 2):
            x, y = self.transposed(y), x
        elif ranks not in ((2, 1), (2, 2)):
            raise UnsupportedError("a product of stacks")
        b, code = self.b, self.code
        x, y = self.at_hand(x), self.at_hand(y)
        self.check_shape([x.shape[1]], y.shape[:1])
        assert kind.dtype is not None
        made = self.made(kind.dtype, [x.shape[0], *y.shape[1:]], store)
        letter = element_of(made.dtype)[1]
        in_loops = self._by_columns if len(y.shape) == 2 else self._by_vector
        if not x.dtype == y.dtype == made.dtype or letter not in "dszc":
            in_loops(x, y, made)
            return made
        size = b.mul(
            b.mul(x.shape[0], x.shape[1]), y.shape[1] if len(y.shape) == 2 else code.whole(1)
        )
        is_small = b.or_(code.less(size, code.whole(blas.LEAST)),
                         code.less(x.shape[1], code.whole(_LEAST_SUMMED)))  # fmt: skip
        with code.branches(is_small) as (then, otherwise):
            with then:
                in_loops(x, y, made)
            with otherwise:
                blas.multiply(code, letter, self._for_blas(x), self._for_blas(y), made)
        return made

    def _for_blas(self, x: Array) -> Array:
        """Return an array as BLAS can read it: itself, or a copy."""
        b, code = self.b, self.code
        place, steps = code.variable(PTR), [code.variable(I64) for _ in x.strides]

        def hold(a: Array) -> None:
            for value, at in zip((a.address, *a.strides), (place, *steps), strict=True):
                b.store(value, at)

        hold(x)
        with code.branch(b.not_(blas.is_fit(code, x.shape, x.strides, x.dtype.itemsize))):
            hold(self.computed(x, memory.SCRATCH))
        strides = [b.load(p, typ=I64) for p in steps]
        return Array(x.dtype, b.load(place, typ=PTR), x.shape, strides, Fresh())

    def _zero(self, made: Array) -> Number:
        kind, letter = element_of(made.dtype)
        return Number(Kind(frozenset([made.dtype.type])), letter, constant(kind, 0.0))

    def _by_vector(self, x: Array, y: Array, made: Array) -> None:
        """Multiply a matrix with a vector, along the axis in which elements lie side by side."""
        b, code = self.b, self.code
        vector = Kind(frozenset([np.ndarray]), made.dtype, 1)
        along = b.icmp_signed("<=", self._size(x.strides[1]), self._size(x.strides[0]))
        with code.branches(along) as (then, otherwise):
            with then, code.counted(x.shape[0]) as i:
                found = self.total(Tree(vector, operator.mul, [self.row(x, i), y], y.shape))
                self.put(made.dtype, found, code.at(made.address, b.mul(i, made.strides[0])))
            with otherwise:
                self.write(made, self._zero(made))
                self._add_rows(made, self.transposed(x), y)

    def _by_columns(self, x: Array, y: Array, made: Array) -> None:
        """Multiply two matrices, row by row."""
        with self.code.counted(x.shape[0]) as i:
            row = self.row(made, i)
            self.write(row, self._zero(made))
            self._add_rows(row, y, self.row(x, i))

    def _add_rows(self, made: Array, x: Array, y: Array) -> None:
        """Add numbers times the rows of a matrix to a vector."""
        vector = Kind(frozenset([np.ndarray]), made.dtype, 1)
        with self.code.counted(x.shape[0]) as k:
            factor = self.read(y.dtype, self.code.at(y.address, self.b.mul(k, y.strides[0])))
            row = Tree(vector, operator.mul, [self.row(x, k), factor], made.shape)
            self.write(made, row, operator.add)

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


def _letter_of_floats(x: Array | Tree) -> str:
    letter = element_of(dtype_of(x))[1]
    if letter not in "dszc":
        raise UnsupportedError("a sum or extremum of what is no float")
    return letter


def _nothing(places: list) -> AbstractContextManager:
    return contextlib.nullcontext()


def is_one(n: Any) -> bool:
    """Whether it is known that an axis has one element."""
    return isinstance(n, ir.Constant) and n.constant == 1
