"""Decompositions of NumPy functions into simpler calls, with the same bits.

The reader inlines one in place of a call, so the adjoint comes from differences, products and
sums, and loops become machine code. Tests of ranks and options are known while it reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.structured.form.function_ir import Items, Value
from autodiff.structured.reading.libraries.argument_checks import (
    among,
    anything,
    decomposes,
    end,
    flat_or_end,
    floats,
    integer,
    is_float,
    is_floats,
    is_integer,
    known_parts,
    limit,
    nothing,
    number,
    numbers,
    only_or_end,
    option,
    real,
    vector,
)

_PLACES = tuple(range(16))  # of the parts of a split array: each has a variable
_FILLED: dict[type, type] = {bool: np.bool_, int: np.int64, float: np.float64}


def _end_part(v: Any, named: dict[str, Any]) -> Any:
    """Check for what is put before or after an array."""
    ndim = named["a"].kind.ndim
    if v is None or (ndim == 2 and is_float(v)):
        return v
    return vector(v, named) if ndim == 1 else floats(ndim)(v, named)


def _filled_dtype(dtype: Any, named: dict[str, Any]) -> Any:
    """Check for the dtype of an array that is filled with a number: float, or the number's own."""
    x, cls = named["fill_value"], known_parts(dtype)
    if type(x) is not Value or not x.kind.is_scalar:
        return NotImplemented
    own = next((c for c in _FILLED if x.kind.classes <= {c, _FILLED[c]}), None)
    if own is None or cls is None:
        return NotImplemented if own is None else own
    if cls in (float, np.float64):
        return float
    return cls if cls in (own, _FILLED[own]) else NotImplemented


def _pair(v: Any, named: dict[str, Any]) -> Any:
    """Check for two integers, each of which may be known."""
    is_one = type(v) is tuple and len(v) == 2 and all(map(is_integer, v))
    return Items(v) if is_one else NotImplemented


def _places(v: Any, named: dict[str, Any]) -> Any:
    """Check for a list or array of indices, or the index of an element: a row would be a view."""
    if is_integer(v):
        return v if named["a"].kind.ndim == 1 else NotImplemented
    is_list = type(v) is Items and v and all(map(is_integer, v))
    is_array = type(v) is Value and v.kind.is_array and v.kind.letter in "iu"
    return v if is_list or is_array else NotImplemented


def _columns(v: Any, named: dict[str, Any]) -> Any:
    """Check for a list or tuple of vectors and matrices."""
    is_one = isinstance(v, tuple) and v and all(is_floats(p) and p.kind.ndim < 3 for p in v)
    return v if is_one else NotImplemented


# -- differences and sums --------------------------------------------------------------------------


def difference(a: Any, axis: Any) -> Any:
    """Compute differences along the first or last axis."""
    return a[1:] - a[:-1] if axis == 0 else a[..., 1:] - a[..., :-1]


@decomposes(np.diff, a=floats(), n=among(1, 2), axis=end)
def diff(a: Any, n: Any = 1, axis: Any = -1) -> Any:
    """Compute `numpy.diff`."""
    return difference(a, axis) if n == 1 else difference(difference(a, axis), axis)


@decomposes(np.diff, a=floats(), n=among(1), axis=end, prepend=_end_part, append=_end_part)
def diff_joined(
    a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None
) -> Any:  # fmt: skip
    """Compute `numpy.diff` with something before or after a vector or matrix."""
    if prepend is not None and append is not None:
        parts: Any = (end_of(a, prepend, axis), a, end_of(a, append, axis))
    elif append is None:
        parts = (end_of(a, prepend, axis), a)
    else:
        parts = (a, end_of(a, append, axis))
    return difference(np.concatenate(parts, axis=axis), axis)


def end_of(a: Any, x: Any, axis: Any) -> Any:
    """Return what is put before or after an array; a number becomes a row or column."""
    if isinstance(x, float):
        return np.ones((1, a.shape[1]) if axis == 0 else (a.shape[0], 1)) * x
    return x


@decomposes(np.cumsum, a=floats(2, 3, 4, 5, 6))
def cumsum_flat(a: Any) -> Any:
    """Compute `numpy.cumsum` over all elements of a matrix, row by row."""
    return np.cumsum(np.ravel(a))


@decomposes(np.gradient, f=floats(), h=real, axis=end)
def gradient(f: Any, h: Any = 1.0, *, axis: Any) -> Any:
    """Compute `numpy.gradient` along the first or last axis."""
    out = np.empty_like(f)
    if axis == 0:
        out[1:-1] = (f[2:] - f[:-2]) / (2.0 * h)
        out[0] = (f[1] - f[0]) / h
        out[-1] = (f[-1] - f[-2]) / h
    else:
        out[..., 1:-1] = (f[..., 2:] - f[..., :-2]) / (2.0 * h)
        out[..., 0] = (f[..., 1] - f[..., 0]) / h
        out[..., -1] = (f[..., -1] - f[..., -2]) / h
    return out


@decomposes(np.gradient, f=floats(1), h=real)
def gradient_of_vector(f: Any, h: Any = 1.0) -> Any:
    """Compute `numpy.gradient` of a vector."""
    return gradient(f, h, axis=0)


def gradient_both(f: Any, h: Any = 1.0) -> Any:
    """Compute `numpy.gradient` along both axes of a matrix."""
    return gradient(f, h, axis=0), gradient(f, h, axis=1)


if type(np.gradient(np.eye(2))) is tuple:  # older versions return a list
    decomposes(np.gradient, f=floats(2), h=real)(gradient_both)


@decomposes(np.trapezoid, y=floats(3, 4), x=floats(1), axis=among(-1))
@decomposes(np.trapezoid, y=floats(1, 2), x=floats(1), axis=end)
def trapezoid(y: Any, x: Any, *, axis: Any = -1) -> Any:
    """Integrate over sample points."""
    d = x[1:] - x[:-1]
    if axis == 0 and y.ndim == 2:
        return (d[:, None] * (y[1:] + y[:-1]) / 2.0).sum(0)
    return (d * (y[..., 1:] + y[..., :-1]) / 2.0).sum(-1)


@decomposes(np.trapezoid, y=floats(3, 4), dx=real, axis=among(-1))
@decomposes(np.trapezoid, y=floats(1, 2), dx=real, axis=end)
def trapezoid_uniform(y: Any, *, dx: Any = 1.0, axis: Any = -1) -> Any:
    """Integrate with a constant step."""
    if axis == 0 and y.ndim == 2:
        return (dx * (y[1:] + y[:-1]) / 2.0).sum(0)
    return (dx * (y[..., 1:] + y[..., :-1]) / 2.0).sum(-1)


@decomposes(np.unwrap, p=floats(1))
def unwrap(p: Any) -> Any:
    """Compute `numpy.unwrap`; a jump of exactly half a turn has no derivative."""
    d = p[1:] - p[:-1]
    m = np.mod(d + np.pi, 2.0 * np.pi) - np.pi
    assert not np.any((m == -np.pi) & (d > 0.0))
    out = p.copy()
    out[1:] = p[1:] + np.cumsum(np.where(np.abs(d) < np.pi, 0.0, m - d))
    return out


# -- products --------------------------------------------------------------------------------------


@decomposes(np.vdot, a=floats(2), b=floats(2))
def vdot(a: Any, b: Any) -> Any:
    """Compute `numpy.vdot` of matrices."""
    return np.vdot(np.ravel(a), np.ravel(b))


@decomposes(np.correlate, a=floats(1), v=floats(1), mode=among("valid", "same", "full"))
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """Compute `numpy.correlate` with a vector that is not longer."""
    assert len(v) <= len(a)
    return np.convolve(a, v[::-1], mode)


@decomposes(np.cross, a=floats(1), b=floats(1))
def cross(a: Any, b: Any) -> Any:
    """Compute the cross product of two vectors of length 3."""
    assert len(a) == 3
    assert len(b) == 3
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


@decomposes(np.cross, a=floats(1, 2, 3), b=floats(1, 2, 3))
def cross_rows(a: Any, b: Any) -> Any:
    """Compute the cross products of the rows of two arrays, which have length 3."""
    assert a.shape[-1] == 3
    assert b.shape[-1] == 3
    x = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    y = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    z = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return np.stack([x, y, z], axis=-1)


@decomposes(np.kron, a=floats(1), b=floats(1))
def kron_vectors(a: Any, b: Any) -> Any:
    """Compute the Kronecker product of two vectors."""
    return np.ravel(a[:, None] * b)


@decomposes(np.kron, a=floats(2), b=floats(2))
def kron(a: Any, b: Any) -> Any:
    """Compute the Kronecker product of two matrices."""
    m, n = a.shape
    p, q = b.shape
    return np.reshape(a[:, None, :, None] * b[None, :, None, :], (m * p, n * q))


@decomposes(np.linalg.matrix_power, a=floats(2), n=among(2, 3))
def matrix_power(a: Any, n: Any) -> Any:
    """Compute the second or third power of a matrix."""
    return a @ a if n == 2 else (a @ a) @ a


@decomposes(np.polyval, p=floats(1), x=numbers)
def polyval(p: Any, x: Any) -> Any:
    """Evaluate a polynomial at a number, or at the elements of an array."""
    y = np.zeros_like(x) if isinstance(x, np.ndarray) else 0.0
    for c in p:
        y = y * x + c
    return y


@decomposes(np.vander, x=floats(1), N=integer, increasing=among(False, True))
def vander(x: Any, n: Any, increasing: Any = False) -> Any:
    """Compute a Vandermonde matrix."""
    assert n > 0
    out = np.empty((len(x), n))
    if increasing:
        out[:, 0] = 1.0
        for k in range(1, n):
            out[:, k] = out[:, k - 1] * x
    else:
        out[:, n - 1] = 1.0
        for k in range(1, n):
            out[:, n - 1 - k] = out[:, n - k] * x
    return out


def ufunc_outer(f: Any, a: Any, b: Any) -> Any:
    """Compute ``f.outer(a, b)`` for a ufunc and two vectors."""
    return f(a[:, None], b)


# -- reductions ------------------------------------------------------------------------------------


@decomposes(np.trace, np.ndarray.trace, a=floats(2))
def trace(a: Any) -> Any:
    """Compute the trace of a matrix."""
    return np.sum(np.diag(a))


@decomposes(np.var, np.ndarray.var, a=floats(), axis=option, keepdims=option)
def var(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """Compute the variance."""
    d = a - np.mean(a, axis=axis, keepdims=True)
    return np.mean(d * d, axis=axis, keepdims=keepdims)


@decomposes(np.std, np.ndarray.std, a=floats(), axis=option, keepdims=option)
def std(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """Compute the standard deviation."""
    return np.sqrt(var(a, axis, keepdims=keepdims))


@decomposes(np.ptp, a=floats(), axis=option, keepdims=option)
def ptp(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """Compute `numpy.ptp`, the largest minus the smallest element."""
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


@decomposes(np.average, a=floats(1), weights=floats(1))
def average(a: Any, *, weights: Any) -> Any:
    """Compute the weighted average of a vector."""
    total = np.sum(weights)
    assert total != 0.0
    assert len(a) == len(weights)
    return np.sum(a * weights) / total


@decomposes(np.linalg.eigvalsh, a=floats(2))
def eigvalsh(a: Any) -> Any:
    """Compute the eigenvalues of a symmetric matrix; the adjoint needs the eigenvectors."""
    return np.linalg.eigh(a)[0]


# -- elements --------------------------------------------------------------------------------------


@decomposes(np.round, np.around, np.ndarray.round, a=floats(), decimals=among(0))
def round_to_integers(a: Any, decimals: Any = 0) -> Any:
    """Round to the nearest integers, as floats."""
    return np.rint(a)


@decomposes(np.clip, a=numbers, a_min=nothing, a_max=limit)
@decomposes(np.clip, np.ndarray.clip, a=numbers, min=nothing, max=limit)
def clip_above(a: Any, low: Any, high: Any) -> Any:
    """Compute `numpy.clip` with an upper bound alone."""
    return np.minimum(a, high)


@decomposes(np.clip, a=numbers, a_min=limit, a_max=nothing)
@decomposes(np.clip, np.ndarray.clip, a=numbers, min=limit, max=nothing)
def clip_below(a: Any, low: Any, high: Any) -> Any:
    """Compute `numpy.clip` with a lower bound alone."""
    return np.maximum(a, low)


@decomposes(np.fill_diagonal, a=floats(2), val=number)
def fill_diagonal(a: Any, value: Any) -> None:
    """Set the diagonal of a matrix to a number."""
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = value


@decomposes(np.take, np.ndarray.take, a=floats(), indices=_places, axis=only_or_end)
def take(a: Any, indices: Any, axis: Any = None) -> Any:
    """Take elements of a vector, rows or columns."""
    return a[indices] if axis == 0 else a[..., indices]


@decomposes(np.ndarray.tolist, a=floats(1))
def tolist(a: Any) -> Any:
    """Convert a vector to a list."""
    return [float(item) for item in a]


@decomposes(np.ndarray.tolist, a=floats(2))
def tolist_rows(a: Any) -> Any:
    """Convert a matrix to a list of lists."""
    return [[float(item) for item in row] for row in a]


@decomposes(np.delete, arr=floats(), obj=integer, axis=only_or_end)
def delete(a: Any, i: Any, axis: Any = None) -> Any:
    """Compute `numpy.delete` for one row or column, or for one element of a vector."""
    assert 0 <= i < a.shape[axis]
    if axis == 0:
        return np.concatenate([a[:i], a[i + 1 :]])
    return np.concatenate([a[..., :i], a[..., i + 1 :]], axis=axis)


@decomposes(np.split, ary=floats(), indices_or_sections=among(*range(1, 17)), axis=end)
def split(a: Any, sections: Any, axis: Any = 0) -> Any:
    """Split the first or last axis into equal parts."""
    n = a.shape[axis] // sections
    assert a.shape[axis] == n * sections
    places = (*_PLACES,)[:sections]
    if axis == 0:
        return [a[k * n : (k + 1) * n] for k in places]
    return [a[..., k * n : (k + 1) * n] for k in places]


# -- new arrays ------------------------------------------------------------------------------------


@decomposes(np.full, shape=anything, fill_value=anything, dtype=_filled_dtype)
def full(shape: Any, value: Any, dtype: Any = None) -> Any:
    """Compute `numpy.full`. Nothing is written into floats: the array need not have a shadow."""
    if dtype is float:
        return np.ones(shape) * value
    a = np.empty(shape, dtype)
    a[...] = value
    return a


@decomposes(np.linspace, start=number, stop=number, num=integer)
def linspace(start: Any, stop: Any, n: Any = 50) -> Any:
    """Compute `numpy.linspace`."""
    assert n > 1
    x = np.arange(n) * ((stop - start) / (n - 1)) + start
    x[n - 1] = stop
    return x


@decomposes(np.meshgrid, x=floats(1), y=floats(1))
def meshgrid(x: Any, y: Any) -> Any:
    """Compute `numpy.meshgrid` of two vectors."""
    xs, ys = np.empty((len(y), len(x))), np.empty((len(y), len(x)))
    xs[...] = x
    ys[...] = y[:, None]
    return xs, ys


@decomposes(np.append, arr=vector, values=vector)
def append(a: Any, b: Any) -> Any:
    """Compute `numpy.append` of two vectors."""
    return np.concatenate((a, b))


@decomposes(np.column_stack, tup=_columns)
def column_stack(parts: Any) -> Any:
    """Compute `numpy.column_stack`."""
    return np.concatenate([p if p.ndim == 2 else p[:, None] for p in parts], axis=1)


@decomposes(np.tile, A=floats(1), reps=integer)
def tile(a: Any, n: Any) -> Any:
    """Compute `numpy.tile` of a vector."""
    m = len(a)
    assert n >= 0
    out = np.empty(n * m)
    for k in range(n):
        out[k * m : (k + 1) * m] = a
    return out


@decomposes(np.repeat, np.ndarray.repeat, a=floats(1), repeats=integer)
def repeat(a: Any, n: Any) -> Any:
    """Compute `numpy.repeat` of a vector."""
    assert n >= 0
    return np.ravel(a[:, None] * np.ones((1, n)))


@decomposes(np.roll, a=floats(1, 2), shift=integer, axis=flat_or_end)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Compute `numpy.roll` of a vector or matrix."""
    if axis is None and a.ndim == 2:
        return np.reshape(rolled(np.ravel(a), shift, 0), a.shape)
    return rolled(a, shift, 0 if axis is None else axis)


@decomposes(np.roll, a=floats(2), shift=_pair, axis=among((0, 1), (1, 0)))
def roll_both(a: Any, shift: Any, axis: Any) -> Any:
    """Compute `numpy.roll` along both axes of a matrix."""
    return rolled(rolled(a, shift[axis[0]], 0), shift[axis[1]], 1)


def rolled(a: Any, shift: Any, axis: Any) -> Any:
    """Roll a vector or matrix along an axis."""
    n = a.shape[axis]
    at = n - shift % n
    if axis == 0:
        return np.concatenate((a[at:], a[:at]))
    return np.concatenate((a[:, at:], a[:, :at]), axis=1)
