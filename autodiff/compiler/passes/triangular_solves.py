"""Systems with a matrix that is known to be triangular: they need no factors of their own."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from autodiff.compiler.recording.ir import FLOAT64, Ref, Step, is_transpose


def solve_triangle(a: np.ndarray, b: np.ndarray, is_lower: bool, is_turned: bool) -> np.ndarray:
    """Solve A x = b, or Aᵀ x = b, with one triangle of A.

    Where something is not finite, elimination with exchanges of rows gives other NaNs and errors:
    that is left to the call as it is written.
    """
    linalg = sys.modules.get("scipy.linalg")  # where somebody has loaded it
    if linalg is None:
        part = np.tril(a) if is_lower else np.triu(a)
        return np.linalg.solve(part.T if is_turned else part, b)
    # To LAPACK, which counts by columns, the memory of A is that of its transpose.
    x, info = linalg.lapack.dtrtrs(a.T, b, lower=not is_lower, trans=not is_turned)
    if info > 0 or not (np.isfinite(x).all() and np.isfinite(a.diagonal()).all()):
        raise np.linalg.LinAlgError("Singular matrix")
    return x


def triangular(args: tuple, origin: dict[int, Step], metas: list) -> tuple | None:
    """Return the call that ``solve(a, b)`` is, if `a` is a triangle or the transpose of one."""
    a, b = args
    if not all(type(x) is Ref and metas[x.i].dtype == FLOAT64 for x in (a, b)):
        return None
    if len(metas[a.i].shape or ()) != 2 or len(metas[b.i].shape or ()) not in (1, 2):
        return None
    step, is_turned = origin.get(a.i), False
    if step is not None and is_transpose(step):
        a, is_turned = step.args[0], True
        step = origin.get(a.i) if type(a) is Ref else None
    is_lower = None if step is None else _is_lower(step)
    if is_lower is None or metas[a.i].dtype != FLOAT64:
        return None
    return solve_triangle, (a, b, is_lower, is_turned)


def _is_lower(step: Step) -> bool | None:
    """Say which triangle a step makes; None for one that makes something else."""
    options: dict[str, Any] = step.kwargs or {}
    if step.f is np.linalg.cholesky:
        upper = options.get("upper", False)
        return not upper if len(step.args) == 1 and type(upper) is bool else None
    if step.f in (np.tril, np.triu):
        k = step.args[1] if len(step.args) > 1 else options.get("k", 0)
        return step.f is np.tril if type(k) is int and k == 0 else None
    return None
