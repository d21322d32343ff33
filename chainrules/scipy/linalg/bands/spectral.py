"""Eigenvalues and eigenvectors of band and tridiagonal matrices.

They are those of the dense Hermitian matrix, of whose cotangent only the elements that are
stored are made: from the values alone, at the cost of the band. Complex vectors have a
phase of LAPACK's own: in reverse a gradient that depends on it is declared as missing,
forward it stands still.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.gaps import negligible, over_gaps, turned
from chainrules.linalg.matrices import adjoint, conj, diagonal, diagonal_matrix, row
from chainrules.scipy.linalg.bands.solving import band_of, dense, onto_hermitian_band, width
from chainrules.scipy.linalg.spectral import completed, padded
from chainrules.scipy.linalg.structure import hermitian, onto_hermitian
from chainrules_core import Array, NotImplementedTangent, Tangent, not_implemented, pair_rule
from chainrules_core.authoring import parts

PHASE = (
    "the loss depends on the phases that LAPACK gave to the vectors of scipy.linalg.eig_banded: "
    "take their absolute values, or products that have no phase"
)


def inner_adjoint(w: Any, v: Any, w_bar: Any, v_bar: Any) -> Any:
    """Vᴴ Ā V for a Hermitian matrix A, from the cotangent of vectors whose phase is arbitrary."""
    n = np.matmul(adjoint(v), v_bar)
    if np.iscomplexobj(v) and not np.all(negligible(diagonal_matrix(np.imag(diagonal(n))), n)):
        return not_implemented(PHASE)
    inner = turned(n, w, w_bar) / 2
    return inner if w_bar is None else inner + diagonal_matrix(w_bar)


def free_tangent(w: Any, v: Any, a_dot: Any) -> tuple[Any, Any]:
    """The tangents of values and vectors that do not turn their phase."""
    e = np.matmul(np.matmul(adjoint(v), a_dot), v)
    return np.real(diagonal(e)), np.matmul(v, over_gaps(e, e, w))


def values_tangent(v: Any, a_dot: Any) -> Any:
    return np.real(np.sum(conj(v) * np.matmul(a_dot, v), -2))


# ------------------------------------------------------------------------------------------ bands


def band_cotangent(a_band: Any, lower: bool, w: Any, v: Any, w_bar: Any, v_bar: Any) -> Any:
    """The cotangent of half a band."""
    n = np.shape(a_band)[-2] - 1
    if np.size(w) == 0 or (w_bar is None and v_bar is None):
        return np.zeros_like(a_band)
    if v_bar is None:
        return onto_hermitian_band(v * row(w_bar), v, lower, n)
    w, v, where = completed(w, v, lambda: linalg.eig_banded(a_band, lower))
    size = np.shape(w)[-1]
    inner = inner_adjoint(w, v, padded(w_bar, size, where), padded(v_bar, size, where))
    if isinstance(inner, NotImplementedTangent):
        return inner
    a_bar = np.matmul(np.matmul(v, inner), adjoint(v))
    return band_of(onto_hermitian(a_bar, lower), *width(a_band, lower))


def solved_band(
    a_band: Any, lower: bool, select: Any, select_range: Any, max_ev: int, check_finite: bool
) -> Any:
    return linalg.eig_banded(
        a_band, lower, select=select, select_range=select_range, max_ev=max_ev,
        check_finite=check_finite,
    )  # fmt: skip


@pair_rule(linalg.eig_banded, Array, lists=True)
def eig_banded_rule(
    a_band, *, lower=False, eigvals_only=False, overwrite_a_band=False, select="a",
    select_range=None, max_ev=0, check_finite=True,
):  # fmt: skip
    if np.ndim(a_band) != 2 or np.size(a_band) == 0:
        return None
    y = solved_band(a_band, lower, select, select_range, max_ev, check_finite)
    w, v = y

    def eig_banded_pushforward(a_band_dot):
        a_dot = hermitian(dense(a_band_dot, *width(a_band, lower)), lower)
        if eigvals_only or np.size(w) == 0:
            w_dot = values_tangent(v, a_dot)
            return w_dot if eigvals_only else Tangent[type(y)](w_dot, np.zeros_like(v))
        all_w, all_v, where = completed(w, v, lambda: linalg.eig_banded(a_band, lower))
        w_dot, v_dot = free_tangent(all_w, all_v, a_dot)
        return Tangent[type(y)](w_dot[where], v_dot[:, where])

    def eig_banded_pullback(y_bar):
        bars = (y_bar, None) if eigvals_only else parts(y_bar, 2)
        return band_cotangent(a_band, lower, w, v, *bars)

    return w if eigvals_only else y, eig_banded_pushforward, eig_banded_pullback


@pair_rule(linalg.eigvals_banded, Array, lists=True)
def eigvals_banded_rule(
    a_band, *, lower=False, overwrite_a_band=False, select="a", select_range=None,
    check_finite=True,
):  # fmt: skip
    return eig_banded_rule(
        a_band, lower=lower, eigvals_only=True, select=select, select_range=select_range,
        check_finite=check_finite,
    )  # fmt: skip


# ------------------------------------------------------------------------------------ tridiagonal


def tridiagonal(d: Any, e: Any) -> Any:
    return np.diag(d) + np.diag(e, 1) + np.diag(e, -1)


def solved_tridiagonal(d: Any, e: Any, driver: str, options: dict) -> Any:
    """Values and vectors; some of the drivers make only values."""
    return linalg.eigh_tridiagonal(
        d, e, lapack_driver="auto" if driver == "sterf" else driver, **options
    )


@pair_rule(linalg.eigh_tridiagonal, Array, Array, lists=True)
def eigh_tridiagonal_rule(
    d, e, *, eigvals_only=False, select="a", select_range=None, check_finite=True, tol=0.0,
    lapack_driver="auto",
):  # fmt: skip
    if np.ndim(d) != 1 or np.size(d) == 0:
        return None
    options = {
        "select": select, "select_range": select_range, "check_finite": check_finite, "tol": tol
    }  # fmt: skip
    y = solved_tridiagonal(d, e, lapack_driver, options)
    w, v = y

    def eigh_tridiagonal_pushforward(d_dot, e_dot):
        a_dot = tridiagonal(d_dot, e_dot)
        if eigvals_only or np.size(w) == 0:
            w_dot = values_tangent(v, a_dot)
            return w_dot if eigvals_only else Tangent[type(y)](w_dot, np.zeros_like(v))
        all_w, all_v, where = completed(w, v, lambda: linalg.eigh_tridiagonal(d, e))
        w_dot, v_dot = free_tangent(all_w, all_v, a_dot)
        return Tangent[type(y)](w_dot[where], v_dot[:, where])

    def eigh_tridiagonal_pullback(y_bar):
        w_bar, v_bar = (y_bar, None) if eigvals_only else parts(y_bar, 2)
        if np.size(w) == 0 or (w_bar is None and v_bar is None):
            return np.zeros_like(d), np.zeros_like(e)
        if v_bar is None:
            moved = v * row(w_bar)
            return np.sum(moved * v, -1), 2 * np.sum(moved[:-1] * v[1:], -1)
        all_w, all_v, where = completed(w, v, lambda: linalg.eigh_tridiagonal(d, e))
        n = np.shape(all_w)[-1]
        inner = inner_adjoint(all_w, all_v, padded(w_bar, n, where), padded(v_bar, n, where))
        # Of the whole cotangent, V (inner) Vᵀ, three diagonals are made.
        moved = np.matmul(all_v, inner)
        beside = np.sum(moved[:-1] * all_v[1:], -1) + np.sum(moved[1:] * all_v[:-1], -1)
        return np.sum(moved * all_v, -1), beside

    return w if eigvals_only else y, eigh_tridiagonal_pushforward, eigh_tridiagonal_pullback


@pair_rule(linalg.eigvalsh_tridiagonal, Array, Array, lists=True)
def eigvalsh_tridiagonal_rule(
    d, e, *, select="a", select_range=None, check_finite=True, tol=0.0, lapack_driver="auto"
):
    return eigh_tridiagonal_rule(
        d, e, eigvals_only=True, select=select, select_range=select_range,
        check_finite=check_finite, tol=tol, lapack_driver=lapack_driver,
    )  # fmt: skip
