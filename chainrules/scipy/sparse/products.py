"""Products: sparse by dense, sparse by sparse, Kronecker.

With y = A b, entries a of A at (i, j): ā_ij = Σ_c ȳ_ic conj(b_jc), only where A stores something,
and b̄ = Aᴴ ȳ = conj(Aᵀ conj(ȳ)). The product of two sparse arrays is the sum of the products of
their entries that belong to one element of it: a gather of each, and a constant matrix of ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from chainrules.scipy.sparse.elementwise import scaled
from chainrules.scipy.sparse.entries import (
    ARRAYS,
    MATRICES,
    as_format,
    decompose_method,
    distinct,
    from_places,
    is_matrix,
    is_sparse,
    like_class,
    places_of,
    refused,
    summed,
    vector_of,
)
from chainrules_core import decompose, linear_rule, natively, primitive


class Pattern:
    """The places of the entries of a matrix in CSR: a constant.

    Attributes
    ----------
    rows, columns : array of int
        Where each entry stands.
    """

    __slots__ = ("columns", "indices", "indptr", "rows", "shape")

    def __init__(self, x: Any) -> None:
        self.indices, self.indptr, self.shape = x.indices, x.indptr, x.shape
        self.rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        self.columns = x.indices

    def filled(self, entries: Any) -> Any:
        """Return the matrix with these entries."""
        return sp.csr_array((entries, self.indices, self.indptr), shape=self.shape)


@primitive
def product(entries: Any, b: Any, *, pattern: Pattern, turned: bool = False) -> Any:
    """Return a sparse matrix, or its transpose, times a vector or a matrix."""
    matrix = pattern.filled(entries)
    return (matrix.T if turned else matrix) @ b


def _entries_bar(
    y_bar: Any, entries: Any, b: Any, *, pattern: Pattern, turned: bool = False
) -> Any:
    rows, columns = pattern.rows, pattern.columns
    if turned:
        rows, columns = columns, rows
    outer = y_bar[rows] * np.conj(b)[columns]
    return np.sum(outer, axis=1) if np.ndim(outer) == 2 else outer


def _b_bar(y_bar: Any, entries: Any, b: Any, *, pattern: Pattern, turned: bool = False) -> Any:
    return np.conj(product(entries, np.conj(y_bar), pattern=pattern, turned=not turned))


linear_rule(product, _entries_bar, _b_bar)


def by_dense(x: Any, b: Any) -> Any:
    """Return a sparse array of two axes times an array of one or two."""
    if np.shape(b)[0] != x.shape[1]:
        raise ValueError(
            f"matmul: dimension mismatch with signature ({x.shape[0]},{x.shape[1]}), {np.shape(b)}"
        )
    x = as_format(x, "csr")
    return product(vector_of(x), b, pattern=Pattern(x))


def by_sparse(x: Any, y: Any) -> Any:
    """Return the product of two sparse arrays of two axes, in CSR."""
    if x.shape[1] != y.shape[0]:
        raise ValueError(f"matmul: dimension mismatch {x.shape}, {y.shape}")
    a, b = as_format(x, "csr"), as_format(y, "csr")
    lengths = np.diff(b.indptr)[a.indices]
    from_a = np.repeat(np.arange(len(a.indices)), lengths)
    starts = np.cumsum(lengths) - lengths
    from_b = np.arange(len(from_a)) + np.repeat(b.indptr[:-1][a.indices] - starts, lengths)
    shape = (x.shape[0], y.shape[1])
    rows = np.repeat(np.arange(x.shape[0]), np.diff(a.indptr))[from_a]
    linear = rows * shape[1] + b.indices[from_b]
    stored, into = natively(distinct, linear)
    entries = vector_of(a)[from_a] * vector_of(b)[from_b]
    sums = summed(entries, into, len(stored))
    return from_places(sums, (stored // max(shape[1], 1), stored % max(shape[1], 1)), shape)


def _as_2d(x: Any) -> Any:
    return x if x.ndim == 2 else x.reshape((1, -1))


def matmul(x: Any, y: Any) -> Any:
    """Return ``x @ y``, at least one of them sparse."""
    for side in (x, y):
        if np.ndim(side) > 2:
            refused("@ of sparse arrays", "it is for arrays of up to two axes.")
    if is_sparse(x) and is_sparse(y):
        if x.ndim == 1 and y.ndim == 1:
            return np.sum(vector_of(x * y))
        row, column = x.ndim == 1, y.ndim == 1
        left = _as_2d(x)
        right = y.reshape((-1, 1)) if column else y
        made = by_sparse(left, right)
        if row or column:
            size = made.shape[1] if row else made.shape[0]
            places = places_of(made)[1 if row else 0]
            return as_format(from_places(vector_of(made), (places,), (size,)), "csr")
        name = x.format if x.format in ("csr", "csc", "bsr") else "csr"
        return as_format(like_class(made, _interface(x, name)), name)
    if is_sparse(x):
        b = y if np.ndim(y) else np.asarray(y)
        if np.ndim(b) == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        made = by_dense(_as_2d(x), b)
        return made if x.ndim == 2 else made[0]
    return _turned(matmul(y.T if y.ndim == 2 else y, np.transpose(np.asarray(x))))


def _interface(x: Any, name: str) -> Any:
    make = getattr(sp, f"{name}_{'matrix' if is_matrix(x) else 'array'}")
    return make((1, 1))


def _turned(y: Any) -> Any:
    return np.transpose(y) if np.ndim(y) == 2 else y


def _matmul(self: Any, other: Any) -> Any:
    return matmul(self, other if is_sparse(other) else np.asarray(other))


def _rmatmul(self: Any, other: Any) -> Any:
    return matmul(np.asarray(other), self)


def _times(self: Any, other: Any) -> Any:
    if not is_sparse(other) and np.ndim(other) == 0:
        return scaled(self, other)
    return _matmul(self, other)


def _rtimes(self: Any, other: Any) -> Any:
    if np.ndim(other) == 0:
        return scaled(self, other)
    return _rmatmul(self, other)


decompose_method("__matmul__", _matmul)
decompose_method("__rmatmul__", _rmatmul)
decompose_method("dot _matmul_dispatch", _times)
decompose_method("_rmatmul_dispatch", _rtimes)
decompose_method("__mul__", _times, MATRICES)
decompose_method("__rmul__", _rtimes, MATRICES)


@decompose(sp.kron)
def kron(A: Any, B: Any, format: Any = None) -> Any:
    """Return the Kronecker product: every entry of `A` times every one of `B`."""
    matrices = is_matrix(A) or is_matrix(B)
    as_array = not matrices or isinstance(A, ARRAYS) or isinstance(B, ARRAYS)
    a, b = coo_of(A), coo_of(B)
    n, m = np.size(vector_of(a)), np.size(vector_of(b))
    from_a, from_b = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
    places = tuple(
        [
            np.asarray(p, int)[from_a] * size + q[from_b]
            for p, q, size in zip(places_of(a), places_of(b), b.shape, strict=True)
        ]
    )
    shape = tuple([i * j for i, j in zip(a.shape, b.shape, strict=True)])
    made = from_places(vector_of(a)[from_a] * vector_of(b)[from_b], places, shape, as_array)
    return as_format(made, format or "coo")


def coo_of(x: Any) -> Any:
    """Return an array or sparse array in COO, each element stored once."""
    if is_sparse(x):
        return as_format(x, "coo")
    x = np.atleast_2d(np.asarray(x))
    places = np.nonzero(x)
    return from_places(x[places], places, np.shape(x))


@decompose(sp.kronsum)
def kronsum(A: Any, B: Any, format: Any = None) -> Any:
    """Return the sum of Kronecker products with identities."""
    make = sp.eye_array if not (is_matrix(A) and is_matrix(B)) else sp.eye
    left = kron(make(np.shape(B)[0]), A)
    right = kron(B, make(np.shape(A)[0]))
    return as_format(left + right, format or "csr")
