"""What arrays are that are given to machine code, and how Python's objects lie in memory."""

from __future__ import annotations

import ctypes
import functools
import struct
from dataclasses import dataclass

import numpy as np

CLASS, VALUE = 8, 16
"""Where an object has its class, and a float its value."""
DATA, NDIM, SHAPE, STRIDES, DTYPE, FLAGS = 16, 24, 32, 40, 56, 64
"""Where an array has its fields, by the C interface of NumPy."""
IN_ORDER, IS_ALIGNED, MAY_BE_WRITTEN = 0x1, 0x100, 0x400
"""Flags of an array."""


@dataclass(frozen=True)
class Given:
    """An array as machine code takes it.

    Attributes
    ----------
    shape : tuple
        Its shape; None for an axis that may have any length.
    dtype : np.dtype
        Of its elements.
    strides : tuple of int, optional
        In bytes, if its elements are not in the order of C.
    is_written : bool
        Whether the function writes into it.
    """

    shape: tuple
    dtype: np.dtype
    strides: tuple | None = None
    is_written: bool = False


@functools.cache
def is_readable() -> bool:
    """Whether floats and arrays lie in memory as machine code expects them to."""
    if struct.calcsize("P") != 8:
        return False
    x = np.arange(24.0).reshape(2, 3, 4)[:, 1:, ::2]
    x.setflags(write=False)

    def word(address: int) -> int:
        return ctypes.c_void_p.from_address(address).value or 0

    def sizes(field: int) -> tuple[int, ...]:
        return tuple((ctypes.c_int64 * 3).from_address(word(id(x) + field)))

    flags = ctypes.c_int32.from_address(id(x) + FLAGS).value
    number = 0.7
    return (
        word(id(x) + CLASS) == id(np.ndarray)
        and word(id(x) + DATA) == x.ctypes.data
        and ctypes.c_int32.from_address(id(x) + NDIM).value == 3
        and sizes(SHAPE) == x.shape
        and sizes(STRIDES) == x.strides
        and word(id(x) + DTYPE) == id(x.dtype)
        and flags & (IN_ORDER | IS_ALIGNED | MAY_BE_WRITTEN) == IS_ALIGNED
        and word(id(number) + CLASS) == id(float)
        and ctypes.c_double.from_address(id(number) + VALUE).value == number
    )
