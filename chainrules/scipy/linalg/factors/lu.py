"""LU factorisation: Pᵀ A = L U.

With A₁ the leading square of Pᵀ A, and L₁, U₁ likewise, X = L₁⁻¹ Ȧ₁ U₁⁻¹ splits into its
strict lower triangle L₁⁻¹ L̇₁ and its upper triangle U̇₁ U₁⁻¹. What is below follows as L̇₂
= Ȧ₂ U₁⁻¹ - L₂ triu(X), what is to the right as U̇₂ = L₁⁻¹ Ȧ₂ - tril(X) U₂. The permutation is
constant.

The adjoint: below, Ā₂ = L̄₂ U₁⁻ᴴ, and Ū₁ loses L₂ᴴ Ā₂; to the right, Ā₂ = L₁⁻ᴴ Ū₂, and L̄₁ loses
Ā₂ U₂ᴴ. Then Ā₁ = L₁⁻ᴴ X̄ U₁⁻ᴴ, where X̄ is the strict lower triangle of L₁ᴴ L̄₁ with the upper one of
Ū₁ U₁ᴴ. Plain numbers are pulled back in blocks, as they were factored, which is twice the work of
the factorisation: zeros are not multiplied.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.matrices import adjoint, column, conj
from chainrules.linalg.triangular import (
    inverse_of_lower,
    right_lower,
    right_upper,
    solve_lower,
    solve_upper,
)
from chainrules.scipy.linalg.solving import TRANSPOSED, moved_by
from chainrules_core import Array, NoTangent, Tangent, decompose, pair_rule, primitive, thunk
from chainrules_core.authoring import in_steps, is_foreign, part

SINGULAR = (
    "the LU factors of a singular matrix have no derivative: where the diagonal of U has a zero, "
    "the column of L is arbitrary"
)


def zeros(shape: tuple, like: Any) -> Any:
    return np.zeros(shape, like.dtype)


def joined(first: Any, rest: Any, axis: int) -> Any:
    return np.concatenate([first, rest], axis) if np.shape(rest)[axis] else first


BLOCK = 64
"""So many columns of L and rows of U are pulled back at once."""


@primitive
def plain_adjoint(lower: Any, upper: Any, l_bar: Any, u_bar: Any) -> Any:
    """The cotangent of L U block by block, last first.

    Of all four arrays only what is in L or U is read, without the diagonal of L; so L and U may
    stand in one array.

    A block column of L, D over C, and a block row of U, E beside F, were made from what was left of
    A after the blocks before: D E, C E and D F. So L̄ and Ū lose what is due to the products of
    later blocks, whose cotangent is known by then.
    """
    m, n = np.shape(lower)[-2], np.shape(upper)[-1]
    a_bar = np.zeros((*np.shape(lower)[:-2], m, n), np.result_type(lower, upper, l_bar, u_bar))
    lh, uh = adjoint(lower), adjoint(upper)
    for start in reversed(range(0, np.shape(upper)[-2], BLOCK)):
        end = min(start + BLOCK, np.shape(upper)[-2])
        block, below, beside = slice(start, end), slice(end, m), slice(end, n)
        later = a_bar[..., below, beside]
        is_lower = np.tri(end - start, k=-1, dtype=bool)
        dh = np.where(is_lower.T, lh[..., block, block], np.eye(end - start, dtype=lh.dtype))
        eh = np.where(is_lower.T, 0, uh[..., block, block])
        if np.any(np.diagonal(eh, axis1=-2, axis2=-1) == 0):
            raise np.linalg.LinAlgError(SINGULAR)
        to_d, to_e = inverse_of_lower(dh.mT).mT, inverse_of_lower(eh)
        c_bar = l_bar[..., below, block] - np.matmul(later, uh[..., beside, block])
        f_bar = u_bar[..., block, beside] - np.matmul(lh[..., block, below], later)
        a_bar[..., below, block] = c_bar = np.matmul(c_bar, to_e)
        a_bar[..., block, beside] = f_bar = np.matmul(to_d, f_bar)
        d_bar = l_bar[..., block, block] - np.matmul(f_bar, uh[..., beside, block])
        e_bar = u_bar[..., block, block] - np.matmul(lh[..., block, below], c_bar)
        x_bar = np.where(is_lower, np.matmul(dh, d_bar), np.matmul(e_bar, eh))
        a_bar[..., block, block] = np.matmul(np.matmul(to_d, x_bar), to_e)
    return a_bar


def lu_adjoint(lower: Any, upper: Any, l_bar: Any, u_bar: Any) -> Any:
    """The cotangent of L U; either cotangent may be None."""
    if l_bar is None:
        l_bar = np.zeros_like(lower)
    if u_bar is None:
        u_bar = np.zeros_like(upper)
    if not any(is_foreign(x) for x in (lower, upper, l_bar, u_bar)):
        return plain_adjoint(lower, upper, l_bar, u_bar)
    k = np.shape(upper)[-2]
    l1, u1, l2, u2 = lower[..., :k, :], upper[..., :k], lower[..., k:, :], upper[..., k:]
    l1_bar, u1_bar = l_bar[..., :k, :], u_bar[..., :k]
    if np.shape(l2)[-2]:
        below = right_lower(l_bar[..., k:, :], adjoint(u1))
        u1_bar = u1_bar - np.matmul(adjoint(l2), below)
    if np.shape(u2)[-1]:
        beside = solve_upper(adjoint(l1), u_bar[..., k:])
        l1_bar = l1_bar - np.matmul(beside, adjoint(u2))
    of_l, of_u = np.matmul(adjoint(l1), l1_bar), np.matmul(u1_bar, adjoint(u1))
    x_bar = np.tril(of_l, -1) + np.triu(of_u)
    a_bar = right_lower(solve_upper(adjoint(l1), x_bar), adjoint(u1))
    if np.shape(l2)[-2]:
        return np.concatenate([a_bar, below], -2)
    return np.concatenate([a_bar, beside], -1) if np.shape(u2)[-1] else a_bar


@primitive
def plain_tangent(lower: Any, upper: Any, a_dot: Any) -> tuple[Any, Any]:
    """The tangents of L and U from that of L U block by block, in the order of the factorisation.

    What is left of Ȧ for a block column C and a block row F loses what earlier blocks add to it.
    """
    (m, k), n = np.shape(lower)[-2:], np.shape(upper)[-1]
    stack, dtype = np.shape(a_dot)[:-2], np.result_type(lower, upper, a_dot)
    l_dot, u_dot = np.zeros((*stack, m, k), dtype), np.zeros((*stack, k, n), dtype)
    for start in range(0, k, BLOCK):
        end = min(start + BLOCK, k)
        before, block, below, beside = (
            slice(start), slice(start, end), slice(end, m), slice(end, n)
        )  # fmt: skip
        left = a_dot[..., start:, block] - np.matmul(
            l_dot[..., start:, before], upper[..., before, block]
        )
        left -= np.matmul(lower[..., start:, before], u_dot[..., before, block])
        top = a_dot[..., block, beside] - np.matmul(
            l_dot[..., block, before], upper[..., before, beside]
        )
        top -= np.matmul(lower[..., block, before], u_dot[..., before, beside])
        d, e = lower[..., block, block], upper[..., block, block]
        if np.any(np.diagonal(e, axis1=-2, axis2=-1) == 0):
            raise np.linalg.LinAlgError(SINGULAR)
        by_d, by_e = inverse_of_lower(d), inverse_of_lower(e.mT).mT
        size = end - start
        x = np.matmul(np.matmul(by_d, left[..., :size, :]), by_e)
        d_dot, e_dot = np.matmul(d, np.tril(x, -1)), np.matmul(np.triu(x), e)
        l_dot[..., block, block], u_dot[..., block, block] = d_dot, e_dot
        rest = left[..., size:, :] - np.matmul(lower[..., below, block], e_dot)
        l_dot[..., below, block] = np.matmul(rest, by_e)
        rest = top - np.matmul(d_dot, upper[..., block, beside])
        u_dot[..., block, beside] = np.matmul(by_d, rest)
    return l_dot, u_dot


def lu_tangent(lower: Any, upper: Any, a_dot: Any) -> tuple[Any, Any]:
    """The tangents of L and U from that of L U."""
    if not any(is_foreign(x) for x in (lower, upper, a_dot)):
        return plain_tangent(lower, upper, a_dot)
    k = np.shape(upper)[-2]
    l1, l2, u1, u2 = lower[..., :k, :], lower[..., k:, :], upper[..., :k], upper[..., k:]
    x = solve_lower(l1, right_upper(a_dot[..., :k, :k], u1))
    of_l, of_u = np.tril(x, -1), np.triu(x)
    l_dot, u_dot = np.matmul(l1, of_l), np.matmul(of_u, u1)
    if np.shape(l2)[-2]:
        below = right_upper(a_dot[..., k:, :], u1) - np.matmul(l2, of_u)
        return joined(l_dot, below, -2), u_dot
    if np.shape(u2)[-1]:
        beside = solve_lower(l1, a_dot[..., k:]) - np.matmul(of_l, u2)
        return l_dot, joined(u_dot, beside, -1)
    return l_dot, u_dot


def rows(x: Any, order: Any) -> Any:
    """The rows of each matrix in another order."""
    if np.ndim(x) == 2:
        return x[order]
    return np.take_along_axis(x, np.expand_dims(order, -1), -2)


# ------------------------------------------------------------------------------------------- lu


def outputs(p: Any, lower: Any, upper: Any, permute_l: bool, p_indices: bool) -> tuple:
    """What SciPy returns, from the permutation as indices."""
    if permute_l:
        return rows(lower, p), upper
    if p_indices:
        return p, lower, upper
    real = np.finfo(lower.dtype).dtype
    return np.eye(np.shape(lower)[-2], dtype=real)[p], lower, upper


@pair_rule(linalg.lu, Array, lists=True)
def lu_rule(a, *, permute_l=False, overwrite_a=False, check_finite=True, p_indices=False):
    if np.size(a) == 0 or np.ndim(a) < 2:
        return None
    p, lower, upper = linalg.lu(a, p_indices=True, check_finite=check_finite)

    def lu_pushforward(a_dot):
        l_dot, u_dot = lu_tangent(lower, upper, rows(a_dot, np.argsort(p, -1)))
        if permute_l:
            return Tangent[tuple](rows(l_dot, p), u_dot)
        return Tangent[tuple](NoTangent(), l_dot, u_dot)

    def lu_pullback(y_bar):
        l_bar, u_bar = part(y_bar, 0 if permute_l else 1), part(y_bar, 1 if permute_l else 2)
        if permute_l and l_bar is not None:
            l_bar = rows(l_bar, np.argsort(p, -1))
        return rows(lu_adjoint(lower, upper, l_bar, u_bar), p)

    return outputs(p, lower, upper, permute_l, p_indices), lu_pushforward, lu_pullback


# --------------------------------------------------------------------------------- packed factors


def unpacked(lu: Any) -> tuple[Any, Any]:
    """L and U, which share one matrix."""
    k = min(np.shape(lu)[-2:])
    lower = np.tril(lu[..., :k], -1) + np.eye(np.shape(lu)[-2], k, dtype=lu.dtype)
    return lower, np.triu(lu[..., :k, :])


def packed(lower: Any, upper: Any) -> Any:
    """The part of L below its diagonal, and U, in one matrix."""
    m, k = np.shape(lower)[-2:]
    n = np.shape(upper)[-1]
    lower, upper = np.tril(lower, -1), np.triu(upper)
    if n > k:
        lower = joined(lower, zeros((*np.shape(lower)[:-1], n - k), lower), -1)
    if m > k:
        upper = joined(upper, zeros((*np.shape(upper)[:-2], m - k, n), upper), -2)
    return lower + upper


@primitive
def permutation(pivots: Any, m: int) -> np.ndarray:
    """The order of the rows after they have been exchanged one after the other."""
    pivots = np.asarray(pivots)
    order = np.broadcast_to(np.arange(m), (*pivots.shape[:-1], m)).copy()
    for stack in np.ndindex(pivots.shape[:-1]):
        of_one = order[stack].tolist()
        for i, j in enumerate(pivots[stack].tolist()):
            of_one[i], of_one[j] = of_one[j], of_one[i]
        order[stack] = of_one
    return order


@pair_rule(linalg.lu_factor, Array, lists=True)
def lu_factor_rule(a, *, overwrite_a=False, check_finite=True):
    y = linalg.lu_factor(a, check_finite=check_finite)
    lu, pivots = y

    def lu_factor_pushforward(a_dot):
        if np.size(lu) == 0:
            return Tangent[type(y)](np.zeros_like(lu), NoTangent())
        order = permutation(pivots, np.shape(lu)[-2])
        return Tangent[type(y)](packed(*lu_tangent(*unpacked(lu), rows(a_dot, order))), NoTangent())

    def lu_factor_pullback(y_bar):
        lu_bar = part(y_bar, 0)
        if lu_bar is None or np.size(lu) == 0:
            return np.zeros_like(a)
        k = min(np.shape(lu)[-2:])
        bars = lu_bar[..., :k], lu_bar[..., :k, :]
        if is_foreign(lu) or is_foreign(lu_bar):
            factors, bars = unpacked(lu), (np.tril(bars[0], -1), np.triu(bars[1]))
        else:
            factors = lu[..., :k], lu[..., :k, :]
        order = permutation(pivots, np.shape(lu)[-2])
        return rows(lu_adjoint(*factors, *bars), np.argsort(order, -1))

    return y, lu_factor_pushforward, lu_factor_pullback


@primitive
def lu_solution(lu: Any, b: Any, pivots: Any, trans: int) -> Any:
    """Solve with packed factors; `b` is a matrix."""
    return linalg.lu_solve((lu, pivots), b, trans)


@in_steps(lu_solution)
def lu_solution_in_steps(lu: Any, b: Any, pivots: Any, trans: int) -> Any:
    if np.ndim(lu) != 2:
        return NotImplemented
    order = permutation(pivots, np.shape(lu)[-1])
    if trans == 0:
        x = linalg.solve_triangular(lu, b[order], lower=True, unit_diagonal=True)
        return linalg.solve_triangular(lu, x)
    x = linalg.solve_triangular(lu, b, trans)
    x = linalg.solve_triangular(lu, x, trans, lower=True, unit_diagonal=True)
    return x[np.argsort(order)]


@pair_rule(lu_solution, Array, Array, broadcasts=True)
def lu_solution_rule(lu, b, *, pivots, trans):
    y = lu_solution(lu, b, pivots, trans)

    def lu_solution_pushforward(lu_dot, b_dot):
        lower, upper = unpacked(lu)
        c_dot = np.matmul(np.tril(lu_dot, -1), upper) + np.matmul(lower, np.triu(lu_dot))
        order = permutation(pivots, np.shape(lu)[-2])
        m_dot = moved_by(rows(c_dot, np.argsort(order, -1)), trans)
        return lu_solution(lu, b_dot - np.matmul(m_dot, y), pivots, trans)

    def lu_solution_pullback(y_bar):
        if trans == 1:
            b_bar = conj(lu_solution(lu, conj(y_bar), pivots, 0))
        else:
            b_bar = lu_solution(lu, y_bar, pivots, 2 - trans)

        def lu_bar():
            m_bar = moved_by(-np.matmul(b_bar, adjoint(y)), trans)
            lower, upper = unpacked(lu)
            order = permutation(pivots, np.shape(lu)[-2])
            c_bar = rows(m_bar, order)
            return packed(np.matmul(c_bar, adjoint(upper)), np.matmul(adjoint(lower), c_bar))

        return thunk(lu_bar), b_bar

    return y, lu_solution_pushforward, lu_solution_pullback


@decompose(linalg.lu_solve)
def lu_solve_body(lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True):
    lu, pivots = lu_and_piv
    lu, b = np.asarray(lu), np.asarray(b)
    trans = TRANSPOSED[trans]
    if np.ndim(b) == 1:
        return lu_solution(lu, column(b), pivots, trans)[..., 0]
    return lu_solution(lu, b, pivots, trans)
