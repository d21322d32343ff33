"""Systems with triangular matrices, by multiplications of blocks.

NumPy itself has no solver for them, and the general one makes a factorisation first and then two
triangular solutions: three times the work, at less speed than a product.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BLOCK = 64
"""Up to this size the general solver is fast enough."""


def inverse_of_lower(a: np.ndarray) -> Any:
    """A⁻¹, for small plain lower triangular matrices with positive diagonals."""
    if a.ndim != 2 or a.dtype.char not in "fdFD" or not a.size:
        return np.linalg.inv(np.tril(a))
    from scipy.linalg import get_lapack_funcs  # where it is needed: it takes a while to load

    (trtri,) = get_lapack_funcs(("trtri",), (a,))
    return trtri(a.T, lower=0)[0].T


def solve_lower(a: Any, b: Any) -> Any:
    """A⁻¹ B, for lower triangular matrices."""
    n = np.shape(a)[-1]
    if n <= BLOCK:
        return np.linalg.solve(a, b)
    h = n // 2
    first = solve_lower(a[..., :h, :h], b[..., :h, :])
    rest = b[..., h:, :] - np.matmul(a[..., h:, :h], first)
    return np.concatenate([first, solve_lower(a[..., h:, h:], rest)], -2)


def solve_upper(a: Any, b: Any) -> Any:
    """A⁻¹ B, for upper triangular matrices."""
    n = np.shape(a)[-1]
    if n <= BLOCK:
        return np.linalg.solve(a, b)
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
