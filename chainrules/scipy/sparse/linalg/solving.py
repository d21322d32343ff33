"""Systems of linear equations with a sparse matrix.

With A x = b:  b̄ = A⁻ᴴ x̄,  Ā = -b̄ xᴴ at the stored entries,  ẋ = A⁻¹ (ḃ - Ȧ x).  The adjoint system
is solved with the factors of the first one, as conj(A⁻ᵀ conj(x̄)).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph as csgraph
import scipy.sparse.linalg as spl

from chainrules.dropped import without
from chainrules.scipy.sparse.entries import (
    as_format,
    from_places,
    gathered,
    is_matrix,
    is_sparse,
    vector_of,
)
from chainrules.scipy.sparse.in_place import decompose_function
from chainrules.scipy.sparse.linalg.operators import dense_of, is_operator
from chainrules.scipy.sparse.products import Pattern, outer_entries, product
from chainrules_core import (
    AbstractZero,
    ignore_derivatives,
    natively,
    pair_rule,
    primitive,
)


class Solver:
    """Solves systems with matrices of one pattern; the last factorisation is kept.

    Attributes
    ----------
    pattern : Pattern
        Where the entries stand.
    """

    __slots__ = ("_entries", "_known", "_lu", "_options", "pattern")

    def __init__(self, pattern: Pattern, **options: Any) -> None:
        self.pattern = pattern
        self._options = options
        self._entries: Any = None
        self._lu: Any = None
        self._known: Any = None

    def know(self, entries: Any, b: Any, x: Any) -> None:
        """Remember a solution that was found in another way."""
        self._known = (entries, b, x)

    def factors(self, entries: Any) -> Any:
        """Return the LU factorisation of the matrix with these entries."""
        if self._lu is None or not np.array_equal(self._entries, entries):
            matrix = self.pattern.filled(entries).tocsc()
            if matrix.dtype.kind not in "fc":
                matrix = matrix.astype(float)
            self._lu = spl.splu(matrix, **self._options)
            self._entries = entries
        return self._lu

    def solve(self, entries: Any, b: Any, turned: bool) -> Any:
        """Return the solution of a system, or of the transposed one."""
        if self._known is not None and not turned:
            known_entries, known_b, x = self._known
            if np.array_equal(known_entries, entries) and np.array_equal(known_b, b):
                return x
        lu = self.factors(entries)
        dtype = np.result_type(entries, b, np.float32)
        trans = "T" if turned else "N"
        b = np.asarray(b, np.result_type(b, np.float32))
        if np.iscomplexobj(b) and not np.iscomplexobj(entries):
            parts = [lu.solve(np.ascontiguousarray(p), trans) for p in (b.real, b.imag)]
            return (parts[0] + 1j * parts[1]).astype(dtype)
        own = np.result_type(entries, np.float32)
        return lu.solve(np.asarray(b, own), trans).astype(dtype, copy=False)


@primitive
def solved(entries: Any, b: Any, *, solver: Solver, turned: bool = False) -> Any:
    """Return the solution of a sparse system, or of the transposed one."""
    return solver.solve(entries, b, turned)


@pair_rule(solved)
def solved_rule(entries: Any, b: Any, *, solver: Solver, turned: bool = False) -> Any:
    x = solved(entries, b, solver=solver, turned=turned)

    def solved_pushforward(entries_dot: Any, b_dot: Any) -> Any:
        right = b_dot
        if not isinstance(entries_dot, AbstractZero):
            moved = product(entries_dot, x, pattern=solver.pattern, turned=turned)
            right = -moved if isinstance(b_dot, AbstractZero) else b_dot - moved
        return solved(entries, right, solver=solver, turned=turned)

    def solved_pullback(x_bar: Any) -> tuple:
        b_bar = np.conj(solved(entries, np.conj(x_bar), solver=solver, turned=not turned))
        return outer_entries(-b_bar, x, solver.pattern, turned), b_bar

    return x, solved_pushforward, solved_pullback


def square_csr(x: Any) -> Any:
    """Return a square matrix in CSR: of a sparse array, an array or a linear operator."""
    if is_operator(x):
        x = dense_of(x)
    if not is_sparse(x):
        x = np.asarray(x)
        places = tuple([a.ravel() for a in np.indices(np.shape(x))])
        x = from_places(np.reshape(x, (-1,)), places, np.shape(x))
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError(f"matrix must be square (has shape {x.shape})")
    return as_format(x, "csr")


class System:
    """A square sparse matrix with traced entries, ready to solve systems with."""

    def __init__(self, x: Any, **options: Any) -> None:
        x = square_csr(x)
        self.entries = vector_of(x)
        self.solver = Solver(Pattern(x), **options)
        self.shape = x.shape

    def solve(self, b: Any, turned: bool = False) -> Any:
        """Return the solution for a vector or a matrix of right-hand sides."""
        b = np.asarray(b)
        if np.shape(b)[0] != self.shape[0]:
            raise ValueError(f"matrix - rhs dimension mismatch ({self.shape} - {np.shape(b)[0]})")
        return solved(self.entries, b, solver=self.solver, turned=turned)


_ZEROS = (
    "the result is sparse, and elements of it that are exactly 0 depend on what is differentiated "
    "by: they are not stored, and their derivatives would be lost. Compute with dense arrays: "
    "np.linalg.solve(A.toarray(), b.toarray()), np.linalg.inv or scipy.linalg.expm of A.toarray()."
)


def stored(x: Any, depends: np.ndarray, places: Any = None) -> tuple[Any, Any]:
    """Return where a dense result is stored, by default where it is not 0, and its elements there.

    The derivatives of others are an error, if they depend on the entries of what it is made of.
    """
    places = np.nonzero(x) if places is None else places
    lost = depends.copy()
    lost[places] = False
    entries = x[places]
    return places, without(entries, x[lost], why=_ZEROS) if lost.any() else entries


def may_depend(pattern: Pattern, b: Any = None) -> np.ndarray:
    """Return which elements of A⁻¹ b, or of exp(A), depend on entries, whatever these are.

    The inverse of I - P, where P has no negative element and rows with sums below 1, is Σ Pᵏ:
    nothing cancels, and what comes out as 0 is 0 for all numbers in these places. To have no
    zero on the diagonal of A, its rows are put in another order.
    """
    n = pattern.shape[0]
    a = pattern.filled(np.ones(len(pattern.indices)))
    right = np.eye(n)
    if b is not None:
        order = csgraph.maximum_bipartite_matching(a, perm_type="row")
        right = np.zeros(b.shape)
        right[b.coords] = 1.0
        a, right = a[order], right[order]
    a = a - sp.diags_array(a.diagonal())
    p = sp.diags_array(1.0 / (1.0 + a.sum(axis=1))) @ a
    factors = spl.splu(
        sp.csc_array(sp.eye_array(n) - p),
        permc_spec="NATURAL",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return factors.solve(right) > 0.0


@decompose_function(spl.spsolve)
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: Any = True) -> Any:
    """Return the solution of A x = b; sparse where `b` is sparse and no vector."""
    system = System(A, permc_spec=permc_spec)
    if not is_sparse(b):
        b = np.asarray(b)
        x = system.solve(b)
        return np.reshape(x, (-1,)) if np.ndim(b) == 2 and np.shape(b)[1] == 1 else x
    x = system.solve(b.toarray() if not is_matrix(b) else as_format(b, "coo").toarray())
    if b.ndim == 1 or b.shape[1] == 1:
        return np.reshape(x, (-1,))
    given = natively(as_format, ignore_derivatives(b), "coo")
    places, entries = stored(x, natively(may_depend, system.solver.pattern, given))
    make = sp.csc_array if not is_matrix(A) else sp.csc_matrix
    if is_sparse(A) and A.format == "csr":
        make = sp.csr_array if not is_matrix(A) else sp.csr_matrix
    numbers = natively(make, (np.arange(1, 1 + len(places[0])), places), shape=np.shape(x))
    return gathered(numbers, entries)


@decompose_function(spl.spsolve_triangular)
def spsolve_triangular(
    A: Any,
    b: Any,
    lower: Any = True,
    overwrite_A: Any = False,
    overwrite_b: Any = False,
    unit_diagonal: Any = False,
) -> Any:
    """Return the solution of a triangular system; only the triangle is read."""
    x = square_csr(A)
    n = x.shape[0]
    if unit_diagonal:
        strict = sp.tril(x, k=-1) if lower else sp.triu(x, k=1)
        x = strict + sp.eye_array(n, format="csr")
    else:
        x = sp.tril(x) if lower else sp.triu(x)
    return System(x, permc_spec="NATURAL", diag_pivot_thresh=0.0).solve(b)


@decompose_function(spl.inv)
def inv(A: Any) -> Any:
    """Return the inverse, sparse as SciPy has it."""
    if not is_sparse(A):
        raise TypeError("Input must be a sparse array")
    make = sp.eye if is_matrix(A) else sp.eye_array
    return spsolve(A, make(A.shape[0], format="csc"))
