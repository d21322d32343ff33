"""Methods where SciPy has another formula, or a kink that cancels, at one point."""

import numpy as np
import pytest
from scipy import stats

from autodiff import gradient, value_and_gradient

SIDES = [
    (stats.gennorm, (1.3,)),
    (stats.gennorm, (1.0,)),
    (stats.dweibull, (1.0,)),
    (stats.dweibull, (2.0,)),
    (stats.genlogistic, (0.4,)),
    (stats.laplace, ()),
]


def check(f, *args):
    """Compare a gradient with differences, and the value with that of SciPy."""
    h = 1e-5
    steps = h * np.eye(len(args))
    expected = [(f(*np.add(args, step)) - f(*np.subtract(args, step))) / (2 * h) for step in steps]
    y, found = value_and_gradient(f, *args)
    assert y == pytest.approx(f(*args), rel=1e-15)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dist, shapes", SIDES)
@pytest.mark.parametrize("x", [0.0, -0.0, 0.7, -0.7])
@pytest.mark.parametrize("name", ["cdf", "sf", "logcdf", "logsf"])
def test_distribution_functions_at_their_centre(dist, shapes, x, name):
    check(lambda x, loc, *s: getattr(dist, name)(x, *s, loc=loc, scale=1.7), x, 0.0, *shapes)


@pytest.mark.parametrize(
    "dist, shape",
    [(stats.gennorm, 2.0), (stats.gennorm, 3.0), (stats.dgamma, 3.0), (stats.dweibull, 3.0)],
)
@pytest.mark.parametrize("x", [0.0, -0.0, 0.4])
def test_curvature_of_densities(dist, shape, x):
    def slope(x):
        return gradient(lambda x: dist.pdf(x, shape), x)

    h = 1e-4
    check(lambda x, shape: dist.pdf(x, shape), x, shape)
    assert gradient(slope, x) == pytest.approx((slope(x + h) - slope(x - h)) / (2 * h), abs=1e-3)


@pytest.mark.parametrize("x", [0.0, 0.7, -0.7])
def test_generalised_logistic_density(x):
    check(lambda x, c: stats.genlogistic.pdf(x, c), x, 0.4)
    check(lambda x, c: stats.genlogistic.logpdf(x, c), x, 0.4)


@pytest.mark.parametrize("q", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("name", ["ppf", "isf"])
def test_quantiles_at_the_centre(q, name):
    check(lambda q, beta: getattr(stats.gennorm, name)(q, beta), q, 1.3)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("loc", [0.0, 0.3])
def test_moments_by_location(order, loc):
    """SciPy has a shorter formula for the location 0."""
    for dist, shapes in ((stats.norm, ()), (stats.gamma, (2.0,)), (stats.expon, ())):
        check(
            lambda loc, scale, *s, dist=dist: dist.moment(order, *s, loc=loc, scale=scale) / 100,
            loc,
            1.3,
            *shapes,
        )
    check(lambda loc, mu: stats.poisson.moment(order, mu, loc=loc) / 100, loc, 2.0)
    check(lambda loc: stats.norm(loc=loc).moment(order), loc)


def test_moments_of_arrays():
    loc, a = np.array([0.0, 1.0]), np.array([[2.0], [3.0]])
    bars = gradient(lambda loc, a: np.sum(stats.gamma.moment(3, a, loc=loc)), loc, a)
    alone = [
        [gradient(lambda loc, a: stats.gamma.moment(3, a, loc=loc), v, u) for v in loc]
        for u in a[:, 0]
    ]
    np.testing.assert_allclose(bars[0], np.sum(alone, axis=0)[:, 0])
    np.testing.assert_allclose(bars[1][:, 0], np.sum(alone, axis=1)[:, 1])
