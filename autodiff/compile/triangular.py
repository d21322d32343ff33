"""Systems with a factor of Cholesky's: triangular, so they need no factors of their own."""

from __future__ import annotations

import sys

import numpy as np

from autodiff.compile.program import FLOAT64, Ref, Step


def solve_lower(factor: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve L x = b."""
    return _solved(factor, b, 1)


def solve_upper(factor: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve Lᵀ x = b, given L."""
    return _solved(factor, b, 0)


def _solved(factor: np.ndarray, b: np.ndarray, transposed: int) -> np.ndarray:
    linalg = sys.modules.get("scipy.linalg")  # where somebody has loaded it
    if linalg is None:
        return np.linalg.solve(factor if transposed else factor.T, b)
    # To LAPACK, which counts by columns, the memory of L is that of its transpose.
    x, info = linalg.lapack.dtrtrs(factor.T, b, lower=0, trans=transposed)
    if info > 0:
        raise np.linalg.LinAlgError("Singular matrix")
    return x


def triangular(args: tuple, origin: dict[int, Step], metas: list) -> tuple | None:
    """Return the call that ``solve(a, b)`` is, if `a` is a factor or the transpose of one."""
    a, b = args
    if type(a) is not Ref or len(metas[a.i].shape or ()) != 2:
        return None
    if (
        type(b) is not Ref
        or metas[b.i].dtype != FLOAT64
        or len(metas[b.i].shape or ()) not in (1, 2)
    ):
        return None
    step, f = origin.get(a.i), solve_lower
    if step is not None and step.f is np.transpose and len(step.args) == 1 and not step.kwargs:
        a, f = step.args[0], solve_upper
        step = origin.get(a.i) if type(a) is Ref else None
    if step is None or step.f is not np.linalg.cholesky or metas[a.i].dtype != FLOAT64:
        return None
    if len(step.args) > 1 or (step.kwargs or {}).get("upper", False):
        return None
    return f, (a, b)
