"""Reductions of arrays: sums, products, extrema and their positions."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.arrays.fused_loops import FusedLoops
from autodiff.structured.native.llvm.function_builder import I64, PARTS, TYPES, constant, element_of
from autodiff.structured.native.lowered_values import (
    Array,
    LazyArray,
    Number,
    dtype_of,
    is_one,
    leaves,
)

_IDENTITY = {">": float("-inf"), "<": float("inf")}
"""The identity element of a maximum and of a minimum."""
Fold = Callable[[Any, Any], Any]


class ReductionLoops(FusedLoops):
    """Loops that reduce the elements of an array."""

    def sum_all(self, x: Array | LazyArray) -> Number:
        """Return the sum of all elements, in any order: NumPy does not specify one either."""
        return self._folded(x, 0.0, self._sum)

    def multiply_all(self, x: Array | LazyArray) -> Number:
        """Return the product of all elements, in any order."""
        if _letter_of_floats(x) in PARTS:
            raise UnsupportedError("a product of complex numbers")
        return self._folded(x, 1.0, self._product)

    def sum_integers(self, x: Array | LazyArray) -> Any:
        """Return the sum of integers or truth values."""
        accumulator, sources = self.code.stored(self.code.whole(0)), leaves(x)
        body = self._accumulation(x, sources, accumulator, self.b.add, "i")
        self.for_each(x.shape, sources, body)
        return self.b.load(accumulator, typ=I64)

    def extremum(self, x: Array | LazyArray, sign: str) -> Number:
        """Return the largest or smallest element; bail out if it is not finite.

        So a NaN and an empty array bail out, too.
        """
        found = self._folded(x, _IDENTITY[sign], self._better(sign))
        self._check_finite(found)
        return found

    def position_of_extremum(self, x: Array | LazyArray, sign: str, kind: Kind) -> Number:
        """Return the flat index of the first largest or smallest element, or of the first NaN.

        Bail out if the array is empty.
        """
        b, code = self.b, self.code
        code.exit_if(functools.reduce(b.or_, [code.equal(n, code.whole(0)) for n in x.shape]))
        letter = "i" if dtype_of(x).kind in "biu" else _letter_of_floats(x)
        best = code.stored(ir.Constant(TYPES[letter], 0))
        position, count = code.stored(code.whole(0)), code.stored(code.whole(0))
        sources = leaves(x)

        def body(addresses: list) -> None:
            element = self.element(x, {id(a): p for a, p in zip(sources, addresses, strict=True)})
            new = self.scalars.converted(element, letter)
            old, at = b.load(best, typ=TYPES[letter]), b.load(count, typ=I64)
            if letter == "i":
                is_better = b.icmp_signed(sign, new, old)
            else:
                is_better = b.fcmp_unordered(sign, new, old)
                is_better = b.and_(is_better, b.fcmp_ordered("ord", old, old))
            is_better = b.or_(is_better, code.equal(at, code.whole(0)))
            b.store(b.select(is_better, new, old), best)
            b.store(b.select(is_better, at, b.load(position, typ=I64)), position)
            b.store(b.add(at, code.whole(1)), count)

        self.for_each(x.shape, sources, body)
        return Number(kind, "i", b.load(position, typ=I64))

    def reduce_parts(
        self, x: Array | LazyArray, axes: set[int], keep: bool, dtype: Any, store: int,
        reduce: Callable[[Array], Number],
    ) -> Array:  # fmt: skip
        """Apply a reduction to each part of an array that lies along some axes."""
        code, x = self.code, self.as_array(x)
        kept = [k for k in range(len(x.shape)) if k not in axes]
        result = self.allocate(np.dtype(dtype), [x.shape[k] for k in kept], store)
        part = x.with_axes(sorted(axes))

        def loop(depth: int, address: Any, at: Any) -> None:
            if depth == len(kept):
                self.store_number(result.dtype, reduce(replace(part, address=address)), at)
                return
            with code.counted(result.shape[depth]) as i:
                step = self.b.mul(i, x.strides[kept[depth]])
                own = self.b.mul(i, result.strides[depth])
                loop(depth + 1, code.at(address, step), code.at(at, own))

        loop(0, x.address, result.address)
        for k in sorted(axes) if keep else ():
            result.shape.insert(k, code.whole(1))
            result.strides.insert(k, code.whole(0))
        return result

    def sum_along(self, x: Array | LazyArray, axes: set[int], keep: bool, store: int) -> Array:
        """Return the sums along some axes."""
        return self._folded_along(x, axes, keep, store, 0.0, self._sum)

    def extremum_along(
        self, x: Array | LazyArray, axes: set[int], keep: bool, store: int, sign: str
    ) -> Array:  # fmt: skip
        """Return the extrema along some axes; bail out if one is not finite."""
        result = self._folded_along(x, axes, keep, store, _IDENTITY[sign], self._better(sign))

        def check(at: list) -> None:
            self._check_finite(self.load_number(result.dtype, at[0]))

        self.for_each(result.shape, [result], check)
        return result

    def sum_to_shape(self, x: Array | LazyArray, shape: list, store: int) -> Array:
        """Sum over the axes that are missing from a shape or have length 1 in it."""
        return self._folded_to(x, shape, store, 0.0, self._sum)

    def _sum(self, old: Any, new: Any) -> Any:
        return self.b.fadd(old, new, flags=("reassoc",))

    def _product(self, old: Any, new: Any) -> Any:
        return self.b.fmul(old, new, flags=("reassoc",))

    def _better(self, sign: str) -> Fold:
        """Return the function of two numbers that takes the larger or smaller one, or a NaN."""
        b = self.b

        def better(old: Any, new: Any) -> Any:
            is_better = b.fcmp_unordered(sign, new, old)
            return b.select(b.and_(is_better, b.fcmp_ordered("ord", old, old)), new, old)

        return better

    def _check_finite(self, x: Number) -> None:
        size = self.scalars.library("fabs", [x.value], x.letter)
        limit = ir.Constant(TYPES[x.letter], float("inf"))
        self.code.exit_if(self.b.not_(self.b.fcmp_ordered("<", size, limit)))

    def _folded(self, x: Array | LazyArray, first: float, fold: Fold) -> Number:
        """Fold all elements into one number."""
        dtype, letter = dtype_of(x), _letter_of_floats(x)
        kind = TYPES[letter]
        accumulator = self.code.stored(constant(kind, first))
        sources = leaves(x)
        body = self._accumulation(x, sources, accumulator, fold, letter)
        self.for_each(x.shape, sources, body)
        return Number(Kind(frozenset([dtype.type])), letter, self.b.load(accumulator, typ=kind))

    def _accumulation(
        self, x: Array | LazyArray, sources: list[Array], accumulator: Any, fold: Fold, letter: str
    ) -> Callable[[list], None]:  # fmt: skip
        """Return a loop body that folds each element into a variable."""
        kind, b = TYPES[letter], self.b

        def body(addresses: list) -> None:
            found = self.element(x, {id(a): p for a, p in zip(sources, addresses, strict=True)})
            value = self.scalars.converted(found, letter)
            b.store(fold(b.load(accumulator, typ=kind), value), accumulator)

        return body

    def _folded_along(
        self, x: Array | LazyArray, axes: set[int], keep: bool, store: int, first: float, fold: Fold
    ) -> Array:  # fmt: skip
        one = self.code.whole(1)
        shape = [one if k in axes else n for k, n in enumerate(x.shape)]
        result = self._folded_to(x, shape, store, first, fold)
        if not keep:
            kept = [k for k in range(len(x.shape)) if k not in axes]
            result = result.with_axes(kept)
        return result

    def _folded_to(
        self, x: Array | LazyArray, shape: list, store: int, first: float, fold: Fold
    ) -> Array:  # fmt: skip
        """Fold over the axes that are missing from a shape or have length 1 in it."""
        letter = _letter_of_floats(x)
        result = self.allocate(dtype_of(x), shape, store)
        kind, b = TYPES[letter], self.b
        own = Kind(frozenset([result.dtype.type]))
        self.write(result, Number(own, letter, constant(kind, first)))
        self.check_fits(shape, x.shape)
        sources = leaves(x)
        if not shape or is_one(shape[-1]):  # the innermost loop accumulates in a register
            accumulator = self.code.variable(kind)
            accumulate = self._accumulation(x, sources, accumulator, fold, letter)

            @contextlib.contextmanager
            def around(addresses: list) -> Iterator[None]:
                b.store(b.load(addresses[0], typ=kind), accumulator)
                yield
                b.store(b.load(accumulator, typ=kind), addresses[0])

            self.for_each(x.shape, [result, *sources], lambda at: accumulate(at[1:]), around=around)
            return result

        def body(addresses: list) -> None:
            by_array = {id(a): p for a, p in zip(sources, addresses[1:], strict=True)}
            new = self.scalars.converted(self.element(x, by_array), letter)
            old = self.load_number(result.dtype, addresses[0]).value
            self.store_number(result.dtype, Number(own, letter, fold(old, new)), addresses[0])

        # The innermost iterations write into different elements.
        self.for_each(x.shape, [result, *sources], body)
        return result


def _letter_of_floats(x: Array | LazyArray) -> str:
    letter = element_of(dtype_of(x))[1]
    if letter not in "dszc":
        raise UnsupportedError("a sum or extremum of elements other than floats")
    return letter
