"""Undoing broadcasting: sum a cotangent back to the shape that was broadcast."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from chainrules_core.errors import ProjectionError
from chainrules_core.tangents.missing import NotImplementedTangent
from chainrules_core.tangents.thunk import unthunk_deep
from chainrules_core.tangents.zero import AbstractTangent, AbstractZero


def unbroadcast(x_bar: Any, shape: tuple[int, ...]) -> Any:
    """The cotangent of `x`, from that of `x` broadcast to a larger shape.

    Broadcasting copies; its adjoint sums the copies.

    Parameters
    ----------
    x_bar : array_like
        Anything that has a shape and that ``np.sum`` takes, traced values among it. A thunk is
        forced, a zero passes.
    shape : tuple of int
        The shape of `x`.

    Returns
    -------
    array_like
        Of shape `shape`; `x_bar` itself if it has this shape.

    Raises
    ------
    ProjectionError
        If `shape` cannot be broadcast to the shape of `x_bar`.

    Examples
    --------
    >>> unbroadcast(np.ones((4, 3)), (3,))
    array([4., 4., 4.])
    >>> unbroadcast(np.ones((4, 3)), (4, 1))
    array([[3.],
           [3.],
           [3.],
           [3.]])
    >>> float(unbroadcast(np.ones((4, 3)), ()))
    12.0
    """
    is_array = type(x_bar) is np.ndarray
    if not is_array and isinstance(x_bar, AbstractTangent):
        if isinstance(x_bar, (AbstractZero, NotImplementedTangent)):
            return x_bar
        return unbroadcast(unthunk_deep(x_bar), shape)
    try:
        larger = x_bar.shape
    except AttributeError:
        larger = np.shape(x_bar)
    if larger == shape:
        return x_bar
    total = np.add.reduce if is_array else np.sum  # the same, in half the time
    if shape == ():
        return total(x_bar, axis=None)
    axes, keepdims = _summed_axes(tuple(larger), tuple(shape))
    if not keepdims:
        return total(x_bar, axis=axes)
    summed = total(x_bar, axis=axes, keepdims=True)
    return summed if len(larger) == len(shape) else np.reshape(summed, shape)


def unbroadcast_rows(x_bars: Any, shape: tuple[int, ...]) -> Any:
    """Return many cotangents of `x`, from those of `x` broadcast to a larger shape.

    Parameters
    ----------
    x_bars : ndarray
        The cotangents, with one axis for them in front.
    shape : tuple of int
        The shape of `x`.

    Returns
    -------
    ndarray
        Of shape ``(n, *shape)``.

    Examples
    --------
    >>> unbroadcast_rows(np.ones((2, 4, 3)), (3,))
    array([[4., 4., 4.],
           [4., 4., 4.]])
    """
    rows = (len(x_bars), *shape)
    if x_bars.shape == rows:
        return x_bars
    ones = (1,) * (x_bars.ndim - len(rows))
    return np.reshape(unbroadcast(x_bars, (rows[0], *ones, *shape)), rows)


@functools.lru_cache(maxsize=4096)
def _summed_axes(larger: tuple[int, ...], shape: tuple[int, ...]) -> tuple[Any, bool]:
    """Return the axes that are summed, and whether they are kept."""
    added = len(larger) - len(shape)
    if added >= 0 and larger[added:] == shape:
        return (0 if added == 1 else tuple(range(added))), False
    if added < 0 or any(n not in (1, m) for n, m in zip(shape, larger[added:], strict=True)):
        raise ProjectionError(shape, larger, hint=_HINT)
    axes = list(range(added))
    for axis, (n, m) in enumerate(zip(shape, larger[added:], strict=True), added):
        if n != m:
            axes.append(axis)
    return (axes[0] if len(axes) == 1 else tuple(axes)), True


_SMALL = 2048  # elements; beyond that a copy takes longer than NumPy's way to a view
_PLAIN = frozenset({float, complex, np.ndarray, np.float64, np.float32, np.complex128})


def spread_to(y: Any, shape: tuple[int, ...]) -> Any:
    """`y` broadcast to a shape: a view, or of small arrays a copy, which is made more quickly.

    Examples
    --------
    >>> spread_to(2.0, (3,))
    array([2., 2., 2.])
    """
    if (type(y) is np.float64 or type(y) is float) and math.prod(shape) <= _SMALL:
        spread = np.empty(shape)
        spread.fill(y)
        return spread
    if type(y) not in _PLAIN or math.prod(shape) > _SMALL or np.ndim(y) > len(shape):
        return np.broadcast_to(y, shape)
    spread = np.empty(shape, getattr(y, "dtype", type(y)))
    try:
        spread[...] = y
    except ValueError:
        return np.broadcast_to(y, shape)  # NumPy says what is wrong in its own words
    return spread


_HINT = (
    "The first cannot be broadcast to the second, so the second cannot be summed to the first. "
    "Make the cotangent of the shape that the function has broadcast the argument to."
)
