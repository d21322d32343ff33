"""Arrays taken apart into a list: the adjoint puts the cotangents of the parts together."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from chainrules.shapes.reshaping import ARRAY
from chainrules_core import AbstractZero, NoTangent, ProjectTo, Tangent, frule, rrule, unthunk
from chainrules_core.authoring import scatter


def part(y_bar: Any, i: int, space: Any) -> Any:
    """Return the cotangent of one part of an output; a zero is made concrete."""
    bar = unthunk(y_bar[i])
    return np.zeros(space.shape, space.dtype) if isinstance(bar, AbstractZero) else bar


def register_split(f: Callable, axis_for: Callable[[int, int], int]) -> None:
    """Register both rules of a function that splits along ``axis_for(ndim, axis)``."""

    @rrule.register(f, ARRAY, shaped_by=(0,))
    def split_rrule(ary: Any, *, indices_or_sections: Any, axis: int = 0) -> Any:
        given = (axis,) if f in _WITH_AXIS else ()
        y = f(ary, indices_or_sections, *given)
        shape, dtype, spaces = np.shape(ary), ary.dtype, [ProjectTo(p) for p in y]
        along = axis_for(len(shape), axis) % len(shape)

        def split_pullback(y_bar: Any) -> Any:
            bars = [part(y_bar, i, s) for i, s in enumerate(spaces)]
            if np.ndim(indices_or_sections) == 0 or is_partition(indices_or_sections):
                return np.concatenate(bars, along)
            edges = [0, *indices_or_sections, shape[along]]
            before = (slice(None),) * along
            return sum(
                scatter(bar, (*before, slice(start, stop)), shape, dtype)
                for bar, (start, stop) in zip(bars, pairwise(edges), strict=True)
            )

        return y, split_pullback

    @frule.register(f, ARRAY)
    def split_frule(dots: tuple, ary: Any, *, indices_or_sections: Any, axis: int = 0) -> Any:
        given = (axis,) if f in _WITH_AXIS else ()
        y_dot = f(dots[0], indices_or_sections, *given)
        return f(ary, indices_or_sections, *given), Tangent[list](*y_dot)


def is_partition(indices: Any) -> bool:
    """Whether the parts of a split at these indices neither overlap nor leave something out."""
    indices = [0, *indices]
    return all(a <= b for a, b in pairwise(indices))


_WITH_AXIS = (np.split, np.array_split)

register_split(np.split, lambda ndim, axis: axis)
register_split(np.array_split, lambda ndim, axis: axis)
register_split(np.hsplit, lambda ndim, axis: 0 if ndim == 1 else 1)
register_split(np.vsplit, lambda ndim, axis: 0)
register_split(np.dsplit, lambda ndim, axis: 2)


@rrule.register(np.unstack, ARRAY, shaped_by=(0,))
def unstack_rrule(x: Any, *, axis: int = 0) -> Any:
    y = np.unstack(x, axis=axis)
    spaces, shape = [ProjectTo(p) for p in y], np.shape(x)

    def unstack_pullback(y_bar: Any) -> Any:
        if not spaces:
            return np.zeros(shape)
        return np.stack([part(y_bar, i, s) for i, s in enumerate(spaces)], axis)

    return y, unstack_pullback


@frule.register(np.unstack, ARRAY)
def unstack_frule(dots: tuple, x: Any, *, axis: int = 0) -> Any:
    y, y_dot = np.unstack(x, axis=axis), np.unstack(dots[0], axis=axis)
    return y, Tangent[tuple](*y_dot) if y_dot else NoTangent()
