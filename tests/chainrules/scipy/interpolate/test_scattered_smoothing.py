"""Smoothing splines through scattered points, and splines on the sphere.

FITPACK meets a smoothing factor to 0.001, and how far it is from it counts as a constant. So the
differences are corrected by what they change in the sum of squares that is left.
"""

import numpy as np
import pytest
import scipy
from scipy import interpolate

import autodiff
from chainrules.refused import RefusedError
from chainrules.scipy.interpolate.scattered_smoothing import on_grid
from chainrules_core.testing import check_rule

SCIPY = tuple(map(int, scipy.__version__.split(".")[:2]))
CONTINUOUS = pytest.mark.skipif(
    SCIPY >= (1, 18), reason="SciPy reads memory there that nothing was written to"
)
RNG = np.random.default_rng(5)
THETA = np.arccos(RNG.uniform(-1, 1, 90))
PHI = RNG.uniform(0, 2 * np.pi, 90)
R = np.sin(THETA) * np.cos(PHI) + 0.5 * np.sin(THETA) ** 2 * np.sin(3 * PHI)
R = R + 0.3 * np.cos(THETA) ** 2 + 0.1 * RNG.normal(size=90)
X, Y = RNG.uniform(size=(2, 120))
Z = np.sin(8 * X) * np.cos(7 * Y) + 0.1 * RNG.normal(size=120)
W = 1.0 + 0.3 * np.cos(np.arange(120.0))
PLACES = np.array([1.0, 1.3, 0.05]), np.array([2.0, 3.0, 5.0])
TT, TP = np.array([0.8, 1.6, 2.4]), np.array([1.0, 2.5, 4.0, 5.2])
FEW = 4


def with_first(few, all_of_them):
    return np.concatenate([few, all_of_them[FEW:]])


def sphere(theta, phi, r, s, w):
    return interpolate.SmoothSphereBivariateSpline(theta, phi, r, w[:90], s)


def plane(x, y, z, s, w):
    return interpolate.SmoothBivariateSpline(x, y, z, w, s=s)


def checked(make, data, number, s, at, h=1e-5):
    """Compare the derivatives by the first elements of one of the data, corrected."""

    def of(few, s):
        given = [*data[:3], s, data[3]]
        place = number if number < 3 else 4
        given[place] = with_first(few, given[place])
        made = make(*given)
        return np.sum(np.cos(np.arange(3.0)) * made.ev(*at)), made.fp

    few = data[number][:FEW]
    found = autodiff.gradient(lambda few: of(few, s)[0], few)
    by_s = autodiff.gradient(lambda s: of(few, s)[0], s)
    left = autodiff.gradient(lambda few: of(few, s)[1], few)
    steps = h * np.eye(FEW)
    pairs = [(of(few + e, s), of(few - e, s)) for e in steps]
    change, of_left = np.transpose([np.subtract(a, b) / (2 * h) for a, b in pairs])
    expected = change - by_s * of_left
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.max(np.abs(expected)))
    np.testing.assert_allclose(left, 0.0, atol=1e-6)  # the sum of squares is s, whatever the data
    direction = np.cos(np.arange(FEW))
    np.testing.assert_allclose(
        autodiff.jvp(lambda few: of(few, s)[0], (few,), (direction,))[1], found @ direction
    )


@pytest.mark.parametrize("number", [0, 1, 2, 3])
@pytest.mark.parametrize("s", [2.0, 6.0, 20.0])
def test_on_the_sphere(s, number):
    """With knots that are chosen by the residuals, and the few that are always there."""
    checked(sphere, (THETA, PHI, R, W), number, s, PLACES)


@pytest.mark.parametrize("number", [0, 1, 2, 3])
@pytest.mark.parametrize("s", [1.2, 5.0])
def test_in_the_plane(s, number):
    checked(plane, (X, Y, Z, W), number, s, (PLACES[0] / 2, PLACES[1] / 6))


def test_by_the_smoothing_factor():
    """Where what is left is s, to first order in steps that are wider than the tolerance."""

    def of(s):
        made = plane(X, Y, Z, s, W)
        return made.ev(0.4, 0.5), made.fp

    (a, left_a), (b, left_b) = of(5.002), of(4.998)
    found = autodiff.gradient(lambda s: of(s)[0], 5.0)
    np.testing.assert_allclose(found, (a - b) / (left_a - left_b), rtol=1e-3)


def test_polynomials(check_traced):
    """Where no knots are needed."""
    at = PLACES[0] / 2, PLACES[1] / 6
    check_traced(lambda z: plane(X, Y, z, 1e3, W).ev(*at), Z, rtol=1e-5)
    check_traced(lambda r: sphere(THETA, PHI, r, 1e3, W).ev(*PLACES), R, rtol=1e-5)


def test_bisplrep(check_traced):
    def read(x, z):
        return interpolate.bisplev(0.4, 0.5, interpolate.bisplrep(x, Y, z, s=1e3))

    check_traced(read, X, Z, rtol=1e-5)
    few = interpolate.bisplrep(X, Y, Z, s=6.0)
    assert len(few[0]) + len(few[1]) > 16
    made = autodiff.gradient(
        lambda z: interpolate.bisplev(0.4, 0.5, interpolate.bisplrep(X, Y, z, s=6.0)), Z
    )
    of_class = autodiff.gradient(
        lambda z: interpolate.SmoothBivariateSpline(X, Y, z, s=6.0).ev(0.4, 0.5), Z
    )
    np.testing.assert_allclose(made, of_class, rtol=1e-9)


def test_given_knots_on_the_sphere(check_traced):
    def read(theta, phi, r, tt, tp):
        made = interpolate.LSQSphereBivariateSpline(theta, phi, r, tt, tp, w=W[:90])
        return made.ev(*PLACES), made.fp

    check_traced(read, THETA, PHI, R, TT, TP, rtol=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pole_values": (0.1, 0.7), "pole_exact": True},
        {"pole_values": (0.1, 0.7)},
        pytest.param({"pole_continuity": True}, marks=CONTINUOUS),
        pytest.param(
            {"pole_values": (0.1, 0.7), "pole_exact": True, "pole_continuity": True},
            marks=CONTINUOUS,
        ),
    ],
)
def test_a_grid_on_the_sphere(options, check_traced):
    u, v = np.linspace(0.3, 2.8, 6), np.linspace(0.1, 6.0, 7)
    r = np.sin(u)[:, None] * np.cos(v) + 0.3 * np.cos(2 * v)

    def read(r, theta):
        made = interpolate.RectSphereBivariateSpline(u, v, r, **options)
        return made.ev(theta, PLACES[1])

    check_traced(read, r, PLACES[0], rtol=1e-5)


@pytest.mark.parametrize("continuity", [False, pytest.param(True, marks=CONTINUOUS)])
def test_a_grid_on_the_sphere_by_its_poles(continuity, check_traced):
    u, v = np.linspace(0.3, 2.8, 6), np.linspace(0.1, 6.0, 7)
    r = np.sin(u)[:, None] * np.cos(v)

    def read(north, south):
        values = (north, south)
        made = interpolate.RectSphereBivariateSpline(u, v, r, 0.0, continuity, values)
        return made.ev(*PLACES)

    check_traced(read, 0.1, 0.7)


def test_what_is_refused():
    u, v = np.linspace(0.3, 2.8, 6), np.linspace(0.1, 6.0, 7)

    def of_coordinates(u):
        return interpolate.RectSphereBivariateSpline(u, v, np.outer(np.sin(u), v))(1.0, 1.0)[0, 0]

    with pytest.raises(autodiff.errors.DifferentiationError, match="on_grid"):
        autodiff.gradient(of_coordinates, u)
    with pytest.raises(RefusedError, match="knots"):
        autodiff.gradient(lambda z: plane(X, Y, z, 1e-3, W).ev(0.4, 0.5), Z)


def test_coefficients_on_a_grid():
    given = {"matrix": RNG.normal(size=(5, 3)), "u": TT, "v": TP}
    check_rule(on_grid, RNG.normal(size=3), fkwargs=given)
