"""Windows and strides: views in which an element of the array stands many times.

``sliding_window_view`` is linear; its adjoint adds the cotangents of all windows that an element
is in, one place of the window after the other. ``as_strided`` reads memory at places that only the
strides of the array itself tell: they are looked up among the places of its elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_core import Array, NoTangent, frule, linear_rule, primitive, rrule
from chainrules_core.authoring import scatter

stride_tricks = np.lib.stride_tricks


def axes_of(window_shape: Any, axis: Any, ndim: int) -> tuple[tuple, tuple]:
    """Return the lengths of the window and the axes they are along, as tuples."""
    lengths = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    if axis is None:
        return lengths, tuple(range(ndim))
    axes = tuple(axis) if np.iterable(axis) else (axis,)
    return lengths, tuple([a % ndim for a in axes])


@primitive
def overlapped(y_bar: Any, shape: tuple, window_shape: Any, axis: Any) -> Any:
    """Add windows up to the array of a shape that they are windows of."""
    lengths, axes = axes_of(window_shape, axis, len(shape))
    x_bar = np.zeros(shape, y_bar.dtype)
    counts = y_bar.shape[: len(shape)]
    for place in np.ndindex(*lengths):
        starts = [0] * len(shape)
        for a, i in zip(axes, place, strict=True):
            starts[a] += i
        region = tuple([slice(s, s + n) for s, n in zip(starts, counts, strict=True)])
        x_bar[region] += y_bar[(..., *place)]
    return x_bar


linear_rule(
    overlapped,
    lambda x_bar, y_bar, shape, window_shape, axis: stride_tricks.sliding_window_view(
        x_bar, window_shape, axis
    ),
)
linear_rule(
    stride_tricks.sliding_window_view,
    lambda y_bar, x, window_shape, axis=None, *, subok=False, writeable=False: overlapped(
        y_bar, x.shape, window_shape, axis
    ),
    types=(Array,),
)


def offsets(shape: Any, strides: Any) -> np.ndarray:
    """Return how many bytes from the start the elements of an array with such strides are."""
    found = np.zeros(tuple(shape), np.intp)
    for axis, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        column = (-1,) + (1,) * (len(shape) - axis - 1)
        found += np.reshape(np.arange(n) * stride, column)
    return found


def places_of(x: Any, shape: Any, strides: Any) -> np.ndarray:
    """Return which elements of the flattened array stand in a strided view of it."""
    own = offsets(x.shape, x.strides).ravel()
    wanted = offsets(x.shape if shape is None else shape, x.strides if strides is None else strides)
    order = np.argsort(own, kind="stable")
    found = np.searchsorted(own[order], wanted)
    inside = found < own.size
    places = order[np.where(inside, found, 0)] if own.size else np.zeros(wanted.shape, np.intp)
    if not np.all(inside) or not np.array_equal(own[places], wanted):
        raise ValueError(
            "numpy.lib.stride_tricks.as_strided reads memory that belongs to no element of x, "
            "which has no derivative. Give it the array that owns the memory."
        )
    return places


@rrule.register(stride_tricks.as_strided, Array)
def as_strided_rrule(x, shape=None, strides=None, *, subok=False, writeable=True):
    y = stride_tricks.as_strided(x, shape, strides, subok=subok, writeable=writeable)
    places, own_shape = places_of(x, shape, strides), np.shape(x)

    def as_strided_pullback(y_bar):
        flat = scatter(y_bar, places, (int(np.prod(own_shape)),), y_bar.dtype)
        return np.reshape(flat, own_shape), NoTangent(), NoTangent()

    return y, as_strided_pullback


@frule.register(stride_tricks.as_strided, Array)
def as_strided_frule(dots, x, shape=None, strides=None, *, subok=False, writeable=True):
    y = stride_tricks.as_strided(x, shape, strides, subok=subok, writeable=writeable)
    return y, np.reshape(dots[0], (-1,))[places_of(x, shape, strides)]
