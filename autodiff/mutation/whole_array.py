"""Writes of whole arrays, ``out[...] = y``: nothing is copied that nobody can tell from a copy."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np

from autodiff.trace.tracer import Tracer, bare
from chainrules_core.references import if_counted


def is_whole(root: Tracer, path: tuple, index: Any) -> bool:
    """Whether all elements of the root are written, each in its place."""
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
    """Whether an array can have the very memory of its new value, which only a tracer holds.

    They part as soon as one of them is written into: then the other one holds it, too.
    """
    old, new = root._value, bare(value)
    if not old.flags.writeable:
        return False  # an error, if it is one
    if type(new) is not np.ndarray or new.base is not None or not new.flags.writeable:
        return False
    if new.dtype != old.dtype or new.shape != old.shape or new.strides != old.strides:
        return False
    return _references(value, new) == _ALONE + 1  # a name of `_write` holds it, too


def _references(value: Any, new: np.ndarray) -> int:
    return sys.getrefcount(value._value)


def _references_alone() -> int:
    """Count the references to an array that a tracer and one name hold, as this Python counts."""
    probe = types.SimpleNamespace(_value=np.empty(1))
    new = probe._value
    return _references(probe, new)


_ALONE = if_counted(_references_alone())
