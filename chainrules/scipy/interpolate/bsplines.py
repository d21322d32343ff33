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

from chainrules.scipy.interpolate.kernels import kernel
from chainrules.scipy.private import Private
from chainrules_core import (
    Array,
    NoTangent,
    Number,
    ZeroTangent,
    frule,
    ignore_derivatives,
    primitive,
    rrule,
    thunk,
)
from chainrules_core.authoring import scatter

_bsplines = Private("interpolate._bsplines")

COMPILED = tuple(module for module in (_bsplines.get(n) for n in ("_dierckx", "_bspl")) if module)


def intervals(t: Any, k: int, x: Any) -> Any:
    """Return the number of the interval of each place; that at the end holds what is beyond it."""
    t, x = ignore_derivatives(t), ignore_derivatives(x)
    n = np.shape(t)[0] - k - 1
    first = np.searchsorted(t, t[k], "right") - 1
    last = np.searchsorted(t, t[n], "left") - 1
    return np.clip(np.searchsorted(t, x, "right") - 1, first, last)


@primitive
def basis(t: Any, k: int, x: Any, left: Any, nu: int = 0) -> Any:
    """Return the k + 1 B-splines, or derivatives, that are not zero in an interval, last axis."""
    return np.moveaxis(recursion(around(t, k, left), k, x, nu)[0], 0, -1)


def around(t: Any, k: int, left: Any) -> Any:
    """Return the k knots before the end of the interval of each place, and k from there on."""
    return t[places_around(k, left)]


def places_around(k: int, left: Any) -> Any:
    return np.reshape(np.arange(1 - k, k + 1), (-1, *(1,) * np.ndim(left))) + left


def recursion(knots: Any, k: int, x: Any, nu: int) -> tuple[Any, list]:
    """Return the B-splines of degree k, first axis, and what each degree took of those before it.

    That is each of them divided by the width of its support, from degree 0 on.
    """
    if nu > k:
        return np.zeros((k + 1, *np.shape(x))), []
    found: Any = np.ones((1, *np.shape(x)))
    shares = []
    for d in range(1, k + 1):
        low, high = knots[k - d : k], knots[k : k + d]
        share = found / (high - low)
        shares.append(share)
        if d > k - nu:
            up = d * share
            down = -up
        else:
            up, down = (x - low) * share, (high - x) * share
        found = np.concatenate([down[:1], up[:-1] + down[1:], up[-1:]])
    return found, shares


@rrule.register(basis, Array, int, (Array, Number), object)
def basis_rrule(t, k, x, left, nu=0):
    knots = around(t, k, left)
    found, shares = recursion(knots, k, x, nu)

    def basis_pullback(y_bar):
        t_bar, x_bar = recursion_adjoint(np.moveaxis(y_bar, -1, 0), t, k, x, left, nu, shares)
        return t_bar, NoTangent(), x_bar, NoTangent(), NoTangent()

    return np.moveaxis(found, 0, -1), basis_pullback


def recursion_adjoint(
    bar: Any, t: Any, k: int, x: Any, left: Any, nu: int, shares: list
) -> tuple[Any, Any]:
    """Return the cotangents of knots and places from that of the B-splines, first axis."""
    if not shares:
        return ZeroTangent(), ZeroTangent()
    knots = around(t, k, left)
    by_x = np.zeros(np.shape(x))
    by_knots = []
    for d in range(k, 0, -1):
        low, high, share = knots[k - d : k], knots[k : k + d], shares[d - 1]
        up, down = bar[1:], bar[:-1]
        if d > k - nu:
            bar = d * (up - down) / (high - low)
            by_high = -bar * share
            by_low = -by_high
        else:
            bar = ((x - low) * up + (high - x) * down) / (high - low)
            by_x = by_x + np.sum(share * (up - down), axis=0)
            by_low, by_high = share * (bar - up), share * (down - bar)
        by_knots.append((by_low, by_high))
    by_knot = np.concatenate(joined(by_knots))
    return scatter(by_knot, places_around(k, left), np.shape(t), t.dtype), by_x


def joined(by_knots: list) -> list:
    """Add up what each degree, from the highest on, has for the knots of its own supports."""
    below, above = by_knots[-1]
    for by_low, by_high in by_knots[-2::-1]:
        below = np.concatenate([by_low[:1], by_low[1:] + below])
        above = np.concatenate([by_high[:-1] + above, by_high[-1:]])
    return [below, above]


@frule.register(basis, Array, int, (Array, Number), object)
def basis_frule(dots, t, k, x, left, nu=0):
    found, dot = recursion_pushed(dots[0], dots[2], t, k, x, left, nu)
    return np.moveaxis(found, 0, -1), np.moveaxis(dot, 0, -1)


def recursion_pushed(
    t_dot: Any, x_dot: Any, t: Any, k: int, x: Any, left: Any, nu: int
) -> tuple[Any, Any]:
    """Return the B-splines, first axis, and how they move with knots and places."""
    knots, moved = around(t, k, left), around(t_dot, k, left)
    found, shares = recursion(knots, k, x, nu)
    if nu > k:
        return found, 0.0 * found
    dot: Any = np.zeros((1, *np.shape(x)))
    for d, share in enumerate(shares, 1):
        low, high = knots[k - d : k], knots[k : k + d]
        low_dot, high_dot = moved[k - d : k], moved[k : k + d]
        share_dot = (dot - share * (high_dot - low_dot)) / (high - low)
        if d > k - nu:
            up = d * share_dot
            down = -up
        else:
            up = (x - low) * share_dot + (x_dot - low_dot) * share
            down = (high - x) * share_dot + (high_dot - x_dot) * share
        dot = np.concatenate([down[:1], up[:-1] + down[1:], up[-1:]])
    return found, dot


def places_of(left: Any, k: int) -> Any:
    """The numbers of the B-splines that `basis` returns."""
    return np.asarray(left)[..., None] + np.arange(-k, 1)


def values(t: Any, c: Any, k: int, x: Any, nu: int = 0) -> Any:
    """Evaluate a spline with coefficients c[i, j] at places x, a vector."""
    return spline(t, c, k, x, intervals(t, k, x), nu)


@primitive
def spline(t: Any, c: Any, k: int, x: Any, left: Any, nu: int) -> Any:
    """Evaluate a spline with coefficients c[i, j] at places in known intervals."""
    found, _ = recursion(around(t, k, left), k, x, nu)
    return combined(found, c[near(left, k)])


def near(left: Any, k: int) -> Any:
    """The numbers of the B-splines that are not zero, first axis."""
    return left + np.arange(-k, 1)[:, None]


def combined(found: Any, c: Any) -> Any:
    """Sum B-splines, first axis, times their coefficients, with a column for each spline."""
    if np.shape(c)[2] == 1:
        return np.sum(found * c[:, :, 0], axis=0)[:, None]
    return np.einsum("ir,irj->rj", found, c)


@rrule.register(spline, Array, Array, int, Array)
def spline_rrule(t, c, k, x, left, nu):
    found, shares = recursion(around(t, k, left), k, x, nu)
    read = c[near(left, k)]

    def spline_pullback(y_bar):
        made = []

        def by_basis(i):
            if not made:
                bar = np.sum(np.real(y_bar * np.conj(read)), axis=2)
                made.extend(recursion_adjoint(bar, t, k, x, left, nu, shares))
            return made[i]

        def c_bar():
            return scatter(found[:, :, None] * y_bar, near(left, k), np.shape(c), c.dtype)

        none = NoTangent()
        return (
            thunk(lambda: by_basis(0)),
            thunk(c_bar),
            none,
            thunk(lambda: by_basis(1)),
            none,
            none,
        )

    return combined(found, read), spline_pullback


@frule.register(spline, Array, Array, int, Array)
def spline_frule(dots, t, c, k, x, left, nu):
    t_dot, c_dot, _, x_dot = dots[:4]
    found, dot = recursion_pushed(t_dot, x_dot, t, k, x, left, nu)
    places = near(left, k)
    return combined(found, c[places]), combined(dot, c[places]) + combined(found, c_dot[places])


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


def values_or_nan(t: Any, c: Any, k: int, x: Any, nu: int, extrapolate: bool) -> Any:
    """Evaluate a spline as SciPy does: NaN at NaN, and outside unless it is extrapolated."""
    missing = np.isnan(ignore_derivatives(x)) if extrapolate else off_base(t, k, x)
    if not np.any(missing):
        return values(t, c, k, x, nu)
    # A value that is not there must have no part in a gradient: 0 · NaN would be NaN.
    y = values(t, c, k, np.where(missing, t[k], x), nu)
    return np.where(missing[:, None], np.nan, y)


@kernel("evaluate_spline", *COMPILED)
def evaluate_spline_body(t, c, k, x, nu, extrapolate, out=None):
    y = values_or_nan(t, c, k, x, nu, extrapolate)
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
