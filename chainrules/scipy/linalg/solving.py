"""Linear systems with dense matrices.

From M X = B follows Ẋ = M⁻¹(Ḃ - Ṁ X), so B̄ = M⁻ᴴ X̄ and M̄ = -B̄ Xᴴ (see
`chainrules.linalg.solving`). M is what SciPy makes of its argument: a triangle of it, with
a diagonal of ones, transposed. The cotangent takes the same way back, so it is zero where
nothing is read.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.matrices import adjoint, column, conj, row
from chainrules.linalg.solving import matvec
from chainrules.scipy.linalg.structure import strict, structure_of, triangle
from chainrules_core import Array, not_implemented, pair_rule, thunk


def outer(b_bar: Any, y: Any, of_vector: bool) -> Any:
    """B̄ Xᴴ, for vectors or matrices."""
    if of_vector:
        return column(b_bar) * row(conj(y))
    return np.matmul(b_bar, adjoint(y))


def times(m: Any, y: Any, of_vector: bool) -> Any:
    """M X, for vectors or matrices."""
    return matvec(m, y) if of_vector else np.matmul(m, y)


def by_columns(solve: Any, b: Any, of_vector: bool) -> Any:
    """Solve for a stack of vectors: solvers take an array of two axes for one matrix."""
    return solve(column(b))[..., 0] if of_vector and np.ndim(b) > 1 else solve(b)


# ------------------------------------------------------------------------------- general matrices


DIAGONAL = "scipy.linalg.inv(assume_a='diagonal') has no rule: invert the diagonal itself"


@pair_rule(linalg.inv, Array, lists=True)
def inv_rule(a, **options):
    options.pop("overwrite_a", None)
    y = linalg.inv(a, **options)
    structure = structure_of(options.get("assume_a"), options.get("lower", False))

    def inv_pushforward(a_dot):
        if options.get("assume_a") == "diagonal":
            return not_implemented(DIAGONAL)
        return -np.matmul(np.matmul(y, structure.read(a_dot)), y)

    def inv_pullback(y_bar):
        if options.get("assume_a") == "diagonal":
            return not_implemented(DIAGONAL)
        yh = adjoint(y)
        return structure.written(-np.matmul(np.matmul(yh, y_bar), yh))

    return y, inv_pushforward, inv_pullback


def adjoint_solve(a: Any, b: Any, structure: Any, **options: Any) -> Any:
    """A⁻ᴴ B, by the solver for the structure of A where it has one."""
    if structure.is_hermitian:
        return linalg.solve(a, b, **options)
    if structure.is_symmetric:
        return conj(linalg.solve(a, conj(b), **options))
    return linalg.solve(adjoint(structure.read(a)), b, check_finite=False)


@pair_rule(linalg.solve, Array, Array, broadcasts=True, lists=True)
def solve_rule(
    a, b, *, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None,
    transposed=False,
):  # fmt: skip
    if np.ndim(a) < 2 or np.size(a) == 1:  # a number, which divides
        return None
    options = {"lower": lower, "check_finite": check_finite, "assume_a": given(assume_a)}
    y = linalg.solve(a, b, transposed=transposed, **options)
    structure = structure_of(assume_a, lower)
    of_vector = np.ndim(b) == 1

    def solve_pushforward(a_dot, b_dot):
        def solved(c):
            return linalg.solve(a, c, transposed=transposed, **options)

        m_dot = structure.read(a_dot)
        moved = b_dot - times(m_dot.mT if transposed else m_dot, y, of_vector)
        return by_columns(solved, moved, of_vector)

    def solve_pullback(y_bar):
        def solved(c):
            if transposed and not (structure.is_symmetric or structure.is_hermitian):
                return linalg.solve(structure.read(a), c, check_finite=False)
            return adjoint_solve(a, c, structure, **options)

        b_bar = by_columns(solved, y_bar, of_vector)

        def a_bar():
            m_bar = -outer(b_bar, y, of_vector)
            return structure.written(m_bar.mT if transposed else m_bar)

        return thunk(a_bar), b_bar

    return y, solve_pushforward, solve_pullback


DEFAULT = inspect.signature(linalg.solve).parameters["assume_a"].default


def given(assume_a: str | None) -> str | None:
    """What to pass on for the default: older versions of SciPy do not know None."""
    return DEFAULT if assume_a is None else assume_a


# ------------------------------------------------------------------------------ triangular matrices

TRANSPOSED = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def read_triangle(a: Any, lower: bool, unit_diagonal: bool) -> Any:
    """The elements that are read; a diagonal of ones is not."""
    return strict(a, lower) if unit_diagonal else triangle(a, lower)


def moved_by(m: Any, trans: int) -> Any:
    """M, its transpose, or its adjoint; each undoes itself."""
    return (m, m.mT, adjoint(m))[trans] if trans != 0 else m


@pair_rule(linalg.solve_triangular, Array, Array, broadcasts=True, lists=True)
def solve_triangular_rule(
    a, b, *, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True
):
    def solve(trans, b):
        return linalg.solve_triangular(a, b, trans, lower, unit_diagonal, check_finite=check_finite)

    y = solve(trans, b)
    how = TRANSPOSED[trans]
    of_vector = np.ndim(b) == 1

    def solve_triangular_pushforward(a_dot, b_dot):
        m_dot = moved_by(read_triangle(a_dot, lower, unit_diagonal), how)
        moved = b_dot - times(m_dot, y, of_vector)
        return by_columns(lambda c: solve(trans, c), moved, of_vector)

    def solve_triangular_pullback(y_bar):
        def solved(c):  # with the adjoint of what was solved
            return conj(solve(0, conj(c))) if how == 1 else solve(2 - how, c)

        b_bar = by_columns(solved, y_bar, of_vector)

        def a_bar():
            m_bar = moved_by(-outer(b_bar, y, of_vector), how)
            return read_triangle(m_bar, lower, unit_diagonal)

        return thunk(a_bar), b_bar

    return y, solve_triangular_pushforward, solve_triangular_pullback
