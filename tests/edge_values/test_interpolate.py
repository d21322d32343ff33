"""Interpolants: gradients that can be written down."""

import numpy as np
import pytest
from scipy import interpolate as ip

import autodiff

X = np.array([0.0, 1.0, 3.0])
Y = np.array([5.0, 7.0, 1.0])  # the slopes are 2 and -3
FOUR = np.array([0.0, 1.0, 2.0, 3.0])
CUBE = FOUR**3
GRID = (np.array([0.0, 1.0]), np.array([0.0, 2.0]))
SQUARE = np.array([[0.0, 2.0], [1.0, 7.0]])
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


# fmt: off
TABLE = [
    # along a line
    ("interp1d between", lambda x: ip.interp1d(X, Y)(x), 0.5, 2.0),
    ("interp1d between the next", lambda x: ip.interp1d(X, Y)(x), 2.0, -3.0),
    ("interp1d by values", lambda y: ip.interp1d(X, y)(0.25), Y, [0.75, 0.25, 0.0]),
    ("interp1d outside", lambda y: ip.interp1d(X, y, bounds_error=False, fill_value=4.0)(9.0),
     Y, [0.0, 0.0, 0.0]),
    ("interp1d beyond the end", lambda y: ip.interp1d(X, y, fill_value="extrapolate")(5.0),
     Y, [0.0, -1.0, 2.0]),
    ("interp1d with fill values", lambda v: ip.interp1d(X, Y, bounds_error=False,
     fill_value=(v[0], v[1]))([-1.0, 9.0, 9.0]), [1.0, 2.0], [1.0, 2.0]),
    ("interp1d nearest", lambda y: ip.interp1d(X, y, "nearest")(0.9), Y, [0.0, 1.0, 0.0]),
    ("interp1d nearest, the place", lambda x: ip.interp1d(X, Y, "nearest")(x), 0.9, 0.0),
    ("interp1d previous", lambda y: ip.interp1d(X, y, "previous")(0.9), Y, [1.0, 0.0, 0.0]),
    ("interp1d next", lambda y: ip.interp1d(X, y, "next")(0.1), Y, [0.0, 1.0, 0.0]),
    # cubic polynomials are reproduced
    ("spline of a cubic", lambda x: ip.CubicSpline(FOUR, CUBE)(x), 1.5, 6.75),
    ("spline at a node", lambda x: ip.CubicSpline(FOUR, CUBE)(x), 1.0, 3.0),
    ("spline at the first node", lambda x: ip.CubicSpline(FOUR, CUBE)(x), 0.0, 0.0),
    ("spline beyond the end", lambda x: ip.CubicSpline(FOUR, CUBE)(x), 4.0, 48.0),
    ("second derivative", lambda x: ip.CubicSpline(FOUR, CUBE)(x, 2), 1.5, 6.0),
    ("fourth derivative", lambda x: ip.CubicSpline(FOUR, CUBE)(x, 4), 1.5, 0.0),
    ("antiderivative", lambda x: ip.CubicSpline(FOUR, CUBE).antiderivative()(x), 2.0, 8.0),
    ("integral by its end", lambda x: ip.CubicSpline(FOUR, CUBE).integrate(0.0, x), 2.0, 8.0),
    ("integral by its beginning", lambda x: ip.CubicSpline(FOUR, CUBE).integrate(x, 3.0),
     2.0, -8.0),
    ("values at the nodes", lambda y: ip.CubicSpline(FOUR, y)(1.0), CUBE, [0.0, 1.0, 0.0, 0.0]),
    ("values, in the middle", lambda y: ip.CubicSpline(FOUR, y)(1.5),
     CUBE, [-0.0625, 0.5625, 0.5625, -0.0625]),
    ("two points", lambda y: ip.CubicSpline([0.0, 2.0], y)(0.5), [1.0, 3.0], [0.75, 0.25]),
    ("a slope at the end", lambda s: ip.CubicSpline([0.0, 1.0], [0.0, 0.0],
     bc_type=((1, s), (1, 0.0)))(0.5), 1.0, 0.125),
    ("natural, two points", lambda y: ip.CubicSpline([0.0, 2.0], y, bc_type="natural")(0.5),
     [1.0, 3.0], [0.75, 0.25]),
    ("a root", lambda y: ip.CubicSpline(FOUR, y).roots()[0], FOUR - 1.0, [0.0, -1.0, 0.0, 0.0]),
    ("where a value is taken", lambda v: ip.CubicSpline(FOUR, 2 * FOUR).solve(v)[0], 3.0, 0.5),
    ("outside, not extrapolated", lambda y: np.nansum(ip.CubicSpline(FOUR, y,
     extrapolate=False)([1.0, 9.0])), CUBE, [0.0, 1.0, 0.0, 0.0]),
    # monotone and others
    ("pchip flat at an extremum", lambda x: ip.PchipInterpolator(X, Y)(x), 1.0, 0.0),
    ("pchip of a line", lambda x: ip.PchipInterpolator(FOUR, 2 * FOUR)(x), 1.3, 2.0),
    ("akima of a line", lambda x: ip.Akima1DInterpolator(FOUR, 2 * FOUR)(x), 1.3, 2.0),
    ("hermite by a slope", lambda s: ip.CubicHermiteSpline([0.0, 1.0], [0.0, 0.0], s)(0.5),
     [1.0, 1.0], [0.125, -0.125]),
    ("barycentric", lambda y: ip.BarycentricInterpolator([0.0, 1.0, 2.0], y)(1.5),
     [0.0, 1.0, 4.0], [-0.125, 0.75, 0.375]),
    ("barycentric at a node", lambda y: ip.BarycentricInterpolator([0.0, 1.0, 2.0], y)(1.0),
     [0.0, 1.0, 4.0], [0.0, 1.0, 0.0]),
    ("krogh", lambda x: ip.KroghInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])(x), 1.5, 3.0),
    ("lagrange", lambda y: ip.lagrange([0.0, 1.0, 2.0], y)(1.5),
     [0.5, 1.0, 4.0], [-0.125, 0.75, 0.375]),
    # splines by coefficients
    ("linear spline", lambda c: ip.BSpline([0.0, 0.0, 1.0, 3.0, 3.0], c, 1)(2.0),
     Y, [0.0, 0.5, 0.5]),
    ("linear spline, the place", lambda x: ip.BSpline([0.0, 0.0, 1.0, 3.0, 3.0], Y, 1)(x),
     2.0, -3.0),
    ("constant spline", lambda x: ip.BSpline([0.0, 1.0, 2.0], [1.0, 5.0], 0)(x), 0.5, 0.0),
    ("integral of a spline", lambda c: ip.BSpline([0.0, 0.0, 1.0, 3.0, 3.0], c, 1).integrate(0, 3),
     Y, [0.5, 1.5, 1.0]),
    ("a polynomial", lambda c: ip.PPoly(np.reshape(c, (3, 1)), [0.0, 1.0])(0.5),
     [1.0, 2.0, 3.0], [0.25, 0.5, 1.0]),
    ("a Bernstein polynomial", lambda c: ip.BPoly(np.reshape(c, (3, 1)), [0.0, 1.0])(0.5),
     [1.0, 2.0, 3.0], [0.25, 0.5, 0.25]),
    ("splev", lambda x: ip.splev(x, ip.splrep(FOUR, CUBE)), 1.5, 6.75),
    ("splint", lambda x: ip.splint(0.0, x, ip.splrep(FOUR, CUBE)), 2.0, 8.0),
    # on a grid
    ("bilinear", lambda v: ip.RegularGridInterpolator(GRID, np.reshape(v, (2, 2)))([0.5, 0.5]),
     SQUARE.ravel(), [0.375, 0.125, 0.375, 0.125]),
    ("bilinear, the place", lambda p: ip.RegularGridInterpolator(GRID, SQUARE)(p),
     [0.5, 1.0], [3.0, 2.0]),
    ("bilinear at a corner", lambda v: ip.interpn(GRID, np.reshape(v, (2, 2)), [0.0, 2.0]),
     SQUARE.ravel(), [0.0, 1.0, 0.0, 0.0]),
    ("outside the grid", lambda v: ip.RegularGridInterpolator(GRID, np.reshape(v, (2, 2)),
     bounds_error=False, fill_value=3.0)([5.0, 5.0]), SQUARE.ravel(), [0.0, 0.0, 0.0, 0.0]),
    ("nearest on the grid", lambda p: ip.RegularGridInterpolator(GRID, SQUARE, "nearest")(p),
     [0.2, 0.3], [0.0, 0.0]),
    # scattered
    ("on a triangle", lambda v: ip.LinearNDInterpolator(CORNERS, v)([0.25, 0.25]),
     [1.0, 2.0, 4.0], [0.5, 0.25, 0.25]),
    ("on a triangle, the place", lambda p: ip.LinearNDInterpolator(CORNERS, [1.0, 2.0, 4.0])(p),
     [0.25, 0.25], [1.0, 3.0]),
    ("the nearest", lambda v: ip.NearestNDInterpolator(CORNERS, v)([0.9, 0.1]),
     [1.0, 2.0, 4.0], [0.0, 1.0, 0.0]),
    ("the nearest, the place", lambda p: ip.NearestNDInterpolator(CORNERS, [1.0, 2.0, 4.0])(p),
     [0.9, 0.1], [0.0, 0.0]),
    ("radial, at a point", lambda v: ip.RBFInterpolator(CORNERS, v)(CORNERS[:1]),
     [1.0, 2.0, 4.0], [1.0, 0.0, 0.0]),
]
# fmt: on
NAMES = [row[0] for row in TABLE]


@pytest.mark.parametrize("f, x, expected", [row[1:] for row in TABLE], ids=NAMES)
def test_gradient(f, x, expected):
    x = np.array(x) if np.ndim(x) else x
    found = autodiff.gradient(lambda x: np.sum(f(x)), x)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("f, x, expected", [row[1:] for row in TABLE], ids=NAMES)
def test_pushforward(f, x, expected):
    x = np.array(x) if np.ndim(x) else x
    v = np.arange(1.0, 1.0 + np.size(x)) if np.ndim(x) else 1.0
    found = autodiff.pushforward(lambda x: np.sum(f(x)), x)[1](v)
    np.testing.assert_allclose(found, np.sum(np.multiply(expected, v)), rtol=1e-10, atol=1e-12)
