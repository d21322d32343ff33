"""Statistics of ranks do not move: their gradients are zero, and leave other factors alone."""

import numpy as np
import pytest
from scipy import stats

import autodiff

RNG = np.random.default_rng(0)
X, Y, Z = RNG.normal(1.0, 1.0, (3, 9))
TWO = """
mannwhitneyu brunnermunzel ansari mood ranksums kendalltau spearmanr weightedtau somersd kruskal
median_test cramervonmises_2samp wilcoxon ks_2samp
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", ["statistic", "pvalue"])
@pytest.mark.parametrize("name", TWO.split())
def test_two_samples(name, part):
    f = getattr(stats, name)
    found = autodiff.gradient(lambda x: x[0] * getattr(f(x, Y), part), X)
    expected = np.zeros(9)
    expected[0] = getattr(f(X, Y), part)
    np.testing.assert_allclose(found, expected)
    _, pushed = autodiff.jvp(lambda x: x[0] * getattr(f(x, Y), part), (X,), (np.cos(X),))
    np.testing.assert_allclose(pushed, expected[0] * np.cos(X[0]))


def test_more_samples():
    for f in (stats.friedmanchisquare, stats.fligner):
        found = autodiff.gradient(lambda x, f=f: x[0] * f(x, Y, Z).statistic, X)
        np.testing.assert_allclose(found[0], f(X, Y, Z).statistic)


def test_one_sample():
    found = autodiff.gradient(lambda x: x[0] * stats.wilcoxon(x - 0.3).statistic, X)
    np.testing.assert_allclose(found[0], stats.wilcoxon(X - 0.3).statistic)


def test_rankdata():
    found = autodiff.gradient(lambda x: np.sum(stats.rankdata(x) * x), X)
    np.testing.assert_allclose(found, stats.rankdata(X))


def test_location_of_the_largest_distance():
    """It is a point of one of the samples, and moves with it."""
    found = autodiff.gradient(lambda x: stats.ks_2samp(x, Y).statistic_location, X)
    place = stats.ks_2samp(X, Y).statistic_location
    np.testing.assert_allclose(found, place == X)
