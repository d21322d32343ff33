"""Copies of arrays that lie in memory as the originals do: `as_strided` can tell the difference."""

from __future__ import annotations

import math

import numpy as np

_COPIED = 1 << 16
_WIDTH = 1021


def copy_of(x: np.ndarray) -> np.ndarray:
    """Return a copy with the strides of the original, gaps and reversed axes included.

    A function may take the strides of its argument for granted; in a compact copy they would lead
    to other elements. Where elements share their memory the copy is compact.
    """
    copy = x.copy(order="K")
    if copy.strides == x.strides or x.size == 0:
        return copy
    spread = _spread(x)
    return copy if spread is None else spread


def laid_like(dot: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return a tangent that lies in memory as its value does, which ``ravel("K")`` can tell."""
    if x.ndim < 2 or dot.strides == x.strides or axes_in_memory(x) == axes_in_memory(dot):
        return dot
    laid = np.empty_like(x, dot.dtype, subok=False)
    laid[...] = dot
    return laid


def axes_in_memory(x: np.ndarray) -> tuple[int, ...] | None:
    """Return the axes from the outermost in memory inwards; None if that is their order."""
    if x.ndim < 2 or x.flags.c_contiguous:
        return None
    return tuple(sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis])))


def places_of(shape: tuple[int, ...], axes: tuple[int, ...] | None) -> np.ndarray:
    """Return where elements stand in the flattened array, in an array that lies in memory so."""
    places = np.arange(math.prod(shape)).reshape(shape)
    if axes is None:
        return places
    return places.transpose(axes).copy().transpose(np.argsort(axes))


def fingerprint(x: np.ndarray) -> np.ndarray:
    """Return a copy of an array, or, of a large one, sums of its bits by rows and by columns.

    These tell a change of elements, and of their order.
    """
    kind = {4: np.uint32, 8: np.uint64, 16: np.uint64}.get(x.itemsize)
    if x.nbytes <= _COPIED or kind is None or not x.flags.forc:
        return x.copy()
    bits = x.ravel(order="K").view(kind)
    n = bits.size - bits.size % _WIDTH
    table = bits[:n].reshape(-1, _WIDTH)
    sums = [np.add.reduce(table, axis, dtype=np.uint64) for axis in (0, 1)]
    return np.concatenate([*sums, bits[n:]])


def _spread(x: np.ndarray) -> np.ndarray | None:
    """Return a copy with gaps; None if elements overlap."""
    span, start = x.itemsize, 0
    for stride, n in sorted(
        zip(x.strides, x.shape, strict=True), key=lambda axis: (abs(axis[0]), axis[1])
    ):
        if n == 1:
            continue
        if abs(stride) < span or stride % x.itemsize:
            return None
        span += abs(stride) * (n - 1)
        start -= min(stride, 0) * (n - 1)
    memory = np.empty(-(-span // x.itemsize), x.dtype)
    copy: np.ndarray = np.ndarray(x.shape, x.dtype, memory.data, start, x.strides)
    copy[...] = x
    return copy
