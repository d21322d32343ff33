"""Draws are loc + scale z; discrete quantiles and draws do not move."""

import numpy as np
import pytest
from scipy import stats

import autodiff
from chainrules.refused import RefusedError

M, S = 0.3, 1.2
OWN = [
    ("norm", ()),
    ("gamma", (2.1,)),
    ("beta", (2.1, 0.7)),
    ("t", (4.3,)),
    ("weibull_min", (1.3,)),
    ("vonmises", (1.3,)),
    ("genextreme", (0.1,)),
    ("crystalball", (2.0, 3.0)),
]


@pytest.mark.parametrize("name, shapes", OWN)
def test_location_and_scale(name, shapes):
    f = getattr(stats, name).rvs

    def draw(m, s):
        return np.sum(f(*shapes, m, s, size=3, random_state=1) * np.array([1.0, 2.0, -1.0]))

    z = np.sum(f(*shapes, size=3, random_state=1) * np.array([1.0, 2.0, -1.0]))
    np.testing.assert_allclose(autodiff.gradient(draw, M, S), (2.0, z))
    np.testing.assert_allclose(autodiff.jvp(draw, (M, S), (0.5, 2.0))[1], 1.0 + 2 * z)
    assert autodiff.value_and_gradient(draw, M, S)[0] == draw(M, S)


@pytest.mark.parametrize(
    "f",
    [
        lambda m: stats.norm.rvs(m, 2.0, 5, random_state=1),
        lambda m: stats.norm.rvs(loc=m, scale=[1.0, 2.0], random_state=np.random.default_rng(1)),
        lambda m: stats.gamma(2.0, scale=m).rvs(size=(2, 3), random_state=1),
        lambda m: stats.norm.rvs([[m, 1.0], [2.0, m]], size=(2, 2), random_state=1),
        lambda m: stats.expon.rvs(m, random_state=1),
        lambda m: stats.weibull_min.rvs(m, size=3, random_state=1),
        lambda m: stats.norm.rvs(loc=m, scale=0.0, size=2, random_state=1),
    ],
)
def test_forms(f, check_traced):
    check_traced(f, 1.3)


@pytest.mark.parametrize(
    "f",
    [
        lambda p: stats.gamma.rvs(p, random_state=1),
        lambda p: stats.poisson.rvs(p, random_state=1) * 1.0,
    ],
)
def test_refused(f):
    with pytest.raises(RefusedError):
        autodiff.gradient(f, 1.3)


def test_out_of_the_domain():
    with pytest.raises(ValueError, match="Domain error"):
        autodiff.gradient(lambda s: stats.norm.rvs(0.0, s, random_state=1), -1.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda p: stats.binom.ppf(0.37, 5, p),
        lambda p: stats.betabinom(5, p, 0.6).ppf(0.37),
        lambda p: stats.skellam.median(p, 0.8),
        lambda p: stats.zipf(p + 3).isf(0.2),
        lambda p: stats.poisson.rvs(2.0, size=2, loc=p, random_state=1) * 1.0,
    ],
)
def test_constant(f):
    assert autodiff.gradient(lambda p: p * np.sum(f(p)), 0.3) == np.sum(f(0.3))
    assert autodiff.jvp(lambda p: p * np.sum(f(p)), (0.3,), (2.0,))[1] == 2 * np.sum(f(0.3))


@pytest.mark.parametrize(
    "f, args",
    [
        (lambda d, c: stats.nct.stats(d, c, moments="mvsk"), (14.0, 0.24)),
        (lambda a, b, c: stats.ncf.stats(a, b, c, moments="mvsk"), (27.0, 29.0, 0.4)),
        (lambda n, p: stats.nbinom.stats(n, p, moments="mvsk"), (4.4, 0.3)),
        (lambda a: stats.zipfian.stats(a, 15, moments="mvsk"), (0.75,)),
        (lambda p: [stats.binom(5, p).stats("mv"), stats.binom.entropy(5, p)], (0.3,)),
        (lambda a, b: stats.betanbinom.expect(args=(5, a, b)), (9.3, 1.0)),
        (lambda p: stats.poisson_binom(p).logpmf([0, 2]), (np.array([0.2, 0.3, 0.6]),)),
        (lambda p: stats.poisson_binom.cdf(1, [p, 0.3, 0.6]), (0.2,)),
    ],
)
def test_moments(f, args, check_traced):
    check_traced(f, *args, rtol=1e-5)
