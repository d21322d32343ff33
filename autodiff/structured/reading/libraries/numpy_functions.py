"""Functions of NumPy as they are made of others, to the last bit.

Programs read them in the place of NumPy's, so their adjoints are those of differences, products
and sums, and their loops become machine code. `by_others` says for which calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def diff(a: Any) -> Any:
    """Return the differences of neighbours along the last axis."""
    return a[..., 1:] - a[..., :-1]


def diff_first(a: Any) -> Any:
    """Return the differences of neighbours along the first axis."""
    return a[1:] - a[:-1]


def diff_twice(a: Any) -> Any:
    """Return the second differences along the last axis."""
    return diff(diff(a))


def diff_first_twice(a: Any) -> Any:
    """Return the second differences along the first axis."""
    return diff_first(diff_first(a))


def running_sums(a: Any) -> Any:
    """Return the sums of the elements of a matrix up to each, row by row."""
    return np.cumsum(np.ravel(a))


def unwrapped(p: Any) -> Any:
    """Return angles without jumps; one of just half a turn has no derivative."""
    d = p[1:] - p[:-1]
    m = np.mod(d + np.pi, 2.0 * np.pi) - np.pi
    assert not np.any((m == -np.pi) & (d > 0.0))
    out = p.copy()
    out[1:] = p[1:] + np.cumsum(np.where(np.abs(d) < np.pi, 0.0, m - d))
    return out


def correlated(a: Any, v: Any, mode: Any) -> Any:
    """Return the products with a vector at each place of a longer one."""
    assert len(v) <= len(a)
    return np.convolve(a, v[::-1], mode)


def split_first(a: Any, sections: Any, places: Any) -> Any:
    """Return as many equal parts along the first axis."""
    n = a.shape[0] // sections
    assert a.shape[0] == n * sections
    return [a[k * n : (k + 1) * n] for k in places]


def split_last(a: Any, sections: Any, places: Any) -> Any:
    """Return as many equal parts along the last axis."""
    n = a.shape[-1] // sections
    assert a.shape[-1] == n * sections
    return [a[..., k * n : (k + 1) * n] for k in places]


def without(a: Any, i: Any) -> Any:
    """Return an array without one of its rows, or a vector without one of its elements."""
    assert 0 <= i < len(a)
    return np.concatenate([a[:i], a[i + 1 :]])


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


def gradients(f: Any, h: Any = 1.0) -> Any:
    """Return the slopes of a matrix along both axes."""
    return gradient_first(f, h), gradient_last(f, h)


def meshgrid(x: Any, y: Any) -> Any:
    """Return the coordinates of the points of a grid."""
    xs, ys = np.empty((len(y), len(x))), np.empty((len(y), len(x)))
    xs[...] = x
    ys[...] = y[:, None]
    return xs, ys


def full(shape: Any, value: Any, dtype: Any) -> Any:
    """Return an array that is filled with a number."""
    a = np.empty(shape, dtype)
    a[...] = value
    return a


def diff_joined(a: Any, first: Any, last: Any) -> Any:
    """Return the differences of neighbours in a vector between two others."""
    x = np.concatenate((first, a, last))
    return x[1:] - x[:-1]


def diff_behind(a: Any, first: Any) -> Any:
    """Return the differences of neighbours in a vector behind another."""
    x = np.concatenate((first, a))
    return x[1:] - x[:-1]


def diff_before(a: Any, last: Any) -> Any:
    """Return the differences of neighbours in a vector before another."""
    x = np.concatenate((a, last))
    return x[1:] - x[:-1]


def rows_joined(a: Any, first: Any, last: Any) -> Any:
    """Return the differences of neighbours in the rows of a matrix between two others."""
    x = np.concatenate((first, a, last), axis=1)
    return x[:, 1:] - x[:, :-1]


def rows_behind(a: Any, first: Any) -> Any:
    """Return the differences of neighbours in the rows of a matrix behind another."""
    x = np.concatenate((first, a), axis=1)
    return x[:, 1:] - x[:, :-1]


def rows_before(a: Any, last: Any) -> Any:
    """Return the differences of neighbours in the rows of a matrix before another."""
    x = np.concatenate((a, last), axis=1)
    return x[:, 1:] - x[:, :-1]


def rows_behind_number(a: Any, first: Any) -> Any:
    """Return the differences of neighbours in the rows of a matrix, each behind a number."""
    out = np.empty(a.shape)
    out[:, 0] = a[:, 0] - first
    out[:, 1:] = a[:, 1:] - a[:, :-1]
    return out


def rows_before_number(a: Any, last: Any) -> Any:
    """Return the differences of neighbours in the rows of a matrix, each before a number."""
    out = np.empty(a.shape)
    out[:, :-1] = a[:, 1:] - a[:, :-1]
    out[:, -1] = last - a[:, -1]
    return out


def columns_behind_number(a: Any, first: Any) -> Any:
    """Return the differences of neighbours in the columns of a matrix, each behind a number."""
    out = np.empty(a.shape)
    out[0] = a[0] - first
    out[1:] = a[1:] - a[:-1]
    return out


def columns_before_number(a: Any, last: Any) -> Any:
    """Return the differences of neighbours in the columns of a matrix, each before a number."""
    out = np.empty(a.shape)
    out[:-1] = a[1:] - a[:-1]
    out[-1] = last - a[-1]
    return out


def rolled_first(a: Any, shift: Any) -> Any:
    """Return an array whose first axis is turned."""
    at = len(a) - shift % len(a)
    return np.concatenate((a[at:], a[:at]))


def rolled_last(a: Any, shift: Any) -> Any:
    """Return a matrix whose rows are turned."""
    n = a.shape[1]
    at = n - shift % n
    return np.concatenate((a[:, at:], a[:, :at]), axis=1)


def rolled_flat(a: Any, shift: Any) -> Any:
    """Return a matrix whose elements are turned as those of a vector."""
    return np.reshape(rolled_first(np.ravel(a), shift), a.shape)


def rolled_both(a: Any, down: Any, right: Any) -> Any:
    """Return a matrix whose columns and rows are turned."""
    return rolled_last(rolled_first(a, down), right)


def nearest(a: Any) -> Any:
    """Return the nearest whole numbers, as floats."""
    return np.rint(a)


def fill_diagonal(a: Any, value: Any) -> None:
    """Set the elements on the diagonal of a matrix to a number."""
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = value


def outer_of(f: Any, a: Any, b: Any) -> Any:
    """Return what a ufunc makes of each element of one vector and each of another."""
    return f(a[:, None], b)


def at_least(a: Any, low: Any) -> Any:
    """Return what is bounded from below."""
    return np.maximum(a, low)


def at_most(a: Any, high: Any) -> Any:
    """Return what is bounded from above."""
    return np.minimum(a, high)


def trapezoid(y: Any, x: Any) -> Any:
    """Return the integral along the last axis over places."""
    d = x[1:] - x[:-1]
    return (d * (y[..., 1:] + y[..., :-1]) / 2.0).sum(-1)


def trapezoid_by(y: Any, h: Any) -> Any:
    """Return the integral along the last axis by steps of one width."""
    return (h * (y[..., 1:] + y[..., :-1]) / 2.0).sum(-1)


def trapezoid_first(y: Any, x: Any) -> Any:
    """Return the integrals along the first axis of a matrix over places."""
    d = x[1:] - x[:-1]
    return (d[:, None] * (y[1:] + y[:-1]) / 2.0).sum(0)


def trapezoid_first_by(y: Any, h: Any) -> Any:
    """Return the integrals along the first axis by steps of one width."""
    return (h * (y[1:] + y[:-1]) / 2.0).sum(0)


def polynomial(p: Any, x: Any) -> Any:
    """Return the values of a polynomial."""
    y = np.zeros_like(x)
    for c in p:
        y = y * x + c
    return y


def polynomial_at(p: Any, x: Any) -> Any:
    """Return the value of a polynomial at a number."""
    y = 0.0
    for c in p:
        y = y * x + c
    return y


def listed(x: Any) -> Any:
    """Return a list of the elements of a vector."""
    return [float(item) for item in x]


def listed_rows(x: Any) -> Any:
    """Return a list of lists of the elements of a matrix."""
    return [[float(item) for item in row] for row in x]


def between_zeros(a: Any, before: Any, after: Any) -> Any:
    """Return a vector between zeros."""
    n = len(a)
    out = np.zeros(before + n + after)
    out[before : before + n] = a
    return out


def between_ends(a: Any, before: Any, after: Any) -> Any:
    """Return a vector with its first and last element again and again."""
    n = len(a)
    out = np.empty(before + n + after)
    out[before : before + n] = a
    out[:before] = a[0]
    out[before + n :] = a[n - 1]
    return out


def framed_by_zeros(a: Any, above: Any, below: Any, before: Any, after: Any) -> Any:
    """Return a matrix in a frame of zeros."""
    m, n = a.shape
    out = np.zeros((above + m + below, before + n + after))
    out[above : above + m, before : before + n] = a
    return out


def framed_by_ends(a: Any, above: Any, below: Any, before: Any, after: Any) -> Any:
    """Return a matrix in a frame of its outermost elements."""
    m, n = a.shape
    out = np.empty((above + m + below, before + n + after))
    out[above : above + m, before : before + n] = a
    out[above : above + m, :before] = a[:, :1]
    out[above : above + m, before + n :] = a[:, n - 1 :]
    out[:above] = out[above : above + 1]
    out[above + m :] = out[above + m - 1 : above + m]
    return out


def wrapped(a: Any, before: Any, after: Any) -> Any:
    """Return an array between its own ends, as if it went on."""
    n = len(a)
    assert before <= n
    assert after <= n
    return np.concatenate((a[n - before :], a, a[:after]))


def reflected(a: Any, before: Any, after: Any) -> Any:
    """Return an array between its own parts backwards, the ends once."""
    n = len(a)
    assert before < n
    assert after < n
    return np.concatenate((a[1 : before + 1][::-1], a, a[n - 1 - after : n - 1][::-1]))


def mirrored(a: Any, before: Any, after: Any) -> Any:
    """Return an array between its own parts backwards, the ends twice."""
    n = len(a)
    assert before <= n
    assert after <= n
    return np.concatenate((a[:before][::-1], a, a[n - after :][::-1]))


def wrapped_frame(a: Any, above: Any, below: Any, before: Any, after: Any) -> Any:
    """Return a matrix as if it went on to all sides."""
    return wrapped(wrapped(a, above, below).T, before, after).T


def reflected_frame(a: Any, above: Any, below: Any, before: Any, after: Any) -> Any:
    """Return a matrix between its own parts backwards, the ends once."""
    return reflected(reflected(a, above, below).T, before, after).T


def mirrored_frame(a: Any, above: Any, below: Any, before: Any, after: Any) -> Any:
    """Return a matrix between its own parts backwards, the ends twice."""
    return mirrored(mirrored(a, above, below).T, before, after).T


def append_to(a: Any, b: Any) -> Any:
    """Return a vector behind another."""
    return np.concatenate((a, b))


def spaced(start: Any, stop: Any, n: Any) -> Any:
    """Return numbers at equal distances, both ends among them."""
    assert n > 1
    x = np.arange(n) * ((stop - start) / (n - 1)) + start
    x[n - 1] = stop
    return x


def spread(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Return the largest minus the smallest element."""
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


def average(a: Any, weights: Any) -> Any:
    """Return the mean of a vector with a weight for each element."""
    total = np.sum(weights)
    assert total != 0.0
    assert len(a) == len(weights)
    return np.sum(a * weights) / total


def tiled(a: Any, n: Any) -> Any:
    """Return a vector again and again."""
    m = len(a)
    assert n >= 0
    out = np.empty(n * m)
    for k in range(n):
        out[k * m : (k + 1) * m] = a
    return out


def repeated(a: Any, n: Any) -> Any:
    """Return a vector with each element again and again."""
    assert n >= 0
    return np.ravel(a[:, None] * np.ones((1, n)))


def kron(a: Any, b: Any) -> Any:
    """Return the products of each element of a matrix with another one."""
    m, n = a.shape
    p, q = b.shape
    return np.reshape(a[:, None, :, None] * b[None, :, None, :], (m * p, n * q))


def kron_of_vectors(a: Any, b: Any) -> Any:
    """Return the products of each element of a vector with another one."""
    return np.ravel(a[:, None] * b)


def powers_up(x: Any, n: Any) -> Any:
    """Return a matrix with the powers of a vector from 0 on."""
    assert n > 0
    out = np.empty((len(x), n))
    out[:, 0] = 1.0
    for k in range(1, n):
        out[:, k] = out[:, k - 1] * x
    return out


def powers_down(x: Any, n: Any) -> Any:
    """Return a matrix with the powers of a vector down to 0."""
    assert n > 0
    out = np.empty((len(x), n))
    out[:, n - 1] = 1.0
    for k in range(1, n):
        out[:, n - 1 - k] = out[:, n - k] * x
    return out


def taken_first(a: Any, indices: Any) -> Any:
    """Return rows, or elements of a vector."""
    return a[indices]


def taken_last(a: Any, indices: Any) -> Any:
    """Return columns."""
    return a[..., indices]


def columns(parts: Any) -> Any:
    """Return a matrix of vectors as columns, and of matrices, side by side."""
    return np.concatenate([p if p.ndim == 2 else p[:, None] for p in parts], axis=1)


def squared(a: Any) -> Any:
    """Return the second power of a matrix."""
    return a @ a


def cubed(a: Any) -> Any:
    """Return the third power of a matrix."""
    return (a @ a) @ a


def eigenvalues(a: Any) -> Any:
    """Return the eigenvalues of a symmetric matrix, whose sweep reads the eigenvectors."""
    return np.linalg.eigh(a)[0]
