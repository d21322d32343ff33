"""Share one factorisation among solutions, inverses and determinants of a matrix.

The gradient of ``np.linalg.solve(a, b)`` solves a system with the transpose of `a`; that of a
determinant needs the inverse. NumPy factorises the matrix again in each call. It computes an
inverse by solving a system, which takes twice as long as using the factors. If a matrix is
singular or not finite, an error is raised, and the call runs as written.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from autodiff.compiler.kernels.linalg.linalg_ops import PAIR
from autodiff.compiler.recording.ir import TUPLE, Program, Ref, Step, is_transpose, shape_of

Factors = tuple[np.ndarray, np.ndarray, np.ndarray]
"""LU factors and pivots of a matrix whose rows are scaled, and the scales."""


def factorise(a: np.ndarray) -> Factors:
    """Return the LU factors of A with equilibrated rows, so that they serve Aᵀ as well.

    The scales are powers of two, which cause no rounding errors.
    """
    from scipy.linalg import lapack  # imported when needed

    _, exponents = np.frexp(np.abs(a).max(axis=1))
    scales = np.ldexp(1.0, np.clip(-exponents, -1022, 1022))
    lu, pivots, info = lapack.dgetrf(a * scales[:, None])
    if info or not np.isfinite(lu).all():
        raise np.linalg.LinAlgError("Singular matrix")
    return lu, pivots, scales


def solution(factors: Factors, b: np.ndarray, transposed: bool) -> np.ndarray:
    """Solve A x = b, or Aᵀ x = b."""
    from scipy.linalg import lapack

    lu, pivots, scales = factors
    if b.ndim == 2:
        scales = scales[:, None]
    x: np.ndarray = lapack.dgetrs(lu, pivots, b if transposed else b * scales, trans=transposed)[0]
    return x * scales if transposed else x


def inverse(factors: Factors, transposed: bool) -> np.ndarray:
    """Return the inverse of A, or of Aᵀ."""
    from scipy.linalg import lapack

    lu, pivots, scales = factors
    x: np.ndarray = lapack.dgetri(lu, pivots)[0] * scales
    return x.T if transposed else x


def log_determinant(factors: Factors) -> tuple:
    """Return the sign of the determinant, and the logarithm of its absolute value."""
    lu, pivots, scales = factors
    diagonal = lu.diagonal()
    flips = np.count_nonzero(diagonal < 0.0) + np.count_nonzero(pivots != np.arange(len(pivots)))
    log = (np.log(np.abs(diagonal)) - np.log(scales)).sum()
    return PAIR(np.float64(-1.0 if flips % 2 else 1.0), log)


def determinant(factors: Factors) -> np.float64:
    """Return the determinant."""
    sign, log = log_determinant(factors)
    return sign * np.exp(log)


_FEWEST_ROWS = 64
"""For smaller matrices, the calls take longer than the arithmetic."""
_ORIENTED = (solution, inverse)
_FROM_FACTORS: dict[Any, Any] = {
    np.linalg.solve: solution, np.linalg.inv: inverse,
    np.linalg.slogdet: log_determinant, np.linalg.det: determinant,
}  # fmt: skip


def share_factorisations(program: Program) -> Program:
    """Return a program that factorises each matrix once, if it is inverted or used twice.

    The factors are those of the matrix or of its transpose, whichever is used first.
    """
    transposes = {
        s.out: s.args[0] for s in program.steps if is_transpose(s) and type(s.args[0]) is Ref
    }

    def matrix(step: Step) -> tuple[Ref, bool] | None:
        """Return the matrix that a step factorises, and whether it uses the transpose."""
        if step.f not in _FROM_FACTORS or step.kwargs:
            return None
        a, *others = step.args
        shape = shape_of(a, program.metas)
        if type(a) is not Ref or shape is None or len(shape) != 2 or shape[0] < _FEWEST_ROWS:
            return None
        if any(len(shape_of(b, program.metas) or ()) not in (1, 2) for b in others):
            return None
        return (transposes[a.i], True) if a.i in transposes else (a, False)

    counts = Counter(m[0].i for m in map(matrix, program.steps) if m is not None)
    steps, known = [], {}
    for step in program.steps:
        found = matrix(step)
        if found is None or (counts[found[0].i] < 2 and step.f is not np.linalg.inv):
            steps.append(step)
            continue
        a, transposed = found
        if a.i not in known:
            known[a.i] = Ref(len(program.metas)), transposed
            program.metas.append(TUPLE)
            steps.append(Step(factorise, step.args[:1], None, known[a.i][0].i))
        factors, of_transpose = known[a.i]
        f = _FROM_FACTORS[step.f]
        args = (
            factors,
            *step.args[1:],
            *((transposed != of_transpose,) if f in _ORIENTED else ()),
        )
        steps.append(Step(f, args, None, step.out))
    return Program(steps, program.metas, program.inputs, program.outputs, program.exact)
