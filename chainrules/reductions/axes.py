"""Axes of reductions: putting back what ``axis`` took away.

A reduction over axes maps many elements to one; its adjoint and its pushforward need the result in
a shape that broadcasts against the argument again, and the number of elements that went into it.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_core.authoring import NO_VALUE, spread_to, where_true

UNSET: Any = NO_VALUE
"""NumPy's sign that an argument is left out."""


Rules = tuple[Callable, Callable]
"""An rrule and an frule, not yet registered."""


# -------------------------------------------------------------------------------------- options


def is_given(value: Any) -> bool:
    """Whether an optional argument has a value."""
    return value is not UNSET and value is not None


def options_of(**options: Any) -> dict[str, Any]:
    """The options of a call to pass on: those that are given, without ``where=True``.

    ``where=True`` changes nothing, but NumPy takes a slower way with other rounding for it.
    """
    if options.get("where") is True:
        del options["where"]
    return {k: v for k, v in options.items() if v is not UNSET}


def rounds(dtype: Any) -> bool:
    """Whether a reduction computes in integers, so that its derivative is zero."""
    return dtype is not None and np.dtype(dtype).kind not in "fc"


def selected(where: Any) -> bool:
    """Whether ``where`` leaves anything out at all."""
    return where is not True and where is not UNSET


def chosen(values: Any, where: Any) -> Any:
    """`values` where ``where`` takes part in the reduction, 0 elsewhere."""
    return np.where(where, values, 0) if selected(where) else values


def present(a: Any, where: Any = True) -> Any:
    """The mask of a reduction that ignores NaN: the numbers among those of ``where``."""
    numbers = np.logical_not(np.isnan(a))
    return numbers & where if selected(where) else numbers


def every(a: Any, where: Any) -> Any:
    """The mask of a reduction that leaves out nothing itself: ``where``."""
    return where


# ----------------------------------------------------------------------------------------- shapes


def reduced_axes(ndim: int, axis: Any) -> tuple[int, ...]:
    """The axes that ``axis`` means, none negative.

    Examples
    --------
    >>> reduced_axes(3, -1), reduced_axes(3, (0, -1)), reduced_axes(2, None)
    ((2,), (0, 2), (0, 1))
    """
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int:
        return (axis % ndim,) if ndim else ()
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple([operator.index(a) % ndim for a in axes]) if ndim else ()


def kept_shape(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """The shape of a reduction with ``keepdims=True``.

    Examples
    --------
    >>> kept_shape((2, 3, 4), 1)
    (2, 1, 4)
    """
    return _kept_shape(shape, axis if axis is None else reduced_axes(len(shape), axis))


@functools.lru_cache(maxsize=4096)
def _kept_shape(shape: tuple[int, ...], axes: tuple[int, ...] | None) -> tuple[int, ...]:
    return tuple([1 if axes is None or i in axes else n for i, n in enumerate(shape)])


def kept(y: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """The result `y` of a reduction of an array of `shape`, as ``keepdims=True`` has it.

    A number stays one: it broadcasts as it is.
    """
    ndim = np.ndim(y)
    if ndim == len(shape) or (axis is None and ndim == 0):
        return y
    wide = kept_shape(shape, axis)
    return y.reshape(wide) if isinstance(y, np.ndarray) else np.reshape(y, wide)


def spread(y_bar: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """Each result's value at every element that went into it: a view where there are many."""
    return spread_to(kept(y_bar, shape, axis), shape)


def rows(a: Any, axis: Any) -> Any:
    """`a` as a matrix with one row for each result of a reduction over ``axis``.

    Examples
    --------
    >>> rows(np.array([[1, 2, 3], [4, 5, 6]]), 0)
    array([[1, 4],
           [2, 5],
           [3, 6]])
    """
    shape = np.shape(a)
    axes = sorted(reduced_axes(len(shape), axis))
    rest = [i for i in range(len(shape)) if i not in axes]
    if rest:
        a = np.transpose(a, (*rest, *axes))
    return np.reshape(a, (math.prod([shape[i] for i in rest]), math.prod([shape[i] for i in axes])))


def from_rows(matrix: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """Undo :func:`rows`, for an array of `shape`."""
    axes = sorted(reduced_axes(len(shape), axis))
    order = (*[i for i in range(len(shape)) if i not in axes], *axes)
    return np.transpose(np.reshape(matrix, [shape[i] for i in order]), np.argsort(order))


def along_last(a: Any, axis: Any) -> Any:
    """Bring ``axis`` to the end; of None, make the array flat, as one without axes is."""
    if axis is None or np.ndim(a) == 0:
        return np.reshape(a, (-1,))
    return np.swapaxes(a, axis, -1)


def from_last(a: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """Undo :func:`along_last`, for an array of `shape`."""
    return np.reshape(a, shape) if axis is None or not shape else np.swapaxes(a, axis, -1)


# ---------------------------------------------------------------------------------------- numbers


def length(shape: tuple[int, ...], axis: Any) -> int:
    """The number of elements that are reduced to one result."""
    if type(axis) is int and shape:
        return shape[axis]
    return math.prod([shape[i] for i in reduced_axes(len(shape), axis)])


def count(shape: tuple[int, ...], axis: Any, where: Any) -> Any:
    """The number of elements reduced to each result, of those in ``where`` alone (axes kept)."""
    if not selected(where):
        return length(shape, axis)
    full = np.broadcast_to(where, shape)
    if axis is None:
        return int(np.count_nonzero(full))
    return np.count_nonzero(full, axis=axis, keepdims=True)


def divisor(n: Any, like: Any) -> Any:
    """A count to divide by: at least 1, and in the precision of `like`."""
    if isinstance(n, (int, float)):
        return max(n, 1)
    return np.maximum(n, 1).astype(precision(like))


def scaled(fresh: Any, factor: Any) -> Any:
    """``fresh * factor``, in the memory of `fresh`, an array that nobody else holds, if it fits."""
    if type(factor) is int and factor == 1:
        return fresh
    if type(factor) is np.ndarray and factor.dtype == bool and np.shape(fresh) == factor.shape:
        return where_true(factor, fresh)
    if _fits(fresh, factor):
        return np.multiply(fresh, factor, out=fresh)
    return fresh * factor


def divided(fresh: Any, by: Any) -> Any:
    """``fresh / by``, in the memory of `fresh`, an array that nobody else holds, if it fits."""
    return np.divide(fresh, by, out=fresh) if _fits(fresh, by) else fresh / by


def _fits(fresh: Any, other: Any) -> bool:
    """Whether what is computed of plain values has the shape and precision of the first."""
    return (
        type(fresh) is np.ndarray
        and isinstance(other, (float, np.floating, np.ndarray))
        and type(other) in _PLAIN
        and np.result_type(fresh, other) == fresh.dtype
        and np.broadcast_shapes(fresh.shape, np.shape(other)) == fresh.shape
    )


_PLAIN = (float, np.float64, np.float32, np.ndarray)


def precision(x: Any) -> np.dtype:
    """The dtype of the real part of `x`; float64 for integers and Python's numbers."""
    dtype = getattr(x, "dtype", None)
    return np.finfo(dtype).dtype if dtype is not None and dtype.kind in "fc" else np.dtype(float)
