"""In-place sums computed by BLAS in one pass over memory; triangular and factored systems."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from autodiff.repeatable import is_repeatable

daxpy: Any = None
ddot: Any = None
dgemm: Any = None
dtrsm: Any = None
"""The routines of BLAS, once SciPy's linear algebra is loaded."""
_CALL, _LOADING = 1_000, 50_000_000
_left = _LOADING  # elements that are added without BLAS before it is loaded; a call counts as some


def _waits(n: int) -> bool:
    """Whether NumPy computes a sum of `n` elements, because loading BLAS does not pay yet."""
    global _left
    _left -= n + _CALL
    if _left > 0 and not is_repeatable() and "scipy.linalg.blas" not in sys.modules:
        return True
    _load()
    return False


def _load() -> None:
    global daxpy, ddot, dgemm, dtrsm
    from scipy.linalg.blas import daxpy, ddot, dgemm, dtrsm


def add_scaled(y: np.ndarray, a: float, x: np.ndarray) -> None:
    """Compute ``y += a * x`` in place, for float64 vectors."""
    n = len(x)
    if not 0 < n == len(y) or (daxpy is None and _waits(n)):
        y += a * x
    elif a:
        result = daxpy(x, y, n, a)
        if result is not y:  # a copy, if `y` is not contiguous
            y[...] = result
    elif not math.isfinite(ddot(x, x, n)):  # 0 * inf is NaN; other products with 0 add nothing
        y += a * x


Memory = tuple[np.ndarray, int, int, int, int]
"""A strided view of an array for BLAS.

Its memory as a vector; the stride between elements of a part, and between parts; the largest number
of elements in a part; and their direction, 1 or -1. If BLAS cannot read the memory: the array
itself, strides of 0, and a length of -1.
"""


def columns_of(x: np.ndarray) -> Memory:
    """Return a matrix as memory whose parts are pieces of columns."""
    vector, row, column = _memory(x)
    return vector, row, column, len(x) if row else -1, 1


def from_end_of(x: np.ndarray) -> Memory:
    """Return a vector as memory whose parts are traversed from their end."""
    vector, step = _memory(x)
    return vector, step, 0, len(x) if step else -1, -1


def _memory(x: np.ndarray) -> tuple[Any, ...]:
    """Return the memory of an array as one vector, and the stride of each axis in elements."""
    if x.dtype == _DTYPE and x.flags.aligned and x.size:
        if x.flags.c_contiguous:  # NumPy's strides of axes of one element are arbitrary
            return x.reshape(-1), *[math.prod(x.shape[k + 1 :]) for k in range(x.ndim)]
        if all(n > 0 and n % 8 == 0 for n in x.strides):
            steps = [n // 8 for n in x.strides]
            size = 1 + sum((n - 1) * step for n, step in zip(x.shape, steps, strict=True))
            return as_strided(x, (size,), (8,)), *steps
    return x, *[0] * x.ndim


def add_to_part(memory: Memory, start: int, stop: int, k: int, a: float, x: np.ndarray) -> None:
    """Add ``a * x`` in place to rows `start` to `stop` of column `k`."""
    y, step, column, rows, sign = memory
    n = stop - start
    if a and stop <= rows and 0 < n == len(x) and not (daxpy is None and _waits(n)):
        daxpy(x, y, n, a, 0, 1, start * step + k * column, sign * step)
    else:
        add_scaled(_part(memory, start, stop, k), a, x)


def add_part(y: np.ndarray, a: float, memory: Memory, start: int, stop: int, k: int) -> None:
    """Add `a` times a part of an array to a vector in place."""
    x, step, column, rows, sign = memory
    n = stop - start
    if a and stop <= rows and 0 < n == len(y) and not (daxpy is None and _waits(n)):
        result = daxpy(x, y, n, a, start * step + k * column, sign * step)
        if result is not y:  # a copy, if `y` is not contiguous
            y[...] = result
    else:
        add_scaled(y, a, _part(memory, start, stop, k))


def inner_with_part(memory: Memory, start: int, stop: int, k: int, y: np.ndarray) -> float:
    """Return the inner product of a part of an array with a vector."""
    x, step, column, rows, sign = memory
    n = stop - start
    if stop <= rows and 0 < n == len(y) and not (ddot is None and _waits(n)):
        return ddot(x, y, n, start * step + k * column, sign * step)
    return inner_product(_part(memory, start, stop, k), y)


def _part(memory: Memory, start: int, stop: int, k: int) -> np.ndarray:
    """Return a part as a view."""
    x, step, column, rows, sign = memory
    if not step:
        part = x[start:stop] if x.ndim == 1 else x[start:stop, k]
    else:
        at = start * step + k * column
        part = x[at : at + max(min(stop, rows) - start, 0) * step : step]
    return part[::sign]


def inner_product(x: np.ndarray, y: np.ndarray) -> float:
    """Return the inner product of two float64 vectors."""
    n = len(x)
    if not 0 < n == len(y):
        return float((x * y).sum())
    return float(x.dot(y)) if ddot is None and _waits(n) else ddot(x, y, n)


def divided_twice(x: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Return L⁻ᵀ X L⁻¹ for a lower triangular matrix L."""
    if not len(x):
        return x
    if dtrsm is None:
        _load()
    return dtrsm(1.0, lower, dtrsm(1.0, lower, x, lower=1, trans_a=1), side=1, lower=1)


def factored(a: np.ndarray) -> np.ndarray:
    """Return what `solve_factored` needs of a matrix: a copy, or in machine code its LU factors."""
    return a.copy()


def solve_factored(a: np.ndarray, b: np.ndarray, is_adjoint: bool = False) -> np.ndarray:
    """Solve a system whose matrix, or its conjugate transpose, was `factored`."""
    return np.linalg.solve(a.conj().T if is_adjoint else a, b)


def product_ahead(
    x: np.ndarray, y: np.ndarray, axis: int, base: np.ndarray, of: int, i: int
) -> np.ndarray:  # fmt: skip
    """Return the product of a vector with a matrix, contracted along an axis of this.

    The vector is a part of row (`of` is 0) or column (1) `i` of another matrix. Machine code also
    computes the products of the rows that follow: see `products_ahead`.
    """
    return y @ x if axis else x @ y


class _BatchedSum:
    """Updates that involve parts of one matrix, collected to be applied by one matrix product.

    Attributes
    ----------
    matrix : ndarray
        The matrix that the parts are views of.
    count : int
        The number of updates that wait.
    hull : tuple of slice
        The rows and columns of the smallest rectangle that covers all parts.
    """

    __slots__ = ("address", "count", "hull", "matrix")

    def __init__(self) -> None:
        self.matrix: Any = None
        self.count = 0
        self.hull = slice(0), slice(0)

    def place_of(self, part: np.ndarray, x: np.ndarray, y: np.ndarray) -> Any:
        """Return the rows and columns of a part as slices; None if its update cannot wait.

        `x` has an element for each row, and `y` for each column. Apply the waiting updates first if
        the part belongs to another matrix, or is far from the others.
        """
        m, n = shape = len(x), len(y)
        if part.shape != shape or not x.dtype == y.dtype == part.dtype == _DTYPE:
            return None
        if m * n < _LEAST and not self._is_frequent(part):
            return None
        whole = part if part.base is None else part.base
        if whole is not self.matrix:
            if type(whole) is not np.ndarray or whole.ndim != 2 or whole.dtype != _DTYPE:
                return None
            self.add_all()
            self.matrix, self.address = whole, whole.ctypes.data
            self._begin(whole)
        if part.strides != whole.strides or not whole.flags.c_contiguous:
            return None
        row, column = divmod((part.ctypes.data - self.address) // 8, whole.shape[1])
        place = hull = slice(row, row + m), slice(column, column + n)
        if self.count:
            rows, columns = self.hull
            hull = (
                slice(min(row, rows.start), max(row + m, rows.stop)),
                slice(min(column, columns.start), max(column + n, columns.stop)),
            )
            if self.count == _MOST or _area(*hull) > _WIDEST * m * n:
                self.add_all()
                hull = place
        self.hull = hull
        return place

    def _is_frequent(self, part: np.ndarray) -> bool:
        """Whether small matrices get so many updates that collecting them pays."""
        return False

    def add_all(self) -> None:
        """Apply the waiting updates."""
        if self.count:
            self._add(self.count, *self.hull)
            self.count = 0

    def _begin(self, matrix: np.ndarray) -> None:
        """Allocate buffers for updates of another matrix."""
        raise NotImplementedError

    def _add(self, n: int, rows: slice, columns: slice) -> None:
        """Apply `n` updates, which all lie within these rows and columns."""
        raise NotImplementedError


class OuterSum(_BatchedSum):
    """Outer products added to parts of a matrix, many at once by one matrix product."""

    __slots__ = ("left", "right", "small", "whole")

    def __init__(self) -> None:
        super().__init__()
        self.small = 0  # updates of small whole matrices so far
        self.whole: tuple[slice, slice]

    def _begin(self, matrix: np.ndarray) -> None:
        self.left, self.right = (np.zeros((_MOST, n)) for n in matrix.shape)
        self.whole = slice(0, len(matrix)), slice(0, matrix.shape[1])

    def append(self, part: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
        """Add the outer product of two vectors to a part of a matrix, now or later."""
        n = self.count
        if part is self.matrix and n < _MOST and part.shape == (len(x), len(y)):
            self.hull = self.whole
            self.left[n], self.right[n] = x, y
            self.count = n + 1
            return
        place = self.place_of(part, x, y)
        if place is None:
            part += np.multiply.outer(x, y)
            return
        self.left[self.count, place[0]] = x
        self.right[self.count, place[1]] = y
        self.count += 1

    def _is_frequent(self, part: np.ndarray) -> bool:
        self.small += part.base is None
        return self.small > _FIRST_FEW and part.base is None

    def _add(self, n: int, rows: slice, columns: slice) -> None:
        left, right = self.left[:n, rows], self.right[:n, columns]
        _add_product(self.matrix[rows, columns], left, right)
        left[...] = right[...] = 0.0


class ProductSum(_BatchedSum):
    """Matrix-vector products added to vectors, many at once by one matrix product.

    Parameters
    ----------
    axis : int
        The axis of the matrix to contract.
    """

    __slots__ = ("axis", "given", "targets")

    def __init__(self, axis: int) -> None:
        super().__init__()
        self.axis = axis
        self.targets: list[tuple[np.ndarray, tuple[slice, slice]]] = []

    def _begin(self, matrix: np.ndarray) -> None:
        self.given = np.zeros((_MOST, matrix.shape[self.axis]))

    def append(self, y: np.ndarray, part: np.ndarray, x: np.ndarray) -> None:
        """Add the product of a part of a matrix with `x` to `y`, now or later."""
        place = self.place_of(part, y, x) if self.axis else self.place_of(part, x, y)
        if place is None:
            y += part @ x if self.axis else x @ part
            return
        self.given[self.count, place[self.axis]] = x
        self.targets.append((y, place))
        self.count += 1

    def _add(self, n: int, rows: slice, columns: slice) -> None:
        axis, matrix = self.axis, self.matrix[rows, columns]
        kept, along = (rows, columns) if axis else (columns, rows)
        vectors = self.given[:n, along]
        products = vectors @ (matrix.T if axis else matrix)
        # If a product is not finite, elements outside the part may be to blame.
        is_finite = np.isfinite(products).all()
        for (y, place), row, x in zip(self.targets, products, self.given, strict=False):
            if is_finite:
                start = place[1 - axis].start - kept.start
                y += row[start : start + len(y)]
            else:
                part, x = self.matrix[place], x[place[axis]]
                y += part @ x if axis else x @ part
        vectors[...] = 0.0
        self.targets.clear()


def _add_product(y: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Compute ``y += left.T @ right`` in place, in one pass if `y` is contiguous."""
    if y.flags.c_contiguous and y.flags.aligned and not (dgemm is None and _waits(y.size)):
        result = dgemm(1.0, right.T, left.T, 1.0, y.T, trans_b=1, overwrite_c=1)
        if np.shares_memory(result, y):
            return
        y[...] = result.T
    else:
        y += left.T @ right


_DTYPE = np.dtype(float)
_MOST = 64  # updates per matrix product
_FIRST_FEW = 4  # updates of small matrices that are applied at once before others are collected
_LEAST = 1024  # elements: updates of smaller parts are applied at once
_WIDEST = 4  # limit on the area of the hull, relative to one part


def _area(rows: slice, columns: slice) -> int:
    return (rows.stop - rows.start) * (columns.stop - columns.start)


SCOPE = {
    f.__name__: f
    for f in (
        OuterSum, ProductSum, add_part, add_scaled, add_to_part, columns_of, from_end_of,
        inner_product, inner_with_part,
    )
}  # fmt: skip
"""What generated code finds by name."""
