"""Sums, products and extrema of the elements of arrays, and their places."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.elements import Elements, is_one
from autodiff.structured.native.llvm.code import (
    I64,
    PARTS,
    TYPES,
    constant,
    element_of,
)
from autodiff.structured.native.values import Array, Number, Tree, dtype_of, leaves

_LEAST_OF = {">": float("-inf"), "<": float("inf")}
"""What every number exceeds, or is exceeded by."""


class Folds(Elements):
    """Writes loops that make one number of many."""

    def total(self, x: Array | Tree) -> Number:
        """Return the sum of all elements, in an order of its own, as NumPy does."""
        return self._folded(x, 0.0, self._sum)

    def multiplied(self, x: Array | Tree) -> Number:
        """Return the product of all elements, in an order of its own, as NumPy does."""
        if _letter_of_floats(x) in PARTS:
            raise UnsupportedError("a product of complex numbers in machine code")
        return self._folded(x, 1.0, self._product)

    def total_of_integers(self, x: Array | Tree) -> Any:
        """Return the sum of integers or truth values."""
        place, sources = self.code.variable(I64), leaves(x)
        self.b.store(self.code.whole(0), place)
        self.each(x.shape, sources, self._folding(x, sources, place, self.b.add, "i"))
        return self.b.load(place, typ=I64)

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
        b.store(ir.Constant(TYPES[letter], 0), best)
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

    def along_each(
        self, x: Array | Tree, axes: set[int], keeps: bool, dtype: Any, store: int,
        number_of: Callable[[Array], Number],
    ) -> Array:  # fmt: skip
        """Return what a function makes of each part of an array that lies along some axes."""
        code, x = self.code, self.at_hand(x)
        left = [k for k in range(len(x.shape)) if k not in axes]
        made = self.made(np.dtype(dtype), [x.shape[k] for k in left], store)
        shape, strides = ([n[k] for k in sorted(axes)] for n in (x.shape, x.strides))

        def loop(depth: int, address: Any, at: Any) -> None:
            if depth == len(left):
                part = Array(x.dtype, address, shape, strides, x.group)
                self.put(made.dtype, number_of(part), at)
                return
            with code.counted(made.shape[depth]) as i:
                step = self.b.mul(i, x.strides[left[depth]])
                own = self.b.mul(i, made.strides[depth])
                loop(depth + 1, code.at(address, step), code.at(at, own))

        loop(0, x.address, made.address)
        for k in sorted(axes) if keeps else ():
            made.shape.insert(k, code.whole(1))
            made.strides.insert(k, code.whole(0))
        return made

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

    def _product(self, old: Any, new: Any) -> Any:
        return self.b.fmul(old, new, flags=("reassoc",))

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
        self.each(x.shape, sources, self._folding(x, sources, place, fold, letter))
        return Number(Kind(frozenset([dtype.type])), letter, self.b.load(place, typ=kind))

    def _folding(
        self, x: Array | Tree, sources: list[Array], place: Any, fold: Callable[[Any, Any], Any],
        letter: str,
    ) -> Callable[[list], None]:  # fmt: skip
        """Return a body that folds each element into a variable."""
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
            folding = self._folding(x, sources, place, fold, letter)

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


def _letter_of_floats(x: Array | Tree) -> str:
    letter = element_of(dtype_of(x))[1]
    if letter not in "dszc":
        raise UnsupportedError("a sum or extremum of what is no float")
    return letter
