"""Coefficients of splines that interpolate or fit: the linear systems behind the constructors.

For given knots the coefficients solve A c = y, with A the matrix of B-splines at the abscissae, or
are its least squares solution, so they are differentiated as such solutions. Where the knots are
made of the abscissae ("not-a-knot"), they are traced values too. Those of a smoothing factor are in
`smoothing`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from scipy.interpolate import BSpline, NdBSpline, approximate_taylor_polynomial, lagrange
from scipy.linalg import lapack

from chainrules.refused import RefusedError, refuse
from chainrules.scipy.found import with_value
from chainrules.scipy.interpolate.bsplines import interpolating, values_or_nan
from chainrules.scipy.interpolate.kernels import kernel, twin_of
from chainrules.scipy.interpolate.least_squares import fitted
from chainrules.scipy.interpolate.smoothing import SMOOTHED, abscissae_at, smoothing
from chainrules.scipy.private import Private
from chainrules_core import decompose, ignore_derivatives, non_differentiable

_bsplines = Private("interpolate._bsplines")
_fitpack_repro = Private("interpolate._fitpack_repro")
_ndbspline = Private("interpolate._ndbspline")

CHOSEN = (
    "it chooses knots by the residuals, and which ones these are jumps. Use make_splrep, which "
    "takes the choice as a constant, or wrap the data in autodiff.ignore_derivatives(...)."
)


@kernel("zgbsv", lapack)
@kernel("dgbsv", lapack)
def gbsv_body(kl, ku, ab, b, overwrite_ab=0, overwrite_b=0):
    found = linalg.solve_banded((kl, ku), ab[kl:], b)
    return ab, np.arange(np.shape(ab)[1]), found, 0


@decompose(_bsplines._not_a_knot)
def not_a_knot_body(x, k):
    x = np.asarray(x)
    n, around = np.shape(x)[0], (k + 1) // 2
    ends = np.zeros(k + 1, int), np.full(k + 1, n - 1)
    if k % 2:
        return x[np.concatenate([ends[0], np.arange(n)[around:-around], ends[1]])]
    between = (x[1:] + x[:-1]) / 2
    return np.concatenate([x[ends[0]], between[around:-around], x[ends[1]]])


@decompose(_bsplines._lsq_solve_qr)
def lsq_solve_qr_body(x, y, t, k, w, periodic=False):
    assert not periodic, "only splines of a smoothing factor ask for it, which are refused"
    c, away = fitted(t, k, x, y, w)
    residuals = np.sum(away**2, axis=1)
    if not has_residuals():
        return None, None, c
    return None, None, c, np.sum(residuals), residuals


@functools.cache
def has_residuals() -> bool:
    """Whether the solver returns the residuals as well, as it does in newer versions of SciPy."""
    x, t = np.arange(4.0), np.array([0.0, 0.0, 3.0, 3.0])
    return len(_bsplines._lsq_solve_qr(x, x[:, None], t, 1, np.ones(4))) > 3


decompose(approximate_taylor_polynomial, Callable)(approximate_taylor_polynomial)


@decompose(lagrange)
def lagrange_body(x, w):
    # By itself it multiplies polynomials that lose the coefficients that happen to be zero.
    total: Any = 0.0
    for j in range(len(x)):
        product = np.reshape(np.asarray(w[j], dtype=float), (1,))
        for k in range(len(x)):
            if k != j:
                width = x[j] - x[k]
                product = np.convolve(product, np.stack([1.0 / width, -x[k] / width]))
        total = total + product
    return np.poly1d(total)


@non_differentiable
def smoothed_by_scipy(*args: Any) -> BSpline:
    """Call SciPy's function on plain values."""
    return _fitpack_repro._make_splrep_impl(*args)


def make_splrep_body(x, y, w, xb, xe, k, s, t, nest, periodic, xp=np):
    if periodic:
        raise RefusedError(
            "scipy.interpolate.make_splrep",
            'with bc_type="periodic" a smoothing factor has no rule. Interpolate by '
            'make_interp_spline(..., bc_type="periodic").',
        )
    found = smoothed_by_scipy(x, y, w, xb, xe, k, s, t, nest, periodic)
    inner = found.t[k + 1 : len(found.t) - k - 1]
    if t is None:
        ends = np.stack([xb] * (k + 1)), np.stack([xe] * (k + 1))
        t = np.concatenate([ends[0], abscissae_at(x, inner), ends[1]])
    if len(inner):
        c = smoothing(t, k, x, y, w, s, found.c, "make_splrep")[0]
    else:
        c = np.reshape(fitted(t, k, x, np.reshape(y, (len(x), -1)), w)[0], np.shape(found.c))
    return BSpline(t, c, k)


if _fitpack_repro.has("_make_splrep_impl"):
    decompose(_fitpack_repro._make_splrep_impl)(make_splrep_body)
else:
    refuse(_fitpack_repro.F, SMOOTHED, name="scipy.interpolate.make_splrep")
if _fitpack_repro.has("_generate_knots_impl"):
    refuse(_fitpack_repro._generate_knots_impl, CHOSEN, name="scipy.interpolate.generate_knots")


interpolating_by_scipy = twin_of(_bsplines.make_interp_spline)


@non_differentiable
def interpolating_spline(*args: Any) -> Any:
    return _bsplines.make_interp_spline(*args)


@decompose(_bsplines.make_interp_spline)
def make_interp_spline_body(x, y, k=3, t=None, bc_type=None, axis=0, check_finite=True):
    given = bc_type is not None and not (isinstance(bc_type, str) and bc_type == "not-a-knot")
    if given or k < 2 or not np.size(y):
        return interpolating_by_scipy(x, y, k, t, bc_type, axis, check_finite)
    checked = interpolating_spline(x, y, k, t, bc_type, axis, check_finite)
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=checked.c.dtype)
    t = not_a_knot_body(x, checked.k) if t is None else np.asarray(t, dtype=np.float64)
    if checked.axis:
        y = np.moveaxis(y, checked.axis, 0)
    rows = np.reshape(y, (np.shape(y)[0], -1))
    c = np.reshape(interpolating(t, checked.k, x, rows), np.shape(y))
    return BSpline.construct_fast(t, c, checked.k, axis=checked.axis)


@decompose(BSpline.__call__)
def bspline_call_body(self, x, nu=0, extrapolate=None):
    # As the method, but without its view of complex coefficients as pairs of real ones.
    extrapolate = self.extrapolate if extrapolate is None else extrapolate
    t, c, k = self.t, self.c, self.k
    x = np.asarray(x, dtype=float)
    flat = np.ravel(x)
    if extrapolate == "periodic":
        n = np.shape(t)[0] - k - 1
        flat = t[k] + (flat - t[k]) % (t[n] - t[k])
    within = extrapolate == "periodic" or not extrapolate
    y = values_or_nan(t, np.reshape(c, (np.shape(c)[0], -1)), k, flat, nu, not within)
    y = np.reshape(y, np.shape(x) + np.shape(c)[1:])
    axes = list(range(np.ndim(y)))
    m = np.ndim(x)
    order = axes[m : m + self.axis] + axes[:m] + axes[m + self.axis :]
    return np.transpose(y, order) if self.axis else y


if _ndbspline.has("make_ndbspl"):

    @decompose(_ndbspline.make_ndbspl)
    def make_ndbspl_body(points, values, k=3, *, solver=None, **solver_args):
        # The sparse system is one in each dimension after the other; SciPy solves it to six digits.
        options = solver_args if solver is None else {"solver": solver, **solver_args}
        plain = [ignore_derivatives(np.asarray(at)) for at in points]
        found = _ndbspline.make_ndbspl(tuple(plain), ignore_derivatives(values), k, **options)
        degrees = k if np.ndim(k) else (k,) * len(points)
        knots, c = [], values
        for axis, (at, degree) in enumerate(zip(points, degrees, strict=True)):
            at = np.asarray(at, dtype=float)
            knots.append(_bsplines._not_a_knot(at, degree))
            first = np.moveaxis(c, axis, 0)
            rows = np.reshape(first, (np.shape(first)[0], -1))
            solved = interpolating(knots[-1], degree, at, rows)
            c = np.moveaxis(np.reshape(solved, np.shape(first)), 0, axis)
        return NdBSpline(tuple(knots), with_value(found.c, c), k)
