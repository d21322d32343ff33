"""Systems with band matrices.

The storage is that of LAPACK, diagonals are rows: ab[u + i - j, j] = a[i, j].

The formulas are those of dense systems (`solving`), of which only the elements of the band
are made: that of B̄ Xᴴ in the k-th diagonal is b̄[j - k] conj(x[j]), a product of shifted
rows. All of it is O(n) for a band of fixed width, as the solvers are. Of a Hermitian matrix
one half of the band is read, and each element beside the diagonal counts in both places.

For A = L Lᴴ in `cho_solve_banded`, Ā as above, L̄ = (Ā + Āᴴ) L = -(B̄ (LᴴX)ᴴ + X (LᴴB̄)ᴴ),
in the band of L. The factor itself is that of the dense matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from chainrules.linalg.matrices import column, conj, diagonal, real
from chainrules.scipy.linalg.bands.factor import band_factor, size_of_blocks
from chainrules.scipy.linalg.bands.narrow import is_narrow, shifted
from chainrules_core import (
    Array,
    NoTangent,
    decompose,
    frule,
    linear_rule,
    pair_rule,
    primitive,
    rrule,
    thunk,
)

PAIR = (tuple, list)

# ---------------------------------------------------------------------------------- band storage


def shifted_rows(x: Any, k: int) -> Any:
    """x[..., j + k, :], and zero where there is no such row."""
    return shifted(x.mT, k).mT if k else x


def outer_band(x: Any, y: Any, below: int, above: int) -> Any:
    """The band of X Yᴴ."""
    yc = conj(y)
    rows = [np.sum(shifted_rows(x, -k) * yc, -1) for k in range(above, -below - 1, -1)]
    return np.stack(rows, -2)


def band_times(ab: Any, y: Any, below: int, above: int) -> Any:
    """A Y, for a band matrix."""
    total: Any = 0
    for k in range(above, -below - 1, -1):
        total = total + shifted_rows(column(ab[..., above - k, :]) * y, k)
    return total


def band_adjoint(ab: Any, below: int, above: int) -> Any:
    """The band of Aᴴ: it has `above` diagonals below the main one, and `below` above it."""
    rows = [conj(shifted(ab[..., above - k, :], k)) for k in range(-below, above + 1)]
    return np.stack(rows, -2)


def main_halved(ab: Any, lower: bool) -> Any:
    """Half a band with the main diagonal real and halved."""
    d = ab[..., :1, :] if lower else ab[..., -1:, :]
    half = real(d) / 2
    parts = [half, ab[..., 1:, :]] if lower else [ab[..., :-1, :], half]
    return np.concatenate(parts, -2)


def width(ab: Any, lower: bool) -> tuple[int, int]:
    """How many diagonals half a band has below and above the main one."""
    n = np.shape(ab)[-2] - 1
    return (n, 0) if lower else (0, n)


def hermitian_times(ab: Any, y: Any, lower: bool) -> Any:
    """A Y, for a Hermitian matrix given by half its band."""
    half = main_halved(ab, lower)
    below, above = width(ab, lower)
    return band_times(half, y, below, above) + band_times(
        band_adjoint(half, below, above), y, above, below
    )


def onto_hermitian_band(x: Any, y: Any, lower: bool, n: int) -> Any:
    """The adjoint of reading half a band, of X Yᴴ."""
    below, above = (n, 0) if lower else (0, n)
    return main_halved(outer_band(x, y, below, above) + outer_band(y, x, below, above), lower)


@primitive
def dense_places(n: int, below: int, above: int) -> tuple[Any, Any]:
    """For each element of a dense matrix its row in the band, and whether it is in the band."""
    i, j = np.indices((n, n))
    rows = above + i - j
    inside = (rows >= 0) & (rows <= below + above)
    return np.where(inside, rows, 0), inside


@primitive
def in_use(n: int, below: int, above: int) -> Any:
    """Which elements of a band are those of a matrix."""
    i = np.arange(n) + np.arange(-above, below + 1)[:, None]
    return (i >= 0) & (i < n)


def dense(ab: Any, below: int, above: int) -> Any:
    """The dense matrix of a band."""
    n = np.shape(ab)[-1]
    rows, inside = dense_places(n, below, above)
    return np.where(inside, ab[..., rows, np.arange(n)], 0)


def band_of(a: Any, below: int, above: int) -> Any:
    """The band of a dense matrix."""
    rows = []
    for k in range(above, -below - 1, -1):
        d = diagonal(a[..., :, k:] if k >= 0 else a[..., -k:, :])
        d = d[..., : np.shape(a)[-1] - abs(k)]
        none = np.zeros((*np.shape(d)[:-1], abs(k)), a.dtype)
        rows.append(np.concatenate([none, d] if k >= 0 else [d, none], -1) if k else d)
    return np.stack(rows, -2)


def as_matrix(b: Any, of_vector: bool) -> Any:
    return column(b) if of_vector else b


# --------------------------------------------------------------------------------- general bands


def banded_solution(ab: Any, b: Any, widths: tuple[int, int], of_vector: bool, check: bool) -> Any:
    """Solve for matrices, or stacks of vectors."""
    if of_vector and np.ndim(b) > 1:
        return linalg.solve_banded(widths, ab, column(b), check_finite=check)[..., 0]
    return linalg.solve_banded(widths, ab, b, check_finite=check)


@pair_rule(linalg.solve_banded, PAIR, Array, Array, broadcasts=True, lists=True)
def solve_banded_rule(l_and_u, ab, b, *, overwrite_ab=False, overwrite_b=False, check_finite=True):
    below, above = widths = tuple([int(n) for n in l_and_u])
    y = linalg.solve_banded(widths, ab, b, check_finite=check_finite)
    of_vector = np.ndim(b) == 1

    def solve_banded_pushforward(_, ab_dot, b_dot):
        moved = band_times(ab_dot, as_matrix(y, of_vector), *widths)
        right = b_dot - (moved[..., 0] if of_vector else moved)
        return banded_solution(ab, right, widths, of_vector, check_finite)

    def solve_banded_pullback(y_bar):
        back = band_adjoint(ab, below, above)
        b_bar = banded_solution(back, y_bar, (above, below), of_vector, False)

        def ab_bar():
            x, x_bar = as_matrix(y, of_vector), as_matrix(b_bar, of_vector)
            return -outer_band(x_bar, x, below, above)

        return NoTangent(), thunk(ab_bar), b_bar

    return y, solve_banded_pushforward, solve_banded_pullback


# ------------------------------------------------------------------------------- Hermitian bands


def hermitian_solution(ab: Any, b: Any, lower: bool, of_vector: bool, check: bool) -> Any:
    """Solve for matrices, or stacks of vectors."""
    if of_vector and np.ndim(b) > 1:
        return linalg.solveh_banded(ab, column(b), lower=lower, check_finite=check)[..., 0]
    return linalg.solveh_banded(ab, b, lower=lower, check_finite=check)


@pair_rule(linalg.solveh_banded, Array, Array, broadcasts=True, lists=True)
def solveh_banded_rule(
    ab, b, *, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True
):
    y = linalg.solveh_banded(ab, b, lower=lower, check_finite=check_finite)
    of_vector = np.ndim(b) == 1
    n = np.shape(ab)[-2] - 1

    def solveh_banded_pushforward(ab_dot, b_dot):
        moved = hermitian_times(ab_dot, as_matrix(y, of_vector), lower)
        right = b_dot - (moved[..., 0] if of_vector else moved)
        return hermitian_solution(ab, right, lower, of_vector, check_finite)

    def solveh_banded_pullback(y_bar):
        b_bar = hermitian_solution(ab, y_bar, lower, of_vector, False)

        def ab_bar():
            x, x_bar = as_matrix(y, of_vector), as_matrix(b_bar, of_vector)
            return -onto_hermitian_band(x_bar, x, lower, n)

        return thunk(ab_bar), b_bar

    return y, solveh_banded_pushforward, solveh_banded_pullback


# ----------------------------------------------------------------------------------- with a factor


@primitive
def factor_solution(cb: Any, b: Any, lower: bool) -> Any:
    """(L Lᴴ)⁻¹ B, for the band of the factor L, or of Lᴴ; B is a matrix."""
    return linalg.cho_solve_banded((cb, lower), b)


@rrule.register(factor_solution, Array, Array, broadcasts=True)
def factor_solution_rrule(cb, b, *, lower):
    y = factor_solution(cb, b, lower)
    below, above = width(cb, lower)

    def factor_solution_pullback(y_bar):
        b_bar = factor_solution(cb, y_bar, lower)

        def cb_bar():
            # L for the lower form, and for the upper one its adjoint U
            c, n, m = (
                (band_adjoint(cb, below, above), above, below) if lower else (cb, below, above)
            )
            to_y, to_b = band_times(c, y, n, m), band_times(c, b_bar, n, m)
            if lower:
                return -outer_band(b_bar, to_y, below, above) - outer_band(y, to_b, below, above)
            return -outer_band(to_y, b_bar, below, above) - outer_band(to_b, y, below, above)

        return thunk(cb_bar), b_bar

    return y, factor_solution_pullback


@frule.register(factor_solution, Array, Array)
def factor_solution_frule(dots, cb, b, *, lower):
    cb_dot, b_dot = dots
    y = factor_solution(cb, b, lower)
    below, above = width(cb, lower)

    def lower_times(c, x):
        if lower:
            return band_times(c, x, below, above)
        return band_times(band_adjoint(c, below, above), x, above, below)

    def upper_times(c, x):
        if lower:
            return band_times(band_adjoint(c, below, above), x, above, below)
        return band_times(c, x, below, above)

    moved = lower_times(cb_dot, upper_times(cb, y)) + lower_times(cb, upper_times(cb_dot, y))
    return y, factor_solution(cb, b_dot - moved, lower)


@decompose(linalg.cho_solve_banded)
def cho_solve_banded_body(cb_and_lower, b, overwrite_b=False, check_finite=True):
    cb, lower = cb_and_lower
    cb, b = np.asarray(cb), np.asarray(b)
    if np.ndim(b) == 1:
        return factor_solution(cb, column(b), lower)[..., 0]
    return factor_solution(cb, b, lower)


@primitive
def turned(ab: Any, way: int) -> Any:
    """The lower half of the band of Aᴴ from the upper half of that of A, or back."""
    last = np.shape(ab)[-2] - 1
    rows = [conj(ab[last - k]) for k in range(last + 1)]
    return np.stack([shifted(x, way * (k if way > 0 else last - k)) for k, x in enumerate(rows)])


linear_rule(turned, lambda bar, ab, way: turned(bar, -way))


@decompose(linalg.cholesky_banded)
def cholesky_banded_body(ab, overwrite_ab=False, lower=False, check_finite=True):
    ab = np.asarray(ab)
    below, above = width(ab, lower)
    if is_narrow(ab) or (np.ndim(ab) == 2 and np.shape(ab)[-1] > 2 * size_of_blocks(ab)):
        half = ab if lower else turned(ab, 1)
        factor = band_factor(half) if lower else turned(band_factor(half), -1)
    else:
        factor = band_of(linalg.cholesky(dense(ab, below, above), lower), below, above)
    return np.where(in_use(np.shape(ab)[-1], below, above), factor, ab)  # the corners are left
