"""Sums that BLAS adds in place, in one pass over memory.

It is imported where the first program needs it, since SciPy's linear algebra takes a while.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg.blas import daxpy, ddot, dgemm


def add_scaled(y: np.ndarray, a: float, x: np.ndarray) -> None:
    """Add a number times a vector to a vector, both of float64, in place."""
    n = len(x)
    if not 0 < n == len(y):
        y += a * x
    elif a:
        made = daxpy(x, y, n, a)
        if made is not y:  # it is a copy, if `y` does not lie in a row
            y[...] = made
    elif not math.isfinite(ddot(x, x, n)):  # else it adds nothing
        y += a * x


def inner_product(x: np.ndarray, y: np.ndarray) -> float:
    """Return the inner product of two vectors of float64."""
    n = len(x)
    if 0 < n == len(y):
        return ddot(x, y, n)
    return float((x * y).sum())


class OuterSum:
    """Outer products that are added to parts of a matrix: many at once, by one matrix product."""

    __slots__ = ("columns", "count", "left", "right", "rows", "target")

    def __init__(self) -> None:
        self.target: Any = None
        self.count = 0
        self.rows = self.columns = slice(0)

    def append(self, part: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
        """Add the outer product of two vectors to a part of a matrix, now or later."""
        whole = part if part.base is None else part.base
        if part.size < _LEAST or not _is_part(part, whole) or not x.dtype == y.dtype == part.dtype:
            part += np.multiply.outer(x, y)
            return
        if whole is not self.target or self.count == _MOST:
            self.add_all()
        if whole is not self.target:
            self.target = whole
            self.left = np.zeros((_MOST, whole.shape[0]))
            self.right = np.zeros((_MOST, whole.shape[1]))
        at = (part.ctypes.data - whole.ctypes.data) // whole.itemsize
        row, column = divmod(at, whole.shape[1])
        rows, columns = slice(row, row + len(x)), slice(column, column + len(y))
        self.left[self.count, rows] = x
        self.right[self.count, columns] = y
        self.rows = _hull(self.rows, rows) if self.count else rows
        self.columns = _hull(self.columns, columns) if self.count else columns
        self.count += 1

    def add_all(self) -> None:
        """Add what has been collected."""
        n = self.count
        if n:
            left, right = self.left[:n, self.rows], self.right[:n, self.columns]
            _add_product(self.target[self.rows, self.columns], left, right)
            left[...] = right[...] = 0.0
            self.count = 0


def _add_product(y: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Add the transpose of a matrix times another to a matrix, in one pass if it lies in a row."""
    if y.flags.c_contiguous and y.flags.aligned:
        made = dgemm(1.0, right.T, left.T, 1.0, y.T, trans_b=1, overwrite_c=1)
        if np.shares_memory(made, y):
            return
        y[...] = made.T
    else:
        y += left.T @ right


_MOST = 32  # the most outer products that are added at once
_LEAST = 1024  # elements: those of smaller parts are added at once


def _is_part(part: np.ndarray, whole: Any) -> bool:
    """Whether it is rows and columns, one after the other, of a matrix that owns its memory."""
    if type(whole) is not np.ndarray or whole.ndim != 2 or not whole.flags.c_contiguous:
        return False
    return part.strides == whole.strides and part.dtype == whole.dtype == np.float64


def _hull(a: slice, b: slice) -> slice:
    return slice(min(a.start, b.start), max(a.stop, b.stop))


SCOPE = {"OuterSum": OuterSum, "add_scaled": add_scaled, "inner_product": inner_product}
"""What generated code finds by name."""
