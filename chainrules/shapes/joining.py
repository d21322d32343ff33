"""Arrays put together: the adjoint takes the cotangent apart again.

The arrays come as one argument: a list or tuple of arrays, numbers and lists, or one array, which
is the sequence of what lies along its first axis. Every function here first gives each of them as
many axes as it needs and then concatenates; so a cotangent is cut along that axis, and each piece
gets the shape of what it belongs to. The pieces are views.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.creation import rounds
from chainrules.shapes.reshaping import ARRAY, Shape, shape_of
from chainrules_core import Array, ProjectTo, Tangent, ZeroTangent, frule, rrule
from chainrules_core.authoring import natural
from chainrules_core.projection.project_to import ProjectToArray

SEQUENCE = (list, tuple, Array)

# From the shapes of the arrays to the shapes in which they are concatenated, and the axis.
Alignment = Callable[[list[Shape], int | None], tuple[list[Shape], int]]


def slab(a: Any, axis: int, start: int, stop: int) -> Any:
    """Return ``a[..., start:stop, ...]`` with the slice at `axis`: a view."""
    return a[(slice(None),) * axis + (slice(start, stop),)]


def cut(y_bar: Any, sizes: list[int], axis: int) -> list[Any]:
    """Cut an array into pieces of these sizes along an axis."""
    pieces, start = [], 0
    for size in sizes:
        pieces.append(slab(y_bar, axis, start, start + size))
        start += size
    return pieces


def shapes_of(arrays: Any) -> list[Shape]:
    """Return the shape of each array of a sequence."""
    if isinstance(arrays, np.ndarray):
        return [np.shape(arrays)[1:]] * len(arrays)
    return [shape_of(a) for a in arrays]


# For each piece the index that cuts it out, and its shape where it must be given another.
Cuts = tuple[tuple[Any, Shape | None], ...]


@functools.lru_cache(maxsize=4096)
def cuts_of(align: Alignment, shapes: tuple[Shape, ...], axis: int | None) -> Cuts:
    """Return how what a function made of arrays of these shapes is cut into pieces."""
    aligned, axis = align(list(shapes), axis)
    cuts: list[tuple[Any, Shape | None]] = []
    start, before = 0, (slice(None),) * axis
    for shape, wide in zip(shapes, aligned, strict=True):
        stop = start + wide[axis]
        if shape and wide == (*shape[:axis], 1, *shape[axis:]):  # not a NumPy scalar
            cuts.append(((*before, start), None))
        else:
            cuts.append(((*before, slice(start, stop)), None if shape == wide else shape))
        start = stop
    return tuple(cuts)


def register_join(f: Callable, align: Alignment, axis: int | None = None) -> None:
    """Register both rules of a function that joins a sequence of arrays; `axis` is its default."""
    default = axis

    @rrule.register(f, SEQUENCE, shaped_by=(0,))
    def join_rrule(arrays: Any, *, out: Any = None, **options: Any) -> Any:
        if out is not None:
            return None
        y = f(arrays, **options)
        if "dtype" in options and rounds(options["dtype"]):
            return y, _zero_pullback
        kind, dtype = type(arrays), y.dtype
        is_array = not isinstance(arrays, (list, tuple))
        # Where all parts have the dtype of the result, the pieces of its cotangent have it too.
        is_alike = (kind is list or kind is tuple) and dtype.kind in "fc"
        is_alike = is_alike and all([_has(a, dtype) for a in arrays])  # noqa: C419 - a third less
        shapes = tuple([a.shape for a in arrays] if is_alike else shapes_of(arrays))
        space = None if is_alike else ProjectTo(arrays)

        def join_pullback(y_bar: Any) -> Any:
            axis = options.get("axis", default)
            cuts = cuts_of(align, shapes, None if axis is None else operator.index(axis))
            bars = [
                y_bar[index] if shape is None else np.reshape(y_bar[index], shape)
                for index, shape in cuts
            ]
            if space is None:
                if not _has(y_bar, dtype):
                    bars = [ProjectToArray(np.shape(bar), dtype)(bar) for bar in bars]
                return Tangent[kind](*bars)
            return space(np.stack(bars) if is_array else bars)

        return y, join_pullback

    @frule.register(f, SEQUENCE)
    def join_frule(dots: tuple, arrays: Any, *, out: Any = None, **options: Any) -> Any:
        if out is not None:
            return None
        if rounds(options.get("dtype")):
            return f(arrays, **options), ZeroTangent()
        return f(arrays, **options), f(natural(dots[0], arrays), **options)


def _has(a: Any, dtype: np.dtype) -> bool:
    """Whether `a` is an array of a dtype."""
    return isinstance(a, np.ndarray) and (a.dtype is dtype or a.dtype == dtype)


def _zero_pullback(y_bar: Any) -> Any:
    return ZeroTangent()


def along(shapes: list[Shape], axis: int | None) -> tuple[list[Shape], int]:
    """The arrays to join along `axis`; flat ones, if that is None."""
    if axis is None:
        return [(math.prod(shape),) for shape in shapes], 0
    return shapes, axis % len(shapes[0])


def along_new(shapes: list[Shape], axis: int | None) -> tuple[list[Shape], int]:
    """With a new axis, along it."""
    axis = (axis or 0) % (len(shapes[0]) + 1)
    return [(*shape[:axis], 1, *shape[axis:]) for shape in shapes], axis


def as_rows(shapes: list[Shape], axis: int | None) -> tuple[list[Shape], int]:
    """With two axes at least, along the first."""
    return [shape if len(shape) > 1 else (1, *(shape or (1,))) for shape in shapes], 0


def side_by_side(shapes: list[Shape], axis: int | None) -> tuple[list[Shape], int]:
    """With one axis at least, along the second if the first array has it."""
    aligned = [shape or (1,) for shape in shapes]
    return aligned, 0 if len(aligned[0]) == 1 else 1


def in_depth(shapes: list[Shape], axis: int | None) -> tuple[list[Shape], int]:
    """With three axes at least, along the third."""
    aligned = []
    for shape in shapes:
        if len(shape) < 2:
            shape = (1, *(shape or (1,)), 1)
        aligned.append((*shape, 1) if len(shape) == 2 else shape)
    return aligned, 2


def as_columns(shapes: list[Shape], axis: int | None) -> tuple[list[Shape], int]:
    """Arrays of fewer than two axes as columns, to join along the second axis."""
    return [shape if len(shape) > 1 else (math.prod(shape), 1) for shape in shapes], 1


register_join(np.concatenate, along, axis=0)
register_join(np.stack, along_new, axis=0)
register_join(np.vstack, as_rows)
register_join(np.hstack, side_by_side)
register_join(np.dstack, in_depth)
register_join(np.column_stack, as_columns)
if "row_stack" in vars(np):  # another name of vstack, going out of use
    register_join(vars(np)["row_stack"], as_rows)


# ------------------------------------------------------------------------------------------ append


@rrule.register(np.append, (*ARRAY, list, tuple), (*ARRAY, list, tuple), shaped_by=(0, 1))
def append_rrule(arr: Any, values: Any, *, axis: int | None = None) -> Any:
    y = np.append(arr, values, axis)
    spaces, shapes = (ProjectTo(arr), ProjectTo(values)), [shape_of(arr), shape_of(values)]

    def append_pullback(y_bar: Any) -> Any:
        aligned, along_axis = along(shapes, axis)
        pieces = cut(y_bar, [shape[along_axis] for shape in aligned], along_axis)
        each = zip(spaces, pieces, shapes, strict=True)
        return tuple([space(np.reshape(piece, shape)) for space, piece, shape in each])

    return y, append_pullback


@frule.register(np.append, (*ARRAY, list, tuple), (*ARRAY, list, tuple))
def append_frule(dots: tuple, arr: Any, values: Any, *, axis: int | None = None) -> Any:
    arr_dot, values_dot = natural(dots[0], arr), natural(dots[1], values)
    return np.append(arr, values, axis), np.append(arr_dot, values_dot, axis)


# ------------------------------------------------------------------------------------------- block

# The shapes of the arrays in nested lists, in the same nest: a tuple, or a list of nests.
Nest = Any


@rrule.register(np.block, (list, *ARRAY), shaped_by=(0,))
def block_rrule(arrays: Any) -> Any:
    y = np.block(arrays)
    space, nest, ndim = ProjectTo(arrays), shapes_in(arrays), np.ndim(y)

    def block_pullback(y_bar: Any) -> Any:
        return space(unblock(y_bar, nest, ndim - depth(nest)))

    return y, block_pullback


@frule.register(np.block, (list, *ARRAY))
def block_frule(dots: tuple, arrays: Any) -> Any:
    return np.block(arrays), np.block(natural(dots[0], arrays))


def shapes_in(arrays: Any) -> Nest:
    return [shapes_in(a) for a in arrays] if type(arrays) is list else np.shape(arrays)


def depth(nest: Nest) -> int:
    return 1 + depth(nest[0]) if type(nest) is list else 0


def unblock(y_bar: Any, nest: Nest, axis: int) -> Any:
    """Take a block array apart: the lists of the outermost level lie along `axis`."""
    if type(nest) is tuple:
        return np.reshape(y_bar, nest)
    sizes = [extent(part, axis, np.ndim(y_bar)) for part in nest]
    return [
        unblock(piece, part, axis + 1)
        for piece, part in zip(cut(y_bar, sizes, axis), nest, strict=True)
    ]


def extent(nest: Nest, axis: int, ndim: int) -> int:
    """Return the length along `axis` of what a nest makes, whose lists lie along later axes."""
    while type(nest) is list:
        nest = nest[0]
    missing = ndim - len(nest)
    return 1 if axis < missing else nest[axis - missing]
