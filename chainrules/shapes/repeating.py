"""Elements that appear more than once: the adjoint adds up what belongs to each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules.shapes.reshaping import ARRAY
from chainrules_core import (
    AbstractZero,
    Array,
    Scalar,
    Tangent,
    frule,
    linear_rule,
    primitive,
    rrule,
    unbroadcast,
    unthunk,
)
from chainrules_core.authoring import EVERY

linear_rule(
    np.broadcast_to,
    lambda y_bar, array, shape, subok=False: unbroadcast(y_bar, array.shape),
    types=(ARRAY,),
)


@rrule.register(np.broadcast_arrays, [Array, *Scalar], shaped_by=EVERY)
def broadcast_arrays_rrule(*args: Any, subok: bool = False) -> Any:
    shapes = [np.shape(a) for a in args]

    def broadcast_arrays_pullback(y_bar: Any) -> Any:
        return tuple([unbroadcast(unthunk(y_bar[i]), s) for i, s in enumerate(shapes)])

    return np.broadcast_arrays(*args, subok=subok), broadcast_arrays_pullback


@frule.register(np.broadcast_arrays, [Array, *Scalar])
def broadcast_arrays_frule(dots: tuple, *args: Any, subok: bool = False) -> Any:
    y = np.broadcast_arrays(*args, subok=subok)
    shape = np.shape(y[0]) if y else ()
    y_dot = [d if isinstance(d, AbstractZero) else np.broadcast_to(d, shape) for d in dots]
    return y, Tangent[type(y)](*y_dot)


# ---------------------------------------------------------------------------------- repeat and tile


@primitive
def add_runs(y_bar: Any, counts: Any, axis: int) -> Any:
    """Add up runs of `counts` elements along an axis: what `np.repeat` of an array made, undone."""
    counts = np.asarray(counts)
    head: Any = (slice(None),) * axis
    shape = (*y_bar.shape[:axis], len(counts), *y_bar.shape[axis + 1 :])
    x_bar = np.zeros(shape, y_bar.dtype)
    starts = np.cumsum(counts) - counts
    some = np.flatnonzero(counts)
    if y_bar.ndim > 1 and some.size and counts.max() <= 8:
        for i in range(counts.max()):  # faster than reduceat for slices and short runs
            some = np.flatnonzero(counts > i)
            x_bar[(*head, some)] += y_bar[(*head, starts[some] + i)]
    elif some.size:  # for an empty run, reduceat would read an element
        x_bar[(*head, some)] = np.add.reduceat(y_bar, starts[some], axis=axis)
    return x_bar


linear_rule(add_runs, lambda x_bar, y_bar, counts, axis: np.repeat(x_bar, counts, axis))


def repeat_back(y_bar: Any, a: Any, repeats: Any, axis: int | None = None) -> Any:
    is_flat = axis is None or a.ndim == 0
    shape = (a.size,) if is_flat else a.shape
    axis = 0 if axis is None or is_flat else axis % a.ndim
    if np.size(repeats) != 1:
        return np.reshape(add_runs(y_bar, repeats, axis), a.shape)
    times = int(np.reshape(repeats, ()))
    runs = np.reshape(y_bar, (*shape[: axis + 1], times, *shape[axis + 1 :]))
    if axis == len(shape) - 1 and times < 64 and not np.iscomplexobj(runs):
        total = np.matmul(runs, np.ones(times, runs.dtype))  # np.sum is slow for short rows
    else:
        total = np.sum(runs, axis=axis + 1)
    return np.reshape(total, a.shape)


def tile_back(y_bar: Any, A: Any, reps: Any) -> Any:
    reps = tuple(np.ravel(reps).tolist())
    ndim = max(A.ndim, len(reps))
    shape = (1,) * (ndim - A.ndim) + A.shape
    reps = (1,) * (ndim - len(reps)) + reps
    tiles = np.reshape(y_bar, [n for pair in zip(reps, shape, strict=True) for n in pair])
    return np.reshape(np.sum(tiles, axis=tuple(range(0, 2 * ndim, 2))), A.shape)


def resize_back(y_bar: Any, a: Any, new_shape: Any) -> Any:
    """Undo resize, which reads the elements again and again until there are enough of them."""
    y_bar = np.ravel(y_bar)
    size = math.prod(np.shape(y_bar))
    if a.size == 0 or size == 0:
        return np.zeros(a.shape, a.dtype)
    rest = -size % a.size
    if rest:
        y_bar = np.concatenate([y_bar, np.zeros(rest, a.dtype)])
    return np.reshape(np.sum(np.reshape(y_bar, (-1, a.size)), axis=0), a.shape)


linear_rule(np.repeat, repeat_back, types=(ARRAY,))
linear_rule(np.tile, tile_back, types=(ARRAY,))
linear_rule(np.resize, resize_back, types=(ARRAY,))
