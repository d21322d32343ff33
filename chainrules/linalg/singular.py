"""Singular values and singular vectors: A = U S Vᴴ.

With E = Uᴴ Ȧ V the values have ṡ_i = Re E_ii, and the vectors turn by U̇ = U Ω, V̇ = V Ψ, where

    (Ω + Ψ)_ij = (E + Eᴴ)_ij / (s_j - s_i),    (Ω - Ψ)_ij = (E - Eᴴ)_ij / (s_j + s_i)

(the second one also turns the phases of complex vectors, i = j). What of U̇ is not in the space of
U is (1 - U Uᴴ) Ȧ V S⁻¹, likewise for V. Written in this way only the sum is divided by gaps; a
function of U Vᴴ, say, needs the difference alone and is safe where values coincide. Where the sum
does matter, see `chainrules.linalg.gaps`. A singular value of zero has the derivative 0, as |x|
has.

``full_matrices=True`` adds a basis of the rest of the space. Where LAPACK takes it from a QR
factorisation (for matrices that are much taller than wide, or wider than tall), its derivative is
exact. Else it has one only as far as it depends on the space and not on the basis, since that is
LAPACK's secret: in reverse, a gradient of anything more is declared as missing; forward, the basis
turns with the space.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.linalg.gaps import (
    negligible,
    over_gaps,
    phase_adjoint,
    phase_tangent,
    turned,
    vanishing,
)
from chainrules.linalg.matrices import (
    adjoint,
    column,
    completed,
    conj,
    diagonal,
    diagonal_matrix,
    onto_triangle,
    row,
)
from chainrules.linalg.orthogonal import (
    complete_adjoint,
    complete_tangent,
    reduced_adjoint,
    reduced_tangent,
)
from chainrules.linalg.spectral import hermitian_adjoint, hermitian_tangent
from chainrules_core import (
    Array,
    NotImplementedTangent,
    Tangent,
    non_differentiable,
    not_implemented,
    pair_rule,
    primitive,
)
from chainrules_core.authoring import parts

# ---------------------------------------------------------------------------------- values alone


def without_zeros(s: Any, s_bar: Any) -> Any:
    """0 for values that are 0; a cotangent that vanishes with its value has derivatives itself."""
    return np.where(vanishing(s) & ~vanishing(np.abs(s_bar)), 0, s_bar)


def values_adjoint(u: Any, s: Any, vh: Any, s_bar: Any) -> Any:
    """U diag(s̄) Vᴴ."""
    return np.matmul(u * row(without_zeros(s, s_bar)), vh)


def values_tangent(u: Any, s: Any, vh: Any, a_dot: Any) -> Any:
    """Re diag(Uᴴ Ȧ V)."""
    along = np.sum(conj(u) * np.matmul(a_dot, adjoint(vh)), -2)
    return without_zeros(s, np.real(along))


# ------------------------------------------------------------------------- values and vectors, thin


@primitive
def has_sign(u: Any, s: Any, v: Any) -> Any:
    """Whether a value of zero goes on as a signed one: with its real u and v it is uᵀ A v."""
    return is_alone(s) & (u.dtype.kind == "f" and u.shape[-2] == v.shape[-2])


@primitive
def is_alone(s: Any) -> Any:
    """Whether no more than one value is zero."""
    return np.count_nonzero(vanishing(s), axis=-1, keepdims=True) < 2


for question in (has_sign, is_alone):
    non_differentiable(question)


def signed_tangent(u: Any, s: Any, v: Any, along: Any) -> Any:
    """The tangent of the values where the vectors count too."""
    return np.where(vanishing(s) & ~has_sign(u, s, v), 0, along)


def signed_cotangent(u: Any, s: Any, v: Any, s_bar: Any) -> Any:
    """Their cotangent; NaN where it does not tell that of the matrix, whose vectors may turn."""
    unknown = vanishing(s) & ~vanishing(np.abs(s_bar)) & ~has_sign(u, s, v)
    return np.where(unknown, np.nan, s_bar) if np.any(unknown) else s_bar


def over_sums(x: Any, s: Any, whole: Any) -> Any:
    """x_ij / (s_j + s_i); 0 where both vanish and, unless x is negligible there, NaN."""
    zero = vanishing(s)
    both = column(zero) & row(zero)
    quotient = np.where(both, 0, x / np.where(both, 1, column(s) + row(s)))
    if not np.any(both):
        return quotient
    return np.where(both & ~negligible(x, whole), np.nan, quotient)


def over_values(x: Any, s: Any, whole: Any) -> Any:
    """x_ij / s_j; 0 where the value vanishes and, unless x is negligible there, NaN."""
    zero = row(vanishing(s))
    quotient = np.where(zero, 0, x / np.where(zero, 1, row(s)))
    if not np.any(zero):
        return quotient
    return np.where(zero & ~negligible(x, whole), np.nan, quotient)


def thin_adjoint(u: Any, s: Any, v: Any, u_bar: Any, s_bar: Any, v_bar: Any) -> Any:
    """Ā, from the cotangents of U, S and V (not of Vᴴ)."""
    m, n = np.shape(u)[-2], np.shape(v)[-2]
    if u_bar is None:
        u_bar = np.zeros_like(u)
    if v_bar is None:
        v_bar = np.zeros_like(v)
    if np.iscomplexobj(u):
        turn = np.imag(np.sum(conj(u) * u_bar, -2) + np.sum(conj(v) * v_bar, -2))
        if m >= n:
            v_bar = phase_adjoint(v, v_bar, turn, 0)
        else:
            u_bar = phase_adjoint(u, u_bar, turn, 0)
    of_u, of_v = np.matmul(adjoint(u), u_bar), np.matmul(adjoint(v), v_bar)
    sums, turn = of_u + of_v, of_u - of_v
    inner = (turned(sums, s, s_bar) + over_sums(turn - adjoint(turn), s, turn)) / 2
    if s_bar is not None:
        inner = inner + diagonal_matrix(signed_cotangent(u, s, v, s_bar))
    if m > n:
        outside = over_values(u_bar - np.matmul(u, of_u), s, u_bar)
        return np.matmul(np.matmul(u, inner) + outside, adjoint(v))
    inner = np.matmul(inner, adjoint(v))
    if m < n:
        inner = inner + adjoint(over_values(v_bar - np.matmul(v, of_v), s, v_bar))
    return np.matmul(u, inner)


def thin_tangent(u: Any, s: Any, v: Any, a_dot: Any) -> tuple[Any, Any, Any]:
    """The tangents of U, S and V."""
    m, n = np.shape(u)[-2], np.shape(v)[-2]
    a_dot_v = np.matmul(a_dot, v)
    e = np.matmul(adjoint(u), a_dot_v)
    both, difference = over_gaps(e + adjoint(e), e, s), over_sums(e - adjoint(e), s, e)
    u_dot, v_dot = np.matmul(u, (both + difference) / 2), np.matmul(v, (both - difference) / 2)
    if m > n:
        u_dot = u_dot + over_values(a_dot_v - np.matmul(u, e), s, a_dot_v)
    if m < n:
        ah_dot_u = np.matmul(adjoint(a_dot), u)
        v_dot = v_dot + over_values(ah_dot_u - np.matmul(v, adjoint(e)), s, ah_dot_u)
    if np.iscomplexobj(u):
        by = row(phase_tangent(v, v_dot, 0) if m >= n else phase_tangent(u, u_dot, 0))
        u_dot, v_dot = u_dot + u * by, v_dot + v * by
    return u_dot, signed_tangent(u, s, v, np.real(diagonal(e))), v_dot


# ---------------------------------------------------------------------------------- full matrices

HIDDEN = (
    "the loss depends on which basis np.linalg.svd(full_matrices=True) chose for the remaining "
    "space, not on the space alone: use full_matrices=False, or the projector on the space"
)


@primitive
def is_from_qr(rest: Any, a: Any) -> bool:
    """Whether the columns that LAPACK added are those that a QR factorisation of `a` adds."""
    k = np.shape(a)[-1]
    q = np.linalg.qr(a, "complete")[0]
    return bool(np.allclose(q[..., k:], rest, rtol=0, atol=np.sqrt(np.finfo(rest.dtype).eps)))


non_differentiable(is_from_qr)


def rest_adjoint(a: Any, u: Any, rest: Any, rest_bar: Any) -> tuple[Any, Any]:
    """The contributions of the additional columns to Ū and Ā (tall), or None."""
    if is_from_qr(rest, a):
        q, r = np.linalg.qr(a)
        return None, reduced_adjoint(a, q, r, complete_adjoint(q, rest_bar), None)
    turn = np.matmul(adjoint(rest), rest_bar)
    if not np.all(negligible(turn - adjoint(turn), rest_bar)):
        return None, not_implemented(HIDDEN)
    return -np.matmul(rest, np.matmul(adjoint(rest_bar), u)), None


def rest_tangent(a: Any, a_dot: Any, u: Any, rest: Any, u_dot: Any) -> Any:
    """The tangent of the added columns (of tall matrices)."""
    if is_from_qr(rest, a):
        q, r = np.linalg.qr(a)
        return complete_tangent(q, reduced_tangent(a, q, r, a_dot)[0])
    return -np.matmul(u, np.matmul(adjoint(u_dot), rest))


def svd_adjoint(a: Any, u: Any, s: Any, v: Any, u_bar: Any, s_bar: Any, v_bar: Any) -> Any:
    """Ā, from the cotangents of U, S and V, thin or full."""
    m, n, k = np.shape(u)[-1], np.shape(v)[-1], np.shape(s)[-1]
    more = extra = None
    if m > k:
        u, rest = u[..., :k], u[..., k:]
        if u_bar is not None:
            more, extra = rest_adjoint(a, u, rest, u_bar[..., k:])
            u_bar = u_bar[..., :k] if more is None else u_bar[..., :k] + more
    if n > k:
        v, rest = v[..., :k], v[..., k:]
        if v_bar is not None:
            more, extra = rest_adjoint(adjoint(a), v, rest, v_bar[..., k:])
            v_bar = v_bar[..., :k] if more is None else v_bar[..., :k] + more
    if isinstance(extra, NotImplementedTangent):
        return extra
    a_bar = thin_adjoint(u, s, v, u_bar, s_bar, v_bar)
    if extra is None:
        return a_bar
    return a_bar + (extra if m > k else adjoint(extra))


def svd_tangent(a: Any, u: Any, s: Any, v: Any, a_dot: Any) -> tuple[Any, Any, Any]:
    """The tangents of U, S and V, thin or full."""
    k = np.shape(s)[-1]
    u, rest_u, v, rest_v = u[..., :k], u[..., k:], v[..., :k], v[..., k:]
    u_dot, s_dot, v_dot = thin_tangent(u, s, v, a_dot)
    if np.shape(rest_u)[-1]:
        u_dot = np.concatenate([u_dot, rest_tangent(a, a_dot, u, rest_u, u_dot)], -1)
    if np.shape(rest_v)[-1]:
        rest_dot = rest_tangent(adjoint(a), adjoint(a_dot), v, rest_v, v_dot)
        v_dot = np.concatenate([v_dot, rest_dot], -1)
    return u_dot, s_dot, v_dot


# --------------------------------------------------------------------------------------- Hermitian


def signs(u: Any, v: Any) -> Any:
    """The signs of the eigenvalues: NumPy takes ``svd(hermitian=True)`` from ``eigh``."""
    return np.where(np.real(np.sum(conj(u) * v, -2)) < 0, -1, 1).astype(np.finfo(u.dtype).dtype)


def hermitian_svd_adjoint(u: Any, s: Any, v: Any, u_bar: Any, s_bar: Any, v_bar: Any) -> Any:
    sign = signs(u, v)
    if v_bar is not None:
        v_bar = v_bar * row(sign)
        u_bar = v_bar if u_bar is None else u_bar + v_bar
    if s_bar is not None and u_bar is None:
        s_bar = without_zeros(s, s_bar)
    w_bar = None if s_bar is None else sign * s_bar
    return onto_triangle(hermitian_adjoint(s * sign, u, w_bar, u_bar, 0))


def hermitian_svd_tangent(u: Any, s: Any, v: Any, a_dot: Any) -> tuple[Any, Any, Any]:
    sign = signs(u, v)
    w_dot, u_dot = hermitian_tangent(s * sign, u, completed(a_dot), 0)
    s_dot = np.where(vanishing(s) & ~is_alone(s), 0, sign * w_dot)
    return u_dot, s_dot, u_dot * row(sign)


# ------------------------------------------------------------------------------------------- rules


@pair_rule(np.linalg.svd, Array, lists=True)
def svd_rule(a, *, full_matrices=True, compute_uv=True, hermitian=False):
    y = np.linalg.svd(a, full_matrices and compute_uv, True, hermitian)
    u, s, vh = y

    def svd_pushforward(a_dot):
        v = adjoint(vh)
        if hermitian:
            u_dot, s_dot, v_dot = hermitian_svd_tangent(u, s, v, a_dot)
        elif not compute_uv:
            return values_tangent(u, s, vh, a_dot)
        else:
            u_dot, s_dot, v_dot = svd_tangent(a, u, s, v, a_dot)
        return Tangent[type(y)](u_dot, s_dot, adjoint(v_dot)) if compute_uv else s_dot

    def svd_pullback(y_bar):
        u_bar, s_bar, vh_bar = parts(y_bar, 3) if compute_uv else (None, y_bar, None)
        v, v_bar = adjoint(vh), None if vh_bar is None else adjoint(vh_bar)
        if hermitian:
            return hermitian_svd_adjoint(u, s, v, u_bar, s_bar, v_bar)
        if u_bar is None and v_bar is None:
            k = np.shape(s)[-1]
            return values_adjoint(u[..., :k], s, vh[..., :k, :], s_bar)
        return svd_adjoint(a, u, s, v, u_bar, s_bar, v_bar)

    return y if compute_uv else s, svd_pushforward, svd_pullback


@pair_rule(np.linalg.svdvals, Array, lists=True)
def svdvals_rule(x):
    return svd_rule(x, compute_uv=False)
