"""Products of large arrays with partial derivatives, block by block.

Block by block a partial derivative takes no memory of its own, what is read again is still in the
processor's cache, and what is added to a cotangent is never an array itself. On large arrays it is
memory, not arithmetic, that takes the time.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_core.define.partial import Partial
from chainrules_core.define.scalar import has_nan

LARGE = 1 << 17
"""From so many elements on work is done in blocks ..."""
BLOCK = 1 << 16
"""... of so many."""

MAPPED = 1 << 14
"""Arrays of so many elements are given pages of their own, at first."""
_FREED = 31 << 20

_ndarray = np.ndarray
NUMBERS = frozenset({type(None), float, int, np.float64, np.float32})


@functools.cache
def keep_freed_memory() -> None:
    """Have the C library keep some memory of freed arrays, if it is the GNU one.

    It gives memory back to the system when twice as much is free as the largest block that was ever
    freed (of up to 32 MB), and to be given new pages for each gradient is half of its time.
    """
    with contextlib.suppress(MemoryError):
        np.empty(_FREED, np.uint8)


class InBlocks:
    """A partial derivative of large arrays, evaluated on one block of elements after the other.

    Attributes
    ----------
    partial : Partial
        The partial derivative.
    values : list
        What it reads of ``(y, *args)``.
    rows : list of (int, ndarray)
        Which of these are arrays, and their elements in one row.
    """

    __slots__ = ("partial", "rows", "values")

    def __init__(self, partial: Partial, values: tuple) -> None:
        self.partial = partial
        self.values = list(values)
        self.rows: list[tuple[int, np.ndarray]] = []

    def find_rows(self, shape: tuple[int, ...]) -> bool:
        """Find the rows; False if an array has another shape or does not lie in one row."""
        for i, value in enumerate(self.values):
            if type(value) is _ndarray and value.ndim:
                row = flat(value) if value.shape == shape else None
                if row is None:
                    return False
                self.rows.append((i, row))
            elif type(value) is not _ndarray and type(value) not in NUMBERS:
                return False
        return True

    def at(self, part: slice) -> Any:
        """Return the partial derivative of a block."""
        values = self.values
        for i, row in self.rows:
            values[i] = row[part]
        return self.partial(*values)


class Blocks(InBlocks):
    """A partial derivative beside a cotangent, block by block.

    Attributes
    ----------
    bar : ndarray or number
        The cotangent's elements in one row; a number if all are the same one.
    """

    __slots__ = ("bar", "dtype", "shape", "size")

    def __init__(self, partial: Partial, values: tuple, y_bar: np.ndarray) -> None:
        super().__init__(partial, values)
        self.dtype = y_bar.dtype
        self.size = y_bar.size
        self.shape = y_bar.shape
        # The adjoint of a sum spreads one number.
        self.bar: Any = flat(y_bar) if any(y_bar.strides) else y_bar[(0,) * y_bar.ndim]

    def are_possible(self) -> bool:
        """Whether all lies in one row, and the partial derivative is an array of the same dtype."""
        if self.dtype.kind != "f" or self.bar is None:
            return False
        if not self.find_rows(self.shape) or not self.rows:
            return False
        d = self.at(slice(0, 2))
        return type(d) is _ndarray and d.dtype is self.dtype and d.shape == (2,)

    def __iter__(self) -> Iterator[tuple[slice, np.ndarray, Any]]:
        bar = self.bar
        is_row = type(bar) is _ndarray
        for start in range(0, self.size, BLOCK):
            part = slice(start, min(start + BLOCK, self.size))
            d = self.at(part)
            if type(d) is not _ndarray or d.shape != (part.stop - start,):
                d = np.full(part.stop - start, d, self.dtype)
            yield part, d, bar[part] if is_row else bar

    def sum(self) -> Any:
        """Return the sum of the products."""
        total: Any = 0.0
        for _, d, b in self:
            total += np.vdot(d, b) if type(b) is _ndarray else np.sum(d) * b
        return total

    def write(self, out: np.ndarray, *, fresh: bool, adds: bool, strong: Callable | None) -> None:
        """Write the products into a row, or add them; `strong` makes those that hold NaN."""
        for part, d, b in self:
            made = out[part]
            # What is written over, or added to, is not touched before the product is known. A share
            # of ties may be a number in one block, and in another, without any, a truth value.
            own = d.base is None and d.dtype is self.dtype
            room = made if fresh else d if own else None
            p = np.multiply(d, b, out=room)
            if strong is not None and has_nan(p):
                p = strong(self.at(part), b)
            if adds:
                made += p
            elif p is not made:
                made[...] = p


def flat(x: np.ndarray) -> np.ndarray | None:
    """Return the elements of an array in one row that shares its memory, if they lie so."""
    return x.reshape(-1) if x.flags.c_contiguous else None
