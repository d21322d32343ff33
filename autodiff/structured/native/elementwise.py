"""Arrays element by element, with products of vectors and matrices."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.folds import Folds
from autodiff.structured.native.llvm import blas, memory
from autodiff.structured.native.llvm.code import (
    I64,
    PTR,
    constant,
    element_of,
)
from autodiff.structured.native.values import Array, Fresh, Number, Tree

_LEAST_SUMMED = 4  # products for a number: fewer are added faster in loops


class Elementwise(Folds):
    """Writes loops over the elements of arrays, and calls of BLAS."""

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
