"""scipy.interpolate: made from values and read at places."""

import numpy as np
from scipy import interpolate

from benchmarks.samples import reals, sample, uniform

X = np.sort(uniform(0.0, 10.0, 200)) + np.arange(200.0)
Y = reals(200)
AT = uniform(2.0, 198.0, 5000, seed=3)
POINTS, VALUES = uniform(0.0, 1.0, 300, 2), reals(300)
PLACES = uniform(0.2, 0.8, 2000, 2, seed=4)
GRID = (np.arange(40.0), np.arange(50.0))
IMAGE = reals(40, 50)
IN_GRID = uniform(3.0, 30.0, 2000, 2, seed=5)


def read(make):
    """Return a function that makes an interpolant and reads it."""

    def made_and_read(x, y, at):
        return make(x, y)(at)

    made_and_read.__name__ = made_and_read.__qualname__ = make.__name__
    made_and_read.__module__ = "scipy.interpolate"
    return made_and_read


def by_fitpack(x, y, at):
    """A spline by FITPACK's functions."""
    return interpolate.splev(at, interpolate.splrep(x, y))


def on_grid(values, at):
    """Linear interpolation on a grid."""
    return interpolate.RegularGridInterpolator(GRID, values)(at)


def by_triangles(values, at):
    """Linear interpolation in triangles."""
    return interpolate.griddata(POINTS, values, at)


def radial(values, at):
    """Radial basis functions."""
    return interpolate.RBFInterpolator(POINTS, values)(at)


SAMPLES = [
    sample(read(interpolate.CubicSpline), X, Y, AT),
    sample(read(interpolate.PchipInterpolator), X, Y, AT),
    sample(read(interpolate.Akima1DInterpolator), X, Y, AT),
    sample(read(interpolate.make_interp_spline), X, Y, AT),
    sample(read(interpolate.make_smoothing_spline), X, Y, AT),
    sample(read(interpolate.interp1d), X, Y, AT),
    sample(read(interpolate.BarycentricInterpolator), X[:20], Y[:20], AT[:200]),
    sample(read(interpolate.KroghInterpolator), X[:12], Y[:12], AT[:200]),
    sample(by_fitpack, X, Y, AT),
    sample(on_grid, IMAGE, IN_GRID),
    sample(by_triangles, VALUES, PLACES),
    sample(radial, VALUES, PLACES[:500]),
    sample(np.interp, AT, X, Y),
]
