"""Sums, means, traces and extrema of sparse arrays.

A sum over an axis is a constant matrix of ones times the entries. An extremum counts the elements
that are not stored as zeros; where several are extreme, they share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.scipy.sparse.entries import (
    MATRIX_RESULT,
    as_format,
    from_places,
    is_matrix,
    places_of,
    pruned,
    refused,
    summed,
    vector_of,
)
from chainrules.scipy.sparse.in_place import decompose_method
from chainrules.scipy.sparse.storage import pattern_of
from chainrules_core import natively
from chainrules_core.authoring import entries_of


def axes_of(axis: Any, ndim: int) -> tuple[int, ...] | None:
    """Return the axes of a reduction; None for all."""
    if axis is None:
        return None
    axes = axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(sorted({a + ndim if a < 0 else a for a in axes}))
    if any(not 0 <= a < ndim for a in axes):
        raise ValueError("axis out of range")
    return None if len(axes) == ndim else axes


def _in_memory(x: Any) -> Any:
    """Return the entries that SciPy reduces over all axes.

    Since version 1.17 they are all that memory holds (see `pruned`). Its own sum of ones tells.
    """
    if x.format not in ("csr", "csc", "bsr"):
        return vector_of(as_format(x, "coo"))
    short = pruned(x)
    if short is x or natively(_count, x) == np.size(entries_of(short)):
        return vector_of(short)
    return vector_of(x)


def _count(x: Any) -> Any:
    return pattern_of(x).sum()


def _sum(self: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    if out is not None:
        refused("sum(out=) of a sparse array", "out= has no rule here. Assign the result instead.")
    axes = axes_of(axis, self.ndim)
    if axes is None:
        return np.sum(_in_memory(self), dtype=dtype)
    if is_matrix(self):
        refused("sum over an axis of a sparse matrix", MATRIX_RESULT)
    x = as_format(self, "coo")
    entries = vector_of(x) if dtype is None else vector_of(x).astype(dtype)
    kept = [i for i in range(x.ndim) if i not in axes]
    shape = tuple([x.shape[i] for i in kept])
    into = np.ravel_multi_index(tuple([places_of(x)[i] for i in kept]), shape)
    return np.reshape(summed(entries, into, int(np.prod(shape))), shape)


def _mean(self: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    axes = axes_of(axis, self.ndim)
    counted = self.shape if axes is None else [self.shape[i] for i in axes]
    # Multiplied first, as SciPy does: the same bits.
    return _sum(self * (1.0 / int(np.prod(counted))), axis, dtype, out)


def _trace(self: Any, offset: Any = 0) -> Any:
    return np.sum(self.diagonal(k=offset))


decompose_method("sum", _sum)
decompose_method("mean", _mean)
decompose_method("trace", _trace)


def _extremum(extreme: Callable) -> Callable:
    def body(self: Any, axis: Any = None, out: Any = None, *, explicit: Any = False) -> Any:
        if out is not None:
            refused(
                "max(out=) or min(out=) of a sparse array",
                "out= has no rule here. Assign the result instead.",
            )
        axes = axes_of(axis, self.ndim)
        if axes is None:
            entries = _in_memory(self)
            if not explicit and self.nnz != int(np.prod(self.shape)):
                entries = np.concatenate([entries, np.zeros(1, entries.dtype)])
            return extreme(entries)
        if explicit:
            refused(
                "max or min of a sparse array with axis= and explicit=True",
                "it has no rule. Take np.max or np.min of the data of each row.",
            )
        whole = extreme(as_format(self, "coo").toarray(), axis=axes)
        return _stored(whole, self, axes)

    return body


def _stored(whole: Any, x: Any, axes: tuple[int, ...]) -> Any:
    """Return the extrema along axes as SciPy does: sparse, in COO."""
    places = np.nonzero(whole)
    entries = whole[places]
    if not is_matrix(x):
        return from_places(entries, places, np.shape(whole))
    shape = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
    zeros = np.zeros(len(places[0]), int)
    full = (zeros, places[0]) if axes == (0,) else (places[0], zeros)
    return from_places(entries, full, shape, is_array=False)


decompose_method("max", _extremum(np.max))
decompose_method("min", _extremum(np.min))
decompose_method("nanmax", _extremum(np.nanmax))
decompose_method("nanmin", _extremum(np.nanmin))
