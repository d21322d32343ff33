"""Reading elements by functions: ``take``, ``compress``, ``extract``, ``item``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules.shapes.reshaping import ARRAY
from chainrules_core import NoTangent, frule, linear_rule, primitive, rrule
from chainrules_core.authoring import scatter, scatter_along_into


@primitive
def scatter_along(y_bar: Any, indices: Any, axis: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an array of zeros with `y_bar` added to what ``np.take(x, indices, axis)`` reads."""
    x_bar = np.zeros(shape, np.result_type(dtype, y_bar))
    return scatter_along_into(x_bar, y_bar, np.asarray(indices), axis, is_fresh=True)


linear_rule(
    scatter_along,
    lambda x_bar, y_bar, indices, axis, shape, dtype: np.take(x_bar, indices, axis),
)


def settled(indices: Any, n: int, mode: str) -> np.ndarray:
    """Return the indices that ``take`` reads in its `mode`."""
    indices = np.asarray(indices)
    if mode == "wrap":
        return indices % n if n else indices
    return np.clip(indices, 0, n - 1) if mode == "clip" else indices


def take_back(
    y_bar: Any, a: Any, indices: Any, axis: int | None = None, *, mode: str = "raise"
) -> Any:
    if axis is None or a.ndim == 0:
        places = settled(indices, a.size, mode)
        flat = scatter_along(np.ravel(y_bar), places.ravel(), 0, (a.size,), a.dtype)
        return np.reshape(flat, a.shape)
    axis %= a.ndim
    return scatter_along(y_bar, settled(indices, a.shape[axis], mode), axis, a.shape, a.dtype)


def take_into(
    a_bar: Any, y_bar: Any, a: Any, indices: Any, axis: int | None = None, *, mode: str = "raise"
) -> Any:
    if axis is None or a.ndim == 0:
        if not a_bar.flags.c_contiguous:
            a_bar += take_back(y_bar, a, indices, mode=mode)
            return a_bar
        places = settled(indices, a.size, mode)
        scatter_along_into(a_bar.reshape(-1), np.ravel(y_bar), places.ravel(), 0)
        return a_bar
    axis %= a.ndim
    return scatter_along_into(a_bar, y_bar, settled(indices, a.shape[axis], mode), axis)


linear_rule(np.take, take_back, add_into=take_into, types=(ARRAY,))


def flat_back(y_bar: Any, a: Any, places: np.ndarray) -> Any:
    """Return the cotangent of `a` from that of the elements at these places of its flat form."""
    flat = scatter_along(np.ravel(y_bar), places.ravel(), 0, (a.size,), a.dtype)
    return np.reshape(flat, a.shape)


def take_along_axis_back(y_bar: Any, arr: Any, indices: Any, axis: int | None = -1) -> Any:
    if axis is None:
        return flat_back(y_bar, arr, np.asarray(indices))
    return flat_back(y_bar, arr, places_along_axis(np.asarray(indices), arr.shape, axis))


def places_along_axis(indices: np.ndarray, shape: tuple[int, ...], axis: int) -> np.ndarray:
    """Return where in the flat array stands what ``np.take_along_axis`` reads."""
    axis %= len(shape)
    n = shape[axis]
    if indices.size and indices.min() < 0:
        indices = np.where(indices < 0, indices + n, indices)
    step = math.prod(shape[axis + 1 :])
    places = indices if step == 1 else indices * step
    for k, length in enumerate(shape):
        if k != axis:
            steps = np.arange(length) * math.prod(shape[k + 1 :])
            places = places + np.reshape(steps, (-1,) + (1,) * (len(shape) - k - 1))
    return places


linear_rule(np.take_along_axis, take_along_axis_back, types=(ARRAY,))


def compress_back(y_bar: Any, condition: Any, a: Any, axis: int | None = None) -> Any:
    places = np.flatnonzero(condition)
    if axis is None or a.ndim == 0:
        return flat_back(y_bar, a, places)
    return scatter_along(y_bar, places, axis % a.ndim, a.shape, a.dtype)


linear_rule(np.compress, compress_back, argnums=(1,), types=(object, ARRAY))
linear_rule(
    np.extract,
    lambda y_bar, condition, arr: flat_back(y_bar, arr, np.flatnonzero(condition)),
    argnums=(1,),
    types=(object, ARRAY),
)


@rrule.register(np.ndarray.item, ARRAY, shaped_by=(0,))
def item_rrule(a: Any, *args: Any) -> Any:
    shape, size = np.shape(a), np.size(a)

    def item_pullback(y_bar: Any) -> Any:
        if not args:
            return np.reshape(y_bar, shape)
        place = args[0] if len(args) == 1 else args
        if not isinstance(place, tuple):
            place = tuple(np.unravel_index(place % size, shape))
        bar = scatter(y_bar, place, shape, np.result_type(y_bar))
        return (bar, *[NoTangent()] * len(args))

    return a.item(*args), item_pullback


@frule.register(np.ndarray.item, ARRAY)
def item_frule(dots: tuple, a: Any, *args: Any) -> Any:
    return a.item(*args), dots[0].item(*args)
