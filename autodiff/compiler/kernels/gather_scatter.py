"""Lowering of advanced indexing: gather, and scatter with addition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from autodiff.compiler.kernels.loop_ir import LoopOp, NotLowerableError, StridedView, strides_of

if TYPE_CHECKING:
    from autodiff.compiler.kernels.step_lowering import Lowerer

_LARGEST = 1 << 18


def is_table(index: Any) -> bool:
    """Whether an index consists of constants, with an array of integers or booleans among them."""
    parts = index if type(index) is tuple else (index,)
    return any(type(p) is np.ndarray for p in parts) and all(
        (type(p) is np.ndarray and p.dtype.kind in "ib" and 0 < p.size <= _LARGEST)
        or type(p) in (int, np.int64, np.intp, slice, type(None), type(Ellipsis))
        for p in parts
    )


def lower_gather(reader: Lowerer, x: StridedView, index: Any, shape: tuple) -> LoopOp:
    """Lower ``x[index]`` to an operation."""
    if x.is_bool or x.kind in "nc":
        raise NotLowerableError
    places = _offsets(x.shape, x.strides, index)
    if places.shape != shape or places.size > _LARGEST:
        raise NotLowerableError
    return LoopOp("places", None, [x, reader.table(places)], shape)


def lower_scatter_add(reader: Lowerer, y_bar: StridedView, index: Any, shape: tuple) -> LoopOp:
    """Lower the pullback of ``x[index]``, which adds elements to zeros, to an operation."""
    if y_bar.is_bool:
        raise NotLowerableError
    places = _offsets(shape, strides_of(shape), index)
    if places.size > _LARGEST:
        raise NotLowerableError
    return LoopOp("add_places", None, [y_bar.broadcast(places.shape), reader.table(places)], shape)


def _offsets(shape: tuple, strides: tuple, index: Any) -> np.ndarray:
    """Return the offsets of the elements that an index selects."""
    offsets: Any = np.zeros(shape, np.int64)
    for d, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        offsets += (stride * np.arange(n)).reshape([n if k == d else 1 for k in range(len(shape))])
    return np.ascontiguousarray(offsets[index])
