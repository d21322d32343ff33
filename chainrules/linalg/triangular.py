"""Systems with triangular matrices, by BLAS or by multiplications of blocks.

NumPy itself has no solver for them, and the general one makes a factorisation first and then two
triangular solutions: three times the work, at less speed than a product. SciPy's BLAS has one, for
single systems of plain numbers; stacks and traced values are solved block by block.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_core.authoring import is_foreign

BLOCK = 64
"""Up to this size the general solver is fast enough."""


def inverse_of_lower(a: np.ndarray) -> Any:
    """A⁻¹, for small plain lower triangular matrices with positive diagonals."""
    if a.ndim != 2 or a.dtype.char not in "fdFD" or not a.size:
        return np.linalg.inv(np.tril(a))
    from scipy.linalg import get_lapack_funcs  # where it is needed: it takes a while to load

    (trtri,) = get_lapack_funcs(("trtri",), (a,))
    return trtri(a.T, lower=0)[0].T


def is_plain(a: Any, b: Any) -> bool:
    """Whether this is one regular system of plain numbers, which BLAS solves."""
    for x in (a, b):
        if is_foreign(x) or np.ndim(x) != 2 or x.dtype.char not in "fdFD" or not x.size:
            return False
    return bool(np.all(np.diagonal(a) != 0))


def solve_plain(a: np.ndarray, b: np.ndarray, lower: bool) -> Any:
    """A⁻¹ B by BLAS, which has columns one after the other: rows are given as those of Aᵀ, Bᵀ."""
    from scipy.linalg import get_blas_funcs  # where it is needed: it takes a while to load

    (trsm,) = get_blas_funcs(("trsm",), (a, b))
    turned = not a.flags.f_contiguous
    factor, lower = (a.T, not lower) if turned else (a, lower)
    if b.flags.c_contiguous:
        return trsm(1.0, factor, b.T, side=1, lower=lower, trans_a=not turned).T
    return trsm(1.0, factor, b, side=0, lower=lower, trans_a=turned)


def triangle_of(a: Any) -> str | None:
    """Return ``"lower"`` or ``"upper"`` for a large plain triangular matrix, else None.

    A solution costs less than the factorisation that the general solver makes, and most matrices
    show at once, by two corners, that they are not triangular.
    """
    if is_foreign(a) or a.ndim != 2 or len(a) <= BLOCK or a.dtype.char not in "fdFD":
        return None
    if a[0, -1] == 0 and not np.triu(a, 1).any():
        return "lower"
    return "upper" if a[-1, 0] == 0 and not np.tril(a, -1).any() else None


def solve_lower(a: Any, b: Any) -> Any:
    """A⁻¹ B, for lower triangular matrices."""
    n = np.shape(a)[-1]
    if is_plain(a, b):
        return solve_plain(a, b, True)
    if n <= BLOCK:
        return np.linalg.solve(np.tril(a), b)  # BLAS reads this triangle, too
    h = n // 2
    first = solve_lower(a[..., :h, :h], b[..., :h, :])
    rest = b[..., h:, :] - np.matmul(a[..., h:, :h], first)
    return np.concatenate([first, solve_lower(a[..., h:, h:], rest)], -2)


def solve_upper(a: Any, b: Any) -> Any:
    """A⁻¹ B, for upper triangular matrices."""
    n = np.shape(a)[-1]
    if is_plain(a, b):
        return solve_plain(a, b, False)
    if n <= BLOCK:
        return np.linalg.solve(np.triu(a), b)
    h = n // 2
    last = solve_upper(a[..., h:, h:], b[..., h:, :])
    rest = b[..., :h, :] - np.matmul(a[..., :h, h:], last)
    return np.concatenate([solve_upper(a[..., :h, :h], rest), last], -2)


def right_upper(b: Any, a: Any) -> Any:
    """B A⁻¹, for upper triangular matrices."""
    return solve_lower(a.mT, b.mT).mT


def right_lower(b: Any, a: Any) -> Any:
    """B A⁻¹, for lower triangular matrices."""
    return solve_upper(a.mT, b.mT).mT
