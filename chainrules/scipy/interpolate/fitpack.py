"""FITPACK in one variable: ``splrep``, ``splev``, ``UnivariateSpline`` and their kin.

The spline of coefficients c is Σ c_i B_i (see `bsplines`). Interpolating and least squares splines
have the coefficients that `fitting` solves for; those of a smoothing factor are in `smoothing`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules.refused import RefusedError
from chainrules.scipy.interpolate.bsplines import design, integrals, interpolating, values
from chainrules.scipy.interpolate.kernels import kernel, plainly, polished
from chainrules.scipy.interpolate.least_squares import fitted
from chainrules.scipy.interpolate.smoothing import SMOOTHED, abscissae_at, smoothing
from chainrules.scipy.private import Private
from chainrules_core import ignore_derivatives, non_differentiable

_bsplines = Private("interpolate._bsplines")
_dfitpack = Private("interpolate._dfitpack")
_fitpack = Private("interpolate._fitpack")

EVALUATING = _fitpack if _fitpack.has("splev") else _dfitpack
"""The module of FITPACK's routines: translated from Fortran in SciPy 1.18."""

non_differentiable(EVALUATING.fpchec)

EXTRAPOLATED, ZEROS, RAISE, CONSTANT = range(4)


def curve(t: Any, c: Any, k: int, x: Any, nu: int = 0) -> Any:
    """The values of a spline with one coefficient for each B-spline."""
    c = np.asarray(c)
    return values(t, c[:, None], k, x, nu)[:, 0]


def bounded(t: Any, k: int, x: Any) -> Any:
    """Bring places into the base interval."""
    return np.clip(x, t[k], t[np.shape(t)[0] - k - 1])


@kernel("splev", EVALUATING)
def splev_body(t, c, k, x, e=0):
    return splder_body(t, c, k, x, 0, e)


@kernel("splder", _dfitpack)
def splder_body(t, c, k, x, nu=1, e=0):
    t, x = np.asarray(t), np.asarray(x, dtype=float)
    inner = bounded(t, k, x)
    outside = ignore_derivatives(inner) != ignore_derivatives(x)
    if e == RAISE and np.any(outside):
        return 0.0 * x, 1
    y = curve(t, c, k, inner if e == CONSTANT else x, nu)
    return (np.where(outside, 0.0, y) if e == ZEROS else y), 0


@kernel("splder", _fitpack)
def splder_in_c_body(t, c, k, nu, x, e):
    return splder_body(t, c, k, x, nu, e)


@kernel("splint", EVALUATING)
def splint_body(t, c, k, a, b):
    t, c = np.asarray(t), np.asarray(c)
    ends = bounded(t, k, np.stack([np.asarray(a, dtype=float), np.asarray(b, dtype=float)]))
    found = integrals(t, c[:, None], k, ends)[:, 0]
    total = found[1] - found[0]
    return total if EVALUATING is _fitpack else (total, plainly(_dfitpack.splint, t, c, k, a, b)[1])


@kernel("sproot", EVALUATING)
def sproot_body(t, c, mest=10):
    t, c = np.asarray(t), np.asarray(c)
    roots, m, ier = plainly(EVALUATING.sproot, t, c, mest)
    if not m:
        return roots, m, ier
    found = polished(
        roots[:m], lambda x: curve(t, c, 3, x), lambda x: curve(t, c, 3, x, 1), "the spline"
    )
    return found, m, ier


@kernel("spalde", EVALUATING)
def spalde_body(t, c, k1, x):
    t, k = np.asarray(t), k1 - 1
    x = np.reshape(np.asarray(x, dtype=float), (1,))
    if np.any(ignore_derivatives(bounded(t, k, x)) != ignore_derivatives(x)):
        return np.zeros(k1), 10
    return np.concatenate([curve(t, c, k, x, nu) for nu in range(k1)]), 0


# ------------------------------------------------------------------------------------ coefficients


def knots_between(x: Any, k: int) -> Any:
    """The inner knots of an interpolating spline: abscissae, or the middles between them."""
    half = (k + 1) // 2 if k % 2 else k // 2
    return (x if k % 2 else (x[1:] + x[:-1]) / 2)[half:-half]


def with_ends(inner: Any, k: int, xb: Any, xe: Any) -> Any:
    """The knots with those at the ends."""
    return np.concatenate([np.stack([xb] * (k + 1)), inner, np.stack([xe] * (k + 1))])


def coefficients(t: Any, k: int, x: Any, y: Any, w: Any) -> tuple[Any, Any]:
    """Return the coefficients of a fit, and the weighted sum of squares that is left."""
    if np.shape(x)[0] != np.shape(t)[0] - k - 1:
        c, left = fitted(t, k, x, np.reshape(y, (np.shape(x)[0], -1)), w)
        return np.reshape(c, (np.shape(c)[0], *np.shape(y)[1:])), np.sum(left**2)
    c = interpolating(t, k, x, y)
    found = values(t, np.reshape(c, (np.shape(c)[0], -1)), k, x)
    away = y - np.reshape(found, np.shape(y))
    return c, np.sum((away * (w if np.ndim(y) == 1 else w[:, None])) ** 2)


def solved(A: Any, y: Any, w: Any) -> tuple[Any, Any]:
    """Return what solves A c = y, or does best, and the weighted sum of squares that is left."""
    wide, weighted = A * w[:, None], y * (w if np.ndim(y) == 1 else w[:, None])
    square = np.shape(A)[0] == np.shape(A)[1]
    c = np.linalg.solve(wide, weighted) if square else np.linalg.lstsq(wide, weighted)[0]
    return c, np.sum((weighted - np.matmul(wide, c)) ** 2)


def padded(c: Any, n: int) -> Any:
    """`c`, with zeros behind."""
    return np.concatenate([c, np.zeros(n - np.shape(c)[0])])


def chosen_knots(x: Any, k: int, xb: Any, xe: Any, ier: int, known: Any) -> Any:
    """The knots that FITPACK has taken, as functions of the abscissae."""
    chosen = known[k + 1 : len(known) - k - 1]
    inner = knots_between(x, k) if ier == -1 else abscissae_at(x, chosen)
    return with_ends(inner, k, xb, xe)


def fit_of(knots: Any, k: int, x: Any, y: Any, w: Any, s: Any, known: Any, ier: int,
           name: str) -> tuple[Any, Any]:  # fmt: skip
    """Return the coefficients that FITPACK has found, and the weighted sum of squares left."""
    if ier < 0:
        return coefficients(knots, k, x, y, w)
    if ier > 0:  # the sum of squares is not s
        raise RefusedError(f"scipy.interpolate.{name}", SMOOTHED)
    return smoothing(knots, k, x, y, w, s, known, name)


def curve_fit(iopt: int, x: Any, y: Any, w: Any, t: Any, k: int, s: Any, xb: Any, xe: Any,
              known: Any, c: Any, ier: int) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the knots, coefficients and sum of squares of splrep."""
    n = len(known)
    if iopt == -1:
        knots = with_ends(t[k + 1 : n - k - 1], k, xb, xe)
        return knots, *coefficients(knots, k, x, y, w)
    knots = chosen_knots(x, k, xb, xe, ier, known)
    return knots, *fit_of(knots, k, x, y, w, s, c[: n - k - 1], ier, "splrep")


def check_found(ier: int) -> None:
    """Raise if FITPACK has found nothing: then the memory that it returns holds any numbers."""
    if ier == 10:
        raise ValueError(
            "FITPACK finds no spline: the abscissae do not increase, a weight is not positive, or "
            "there are too few places for the knots. From set_smoothing_factor(s), which SciPy "
            "1.18 gives no further places, make a new UnivariateSpline(x, y, s=s)."
        )


def needs_places(ier: int, t: Any, k: int, x: Any) -> bool:
    """Whether FITPACK has run out of places for knots: then SciPy calls it again, with more."""
    return ier == 1 and np.shape(t)[0] < np.shape(x)[0] + k + 1


@non_differentiable
def curfit_plainly(iopt: Any, x: Any, y: Any, w: Any, t: Any, *others: Any) -> tuple:
    """Call FITPACK on plain values; also the knots, which it writes into an array."""
    knots = np.copy(t)
    found = _dfitpack.curfit(iopt, x, y, w, knots, *others)
    return knots, found


@kernel("curfit", _dfitpack)
def curfit_body(iopt, x, y, w, t, wrk, iwrk, xb=None, xe=None, k=3, s=0.0):
    xb = x[0] if xb is None else xb
    xe = x[-1] if xe is None else xe
    args = (iopt, x, y, w, t, wrk, iwrk, xb, xe, k, s)
    known, (n, c, _, ier) = curfit_plainly(*args)
    check_found(ier)
    t[:n], found, fp = curve_fit(iopt, x, y, w, t, k, s, xb, xe, known[:n], c, ier)
    return n, padded(found, np.shape(c)[0]), fp, ier


@kernel("curfit", _fitpack)
def curfit_in_c_body(iopt, x, y, w, xb, xe, k, s, t, wrk, iwrk):
    args = (iopt, x, y, w, xb, xe, k, s, t, wrk, iwrk)
    n, known, c, fp, ier = plainly(_fitpack.curfit, *args)
    check_found(ier)
    if needs_places(ier, known, k, x):
        return n, known, c, fp, ier
    knots, found, fp = curve_fit(iopt, x, y, w, t, k, s, xb, xe, known[:n], c, ier)
    return n, padded(knots, np.shape(known)[0]), padded(found, np.shape(c)[0]), fp, ier


@kernel("percur", _fitpack)
def percur_in_c_body(iopt, x, y, w, k, s, t, wrk, iwrk):
    n, known, c, _, ier = plainly(_fitpack.percur, iopt, x, y, w, k, s, t, wrk, iwrk)
    knots, found, fp = periodic(x, y, w, k, ier)
    return n, padded(knots, np.shape(known)[0]), padded(found, np.shape(c)[0]), fp, ier


@kernel("percur", _dfitpack)
def percur_body(iopt, x, y, w, t, wrk, iwrk, k=3, s=0.0):
    n, c, _, ier = plainly(_dfitpack.percur, iopt, x, y, w, t, wrk, iwrk, k, s)
    t[:n], found, fp = periodic(x, y, w, k, ier)
    return n, padded(found, np.shape(c)[0]), fp, ier


def periodic(x: Any, y: Any, w: Any, k: int, ier: int) -> tuple[Any, Any, Any]:
    """The knots, coefficients and residual of an interpolating spline that is periodic."""
    if ier != -1 or k % 2 == 0:
        raise RefusedError(
            "scipy.interpolate.splrep",
            "with per=1 there is a rule for s=0 and an odd k alone. Use these, or "
            'make_interp_spline(..., bc_type="periodic").',
        )
    m = np.shape(x)[0] - 1
    around = np.arange(-k, m + k + 1)
    knots = x[around % m] + (around // m) * (x[m] - x[0])
    A = design(knots, k, x[:m])
    folded = np.zeros((m, m))
    for j in range(m + k):
        folded[:, j % m] += A[:, j]
    found, fp = solved(folded, y[:m], w[:m])
    return knots, found[np.arange(m + k) % m], fp


def refit(data: tuple, x: Any, y: Any, w: Any, xb: Any, xe: Any, knots: Any = None,
          factor: Any = None) -> tuple:  # fmt: skip
    """Return FITPACK's record of a fit with knots and coefficients made of traced values."""
    k, s, n, t, c, fp, fpint, nrdata, ier = data[5:]
    s = s if factor is None else factor  # which data has as a plain value
    w = np.ones(np.shape(x)) if w is None else w
    xb = x[0] if xb is None else xb
    xe = x[-1] if xe is None else xe
    check_found(ier)
    if needs_places(ier, t, k, x):
        return x, y, w, xb, xe, k, s, *data[7:]
    if knots is None:
        knots = chosen_knots(x, k, xb, xe, ier, t[:n])
        found, fp = fit_of(knots, k, x, y, w, s, c[: n - k - 1], ier, "UnivariateSpline")
    else:
        found, fp = coefficients(knots, k, x, y, w)
    knots_padded = padded(knots, np.shape(t)[0])
    found = padded(found, np.shape(c)[0])
    return x, y, w, xb, xe, k, s, n, knots_padded, found, fp, fpint, nrdata, ier


@kernel("fpcurf0", _dfitpack)
def fpcurf0_body(x, y, k, w=None, xb=None, xe=None, s=None, nest=None):
    given = {"w": w, "xb": xb, "xe": xe, "s": s, "nest": nest}
    options = {n: v for n, v in given.items() if v is not None}
    data = plainly(_dfitpack.fpcurf0, x, y, k, **options)
    return refit(data, x, y, w, xb, xe, factor=s)


@kernel("fpcurf1", _dfitpack)
def fpcurf1_body(x, y, w, xb, xe, k, s, n, t, c, fp, fpint, nrdata, ier):
    args = (x, y, w, xb, xe, k, s, n, t, c, fp, fpint, nrdata, ier)
    return refit(plainly(_dfitpack.fpcurf1, *args), x, y, w, xb, xe, factor=s)


@kernel("fpcurfm1", _dfitpack)
def fpcurfm1_body(x, y, k, t, w=None, xb=None, xe=None):
    given = {"w": w, "xb": xb, "xe": xe}
    options = {n: v for n, v in given.items() if v is not None}
    return refit(plainly(_dfitpack.fpcurfm1, x, y, k, t, **options), x, y, w, xb, xe, t)


PARAMETRIC = "_parcur" if _fitpack.has("_parcur") else "parcur"


@kernel(PARAMETRIC, _fitpack)
def parcur_body(x, w, u, ub, ue, k, task, ipar, s, t, nest, wrk, iwrk, per):
    args = (x, w, u, ub, ue, k, task, ipar, s, t, nest, wrk, iwrk, per)
    known, c, record = plainly(_fitpack.get(PARAMETRIC), *args)
    points = np.reshape(x, (np.shape(w)[0], -1))
    if not ipar:
        steps = np.sqrt(np.sum(np.diff(points, axis=0) ** 2, axis=1))
        length = np.cumsum(steps)
        u = np.concatenate([np.zeros(1), length / length[-1]])
        ub, ue = u[0], u[-1]
    if per:
        raise RefusedError(
            "scipy.interpolate.splprep",
            "per=1 has no rule. Interpolate each coordinate by "
            'make_interp_spline(..., bc_type="periodic").',
        )
    if task == -1:
        knots = with_ends(t[k + 1 : np.shape(known)[0] - k - 1], k, ub, ue)
        found, fp = coefficients(knots, k, u, points, w)
    else:
        knots = chosen_knots(u, k, ub, ue, record["ier"], known)
        columns = np.reshape(c, (np.shape(points)[1], -1))[:, : len(known) - k - 1].T
        found, fp = fit_of(knots, k, u, points, w, s, columns, record["ier"], "splprep")
    # Memory of its own: older versions of SciPy set its shape.
    flat = np.copy(np.ravel(np.transpose(found)))
    return knots, flat, {**record, "u": u, "ub": ub, "ue": ue, "fp": fp}


@kernel("_insert", _fitpack)
@kernel("insert", _fitpack)
def insert_body(per, t, c, k, x, m):
    for _ in range(m):
        t, c = _bsplines._insert(x, t, c[: np.shape(t)[0] - k - 1], k, bool(per))
    return t, padded(c, np.shape(t)[0]), 0
