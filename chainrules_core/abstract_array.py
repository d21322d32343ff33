"""AbstractArray: the shape and the dtype of an array or number, without its elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class AbstractArray:
    """The shape and dtype of a value before it is computed.

    Attributes
    ----------
    shape : tuple of int
        The shape, () for a number.
    dtype : numpy.dtype
        The dtype.

    Examples
    --------
    >>> AbstractArray.of(np.ones((2, 3), np.float32))
    AbstractArray(shape=(2, 3), dtype=dtype('float32'))
    """

    shape: tuple[int, ...]
    dtype: np.dtype

    @classmethod
    def of(cls, y: Any) -> Any:
        """Return what is known of a value; a tuple for several; None for what is no number."""
        if isinstance(y, (tuple, list)):
            parts = tuple([cls.of(part) for part in y])
            return None if None in parts else parts
        if isinstance(y, (np.ndarray, np.generic, bool, int, float, complex)):
            array = np.asarray(y)
            return None if array.dtype.kind in "OSUMmV" else cls(array.shape, array.dtype)
        return None

    def zeros(self) -> Any:
        """Return zeros of this form: an array, of no axes a number of NumPy's."""
        return np.zeros(self.shape, self.dtype)[()]

    def empty(self) -> np.ndarray:
        """Return an array of no elements, and of this dtype."""
        return np.empty(0, self.dtype)
