"""QR factorisation: A = Q R with a real diagonal of R, as LAPACK makes it.

For a matrix with at least as many rows as columns, with X = Qᴴ Ȧ R⁻¹ and Ω its strict lower
triangle minus the adjoint of that, plus the imaginary part of its diagonal: Ṙ = (X - Ω) R and
Q̇ = Q Ω + (1 - Q Qᴴ) Ȧ R⁻¹. The adjoint is Ā = (Q̄ + Q M) R⁻ᴴ, where, with N = QᴴQ̄ - R̄Rᴴ, M is
the strict lower triangle of N - Nᴴ, plus the imaginary part of the diagonal of N, minus N.

A wide matrix is factorised by its first columns: A = [A₁ A₂], R = [R₁ QᴴA₂].

``mode="complete"`` adds columns Q₂. They come from the same Householder reflections as Q, which
makes them a function of Q: with E = [E₁ E₂] the identity split in the same columns and Q₁₁, Q₂₁ the
upper and lower part of Q, Q₂ = E₂ + (E₁ - Q)(1 - Q₁₁)⁻ᴴ Q₂₁ᴴ. So their derivative is exact, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules.linalg.gaps import rest_vanishes
from chainrules.linalg.matrices import adjoint, diagonal, diagonal_matrix
from chainrules.linalg.triangular import right_lower, right_upper
from chainrules_core import Array, Tangent, not_implemented, pair_rule
from chainrules_core.authoring import parts

# -------------------------------------------------------------------- at least as many rows


def has_dependent_columns(r: Any) -> bool:
    """Whether a column is a combination of those before it, up to rounding of this column."""
    k = np.shape(r)[-2]
    return bool(np.any(rest_vanishes(r[..., :k])))


def below(x: Any) -> Any:
    """The strict lower triangle."""
    n = np.shape(x)[-1]
    return np.tri(n, k=-1, dtype=np.finfo(x.dtype).dtype) * x


def rotation(x: Any) -> Any:
    """Ω: the part of X that turns Q."""
    lower = below(x)
    omega = lower - adjoint(lower)
    return omega + 1j * diagonal_matrix(np.imag(diagonal(x))) if np.iscomplexobj(x) else omega


def tall_adjoint(q: Any, r: Any, q_bar: Any, r_bar: Any) -> Any:
    """Ā, from the cotangents of Q and R; either may be None."""
    n = 0
    if q_bar is not None:
        n = np.matmul(adjoint(q), q_bar)
    if r_bar is not None:
        n = n - np.matmul(r_bar, adjoint(r))
    m = below(n - adjoint(n)) - n
    if np.iscomplexobj(n):
        m = m + 1j * diagonal_matrix(np.imag(diagonal(n)))
    if q_bar is None:
        return np.matmul(q, right_lower(m, adjoint(r)))
    return right_lower(q_bar + np.matmul(q, m), adjoint(r))


def tall_tangent(q: Any, r: Any, a_dot: Any) -> tuple[Any, Any]:
    """The tangents of Q and R."""
    y = right_upper(a_dot, r)
    x = np.matmul(adjoint(q), y)
    omega = rotation(x)
    return y + np.matmul(q, omega - x), np.matmul(x - omega, r)


# ----------------------------------------------------------------------------------- wide matrices


def reduced_adjoint(a: Any, q: Any, r: Any, q_bar: Any, r_bar: Any) -> Any:
    """Ā for matrices of any shape; Q and R of the reduced kind."""
    k, n = np.shape(r)[-2:]
    if n == k:
        return tall_adjoint(q, r, q_bar, r_bar)
    if r_bar is None:
        first = tall_adjoint(q, r[..., :k], q_bar, None)
        rest = np.zeros((*np.shape(first)[:-1], n - k), first.dtype)
    else:
        more = np.matmul(a[..., k:], adjoint(r_bar[..., k:]))
        q_bar = more if q_bar is None else q_bar + more
        first = tall_adjoint(q, r[..., :k], q_bar, r_bar[..., :k])
        rest = np.matmul(q, r_bar[..., k:])
    return np.concatenate([first, rest], -1)


def reduced_tangent(a: Any, q: Any, r: Any, a_dot: Any) -> tuple[Any, Any]:
    """The tangents of Q and R for matrices of any shape."""
    k, n = np.shape(r)[-2:]
    if n == k:
        return tall_tangent(q, r, a_dot)
    q_dot, first = tall_tangent(q, r[..., :k], a_dot[..., :k])
    rest = np.matmul(adjoint(q_dot), a[..., k:]) + np.matmul(adjoint(q), a_dot[..., k:])
    return q_dot, np.concatenate([first, rest], -1)


# ---------------------------------------------------------------------------------------- complete


def reflections(q: Any) -> tuple[Any, Any, Any]:
    """E₁ - Q, 1 - Q₁₁, and T = (1 - Q₁₁)⁻ᴴ Q₂₁ᴴ."""
    m, k = np.shape(q)[-2:]
    away = np.eye(m, k, dtype=q.dtype) - q
    corner = away[..., :k, :]
    return away, corner, np.linalg.solve(adjoint(corner), adjoint(q[..., k:, :]))


def has_unchanged_columns(q: Any) -> bool:
    """Whether LAPACK needed no reflection for a column: 1 - Q₁₁ is singular then."""
    k = np.shape(q)[-1]
    corner = np.eye(k, dtype=q.dtype) - q[..., :k, :]
    return bool(np.any(np.linalg.cond(corner) * np.finfo(corner.dtype).eps > 1e-2))


def complete_adjoint(q: Any, rest_bar: Any) -> Any:
    """The contribution of the additional columns of Q to the cotangent of Q."""
    away, corner, t = reflections(q)
    g = np.linalg.solve(corner, np.matmul(adjoint(away), rest_bar))
    return np.concatenate([np.matmul(t, adjoint(g)), adjoint(g)], -2) - np.matmul(
        rest_bar, adjoint(t)
    )


def complete_tangent(q: Any, q_dot: Any) -> Any:
    """The tangent of the columns added to Q."""
    k = np.shape(q)[-1]
    away, corner, t = reflections(q)
    moved = adjoint(q_dot[..., k:, :]) + np.matmul(adjoint(q_dot[..., :k, :]), t)
    return np.matmul(away, np.linalg.solve(adjoint(corner), moved)) - np.matmul(q_dot, t)


# ------------------------------------------------------------------------------------------- rules

MODES = ("reduced", "complete", "r", "raw")
DEPENDENT = (
    "np.linalg.qr of a matrix whose (first) columns are linearly dependent: the columns of Q that "
    "belong to them are arbitrary, and so has R no derivative"
)
UNCHANGED = (
    "np.linalg.qr(mode='complete') of a matrix with a column that is zero below the diagonal: "
    "LAPACK leaves it as it is, but turns its sign round after any change, and the added columns"
)
RAW = "the Householder vectors of np.linalg.qr(mode='raw') have no rule: use mode='reduced'"


def triangle_alone(a: Any) -> tuple[Any, Callable, Callable]:
    """The rule for ``mode="r"``; Q is needed to go back."""
    q, r = np.linalg.qr(a)

    def qr_pushforward(a_dot):
        if has_dependent_columns(r):
            return not_implemented(DEPENDENT)
        return reduced_tangent(a, q, r, a_dot)[1]

    def qr_pullback(r_bar):
        if has_dependent_columns(r):
            return not_implemented(DEPENDENT)
        return reduced_adjoint(a, q, r, None, r_bar)

    return r, qr_pushforward, qr_pullback


def householder_vectors(a: Any) -> tuple[Any, Callable, Callable]:
    """The rule for ``mode="raw"``."""

    def qr_pushforward(a_dot):
        return Tangent[tuple](not_implemented(RAW), not_implemented(RAW))

    def qr_pullback(y_bar):
        return not_implemented(RAW)

    return np.linalg.qr(a, "raw"), qr_pushforward, qr_pullback


@pair_rule(np.linalg.qr, Array, lists=True)
def qr_rule(a, *, mode="reduced"):
    if mode not in MODES:
        return None
    if mode == "r":
        return triangle_alone(a)
    if mode == "raw":
        return householder_vectors(a)
    y = np.linalg.qr(a, mode)
    k = min(np.shape(a)[-2:])

    def qr_pushforward(a_dot):
        q, r = y
        if has_dependent_columns(r[..., :k, :]):
            return Tangent[type(y)](not_implemented(DEPENDENT), not_implemented(DEPENDENT))
        if np.shape(q)[-1] == k:
            return Tangent[type(y)](*reduced_tangent(a, q, r, a_dot))
        q, r = q[..., :k], r[..., :k, :]
        q_dot, r_dot = reduced_tangent(a, q, r, a_dot)
        below_r = np.zeros((*np.shape(r)[:-2], np.shape(a)[-2] - k, k), r.dtype)
        r_dot = np.concatenate([r_dot, below_r], -2)
        if has_unchanged_columns(q):
            return Tangent[type(y)](not_implemented(UNCHANGED), r_dot)
        return Tangent[type(y)](np.concatenate([q_dot, complete_tangent(q, q_dot)], -1), r_dot)

    def qr_pullback(y_bar):
        q, r = y
        q_bar, r_bar = parts(y_bar, 2)
        if np.shape(q)[-1] > k:  # complete, and more rows than columns
            q, r = q[..., :k], r[..., :k, :]
            r_bar = None if r_bar is None else r_bar[..., :k, :]
        if has_dependent_columns(r):
            return not_implemented(DEPENDENT)
        if q_bar is not None and np.shape(y[0])[-1] > k:
            if has_unchanged_columns(q):
                return not_implemented(UNCHANGED)
            q_bar = q_bar[..., :k] + complete_adjoint(q, q_bar[..., k:])
        return reduced_adjoint(a, q, r, q_bar, r_bar)

    return y, qr_pushforward, qr_pullback
