"""Discrete distributions by their real parameters, against finite differences."""

import numpy as np
import pytest
from scipy import stats

import autodiff

METHODS = ["pmf", "logpmf", "cdf", "sf", "logcdf", "logsf"]
# (name, shapes, number of events, positions of the real shapes)
DISTRIBUTIONS = [
    ("bernoulli", (0.3,), 0, [0]),
    ("binom", (5, 0.4), 2, [1]),
    ("betabinom", (5, 2.3, 0.63), 2, [1, 2]),
    ("betanbinom", (5, 9.3, 1.0), 3, [1, 2]),
    ("boltzmann", (1.4, 19), 3, [0]),
    ("dlaplace", (0.8,), 2, [0]),
    ("geom", (0.5,), 3, [0]),
    ("logser", (0.6,), 2, [0]),
    ("nbinom", (4.4, 0.3), 3, [0, 1]),
    ("planck", (0.51,), 2, [0]),
    ("poisson", (1.6,), 2, [0]),
    ("skellam", (1.5, 0.8), 1, [0, 1]),
    ("yulesimon", (11.0,), 2, [0]),
    ("zipf", (6.5,), 2, [0]),
    ("zipfian", (0.75, 15), 2, [0]),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, shapes, k, positions", DISTRIBUTIONS, ids=str)
def test_distribution(name, shapes, k, positions):
    for method in METHODS:
        f = getattr(getattr(stats, name), method)
        for j in positions:

            def alone(t, f=f, j=j):
                return f(k, *shapes[:j], shapes[j] + t, *shapes[j + 1 :])

            h = 1e-4 * max(abs(shapes[j]), 0.1)
            steps = [alone(i * h) for i in (1, -1, 2, -2)]
            expected = (8 * (steps[0] - steps[1]) - (steps[2] - steps[3])) / (12 * h)
            assert autodiff.gradient(alone, 0.0) == pytest.approx(expected, rel=1e-5, abs=1e-7)
            assert autodiff.jvp(alone, (0.0,), (1.0,))[1] == pytest.approx(
                expected, rel=1e-5, abs=1e-7
            )


def test_frozen():
    def loss(p):
        return np.sum(stats.binom(5, p).logpmf(np.arange(6)))

    p = 0.3
    assert autodiff.gradient(loss, p) == pytest.approx(15 / p - 15 / (1 - p))
