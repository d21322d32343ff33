"""Linear algebra by LAPACK: systems, inverses, determinants, factorizations, eigenvalues."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from llvmlite import ir

from autodiff.structured.form.kinds import Kind, UnsupportedError
from autodiff.structured.native.arrays.array_creation import ArrayCreation
from autodiff.structured.native.llvm import blas, memory
from autodiff.structured.native.llvm.function_builder import I32, I64, PTR, TYPES, constant
from autodiff.structured.native.lowered_values import (
    Array,
    FreshMemory,
    Number,
    StaticValue,
    TupleValue,
    dtype_of,
)

_LETTERS = {np.dtype(float): "d", np.dtype(complex): "z"}


class LinearAlgebra(ArrayCreation):
    """Calls of LAPACK."""

    def _of_matrix(self, x: Any, dtype: np.dtype) -> tuple[Array, Any, Any]:
        """Return a column-major copy of a square matrix, its size, and space for pivots."""
        e = self.elementwise
        if len(x.shape) != 2:
            raise UnsupportedError("a linear system of another kind")
        e.check_shape(x.shape[:1], x.shape[1:])
        copy = e.materialize(e.transposed(x), memory.SCRATCH, dtype)
        n = x.shape[0]
        return copy, n, e.allocate(np.dtype(np.int32), [n], memory.SCRATCH).address

    def solve(self, a: Any, y: Any) -> Array:
        """``np.linalg.solve(a, y)``."""
        e = self.elementwise
        dtype = np.result_type(dtype_of(a), dtype_of(y))
        if dtype not in _LETTERS or len(y.shape) > 2:
            raise UnsupportedError("a linear system of another kind")
        letter = _LETTERS[dtype]
        a, n, pivots = self._of_matrix(a, dtype)
        e.check_shape([n], y.shape[:1])
        if len(y.shape) == 1:
            result = e.materialize(y, self.store, dtype)
            blas.solve(self.code, letter, a.address, result.address, n, self.code.whole(1), pivots)
            return result
        columns = e.materialize(e.transposed(y), memory.SCRATCH, dtype)
        blas.solve(self.code, letter, a.address, columns.address, n, y.shape[1], pivots)
        return e.materialize(e.transposed(columns), self.store)

    def factored(self, a: Any) -> Array:
        """``factored(a)``: the LU factors of a matrix, column-major, and a row with the pivots.

        They are kept for the sweep. While the matrix stays the same, so do they.
        """
        code, b, e, dtype = self.code, self.b, self.elementwise, dtype_of(a)
        letter, n = _LETTERS[dtype], a.shape[0]
        e.check_shape(a.shape[:1], a.shape[1:])
        a = e.as_array(a)
        shape, words = [b.add(n, code.whole(1)), n], code.words(3)  # factors, matrix, size
        strides, size = e.strides_of(dtype, shape)

        def found(k: int) -> Array:
            return Array(dtype, code.word(words, k, PTR), shape, strides, FreshMemory())

        def matrix(x: Array) -> Array:
            return x.view(x.address, [n, n], x.strides)

        def allocate(k: int) -> None:
            place = memory.allocated(code, e.state, memory.KEPT, size)
            code.set_word(words, k, b.ptrtoint(place, I64))

        is_new = code.stored(ir.Constant(TYPES["b"], 1))
        with code.branches(code.equal(code.word(words, 2), n)) as (then, otherwise):
            with then:
                truths = Kind(frozenset([np.ndarray]), np.dtype(bool), 2)
                differ = e.sum_integers(e.tree(operator.ne, truths, [a, matrix(found(1))]))
                b.store(b.not_(code.equal(differ, code.whole(0))), is_new)
            with otherwise:
                allocate(1)
                code.set_word(words, 2, n)
        with code.branch(b.load(is_new, typ=TYPES["b"])):
            e.write(matrix(found(1)), a)
            allocate(0)
            factors = found(0)
            e.write(e.transposed(matrix(factors)), a)
            blas.factor(code, letter, factors.address, n, e.row(factors, n).address)
        return found(0)

    def solve_factored(self, factors: Array, y: Any, adjoint: Any = None) -> Array:
        """``solve_factored(factors, y, is_adjoint)``."""
        code, e = self.code, self.elementwise
        n, is_matrix = factors.shape[1], len(y.shape) == 2
        e.check_shape([n], y.shape[:1])
        store = memory.SCRATCH if is_matrix else self.store
        x = e.materialize(e.transposed(y) if is_matrix else y, store, factors.dtype)
        blas.solve_factored(
            code, _LETTERS[factors.dtype], factors.address, x.address, n,
            y.shape[1] if is_matrix else code.whole(1), e.row(factors, n).address,
            adjoint is not None and adjoint.x,
        )  # fmt: skip
        return e.materialize(e.transposed(x), self.store) if is_matrix else x

    def cholesky(self, a: Any) -> Array:
        """``np.linalg.cholesky(a)``, which reads the lower triangle."""
        e = self.elementwise
        if len(a.shape) != 2 or dtype_of(a) != np.float64:
            raise UnsupportedError("a Cholesky factor of another kind")
        e.check_shape(a.shape[:1], a.shape[1:])
        result = self.triangle(np.tril, a)
        blas.factor_positive(self.code, result.address, a.shape[0])
        return result

    def triangular(self, a: Any, y: Any, **options: Any) -> Array:
        """``solve_triangular(a, y, lower, trans)``; bail out if an operand is not finite."""
        e, code = self.elementwise, self.code
        given = {name: x.x if isinstance(x, StaticValue) else None for name, x in options.items()}
        lower, trans = given.pop("lower", False), given.pop("trans", 0)
        if given or type(lower) is not bool or trans not in (0, 1, 2, "N", "T", "C"):
            raise UnsupportedError("this triangular system")
        kinds = {dtype_of(x) for x in (a, y)}
        if kinds != {np.dtype(float)} or len(a.shape) != 2 or len(y.shape) > 2:
            raise UnsupportedError("a triangular system of another kind")
        e.check_shape(a.shape[:1], a.shape[1:])
        e.check_shape(a.shape[:1], y.shape[:1])
        copy = e.materialize(a, memory.SCRATCH)
        is_matrix = len(y.shape) == 2
        store = memory.SCRATCH if is_matrix else self.store
        result = e.materialize(e.transposed(y) if is_matrix else y, store)
        for x in (copy, result):
            total = self.scalars.library("fabs", [e.sum_all(x).value], "d")
            is_finite = code.b.fcmp_ordered("<", total, constant(TYPES["d"], math.inf))
            code.exit_if(code.b.not_(is_finite))
        m = y.shape[1] if is_matrix else code.whole(1)
        blas.solve_triangle(
            code, copy.address, result.address, a.shape[0], m, lower, trans not in (0, "N")
        )
        return e.materialize(e.transposed(result), self.store) if is_matrix else result

    def eigh(self, a: Any) -> TupleValue:
        """``np.linalg.eigh(a)``."""
        e, dtype = self.elementwise, np.dtype(float)
        if dtype_of(a) != dtype:
            raise UnsupportedError("eigenvalues of another kind")
        a, n, _ = self._of_matrix(a, dtype)
        w = e.allocate(dtype, [n], self.store)
        blas.spectrum(
            self.code,
            a.address,
            w.address,
            n,
            lambda k: e.allocate(dtype, [k], memory.SCRATCH).address,
        )
        return TupleValue([w, e.materialize(e.transposed(a), self.store)])

    def inverse(self, a: Any) -> Array:
        """``np.linalg.inv(a)``."""
        size = Number(Kind(frozenset([int])), "i", a.shape[0])
        return self.solve(a, self._filled(np.eye, [size], {}))

    def determinant(self, a: Any) -> Number:
        """``np.linalg.det(a)``, from its logarithm as in NumPy."""
        sign, log = self.slogdet(a).parts
        value = self.b.fmul(sign.value, self.scalars.library("exp", [log.value], "d"))
        return self.scalars.plain("d", value)

    def slogdet(self, a: Any) -> TupleValue:
        """``np.linalg.slogdet(a)``."""
        code, b, s = self.code, self.b, self.scalars
        if dtype_of(a) != np.float64:
            raise UnsupportedError("a determinant of another kind")
        a, n, pivots = self._of_matrix(a, dtype_of(a))
        blas.factor(code, "d", a.address, n, pivots)
        kind = TYPES["d"]
        sign, total = (code.stored(ir.Constant(kind, x)) for x in (1.0, 0.0))
        with code.counted(n) as i:
            x = b.load(code.at(a.address, b.mul(i, b.add(*a.strides))), typ=kind)
            pivot = b.sext(b.load(code.at(pivots, b.mul(i, code.whole(4))), typ=I32), I64)
            is_swapped = b.not_(code.equal(pivot, b.add(i, code.whole(1))))
            is_flipped = b.xor(is_swapped, b.fcmp_ordered("<", x, ir.Constant(kind, 0.0)))
            old = b.load(sign, typ=kind)
            b.store(b.select(is_flipped, b.fneg(old), old), sign)
            log = s.library("log", [s.library("fabs", [x], "d")], "d")
            b.store(b.fadd(b.load(total, typ=kind), log), total)
        return TupleValue([s.plain("d", b.load(variable, typ=kind)) for variable in (sign, total)])
