"""Small systems of equations as operations: solutions, inverses and determinants.

They share one factorisation by elimination with exchanges of rows, the way that LAPACK takes; a
call of NumPy's costs ten times as much as the arithmetic of a matrix of three rows. What is not
regular and finite is left to the call as it is written.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.compile.nest_ops import NotSmallError, Op, View
from autodiff.compile.program import FLOAT64, Meta, Ref, Step, part

if TYPE_CHECKING:
    from autodiff.compile.nest_layout import Block
    from autodiff.compile.nest_source import NestWriter
    from autodiff.compile.nests import Reader

LARGEST = 32
"""Up to how many rows loops are as fast as LAPACK."""
SYSTEMS = frozenset({np.linalg.solve, np.linalg.inv, np.linalg.det, np.linalg.slogdet})


def is_system(step: Step, metas: list[Meta]) -> bool:
    """Whether a call can be read by `solved`, whatever its matrix is."""
    if step.kwargs or len(step.args) != (2 if step.f is np.linalg.solve else 1):
        return False
    shape, *others = [_shape(a, metas) for a in step.args]
    if shape is None or len(shape) != 2 or not 0 < shape[0] == shape[1] <= LARGEST:
        return False
    return all(s is not None and 1 <= len(s) <= 2 and 0 not in s for s in others)


def _shape(x: Any, metas: list[Meta]) -> tuple | None:
    dtype, shape = (metas[x.i].dtype, metas[x.i].shape) if type(x) is Ref else (None, None)
    if type(x) is np.ndarray:
        dtype, shape = x.dtype, x.shape
    return shape if dtype == FLOAT64 else None


PAIR: Any = type(np.linalg.slogdet(np.eye(1)))


def is_part_of_pair(step: Step, metas: list[Meta]) -> bool:
    """Whether a step takes the sign or the logarithm of a determinant."""
    return step.f is part and type(step.args[0]) is Ref and metas[step.args[0].i].type is PAIR


class Systems:
    """The factorisations that a reader has, by the elements of their matrices."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._known: dict[tuple, View] = {}
        self._units: dict[int, np.ndarray] = {}
        self._pairs: dict[int, View] = {}

    def _factors(self, a: View) -> tuple[View, bool]:
        """Return the factors of a matrix, and whether they are those of its transpose."""
        if a.is_bool or a.kind not in "vx":
            raise NotSmallError
        for strides, is_transposed in ((a.strides, False), (a.strides[::-1], True)):
            known = self._known.get((a.kind, a.base, a.offset, a.shape, strides))
            if known is not None:
                return known, is_transposed
        n = a.shape[0]
        factors = self.reader.added(Op("factors", None, [a], (n * n + n + 1,), (n,)))
        self._known[(a.kind, a.base, a.offset, a.shape, a.strides)] = factors
        return factors, False

    def read(self, step: Step, shape: tuple) -> Op:
        """Return a solution, an inverse or a determinant as an operation."""
        a = self.reader.view(step.args[0])
        factors, is_transposed = self._factors(a)
        n = a.shape[0]
        if step.f is np.linalg.det:
            return Op("determinant", None, [factors], (), (n, "det"))
        if step.f is np.linalg.inv:
            unit = self._units.setdefault(n, np.eye(n))
            b = self.reader.view(unit)
        else:
            b = self.reader.view(step.args[1])
        if b.is_bool or b.kind not in "vx" or b.shape != shape:
            raise NotSmallError
        if not is_transposed:
            return Op("solution", None, [factors, b], shape, (n, False))
        w = self.reader.added(Op("solution", None, [factors, b], shape, (n, True)))
        return Op("unordered", None, [factors, w], shape, (n,))

    def pair(self, step: Step) -> None:
        """Note a determinant of which the sign and the logarithm are asked for later."""
        self._pairs[step.out], _ = self._factors(self.reader.view(step.args[0]))

    def half(self, step: Step) -> Op:
        """Return the sign or the logarithm of a determinant as an operation."""
        factors = self._pairs.get(step.args[0].i)
        if factors is None:
            raise NotSmallError
        which = {0: "sign", "sign": "sign", 1: "log", "logabsdet": "log"}[step.args[1]]
        n = int(factors.shape[0] ** 0.5)
        return Op("determinant", None, [factors], (), (n, which))


# -- as calls of functions, which are compiled once -----------------------------------------------


def factors(w: NestWriter, block: Block, p: int) -> None:
    """Write the factors, the rows that they stand for, and the sign of that exchange."""
    (n,) = w.ops[p].extra
    row, column = w.ops[p].args[0].strides
    x, place = w.memory(block, p, 0)
    _call(w, f"factored({x}, {place}, {row}, {column}, {n}, s, {w.target(block, p)})")


def solution(w: NestWriter, block: Block, p: int) -> None:
    """Write two triangular systems; with the transpose, the rows stay in another order."""
    n, is_transposed = w.ops[p].extra
    _, lu = w.memory(block, p, 0)
    y, place = w.memory(block, p, 1)
    b = w.ops[p].args[1]
    m, column = (b.shape[1], b.strides[1]) if len(b.shape) == 2 else (1, 0)
    f = "solved_transposed" if is_transposed else "solved"
    right = f"{y}, {place}, {b.strides[0]}, {column}"
    w.write(f"{f}(s, {lu}, {n}, {right}, {m}, {w.target(block, p)})")


def unordered(w: NestWriter, block: Block, p: int) -> None:
    """Write rows back into their places."""
    (n,) = w.ops[p].extra
    _, lu = w.memory(block, p, 0)
    _, place = w.memory(block, p, 1)
    w.write(f"put_back(s, {lu}, {n}, {place}, {w.ops[p].size // n}, {w.target(block, p)})")


def determinant(w: NestWriter, block: Block, p: int) -> str:
    """Return the sign or the logarithm of the product of the pivots, or the product."""
    n, which = w.ops[p].extra
    _, lu = w.memory(block, p, 0)
    sign, log = f"pivots_sign(s, {lu}, {n})", f"pivots_log(s, {lu}, {n})"
    return {"sign": sign, "log": log, "det": f"{sign} * math.exp({log})"}[which]


def _call(w: NestWriter, text: str) -> None:
    w.write(f"if not {text}: return 2")


def routines(get: Callable, put: Callable) -> dict[str, Callable]:
    """Return what these calls mean, with the functions that read and write an element."""

    def factored(x, first, row, column, n, s, lu):
        order = lu + n * n
        for i in range(n):
            put(s, order + i, float(i))
            for j in range(n):
                put(s, lu + n * i + j, get(x, first + row * i + column * j))
        sign = 1.0
        for k in range(n):
            largest, best = abs(get(s, lu + n * k + k)), k
            for i in range(k + 1, n):
                size = abs(get(s, lu + n * i + k))
                if size > largest:
                    largest, best = size, i
            if not 0.0 < largest < math.inf:
                return False
            if best != k:
                sign = -sign
                for j in range(n):
                    held = get(s, lu + n * k + j)
                    put(s, lu + n * k + j, get(s, lu + n * best + j))
                    put(s, lu + n * best + j, held)
                held = get(s, order + k)
                put(s, order + k, get(s, order + best))
                put(s, order + best, held)
            pivot = get(s, lu + n * k + k)
            for i in range(k + 1, n):
                factor = get(s, lu + n * i + k) / pivot
                if not abs(factor) <= 1.0:
                    return False  # there is a NaN
                put(s, lu + n * i + k, factor)
                here, there = lu + n * i, lu + n * k
                for j in range(k + 1, n):
                    put(s, here + j, get(s, here + j) - factor * get(s, there + j))
        put(s, order + n, sign)
        return True

    def solved(s, lu, n, y, first, row, column, m, x):
        for i in range(n):
            begin = first + row * int(get(s, lu + n * n + i))
            for c in range(m):
                put(s, x + m * i + c, get(y, begin + column * c))
            for j in range(i):
                factor = get(s, lu + n * i + j)
                for c in range(m):
                    known = factor * get(s, x + m * j + c)
                    put(s, x + m * i + c, get(s, x + m * i + c) - known)
        for back in range(n):
            i = n - 1 - back
            for j in range(i + 1, n):
                factor = get(s, lu + n * i + j)
                for c in range(m):
                    known = factor * get(s, x + m * j + c)
                    put(s, x + m * i + c, get(s, x + m * i + c) - known)
            pivot = get(s, lu + n * i + i)
            for c in range(m):
                put(s, x + m * i + c, get(s, x + m * i + c) / pivot)

    def solved_transposed(s, lu, n, y, first, row, column, m, x):
        for i in range(n):
            for c in range(m):
                put(s, x + m * i + c, get(y, first + row * i + column * c))
            for j in range(i):
                factor = get(s, lu + n * j + i)
                for c in range(m):
                    known = factor * get(s, x + m * j + c)
                    put(s, x + m * i + c, get(s, x + m * i + c) - known)
            pivot = get(s, lu + n * i + i)
            for c in range(m):
                put(s, x + m * i + c, get(s, x + m * i + c) / pivot)
        for back in range(n):
            i = n - 1 - back
            for j in range(i + 1, n):
                factor = get(s, lu + n * j + i)
                for c in range(m):
                    known = factor * get(s, x + m * j + c)
                    put(s, x + m * i + c, get(s, x + m * i + c) - known)

    def put_back(s, lu, n, rows, m, x):
        for i in range(n):
            begin = x + m * int(get(s, lu + n * n + i))
            for c in range(m):
                put(s, begin + c, get(s, rows + m * i + c))

    def pivots_sign(s, lu, n):
        sign = get(s, lu + n * n + n)
        for i in range(n):
            if get(s, lu + n * i + i) < 0.0:
                sign = -sign
        return sign

    def pivots_log(s, lu, n):
        total = 0.0
        for i in range(n):
            total += math.log(abs(get(s, lu + n * i + i)))
        return total

    made = (factored, solved, solved_transposed, put_back, pivots_sign, pivots_log)
    return {f.__name__: f for f in made}
