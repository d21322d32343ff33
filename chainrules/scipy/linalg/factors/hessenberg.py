"""Hessenberg form: A = Q H Qᴴ, where the first column of Q stays e₁.

With X = Qᴴ Ȧ Q and a skew K whose first column is zero, Q̇ = Q K and Ḣ = X + H K - K H. That H
stays zero below its first subdiagonal determines K, column by column:

    k_{j+1} h_{j+1,j} = x_j + H k_j - Σ_{i ≤ j} k_i h_{i,j}   in the rows below j + 1.

LAPACK makes the subdiagonal of a complex form real, which determines the imaginary diagonal of K in
the same way. The adjoint equations run through the columns backwards: with D the skew part of the
cotangent of K, and Y zero where X does not count,

    y_{c-1} h_{c,c-1} = Hᴴ y_c - Σ_{i ≥ c} y_i conj(h_{c,i}) - d_c   in the rows from c on.

Either costs two products of a matrix and a vector for each column, as the reduction itself does.

Where an element of the subdiagonal is zero, Q is arbitrary from there on: then there is a
derivative only of what does not depend on it. A column that is cleared already LAPACK leaves alone,
and flips the sign of it as soon as it is not; the derivative is the one without that jump.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.matrices import adjoint, commutator
from chainrules.scipy.delegated import both
from chainrules.scipy.linalg.solvers import of_commutator, solver_rules
from chainrules_core import (
    Array,
    Tangent,
    non_differentiable,
    not_implemented,
    pair_rule,
    primitive,
)
from chainrules_core.authoring import parts

REDUCED = (
    "scipy.linalg.hessenberg of a matrix whose form has a zero in its subdiagonal: what follows it "
    "in H and Q is arbitrary. Only what does not depend on it (eigenvalues, say) is differentiated "
    "there: take it from the matrix itself"
)


def onto_form(x: Any) -> Any:
    """What a Hessenberg form has: no more below its first subdiagonal, which is real."""
    x = np.triu(x, -1)
    if not np.iscomplexobj(x):
        return x
    return x - np.tri(np.shape(x)[-1], k=-1) * np.imag(x) * 1j


def over_zero(column: Any, size: Any) -> Any:
    """A column over a zero of the subdiagonal: 0 where it is negligible, else NaN."""
    tolerance = 64 * np.size(column) * np.finfo(column.dtype).eps * size
    return np.where(np.abs(column) <= tolerance, 0, np.nan)


def turn_into(k: np.ndarray, h: np.ndarray, x: np.ndarray) -> None:
    """Write K, for one matrix."""
    size, pivots = np.max(np.abs(x), initial=0), np.real(np.diagonal(h, -1)).tolist()
    has_phases = np.iscomplexobj(h)
    for j, pivot in enumerate(pivots):
        after = h[j + 1 :, j:] @ k[j:, j]
        after -= k[j + 1 :, : j + 1] @ h[: j + 1, j]
        after += x[j + 1 :, j]
        after[0] = 1j * after[0].imag if has_phases else 0
        after = after / pivot if pivot else over_zero(after, size)
        k[j + 1 :, j + 1] = after
        k[j + 1, j + 2 :] = -after[1:].conj()


def turn_back_into(x_bar: np.ndarray, h: np.ndarray, k_bar: np.ndarray) -> None:
    """Write the cotangent of X, for one matrix: -Y."""
    size, pivots = np.max(np.abs(k_bar), initial=0), np.real(np.diagonal(h, -1)).tolist()
    has_phases = np.iscomplexobj(h)
    skew, hc = k_bar - k_bar.conj().T, h.conj()
    np.fill_diagonal(skew, np.diagonal(skew) / 2)  # an element that is its own adjoint
    for c in range(len(h) - 1, 0, -1):
        before = hc.T[c:, c + 1 :] @ x_bar[c + 1 :, c]
        before -= x_bar[c:, c:] @ hc[c, c:]
        before += skew[c:, c]
        before[0] = 1j * before[0].imag if has_phases else 0
        pivot = pivots[c - 1]
        x_bar[c:, c - 1] = before / pivot if pivot else over_zero(before, size)


@primitive
def turning(h: Any, x: Any) -> Any:
    """The skew K, zero in its first column, for which X + H K - K H is Hessenberg."""
    h, k = onto_form(h), np.zeros(np.shape(x), np.result_type(h, x))
    for stack in np.ndindex(np.shape(h)[:-2]):
        turn_into(k[stack], h[stack], x[stack])
    return k


@primitive
def turning_adjoint(h: Any, k_bar: Any) -> Any:
    """The cotangent of X in `turning`."""
    h, x_bar = onto_form(h), np.zeros(np.shape(k_bar), np.result_type(h, k_bar))
    for stack in np.ndindex(np.shape(h)[:-2]):
        turn_back_into(x_bar[stack], h[stack], k_bar[stack])
    return x_bar


solver_rules(turning, turning_adjoint, of_commutator(lambda h, h_dot: onto_form(h_dot)))


# ------------------------------------------------------------------------------------- the rules


@primitive
def has_nan(x: Any) -> bool:
    return bool(np.any(np.isnan(x)))


@primitive
def is_arbitrary(h: Any, *bars: Any) -> bool:
    """Whether columns of Q or of H are used that follow a zero of the subdiagonal."""
    after = np.logical_or.accumulate(np.diagonal(h, -1, -2, -1)[..., :-1] == 0, axis=-1)
    used = np.any(np.stack(bars) != 0, axis=(0, -2))
    return bool(np.any(after & (used[..., 1:-1] | used[..., -1:])))


for question in (has_nan, is_arbitrary):
    non_differentiable(question)


def is_reduced_already(a: Any) -> bool:
    """Whether LAPACK is not even asked: then Q is the identity."""
    return np.shape(a)[-1] <= 2


@pair_rule(both(linalg.hessenberg), Array, lists=True)
def hessenberg_rule(a, *, calc_q=False, overwrite_a=False, check_finite=True):
    y = linalg.hessenberg(a, True, check_finite=check_finite)
    h, q = y

    def hessenberg_pushforward(a_dot):
        x = np.matmul(np.matmul(adjoint(q), a_dot), q)
        if is_reduced_already(a):
            h_dot, q_dot = x, np.zeros_like(q)
        else:
            k = turning(h, x)
            if has_nan(k):
                h_dot = q_dot = not_implemented(REDUCED)
            else:
                h_dot, q_dot = onto_form(x + commutator(h, k)), np.matmul(q, k)
        return Tangent[tuple](h_dot, q_dot) if calc_q else h_dot

    def hessenberg_pullback(y_bar):
        h_bar, q_bar = parts(y_bar, 2) if calc_q else (y_bar, None)
        if h_bar is None and q_bar is None:
            return np.zeros_like(a)
        x_bar = np.zeros_like(h) if h_bar is None else h_bar
        if is_reduced_already(a):
            return x_bar
        x_bar = onto_form(x_bar)
        k_bar = commutator(adjoint(h), x_bar)
        if q_bar is not None:
            if is_arbitrary(h, q_bar, x_bar):
                return not_implemented(REDUCED)
            k_bar = k_bar + np.matmul(adjoint(q), q_bar)
        turned = turning_adjoint(h, k_bar)
        if has_nan(turned):
            return not_implemented(REDUCED)
        return np.matmul(np.matmul(q, x_bar + turned), adjoint(q))

    return y if calc_q else h, hessenberg_pushforward, hessenberg_pullback
