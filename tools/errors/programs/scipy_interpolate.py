"""Splines and interpolants of scipy.interpolate."""

import numpy as np
from scipy import interpolate

from autodiff import gradient
from chainrules.refused import RefusedError
from tools.errors.entries import entry


@entry("A smoothing factor that is too small to be met", RefusedError)
def smoothing_factor() -> None:
    x = np.linspace(0, 1, 9)
    gradient(lambda y: interpolate.UnivariateSpline(x, y, s=1e-28)(0.4), np.cos(9 * x))


@smoothing_factor.instead("Interpolate")
def no_smoothing_factor() -> None:
    x = np.linspace(0, 1, 9)
    g = gradient(lambda y: interpolate.UnivariateSpline(x, y, s=0)(0.4), np.cos(9 * x))
    assert np.isclose(np.sum(g), 1.0)


@smoothing_factor.instead("Give the knots")
def least_squares_with_knots() -> None:
    x = np.linspace(0, 1, 9)
    g = gradient(lambda y: interpolate.LSQUnivariateSpline(x, y, [0.3, 0.6])(0.4), np.cos(9 * x))
    assert np.isclose(np.sum(g), 1.0)


@smoothing_factor.instead("Give the penalty")
def smoothing_penalty() -> None:
    x = np.linspace(0, 1, 9)
    g = gradient(lambda y: interpolate.make_smoothing_spline(x, y, lam=1e-3)(0.4), np.cos(9 * x))
    assert np.isclose(np.sum(g), 1.0)


@entry("A smoothing factor that the chosen knots meet without smoothing", RefusedError)
def smoothing_without_effect() -> None:
    x = np.linspace(0, 1, 9)
    y = np.cos(9 * x)
    s = interpolate.LSQUnivariateSpline(x, y, [0.25, 0.375, 0.5, 0.75]).get_residual()
    gradient(lambda y: interpolate.UnivariateSpline(x, y, s=s)(0.4), y)


@smoothing_without_effect.instead("Give the knots")
def knots_without_smoothing() -> None:
    x = np.linspace(0, 1, 9)
    knots = [0.25, 0.375, 0.5, 0.75]
    g = gradient(lambda y: interpolate.LSQUnivariateSpline(x, y, knots)(0.4), np.cos(9 * x))
    assert np.isclose(np.sum(g), 1.0)


@entry("The knots that a smoothing factor chooses", RefusedError)
def chosen_knots() -> None:
    x = np.linspace(0, 1, 9)
    gradient(lambda y: list(interpolate.generate_knots(x, y, s=1e-3))[-1][4], np.cos(9 * x))


@chosen_knots.instead("Use make_splrep")
def spline_on_chosen_knots() -> None:
    x = np.linspace(0, 1, 9)
    g = gradient(lambda y: interpolate.make_splrep(x, y, s=1e-3)(0.4), np.cos(9 * x))
    assert np.isclose(np.sum(g), 1.0)


@entry("A periodic make_splrep with a smoothing factor", RefusedError)
def periodic_make_splrep() -> None:
    x = np.linspace(0, 1, 9)
    y = np.cos(2 * np.pi * x)
    gradient(lambda y: interpolate.make_splrep(x, y, s=1e-3, bc_type="periodic")(0.4), y)


@periodic_make_splrep.instead("Interpolate")
def periodic_make_interp_spline() -> None:
    x = np.linspace(0, 1, 9)
    y = np.cos(2 * np.pi * x)

    def f(y):
        periodic = np.concatenate([y[:-1], y[:1]])
        return interpolate.make_interp_spline(x, periodic, bc_type="periodic")(0.4)

    gradient(f, y)


@entry("A periodic splrep of an even degree", RefusedError)
def periodic_of_even_degree() -> None:
    x = np.linspace(0, 1, 9)
    y = np.cos(2 * np.pi * x)
    gradient(lambda y: interpolate.splev(0.4, interpolate.splrep(x, y, k=2, s=0, per=1)) * 1.0, y)


@periodic_of_even_degree.instead("Take an odd degree and s=0")
def periodic_of_odd_degree() -> None:
    x = np.linspace(0, 1, 9)
    y = np.cos(2 * np.pi * x)
    gradient(lambda y: interpolate.splev(0.4, interpolate.splrep(x, y, k=3, s=0, per=1)) * 1.0, y)


@entry("A periodic splprep", RefusedError)
def periodic_curve() -> None:
    t = np.linspace(0, 2 * np.pi, 9)

    def f(x):
        tck, _ = interpolate.splprep([x, np.sin(t)], s=0, per=1)
        return interpolate.splev(0.4, tck)[0] * 1.0

    gradient(f, np.cos(t))


@periodic_curve.instead("Interpolate each coordinate periodically")
def periodic_coordinates() -> None:
    t = np.linspace(0, 2 * np.pi, 9)

    def f(x):
        closed = np.append(x[:-1], x[0])
        return interpolate.make_interp_spline(t, closed, bc_type="periodic")(0.4)

    gradient(f, np.cos(t))


@entry("AAA that takes spurious poles away", RefusedError)
def spurious_poles() -> None:
    x = np.linspace(-1, 1, 30)

    def f(k):
        return interpolate.AAA(x, np.exp(x) * k, clean_up_tol=100.0)(0.3)

    gradient(f, 1.0)


@spurious_poles.instead("Use clean_up=False")
def all_poles() -> None:
    x = np.linspace(-1, 1, 30)
    g = gradient(lambda k: interpolate.AAA(x, np.exp(x) * k, clean_up=False)(0.3), 1.0)
    assert np.isclose(g, np.exp(0.3))


@entry("Scattered points, fitted with a smoothing factor that is too small", RefusedError)
def scattered_points_smoothed() -> None:
    x, y = np.random.default_rng(0).random((2, 40))

    def f(z):
        return interpolate.SmoothBivariateSpline(x, y, z, s=1e-9)(0.4, 0.4)[0, 0]

    gradient(f, np.cos(9 * x * y))


@scattered_points_smoothed.instead("Raise s")
def scattered_points_smoother() -> None:
    x, y = np.random.default_rng(0).random((2, 40))

    def f(z):
        return interpolate.SmoothBivariateSpline(x, y, z, s=1.0)(0.4, 0.4)[0, 0]

    assert np.isclose(np.sum(gradient(f, np.cos(9 * x * y))), 1.0)


@scattered_points_smoothed.instead("Give the knots")
def scattered_points_with_knots() -> None:
    x, y = np.random.default_rng(0).random((2, 40))

    def f(z):
        return interpolate.LSQBivariateSpline(x, y, z, [0.5], [0.5])(0.4, 0.4)[0, 0]

    assert np.isclose(np.sum(gradient(f, x * y)), 1.0)


@entry("RectBivariateSpline with a smoothing factor", RefusedError)
def grid_smoothed() -> None:
    x = np.linspace(0, 1, 6)
    z = np.outer(x, x)
    gradient(lambda z: interpolate.RectBivariateSpline(x, x, z, s=0.1)(0.4, 0.4)[0, 0], z)


@grid_smoothed.instead("Interpolate (s=0, the default)")
def grid_interpolated() -> None:
    x = np.linspace(0, 1, 6)
    z = np.outer(x, x)
    g = gradient(lambda z: interpolate.RectBivariateSpline(x, x, z)(0.4, 0.4)[0, 0], z)
    assert np.isclose(np.sum(g), 1.0)


@entry("bisplrep that goes on with the knots of another call", RefusedError)
def surface_with_chosen_knots() -> None:
    x, y = np.random.default_rng(0).random((2, 40))
    interpolate.bisplrep(x, y, x * y)

    def f(z):
        return interpolate.bisplev(0.4, 0.4, interpolate.bisplrep(x, y, z, task=1)) * 1.0

    gradient(f, x * y)


@surface_with_chosen_knots.instead("Begin with none")
def surface_with_new_knots() -> None:
    x, y = np.random.default_rng(0).random((2, 40))

    def f(z):
        return interpolate.bisplev(0.4, 0.4, interpolate.bisplrep(x, y, z)) * 1.0

    assert np.isclose(np.sum(gradient(f, x * y)), 1.0)


@surface_with_chosen_knots.instead("Give the knots")
def surface_with_given_knots() -> None:
    x, y = np.random.default_rng(0).random((2, 40))

    def f(z):
        return interpolate.LSQBivariateSpline(x, y, z, [0.5], [0.5]).ev(0.4, 0.4)

    assert np.isclose(np.sum(gradient(f, x * y)), 1.0)


@entry("Smoothing on a grid on the sphere", RefusedError)
def smoothing_on_the_sphere() -> None:
    theta, phi = np.linspace(0.3, 2.8, 7), np.linspace(0.1, 6.0, 8)

    def f(r):
        return interpolate.RectSphereBivariateSpline(theta, phi, r, s=0.1)(1.0, 1.0)[0, 0]

    gradient(f, np.outer(np.sin(theta), np.cos(phi)))


@smoothing_on_the_sphere.instead("Interpolate")
def grid_on_the_sphere() -> None:
    theta, phi = np.linspace(0.3, 2.8, 7), np.linspace(0.1, 6.0, 8)

    def f(r):
        return interpolate.RectSphereBivariateSpline(theta, phi, r)(1.0, 1.0)[0, 0]

    assert np.isclose(np.sum(gradient(f, np.outer(np.sin(theta), np.cos(phi)))), 1.0)


@smoothing_on_the_sphere.instead("Smooth the points of the grid")
def points_on_the_sphere() -> None:
    theta, phi = np.meshgrid(np.linspace(0.3, 2.8, 7), np.linspace(0.1, 6.0, 8))
    theta, phi = theta.ravel(), phi.ravel()

    def f(r):
        return interpolate.SmoothSphereBivariateSpline(theta, phi, r, s=1.0)(1.0, 1.0)[0, 0]

    r = np.cos(theta) + 0.3 * theta * np.sin(phi + 0.4)
    assert np.isclose(np.sum(gradient(f, r)), 1.0)


@entry("CloughTocher2DInterpolator by the points", RefusedError)
def cubic_by_points() -> None:
    def f(points):
        made = interpolate.CloughTocher2DInterpolator(points, np.arange(20.0))
        return made(0.4, 0.5)

    gradient(f, np.random.default_rng(0).random((20, 2)))


@cubic_by_points.instead("Use RBFInterpolator")
def radial_by_points() -> None:
    def f(points):
        made = interpolate.RBFInterpolator(points, points[:, 0])
        return made(np.array([[0.4, 0.5]]))[0]

    g = gradient(f, np.random.default_rng(0).random((20, 2)))
    assert np.allclose(g, 0.0, atol=1e-6)


@entry("An interpolant of triangles with a tolerance of its own", RefusedError)
def tolerance_of_triangles() -> None:
    points = np.random.default_rng(0).random((20, 2))

    def f(values):
        made = interpolate.CloughTocher2DInterpolator(points, values)
        return made(0.4, 0.5, simplex_tolerance=10.0)[0]

    gradient(f, points[:, 0] ** 2)


@tolerance_of_triangles.instead("Leave it out")
def triangles_without_a_tolerance() -> None:
    points = np.random.default_rng(0).random((20, 2))

    def f(values):
        return interpolate.CloughTocher2DInterpolator(points, values)(0.4, 0.5)[0]

    assert np.isclose(np.sum(gradient(f, points[:, 0] ** 2)), 1.0)
