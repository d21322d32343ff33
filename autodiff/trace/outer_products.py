"""Sums of outer products: the cotangent of a matrix that is multiplied by many vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_core.tangents.thunk import AbstractThunk

# The most pairs that are kept before they are summed.
_MOST = 64


class OuterProducts(AbstractThunk):
    """A matrix and outer products to be added to it, which one matrix product sums.

    Attributes
    ----------
    base : ndarray or None
        The sum so far.
    left, right : list of ndarray
        The vectors, which must not be changed.
    """

    __slots__ = ("base", "left", "right")

    def __init__(self, left: np.ndarray, right: np.ndarray) -> None:
        self.base: Any = None
        self.left = [left]
        self.right = [right]

    def append(self, left: np.ndarray, right: np.ndarray) -> None:
        """Add one more product."""
        self.left.append(left)
        self.right.append(right)
        if len(self.left) >= _MOST:
            self._value_now()

    def _value_now(self) -> np.ndarray:
        left, right = self.left, self.right
        if left:
            total = np.dot(np.array(left).T, np.array(right))  # also one: BLAS is quicker
            self.base = total if self.base is None else np.add(self.base, total, out=self.base)
            self.left, self.right = [], []
        return self.base
