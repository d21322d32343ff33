"""Factorisations that are kept to solve several systems: splu, factorized."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import scipy.sparse.linalg as spl

from chainrules.refused import refuse
from chainrules.scipy.sparse.entries import refused
from chainrules.scipy.sparse.linalg.solving import System
from chainrules_core import decompose, ignore_derivatives


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
        return self.system.solver.factors(ignore_derivatives(self.system.entries))

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
        refused("SuperLU.L", _FACTORS)

    @property
    def U(self) -> NoReturn:  # noqa: N802 - SciPy's name
        """The upper factor, which is not differentiated."""
        refused("SuperLU.U", _FACTORS)


_FACTORS = (
    "only the solutions that the factorisation gives are. Use its solve, or scipy.linalg.lu of the "
    "dense matrix."
)


@decompose(spl.splu)
def splu(
    A: Any,  # noqa: N803 - SciPy's name
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
def factorized(A: Any) -> Callable:  # noqa: N803 - SciPy's name
    """Return what solves systems with a sparse matrix."""
    return splu(A).solve


refuse(
    spl.spilu,
    "an incomplete factorisation depends on what it drops. Use splu; for a preconditioner, give it "
    "autodiff.ignore_derivatives(A).",
)
