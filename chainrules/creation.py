"""Arrays made of values: of nested lists, copies, casts, constant fills.

All are linear. A cast changes the precision or takes the real part, which the projection of
cotangents undoes; a cast to integers rounds, and is constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.refused import RefusedError
from chainrules.shapes.reshaping import ARRAY, shape_of
from chainrules_core import (
    AbstractZero,
    NoTangent,
    ProjectTo,
    ZeroTangent,
    frule,
    linear_rule,
    non_differentiable,
    rrule,
    unbroadcast,
)
from chainrules_core.authoring import natural

ARRAY_LIKE = (*ARRAY, list, tuple)


def rounds(dtype: Any) -> bool:
    """Whether a result asked for in this dtype is constant, being of integers.

    Examples
    --------
    >>> rounds(int), rounds(np.float32), rounds(None)
    (True, False, False)
    """
    return dtype is not None and np.dtype(dtype).kind not in "fcO"


def of_numbers(y: np.ndarray) -> np.ndarray:
    """Return an array made of traced values, if it is not one of records."""
    if y.dtype.kind == "V":
        raise RefusedError(
            f"an array of {y.dtype}",
            "its elements are records of bytes, not numbers. Keep the fields as arrays of their "
            "own, in a dict or a dataclass.",
        )
    return y


# --------------------------------------------------------------------------- array and its kindred


def unstacked(y_bar: Any, space: Any) -> Any:
    """Return the cotangent of nested lists from that of the array made of them.

    Programs give a number itself as its space; they project its cotangent themselves.
    """
    if isinstance(y_bar, AbstractZero) or not callable(space):
        return y_bar
    parts = getattr(space, "parts", None)
    if parts is None or hasattr(space, "shape"):
        return space(y_bar)
    parts = parts.values() if isinstance(parts, dict) else parts
    if type(y_bar) is np.ndarray and y_bar.ndim == 1:
        return space(y_bar.tolist())
    return space([unstacked(y_bar[i], part) for i, part in enumerate(parts)])


UNSET: Any = object()
"""Stands for an argument that a call does not give."""


def register_array(f: Callable) -> None:
    """Register both rules of a function that makes an array of a number, array or nested lists."""

    @rrule.register(f, ARRAY_LIKE, shaped_by=(0,))
    def array_rrule(a: Any, dtype: Any = UNSET, **options: Any) -> Any:
        y = of_numbers(called(f, a, dtype, options))
        if y.dtype == object:
            return None
        space, shape = ProjectTo(a), shape_of(a)

        def array_pullback(y_bar: Any) -> Any:
            a_bar: Any = ZeroTangent()
            if dtype is UNSET or not rounds(dtype):
                a_bar = unstacked(np.reshape(y_bar, shape), space)
            return a_bar if dtype is UNSET else (a_bar, NoTangent())

        return y, array_pullback

    # For engines that know: the elements stand in the array in their order.
    array_rrule.puts_together = True  # type: ignore[attr-defined] # a function with one

    @frule.register(f, ARRAY_LIKE)
    def array_frule(dots: tuple, a: Any, dtype: Any = UNSET, **options: Any) -> Any:
        y = of_numbers(called(f, a, dtype, options))
        if y.dtype == object:
            return None
        if dtype is not UNSET and rounds(dtype):
            return y, ZeroTangent()
        return y, called(f, natural(dots[0], a), y.dtype, options)


def called(f: Callable, a: Any, dtype: Any, options: dict[str, Any]) -> Any:
    """Call `f` with the dtype, if there is one."""
    return f(a, **options) if dtype is UNSET else f(a, dtype, **options)


for _array in (
    np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require,
    np.asarray_chkfinite, np.fromiter,
):  # fmt: skip
    register_array(_array)

linear_rule(np.copy, lambda y_bar, a, order="K", subok=False: y_bar, types=(ARRAY,))


# ------------------------------------------------------------------------------------------- casts


def astype_rrule(x: Any, dtype: Any, **options: Any) -> Any:
    def astype_pullback(y_bar: Any) -> Any:
        return (ZeroTangent() if rounds(dtype) else y_bar), NoTangent()

    return of_numbers(x.astype(dtype, **options)), astype_pullback


def astype_frule(dots: tuple, x: Any, dtype: Any, **options: Any) -> Any:
    y_dot = ZeroTangent() if rounds(dtype) else dots[0].astype(dtype, **options)
    return of_numbers(x.astype(dtype, **options)), y_dot


for _astype in (np.astype, np.ndarray.astype):
    rrule.register(_astype, ARRAY, shaped_by=(0,))(astype_rrule)
    frule.register(_astype, ARRAY)(astype_frule)


def register_complex(f: Callable) -> None:
    """Register both rules of a complex type: a cast, or a number made of its two parts.

    A call with one argument may come with the imaginary part's default, an int.
    """

    def made(real: Any, imag: Any) -> Any:
        return f(real) if type(imag) is int and imag == 0 else f(real, imag)

    @rrule.register(f, ARRAY_LIKE, shaped_by=(0, 1))
    def complex_rrule(real: Any, imag: Any = 0) -> Any:
        space = ProjectTo(real)

        def complex_pullback(y_bar: Any) -> Any:
            imag_bar = ZeroTangent() if np.ndim(y_bar) else -1j * y_bar
            return unstacked(y_bar, space), imag_bar

        return made(real, imag), complex_pullback

    @frule.register(f, ARRAY_LIKE)
    def complex_frule(dots: tuple, real: Any, imag: Any = 0) -> Any:
        y, real_dot = made(real, imag), natural(dots[0], real)
        if np.ndim(y):
            return y, f(real_dot)
        return y, f(real_dot + 1j * natural(dots[1], imag))


# NumPy's number types are casts when called. Other packages put what is no class into its table.
for _type in dict.fromkeys(t for t in np.sctypeDict.values() if isinstance(t, type)):
    if issubclass(_type, np.inexact):
        if issubclass(_type, np.complexfloating):
            register_complex(_type)
        else:
            linear_rule(_type, unstacked, types=(ARRAY_LIKE,))
    elif issubclass(_type, (np.integer, np.bool_)):
        non_differentiable(_type)


# ------------------------------------------------------------------------------------------- fills


@rrule.register(np.full, object, ARRAY_LIKE, shaped_by=(1,))
def full_rrule(shape: Any, fill_value: Any, *, dtype: Any = None, **options: Any) -> Any:
    space, fill_shape = ProjectTo(fill_value), shape_of(fill_value)

    def full_pullback(y_bar: Any) -> Any:
        return NoTangent(), filled_back(y_bar, dtype, fill_shape, space)

    return of_numbers(np.full(shape, fill_value, dtype, **options)), full_pullback


def filled_back(y_bar: Any, dtype: Any, shape: tuple, space: Any) -> Any:
    return ZeroTangent() if rounds(dtype) else unstacked(unbroadcast(y_bar, shape), space)


@frule.register(np.full, object, ARRAY_LIKE)
def full_frule(dots: tuple, shape: Any, fill_value: Any, *, dtype: Any = None, **o: Any) -> Any:
    y = of_numbers(np.full(shape, fill_value, dtype, **o))
    if rounds(dtype):
        return y, ZeroTangent()
    return y, np.full(shape, natural(dots[1], fill_value), y.dtype, **o)


@rrule.register(np.full_like, object, ARRAY_LIKE, shaped_by=(0, 1))
def full_like_rrule(a: Any, fill_value: Any, *, dtype: Any = None, **options: Any) -> Any:
    y = of_numbers(np.full_like(a, fill_value, dtype, **options))
    space, fill_shape = ProjectTo(fill_value), shape_of(fill_value)

    def full_like_pullback(y_bar: Any) -> Any:
        return ZeroTangent(), filled_back(y_bar, y.dtype, fill_shape, space)

    return y, full_like_pullback


@frule.register(np.full_like, object, ARRAY_LIKE)
def full_like_frule(dots: tuple, a: Any, fill_value: Any, *, dtype: Any = None, **o: Any) -> Any:
    y = of_numbers(np.full_like(a, fill_value, dtype, **o))
    if rounds(y.dtype):
        return y, ZeroTangent()
    return y, np.full_like(a, natural(dots[1], fill_value), y.dtype, **o)
