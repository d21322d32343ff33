"""Splines in several variables: FITPACK's surfaces, `NdBSpline`, and grids.

A tensor product spline is Σ c_ij B_i(x) B_j(y): on a grid the product of the matrix of the c with
those of the B-splines on both sides, whose systems are solved one after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import interpolate

from chainrules.refused import RefusedError
from chainrules.scipy.delegated import trace_body
from chainrules.scipy.interpolate.bsplines import (
    COMPILED,
    basis,
    design,
    integrals,
    interpolating,
    intervals,
    off_base,
    places_of,
)
from chainrules.scipy.interpolate.fitpack import (
    EVALUATING,
    bounded,
    knots_between,
    padded,
    solved,
    with_ends,
)
from chainrules.scipy.interpolate.kernels import kernel, plainly
from chainrules.scipy.interpolate.scattered_smoothing import Plane, smoothed
from chainrules.scipy.private import Private
from chainrules_core import ignore_derivatives, natively

_dfitpack = Private("interpolate._dfitpack")
_fitpack = Private("interpolate._fitpack")
_ndbspline = Private("interpolate._ndbspline")

SURFACES_SMOOTHED = (
    "a smoothing factor s > 0 chooses knots by the residuals and meets s only to 0.001. Give the "
    "knots (LSQBivariateSpline), interpolate on a grid (RectBivariateSpline with s=0), or wrap the "
    "data in autodiff.ignore_derivatives(...)."
)


def as_matrix(c: Any, tx: Any, ty: Any, kx: int, ky: int) -> Any:
    """The coefficients, a row for each B-spline in x."""
    shape = np.shape(tx)[0] - kx - 1, np.shape(ty)[0] - ky - 1
    return np.reshape(np.asarray(c)[: shape[0] * shape[1]], shape)


def along(t: Any, k: int, x: Any, nu: int) -> Any:
    """The matrix of B-splines at places brought into their base interval."""
    t = np.asarray(t)
    return design(t, k, bounded(t, k, np.atleast_1d(np.asarray(x, dtype=float))), nu)


@kernel("parder", EVALUATING)
def parder_body(tx, ty, c, kx, ky, nux, nuy, x, y):
    c = as_matrix(c, tx, ty, kx, ky)
    z = np.matmul(np.matmul(along(tx, kx, x, nux), c), np.transpose(along(ty, ky, y, nuy)))
    return z, 0


@kernel("bispev", EVALUATING)
def bispev_body(tx, ty, c, kx, ky, x, y):
    return parder_body(tx, ty, c, kx, ky, 0, 0, x, y)


@kernel("pardeu", EVALUATING)
def pardeu_body(tx, ty, c, kx, ky, nux, nuy, x, y):
    c = as_matrix(c, tx, ty, kx, ky)
    weights, places = [], []
    for t, k, at, nu in ((tx, kx, x, nux), (ty, ky, y, nuy)):
        t = np.asarray(t)
        at = bounded(t, k, np.asarray(at, dtype=float))
        left = intervals(t, k, at)
        weights.append(basis(t, k, at, left, nu))
        places.append(places_of(left, k))
    near = c[places[0][:, :, None], places[1][:, None, :]]
    return np.einsum("ri,rj,rij->r", *weights, near), 0


@kernel("bispeu", EVALUATING)
def bispeu_body(tx, ty, c, kx, ky, x, y):
    return pardeu_body(tx, ty, c, kx, ky, 0, 0, x, y)


def differenced(t: Any, c: Any, k: int, order: int) -> Any:
    """The coefficients of a derivative along the first axis."""
    for _ in range(order):
        t = t[1:-1]
        c = k * np.diff(c, axis=0) / (t[k:] - t[:-k])[:, None]
        k -= 1
    return c


@kernel("pardtc", EVALUATING)
def pardtc_body(tx, ty, c, kx, ky, nux, nuy):
    size = np.shape(c)[0]
    c = differenced(np.asarray(tx), as_matrix(c, tx, ty, kx, ky), kx, nux)
    c = np.transpose(differenced(np.asarray(ty), np.transpose(c), ky, nuy))
    return padded(np.ravel(c), size), 0


@kernel("dblint", EVALUATING)
def dblint_body(tx, ty, c, kx, ky, xb, xe, yb, ye):
    c = as_matrix(c, tx, ty, kx, ky)
    sums = []
    for t, k, a, b in ((tx, kx, xb, xe), (ty, ky, yb, ye)):
        t = np.asarray(t)
        ends = bounded(t, k, np.stack([np.asarray(a, dtype=float), np.asarray(b, dtype=float)]))
        each = integrals(t, np.eye(np.shape(t)[0] - k - 1), k, ends)
        sums.append(each[1] - each[0])
    return np.matmul(np.matmul(sums[0], c), sums[1])


@kernel("regrid_smth", _dfitpack)
def regrid_smth_body(x, y, z, xb=None, xe=None, yb=None, ye=None, kx=3, ky=3, s=None, maxit=20):
    if s != 0:
        raise RefusedError("scipy.interpolate.RectBivariateSpline", SURFACES_SMOOTHED)
    ends = [x[0], x[-1], y[0], y[-1]]
    xb, xe, yb, ye = (
        at if end is None else end for end, at in zip((xb, xe, yb, ye), ends, strict=True)
    )
    tx, ty = (
        with_ends(knots_between(x, kx), kx, xb, xe),
        with_ends(knots_between(y, ky), ky, yb, ye),
    )
    z = np.reshape(z, (np.shape(x)[0], np.shape(y)[0]))
    c = interpolating(tx, kx, x, z)
    c = np.transpose(interpolating(ty, ky, y, np.transpose(c)))
    return np.shape(tx)[0], tx, np.shape(ty)[0], ty, np.ravel(c), 0.0, -1


@kernel("regrid", _fitpack)
def regrid_body(
    iopt, x, y, z, xb, xe, yb, ye, kx, ky, s, nxest, nyest, maxit, wrk, iwrk
):  # fmt: skip
    return regrid_smth_body(x, y, z, xb, xe, yb, ye, kx, ky, s, maxit)


def scattered(x: Any, y: Any, z: Any, w: Any, tx: Any, ty: Any, kx: int, ky: int) -> tuple:
    """Coefficients of least squares through scattered points."""
    A = design(tx, kx, x)[:, :, None] * design(ty, ky, y)[:, None, :]
    return solved(np.reshape(A, (np.shape(x)[0], -1)), z, w)


def outer_ends(x: Any, t: Any) -> tuple:
    """The outer knots that SciPy takes: of the places, where these lie outside the given knots.

    It looks at the knots before the outer ones are filled in, so that zeros are among them.
    """
    low, high = np.min(t), np.max(t)
    step = (high - low) / np.size(t)
    first, last = np.min(x), np.max(x)
    return (
        first if first < low else low - step,
        last if last > high else high + step,
    )


@kernel("surfit_lsq", _dfitpack)
def surfit_lsq_body(
    x, y, z, nx, tx, ny, ty, w=None, xb=None, xe=None, yb=None, ye=None, kx=3, ky=3, eps=1e-16,
    lwrk2=None, overwrite_tx=0, overwrite_ty=0,
):  # fmt: skip
    ends = [*outer_ends(x, tx[:nx]), *outer_ends(y, ty[:ny])]
    xb, xe, yb, ye = (
        at if end is None else end for end, at in zip((xb, xe, yb, ye), ends, strict=True)
    )
    w = np.ones(np.shape(x)) if w is None else w
    tx = with_ends(tx[kx + 1 : nx - kx - 1], kx, xb, xe)
    ty = with_ends(ty[ky + 1 : ny - ky - 1], ky, yb, ye)
    c, fp = scattered(x, y, z, w, tx, ty, kx, ky)
    return tx, ty, c, fp, 0


@kernel("surfit_lsq", _fitpack)
def surfit_lsq_in_c_body(
    x, y, z, w, xb, xe, yb, ye, kx, ky, s, nxest, nyest, nmax, eps, tx, ty
):  # fmt: skip
    args = (x, y, z, nxest, tx, nyest, ty, w, xb, xe, yb, ye, kx, ky)
    tx[:nxest], ty[:nyest], c, fp, ier = surfit_lsq_body(*args)
    return c, fp, ier


def refuse_to_go_on(task: int) -> None:
    """Raise if the fit of a surface starts from the knots of another call."""
    if task == 1:
        raise RefusedError(
            "scipy.interpolate.bisplrep",
            "with task=1 it goes on from the knots of the call before. Use task=0, or give the "
            "knots to LSQBivariateSpline.",
        )


@kernel("_surfit", _fitpack)
def surfit_body(
    x, y, z, w, xb, xe, yb, ye, kx, ky, task, s, eps, tx, ty, nxest, nyest, wrk, lwrk1, lwrk2
):
    refuse_to_go_on(task)
    if task == 0:
        args = (x, y, z, w, xb, xe, yb, ye, kx, ky, task, s, eps, tx, ty, nxest, nyest)
        known_tx, known_ty, known, more = natively(
            plainly, _fitpack._surfit, *ignore_derivatives(args), wrk, lwrk1, lwrk2
        )
        space = Plane((x, y), (kx, ky), ((xb, xe), (yb, ye)))
        knots, c, fp = smoothed(
            space, z, w, s, (known_tx, known_ty), known, more["ier"], "bisplrep"
        )
        return *knots, c, more | {"fp": fp}
    tx = with_ends(tx[kx + 1 : np.shape(tx)[0] - kx - 1], kx, xb, xe)
    ty = with_ends(ty[ky + 1 : np.shape(ty)[0] - ky - 1], ky, yb, ye)
    c, fp = scattered(x, y, z, w, tx, ty, kx, ky)
    return tx, ty, c, {"wrk": np.zeros(0), "ier": 0, "fp": fp}


@kernel("surfit", _fitpack)
def surfit_in_c_body(
    task, x, y, z, w, xb, xe, yb, ye, kx, ky, s, nxest, nyest, nmax, eps, wrk
):  # fmt: skip
    refuse_to_go_on(task)
    args = (task, x, y, z, w, xb, xe, yb, ye, kx, ky, s, nxest, nyest, nmax, eps, wrk)
    nx, tx, ny, ty, known, _, ier, wrk = natively(
        plainly, _fitpack.surfit, *ignore_derivatives(args)
    )
    space = Plane((x, y), (kx, ky), ((xb, xe), (yb, ye)))
    n = (nx - kx - 1) * (ny - ky - 1)
    knots, c, fp = smoothed(space, z, w, s, (tx[:nx], ty[:ny]), known[:n], ier, "bisplrep")
    return nx, knots[0], ny, knots[1], c, fp, ier, wrk


def near(xi: Any, t: Any, len_t: Any, k: Any, nu: Any, strides: Any) -> tuple:
    """Return where the coefficients are that count at each place, and with what weights."""
    m = np.shape(xi)[0]
    places, weights = np.zeros((m, 1), int), np.ones((m, 1))
    for axis in range(np.shape(xi)[1]):
        knots, degree, x = t[axis][: int(len_t[axis])], int(k[axis]), xi[:, axis]
        left = intervals(knots, degree, x)
        along_axis = places_of(left, degree) * int(strides[axis])
        here = basis(knots, degree, x, left, int(nu[axis]))
        places = np.reshape(places[:, :, None] + along_axis[:, None, :], (m, -1))
        weights = np.reshape(weights[:, :, None] * here[:, None, :], (m, -1))
    return places, weights


@kernel("_coloc_nd", *COMPILED)
def coloc_nd_body(xvals, t, len_t, k, indices_k1d, strides):
    none = np.zeros(np.shape(xvals)[1], int)
    places, weights = near(xvals, t, len_t, k, none, strides)
    m, n = np.shape(places)
    return np.ravel(weights), np.ravel(places), n * np.arange(m + 1)


@kernel("evaluate_ndbspline", *COMPILED, *filter(None, [_ndbspline.get("_bspl")]))
def evaluate_ndbspline_body(
    xi, t, len_t, k, nu, extrapolate, c1r, num_c_tr, strides, indices_k1d, out=None
):
    m = np.shape(xi)[0]
    places, weights = near(xi, t, len_t, k, nu, strides)
    beyond = np.zeros(m, bool)
    for axis in range(np.shape(xi)[1]):
        knots, degree, x = t[axis][: int(len_t[axis])], int(k[axis]), xi[:, axis]
        beyond = beyond | np.isnan(ignore_derivatives(x))
        if not extrapolate:
            beyond = beyond | off_base(knots, degree, x)
    y = np.einsum("ri,rij->rj", weights, c1r[places[:, :, None] + np.arange(num_c_tr)])
    y = np.where(beyond[:, None], np.nan, y) if np.any(beyond) else y
    if out is None:
        return y
    out[...] = y
    return None


# What a grid holds is not seen in the arguments of a call; compiled code of older versions of SciPy
# does not take arrays that may be traced, nor does FITPACK's in C for bisplrep.
trace_body(interpolate.RegularGridInterpolator.__call__, interpolate.interpn, interpolate.bisplrep)
