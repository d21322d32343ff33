"""How the Cholesky factor of a narrow real band changes, as one triangular system of equations.

A = L Lᵀ changes by Ȧ = L̇ Lᵀ + L L̇ᵀ. The elements of L̇ in its band, column after column, are as many
unknowns as these equations for the lower half of the band of Ȧ; and since the j-th column of A
depends on the columns of L up to the j-th, the equations are triangular. Of a band with p diagonals
below the main one they have a band of width p², so LAPACK solves them, or the transposed ones that
the adjoint asks for, in O(n p³) without a loop in Python.

The map from (L, S) to the band of S Lᵀ + L Sᵀ is symmetric in both. So the derivatives of the
solution by L are the same map again, and its adjoint.

Storage is LAPACK's for the lower half: lb[k, j] = a[j + k, j], with 0 beyond the matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.scipy.linalg.solvers import Change, solver_rules
from chainrules_core import primitive

NARROW = 6
"""Up to so many diagonals below the main one this takes less time than blocks."""


def is_narrow(lb: Any) -> bool:
    """Whether half a band is that of a narrow band of real numbers."""
    return np.ndim(lb) == 2 and not np.iscomplexobj(lb) and np.shape(lb)[0] - 1 <= NARROW


def shifted(x: Any, k: int) -> Any:
    """x[..., j + k], and zero where there is no such element."""
    n = np.shape(x)[-1]
    if k == 0:
        return x
    if abs(k) >= n:
        return np.zeros_like(x)
    none = np.zeros((*np.shape(x)[:-1], abs(k)), x.dtype)
    parts = [x[..., k:], none] if k > 0 else [none, x[..., :k]]
    return np.concatenate(parts, -1)


def equations(lb: np.ndarray) -> np.ndarray:
    """The matrix of the map from the band of S to that of S Lᵀ + L Sᵀ, by its own diagonals.

    The element of S in column k and q places below the diagonal is in the equations for the row
    i = k + q of A, with L_jk, and for its column j = k + q, with L_ik.
    """
    rows, n = lb.shape
    p = rows - 1
    by_column = np.zeros((n, rows, p * p + 1), lb.dtype)
    for q in range(rows):
        for m in range(q + 1):
            by_column[:, q, m * p] += lb[m]
        for m in range(q, rows):
            by_column[:, q, q * (p - 1) + m] += lb[m]
    return np.reshape(by_column, (n * rows, -1)).T


def solved(lb: np.ndarray, right: np.ndarray, transposed: bool) -> np.ndarray:
    """Solve these equations for a band."""
    (solve,) = linalg.get_lapack_funcs(("tbtrs",), (lb, right))
    ordered = np.reshape(right.T, (-1, 1))
    x, _ = solve(equations(lb), ordered, uplo="L", trans="T" if transposed else "N")
    return np.ascontiguousarray(np.reshape(x, right.T.shape).T)


@primitive
def factor_change(lb: Any, change: Any) -> Any:
    """The band of the change of L that goes with a change of the lower half of A."""
    return solved(lb, change, False)


@primitive
def factor_change_adjoint(lb: Any, bar: Any) -> Any:
    """The adjoint of `factor_change` by the change."""
    return solved(lb, bar, True)


def product_band(x: Any, y: Any) -> Any:
    """The lower half of the band of X Yᵀ + Y Xᵀ."""
    rows = np.shape(x)[0]
    return np.stack(
        [
            sum(shifted(x[r + m] * y[m] + y[r + m] * x[m], -m) for m in range(rows - r))
            for r in range(rows)
        ]
    )


def product_band_adjoint(bar: Any, x: Any) -> Any:
    """The adjoint of `product_band` by `y`."""
    rows = np.shape(x)[0]
    pairs = [(r, m, shifted(bar[r], m)) for r in range(rows) for m in range(rows - r)]
    return np.stack(
        [
            sum(b * x[r + m] for r, m, b in pairs if m == k)
            + sum(b * x[m] for r, m, b in pairs if r + m == k)
            for k in range(rows)
        ]
    )


solver_rules(
    factor_change,
    factor_change_adjoint,
    Change(
        lambda lb, lb_dot, s: -product_band(lb_dot, s),
        lambda lb, lb_dot, bar: -product_band_adjoint(bar, lb_dot),
        lambda lb, bar, s: -product_band_adjoint(bar, s),
    ),
)
