import fractions
import statistics
import sys

import numpy as np
import pytest

import autodiff
import chainrules  # noqa: F401  # registers the rules
from chainrules.refused import RefusedError
from chainrules_core.testing import check_rule

X = [0.4, 1.7, 0.9, 2.3]
Y = [1.3, 0.2, 0.8, 1.1]
A = np.array(X)
W = [2.0, 1.0, 0.5, 3.0]
OF_DATA = [
    statistics.mean, statistics.fmean, statistics.geometric_mean, statistics.harmonic_mean,
    statistics.variance, statistics.stdev, statistics.pvariance, statistics.pstdev,
]  # fmt: skip
WITH_MEAN = [statistics.variance, statistics.stdev, statistics.pvariance, statistics.pstdev]
WEIGHTED = [statistics.fmean, statistics.harmonic_mean]
PAIRED = [statistics.covariance, statistics.correlation, statistics.linear_regression]


@pytest.mark.parametrize("f", OF_DATA)
@pytest.mark.parametrize("data", [X, tuple(X), A, A[::-1], [2.0, 3, 1.5], X[:2]])
def test_of_data(f, data):
    check_rule(f, data)


@pytest.mark.parametrize("f", WEIGHTED)
@pytest.mark.parametrize("data, weights", [(X, W), (A, np.array(W)), (X, tuple(W))])
def test_weighted(f, data, weights):
    check_rule(f, data, weights)


@pytest.mark.parametrize("f", WITH_MEAN)
@pytest.mark.parametrize("data, mean", [(X, 1.2), (A, 0.9), (tuple(X), np.float64(2.5))])
def test_with_a_given_mean(f, data, mean):
    check_rule(f, data, mean)


@pytest.mark.parametrize("f", PAIRED)
@pytest.mark.parametrize("x, y", [(X, Y), (A, np.array(Y)), (tuple(X), Y), (X[:2], Y[:2])])
def test_paired(f, x, y):
    check_rule(f, x, y)


def test_line_through_the_origin():
    check_rule(statistics.linear_regression, X, Y, fkwargs={"proportional": True})


@pytest.mark.skipif(sys.version_info < (3, 12), reason="ranks came with Python 3.12")
def test_ranks():
    check_rule(statistics.correlation, X, Y, fkwargs={"method": "ranked"})


@pytest.mark.parametrize("p, mu, sigma", [(0.3, 0.5, 1.2), (0.999, -2.0, 0.1), (1e-4, 0.0, 3.0)])
def test_inverse_of_the_normal_distribution(p, mu, sigma):
    check_rule(statistics._normal_dist_inv_cdf, p, mu, sigma)


V = np.array([0.4, 1.7, 0.9, 2.3])
NORMAL = statistics.NormalDist


@pytest.mark.parametrize(
    "f",
    [
        *[lambda x, f=f: f(x) * x for f in OF_DATA],
        *[lambda x, f=f: f(list(x)) * x for f in OF_DATA],
        *[lambda x, f=f: f([x[0], x[1], 1.5]) * x for f in OF_DATA],
        *[lambda x, f=f: f(a * a for a in x) * x for f in OF_DATA],
        *[lambda x, f=f: f(x, x[0] * 0.5) * x for f in WITH_MEAN],
        *[lambda x, f=f: f(list(x), None) * x for f in WITH_MEAN],
        lambda x: statistics.fmean(list(x), None) * statistics.harmonic_mean(x, weights=None) * x,
        lambda x: statistics.variance(list(x), xbar=x[1]) * x,
        lambda x: statistics.pvariance(data=list(x), mu=x[1]) * x,
        *[lambda x, f=f: f(list(x), weights=[1.0, x[0], 2.0, x[3]]) * x for f in WEIGHTED],
        lambda x: statistics.covariance(list(x), list(x * x)) * x,
        lambda x: statistics.correlation(list(x), list(np.sin(x))) * x,
        lambda x: statistics.linear_regression(x, np.sin(x)).slope * x,
        lambda x: statistics.linear_regression(x, np.sin(x)).intercept * x,
        lambda x: statistics.linear_regression(Y, list(x), proportional=True)[0] * x,
        lambda x: statistics.median(x) * x,
        lambda x: statistics.median_low(list(x)) * statistics.median_high(list(x)) * x,
        lambda x: statistics.median_grouped(list(x), x[0]) * x,
        lambda x: np.array(statistics.quantiles(list(x), n=5)),
        lambda x: np.array(statistics.quantiles(list(x), method="inclusive")),
        lambda x: NORMAL(x[0], x[1]).pdf(x[2]) * x,
        lambda x: NORMAL(x[0], x[1]).cdf(x[2]) * x,
        lambda x: NORMAL(x[0], x[1]).inv_cdf(x[0]) * x,
        lambda x: NORMAL(x[0], x[1]).zscore(x[2]) * x,
        lambda x: NORMAL(x[0], x[1]).overlap(NORMAL(x[2], 1.0)) * x,
        lambda x: np.array(NORMAL(x[0], x[1]).quantiles(3)),
        lambda x: NORMAL.from_samples(x).stdev * x,
        lambda x: NORMAL.from_samples(list(x)).mean * x,
    ],
)
def test_engine(f, check_engine):
    check_engine(f, V)


@pytest.mark.parametrize("f", [*OF_DATA, *WITH_MEAN])
def test_the_value_is_that_of_the_plain_call(f):
    data = np.random.default_rng(5).random(101).tolist()
    assert autodiff.value_and_gradient(f, data)[0] == f(data)


@pytest.mark.parametrize("f", [statistics.mode, statistics.multimode])
def test_the_most_common_value_is_refused(f):
    with pytest.raises(RefusedError, match="found by equality"):
        autodiff.gradient(lambda x: f([x, 1.0, 1.0]) * 1.0, 2.0)


def test_fractions_among_the_data_are_refused():
    with pytest.raises(RefusedError, match="Convert them to floats"):
        autodiff.gradient(lambda x: statistics.mean([x, fractions.Fraction(1, 3)]), 2.0)
