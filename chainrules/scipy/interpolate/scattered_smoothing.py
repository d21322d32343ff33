"""Smoothing splines through scattered points, in the plane and on the sphere.

FITPACK begins with few knots, fits by least squares, and puts a further knot where the squares of
the residuals are largest: at their centre of gravity in one interval of one coordinate. So the
knots move with the data; they are made here in the same way. With enough knots it smooths, as in
`smoothing`, the jumps of the third derivatives in both directions being what is to be small
(Dierckx, Curve and Surface Fitting with Splines, 1993, chapters 5 and 11).

On the sphere a spline has one value at each pole, and slopes there as those of a plane, which is
approximated by periodic splines: the coefficients are T d. The columns of T for the slopes are
those of the splines that interpolate cos φ and sin φ at the knots.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules.refused import RefusedError
from chainrules.scipy.found import with_value
from chainrules.scipy.interpolate.bsplines import design
from chainrules.scipy.interpolate.fitpack import with_ends
from chainrules.scipy.interpolate.kernels import kernel, plainly
from chainrules.scipy.interpolate.smoothing import balanced, jumps
from chainrules.scipy.private import Private
from chainrules_core import ignore_derivatives, linear_rule, natively, primitive

_dfitpack = Private("interpolate._dfitpack")
_fitpack = Private("interpolate._fitpack")  # has these routines, in C, since SciPy 1.18

KNOTS = (
    "the knots that FITPACK has chosen, or its coefficients, are not those that follow from the "
    "data. Raise s, give the knots (LSQBivariateSpline, LSQSphereBivariateSpline), or wrap the "
    "data in autodiff.ignore_derivatives(...)."
)
ON_A_GRID = (
    "smoothing on a grid has no rule. Interpolate (s=0), or use SmoothSphereBivariateSpline or "
    "LSQSphereBivariateSpline."
)
NOT_LINEAR = (
    "the coefficients that FITPACK has found do not follow from the data: with "
    "pole_continuity=True SciPy 1.18 reads memory that nothing was written to. Use "
    "pole_continuity=False, SmoothSphereBivariateSpline or LSQSphereBivariateSpline."
)
AGREEMENT = 1e-6


def check(follows: Any, name: str) -> None:
    """Raise unless what FITPACK has found follows from the data."""
    if not follows:
        raise RefusedError(f"scipy.interpolate.{name}", KNOTS)


def scaled_jumps(t: Any, k: int) -> Any:
    """The jumps of the k-th derivatives, as FITPACK scales them, free of units."""
    mean = (t[-k - 1] - t[k]) / (np.shape(t)[0] - 2 * k - 1)
    return jumps(t, k) * (mean**k / math.factorial(k))


def inserted(inner: Any, at: Any) -> Any:
    """Return knots with a further one."""
    place = int(np.searchsorted(ignore_derivatives(inner), ignore_derivatives(at)))
    return np.concatenate([inner[:place], np.reshape(at, (1,)), inner[place:]])


class Plane:
    """Splines in two coordinates at scattered places.

    Attributes
    ----------
    places, degrees, ends : tuple
        For each coordinate.
    """

    def __init__(self, places: tuple, degrees: tuple, ends: tuple) -> None:
        self.places, self.degrees, self.ends = places, degrees, ends

    def first(self, _: tuple) -> list:
        """The inner knots with which FITPACK begins, in each coordinate."""
        return [np.zeros(0), np.zeros(0)]

    def knots(self, inner: Any, axis: int) -> Any:
        """All knots in a coordinate."""
        return with_ends(inner, self.degrees[axis], *self.ends[axis])

    def added(self, inner: Any, axis: int, at: Any) -> Any:
        """The inner knots in a coordinate with a further one."""
        return inserted(inner, at)

    def free(self, knots: tuple) -> Any:
        """The matrix T by which coefficients depend on those that are free; None if all are."""
        return None

    def penalty(self, knots: tuple) -> Any:
        """The matrix of what is to be small."""
        over, along = (scaled_jumps(t, k) for t, k in zip(knots, self.degrees, strict=True))
        return np.concatenate(
            [np.kron(over, np.eye(np.shape(along)[1])), np.kron(np.eye(np.shape(over)[1]), along)]
        )

    def matrix(self, knots: tuple) -> Any:
        """The values of the products of B-splines at the places."""
        over, along = (
            design(t, k, x) for t, k, x in zip(knots, self.degrees, self.places, strict=True)
        )
        return np.reshape(over[:, :, None] * along[:, None, :], (np.shape(over)[0], -1))


class Sphere(Plane):
    """Splines in the angles from a pole and around it."""

    def __init__(self, theta: Any, phi: Any) -> None:
        super().__init__((theta, phi), (3, 3), ((0.0, np.pi), (0.0, 2 * np.pi)))

    def first(self, sizes: tuple) -> list:
        """A polynomial, or so many."""
        if sizes == (8, 8):
            return [np.zeros(0), np.zeros(0)]
        return [np.array([np.pi / 2]), np.pi * np.array([0.5, 1.0, 1.5])]

    def knots(self, inner: Any, axis: int) -> Any:
        """All knots in a coordinate; those around the pole are periodic."""
        if axis == 0 or not np.shape(inner)[0]:
            return super().knots(inner, axis)
        around = np.concatenate([np.zeros(1), inner])
        number = np.arange(-3, np.shape(around)[0] + 4)
        return around[number % len(around)] + 2 * np.pi * (number // len(around))

    def added(self, inner: Any, axis: int, at: Any) -> Any:
        """The inner knots with a further one; around the pole also the one across."""
        if axis == 0:
            return inserted(inner, at)
        at = np.where(ignore_derivatives(at) < np.pi, at, at - np.pi)
        return inserted(inserted(inner, at), at + np.pi)

    def free(self, knots: tuple) -> Any:
        """The poles, and all else, which is periodic."""
        return free_on_the_sphere(*knots)

    def penalty(self, knots: tuple) -> Any:
        """The jumps, each of them once around the pole."""
        over, along = (scaled_jumps(t, 3) for t in knots)
        once = np.eye(np.shape(along)[1])[:-3]
        return np.concatenate([np.kron(over, once), np.kron(np.eye(np.shape(over)[1]), along)])


def free_on_the_sphere(tt: Any, tp: Any) -> Any:
    """Return the matrix T for all knots."""
    m, n = np.shape(tt)[0] - 4, np.shape(tp)[0] - 4
    around = max(n - 3, 1)  # without inner knots, a polynomial that is the same all around
    periodic = np.eye(around)[np.arange(n) % around]
    unit = np.eye(m)
    columns = []
    for pole, beside in ((0, 1), (m - 1, m - 2)):
        columns.append(np.kron((unit[pole] + unit[beside])[:, None], np.ones((n, 1))))
        if n > 4:
            at = tp[3:-4]
            waves = np.stack([np.cos(at), np.sin(at)], 1)
            slopes = np.linalg.solve(np.matmul(design(tp, 3, at), periodic), waves)
            columns.append(np.kron(unit[beside][:, None], np.matmul(periodic, slopes)))
    columns.append(np.kron(unit[:, 2:-2], periodic))
    return np.concatenate(columns, axis=1)


def in_free(space: Plane, knots: tuple, weights: Any) -> tuple[Any, Any]:
    """Return the weighted matrix of the free coefficients, and T."""
    A, T = space.matrix(knots) * weights[:, None], space.free(knots)
    return (A, None) if T is None else (np.matmul(A, T), T)


def times(T: Any, c: Any) -> Any:
    """The coefficients of the B-splines, of those that are free."""
    return c if T is None else np.matmul(T, c)


def further_knot(space: Plane, inner: list, squares: Any, sizes: tuple) -> tuple[int, Any]:
    """Return the coordinate that gets a further knot, and the knot."""
    candidates = []
    for axis, place in enumerate(space.places):
        t = space.knots(inner[axis], axis)
        if np.shape(t)[0] >= sizes[axis]:
            continue
        breaks = np.concatenate([[-np.inf], np.asarray(ignore_derivatives(inner[axis])), [np.inf]])
        number = np.searchsorted(breaks[1:-1], ignore_derivatives(place), side="right")
        low, high = space.ends[axis]
        breaks[0], breaks[-1] = ignore_derivatives(low), ignore_derivatives(high)
        for i in range(len(breaks) - 1):
            inside = np.flatnonzero(number == i)
            here = squares[inside]
            weight = np.sum(here)
            if ignore_derivatives(weight) == 0.0:
                continue
            at = np.sum(here * place[inside]) / weight
            before = ignore_derivatives(at) - breaks[i]
            after = breaks[i + 1] - ignore_derivatives(at)
            if after <= 10 * before and before <= 10 * after:
                candidates.append((float(ignore_derivatives(weight)), axis, at))
    if not candidates:
        return -1, None
    _, axis, at = max(candidates, key=lambda one: one[0])
    return axis, at


def chosen(space: Plane, z: Any, w: Any, known: tuple, name: str) -> tuple:
    """Return the knots that FITPACK has chosen, as functions of the data."""
    sizes = tuple([len(t) for t in known])
    inner = space.first(sizes)
    while True:
        knots = tuple([space.knots(inner[axis], axis) for axis in (0, 1)])
        if tuple([np.shape(t)[0] for t in knots]) == sizes:
            break
        A, _ = in_free(space, knots, w)
        squares = (z - np.matmul(A, np.linalg.lstsq(A, z)[0])) ** 2
        axis, at = further_knot(space, inner, squares, sizes)
        check(axis >= 0, name)
        inner[axis] = space.added(inner[axis], axis, at)
    for t, was in zip(knots, known, strict=True):
        away = np.max(np.abs(ignore_derivatives(t) - was))
        check(away <= AGREEMENT * (was[-1] - was[0]), name)
    return tuple([with_value(was, t) for t, was in zip(knots, known, strict=True)])


def smoothed(
    space: Plane, z: Any, w: Any, s: Any, known: tuple, c: Any, ier: int, name: str
) -> tuple[tuple, Any, Any]:
    """Return the knots, the coefficients and the sum of squares of what FITPACK has found."""
    check(ier in (0, -1, -2), name)
    z = z * w
    knots = chosen(space, z, w, known, name)
    A, T = in_free(space, knots, w)
    if ier < 0:
        return knots, *least_squares(A, T, z, c, name)
    found = c if T is None else np.linalg.lstsq(ignore_derivatives(T), c)[0]
    D = space.penalty(knots)
    D = D if T is None else np.matmul(D, T)
    c, left = balanced(A, D, z[:, None], s, found[:, None], name)
    return knots, times(T, c[:, 0]), left


def least_squares(A: Any, T: Any, z: Any, known: Any, name: str) -> tuple[Any, Any]:
    """Return the coefficients of a fit by least squares, and the sum of squares that is left."""
    d = np.linalg.lstsq(A, z)[0]
    c = times(T, d)
    away = np.abs(ignore_derivatives(c) - known)
    check(np.max(away) <= AGREEMENT * np.max(np.abs(known)), name)
    return with_value(known, c), np.sum((z - np.matmul(A, d)) ** 2)


def ends_of(x: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """The ends of a coordinate; by default the outermost places."""
    return np.min(x) if low is None else low, np.max(x) if high is None else high


@kernel("surfit_smth", _dfitpack)
def surfit_smth_body(
    x, y, z, w=None, xb=None, xe=None, yb=None, ye=None, kx=3, ky=3, s=None, nxest=None, nyest=None,
    eps=1e-16, lwrk2=None,
):  # fmt: skip
    ends = ends_of(x, xb, xe), ends_of(y, yb, ye)
    s = np.shape(x)[0] if s is None else s
    w = np.ones(np.shape(x)) if w is None else w
    given = {"nxest": nxest, "nyest": nyest, "lwrk2": lwrk2, "s": s, "eps": eps}
    given = {k: ignore_derivatives(v) for k, v in given.items() if v is not None}
    plain = ignore_derivatives((x, y, z, w, *ends[0], *ends[1]))
    found = natively(plainly, _dfitpack.surfit_smth, *plain, kx, ky, **given)
    nx, tx, ny, ty, c, _, wrk, ier = found
    if ier > 10:  # SciPy calls it again, with more room
        return found
    n = (nx - kx - 1) * (ny - ky - 1)
    space = Plane((x, y), (kx, ky), ends)
    knots, c, fp = smoothed(space, z, w, s, (tx[:nx], ty[:ny]), c[:n], ier, "SmoothBivariateSpline")
    return nx, knots[0], ny, knots[1], c, fp, wrk, ier


@kernel("surfit_smth", _fitpack)
def surfit_smth_in_c_body(x, y, z, w, xb, xe, yb, ye, kx, ky, s, nxest, nyest, nmax, eps):
    args = (x, y, z, w, xb, xe, yb, ye, kx, ky, s, nxest, nyest, nmax, eps)
    found = natively(plainly, _fitpack.surfit_smth, *ignore_derivatives(args))
    nx, tx, ny, ty, c, _, ier = found
    n = (nx - kx - 1) * (ny - ky - 1)
    space = Plane((x, y), (kx, ky), ((xb, xe), (yb, ye)))
    knots, c, fp = smoothed(space, z, w, s, (tx[:nx], ty[:ny]), c[:n], ier, "SmoothBivariateSpline")
    return nx, knots[0], ny, knots[1], c, fp, ier


def smoothed_on_sphere(found: tuple, theta: Any, phi: Any, r: Any, w: Any, s: Any) -> tuple:
    """Return what FITPACK has found, as functions of the data."""
    nt, tt, np_, tp, c, _, ier = found
    n = (nt - 4) * (np_ - 4)
    knots, c, fp = smoothed(
        Sphere(theta, phi), r, w, s, (tt[:nt], tp[:np_]), c[:n], ier, "SmoothSphereBivariateSpline"
    )
    return nt, knots[0], np_, knots[1], c, fp, ier


def fitted_on_sphere(found: tuple, theta: Any, phi: Any, r: Any, w: Any, tt: Any, tp: Any) -> tuple:
    """Return the knots, coefficients and sum of squares on given knots."""
    name = "LSQSphereBivariateSpline"
    c, ier = found
    check(ier == 0, name)
    space = Sphere(theta, phi)
    knots = space.knots(tt[4:-4], 0), space.knots(tp[4:-4], 1)
    A, T = in_free(space, knots, w)
    return *knots, *least_squares(A, T, r * w, c, name)


@kernel("spherfit_smth", _dfitpack)
def spherfit_smth_body(teta, phi, r, w=None, s=None, eps=1e-16):
    s = np.shape(r)[0] if s is None else s
    w = np.ones(np.shape(r)) if w is None else w
    found = natively(
        plainly, _dfitpack.spherfit_smth, *map(ignore_derivatives, (teta, phi, r, w, s)), eps
    )
    return smoothed_on_sphere(found, teta, phi, r, w, s)


@kernel("spherfit_lsq", _dfitpack)
def spherfit_lsq_body(teta, phi, r, tt, tp, w=None, eps=1e-16, overwrite_tt=0, overwrite_tp=0):
    w = np.ones(np.shape(r)) if w is None else w
    _, _, c, _, ier = natively(
        plainly, _dfitpack.spherfit_lsq, *map(ignore_derivatives, (teta, phi, r, tt, tp)),
        w=ignore_derivatives(w), eps=eps,
    )  # fmt: skip
    return *fitted_on_sphere((c, ier), teta, phi, r, w, tt, tp), ier


@kernel("sphere", _fitpack)
def sphere_body(iopt, teta, phi, r, w, s, ntest, npest, tt, tp, eps, wrk1, wrk2, iwrk):
    args = (iopt, teta, phi, r, w, s, ntest, npest, tt, tp, eps, wrk1, wrk2, iwrk)
    found = natively(plainly, _fitpack.sphere, *ignore_derivatives(args))
    if iopt >= 0:
        return smoothed_on_sphere(found, teta, phi, r, w, s)
    nt, _, np_, _, c, _, ier = found
    knots_and_fit = fitted_on_sphere((c, ier), teta, phi, r, w, tt, tp)
    return nt, knots_and_fit[0], np_, *knots_and_fit[1:], ier


# ------------------------------------------------------------------- a grid on the sphere


def grid_fit(data: Any, iopt: Any, ider: Any, u: Any, v: Any, given: tuple) -> tuple:
    """Call FITPACK; behind the data stand the values at those poles where they are given."""
    n = len(data) - sum(given)
    poles = iter(data[n:])
    r0, r1 = (float(next(poles)) if is_given else None for is_given in given)
    if not _fitpack.has("spgrid"):
        return plainly(_dfitpack.regrid_smth_spher, iopt, ider, u, v, data[:n], r0, r1, 0.0)
    ends = [0.0 if pole is None else pole for pole in (r0, r1)]
    # As many knots as SciPy makes room for where it interpolates.
    sizes = len(u) + 6 + iopt[1] + iopt[2], len(v) + 7
    return plainly(_fitpack.spgrid, iopt, ider, u, v, data[:n], *ends, 0.0, *sizes)


def grid_coefficients(data: Any, grid: dict) -> Any:
    """Return the coefficients of all B-splines, or None if the data are not interpolated."""
    nu, _, nv, _, c, _, ier = grid_fit(data, **grid)
    return c[: (nu - 4) * (nv - 4)] if ier == -1 else None


def grid_matrix(data: Any, grid: dict) -> Any:
    """Return the matrix by which the coefficients follow from the data; None if there is none.

    From changes of the data: for data that are nearly all zero FITPACK looks elsewhere for the
    slopes at the poles.
    """
    c, size = grid_coefficients(data, grid), max(float(np.max(np.abs(data))), 1e-300)
    if c is None:
        return None
    changed = [grid_coefficients(data + size * unit, grid) for unit in np.eye(len(data))]
    if any(one is None for one in changed):
        return None
    matrix = (np.stack(changed, axis=1) - c[:, None]) / size
    is_linear = np.max(np.abs(matrix @ data - c)) <= AGREEMENT * size
    return matrix if is_linear else None


@primitive
def on_grid(data: Any, *, matrix: Any, u: Any, v: Any) -> Any:
    """Return the coefficients of an interpolant; the coordinates `u` and `v` have no rule."""
    return np.matmul(matrix, data)


linear_rule(
    on_grid,
    lambda c_bar, data, *, matrix, u, v: on_grid(c_bar, matrix=np.transpose(matrix), u=u, v=v),
)


@kernel("regrid_smth_spher", _dfitpack)
def regrid_smth_spher_body(iopt, ider, u, v, r, r0=None, r1=None, s=0.0):
    given = r0 is not None, r1 is not None
    data = np.concatenate([r, *[np.reshape(pole, (1,)) for pole in (r0, r1) if pole is not None]])
    plain = ignore_derivatives(data)
    grid = {"iopt": iopt, "ider": ider, "given": given} | ignore_derivatives({"u": u, "v": v})
    matrix = None if s != 0 else natively(grid_matrix, plain, grid)
    if matrix is None:
        raise RefusedError(
            "scipy.interpolate.RectSphereBivariateSpline", NOT_LINEAR if s == 0 else ON_A_GRID
        )
    nu, tu, nv, tv, c, fp, ier = natively(grid_fit, plain, **grid)
    moved = on_grid(data, matrix=matrix, u=u, v=v)
    return nu, tu, nv, tv, with_value(c[: np.shape(moved)[0]], moved), fp, ier


@kernel("spgrid", _fitpack)
def spgrid_body(iopt, ider, u, v, r, r0, r1, s, nuest, nvest):
    poles = [pole if ider[i] >= 0 else None for i, pole in ((0, r0), (2, r1))]
    return regrid_smth_spher_body(iopt, ider, u, v, r, *poles, s)
