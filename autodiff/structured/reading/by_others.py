"""Functions of NumPy as they are made of others, to the last bit: programs read these instead.

So their adjoints are those of differences, products and sums, and their loops become machine code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.form.ir import Value, known
from autodiff.structured.form.kinds import UNKNOWN
from autodiff.structured.form.known_functions import function_of
from autodiff.structured.writing.rules.bound_rules import is_of_library
from chainrules_core import rrule
from chainrules_core.registry.entries import key_of


def diff(a: Any) -> Any:
    """Return the differences of neighbours along the last axis."""
    return a[..., 1:] - a[..., :-1]


def diff_first(a: Any) -> Any:
    """Return the differences of neighbours along the first axis."""
    return a[1:] - a[:-1]


def cross(a: Any, b: Any) -> Any:
    """Return the product of two vectors of three elements."""
    assert len(a) == 3
    assert len(b) == 3
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


def trace(a: Any) -> Any:
    """Return the sum of the elements on the diagonal."""
    return np.sum(np.diag(a))


def var(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Return the mean of the squared distances from the mean."""
    d = a - np.mean(a, axis=axis, keepdims=True)
    return np.mean(d * d, axis=axis, keepdims=keepdims)


def std(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Return the root of the mean of the squared distances from the mean."""
    d = a - np.mean(a, axis=axis, keepdims=True)
    return np.sqrt(np.mean(d * d, axis=axis, keepdims=keepdims))


def gradient_last(f: Any, h: Any = 1.0) -> Any:
    """Return the slopes along the last axis."""
    out = np.empty_like(f)
    out[..., 1:-1] = (f[..., 2:] - f[..., :-2]) / (2.0 * h)
    out[..., 0] = (f[..., 1] - f[..., 0]) / h
    out[..., -1] = (f[..., -1] - f[..., -2]) / h
    return out


def gradient_first(f: Any, h: Any = 1.0) -> Any:
    """Return the slopes along the first axis."""
    out = np.empty_like(f)
    out[1:-1] = (f[2:] - f[:-2]) / (2.0 * h)
    out[0] = (f[1] - f[0]) / h
    out[-1] = (f[-1] - f[-2]) / h
    return out


def gradients(f: Any) -> Any:
    """Return the slopes of a matrix along both axes."""
    return gradient_first(f), gradient_last(f)


def meshgrid(x: Any, y: Any) -> Any:
    """Return the coordinates of the points of a grid."""
    xs, ys = np.empty((len(y), len(x))), np.empty((len(y), len(x)))
    xs[...] = x
    ys[...] = y[:, None]
    return xs, ys


def full(shape: Any, value: Any) -> Any:
    """Return an array that is filled with a float."""
    a = np.empty(shape)
    a[...] = value
    return a


def diag(v: Any) -> Any:
    """Return a matrix with a vector on its diagonal."""
    n = len(v)
    m = np.zeros((n, n))
    for i in range(n):
        m[i, i] = v[i]
    return m


def _by_axis(last: Callable, first: Callable, of_all: Callable | None) -> Callable:
    def chosen(ndim: int, axis: Any = None) -> Callable | None:
        if ndim == 1:
            return first if axis in (None, 0, -1) else None
        if axis is None:
            return of_all if ndim == 2 else None
        if type(axis) is not int:
            return None
        return last if axis in (-1, ndim - 1) else first if axis in (0, -ndim) else None

    return chosen


# What is chosen by the number of axes, and by the axis if it is given, which is left out then.
_BY_AXIS: dict[Any, Callable] = {
    np.diff: _by_axis(diff, diff_first, diff),
    np.gradient: _by_axis(gradient_last, gradient_first, gradients),
}
_MADE: dict[Any, tuple[Callable, tuple[int, ...]]] = {
    np.cross: (cross, (1, 1)), np.trace: (trace, (2,)), np.ndarray.trace: (trace, (2,)),
    np.diag: (diag, (1,)), np.meshgrid: (meshgrid, (1, 1)),
}  # fmt: skip
_ALONG: dict[Any, Callable] = {
    np.std: std, np.var: var, np.ndarray.std: std, np.ndarray.var: var,
}  # fmt: skip
_TUPLES = frozenset({gradients, meshgrid})
_GIVE_TUPLES = type(np.gradient(np.eye(2))) is tuple  # older ones give lists

JOINED = frozenset({np.concatenate, np.hstack})
"""Functions that join vectors, and lists of numbers with them."""

OF_VECTORS = frozenset({*_BY_AXIS, *_MADE, *_ALONG})
"""Functions that make vectors of lists of numbers."""

ALONG = frozenset({std, var})
"""Functions that are given the axes."""

FUNCTIONS = frozenset({full, diag, diff, diff_first, cross, trace, var, std, gradient_last,
                       gradient_first, gradients, meshgrid})  # fmt: skip
"""Functions of this file that are read in the place of others."""


def made_of_others(f: Any, args: list, options: dict[str, Any]) -> Callable | None:
    """Return the function that is read in the place of a call; None where it is read as it is."""
    if f is np.full and len(args) == 2 and not options and _is_float(args[1]):
        return full
    kinds = [a.kind for a in args if type(a) is Value and a.kind.dtype == np.float64]
    given = {name: known(v) if type(v) is Value else UNKNOWN for name, v in options.items()}
    if not kinds or len(kinds) < len(args) or UNKNOWN in given.values():
        return None
    ranks = tuple([kind.ndim for kind in kinds])
    found: Callable | None = None
    if f in _BY_AXIS and len(args) == 1 and given.keys() <= {"axis"}:
        found = _BY_AXIS[f](*ranks, **given)
    elif f in _MADE and not given and _MADE[f][1] == ranks:
        found = _MADE[f][0]
    elif f in _ALONG and len(args) == 1 and given.keys() <= {"axis", "keepdims"} and ranks[0]:
        found = _ALONG[f]
    if found is None or (found in _TUPLES and not _GIVE_TUPLES):
        return None
    return found if _is_ruled_by_library(f, ranks) else None


def _is_float(v: Any) -> bool:
    return type(v) is Value and v.kind.is_scalar and v.kind.classes <= {float, np.float64}


def _is_ruled_by_library(f: Any, ranks: tuple[int, ...]) -> bool:
    entry = rrule.entry(key_of(function_of(f))[0])
    samples = tuple([np.ones((2,) * n) for n in ranks])
    resolved = None if entry is None else entry.resolve(samples, {}, None)
    return resolved is not None and is_of_library(resolved[0])
