"""Other shapes for the same elements: the adjoint gives them their old shape back.

``order="A"`` and ``"K"`` ask for the order of the elements in memory. That is a property of the
primal which a tangent need not share, so it is settled once, and tangents are moved as the primal
was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_core import (
    AbstractZero,
    Array,
    NoTangent,
    ProjectTo,
    Scalar,
    Tangent,
    frule,
    linear_rule,
    rrule,
    unthunk,
)
from chainrules_core.authoring import EVERY, natural

ARRAY = (Array, *Scalar)
"""What NumPy's array functions take as one array."""

Shape = tuple[int, ...]
Axes = tuple[int, ...] | None


def shape_of(x: Any) -> Shape:
    """Return the shape of an array, or of the array that nested lists would make.

    Unlike ``np.shape`` it makes no array of the lists: there may be traced values in them.
    """
    if type(x) in (list, tuple):
        return (len(x), *(shape_of(x[0]) if x else ()))
    return np.shape(x)


def reshape_order(a: Any, order: str) -> Any:
    """Return ``"C"`` or ``"F"``: ``"A"`` is settled by how `a` lies in memory."""
    if order == "A":
        return "F" if np.isfortran(a) else "C"
    return order


@rrule.register(np.reshape, ARRAY, shaped_by=(0,))
def reshape_rrule(a: Any, shape: Any, *, order: Any = "C", copy: bool | None = None) -> Any:
    order = reshape_order(a, order)
    before = np.shape(a)

    def reshape_pullback(y_bar: Any) -> Any:
        return np.reshape(y_bar, before, order=order), NoTangent()

    return np.reshape(a, shape, order=order, copy=copy), reshape_pullback


@frule.register(np.reshape, ARRAY)
def reshape_frule(
    dots: tuple, a: Any, shape: Any, *, order: Any = "C", copy: bool | None = None
) -> Any:
    order = reshape_order(a, order)
    y = np.reshape(a, shape, order=order, copy=copy)
    return y, np.reshape(dots[0], shape, order=order)


def axes_in_order(a: Any, order: str) -> Axes:
    """Return the axes of `a` from the slowest to the fastest in this order; None for ``"C"``."""
    n = np.ndim(a)
    if n < 2 or order == "C":
        return None
    if order == "K":
        return _axes_as_iterated(a)
    return tuple(range(n))[::-1] if reshape_order(a, order) == "F" else None


def _axes_as_iterated(a: Any) -> Shape:
    """Return the axes from the slowest to the fastest, as NumPy iterates in ``order="K"``.

    Longer strides are slower. Axes that are broadcast have none, and stay where they are unless
    another axis passes them.
    """
    strides = [abs(stride) if n > 1 else 0 for stride, n in zip(a.strides, a.shape, strict=True)]
    axes: list[int] = []  # the fastest first
    for axis in reversed(range(len(strides))):
        place = len(axes)
        for j in reversed(range(len(axes))):
            if strides[axis] and strides[axes[j]]:
                if strides[axes[j]] <= strides[axis]:
                    break
                place = j
        axes.insert(place, axis)
    return tuple(reversed(axes))


def _register_ravel(f: Callable, flatten: Callable) -> None:
    @rrule.register(f, ARRAY, shaped_by=(0,))
    def ravel_rrule(a: Any, *, order: str = "C") -> Any:
        axes, shape = axes_in_order(a, order), np.shape(a)

        def ravel_pullback(y_bar: Any) -> Any:
            if axes is None:
                return np.reshape(y_bar, shape)
            return np.transpose(np.reshape(y_bar, [shape[i] for i in axes]), np.argsort(axes))

        return flatten(a if axes is None else np.transpose(a, axes)), ravel_pullback

    @frule.register(f, ARRAY)
    def ravel_frule(dots: tuple, a: Any, *, order: str = "C") -> Any:
        axes, a_dot = axes_in_order(a, order), dots[0]
        if axes is not None:
            a, a_dot = np.transpose(a, axes), np.transpose(a_dot, axes)
        return flatten(a), np.ravel(a_dot)


_register_ravel(np.ravel, np.ravel)
_register_ravel(np.ndarray.flatten, lambda a: a.flatten())

# Axes of length one come and go.


def rows_back(y_bars: Any, a: Any, axis: Any = None) -> Any:
    return np.reshape(y_bars, (len(y_bars), *a.shape))


linear_rule(
    np.squeeze,
    lambda y_bar, a, axis=None: np.reshape(y_bar, a.shape),
    types=(ARRAY,),
    rows=(rows_back,),
)
linear_rule(
    np.expand_dims,
    lambda y_bar, a, axis: np.reshape(y_bar, a.shape),
    types=(ARRAY,),
    rows=(rows_back,),
)


# -------------------------------------------------------------------- at least so many dimensions


def _register_at_least(f: Callable) -> None:
    """Register both rules of a function that reshapes each of its arguments.

    Of one argument it returns the array, of several a tuple of arrays.
    """

    @rrule.register(f, [Array, *Scalar, list, tuple], shaped_by=EVERY)
    def atleast_rrule(*arys: Any) -> Any:
        y, spaces = f(*arys), [ProjectTo(a) for a in arys]
        shapes = [shape_of(a) for a in arys]

        def atleast_pullback(y_bar: Any) -> Any:
            bars = [y_bar] if len(shapes) == 1 else [unthunk(part) for part in y_bar]
            return tuple([back(*each) for each in zip(bars, shapes, spaces, strict=True)])

        return y, atleast_pullback

    def back(bar: Any, shape: Shape, space: Callable) -> Any:
        return bar if isinstance(bar, AbstractZero) else space(np.reshape(bar, shape))

    @frule.register(f, [Array, *Scalar, list, tuple])
    def atleast_frule(dots: tuple, *arys: Any) -> Any:
        y, y_dot = f(*arys), f(*[natural(d, a) for d, a in zip(dots, arys, strict=True)])
        return y, y_dot if len(arys) == 1 else Tangent[type(y)](*y_dot)


for _atleast in (np.atleast_1d, np.atleast_2d, np.atleast_3d):
    _register_at_least(_atleast)
