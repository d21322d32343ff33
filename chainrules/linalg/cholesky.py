"""The Cholesky factor: A = L Lᴴ.

With Φ(X) the lower triangle of X, its diagonal halved, L̇ = L Φ(L⁻¹ Ȧ L⁻ᴴ). The adjoint is the
Hermitian part of S = L⁻ᴴ Φ(Lᴴ L̄) L⁻¹; it is cheaper to go back through the factorisation itself,
block by block, at twice the work of that (I. Murray, *Differentiation of the Cholesky
decomposition*, 2016).

NumPy reads one triangle only, the lower one or, with ``upper=True``, the upper one. The gradient is
with respect to what is read: it is zero in the other triangle, an element beside the diagonal
counts for its mirror image as well (so the gradient there is twice that of the symmetric matrix),
and of a diagonal element only the real part counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.linalg.matrices import (
    adjoint,
    completed,
    half_triangle,
    halves,
    onto_triangle,
    triangle_of_ones,
)
from chainrules.linalg.triangular import (
    inverse_of_lower,
    right_lower,
    right_upper,
    solve_lower,
    solve_upper,
)
from chainrules_core import Array, pair_rule, primitive
from chainrules_core.authoring import in_steps, is_foreign


@pair_rule(np.linalg.cholesky, Array, lists=True)
def cholesky_rule(a, *, upper=False):
    y = np.linalg.cholesky(a, upper=upper)

    def cholesky_pushforward(a_dot):
        lower, read = (adjoint(y), adjoint(a_dot)) if upper else (y, a_dot)
        lower_dot = cholesky_tangent(lower, read)
        return adjoint(lower_dot) if upper else lower_dot

    def cholesky_pullback(y_bar):
        if upper:
            return adjoint(cholesky_adjoint(adjoint(y), adjoint(y_bar)))
        return cholesky_adjoint(y, y_bar)

    return y, cholesky_pushforward, cholesky_pullback


def cholesky_tangent(lower: Any, a_dot: Any) -> Any:
    """L Φ(L⁻¹ Ȧ L⁻ᴴ), from the lower triangle of Ȧ."""
    if not is_foreign(lower) and not is_foreign(a_dot):
        return plain_tangent(lower, a_dot)
    x = solve_lower(lower, completed(a_dot))
    return np.matmul(lower, half_triangle(solve_lower(lower, adjoint(x))))


def closed_adjoint(lower: Any, lower_bar: Any) -> Any:
    """S = L⁻ᴴ Φ(Lᴴ L̄) L⁻¹, brought onto the triangle that is read."""
    return onto_triangle(two_sided(lower, half_triangle(np.matmul(adjoint(lower), lower_bar))))


def two_sided(lower: Any, x: Any) -> Any:
    """L⁻ᴴ X L⁻¹."""
    upper = adjoint(lower)
    return adjoint(solve_upper(upper, adjoint(solve_upper(upper, x))))


# ---------------------------------------------------------------------------------- block by block

BLOCK = 48


@primitive
def cholesky_adjoint(lower: Any, lower_bar: Any) -> Any:
    """The cotangent of the lower triangle of A from that of L: block by block, last first.

    A block column of L, D on the diagonal and C below, was made from that of A by taking away the
    products with the columns to the left, R beside D and B beside C: D is the factor of what is
    left on the diagonal, and C what is left below, times D⁻ᴴ. The small triangles D are inverted,
    since each is divided by three times.
    """
    n = lower.shape[-1]
    weights = halves(min(n, BLOCK), lower.dtype)
    if n <= BLOCK:
        d = lower * triangle_of_ones(n, lower.dtype)
        return weights * adjoint_of_block(d, inverse_of_lower(d), lower_bar, weights)
    a_bar = np.zeros(lower_bar.shape, np.result_type(lower, lower_bar))
    for end in range(n, 0, -BLOCK):  # what is above the diagonal of a block has no effect
        rows, columns = slice(max(0, end - BLOCK), end), slice(0, end)
        a_bar[..., rows, columns] = lower_bar[..., rows, columns]
    for end in range(n, 0, -BLOCK):
        start = max(0, end - BLOCK)
        before, block, after = slice(0, start), slice(start, end), slice(end, n)
        phi, r = weights[: end - start, : end - start], lower[..., block, before]
        d = lower[..., block, block] * triangle_of_ones(end - start, lower.dtype)
        inverse = inverse_of_lower(d)
        d_bar = a_bar[..., block, block]
        if end < n:
            c_bar = np.matmul(a_bar[..., after, block], inverse)
            a_bar[..., after, block] = c_bar
            a_bar[..., after, before] -= np.matmul(c_bar, r)
            ch_bar = adjoint(c_bar)
            products = np.matmul(ch_bar, lower[..., after, :end])
            d_bar = d_bar - products[..., block]
            a_bar[..., block, before] -= products[..., before]
        s = adjoint_of_block(d, inverse, d_bar, phi)
        a_bar[..., block, block] = phi * s
        if start:
            a_bar[..., block, before] -= np.matmul(s, r)
    return a_bar


def adjoint_of_block(d: Any, inverse: Any, d_bar: Any, phi: Any) -> Any:
    """Return S + Sᴴ for a block on the diagonal, where S = D⁻ᴴ Φ(Dᴴ D̄) D⁻¹."""
    s = np.matmul(adjoint(inverse), phi * np.matmul(adjoint(d), d_bar))
    s = np.matmul(s, inverse)
    return s + adjoint(s)


@primitive
def plain_tangent(lower: Any, a_dot: Any) -> Any:
    """The tangent of L from the lower triangle of that of A, block column by block column."""
    n = lower.shape[-1]
    l_dot = np.zeros(a_dot.shape, np.result_type(lower, a_dot))
    for start in range(0, n, BLOCK):
        end = min(start + BLOCK, n)
        before, block, rows = slice(start), slice(start, end), slice(start, n)
        left = a_dot[..., rows, block] - np.matmul(
            l_dot[..., rows, before], adjoint(lower[..., block, before])
        )
        left -= np.matmul(lower[..., rows, before], adjoint(l_dot[..., block, before]))
        d, size = np.tril(lower[..., block, block]), end - start
        inverse = inverse_of_lower(d)
        inner = np.matmul(np.matmul(inverse, completed(left[..., :size, :])), adjoint(inverse))
        d_dot = np.matmul(d, half_triangle(inner))
        l_dot[..., block, block] = d_dot
        rest = left[..., size:, :] - np.matmul(lower[..., end:, block], adjoint(d_dot))
        l_dot[..., end:, block] = np.matmul(rest, adjoint(inverse))
    return l_dot


# ------------------------------------------------------------------------------ second derivatives

in_steps(cholesky_adjoint)(closed_adjoint)


@pair_rule(cholesky_adjoint, Array, Array)
def cholesky_adjoint_rule(lower, lower_bar):
    def tangent_of_adjoint(lower_dot, bar_dot):
        lower_dot = np.tril(lower_dot)
        upper = adjoint(lower)
        s = two_sided(lower, half_triangle(np.matmul(upper, lower_bar)))
        inner = np.matmul(adjoint(lower_dot), lower_bar) + np.matmul(upper, bar_dot)
        turned = np.matmul(s + adjoint(s), right_lower(lower_dot, lower))
        return onto_triangle(two_sided(lower, half_triangle(inner)) - turned)

    def adjoint_of_adjoint(y_bar):
        upper = adjoint(lower)
        s = two_sided(lower, half_triangle(np.matmul(upper, lower_bar)))
        s_bar = right_upper(completed(y_bar), upper)
        inner_bar = half_triangle(solve_lower(lower, s_bar))
        turned = np.matmul(s + adjoint(s), s_bar)
        to_lower = np.tril(np.matmul(lower_bar, adjoint(inner_bar)) - turned)
        return to_lower, np.matmul(lower, inner_bar)

    return cholesky_adjoint(lower, lower_bar), tangent_of_adjoint, adjoint_of_adjoint
