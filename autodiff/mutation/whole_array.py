"""Writes of whole arrays, ``out[...] = y``, without a copy where nobody can notice."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from autodiff.mutation.escape_check import HELD_ONCE
from autodiff.trace.tracer import Tracer, bare


def is_whole(root: Tracer, path: tuple, index: Any) -> bool:
    """Whether a write replaces every element of the root, in order."""
    if index is not Ellipsis and not (type(index) is slice and index == slice(None)):
        return False
    if not path:
        return np.ndim(root._value) > 0 or index is Ellipsis
    array = region = root._value
    if type(array) is not np.ndarray:
        return False
    for step in path:
        region = step(region)
    return (
        type(region) is np.ndarray
        and region.dtype == array.dtype
        and region.shape == array.shape
        and region.strides == array.strides
        and region.ctypes.data == array.ctypes.data
    )


def can_be_taken(root: Tracer, value: Tracer) -> bool:
    """Whether an array can share the memory of its new value, which only a tracer holds.

    The next write into either copies, since the other one holds the memory too.
    """
    old, new = root._value, bare(value)
    if not old.flags.writeable:
        return False  # the general way raises
    if type(new) is not np.ndarray or new.base is not None or not new.flags.writeable:
        return False
    if new.dtype != old.dtype or new.shape != old.shape or new.strides != old.strides:
        return False
    return sys.getrefcount(value._value) == HELD_ONCE + 2  # `new` here, and `new` in `_write`
