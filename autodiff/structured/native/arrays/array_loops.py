"""Products of vectors and matrices, on top of elementwise loops and reductions."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.arrays.reduction_loops import ReductionLoops
from autodiff.structured.native.llvm import blas, memory
from autodiff.structured.native.llvm.function_builder import constant, element_of
from autodiff.structured.native.lowered_values import Array, LazyArray, Number

_LEAST_SUMMED = 4  # BLAS is slower than a loop for shorter inner products


class ArrayLoops(ReductionLoops):
    """Elementwise loops, reductions and matrix products."""

    def product(self, x: Any, y: Any, kind: Kind, store: int) -> Any:
        """Return a product of vectors or matrices: by BLAS if it is large, else by loops."""
        ranks = (len(x.shape), len(y.shape))
        if ranks == (1, 1):
            self.check_shape(x.shape, y.shape)
            dtype = np.result_type(x.kind.dtype, y.kind.dtype)
            vector = Kind(frozenset([np.ndarray]), dtype, 1)
            return self.sum_all(LazyArray(vector, operator.mul, [x, y], x.shape))
        if ranks == (1, 2):
            x, y = self.transposed(y), x
        elif ranks not in ((2, 1), (2, 2)):
            raise UnsupportedError("a product of stacked matrices")
        b, code = self.b, self.code
        x, y = self.as_array(x), self.as_array(y)
        self.check_shape([x.shape[1]], y.shape[:1])
        assert kind.dtype is not None
        result = self.allocate(kind.dtype, [x.shape[0], *y.shape[1:]], store)
        letter = element_of(result.dtype)[1]
        by_loops = self._matrix_product if len(y.shape) == 2 else self._matrix_vector_product
        if not x.dtype == y.dtype == result.dtype or letter not in "dszc":
            by_loops(x, y, result)
            return result
        size = b.mul(
            b.mul(x.shape[0], x.shape[1]), y.shape[1] if len(y.shape) == 2 else code.whole(1)
        )
        is_small = b.or_(code.less(size, code.whole(blas.FEWEST_ELEMENTS)),
                         code.less(x.shape[1], code.whole(_LEAST_SUMMED)))  # fmt: skip
        with code.branches(is_small) as (then, otherwise):
            with then:
                by_loops(x, y, result)
            with otherwise:
                blas.multiply(code, letter, self._for_blas(x), self._for_blas(y), result)
        return result

    def _for_blas(self, x: Array) -> Array:
        """Return an array with a layout that BLAS accepts, copied if necessary."""
        is_readable = blas.is_blas_readable(self.code, x.shape, x.strides, x.dtype.itemsize)
        return self.one_of(is_readable, lambda: x, lambda: self.materialize(x, memory.SCRATCH))

    def _zero(self, result: Array) -> Number:
        kind, letter = element_of(result.dtype)
        return Number(Kind(frozenset([result.dtype.type])), letter, constant(kind, 0.0))

    def _magnitude(self, n: Any) -> Any:
        return self.b.select(self.code.less(n, self.code.whole(0)), self.b.neg(n), n)

    def _matrix_vector_product(self, x: Array, y: Array, result: Array) -> None:
        """Multiply a matrix by a vector, with the axis of the smaller stride innermost."""
        b, code = self.b, self.code
        vector = Kind(frozenset([np.ndarray]), result.dtype, 1)
        by_rows = b.icmp_signed("<=", self._magnitude(x.strides[1]), self._magnitude(x.strides[0]))
        with code.branches(by_rows) as (then, otherwise):
            with then, code.counted(x.shape[0]) as i:
                inner = self.sum_all(LazyArray(vector, operator.mul, [self.row(x, i), y], y.shape))
                self.store_item(result, i, inner)
            with otherwise:
                self.write(result, self._zero(result))
                self._add_rows(result, self.transposed(x), y)

    def _matrix_product(self, x: Array, y: Array, result: Array) -> None:
        """Multiply two matrices: each row of the result is a combination of the rows of `y`."""
        with self.code.counted(x.shape[0]) as i:
            row = self.row(result, i)
            self.write(row, self._zero(result))
            self._add_rows(row, y, self.row(x, i))

    def _add_rows(self, result: Array, x: Array, y: Array) -> None:
        """Add to a vector the rows of a matrix, weighted by the elements of `y`."""
        vector = Kind(frozenset([np.ndarray]), result.dtype, 1)
        with self.code.counted(x.shape[0]) as k:
            factor = self.load_item(y, k)
            row = LazyArray(vector, operator.mul, [self.row(x, k), factor], result.shape)
            self.write(result, row, operator.add)
