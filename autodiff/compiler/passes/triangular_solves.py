"""Replace `np.linalg.solve` by a triangular solve if the matrix is known to be triangular."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from autodiff.compiler.recording.ir import FLOAT64, Ref, Step, is_transpose


def solve_triangle(a: np.ndarray, b: np.ndarray, is_lower: bool, is_transposed: bool) -> np.ndarray:
    """Solve A x = b, or Aᵀ x = b, with one triangle of A.

    If something is not finite, elimination with pivoting gives other NaNs and errors. So this
    function raises an error, and the call runs as written.
    """
    linalg = sys.modules.get("scipy.linalg")  # used only if it is loaded already
    if linalg is None:
        part = np.tril(a) if is_lower else np.triu(a)
        return np.linalg.solve(part.T if is_transposed else part, b)
    # LAPACK stores matrices by columns: it reads the memory of A as its transpose.
    x, info = linalg.lapack.dtrtrs(a.T, b, lower=not is_lower, trans=not is_transposed)
    if info > 0 or not (np.isfinite(x).all() and np.isfinite(a.diagonal()).all()):
        raise np.linalg.LinAlgError("Singular matrix")
    return x


def triangular(args: tuple, origin: dict[int, Step], metas: list) -> tuple | None:
    """Return the call that replaces ``solve(a, b)`` if `a` is triangular; None if it is not."""
    a, b = args
    if not all(type(x) is Ref and metas[x.i].dtype == FLOAT64 for x in (a, b)):
        return None
    if len(metas[a.i].shape or ()) != 2 or len(metas[b.i].shape or ()) not in (1, 2):
        return None
    step, is_transposed = origin.get(a.i), False
    if step is not None and is_transpose(step):
        a, is_transposed = step.args[0], True
        step = origin.get(a.i) if type(a) is Ref else None
    is_lower = None if step is None else _is_lower(step)
    if is_lower is None or metas[a.i].dtype != FLOAT64:
        return None
    return solve_triangle, (a, b, is_lower, is_transposed)


def _is_lower(step: Step) -> bool | None:
    """Whether a step makes a lower triangle (or an upper one); None if it makes neither."""
    options: dict[str, Any] = step.kwargs or {}
    if step.f is np.linalg.cholesky:
        upper = options.get("upper", False)
        return not upper if len(step.args) == 1 and type(upper) is bool else None
    if step.f in (np.tril, np.triu):
        k = step.args[1] if len(step.args) > 1 else options.get("k", 0)
        return step.f is np.tril if type(k) is int and k == 0 else None
    return None
