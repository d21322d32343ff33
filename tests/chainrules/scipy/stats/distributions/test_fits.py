"""Parameters of distributions that are fitted to data, by the data; histograms as distributions."""

import numpy as np
import pytest
from scipy import optimize, stats

from autodiff import gradient, pushforward
from tests.helpers import differences

DATA = np.array([3.0, 1.1, 2.4, 0.8, 1.9, 3.7, 7.0, 5.2, 4.4])
DIRECTION = np.cos(np.arange(9.0))


def precise(f, x, args=(), disp=0):
    """A search that ends close enough for differences."""
    return optimize.fmin(f, x, args=args, disp=disp, xtol=1e-10, ftol=1e-13, maxfun=9000,
                         maxiter=9000)  # fmt: skip


def total(dist, **options):
    def f(data):
        return np.sum(np.array(dist.fit(data, optimizer=precise, **options)) ** 2)

    return f


FITS = [
    ("gamma", total(stats.gamma, floc=0)),
    ("gamma from a guess", lambda d: np.sum(np.array(
        stats.gamma.fit(d, 2.0, floc=0, scale=1.0, optimizer=precise)) ** 2)),
    ("weibull", total(stats.weibull_min, floc=0)),
    ("moments", total(stats.weibull_min, floc=0, method="mm")),
    ("fixed shape", total(stats.t, fdf=5)),
    ("fixed scale", total(stats.gumbel_l, fscale=2.0)),
    ("norm", lambda d: np.sum(np.array(stats.norm.fit(d)) ** 2)),
    ("logistic", lambda d: np.sum(np.array(stats.logistic.fit(d)) ** 2)),
    ("fit_loc_scale", lambda d: np.sum(np.array(stats.gamma.fit_loc_scale(d, 2.0)))),
]  # fmt: skip


def check(f, x, rtol=1e-6, step=1e-3, direction=DIRECTION):
    expected = differences(f, x, step, order=4)
    np.testing.assert_allclose(gradient(f, x), expected, rtol=rtol, atol=rtol)
    pushed = pushforward(f, x)[1](direction[: len(x)])
    np.testing.assert_allclose(pushed, expected @ direction[: len(x)], rtol=rtol, atol=rtol)


@pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in FITS])
def test_fit_of_a_distribution(f):
    check(f, DATA, rtol=1e-4, step=2e-2)  # searches end some digits before the minimum


def from_a_guess(f, bounds, **options):
    return optimize.minimize(f, [2.0, 0.0, 1.5], bounds=bounds, method="L-BFGS-B", tol=1e-15)


@pytest.mark.parametrize("method", ["mle", "mse"])
def test_fit(method):
    def f(data):
        bounds = {"a": (0.1, 10), "scale": (0.1, 10)}
        found = stats.fit(stats.gamma, data, bounds, method=method, optimizer=from_a_guess)
        return found.params.a * found.params.scale**2

    check(f, DATA, rtol=1e-3, step=2e-2)


def test_fit_by_the_default_search():
    def f(data):
        return stats.fit(stats.norm, data, {"loc": (-5, 5), "scale": (0.1, 9)}).params.loc

    np.testing.assert_allclose(gradient(f, DATA), np.full(9, 1 / 9), rtol=1e-4)  # the mean


@pytest.mark.parametrize("statistic", ["ad", "ks", "cvm", "filliben"])
def test_goodness_of_fit(statistic):
    def f(data):
        return stats.goodness_of_fit(stats.norm, data, statistic=statistic, n_mc_samples=9,
                                     rng=np.random.default_rng(0)).statistic  # fmt: skip

    check(f, DATA)


def by_counts(x):
    d = stats.rv_histogram((x**2, np.array([0.0, 1.0, 2.0, 4.0])), density=True)
    return d.pdf(1.5) + d.cdf(2.5) * 3 + d.ppf(0.3) + d.mean() + d.std()


def by_edges(x):
    edges = np.array([0.0, x[2], x[0], x[0] + x[1]])
    d = stats.rv_histogram((np.array([1.0, 2.0, 3.0]), edges), density=False)
    return d.pdf(0.9) + d.cdf(0.95) * 3 + d.ppf(0.3) + d.mean() + d.std()


@pytest.mark.parametrize("f", [by_counts, by_edges])
def test_histogram(f):
    check(f, np.array([1.1, 0.4, 0.8]))
