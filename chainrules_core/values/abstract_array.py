"""AbstractArray: the shape and the dtype of an array or number, without its elements."""

from __future__ import annotations

from collections.abc import Callable
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
        """Return what is known of a value; a tuple or list for several; None for no number."""
        if isinstance(y, (tuple, list)):
            parts = [cls.of(part) for part in y]
            if None in parts:
                return None
            return parts if isinstance(y, list) else tuple(parts)
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


# Numbers of a given form, at one of which nearly every function of numbers is defined.
_NUMBERS = tuple([lambda a, value=value: a.dtype.type(value).item() for value in (0.5, 1.5)])


def elementwise_space(f: Callable, args: tuple, options: dict[str, Any]) -> Any:
    """Return shape and dtype of what an elementwise function returns; a tuple for several outputs.

    Parameters
    ----------
    f : callable
        The function.
    args, options
        Its arguments: values, or an `AbstractArray` in their place.

    Returns
    -------
    AbstractArray, tuple or None
        None where the function takes none of the probes: arrays of no elements, and numbers.
    """
    shapes = [a.shape if isinstance(a, AbstractArray) else np.shape(a) for a in args]
    shape = np.broadcast_shapes(*shapes)
    for example in (AbstractArray.empty, *_NUMBERS):
        probes = [
            example(a)
            if isinstance(a, AbstractArray)
            else AbstractArray.of(a).empty()
            if isinstance(a, np.ndarray)
            else a
            for a in args
        ]
        try:
            with np.errstate(all="ignore"):
                found = AbstractArray.of(f(*probes, **options))
        except Exception:  # it is a probe: what it does not take is no error of the user's
            continue
        if isinstance(found, tuple):
            return tuple([AbstractArray(shape, one.dtype) for one in found])
        if found is not None:
            return AbstractArray(shape, found.dtype)
    return None
