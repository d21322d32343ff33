"""Factorisations that are kept to solve several systems: splu, factorized."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import scipy.sparse.linalg as spl

from chainrules.refused import refuse
from chainrules.scipy.sparse.entries import refused
from chainrules.scipy.sparse.linalg.solving import System
from chainrules_core import NoTangent, decompose, frule, ignore_derivatives, natively, rrule


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

    @property
    def L(self) -> NoReturn:  # noqa: N802 - SciPy's name
        """The lower factor, which is not differentiated."""
        refused("scipy.sparse.linalg.SuperLU.L", _FACTORS)

    @property
    def U(self) -> NoReturn:  # noqa: N802 - SciPy's name
        """The upper factor, which is not differentiated."""
        refused("scipy.sparse.linalg.SuperLU.U", _FACTORS)


_FACTORS = (
    "the factors have no rule, only its solve has one. Use that, or scipy.linalg.lu of the dense "
    "matrix."
)


@decompose(spl.splu)
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


@decompose(spl.factorized)
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
