"""Products of large cotangents with partial derivatives, computed block by block.

For large arrays, memory traffic costs more than arithmetic. Block by block, the partial derivative
needs no array of its own, values that are read again are still in the cache, and products that are
added to a cotangent are never stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_core.define.partial import Partial
from chainrules_core.define.scalar import constant_product, plain_product, strong_product

LARGE = 1 << 17
"""Arrays with at least so many elements are processed in blocks …"""
BLOCK = 1 << 16
"""… of so many elements."""

_ndarray = np.ndarray
NUMBERS = frozenset({type(None), float, int, np.float64, np.float32})


class BlockProducts:
    """The products of a cotangent with a partial derivative, one block of elements at a time.

    Attributes
    ----------
    node : Elementwise
        The node of the operation.
    partial : Partial
        The partial derivative.
    values : list
        Those of ``(y, *args)`` that it reads.
    rows : list of (int, ndarray)
        The positions of the arrays among these, and flat views of them.
    """

    __slots__ = ("dtype", "node", "partial", "rows", "values")

    def __init__(self, node: Any, partial: Partial) -> None:
        self.node = node
        self.partial = partial
        self.values = list(node.values)
        self.rows: list[tuple[int, np.ndarray]] = []
        self.dtype = node.space.dtype

    def are_possible(self, shape: tuple[int, ...], dtype: np.dtype) -> bool:
        """Whether all operands are contiguous, and the product has dtype `dtype`."""
        if self.partial.function is None:
            return type(self.partial.constant) in (int, float)
        for i, value in enumerate(self.values):
            if type(value) is _ndarray and value.ndim:
                row = flat(value) if value.shape == shape else None
                if row is None:
                    return False
                self.rows.append((i, row))
            elif type(value) is not _ndarray and type(value) not in NUMBERS:
                return False
        d = self.at(slice(0, 2))
        if type(d) is _ndarray and d.ndim and d.shape != (2,):
            return False
        if type(d) is not _ndarray and type(d) not in NUMBERS:
            return False
        p = plain_product(d, np.ones(2, dtype))
        return type(p) is _ndarray and p.dtype is dtype and p.shape == (2,)

    def at(self, part: slice) -> Any:
        """Return the partial derivative for a block."""
        values = self.values
        for i, row in self.rows:
            values[i] = row[part]
        return self.partial(*values)

    def of(self, part: slice, bar: Any, strong: bool) -> Any:
        """Return the products of a block; `bar` is a number if the cotangent is broadcast."""
        d = self.at(part)
        if strong:
            return strong_product_of(self.partial, self.node)(d, bar, False)
        if type(bar) is not _ndarray and bar == 1 and getattr(d, "dtype", None) is self.dtype:
            return d
        fresh = type(d) is _ndarray and d.base is None and type(bar) is _ndarray
        return plain_product(d, bar, fresh and d.dtype is bar.dtype)

    def sum(self, part: slice, bar: Any, strong: bool) -> Any:
        """Return the sum of the products of a block."""
        if not strong and type(bar) is _ndarray:
            d = self.at(part)
            if type(d) is _ndarray and d.shape == bar.shape and d.dtype is bar.dtype:
                return np.vdot(d, bar)
        p = self.of(part, bar, strong)
        return np.sum(p) if type(p) is _ndarray and p.ndim else p * (part.stop - part.start)


def strong_product_of(partial: Partial, node: Any) -> Callable:
    """Return the product with strong zeros: 0 times Inf or NaN is 0."""
    # Whether the partial derivative depends on no traced value.
    is_constant = len(node.parents) < 2 and partial.reads.isdisjoint(
        (0, node.rule.partials[0].index(partial) + 1)
    )
    return constant_product if is_constant else strong_product


def parts(size: int, block: int) -> Iterator[slice]:
    """Yield the blocks as slices."""
    for start in range(0, size, block):
        yield slice(start, min(start + block, size))


def row_of(bar: np.ndarray) -> Any:
    """Return a flat view of a cotangent; a number if it is broadcast; None if it is not contiguous.

    The adjoint of a sum broadcasts one number.
    """
    return flat(bar) if any(bar.strides) else bar[(0,) * bar.ndim]


def flat(x: np.ndarray) -> np.ndarray | None:
    """Return a flat view of an array, if it is contiguous."""
    return x.reshape(-1) if x.flags.c_contiguous else None
