"""Factorisations that are kept to solve several systems: splu, factorized.

The derivatives of the factors themselves are computed by dense matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse.linalg as spl

from chainrules.refused import refuse
from chainrules.scipy.linalg.factors.lu import lu_adjoint, lu_tangent
from chainrules.scipy.sparse.entries import as_format, from_places
from chainrules.scipy.sparse.in_place import decompose_function
from chainrules.scipy.sparse.linalg.solving import System
from chainrules_core import (
    Array,
    NoTangent,
    Tangent,
    frule,
    ignore_derivatives,
    natively,
    pair_rule,
    primitive,
    rrule,
)
from chainrules_core.authoring import part


class Factorisation:
    """The LU factorisation of a traced sparse matrix, as ``splu`` returns one."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.shape = system.shape

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """Return the solution of A x = rhs, of Aᵀ x = rhs ("T") or of Aᴴ x = rhs ("H")."""
        if trans == "H":
            return np.conj(self.system.solve(np.conj(rhs), turned=True))
        if trans not in ("N", "T"):
            raise ValueError("trans must be N, T, or H")
        return self.system.solve(rhs, turned=trans == "T")

    def _plain(self) -> Any:
        return natively(self.system.solver.factors, ignore_derivatives(self.system.entries))

    @property
    def nnz(self) -> int:
        """The number of entries of the factors."""
        return self._plain().nnz

    @property
    def perm_r(self) -> Any:
        """The permutation of the rows."""
        return self._plain().perm_r

    @property
    def perm_c(self) -> Any:
        """The permutation of the columns."""
        return self._plain().perm_c

    def _factors(self) -> tuple[Any, Any]:
        """L and U: those of the matrix with its rows and columns exchanged."""
        plain, pattern = self._plain(), self.system.solver.pattern
        rows, columns = plain.perm_r[pattern.rows], plain.perm_c[pattern.indices]
        turned = from_places(self.system.entries, (rows, columns), self.shape)
        stored = natively(_filled, rows, columns, self.shape[0])
        known = natively(plain.L.toarray), natively(plain.U.toarray)
        return tuple(
            as_format(from_places(factor[places], places, self.shape), "csc")
            for factor, places in zip(
                _unpivoted(turned.toarray(), known=known), stored, strict=True
            )
        )

    @property
    def L(self) -> Any:  # noqa: N802 - SciPy's name
        """The lower factor."""
        return self._factors()[0]

    @property
    def U(self) -> Any:  # noqa: N802 - SciPy's name
        """The upper factor."""
        return self._factors()[1]


def _filled(rows: np.ndarray, columns: np.ndarray, n: int) -> tuple[tuple, tuple]:
    """Return where L and U may have entries: elimination fills a matrix, whatever its numbers.

    SciPy leaves out elements that happen to be 0, but these have derivatives.
    """
    holds = np.eye(n, dtype=bool)
    holds[rows, columns] = True
    for k in range(n):
        below, beside = np.nonzero(holds[k + 1 :, k])[0], np.nonzero(holds[k, k + 1 :])[0]
        holds[np.ix_(k + 1 + below, k + 1 + beside)] = True
    return np.nonzero(np.tril(holds)), np.nonzero(np.triu(holds))


@primitive
def _unpivoted(matrix: Any, *, known: tuple) -> tuple[Any, Any]:
    """Return the factors L and U of a dense matrix, which are known."""
    return known


@pair_rule(_unpivoted, Array)
def unpivoted_rule(matrix: Any, *, known: tuple) -> Any:
    lower, upper = _unpivoted(matrix, known=known)

    def unpivoted_pushforward(matrix_dot: Any) -> Any:
        return Tangent[tuple](*lu_tangent(lower, upper, matrix_dot))

    def unpivoted_pullback(y_bar: Any) -> Any:
        return lu_adjoint(lower, upper, part(y_bar, 0), part(y_bar, 1))

    return (lower, upper), unpivoted_pushforward, unpivoted_pullback


@decompose_function(spl.splu)
def splu(
    A: Any,
    permc_spec: Any = None,
    diag_pivot_thresh: Any = None,
    relax: Any = None,
    panel_size: Any = None,
    options: Any = None,
) -> Factorisation:
    """Return the factorisation of a sparse matrix."""
    made = System(
        A,
        permc_spec=permc_spec,
        diag_pivot_thresh=diag_pivot_thresh,
        relax=relax,
        panel_size=panel_size,
        options=options or {},
    )
    factorisation = Factorisation(made)
    factorisation.nnz  # noqa: B018 - a singular matrix is an error here already
    return factorisation


@decompose_function(spl.factorized)
def factorized(A: Any) -> Callable:
    """Return what solves systems with a sparse matrix."""
    return splu(A).solve


def _solved(lu: Any, rhs: Any, trans: str) -> Any:
    """Solve with the factors of a constant matrix; real factors take both parts of complex ones."""
    if trans == "H":
        return np.conj(lu.solve(np.conj(rhs), "T"))
    return lu.solve(rhs, trans)


@rrule.register(spl.SuperLU.solve)
def superlu_solve_rrule(lu: Any, rhs: Any, trans: Any = "N") -> Any:
    x = lu.solve(rhs, trans)
    adjoint = {"N": "H", "H": "N"}.get(trans)

    def superlu_solve_pullback(x_bar: Any) -> tuple:
        if adjoint is not None:
            return NoTangent(), _solved(lu, x_bar, adjoint), NoTangent()
        return NoTangent(), np.conj(lu.solve(np.conj(x_bar), "N")), NoTangent()

    return x, superlu_solve_pullback


@frule.register(spl.SuperLU.solve)
def superlu_solve_frule(dots: tuple, lu: Any, rhs: Any, trans: Any = "N") -> Any:
    return lu.solve(rhs, trans), lu.solve(dots[1], trans)


refuse(
    spl.spilu,
    "an incomplete factorisation drops entries by their size, and jumps. Use splu; as a "
    "preconditioner, make it of autodiff.ignore_derivatives(A).",
)
