"""B-splines: what `BSpline` and the functions that fit one compute in C.

In the interval t_l ≤ x < t_{l+1} only B_{l-k}, …, B_l are not zero. Their values follow from the
Cox-de Boor recursion (C. de Boor, *A Practical Guide to Splines*, chapter X): each B of degree d-1,
divided by the width of its support, goes to two of degree d,

    B_{i,d}  = (x - t_i) / (t_{i+d} - t_i) B_{i,d-1}
             + (t_{i+d+1} - x) / (t_{i+d+1} - t_{i+1}) B_{i+1,d-1},
    B'_{i,d} = d / (t_{i+d} - t_i) B_{i,d-1} - d / (t_{i+d+1} - t_{i+1}) B_{i+1,d-1},

with no division by zero, as the supports all hold the interval. So values, derivatives and their
derivatives by places and knots are those of this recursion.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.interpolate import _bsplines

from chainrules.scipy.interpolate.kernels import kernel
from chainrules_core import ignore_derivatives

COMPILED = tuple(
    module for module in (getattr(_bsplines, n, None) for n in ("_dierckx", "_bspl")) if module
)


def intervals(t: Any, k: int, x: Any) -> Any:
    """Return the number of the interval of each place; that at the end holds what is beyond it."""
    t, x = ignore_derivatives(t), ignore_derivatives(x)
    n = np.shape(t)[0] - k - 1
    first = np.searchsorted(t, t[k], "right") - 1
    last = np.searchsorted(t, t[n], "left") - 1
    return np.clip(np.searchsorted(t, x, "right") - 1, first, last)


def basis(t: Any, k: int, x: Any, left: Any, nu: int = 0) -> Any:
    """Return the k + 1 B-splines, or derivatives, that are not zero in an interval, last axis."""
    if nu > k:
        return np.zeros((*np.shape(x), k + 1))
    found: list[Any] = [np.ones(np.shape(x))]
    for d in range(1, k + 1):
        ends = [(t[left + j + 1], t[left + 1 - d + j]) for j in range(d)]
        shares = [b / (hi - lo) for b, (hi, lo) in zip(found, ends, strict=True)]
        if d > k - nu:
            up = [d * share for share in shares]
            down = [-u for u in up]
        else:
            up = [(x - lo) * share for share, (_, lo) in zip(shares, ends, strict=True)]
            down = [(hi - x) * share for share, (hi, _) in zip(shares, ends, strict=True)]
        found = [
            down[0], *[u + v for u, v in zip(up, down[1:], strict=False)], up[-1]
        ]  # fmt: skip
    return np.stack(found, -1)


def places_of(left: Any, k: int) -> Any:
    """The numbers of the B-splines that `basis` returns."""
    return np.asarray(left)[..., None] + np.arange(-k, 1)


def values(t: Any, c: Any, k: int, x: Any, nu: int = 0) -> Any:
    """Evaluate a spline with coefficients c[i, j] at places x."""
    left = intervals(t, k, x)
    return np.einsum("ri,rij->rj", basis(t, k, x, left, nu), c[places_of(left, k)])


def design(t: Any, k: int, x: Any, nu: int = 0) -> Any:
    """Return the matrix of all B-splines at all places."""
    m, n = np.shape(x)[0], np.shape(t)[0] - k - 1
    left = intervals(t, k, x)
    matrix = np.zeros((m, n))
    matrix[np.arange(m)[:, None], places_of(left, k)] = basis(t, k, x, left, nu)
    return matrix


def bands(t: Any, k: int, x: Any) -> Any:
    """Return the same matrix as its k diagonals on each side of the main one.

    None if it is not square, or not such a band: each B-spline must have its place in its support.
    """
    m, n = np.shape(x)[0], np.shape(t)[0] - k - 1
    left = intervals(t, k, x)
    columns = places_of(left, k)
    rows = k + np.arange(m)[:, None] - columns
    if m != n or np.min(rows) < 0 or np.max(rows) > 2 * k:
        return None
    ab = np.zeros((2 * k + 1, n))
    ab[rows, columns] = basis(t, k, x, left)
    return ab


def interpolating(t: Any, k: int, x: Any, y: Any) -> Any:
    """Return the coefficients of the spline, or splines, that has values y at as many places."""
    ab = bands(t, k, x)
    if ab is None:
        return np.linalg.solve(design(t, k, x), y)
    return linalg.solve_banded((k, k), ab, y, check_finite=False)


def integrals(t: Any, c: Any, k: int, x: Any) -> Any:
    """Integrate a spline with coefficients c[i, j] from the first knot to each place."""
    n = np.shape(t)[0] - k - 1
    width = (t[k + 1 :] - t[:n]) / (k + 1)
    sums = np.cumsum(c[:n] * width[:, None], axis=0)
    higher = np.concatenate([0 * sums[:1], sums, np.tile(sums[-1:], (k + 1, 1))])
    wide = np.concatenate([t[:1], t, t[-1:]])
    return values(wide, higher, k + 1, x)


def off_base(t: Any, k: int, x: Any) -> Any:
    """Whether places are outside the base interval."""
    t, x = ignore_derivatives(t), ignore_derivatives(x)
    return ~((x >= t[k]) & (x <= t[np.shape(t)[0] - k - 1]))


@kernel("evaluate_spline", *COMPILED)
def evaluate_spline_body(t, c, k, x, nu, extrapolate, out=None):
    y = values(t, c, k, x, nu)
    missing = np.isnan(ignore_derivatives(x)) if extrapolate else off_base(t, k, x)
    if np.any(missing):
        y = np.where(missing[:, None], np.nan, y)
    if out is None:
        return y
    out[...] = y
    return None


@kernel("find_interval", *COMPILED)
def find_interval_body(t, k, x, prev_l, extrapolate):
    if not extrapolate and off_base(t, k, x):
        return -1
    return int(intervals(t, k, x))


@kernel("evaluate_all_bspl", *COMPILED)
def evaluate_all_bspl_body(t, k, xval, m, nu=0):
    return basis(t, k, np.asarray(xval, dtype=float), m, nu)


@kernel("_coloc", *COMPILED)
def coloc_body(x, t, k, ab, offset=0):
    write_bands(x, t, k, ab, offset)


@kernel("_colloc", *COMPILED)
def colloc_body(x, t, k, ab, offset=0):
    write_bands(x, t, k, ab.T, offset)


def write_bands(x: Any, t: Any, k: int, bands: Any, offset: int) -> None:
    """Write the design matrix in LAPACK's form for bands, transposed, k diagonals on each side."""
    left = intervals(t, k, x)
    columns = places_of(left, k)
    rows = offset + np.arange(np.shape(x)[0])[:, None]
    bands[columns, 2 * k + rows - columns] = basis(t, k, x, left)


@kernel("data_matrix", *COMPILED)
def data_matrix_body(x, t, k, w, extrapolate=False):
    left = intervals(t, k, x)
    values_here = basis(t, k, x, left) * w[:, None]
    return values_here, np.asarray(left) - k, np.shape(t)[0] - k - 1
