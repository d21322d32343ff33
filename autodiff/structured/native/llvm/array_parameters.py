"""Array parameters of machine code, and the memory layout of Python floats and NumPy arrays."""

from __future__ import annotations

import ctypes
import functools
import struct
from dataclasses import dataclass

import numpy as np

CLASS, VALUE = 8, 16
"""Offsets of the class of an object, and of the value of a float."""
DATA, NDIM, SHAPE, STRIDES, DTYPE, FLAGS = 16, 24, 32, 40, 56, 64
"""Offsets of the fields of an array: NumPy's C structure ``PyArrayObject_fields``."""
IN_ORDER, IS_ALIGNED, MAY_BE_WRITTEN = 0x1, 0x100, 0x400
"""``NPY_ARRAY_C_CONTIGUOUS``, ``NPY_ARRAY_ALIGNED`` and ``NPY_ARRAY_WRITEABLE``."""


@dataclass(frozen=True)
class ArrayParameter:
    """An array parameter: what machine code is specialized for.

    Attributes
    ----------
    shape : tuple
        The shape; None for an axis of any length.
    dtype : np.dtype
        The dtype.
    is_written : bool
        Whether the function writes into the array.
    """

    shape: tuple
    dtype: np.dtype
    is_written: bool = False


@functools.cache
def is_readable() -> bool:
    """Whether floats and arrays have the memory layout that machine code expects."""
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
