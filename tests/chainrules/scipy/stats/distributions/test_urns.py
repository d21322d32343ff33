"""Noncentral hypergeometric distributions by the odds."""

import numpy as np
import pytest
from scipy import stats

from autodiff import gradient, hessian, pushforward
from tests.helpers import differences

FISHER, WALLENIUS = stats.nchypergeom_fisher, stats.nchypergeom_wallenius
X = np.array([0.8, 2.5])


def masses(dist, *numbers):
    x = np.arange(max(0, numbers[2] - numbers[0] + numbers[1]), min(numbers[1], numbers[2]) + 1)
    weights = np.cos(x)

    def f(odds):
        return weights @ dist.pmf(x, *numbers, odds[0]) + dist.pmf(x[-1], *numbers, odds[1])

    return f


CASES = [
    *[masses(dist, *numbers) for dist in (FISHER, WALLENIUS)
      for numbers in ((140, 80, 60), (10, 6, 5), (10, 4, 10), (5, 5, 3), (9, 0, 3))],
    lambda x: FISHER.mean(140, 80, 60, x[0]) + FISHER.var(140, 80, 60, x[1]),
    lambda x: WALLENIUS.mean(140, 80, 60, x[0]) + WALLENIUS.std(140, 80, 60, x[1]),
    lambda x: np.sum(FISHER.mean(np.array([14, 20]), 8, 6, x)),
    lambda x: FISHER.cdf(45, 140, 80, 60, x[0]) + WALLENIUS.logpmf(45, 140, 80, 60, x[1]),
    lambda x: np.sum(WALLENIUS.sf(np.array([3, 4]), 14, 8, 6, x)),
]  # fmt: skip


@pytest.mark.parametrize("f", CASES)
def test_both_modes(f):
    expected = differences(f, X, 1e-3, order=4)
    np.testing.assert_allclose(gradient(f, X), expected, rtol=1e-7, atol=1e-9)
    direction = np.array([0.3, -1.0])
    np.testing.assert_allclose(
        pushforward(f, X)[1](direction), expected @ direction, rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize("dist", [FISHER, WALLENIUS])
def test_second_derivatives(dist):
    f = masses(dist, 14, 8, 6)
    expected = np.stack(
        [differences(lambda x, i=i: gradient(f, x)[i], X, 1e-3, order=4) for i in range(2)]
    )
    np.testing.assert_allclose(hessian(f, X), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dist", [FISHER, WALLENIUS])
def test_masses_that_underflow(dist):
    def f(odds):
        return dist.entropy(1400, 800, 600, odds)

    step = (f(0.5 + 1e-4) - f(0.5 - 1e-4)) / 2e-4
    np.testing.assert_allclose(gradient(f, 0.5), step, rtol=1e-4)


def test_large_numbers():
    def f(odds):
        return WALLENIUS.logpmf(29_500, 100_000, 50_000, 60_000, odds)

    step = (f(1.0 + 1e-4) - f(1.0 - 1e-4)) / 2e-4
    np.testing.assert_allclose(gradient(f, 1.0), step, rtol=1e-5)
