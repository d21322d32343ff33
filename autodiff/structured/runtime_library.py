"""The runtime library of structured programs: the helpers that generated code calls."""

from __future__ import annotations

import cmath
import collections
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autodiff.structured.blas_sums import divided_twice
from chainrules_core import AbstractZero, Tangent, ZeroTangent, unbroadcast, unthunk

_Axes = tuple[int, ...] | None

add_at = np.add.at


class BailoutError(Exception):
    """Machine code meets a case that only NumPy can handle: bail out, and run the source."""


class ShapeMismatchError(BailoutError, ValueError):
    """Arrays in machine code have unexpected shapes.

    Attributes
    ----------
    ones : dict
        For each array among the arguments, by name: the axes of length 1.
    """

    def __init__(self, ones: dict[str, set[int]]) -> None:
        super().__init__("arrays that do not fit")
        self.ones = ones


TINY = 1e-150
"""Products larger than this are safe to divide by."""


class FloatErrorRecorder:
    """A context manager that records floating-point errors of which NumPy would warn.

    Attributes
    ----------
    is_on : bool
        Whether it records any.
    found : bool
        Whether an error has occurred.
    """

    __slots__ = ("_state", "found", "is_on")

    def __init__(self, is_on: bool) -> None:
        self.is_on = is_on

    def __call__(self, kind: str, flag: int) -> None:
        """Record an error."""
        self.found = True

    def __enter__(self) -> FloatErrorRecorder:
        self.found = False
        noted = [kind for kind, mode in np.geterr().items() if mode == "warn" and self.is_on]
        given: dict[str, Any] = {**dict.fromkeys(noted, "call"), "call": self} if noted else {}
        self._state = np.errstate(**given)
        self._state.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._state.__exit__(*error)


def raises_errors() -> bool:
    """Whether floating-point errors do more than warn or be recorded by `FloatErrorRecorder`."""
    modes = set(np.geterr().values()) - {"ignore", "warn"}
    return bool(modes) and not (modes == {"call"} and type(np.geterrcall()) is FloatErrorRecorder)


class ChangedError(Exception):
    """A value does not match the kinds that the program is specialized to."""


def check_array(x: Any, ndim: int, dtype: np.dtype) -> None:
    """Raise `ChangedError` unless `x` is an array of this rank and dtype."""
    if getattr(x, "ndim", -1) != ndim or x.dtype != dtype:
        raise ChangedError


def is_finite(x: Any) -> bool:
    """Whether a number, array, or pytree of them has no Inf or NaN; true for None."""
    kind = type(x)
    if kind is float or kind is np.float64:
        return math.isfinite(x)
    if x is None:
        return True
    if kind is list or kind is tuple:
        are_floats = set(map(type, x)) == {float}
        return all(map(math.isfinite if are_floats else is_finite, x))
    if kind is np.ndarray:
        # A fast test: a finite sum of squares implies finite elements.
        if x.dtype.kind == "f" and x.flags.c_contiguous and math.isfinite(np.vdot(x, x)):
            return True
        return bool(np.isfinite(x).all())
    return cmath.isfinite(x)


def copied(x: np.ndarray) -> np.ndarray:
    """Return a copy of an array with the same writeable flag."""
    copy = x.copy("K")
    copy.flags.writeable = x.flags.writeable
    return copy


def total(x: Any) -> Any:
    """Return the sum of all elements, as a Python float if it is a float64."""
    found = np.add.reduce(x, None) if type(x) is np.ndarray else x
    return float(found) if type(found) is np.float64 else found


def extremum_back(g: Any, y: Any, x: np.ndarray, axes: _Axes = None) -> np.ndarray:
    """Divide the cotangent of an extremum along axes equally among the elements that attain it."""
    hit = x == y
    n = np.count_nonzero(hit) if axes is None else hit.sum(axes, keepdims=True)
    if not (n if axes is None else n.all()):
        raise ChangedError("an extremum that is NaN")
    return hit * (g / n)


def cumsum_back(g: np.ndarray, axis: int = 0) -> np.ndarray:
    """Return the cotangent of an array from that of its cumulative sum along an axis."""
    if g.ndim == 1:
        return np.cumsum(g[::-1])[::-1]
    return np.flip(np.cumsum(np.flip(g, axis), axis), axis)


def cumprod_back(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the cotangent of a vector from that of its cumulative product."""
    if np.abs(y).min(initial=1.0) > TINY:
        return np.cumsum((g * y)[::-1])[::-1] / x
    sums, behind, before = np.empty_like(x), 0.0, np.concatenate(([1.0], y[:-1]))
    for i in range(len(x) - 1, -1, -1):
        sums[i] = behind = g[i] + (behind * x[i + 1] if i + 1 < len(x) else 0.0)
    return sums * before


def prod_back(g: Any, y: Any, x: np.ndarray) -> np.ndarray:
    """Return the cotangent of a vector from that of the product of its elements."""
    if TINY < abs(y) < 1 / TINY:
        return (g * y) / x
    before, behind = (np.concatenate(([1.0], np.cumprod(v)[:-1])) for v in (x, x[::-1]))
    return (g * before) * behind[::-1]


def convolve_back(g: np.ndarray, other: np.ndarray, own: np.ndarray, mode: str) -> np.ndarray:
    """Return the cotangent of a vector from that of its convolution with another."""
    n = len(own) + len(other) - 1
    if len(g) < n:
        shorter = min(len(own), len(other))
        start = (shorter - 1) // 2 if mode == "same" else shorter - 1
        whole = np.zeros(n)
        whole[start : start + len(g)] = g
        g = whole
    return np.correlate(g, other, "valid")


def cholesky_back(g: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the cotangent of a matrix from that of its Cholesky factor."""
    x = divided_twice(_half_triangle(y.T @ g), y)
    return _half_triangle(x + x.T)


def eigh_back(w_bar: Any, v_bar: Any, found: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the cotangent of a symmetric matrix from those of its eigenvalues and eigenvectors.

    Either may be None. Raise if eigenvalues coincide: then the rule decides.
    """
    w, v = found
    if v_bar is None:
        x = (v * w_bar) @ v.T
    else:
        m, gaps = v.T @ v_bar, w - w[:, None] + np.eye(len(w))
        if (np.abs(gaps) <= nearest(len(w)) * np.abs(w).max(initial=0.0)).any():
            raise ChangedError("equal eigenvalues")
        inner = 0.5 * (m - m.T) / gaps
        if w_bar is not None:
            diagonal_of(inner)[...] += w_bar
        x = v @ inner @ v.T
    return _half_triangle(x + x.T)


def nearest(n: int) -> float:
    """Return the tolerance for equal eigenvalues, relative to the largest of n."""
    return 4 * n * float(np.finfo(float).eps)


def _half_triangle(x: np.ndarray) -> np.ndarray:
    """Return the lower triangle of a matrix with its diagonal halved."""
    return x * _halves(len(x))


@functools.lru_cache(maxsize=8)
def _halves(n: int) -> np.ndarray:
    """Return the lower triangle of ones with halves on the diagonal."""
    return np.tril(np.ones((n, n))) - 0.5 * np.eye(n)


def interp_back_to_values(g: Any, x: Any, xp: np.ndarray) -> np.ndarray:
    """Return the cotangent of the values at the nodes of an interpolation."""
    _, j, t = _between(x, xp)
    return _to_ends(g, j, t, len(xp))


def interp_back_to_nodes(g: Any, x: Any, xp: np.ndarray, fp: np.ndarray) -> np.ndarray:
    """Return the cotangent of the nodes of an interpolation."""
    right, j, t = _between(x, xp)
    return _to_ends(-g * _slope(right, x, xp, fp), j, t, len(xp))


def interp_back_to_places(g: Any, x: Any, xp: np.ndarray, fp: np.ndarray) -> Any:
    """Return the cotangent of the points where an interpolation is evaluated."""
    result = g * _slope(_between(x, xp)[0], x, xp, fp)
    return result if type(x) is np.ndarray else float(result)


def _between(x: Any, xp: np.ndarray) -> tuple[Any, Any, Any]:
    """Locate points: the number of nodes at or before each, its interval, and where it lies in it.

    Intervals are numbered by their left nodes; positions in them run from 0 to 1.
    """
    n = len(xp)
    if n < 2:
        raise ChangedError("an interpolation of one value")
    right = xp.searchsorted(x, "right")
    if type(x) is not np.ndarray:
        j = min(max(int(right) - 1, 0), n - 2)
        start, end = xp.item(j), xp.item(j + 1)
        if not start < end:
            raise ChangedError("nodes that are not in order")
        return right, j, min(max((x - start) / (end - start), 0.0), 1.0)
    j = np.minimum(np.maximum(right - 1, 0), n - 2)
    start = xp[j]
    width = xp[j + 1] - start
    if not width.min(initial=1.0) > 0:
        raise ChangedError("nodes that are not in order")
    return right, j, np.minimum(np.maximum((x - start) / width, 0.0), 1.0)


def _to_ends(g: Any, j: Any, t: Any, n: int) -> np.ndarray:
    """Distribute the cotangent of each point to the nodes on both sides of it."""
    if type(j) is int:
        result = np.zeros(n)
        result[j], result[j + 1] = g * (1.0 - t), g * t
        return result
    return np.bincount(j, g * (1.0 - t), n) + np.bincount(j + 1, g * t, n)


def _slope(right: Any, x: Any, xp: np.ndarray, fp: np.ndarray) -> Any:
    """Return the slope of an interpolation: the mean of both sides at a node, and 0 outside."""
    slopes = np.zeros(len(xp) + 1)
    slopes[1:-1] = (fp[1:] - fp[:-1]) / (xp[1:] - xp[:-1])
    left = right - (xp[right - 1] == x) * (right > 0)
    return 0.5 * (slopes[left] + slopes[right])


def norm_back(g: Any, y: Any, x: np.ndarray, axes: _Axes = None) -> np.ndarray:
    """Return the cotangent of vectors from that of their norms; 0 where the norm is 0."""
    if axes is None:
        return (g / y if y != 0 else 0.0) * x
    return (np.where(y != 0, g, 0.0) / np.where(y != 0, y, 1.0)) * x


def inner(d: Any, g: Any) -> Any:
    """Return the sum of conj(d) g over all elements."""
    if type(d) is np.ndarray and type(g) is np.ndarray and d.shape == g.shape:
        found: Any = np.vdot(d, g)
        return float(found) if type(found) is np.float64 else found
    return total(np.conj(d) * g)


def spread(g: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return a cotangent broadcast into a new array."""
    x = np.empty(shape, dtype)
    x[...] = g
    return x


def own(g: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return a cotangent in a new array that the sweep may write into."""
    return spread(g, shape, dtype)


def diagonal_of(x: np.ndarray) -> np.ndarray:
    """Return a writable view of the diagonal of a matrix."""
    n = min(x.shape)
    return np.einsum("ii->i", x[:n, :n])


def zeros_like(x: np.ndarray) -> np.ndarray:
    """Return zeros in the layout of an array, in a fraction of the time of `numpy.zeros_like`."""
    return np.zeros(x.shape, x.dtype) if x.flags.c_contiguous else np.zeros_like(x)


def shadow_with(x: np.ndarray, g: Any) -> np.ndarray:
    """Return a new shadow of an array, initialized with its first cotangent if there is one."""
    if type(g) is not np.ndarray or g.shape != x.shape or g.dtype != x.dtype:
        shadow = zeros_like(x)
        if g is not None:
            shadow += g
        return shadow
    shadow = np.empty_like(x)
    shadow[...] = g
    return shadow


def zeros_along(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return zeros like an array, with this order of the axes in memory, the slowest first."""
    return np.zeros([x.shape[k] for k in axes], x.dtype).transpose(places_of(axes))


def laid_out(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return a copy of an array with this order of the axes in memory, the slowest first."""
    return np.array(x.transpose(axes), order="C").transpose(places_of(axes))


def wipe(shadow: np.ndarray) -> None:
    """Mark the end of a shadow. Machine code sets it to zero, because it uses the memory again."""


@functools.lru_cache(maxsize=64)
def places_of(axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the inverse of a permutation of axes."""
    return tuple([axes.index(k) for k in range(len(axes))])


def fitted(x: Any, shape: tuple[int, ...]) -> Any:
    """Sum a cotangent over the axes that were broadcast."""
    return x if x.shape == shape else unbroadcast(x, shape)


def last_written(shadow: np.ndarray, index: Any) -> np.ndarray:
    """Return the cotangent of values scattered to arrays of indices: 0 where they were overwritten.

    An indexed write of numbers shows which one NumPy writes last where an index is repeated. Unless
    the index arrays are vectors, the order depends on memory layout: then the call is traced.
    """
    x = shadow[index]
    order = np.arange(x.size).reshape(x.shape)
    last = np.empty(shadow.shape, order.dtype)
    last[index] = order
    is_overwritten = last[index] != order
    if is_overwritten.any():
        parts = index if type(index) is tuple else (index,)
        arrays = [part for part in parts if isinstance(part, np.ndarray)]
        if any(a.ndim != 1 or a.strides[0] <= 0 for a in arrays):
            raise ChangedError("places of several axes come again")
        x[is_overwritten] = 0.0
    return x


def gather(shadow: np.ndarray, x: Any) -> None:
    """Add a cotangent from a rule to a shadow."""
    x = unthunk(x)
    if not isinstance(x, AbstractZero):
        if np.shape(x) != shadow.shape:
            x = unbroadcast(x, shadow.shape)
        shadow += x


def settled(x: Any, shape: tuple[int, ...]) -> Any:
    """Return a cotangent from a rule as an array of this shape."""
    x = unthunk(x)
    if isinstance(x, AbstractZero):
        return np.zeros(shape)
    return x if np.shape(x) == shape else unbroadcast(x, shape)


def or_zeros(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return a cotangent, or zeros of this shape if nothing was added to it."""
    return x if x.size or x.shape == shape else np.zeros(shape, x.dtype)


def whole(x: Any, primal: np.ndarray) -> np.ndarray:
    """Return the cotangent of an argument as a new array: zeros if nothing was added to it."""
    if type(x) is not np.ndarray:
        return np.full_like(primal, x)
    x = or_zeros(x, primal.shape)
    if x.shape != primal.shape:
        raise ValueError("a cotangent of another shape")
    return x.astype(primal.dtype)


def number(x: Any) -> Any:
    """Return a cotangent from a rule for a number."""
    x = unthunk(x)
    if isinstance(x, AbstractZero):
        return 0.0
    return total(x)


def slope(of: Callable[[], Any]) -> Any:
    """Return a partial derivative; NaN if Python divides by zero, since it may be infinite."""
    try:
        return of()
    except ZeroDivisionError:
        return math.nan


def real_part(x: Any) -> Any:
    """Return the real part of a cotangent from a rule, for a real number or array."""
    x = unthunk(x)
    return x if isinstance(x, AbstractZero) else x.real


def part(x: Any, i: int) -> Any:
    """Return one part of a cotangent from a rule, for an argument that is a list."""
    x = unthunk(x)
    return x if isinstance(x, AbstractZero) else x[i]


def several(cls: type, *bars: Any) -> Tangent:
    """Return the cotangent of a tuple; None stands for a part without one."""
    return Tangent[cls](*[ZeroTangent() if bar is None else bar for bar in bars])


def sum_back(shadows: list, g: Any, axis: int) -> None:
    """Add the cotangent of the sum of a list to the shadow of each item."""
    for i, shadow in enumerate(shadows):
        shadows[i] += g if type(shadow) is not np.ndarray else unbroadcast(g, shadow.shape)


def stack_back(shadows: list, g: np.ndarray, axis: int) -> None:
    """Split the cotangent of stacked items along an axis, and add each part to its shadow."""
    parts = np.moveaxis(g, axis, 0) if axis else g
    if parts.ndim == 1:
        parts = parts.tolist()
    for i, part in enumerate(parts):
        if type(shadows[i]) is list:
            stack_back(shadows[i], part, 0)
        else:
            shadows[i] += part


def concatenate_back(shadows: list, g: np.ndarray, axis: int) -> None:
    """Split the cotangent of concatenated arrays, and add each piece to its shadow."""
    at = 0
    g = np.moveaxis(g, axis, 0)
    for shadow in shadows:
        n = shadow.shape[axis]
        shadow += np.moveaxis(g[at : at + n], 0, axis)
        at += n


def put_back(xs: list, at: int, x: Any) -> None:
    """Undo ``del xs[at]``."""
    xs.insert(at if at >= 0 else len(xs) + 1 + at, x)


def taken_out(xs: list, at: int) -> Any:
    """Undo ``xs.insert(at, x)``; return the item."""
    n = len(xs) - 1
    return xs.pop(min(at, n) if at >= 0 else max(at + n, 0))


_BY_THEIR_NAMES = (
    put_back, taken_out, part, real_part, several, total, inner, fitted, gather, settled, slope,
    spread, whole, number, sum_back, stack_back, concatenate_back, last_written, zeros_like,
    diagonal_of, shadow_with, zeros_along, copied, or_zeros, own, laid_out, wipe,
)  # fmt: skip
SCOPE = {
    **{f.__name__: f for f in _BY_THEIR_NAMES},
    "zeros_by_key": collections.defaultdict,
    "dense": np.ascontiguousarray,
    "add_at": add_at,
    "s_": np.s_,
    "errstate": np.errstate,
    "may_share": np.may_share_memory,
    "array": np.array,
    "zeros": np.zeros,
    "asarray": np.asarray,
    "Changed": ChangedError,
    "Broadcast": BailoutError,
    "__name__": "autodiff.structured.generated",
}
"""What generated code finds by name."""
