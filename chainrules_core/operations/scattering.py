"""Adding into elements of an array: the adjoint of reading them.

An element may be read many times, and then all its cotangents count. NumPy's ``x_bar[index] +=``
adds one of them alone and ``np.add.at`` adds all, but slowly, save for flat arrays. So it is used
only where elements do repeat, in flat form if possible; large slices are added one by one.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from chainrules_core.define import primitive


@primitive
def scatter(y_bar: Any, index: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an array of zeros with `y_bar` added at `index`; what stands there twice adds up."""
    x_bar = np.zeros(shape, np.result_type(dtype, y_bar))
    return scatter_into(x_bar, y_bar, None, index, is_fresh=True)


def scatter_into(x_bar: Any, y_bar: Any, x: Any, index: Any, is_fresh: bool = False) -> Any:
    """Add `y_bar` into ``x_bar[index]`` in place, repeated indices included.

    `is_fresh` says that there are only zeros in `x_bar`.
    """
    if type(index) is slice and type(y_bar) is np.ndarray and y_bar.dtype is x_bar.dtype:
        part = x_bar[index]
        if is_fresh:
            part[...] = y_bar
        else:
            part += y_bar
        return x_bar
    y_bar = fitting(y_bar, x_bar)
    if type(index) is np.ndarray and x_bar.ndim == 1 and index.dtype.kind in "iu":
        return scatter_along_into(x_bar, y_bar, index, 0)
    if not may_repeat(index):
        if is_fresh:
            x_bar[index] = y_bar
        else:
            x_bar[index] += y_bar
        return x_bar
    along = single_axis(index, x_bar.ndim)
    if along is not None:
        return scatter_along_into(x_bar, y_bar, *along, is_fresh)
    places = flat_places(index, x_bar)
    if places is not None:
        np.add.at(x_bar.reshape(-1), places, _flat(y_bar, x_bar))
    else:
        np.add.at(x_bar, index, y_bar)
    return x_bar


def fitting(y_bar: Any, x_bar: Any) -> Any:
    """Return the real part of a cotangent that is added into a real array."""
    if type(y_bar) is float or type(y_bar) is np.float64:
        return y_bar
    return np.real(y_bar) if x_bar.dtype.kind == "f" and np.iscomplexobj(y_bar) else y_bar


_ONCE = (int, np.integer, slice, type(None), type(Ellipsis), np.bool_)


def may_repeat(index: Any) -> bool:
    """Whether an index may name an element twice: if anything in it is like an array of integers.

    Examples
    --------
    >>> may_repeat((slice(3), 1, None)), may_repeat(np.array([True, False])), may_repeat([0, 0])
    (False, False, True)
    """
    if type(index) is int or type(index) is slice:
        return False
    if type(index) is np.ndarray:
        return index.dtype.kind != "b"
    parts = index if isinstance(index, tuple) else (index,)
    return not all(
        isinstance(p, _ONCE) or (isinstance(p, np.ndarray) and p.dtype.kind == "b") for p in parts
    )


def single_axis(index: Any, ndim: int) -> tuple[np.ndarray, int] | None:
    """Return the integers of an index that selects along one axis alone, and the axis."""
    parts = index if isinstance(index, tuple) else (index,)
    if any(p is Ellipsis for p in parts):
        at = next(i for i, p in enumerate(parts) if p is Ellipsis)
        parts = (*parts[:at], *(slice(None),) * (ndim - len(parts) + 1), *parts[at + 1 :])
    arrays = [i for i, p in enumerate(parts) if not (isinstance(p, slice) and p == slice(None))]
    if len(arrays) != 1:
        return None
    indices = np.asarray(parts[arrays[0]])
    return (indices, arrays[0]) if indices.dtype.kind in "iu" else None


def flat_places(index: Any, x_bar: np.ndarray) -> np.ndarray | None:
    """Return where in the flat form of `x_bar` an index of integers for every axis points."""
    if not (type(index) is tuple and len(index) == x_bar.ndim and x_bar.flags.c_contiguous):
        return None
    if any(p is None or p is Ellipsis or isinstance(p, slice) for p in index):
        return None
    arrays = [np.asarray(p) for p in index]
    if not all(a.dtype.kind in "iu" for a in arrays):
        return None
    return np.ravel(np.ravel_multi_index(np.broadcast_arrays(*arrays), x_bar.shape, "wrap"))


LARGE = 256
"""Slices of so many elements are added one by one, where some are added very often."""

WIDE = 64
"""Slices of so many elements are added all at once, as often as the most frequent one occurs."""


def scatter_along_into(
    x_bar: Any, y_bar: Any, indices: Any, axis: int, is_fresh: bool = False
) -> Any:
    """Add `y_bar` in place to what ``np.take(x_bar, indices, axis)`` reads; see `scatter_into`."""
    shape, y_bar = x_bar.shape, fitting(y_bar, x_bar)
    is_line = len(shape) == indices.ndim == 1 and type(y_bar) is np.ndarray
    if is_line and y_bar.shape == indices.shape and y_bar.dtype is x_bar.dtype:
        np.add.at(x_bar, indices, y_bar)
        return x_bar
    before, behind = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    indices = indices.astype(np.intp, copy=False)
    if before * behind == 1 and x_bar.flags.c_contiguous:
        np.add.at(x_bar.reshape(-1), indices.ravel(), _flat(y_bar, x_bar))
        return x_bar
    if indices.size and indices.min() < 0:
        indices = np.where(indices < 0, indices + shape[axis], indices)
    y_bar = np.reshape(y_bar, (*shape[:axis], indices.size, *shape[axis + 1 :]))
    indices, head = indices.ravel(), (slice(None),) * axis
    if before == 1 and add_rows(x_bar, y_bar, indices):
        pass
    elif has_no_repeats(indices):
        if is_fresh:
            x_bar[(*head, indices)] = y_bar
        else:
            x_bar[(*head, indices)] += y_bar
    elif behind >= WIDE and add_in_layers(x_bar, y_bar, indices, head, is_fresh):
        pass
    elif behind >= LARGE:
        for j, i in enumerate(indices.tolist()):
            part = x_bar[(*head, i)]
            np.add(part, y_bar[(*head, j)], out=part)
    elif x_bar.flags.c_contiguous:
        places = (np.arange(before)[:, None] * shape[axis] + indices).ravel()
        if behind != 1:
            places = (places[:, None] * behind + np.arange(behind)).ravel()
        np.add.at(x_bar.reshape(-1), places, _flat(y_bar, x_bar))
    else:
        np.add.at(x_bar, (*head, indices), y_bar)
    return x_bar


def add_rows(x_bar: Any, y_bar: Any, indices: Any) -> bool:
    """Add each of `y_bar` to one of `x_bar`, in one pass over both, where SciPy is loaded.

    It is the product of a sparse matrix, which has a 1 in each column, with the matrix `y_bar`.
    """
    make = getattr(sys.modules.get("scipy.sparse"), "csc_array", None)
    dtype = x_bar.dtype
    if make is None or dtype.char not in "fdFD" or not x_bar.flags.c_contiguous or not y_bar.size:
        return False
    n, m = len(indices), len(x_bar)
    if 4 * n < m:  # the product is as large as `x_bar`, for few rows that change
        return False
    if int(indices.max()) >= m:  # the product would write beyond the end
        return False
    spread = make((np.ones(n, dtype), indices, np.arange(n + 1)), shape=(m, n))
    rows = np.ascontiguousarray(y_bar, dtype).reshape(n, -1)
    x_bar.reshape(m, -1)[...] += spread @ rows
    return True


def add_in_layers(x_bar: Any, y_bar: Any, indices: Any, head: tuple, is_fresh: bool) -> bool:
    """Add the first value for each place, then the second, and so on, if that is fast."""
    order = np.argsort(indices, kind="stable")
    ordered = indices[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    times = np.diff(first, append=len(ordered))
    most = int(times.max())
    if len(first) == 1:
        x_bar[(*head, ordered[0])] += np.sum(y_bar, axis=len(head))
        return True
    if most * len(first) > 4 * len(ordered):
        return False
    for layer in range(most):
        chosen = first[times > layer] + layer
        places, part = (*head, ordered[chosen]), y_bar[(*head, order[chosen])]
        if is_fresh and layer == 0:
            x_bar[places] = part
        else:
            x_bar[places] += part
    return True


def _flat(y_bar: Any, x_bar: Any) -> Any:
    return np.ravel(y_bar).astype(x_bar.dtype, copy=False)


def has_no_repeats(indices: np.ndarray) -> bool:
    """Whether no two of the integers are the same."""
    ordered = np.sort(indices, axis=None)
    return bool((ordered[1:] != ordered[:-1]).all())
