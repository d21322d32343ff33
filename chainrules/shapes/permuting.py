"""Elements in another order: the adjoint is the inverse permutation."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from chainrules.shapes.reshaping import ARRAY
from chainrules_core import linear_rule


def transpose_back(y_bar: Any, a: Any, axes: Any = None) -> Any:
    if axes is None:
        return np.transpose(y_bar)
    return np.transpose(y_bar, inverse(each(axes), a.ndim))


def transpose_rows_back(y_bars: Any, a: Any, axes: Any = None) -> Any:
    back = range(a.ndim)[::-1] if axes is None else inverse(each(axes), a.ndim)
    return np.transpose(y_bars, (0, *[axis + 1 for axis in back]))


def each(axes: Any) -> tuple[int, ...]:
    """Return what may be a single axis as a tuple."""
    return tuple(axes) if isinstance(axes, (tuple, list)) or np.ndim(axes) else (axes,)


@functools.lru_cache(maxsize=1024)
def inverse(axes: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """Return the permutation of axes that undoes one."""
    order = [axis % ndim for axis in axes]
    return tuple([order.index(i) for i in range(ndim)])


def rollaxis_back(y_bar: Any, a: Any, axis: int, start: int = 0) -> Any:
    """Undo rollaxis, which puts an axis before the one that is now at `start`."""
    axis, start = axis % a.ndim, start + a.ndim if start < 0 else start
    return np.moveaxis(y_bar, start - 1 if axis < start else start, axis)


def last_axes_swapped(y_bar: Any, x: Any) -> Any:
    return np.swapaxes(y_bar, -1, -2)


linear_rule(np.transpose, transpose_back, types=(ARRAY,), rows=(transpose_rows_back,))
linear_rule(
    (np.matrix_transpose, np.linalg.matrix_transpose),
    last_axes_swapped,
    types=(ARRAY,),
    rows=(last_axes_swapped,),
)
linear_rule(
    np.swapaxes,
    lambda y_bar, a, axis1, axis2: np.swapaxes(y_bar, axis1, axis2),
    types=(ARRAY,),
)
linear_rule(
    np.moveaxis,
    lambda y_bar, a, source, destination: np.moveaxis(y_bar, destination, source),
    types=(ARRAY,),
)
linear_rule(np.rollaxis, rollaxis_back, types=(ARRAY,))

linear_rule(np.flip, lambda y_bar, m, axis=None: np.flip(y_bar, axis), types=(ARRAY,))
linear_rule(np.fliplr, lambda y_bar, m: np.fliplr(y_bar), types=(ARRAY,))
linear_rule(np.flipud, lambda y_bar, m: np.flipud(y_bar), types=(ARRAY,))
linear_rule(
    np.roll,
    lambda y_bar, a, shift, axis=None: np.roll(y_bar, -np.asarray(shift, np.intp), axis),
    types=(ARRAY,),
)
linear_rule(
    np.rot90,
    lambda y_bar, m, k=1, axes=(0, 1): np.rot90(y_bar, -k, axes),
    types=(ARRAY,),
)
