"""How arrays lie in memory, and copies with the same layout: `as_strided` sees the difference."""

from __future__ import annotations

import math

import numpy as np


def copy_of(x: np.ndarray) -> np.ndarray:
    """Return a copy with the strides of the original, gaps and reversed axes included.

    A function may take the strides of its argument for granted; in a compact copy they would lead
    to other elements. Where elements share their memory the copy is compact.
    """
    copy = x.copy(order="K")
    if copy.strides == x.strides or x.size == 0 or overlaps(x):
        return copy
    axes = [(stride, n) for stride, n in zip(x.strides, x.shape, strict=True) if n > 1]
    if any(stride % x.itemsize for stride, _ in axes):
        return copy
    gaps = sum(abs(stride) * (n - 1) for stride, n in axes)
    start = -sum(min(stride, 0) * (n - 1) for stride, n in axes)
    spread = view_like(np.empty(gaps // x.itemsize + 1, x.dtype), x, start)
    spread[...] = x
    return spread


def view_like(memory: np.ndarray, x: np.ndarray, start: int) -> np.ndarray:
    """Return an array laid out as `x` in the memory of another one, from byte `start` on."""
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
