"""What structured programs and those who run them call, beside functions of NumPy and rules."""

from __future__ import annotations

import cmath
import collections
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_core import AbstractZero, Tangent, ZeroTangent, unbroadcast, unthunk

add_at = np.add.at


class SteppedAsideError(Exception):
    """Machine code does not know what NumPy does here: its source is run."""


class UnequalError(SteppedAsideError, ValueError):
    """Arrays in machine code have other shapes than expected.

    Attributes
    ----------
    ones : dict
        Of the arrays that it was given, by name: the axes that have one element.
    """

    def __init__(self, ones: dict[str, set[int]]) -> None:
        super().__init__("arrays that do not fit")
        self.ones = ones


TINY = 1e-150
"""Products above this may be divided by."""


class ErrorsNoted:
    """Notes floating-point errors, of which NumPy would warn, for the length of a ``with`` block.

    Attributes
    ----------
    is_on : bool
        Whether it does.
    found : bool
        Whether there was one.
    """

    __slots__ = ("_state", "found", "is_on")

    def __init__(self, is_on: bool) -> None:
        self.is_on = is_on

    def __call__(self, kind: str, flag: int) -> None:
        """Note an error."""
        self.found = True

    def __enter__(self) -> ErrorsNoted:
        self.found = False
        noted = [kind for kind, mode in np.geterr().items() if mode == "warn" and self.is_on]
        given: dict[str, Any] = {**dict.fromkeys(noted, "call"), "call": self} if noted else {}
        self._state = np.errstate(**given)
        self._state.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._state.__exit__(*error)


def raises_errors() -> bool:
    """Whether a floating-point error does more than warn, or be noted."""
    modes = set(np.geterr().values()) - {"ignore", "warn"}
    return bool(modes) and not (modes == {"call"} and type(np.geterrcall()) is ErrorsNoted)


class ChangedError(Exception):
    """A value is of another kind than the program was made for."""


def is_finite(x: Any) -> bool:
    """Whether a number, array or nest of such has neither Inf nor NaN in it; nothing has none."""
    if x is None:
        return True
    if type(x) in (list, tuple):
        return all(map(is_finite, x))
    if type(x) is np.ndarray:
        # The sum of the squares is finite if all elements are, unless these are very large.
        if x.dtype.kind == "f" and x.flags.c_contiguous and math.isfinite(np.vdot(x, x)):
            return True
        return bool(np.isfinite(x).all())
    return cmath.isfinite(x)


def copied(x: np.ndarray) -> np.ndarray:
    """Return a copy of an array, which can be written into only if the array can."""
    made = x.copy("K")
    made.flags.writeable = x.flags.writeable
    return made


def total(x: Any) -> Any:
    """Return the sum of all elements; a float of Python's, with which it computes faster."""
    found = x.sum() if type(x) is np.ndarray else x
    return float(found) if type(found) is np.float64 else found


def extremum_back(
    g: Any, y: Any, x: np.ndarray, axes: tuple[int, ...] | None = None
) -> np.ndarray:  # fmt: skip
    """Share a cotangent among the elements that are the largest or smallest, along some axes."""
    hit = x == y
    n = np.count_nonzero(hit) if axes is None else hit.sum(axes, keepdims=True)
    if not (n if axes is None else n.all()):
        raise ChangedError("an extremum that is NaN")
    return hit * (g / n)


def cumsum_back(g: np.ndarray, axis: int = 0) -> np.ndarray:
    """Return the cotangent of an array by that of its running sums along an axis."""
    if g.ndim == 1:
        return np.cumsum(g[::-1])[::-1]
    return np.flip(np.cumsum(np.flip(g, axis), axis), axis)


def cumprod_back(g: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the cotangent of a vector by that of its running products."""
    if np.abs(y).min(initial=1.0) > TINY:
        return np.cumsum((g * y)[::-1])[::-1] / x
    made, behind, before = np.empty_like(x), 0.0, np.concatenate(([1.0], y[:-1]))
    for i in range(len(x) - 1, -1, -1):
        made[i] = behind = g[i] + (behind * x[i + 1] if i + 1 < len(x) else 0.0)
    return made * before


def prod_back(g: Any, y: Any, x: np.ndarray) -> np.ndarray:
    """Return the cotangent of a vector by that of the product of its elements."""
    if TINY < abs(y) < 1 / TINY:
        return (g * y) / x
    before, behind = (np.concatenate(([1.0], np.cumprod(v)[:-1])) for v in (x, x[::-1]))
    return (g * before) * behind[::-1]


def convolve_back(g: np.ndarray, other: np.ndarray, own: np.ndarray, mode: str) -> np.ndarray:
    """Return the cotangent of a vector by that of its convolution with another."""
    n = len(own) + len(other) - 1
    if len(g) < n:
        shorter = min(len(own), len(other))
        start = (shorter - 1) // 2 if mode == "same" else shorter - 1
        whole = np.zeros(n)
        whole[start : start + len(g)] = g
        g = whole
    return np.correlate(g, other, "valid")


def cholesky_back(g: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the cotangent of a matrix by that of its Cholesky factor."""
    from autodiff.structured.blas_sums import divided_twice  # it imports SciPy's linear algebra

    x = divided_twice(_half_triangle(y.T @ g), y)
    return _half_triangle(x + x.T)


def eigh_back(w_bar: Any, v_bar: Any, found: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the cotangent of a symmetric matrix by those of its eigenvalues and eigenvectors.

    Either may be None. Where eigenvalues coincide, it is for the rule to say what that means.
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
    """Return up to which part of the largest of them n eigenvalues count as equal."""
    return 4 * n * float(np.finfo(float).eps)


def _half_triangle(x: np.ndarray) -> np.ndarray:
    """Return the lower triangle with the diagonal halved."""
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
    """Return the cotangent of the places of an interpolation."""
    made = g * _slope(_between(x, xp)[0], x, xp, fp)
    return made if type(x) is np.ndarray else float(made)


def _between(x: Any, xp: np.ndarray) -> tuple[Any, Any, Any]:
    """Return how many nodes are not behind places, the node before, and how far it is to there."""
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
    """Hand what belongs to each place to the nodes on both sides of it."""
    if type(j) is int:
        made = np.zeros(n)
        made[j], made[j + 1] = g * (1.0 - t), g * t
        return made
    return np.bincount(j, g * (1.0 - t), n) + np.bincount(j + 1, g * t, n)


def _slope(right: Any, x: Any, xp: np.ndarray, fp: np.ndarray) -> Any:
    """Return the slope of an interpolation: at a node the mean of both sides, outside 0."""
    slopes = np.zeros(len(xp) + 1)
    slopes[1:-1] = (fp[1:] - fp[:-1]) / (xp[1:] - xp[:-1])
    left = right - (xp[right - 1] == x) * (right > 0)
    return 0.5 * (slopes[left] + slopes[right])


def norm_back(
    g: Any, y: Any, x: np.ndarray, axes: tuple[int, ...] | None = None
) -> np.ndarray:  # fmt: skip
    """Return the cotangent of vectors by that of their norms; 0 where it has no derivative."""
    if axes is None:
        return (g / y if y != 0 else 0.0) * x
    return (np.where(y != 0, g, 0.0) / np.where(y != 0, y, 1.0)) * x


def inner(d: Any, g: Any) -> Any:
    """Return the sum of conj(d) g over all elements."""
    if type(d) is np.ndarray and type(g) is np.ndarray and d.shape == g.shape:
        return total(np.vdot(d, g))
    return total(np.conj(d) * g)


def spread(g: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array that is filled with a cotangent."""
    x = np.empty(shape, dtype)
    x[...] = g
    return x


def diagonal_of(x: np.ndarray) -> np.ndarray:
    """Return a view of the diagonal of a matrix, to be written into."""
    n = min(x.shape)
    return np.einsum("ii->i", x[:n, :n])


def zeros_like(x: np.ndarray) -> np.ndarray:
    """Return zeros in the layout of an array, in a fraction of the time that NumPy's takes."""
    return np.zeros(x.shape, x.dtype) if x.flags.c_contiguous else np.zeros_like(x)


def shadow_with(x: np.ndarray, g: Any) -> np.ndarray:
    """Return a new shadow of an array with its first cotangent, if there is one."""
    if type(g) is not np.ndarray or g.shape != x.shape or g.dtype != x.dtype:
        shadow = zeros_like(x)
        if g is not None:
            shadow += g
        return shadow
    shadow = np.empty_like(x)
    shadow[...] = g
    return shadow


def zeros_along(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return zeros like an array, whose axes lie in memory in this order, the slowest first."""
    if not x.flags.c_contiguous:
        return np.zeros_like(x)
    return np.zeros([x.shape[k] for k in axes], x.dtype).transpose(_places_of(axes))


@functools.lru_cache(maxsize=64)
def _places_of(axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return where each axis stands in an order of axes."""
    return tuple([axes.index(k) for k in range(len(axes))])


def fitted(x: Any, shape: tuple[int, ...]) -> Any:
    """Sum a cotangent back to the shape that was broadcast."""
    return x if x.shape == shape else unbroadcast(x, shape)


def last_written(shadow: np.ndarray, index: Any) -> np.ndarray:
    """Return the cotangent of what was written at arrays of places: 0 where it did not stay.

    NumPy itself says what came last where places come again. In which order it writes follows the
    memory of places along several axes: then the call is traced.
    """
    x = shadow[index]
    parts = index if type(index) is tuple else (index,)
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    places = list(zip(*[a.ravel().tolist() for a in np.broadcast_arrays(*arrays)], strict=True))
    if len(set(places)) == len(places) and min(map(min, places), default=0) >= 0:
        return x
    order = np.arange(x.size).reshape(x.shape)
    last = np.empty(shadow.shape, order.dtype)
    last[index] = order
    is_overwritten = last[index] != order
    if is_overwritten.any():
        if len(arrays) > 1 or arrays[0].ndim > 1 or arrays[0].strides[0] <= 0:
            raise ChangedError("places of several axes come again")
        x[is_overwritten] = 0.0
    return x


def gather(shadow: np.ndarray, x: Any) -> None:
    """Add what a rule has returned to a shadow."""
    x = unthunk(x)
    if not isinstance(x, AbstractZero):
        if np.shape(x) != shadow.shape:
            x = unbroadcast(x, shadow.shape)
        shadow += x


def settled(x: Any, shape: tuple[int, ...]) -> Any:
    """Return what a rule has returned as an array of this shape."""
    x = unthunk(x)
    if isinstance(x, AbstractZero):
        return np.zeros(shape)
    return x if np.shape(x) == shape else unbroadcast(x, shape)


def whole(x: Any, primal: np.ndarray) -> np.ndarray:
    """Return the cotangent of an argument, which is 0.0 if nothing has come."""
    if type(x) is not np.ndarray:
        return np.full_like(primal, x)
    if x.shape != primal.shape:
        raise ValueError("a cotangent of another shape")
    return x.astype(primal.dtype, copy=False)


def number(x: Any) -> Any:
    """Return what a rule has returned for a number."""
    x = unthunk(x)
    if isinstance(x, AbstractZero):
        return 0.0
    return total(x)


def slope(of: Callable[[], Any]) -> Any:
    """Return a partial derivative; NaN where Python divides by zero: it may be infinite."""
    try:
        return of()
    except ZeroDivisionError:
        return math.nan


def real_part(x: Any) -> Any:
    """Return the real part of what a rule has returned for a real number or array."""
    x = unthunk(x)
    return x if isinstance(x, AbstractZero) else x.real


def part(x: Any, i: int) -> Any:
    """Return what a rule has returned for one part of an argument that is a list."""
    x = unthunk(x)
    return x if isinstance(x, AbstractZero) else x[i]


def several(cls: type, *bars: Any) -> Tangent:
    """Return the cotangent of a tuple; None stands for a part that has none."""
    return Tangent[cls](*[ZeroTangent() if bar is None else bar for bar in bars])


def sum_back(shadows: list, g: Any, axis: int) -> None:
    """Add the cotangent of a sum of all items of a list to each of them."""
    for i, shadow in enumerate(shadows):
        shadows[i] += g if type(shadow) is not np.ndarray else unbroadcast(g, shadow.shape)


def stack_back(shadows: list, g: np.ndarray, axis: int) -> None:
    """Take the cotangent of an array apart along an axis: one part for each item of a list."""
    parts = np.moveaxis(g, axis, 0) if axis else g
    if parts.ndim == 1:
        parts = parts.tolist()
    for i, part in enumerate(parts):
        if type(shadows[i]) is list:
            stack_back(shadows[i], part, 0)
        else:
            shadows[i] += part


def concatenate_back(shadows: list, g: np.ndarray, axis: int) -> None:
    """Cut the cotangent of arrays that were joined along an axis: a piece for each of them."""
    at = 0
    g = np.moveaxis(g, axis, 0)
    for shadow in shadows:
        n = shadow.shape[axis]
        shadow += np.moveaxis(g[at : at + n], 0, axis)
        at += n


def put_back(xs: list, at: int, x: Any) -> None:
    """Put an item back that ``del xs[at]`` has taken out."""
    xs.insert(at if at >= 0 else len(xs) + 1 + at, x)


def taken_out(xs: list, at: int) -> Any:
    """Take an item out that ``xs.insert(at, x)`` has put in."""
    n = len(xs) - 1
    return xs.pop(min(at, n) if at >= 0 else max(at + n, 0))


SCOPE = {
    "zeros_by_key": collections.defaultdict,
    "put_back": put_back,
    "taken_out": taken_out,
    "part": part,
    "real_part": real_part,
    "several": several,
    "total": total,
    "inner": inner,
    "fitted": fitted,
    "gather": gather,
    "settled": settled,
    "slope": slope,
    "spread": spread,
    "whole": whole,
    "number": number,
    "sum_back": sum_back,
    "stack_back": stack_back,
    "concatenate_back": concatenate_back,
    "add_at": add_at,
    "last_written": last_written,
    "s_": np.s_,
    "errstate": np.errstate,
    "zeros_like": zeros_like,
    "diagonal_of": diagonal_of,
    "shadow_with": shadow_with,
    "zeros_along": zeros_along,
    "may_share": np.may_share_memory,
    "copied": copied,
    "array": np.array,
    "Changed": ChangedError,
    "Broadcast": SteppedAsideError,
    "__name__": "autodiff.structured.generated",
}
"""What generated code finds by name."""
