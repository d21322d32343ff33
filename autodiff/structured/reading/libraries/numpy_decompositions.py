"""Decompositions of NumPy functions into simpler calls, with the same bits.

The reader inlines one in place of a call, so the adjoint comes from differences, products and
sums, and loops become machine code. `decompositions` chooses them.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def diff(a: Any) -> Any:
    """Compute `numpy.diff` along the last axis."""
    return a[..., 1:] - a[..., :-1]


def diff_first(a: Any) -> Any:
    """Compute `numpy.diff` along the first axis."""
    return a[1:] - a[:-1]


def diff_twice(a: Any) -> Any:
    """Compute the second differences along the last axis."""
    return diff(diff(a))


def diff_first_twice(a: Any) -> Any:
    """Compute the second differences along the first axis."""
    return diff_first(diff_first(a))


def cumsum_flat(a: Any) -> Any:
    """Compute `numpy.cumsum` over all elements of a matrix, row by row."""
    return np.cumsum(np.ravel(a))


def vdot(a: Any, b: Any) -> Any:
    """Compute `numpy.vdot` of matrices."""
    return np.vdot(np.ravel(a), np.ravel(b))


def unwrap(p: Any) -> Any:
    """Compute `numpy.unwrap`; a jump of exactly half a turn has no derivative."""
    d = p[1:] - p[:-1]
    m = np.mod(d + np.pi, 2.0 * np.pi) - np.pi
    assert not np.any((m == -np.pi) & (d > 0.0))
    out = p.copy()
    out[1:] = p[1:] + np.cumsum(np.where(np.abs(d) < np.pi, 0.0, m - d))
    return out


def correlate(a: Any, v: Any, mode: Any) -> Any:
    """Compute `numpy.correlate` with a vector that is not longer."""
    assert len(v) <= len(a)
    return np.convolve(a, v[::-1], mode)


def split_first(a: Any, sections: Any, places: Any) -> Any:
    """Split the first axis into equal parts."""
    n = a.shape[0] // sections
    assert a.shape[0] == n * sections
    return [a[k * n : (k + 1) * n] for k in places]


def split_last(a: Any, sections: Any, places: Any) -> Any:
    """Split the last axis into equal parts."""
    n = a.shape[-1] // sections
    assert a.shape[-1] == n * sections
    return [a[..., k * n : (k + 1) * n] for k in places]


def delete(a: Any, i: Any) -> Any:
    """Compute `numpy.delete` for one row, or for one element of a vector."""
    assert 0 <= i < len(a)
    return np.concatenate([a[:i], a[i + 1 :]])


def cross(a: Any, b: Any) -> Any:
    """Compute the cross product of two vectors of length 3."""
    assert len(a) == 3
    assert len(b) == 3
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


def trace(a: Any) -> Any:
    """Compute the trace of a matrix."""
    return np.sum(np.diag(a))


def var(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Compute the variance."""
    d = a - np.mean(a, axis=axis, keepdims=True)
    return np.mean(d * d, axis=axis, keepdims=keepdims)


def std(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Compute the standard deviation."""
    return np.sqrt(var(a, axis, keepdims))


def gradient_last(f: Any, h: Any = 1.0) -> Any:
    """Compute `numpy.gradient` along the last axis."""
    out = np.empty_like(f)
    out[..., 1:-1] = (f[..., 2:] - f[..., :-2]) / (2.0 * h)
    out[..., 0] = (f[..., 1] - f[..., 0]) / h
    out[..., -1] = (f[..., -1] - f[..., -2]) / h
    return out


def gradient_first(f: Any, h: Any = 1.0) -> Any:
    """Compute `numpy.gradient` along the first axis."""
    out = np.empty_like(f)
    out[1:-1] = (f[2:] - f[:-2]) / (2.0 * h)
    out[0] = (f[1] - f[0]) / h
    out[-1] = (f[-1] - f[-2]) / h
    return out


def gradient_both(f: Any, h: Any = 1.0) -> Any:
    """Compute `numpy.gradient` along both axes of a matrix."""
    return gradient_first(f, h), gradient_last(f, h)


def meshgrid(x: Any, y: Any) -> Any:
    """Compute `numpy.meshgrid` of two vectors."""
    xs, ys = np.empty((len(y), len(x))), np.empty((len(y), len(x)))
    xs[...] = x
    ys[...] = y[:, None]
    return xs, ys


def full(shape: Any, value: Any, dtype: Any) -> Any:
    """Compute `numpy.full`."""
    a = np.empty(shape, dtype)
    a[...] = value
    return a


def full_of_floats(shape: Any, value: Any) -> Any:
    """Compute `numpy.full` of float64 numbers."""
    return np.ones(shape) * value


def joined_diff(parts: Any) -> Any:
    """Compute `numpy.diff` along the first axis of arrays that are joined along it."""
    return diff_first(np.concatenate(parts))


def joined_row_diff(parts: Any) -> Any:
    """Compute `numpy.diff` along the rows of matrices that are joined along them."""
    return diff(np.concatenate(parts, axis=1))


def row_diff_prepend_number(a: Any, first: Any) -> Any:
    """Compute `numpy.diff` along the rows of a matrix, with a number as ``prepend``."""
    out = np.empty(a.shape)
    out[:, 0] = a[:, 0] - first
    out[:, 1:] = a[:, 1:] - a[:, :-1]
    return out


def row_diff_append_number(a: Any, last: Any) -> Any:
    """Compute `numpy.diff` along the rows of a matrix, with a number as ``append``."""
    out = np.empty(a.shape)
    out[:, :-1] = a[:, 1:] - a[:, :-1]
    out[:, -1] = last - a[:, -1]
    return out


def column_diff_prepend_number(a: Any, first: Any) -> Any:
    """Compute `numpy.diff` along the columns of a matrix, with a number as ``prepend``."""
    out = np.empty(a.shape)
    out[0] = a[0] - first
    out[1:] = a[1:] - a[:-1]
    return out


def column_diff_append_number(a: Any, last: Any) -> Any:
    """Compute `numpy.diff` along the columns of a matrix, with a number as ``append``."""
    out = np.empty(a.shape)
    out[:-1] = a[1:] - a[:-1]
    out[-1] = last - a[-1]
    return out


def roll_first(a: Any, shift: Any) -> Any:
    """Compute `numpy.roll` along the first axis."""
    at = len(a) - shift % len(a)
    return np.concatenate((a[at:], a[:at]))


def roll_last(a: Any, shift: Any) -> Any:
    """Compute `numpy.roll` along the rows of a matrix."""
    n = a.shape[1]
    at = n - shift % n
    return np.concatenate((a[:, at:], a[:, :at]), axis=1)


def roll_flat(a: Any, shift: Any) -> Any:
    """Compute `numpy.roll` of a matrix as if it were flat."""
    return np.reshape(roll_first(np.ravel(a), shift), a.shape)


def roll_both(a: Any, down: Any, right: Any) -> Any:
    """Compute `numpy.roll` along both axes of a matrix."""
    return roll_last(roll_first(a, down), right)


def round_to_integers(a: Any) -> Any:
    """Round to the nearest integers, as floats."""
    return np.rint(a)


def fill_diagonal(a: Any, value: Any) -> None:
    """Set the diagonal of a matrix to a number."""
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = value


def ufunc_outer(f: Any, a: Any, b: Any) -> Any:
    """Compute ``f.outer(a, b)`` for a ufunc and two vectors."""
    return f(a[:, None], b)


def clip_below(a: Any, low: Any) -> Any:
    """Compute `numpy.clip` with a lower bound alone."""
    return np.maximum(a, low)


def clip_above(a: Any, high: Any) -> Any:
    """Compute `numpy.clip` with an upper bound alone."""
    return np.minimum(a, high)


def trapezoid(y: Any, x: Any) -> Any:
    """Integrate along the last axis over sample points."""
    d = x[1:] - x[:-1]
    return (d * (y[..., 1:] + y[..., :-1]) / 2.0).sum(-1)


def trapezoid_uniform(y: Any, h: Any) -> Any:
    """Integrate along the last axis with a constant step."""
    return (h * (y[..., 1:] + y[..., :-1]) / 2.0).sum(-1)


def trapezoid_first(y: Any, x: Any) -> Any:
    """Integrate along the first axis of a matrix over sample points."""
    d = x[1:] - x[:-1]
    return (d[:, None] * (y[1:] + y[:-1]) / 2.0).sum(0)


def trapezoid_first_uniform(y: Any, h: Any) -> Any:
    """Integrate along the first axis of a matrix with a constant step."""
    return (h * (y[1:] + y[:-1]) / 2.0).sum(0)


def polyval(p: Any, x: Any) -> Any:
    """Evaluate a polynomial at the elements of an array."""
    y = np.zeros_like(x)
    for c in p:
        y = y * x + c
    return y


def polyval_at_number(p: Any, x: Any) -> Any:
    """Evaluate a polynomial at a number."""
    y = 0.0
    for c in p:
        y = y * x + c
    return y


def tolist(x: Any) -> Any:
    """Convert a vector to a list."""
    return [float(item) for item in x]


def tolist_rows(x: Any) -> Any:
    """Convert a matrix to a list of lists."""
    return [[float(item) for item in row] for row in x]


def pad_zeros(a: Any, before: Any, after: Any) -> Any:
    """Pad a vector with zeros."""
    n = len(a)
    out = np.zeros(before + n + after)
    out[before : before + n] = a
    return out


def pad_edge(a: Any, before: Any, after: Any) -> Any:
    """Pad a vector with its first and last element."""
    n = len(a)
    out = np.empty(before + n + after)
    out[before : before + n] = a
    out[:before] = a[0]
    out[before + n :] = a[n - 1]
    return out


def pad_matrix_zeros(a: Any, above: Any, below: Any, before: Any, after: Any) -> Any:
    """Pad a matrix with zeros."""
    m, n = a.shape
    out = np.zeros((above + m + below, before + n + after))
    out[above : above + m, before : before + n] = a
    return out


def pad_matrix_edge(a: Any, above: Any, below: Any, before: Any, after: Any) -> Any:
    """Pad a matrix with its outermost elements."""
    m, n = a.shape
    out = np.empty((above + m + below, before + n + after))
    out[above : above + m, before : before + n] = a
    out[above : above + m, :before] = a[:, :1]
    out[above : above + m, before + n :] = a[:, n - 1 :]
    out[:above] = out[above : above + 1]
    out[above + m :] = out[above + m - 1 : above + m]
    return out


def pad_wrap(a: Any, before: Any, after: Any) -> Any:
    """Pad the first axis periodically."""
    n = len(a)
    assert before <= n
    assert after <= n
    return np.concatenate((a[n - before :], a, a[:after]))


def pad_reflect(a: Any, before: Any, after: Any) -> Any:
    """Pad the first axis with its mirror image, without the edge."""
    n = len(a)
    assert before < n
    assert after < n
    return np.concatenate((a[1 : before + 1][::-1], a, a[n - 1 - after : n - 1][::-1]))


def pad_symmetric(a: Any, before: Any, after: Any) -> Any:
    """Pad the first axis with its mirror image, including the edge."""
    n = len(a)
    assert before <= n
    assert after <= n
    return np.concatenate((a[:before][::-1], a, a[n - after :][::-1]))


def pad_matrix(pad: Any, a: Any, above: Any, below: Any, before: Any, after: Any) -> Any:
    """Pad a matrix by a function that pads the first axis."""
    return pad(pad(a, above, below).T, before, after).T


def append(a: Any, b: Any) -> Any:
    """Compute `numpy.append` of two vectors."""
    return np.concatenate((a, b))


def linspace(start: Any, stop: Any, n: Any) -> Any:
    """Compute `numpy.linspace`."""
    assert n > 1
    x = np.arange(n) * ((stop - start) / (n - 1)) + start
    x[n - 1] = stop
    return x


def ptp(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Compute `numpy.ptp`, the largest minus the smallest element."""
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


def average(a: Any, weights: Any) -> Any:
    """Compute the weighted average of a vector."""
    total = np.sum(weights)
    assert total != 0.0
    assert len(a) == len(weights)
    return np.sum(a * weights) / total


def tile(a: Any, n: Any) -> Any:
    """Compute `numpy.tile` of a vector."""
    m = len(a)
    assert n >= 0
    out = np.empty(n * m)
    for k in range(n):
        out[k * m : (k + 1) * m] = a
    return out


def repeat(a: Any, n: Any) -> Any:
    """Compute `numpy.repeat` of a vector."""
    assert n >= 0
    return np.ravel(a[:, None] * np.ones((1, n)))


def kron(a: Any, b: Any) -> Any:
    """Compute the Kronecker product of two matrices."""
    m, n = a.shape
    p, q = b.shape
    return np.reshape(a[:, None, :, None] * b[None, :, None, :], (m * p, n * q))


def kron_vectors(a: Any, b: Any) -> Any:
    """Compute the Kronecker product of two vectors."""
    return np.ravel(a[:, None] * b)


def vander_increasing(x: Any, n: Any) -> Any:
    """Compute the Vandermonde matrix with increasing powers."""
    assert n > 0
    out = np.empty((len(x), n))
    out[:, 0] = 1.0
    for k in range(1, n):
        out[:, k] = out[:, k - 1] * x
    return out


def vander_decreasing(x: Any, n: Any) -> Any:
    """Compute the Vandermonde matrix with decreasing powers."""
    assert n > 0
    out = np.empty((len(x), n))
    out[:, n - 1] = 1.0
    for k in range(1, n):
        out[:, n - 1 - k] = out[:, n - k] * x
    return out


def take_first(a: Any, indices: Any) -> Any:
    """Take rows, or elements of a vector."""
    return a[indices]


def take_last(a: Any, indices: Any) -> Any:
    """Take columns."""
    return a[..., indices]


def column_stack(parts: Any) -> Any:
    """Compute `numpy.column_stack`."""
    return np.concatenate([p if p.ndim == 2 else p[:, None] for p in parts], axis=1)


def matrix_square(a: Any) -> Any:
    """Compute the second power of a matrix."""
    return a @ a


def matrix_cube(a: Any) -> Any:
    """Compute the third power of a matrix."""
    return (a @ a) @ a


def eigvalsh(a: Any) -> Any:
    """Compute the eigenvalues of a symmetric matrix; the adjoint needs the eigenvectors."""
    return np.linalg.eigh(a)[0]
