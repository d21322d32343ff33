"""LDL factorisation: A = L D Lᴴ, or L D Lᵀ, with blocks of one or two on the diagonal of D.

With X = L⁻¹ Ȧ L⁻ᴴ the tangent of D is the part of X in the blocks, and that of L is L K,
where K D is the part of X below them. LAPACK exchanges rows of L, which stay where they
are; it reads one triangle of A, and with ``lower=False`` makes L an upper triangle, where
"below" is above.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.gaps import is_set
from chainrules.linalg.matrices import adjoint
from chainrules.linalg.triangular import inverse_of_lower, solve_lower, solve_upper
from chainrules.scipy.linalg.structure import structure_of
from chainrules_core import Array, NoTangent, Tangent, non_differentiable, pair_rule, primitive
from chainrules_core.authoring import is_foreign, parts


@primitive
def blocks_of(d: Any, lower: bool) -> tuple[Any, Any]:
    """The masks of the blocks of D, and of what is below them."""
    n = np.shape(d)[-1]
    inside = (d != 0) | np.eye(n, dtype=bool)
    inside = inside | np.swapaxes(inside, -1, -2)
    triangle = np.tri(n, k=-1, dtype=bool)
    return inside, (triangle if lower else triangle.T) & ~inside


non_differentiable(blocks_of)


def turned(x: Any, hermitian: bool) -> Any:
    return adjoint(x) if hermitian else x.mT


def structured(lower: bool, hermitian: bool) -> Any:
    return structure_of("her" if hermitian else "sym", lower)


def is_hermitian(a: Any, hermitian: bool) -> bool:
    """For real matrices there is no difference."""
    return hermitian or not np.iscomplexobj(a)


class Triangle:
    """L as what it is once LAPACK's exchanges are undone: a triangle, with rows in an order."""

    def __init__(self, factor: Any, order: Any, lower: bool) -> None:
        self.rows, self.order, self.lower = factor[order], order, lower

    def solve(self, b: Any) -> Any:
        """L⁻¹ B."""
        return (solve_lower if self.lower else solve_upper)(self.rows, b[self.order])

    def solve_adjoint(self, b: Any) -> Any:
        """L⁻ᴴ B."""
        solve = solve_upper if self.lower else solve_lower
        return solve(adjoint(self.rows), b)[np.argsort(self.order)]


def over_blocks(x: Any, d: Any) -> Any:
    """X D⁻¹: columns are divided, and mixed with the next one where there is a block of two."""
    main, above, under = np.diagonal(d), np.diagonal(d, 1), np.diagonal(d, -1)
    if not has_pairs(d):
        return x / main
    # Of a block [[a, b], [c, e]] the inverse is [[e, -b], [-c, a]] / (a e - b c).
    begins, zero = is_set(above) | is_set(under), np.zeros(1, d.dtype)
    is_single = ~(np.append(begins, False) | np.append(False, begins))
    det = main[:-1] * main[1:] - above * under
    inverse = np.where(begins, 1 / np.where(begins, det, 1), 0)
    own = np.where(is_single, 1 / np.where(is_single, main, 1), 0)
    own = own + np.concatenate([main[1:] * inverse, zero])
    own = own + np.concatenate([zero, main[:-1] * inverse])
    from_left = np.concatenate([zero, -above * inverse])
    from_right = np.concatenate([-under * inverse, zero])
    none = np.zeros_like(x[:, :1])
    y = x * own + np.concatenate([none, x[:, :-1]], 1) * from_left
    return y + np.concatenate([x[:, 1:], none], 1) * from_right


@primitive
def has_pairs(d: Any) -> bool:
    return bool(np.any(np.diagonal(d, 1)) or np.any(np.diagonal(d, -1)))


non_differentiable(has_pairs)


BLOCK = 64
"""So many columns of L are pulled back at once, or one less where a block of two would be cut."""


@primitive
def plain_adjoint(lower: Any, d: Any, l_bar: Any, d_bar: Any) -> Any:
    """L⁻ᴴ X̄ L⁻¹ with X̄ made Hermitian, for a lower triangle L, column after column, last first.

    G L = L⁻ᴴ X̄ says what a block column of G is under the diagonal, where later columns are known:
    there L⁻ᴴ X̄ is half of L̄ D⁻ᴴ. On the diagonal Lᴴ G L is X̄. Either cotangent may be None.
    """
    n = len(d)
    g = np.zeros((n, n), np.result_type(lower, d))
    end = n
    while end:
        start = max(0, end - BLOCK)
        if start and (d[start, start - 1] or d[start - 1, start]):
            start += 1
        block, after = slice(start, end), slice(end, n)
        c, ch, corner = lower[after, block], adjoint(lower[after, block]), lower[block, block]
        inverse, ends = inverse_of_lower(corner), adjoint(d[block, block])
        inside, below = blocks_of(d[block, block], True)
        x = np.zeros(np.shape(corner), g.dtype)
        if d_bar is not None:
            x += np.where(inside, d_bar[block, block], 0)
        right = 0
        if l_bar is not None:
            right = over_blocks(l_bar[after, block], ends) / 2
            of_l = np.matmul(adjoint(corner), l_bar[block, block])
            of_l += np.matmul(ch, l_bar[after, block])
            x += np.where(below, over_blocks(np.where(below, of_l, 0), ends), 0)
        column = np.matmul(right - np.matmul(g[after, after], c), inverse)
        g[after, block], g[block, after] = column, adjoint(column)
        x = (x + adjoint(x)) / 2 - adjoint(np.matmul(np.matmul(ch, column), corner))
        if l_bar is not None:
            x -= np.matmul(ch, right)
        g[block, block] = np.matmul(np.matmul(adjoint(inverse), x), inverse)
        end = start
    return g


@pair_rule(linalg.ldl, Array, lists=True)
def ldl_rule(A, *, lower=True, hermitian=True, overwrite_a=False, check_finite=True):
    if np.ndim(A) != 2 or np.size(A) == 0:
        return None
    y = linalg.ldl(A, lower, hermitian, check_finite=check_finite)
    factor, d, order = y

    def ldl_pushforward(A_dot):
        same, triangle = is_hermitian(A, hermitian), Triangle(factor, order, lower)
        x = triangle.solve(structured(lower, same).read(A_dot))
        x = turned(triangle.solve(turned(x, same)), same)
        inside, below = blocks_of(d, lower)
        l_dot = np.matmul(factor, np.where(below, over_blocks(np.where(below, x, 0), d), 0))
        return Tangent[type(y)](l_dot, np.where(inside, x, 0), NoTangent())

    def ldl_pullback(y_bar):
        l_bar, d_bar = parts(y_bar, 2)
        same = is_hermitian(A, hermitian)
        if lower and same and not any(is_foreign(x) for x in (factor, d, l_bar, d_bar)):
            rows = None if l_bar is None else l_bar[order]
            g = plain_adjoint(factor[order], d, rows, d_bar)
            back = np.argsort(order)
            return structured(lower, same).written(g[back][:, back])
        inside, below = blocks_of(d, lower)
        x_bar: Any = 0
        if d_bar is not None:
            x_bar = np.where(inside, d_bar, 0)
        if l_bar is not None:
            k_bar = np.where(below, np.matmul(adjoint(factor), l_bar), 0)
            # K = (X below) D⁻¹
            x_bar = x_bar + np.where(below, over_blocks(k_bar, adjoint(d)), 0)
        triangle = Triangle(factor, order, lower)
        half = turned(triangle.solve_adjoint(x_bar), same)
        return structured(lower, same).written(turned(triangle.solve_adjoint(half), same))

    return y, ldl_pushforward, ldl_pullback
