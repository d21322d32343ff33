"""Products: sparse by dense, sparse by sparse, Kronecker.

With y = A b, entries a of A at (i, j): ā_ij = Σ_c ȳ_ic conj(b_jc), only where A stores something,
and b̄ = Aᴴ ȳ = conj(Aᵀ conj(ȳ)). The product of two sparse arrays is the sum of the products of
their entries that belong to one element of it: bilinear, as its adjoints are, by the same pairs.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.sparse as sp

from chainrules.scipy.sparse.elementwise import scaled
from chainrules.scipy.sparse.entries import (
    MATRICES,
    as_format,
    from_places,
    is_matrix,
    is_sparse,
    numbered,
    picked,
    refused,
    vector_of,
)
from chainrules.scipy.sparse.in_place import decompose_method
from chainrules.scipy.sparse.merging import begins_of, in_order, merged
from chainrules.scipy.sparse.storage import form_of, pattern_of, stored_in
from chainrules_core import decompose, linear_rule, natively, primitive
from chainrules_core.authoring import entries_of, is_foreign, with_entries


class Pattern:
    """The places of the entries of a matrix in CSR: a constant.

    Attributes
    ----------
    indices, indptr, shape : array of int, array of int, tuple
        As in CSR.
    """

    __slots__ = ("_rows", "indices", "indptr", "shape")

    def __init__(self, x: Any) -> None:
        self.indices, self.indptr, self.shape = x.indices, x.indptr, x.shape
        self._rows: Any = None

    @property
    def rows(self) -> np.ndarray:
        """In which row each entry stands."""
        if self._rows is None:
            self._rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        return self._rows

    def filled(self, entries: Any) -> Any:
        """Return the matrix with these entries."""
        return sp.csr_array((entries, self.indices, self.indptr), shape=self.shape)


@primitive
def product(entries: Any, b: Any, *, pattern: Pattern, turned: bool = False) -> Any:
    """Return a sparse matrix, or its transpose, times a vector or a matrix."""
    matrix = pattern.filled(entries)
    return (matrix.T if turned else matrix) @ b


# Rows of two matrices are multiplied for so many entries at a time, which the processor's cache
# holds: a third of the time of all at once.
_BLOCK = 2**15


def outer_entries(left: Any, right: Any, pattern: Pattern, turned: bool = False) -> Any:
    """Return the entries of a pattern, or of its transpose, of ``left @ conj(right).T``."""
    rows, columns = natively(_sides, pattern, turned)
    if np.ndim(right) == 1:
        return left[rows] * np.conj(right)[columns]
    if is_foreign(left) or is_foreign(right):
        return np.sum(left[rows] * np.conj(right)[columns], axis=1)
    result = np.empty(len(rows), np.result_type(left, right))
    step = max(1, _BLOCK // max(1, right.shape[1]))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        one, other = left.take(rows[part], axis=0), right.take(columns[part], axis=0)
        np.vecdot(other, one, out=result[part])  # of the conjugate of its first
    return result


def _entries_bar(
    y_bar: Any, entries: Any, b: Any, *, pattern: Pattern, turned: bool = False
) -> Any:
    return outer_entries(y_bar, b, pattern, turned)


def _sides(pattern: Pattern, turned: bool) -> tuple[np.ndarray, np.ndarray]:
    return (pattern.indices, pattern.rows) if turned else (pattern.rows, pattern.indices)


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


class Pairs:
    """Which entries of a and b make which element of their product: all pairs, by elements.

    Attributes
    ----------
    sides : tuple of array of int
        The number of the entry of a, and of the one of b, of each pair; ``columns`` for SciPy.
    begins : array of int
        At which pair each element begins, and the number of pairs behind that.
    sizes : tuple of int
        How many entries a and b have.
    made : csr_array
        The pattern of the product.
    """

    def __init__(self, a: Any, b: Any) -> None:
        lengths = np.diff(b.indptr)[a.indices]
        ends = np.append(0, np.cumsum(lengths))
        n = int(ends[-1])
        from_a = np.repeat(np.arange(len(a.indices)), lengths)
        from_b = np.arange(n)
        from_b += np.repeat(b.indptr[:-1][a.indices] - ends[:-1], lengths)
        # SciPy does not look whether indices of 32 bits would do if they are such.
        kind = np.int32 if max(n, *a.shape, *b.shape) < 2**31 else np.int64
        columns, indptr = b.indices.astype(kind).take(from_b), ends[a.indptr].astype(kind)
        numbers = np.arange(n, dtype=kind)
        all_pairs = sp.csr_array((numbers, columns, indptr), shape=(a.shape[0], b.shape[1]))
        ordered = in_order(all_pairs)
        begins = begins_of(ordered)
        self.begins = np.arange(n + 1, dtype=kind) if begins is None else begins.astype(kind)
        order = ordered.data.astype(np.intp)  # NumPy takes elements by these, without a copy
        self.sides = from_a.take(order), from_b.take(order)
        self.columns = tuple(side.astype(kind) for side in self.sides)
        self.sizes = len(a.indices), len(b.indices)
        self.made = merged(ordered, self.begins)

    def matrix(self, entries: Any, side: int) -> Any:
        """Return the matrix with which the entries of one side make the product."""
        data = entries.take(self.sides[1 - side])
        shape = (len(self.begins) - 1, self.sizes[side])
        return sp.csr_array((data, self.columns[side], self.begins), shape=shape)


@primitive
def paired(u: Any, v: Any, *, pairs: Pairs, side: int = -1) -> Any:
    """Return the sum of the products of each pair, for each element of the product of two arrays.

    If `side` is 0 or 1: the sums for the entries of that side of what belongs to the product (`u`)
    and of the entries of the other side (`v`).
    """
    if side < 0:
        return pairs.matrix(v, 0) @ u
    return pairs.matrix(v, side).T @ u


def _u_bar(y_bar: Any, u: Any, v: Any, *, pairs: Pairs, side: int = -1) -> Any:
    if side < 0:
        return paired(y_bar, np.conj(v), pairs=pairs, side=0)
    return paired(*((y_bar, np.conj(v)) if side == 0 else (np.conj(v), y_bar)), pairs=pairs)


def _v_bar(y_bar: Any, u: Any, v: Any, *, pairs: Pairs, side: int = -1) -> Any:
    if side < 0:
        return paired(y_bar, np.conj(u), pairs=pairs, side=1)
    return paired(np.conj(u), y_bar, pairs=pairs, side=1 - side)


linear_rule(paired, _u_bar, _v_bar)


def by_sparse(x: Any, y: Any) -> Any:
    """Return the product of two sparse arrays of two axes, in CSR."""
    if x.shape[1] != y.shape[0]:
        raise ValueError(f"matmul: dimension mismatch {x.shape}, {y.shape}")
    a, b = as_format(x, "csr"), as_format(y, "csr")
    pairs = natively(Pairs, a, b)
    return with_entries(pairs.made, paired(vector_of(a), vector_of(b), pairs=pairs))


def _as_2d(x: Any) -> Any:
    return x if x.ndim == 2 else x.reshape((1, -1))


def matmul(x: Any, y: Any) -> Any:
    """Return ``x @ y``, at least one of them sparse."""
    for side in (x, y):
        if np.ndim(side) > 2:
            refused(
                "@ of a sparse array and an array of three or more axes",
                "it has no rule. Multiply by one matrix after the other: [a @ b for b in stack].",
            )
    if is_sparse(x) and is_sparse(y):
        if x.ndim == 1 and y.ndim == 1:
            return np.asarray(np.sum(vector_of(x * y)))
        made = by_sparse(_as_2d(x), y.reshape((-1, 1)) if y.ndim == 1 else y)
        form = form_of(operator.matmul, x, y)
        if len(form.shape) == 1:
            made = made.reshape(form.shape)
        return stored_in(form, made)
    if is_sparse(x):
        b = y if np.ndim(y) else np.asarray(y)
        if np.ndim(b) == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        made = by_dense(_as_2d(x), b)
        return made if x.ndim == 2 else made[0]
    return _turned(matmul(y.T if y.ndim == 2 else y, np.transpose(np.asarray(x))))


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
    a, b = [x if is_sparse(x) else coo_of(x, is_array=False) for x in (A, B)]
    plain = natively(_kron_of, pattern_of(a), pattern_of(b), format)
    if plain.format == "bsr" and format != "coo":
        a = as_format(a, "csr") if a.format == "coo" else a.tocsr(copy=True)
        blocks = np.reshape(entries_of(a), (-1, 1, 1)) * b.toarray()
        return type(plain)((blocks, a.indices, a.indptr), shape=plain.shape)
    # In COO an element is stored as often as in the factors.
    numbers = natively(_kron_of, numbered(a), pattern_of(b), "coo")
    from_b = natively(_kron_of, pattern_of(a), numbered(b), "coo")
    sides = [picked(vector_of(x), entries_of(n)) for x, n in ((a, numbers), (b, from_b))]
    made = with_entries(numbers, sides[0] * sides[1])
    return made if format is None else as_format(made, format)


def _kron_of(a: Any, b: Any, format: Any) -> Any:
    return sp.kron(a, b, format=format)


def coo_of(x: Any, is_array: bool = True) -> Any:
    """Return an array or sparse array in COO, each element stored once."""
    if is_sparse(x):
        return as_format(x, "coo")
    x = np.atleast_2d(np.asarray(x))
    places = np.nonzero(x)
    return from_places(x[places], places, np.shape(x), is_array)


@decompose(sp.kronsum)
def kronsum(A: Any, B: Any, format: Any = None) -> Any:
    """Return the sum of Kronecker products with identities."""
    make = sp.eye_array if not (is_matrix(A) and is_matrix(B)) else sp.eye
    dtype = np.result_type(*[(x if is_sparse(x) else np.asarray(x)).dtype for x in (A, B)])
    left = kron(make(np.shape(B)[0], dtype=dtype), A, "coo")
    right = kron(B, make(np.shape(A)[0], dtype=dtype), "coo")
    return (left + right).asformat(format)
