"""Gradients of the standard library's statistics where they are decided: as numbers.

A deviation of zero has gradient 0, a harmonic mean with zeros follows the zeros, and exact sums
have no matter with size.
"""

import math
import statistics

import numpy as np
import pytest

import autodiff

VALUES = [
    (statistics.stdev, [2.0, 2.0], [0, 0]),
    (statistics.stdev, [2.0, 2.0, 2.0], [0, 0, 0]),
    (statistics.pstdev, [2.0], [0]),
    (statistics.pstdev, [-1.0, -1.0], [0, 0]),
    (statistics.stdev, [0.0, 2.0], [-math.sqrt(0.5), math.sqrt(0.5)]),
    (statistics.pstdev, [0.0, 2.0], [-0.5, 0.5]),
    (statistics.variance, [2.0, 2.0], [0, 0]),
    (statistics.variance, [0.0, 1.0, 5.0], [-2, -1, 3]),
    (statistics.pvariance, [3.0], [0]),
    (statistics.pvariance, [0.0, 2.0], [-1, 1]),
    (lambda x: statistics.variance(x, x[0]), [1.0, 3.0], [-4, 4]),
    (statistics.mean, [5.0], [1]),
    (statistics.mean, [1e308, 1e308], [0.5, 0.5]),
    (statistics.fmean, [1e16, 1.0, -1e16], [1 / 3] * 3),
    (lambda x: statistics.fmean(x, [1, 0]), [2.0, 7.0], [1, 0]),
    (statistics.geometric_mean, [4.0, 9.0], [0.75, 1 / 3]),
    (statistics.harmonic_mean, [5.0], [1]),
    (statistics.harmonic_mean, [2.0, 2.0], [0.5, 0.5]),
    (statistics.harmonic_mean, [0.0, 2.0], [2, 0]),
    (statistics.harmonic_mean, [0.0, 0.0], [0.5, 0.5]),
    (lambda x: statistics.harmonic_mean(x, [1, 3]), [0.0, 2.0], [4, 0]),
    (lambda w: statistics.harmonic_mean([1.0, 2.0], w), [0.0, 1.0], [-2, 0]),
    (statistics.median, [3.0, 1.0, 2.0], [0, 0, 1]),
    (statistics.median, [3.0, 1.0], [0.5, 0.5]),
    (statistics.median_low, [3.0, 1.0], [0, 1]),
    (statistics.median_high, [3.0, 1.0], [1, 0]),
    (lambda x: statistics.quantiles(x, n=2)[0], [3.0, 1.0, 2.0], [0, 0, 1]),
    (lambda x: statistics.covariance(x, [1.0, 3.0]), [5.0, 5.0], [-1, 1]),
    (lambda x: statistics.correlation(x, [1.0, 3.0]), [4.0, 5.0], [0, 0]),
    (lambda y: statistics.linear_regression([0.0, 1.0], y).slope, [2.0, 5.0], [-1, 1]),
    (lambda y: statistics.linear_regression([0.0, 1.0], y).intercept, [2.0, 5.0], [1, 0]),
    (lambda x: statistics.linear_regression(x, [2.0, 5.0]).slope, [0.0, 1.0], [3, -3]),
    (lambda x: statistics.linear_regression(x, [2.0, 5.0]).intercept, [0.0, 1.0], [-3, 0]),
    (lambda x: statistics.NormalDist(x[0], x[1]).inv_cdf(0.5), [1.0, 2.0], [1, 0]),
    (lambda x: statistics.NormalDist(x[0], x[1]).cdf(1.0), [1.0, 2.0], [-0.19947114020071635, 0]),
    (lambda x: math.fsum(v for v in x), [1e308, 1.0], [1, 1]),
    (lambda x: math.prod(v for v in x), [0.0, 3.0], [3, 0]),
]


@pytest.mark.parametrize("f, x, expected", VALUES)
def test_gradient(f, x, expected):
    np.testing.assert_allclose(autodiff.gradient(f, x), expected, rtol=1e-12, atol=1e-14)
    forward = [autodiff.pushforward(f, x)[1](list(unit)) for unit in np.eye(len(x))]
    np.testing.assert_allclose(forward, expected, rtol=1e-12, atol=1e-14)
