"""Pullbacks written by hand, for functions whose primal is one fast pass over memory.

Each is what somebody who knows NumPy would write with as few passes as it allows, given the
cotangent, the output and the arguments. Ties are shared equally, as the rules do it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SAMPLES: list = []  # the samples that these belong to are in the tables of their topics


def larger(y_bar: Any, y: Any, a: Any, b: Any) -> tuple:
    """``maximum`` and its kin: a look for ties, then a product with truth values."""
    hit, other = y == a, y == b
    np.count_nonzero(hit == other)
    a_bar = hit * y_bar
    return a_bar, y_bar - a_bar


def larger_than_number(y_bar: Any, y: Any, a: Any, b: float) -> Any:
    """The same, where the second argument is a constant number."""
    hit = y == a
    np.count_nonzero(hit & (y == b))
    return hit * y_bar


def clipped(y_bar: Any, y: Any, a: Any, low: Any, high: Any) -> Any:
    """``clip`` between numbers: a look for ties with each bound."""
    hit = y == a
    np.count_nonzero(hit & ((y == low) | (y == high)))
    return hit * y_bar


def clipped_by_arrays(y_bar: Any, y: Any, a: Any, low: Any, high: Any) -> tuple:
    """``clip`` between arrays."""
    inside, below = y == a, y == low
    np.count_nonzero(inside & (below | (y == high)))
    a_bar, low_bar = inside * y_bar, below * y_bar
    return a_bar, low_bar, y_bar - a_bar - low_bar


def absolute(y_bar: Any, y: Any, x: Any) -> Any:
    """|x|, with slope 0 at 0."""
    return y_bar * np.sign(x)


def square(y_bar: Any, y: Any, x: Any) -> Any:
    """The square of x."""
    return np.multiply(2 * x, y_bar)


def quotient(y_bar: Any, y: Any, a: Any, b: Any) -> tuple:
    """The quotient a/b."""
    a_bar = y_bar / b
    return a_bar, np.negative(a_bar * y)


def complex_product(y_bar: Any, y: Any, a: Any, b: Any) -> tuple:
    """A product of complex numbers."""
    return y_bar * np.conj(b), y_bar * np.conj(a)


def largest(y_bar: Any, y: Any, a: Any) -> Any:
    """The largest of all elements."""
    hit = a == y
    a_bar = np.zeros_like(a)
    a_bar[hit] = y_bar / np.count_nonzero(hit)
    return a_bar


def put(a_bar: np.ndarray, hit: np.ndarray, bar: Any, axis: int) -> None:
    """Put the cotangents of results along an axis where the results stand."""
    places = np.flatnonzero(hit)
    if len(places) != np.size(bar):  # there are ties
        a_bar += hit * np.expand_dims(bar / np.count_nonzero(hit, axis=axis), axis)
        return
    n = a_bar.shape[1]
    a_bar.reshape(-1)[places] += bar[places // n if axis == 1 else places % n]


def largest_along(axis: int) -> Any:
    """Return the pullback of the largest elements along an axis."""

    def largest_of_each(y_bar: Any, y: Any, a: Any) -> Any:
        a_bar = np.zeros_like(a)
        put(a_bar, a == np.expand_dims(y, axis), y_bar, axis)
        return a_bar

    return largest_of_each


def spread(y_bar: Any, y: Any, a: Any) -> Any:
    """The largest less the smallest element."""
    top, bottom = np.max(a), np.min(a)
    a_bar = np.zeros_like(a)
    for hit, bar in ((a == top, y_bar), (a == bottom, -y_bar)):
        a_bar[hit] = bar / np.count_nonzero(hit)
    return a_bar


def spread_along(axis: int) -> Any:
    """Return the pullback of the same along an axis."""

    def spread_of_each(y_bar: Any, y: Any, a: Any) -> Any:
        a_bar = np.zeros_like(a)
        put(a_bar, a == np.max(a, axis, keepdims=True), y_bar, axis)
        put(a_bar, a == np.min(a, axis, keepdims=True), -y_bar, axis)
        return a_bar

    return spread_of_each


def largest_of_segments(y_bar: Any, y: Any, a: Any, starts: Any) -> Any:
    """The largest elements of segments that follow each other."""
    lengths = np.diff(starts, append=len(a))
    hit = a == np.repeat(y, lengths)
    np.count_nonzero(hit)
    return hit * np.repeat(y_bar, lengths)


def larger_of_all_pairs(y_bar: Any, y: Any, a: Any, b: Any) -> tuple:
    """``maximum.outer`` and its kin."""
    hit, other = y == a[:, None], y == b
    np.count_nonzero(hit == other)
    weights = hit.astype(float)
    a_bar = np.vecdot(weights, y_bar)
    return a_bar, np.einsum("ij,ij->j", np.subtract(1.0, weights, out=weights), y_bar)


def dot(y_bar: Any, y: Any, a: Any, b: Any) -> tuple:
    """The product of two vectors."""
    return y_bar * b, y_bar * a


def dots(y_bar: Any, y: Any, a: Any, b: Any) -> tuple:
    """The products of many pairs of vectors."""
    return np.einsum("i,ij->ij", y_bar, b), np.einsum("i,ij->ij", y_bar, a)


def matrix_times_vector(y_bar: Any, y: Any, a: Any, b: Any) -> tuple:
    """A matrix times a vector: the cotangent of the matrix is as large as the matrix."""
    return np.einsum("i,j->ij", y_bar, b), y_bar @ a


def summed_matrix_times_vector(y_bar: Any, y: Any, subscripts: str, a: Any, b: Any) -> tuple:
    """The same by ``einsum``."""
    return matrix_times_vector(y_bar, y, a, b)


def vector_times_matrix(y_bar: Any, y: Any, a: Any, b: Any) -> tuple:
    """A vector times a matrix."""
    return b @ y_bar, np.einsum("i,j->ij", a, y_bar)


def determinant(y_bar: Any, y: Any, a: Any) -> Any:
    """The determinant."""
    return y_bar * y * np.linalg.inv(a).T


def log_determinant(y_bar: Any, y: Any, a: Any) -> Any:
    """The logarithm of the determinant, of one matrix or many."""
    return np.expand_dims(y_bar[1], (-2, -1)) * np.linalg.inv(a).mT


def spectral_norm(y_bar: Any, y: Any, a: Any, ord: Any) -> Any:
    """The largest singular value: its vectors are needed, which the primal does not make."""
    u, _, vh = np.linalg.svd(a)
    return y_bar * np.outer(u[:, 0], vh[0])


def nuclear_norm(y_bar: Any, y: Any, a: Any, ord: Any) -> Any:
    """The sum of the singular values."""
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return y_bar * (u @ vh)


def condition(y_bar: Any, y: Any, a: Any) -> Any:
    """The largest singular value over the smallest."""
    u, s, vh = np.linalg.svd(a)
    first, last = np.outer(u[:, 0], vh[0]), np.outer(u[:, -1], vh[-1])
    return y_bar * (first / s[-1] - y / s[-1] * last)


def rows_added(y_bar: Any, y: Any, a: Any, index: Any, **options: Any) -> Any:
    """Rows read again and again: ``np.add.at`` is NumPy's way to add them."""
    a_bar = np.zeros_like(a)
    np.add.at(a_bar, index, y_bar)
    return a_bar
