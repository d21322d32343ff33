"""Slices put between others, and taken out.

Which element of the result comes from where is found by doing the same to positions. `obj` may be
an integer, a slice, a mask or a sequence of integers; NumPy itself reads it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.indexing.taking import scatter_along
from chainrules.shapes.joining import slab
from chainrules.shapes.reshaping import ARRAY, Shape, shape_of
from chainrules_core import NoTangent, ProjectTo, frule, linear_rule, rrule, unbroadcast
from chainrules_core.authoring import natural, scatter

LIKE = (*ARRAY, list, tuple)


@rrule.register(np.insert, ARRAY, object, LIKE, shaped_by=(0, 2))
def insert_rrule(arr: Any, obj: Any, values: Any, *, axis: int | None = None) -> Any:
    y = np.insert(arr, obj, values, axis)
    shape, space, values_shape = np.shape(arr), ProjectTo(values), shape_of(values)
    flat = axis is None and len(shape) != 1
    along = (0 if flat else len(shape) - 1) if axis is None else axis % len(shape)
    n, m = (int(np.prod(shape)) if flat else shape[along]), np.shape(y)[along]

    def insert_pullback(y_bar: Any) -> Any:
        is_one = not isinstance(obj, slice) and np.ndim(obj) == 0
        if is_one:
            start = int(obj) + n if obj < 0 else int(obj)
            places: Any = slice(start, start + m - n)
            inserted = slab(y_bar, along, start, start + m - n)
        else:
            # Of the slices that are inserted, in their own order, where in the result they are.
            source = np.insert(np.full(n, -1), obj, np.arange(m - n))
            places = np.flatnonzero(source >= 0)
            places = places[np.argsort(source[places])]
            inserted = np.take(y_bar, places, along)
        arr_bar = np.reshape(np.delete(y_bar, places, along), shape)
        return arr_bar, NoTangent(), space(uninserted(inserted, values_shape, along, is_one))

    return y, insert_pullback


def uninserted(inserted: Any, shape: Shape, axis: int, is_one: bool) -> Any:
    """Return the cotangent of values of this shape from that of the slices they were written to.

    Values broadcast against the slices. For one position that is not in a list, they are one
    slice: their first axis is the one they are inserted along.
    """
    full = (1,) * (np.ndim(inserted) - len(shape)) + shape
    if is_one:
        inserted = np.moveaxis(inserted, axis, 0)
    return np.reshape(unbroadcast(inserted, full), shape)


@frule.register(np.insert, ARRAY, object, LIKE)
def insert_frule(dots: tuple, arr: Any, obj: Any, values: Any, *, axis: int | None = None) -> Any:
    arr_dot, _, values_dot = dots
    y = np.insert(arr, obj, values, axis)
    if not np.issubdtype(y.dtype, np.inexact):  # what is inserted is cut to an integer
        return y, NoTangent()
    return y, np.insert(arr_dot, obj, natural(values_dot, values), axis)


def delete_back(y_bar: Any, arr: Any, obj: Any, axis: int | None = None) -> Any:
    flat = axis is None and arr.ndim != 1
    shape = (arr.size,) if flat else arr.shape
    along = (0 if flat else arr.ndim - 1) if axis is None else axis % arr.ndim
    if isinstance(obj, (int, np.integer)):
        return np.reshape(np.insert(y_bar, obj % shape[along], 0, along), arr.shape)
    if not isinstance(obj, slice):
        obj = np.asarray(obj)
        obj = obj if obj.dtype == bool else obj.astype(np.intp)
    kept = np.ones(shape[along], bool)
    kept[obj] = False
    if len(shape) == 1:
        return np.reshape(scatter(y_bar, kept, shape, arr.dtype), arr.shape)
    places = np.flatnonzero(kept)
    return np.reshape(scatter_along(y_bar, places, along, shape, arr.dtype), arr.shape)


linear_rule(np.delete, delete_back, types=(ARRAY,))
