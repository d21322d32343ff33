"""How arrays lie in memory, and copies with the same layout: `as_strided` sees the difference."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds


def copy_of(x: np.ndarray) -> np.ndarray:
    """Return a copy with the strides of the original, gaps and reversed axes included.

    A function may take the strides of its argument for granted; in a compact copy they would lead
    to other elements. Where elements share their memory, they do so in the copy of a read-only
    array (`np.broadcast_to`), which is read-only, too. Any other copy of such an array is compact.
    """
    copy = x.copy(order="K")
    if copy.strides == x.strides or x.size == 0:
        return copy
    is_shared = overlaps(x)
    if is_shared and x.flags.writeable:
        return copy
    axes = [(stride, n) for stride, n in zip(x.strides, x.shape, strict=True) if n > 1]
    if any(stride % x.itemsize for stride, _ in axes):
        return copy
    gaps = sum(abs(stride) * (n - 1) for stride, n in axes)
    start = -sum(min(stride, 0) * (n - 1) for stride, n in axes)
    spread = view_like(np.empty(gaps // x.itemsize + 1, x.dtype), x, start)
    spread[...] = x
    spread.flags.writeable = not is_shared
    return spread


def view_like(memory: np.ndarray, x: np.ndarray, start: int) -> np.ndarray:
    """Return an array laid out as `x` in the memory of another one, from byte `start` on."""
    if memory.dtype.kind in "mM":  # times are not given to the buffer protocol
        memory = memory.view(np.int64)
    view: np.ndarray = np.ndarray(x.shape, x.dtype, memory.data, start, x.strides)
    return view


def overlaps(x: np.ndarray) -> bool:
    """Whether elements may share memory: whether a stride is shorter than what lies within it."""
    extent = x.itemsize
    for stride, n in sorted((abs(s), n) for s, n in zip(x.strides, x.shape, strict=True)):
        if n > 1:
            if stride < extent:
                return True
            extent += stride * (n - 1)
    return False


def laid_like(dot: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return a tangent with the memory layout of its value, which ``ravel("K")`` depends on."""
    if x.ndim < 2 or dot.strides == x.strides or axes_in_memory(x) == axes_in_memory(dot):
        return dot
    laid = np.empty_like(x, dot.dtype, subok=False)
    laid[...] = dot
    return laid


def axes_in_memory(x: np.ndarray) -> tuple[int, ...] | None:
    """Return the axes by decreasing stride; None if they are in this order."""
    if x.ndim < 2 or x.flags.c_contiguous:
        return None
    return tuple(sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis])))


def places_of(shape: tuple[int, ...], axes: tuple[int, ...] | None) -> np.ndarray:
    """Return the flat index of each element, in an array whose axes have this order in memory."""
    places = np.arange(math.prod(shape)).reshape(shape)
    if axes is None:
        return places
    return places.transpose(axes).copy().transpose(np.argsort(axes))


def reads_what_it_writes(to: np.ndarray, index: Any, new: Any) -> bool:
    """Whether NumPy reads an element after it has overwritten it, where both share memory.

    NumPy makes most writes as if the value had been copied first. It does not where a mask chooses
    the elements, and where one axis is written from an axis with another stride. There, the same
    write of the elements' places in memory shows what it does.
    """
    if type(new) is not np.ndarray or new.ndim == 0 or not np.may_share_memory(to, new):
        return False
    if not any(
        getattr(i, "dtype", None) == np.bool_ for i in (index if type(index) is tuple else (index,))
    ):
        written = to[index]
        if written.ndim != 1 or written.strides == new.strides[-1:]:
            return False
    return is_order_seen(to, new, lambda to, new: operator.setitem(to, index, new))


def reads_mask_it_writes(to: np.ndarray, indices: Iterable) -> bool:
    """Whether a mask is another part of the array that is written, as in ``m[m[::-1]] = False``.

    NumPy reads it while it writes, so what it reads depends on the order.
    """
    return any(
        type(m) is np.ndarray
        and m.dtype == np.bool_
        and np.shares_memory(to, m)
        and (m.strides, m.ctypes.data) != (to.strides, to.ctypes.data)
        for m in indices
    )


def is_order_seen(to: np.ndarray, new: Any, write: Callable) -> bool:
    """Whether ``write(to, new)`` differs from a write of a copy: it reads what it has written."""
    if type(new) is not np.ndarray or not np.shares_memory(to, new):
        return False
    strides = to.strides + new.strides
    if to.dtype != new.dtype or any(stride % to.itemsize for stride in strides):
        return True
    (shown, from_shared), (expected, from_copy) = _numbered(to, new), _numbered(to, new)
    write(shown, from_shared)
    write(expected, from_copy.copy())
    return not np.array_equal(shown, expected)


def _numbered(*arrays: np.ndarray) -> list[np.ndarray]:
    """Return arrays laid out as these in one memory, each element the number of its place there."""
    size = arrays[0].itemsize
    bounds = [byte_bounds(x) for x in arrays]
    low = min(first for first, _ in bounds)
    memory = np.arange((max(last for _, last in bounds) - low) // size)
    return [
        np.ndarray(
            x.shape,
            memory.dtype,
            memory.data,
            (x.ctypes.data - low) // size * memory.itemsize,
            [stride // size * memory.itemsize for stride in x.strides],
        )
        for x in arrays
    ]


def unshared(x: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
    """Return an array, or a copy of it if it may share memory with one of the others."""
    is_view = x.base is not None
    for y in others:  # arrays that own their memory never overlap
        if x is y or ((is_view or y.base is not None) and np.may_share_memory(x, y)):
            return x.copy()
    return x
