"""Eigenvalues and eigenvectors.

Hermitian: with E = Uᴴ Ȧ U, λ̇_i = E_ii and U̇ = U K, K_ij = E_ij/(λ_j - λ_i). The adjoint is
Ā = U (diag(λ̄) + K̄/2) Uᴴ with K̄_ij = (N - Nᴴ)_ij/(λ_j - λ_i), N = Uᴴ Ū. NumPy reads one triangle,
and the gradient is with respect to what it reads (see `cholesky`).

General: with E = V⁻¹ Ȧ V, ẇ_i = E_ii and V̇ = V (K + C), where the diagonal C keeps the vectors as
LAPACK gives them: of length one, their largest element real. The adjoint is V⁻ᴴ (diag(w̄) + K̄) Vᴴ.

Where eigenvalues coincide, see `chainrules.linalg.gaps`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.linalg.gaps import over_gaps, phase_adjoint, phase_tangent, turned, unequal
from chainrules.linalg.matrices import (
    adjoint,
    completed,
    conj,
    diagonal,
    diagonal_matrix,
    onto_triangle,
    row,
)
from chainrules_core import Array, Tangent, non_differentiable, pair_rule, primitive
from chainrules_core.authoring import parts

# --------------------------------------------------------------------------------------- Hermitian


def hermitian_adjoint(w: Any, v: Any, w_bar: Any, v_bar: Any, real_row: int) -> Any:
    """The cotangent of a Hermitian matrix from those of its eigenvalues and eigenvectors."""
    if v_bar is None:
        return np.matmul(v * row(w_bar), adjoint(v))
    n = np.matmul(adjoint(v), v_bar)
    if np.iscomplexobj(v):
        v_bar = phase_adjoint(v, v_bar, np.imag(diagonal(n)), real_row)
        n = np.matmul(adjoint(v), v_bar)
    inner = turned(n, w, w_bar) / 2
    if w_bar is not None:
        inner = inner + diagonal_matrix(w_bar)
    return np.matmul(np.matmul(v, inner), adjoint(v))


def hermitian_tangent(w: Any, v: Any, a_dot: Any, real_row: int) -> tuple[Any, Any]:
    """The tangents of the eigenvalues and eigenvectors of a Hermitian matrix."""
    e = np.matmul(np.matmul(adjoint(v), a_dot), v)
    v_dot = np.matmul(v, over_gaps(e, e, w))
    if np.iscomplexobj(v):
        v_dot = v_dot + v * row(phase_tangent(v, v_dot, real_row))
    return np.real(diagonal(e)), v_dot


def is_upper(uplo: str) -> bool:
    return uplo in ("U", "u")


def read(a: Any, uplo: str) -> Any:
    """The Hermitian matrix that is read from a triangle."""
    return completed(adjoint(a) if is_upper(uplo) else a)


def written(a_bar: Any, uplo: str) -> Any:
    """The adjoint of :func:`read`."""
    a_bar = onto_triangle(a_bar)
    return adjoint(a_bar) if is_upper(uplo) else a_bar


@pair_rule(np.linalg.eigh, Array, lists=True)
def eigh_rule(a, *, UPLO="L"):
    y = np.linalg.eigh(a, UPLO)
    w, v = y

    def eigh_pushforward(a_dot):
        dot = hermitian_tangent(*y, read(a_dot, UPLO), -is_upper(UPLO))
        return Tangent[type(y)](*dot)

    def eigh_pullback(y_bar):
        a_bar = hermitian_adjoint(w, v, *parts(y_bar, 2), -is_upper(UPLO))
        return written(a_bar, UPLO)

    return y, eigh_pushforward, eigh_pullback


@pair_rule(np.linalg.eigvalsh, Array, lists=True)
def eigvalsh_rule(a, *, UPLO="L"):
    w, v = np.linalg.eigh(a, UPLO)

    def eigvalsh_pushforward(a_dot):
        return np.real(np.sum(conj(v) * np.matmul(read(a_dot, UPLO), v), -2))

    def eigvalsh_pullback(w_bar):
        return written(hermitian_adjoint(w, v, w_bar, None, 0), UPLO)

    return w, eigvalsh_pushforward, eigvalsh_pullback


# ----------------------------------------------------------------------------------------- general


@primitive
def largest_elements(v: Any) -> Any:
    """The positions of the largest element of each vector, which LAPACK makes real."""
    if np.size(v) == 0:
        return np.zeros(np.shape(v), bool)
    at = np.expand_dims(np.argmax(np.abs(v), -2), -2)
    return np.expand_dims(np.arange(np.shape(v)[-2]), -1) == at


non_differentiable(largest_elements)


def general_adjoint(w: Any, v: Any, w_bar: Any, v_bar: Any) -> Any:
    """The cotangent of a matrix from those of its eigenvalues and eigenvectors."""
    vh = adjoint(v)
    if v_bar is None:
        return np.linalg.solve(vh, column_scaled(w_bar, vh))
    along = np.sum(conj(v) * v_bar, -2, keepdims=True)
    v_bar = v_bar - v * np.real(along)
    if np.iscomplexobj(v):
        largest = largest_elements(v)
        v_bar = v_bar - np.where(largest, 1j * np.imag(along) / np.where(largest, np.real(v), 1), 0)
    n = np.matmul(vh, v_bar)
    inner = over_gaps(n, n, conj(w), unequal(w_bar))
    if w_bar is not None:
        inner = inner + diagonal_matrix(w_bar)
    return np.linalg.solve(vh, np.matmul(inner, vh))


def column_scaled(d: Any, x: Any) -> Any:
    """Diag(d) X."""
    return np.expand_dims(d, -1) * x


def general_tangent(w: Any, v: Any, a_dot: Any) -> tuple[Any, Any]:
    """The tangents of the eigenvalues and eigenvectors of a matrix."""
    e = np.linalg.solve(v, np.matmul(a_dot, v))
    v_dot = np.matmul(v, over_gaps(e, e, w))
    c = np.real(np.sum(conj(v) * v_dot, -2, keepdims=True))
    if np.iscomplexobj(v):
        largest = largest_elements(v)
        turn = np.where(largest, np.imag(v_dot) / np.where(largest, np.real(v), 1), 0)
        c = c + 1j * np.sum(turn, -2, keepdims=True)
    return diagonal(e), v_dot - v * c


@pair_rule(np.linalg.eig, Array, lists=True)
def eig_rule(a):
    y = np.linalg.eig(a)
    w, v = y

    def eig_pushforward(a_dot):
        return Tangent[type(y)](*general_tangent(*y, a_dot))

    def eig_pullback(y_bar):
        return general_adjoint(w, v, *parts(y_bar, 2))

    return y, eig_pushforward, eig_pullback


@pair_rule(np.linalg.eigvals, Array, lists=True)
def eigvals_rule(a):
    w, v = np.linalg.eig(a)

    def eigvals_pushforward(a_dot):
        return diagonal(np.linalg.solve(v, np.matmul(a_dot, v)))

    def eigvals_pullback(w_bar):
        return general_adjoint(w, v, w_bar, None)

    return w, eigvals_pushforward, eigvals_pullback
