"""What arrays outside a function hold, to be compared at later calls and put back."""

from __future__ import annotations

import itertools
import types
import warnings
from typing import Any

import numpy as np

from autodiff.mutation.held_arrays import owner_of

SMALL = 4096
"""Up to how many bytes of an array each variable that reaches it compares by itself."""


class ArrayContent:
    """What an array of numbers held, its form, and whether it could be written into.

    Parameters
    ----------
    x : ndarray
        The array.

    Attributes
    ----------
    held : bytearray
        A copy of its bytes.
    """

    __slots__ = ("_dtype", "_is_writeable", "_order", "_shape", "_strides", "held")

    def __init__(self, x: np.ndarray) -> None:
        self._dtype, self._shape, self._strides = x.dtype, x.shape, x.strides
        self._is_writeable = x.flags.writeable
        self._order: Any = "F" if _lies_transposed(x) else "C"
        self.held = bytearray(_bytes_of(x))

    def is_same(self, x: np.ndarray) -> bool:
        """Whether the array holds the same, bit by bit."""
        return (
            x.shape == self._shape
            and x.strides == self._strides
            and x.dtype == self._dtype
            and x.flags.writeable is self._is_writeable
            and self.held == _bytes_of(x)
        )

    def checks(self, x: str, names: Any) -> list[str]:
        """Return the conditions that the array with this source is not as it was.

        Written out, those of a small array take half the time. `names` gives names to the objects.
        """
        if len(self.held) > SMALL:
            return [f"not {names.of(self.is_same, 'is_same')}({x})"]
        form = f"{x}.shape != {self._shape!r} or {x}.dtype != {names.of(self._dtype, 'dtype')}"
        held = names.of(bytes(self.held), "content")
        return [
            f"{form} or {x}.flags.writeable is not {self._is_writeable}",
            f"{x}.tobytes() != {held}",
        ]

    def put_back(self, x: Any) -> None:
        """Make the array hold the same again; a read-only view of what was written into, too."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # since NumPy 2.4
            if x.dtype != self._dtype:
                x.dtype = self._dtype
            if x.shape != self._shape:
                x.shape = self._shape
            if x.strides != self._strides:
                x.strides = self._strides
        if self.held == _bytes_of(x):
            return
        before = np.frombuffer(self.held, self._dtype).reshape(self._shape, order=self._order)
        _writeable(x)[...] = before


def _writeable(x: np.ndarray) -> np.ndarray:
    """Return a view of an array that may be written into, also of a read-only one."""
    view = x.view(np.ndarray)
    if x.flags.writeable:
        return view
    if isinstance(owner_of(x), np.ndarray):  # NumPy refuses to mark a view by `as_strided`
        memory = x.__array_interface__ | {"data": (x.ctypes.data, False)}
        return np.asarray(types.SimpleNamespace(__array_interface__=memory))
    view.flags.writeable = True
    return view


def is_large(x: np.ndarray) -> bool:
    """Whether an array of numbers is compared once, however many variables reach it."""
    return x.nbytes > SMALL and not x.dtype.hasobject


def _lies_transposed(x: np.ndarray) -> bool:
    """Whether the bytes of an array are compared in the order of its columns."""
    return x.nbytes > SMALL and x.flags.f_contiguous and not x.flags.c_contiguous


def _bytes_of(x: np.ndarray) -> Any:
    """Return the bytes of an array: of a large one those in its memory if they have no gaps."""
    if x.nbytes <= SMALL or not x.flags.forc:
        return np.ndarray.tobytes(x)  # a masked array would fill it
    plain = x.view(np.ndarray)
    return (plain.T if _lies_transposed(x) else plain).reshape(-1).view(np.uint8).data


def share_memory(arrays: list[np.ndarray]) -> bool:
    """Whether some of several arrays may share memory."""
    owners = {id(owner_of(x)) for x in arrays}
    if len(owners) == len(arrays):
        return False
    return any(
        x.size and y.size and np.may_share_memory(x, y)
        for x, y in itertools.combinations(arrays, 2)
    )
