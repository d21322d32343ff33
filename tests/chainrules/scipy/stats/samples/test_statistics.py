"""Statistics and multivariate normal densities against differences, in both modes."""

import numpy as np
import pytest
from scipy import stats

import autodiff
from chainrules.refused import RefusedError

RNG = np.random.default_rng(0)
X, Y = RNG.normal(1.0, 1.0, (2, 9))
P, Q = RNG.uniform(0.3, 2.0, (2, 9))
POINT = np.array([0.2, 0.5, -0.4])
COV = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.0]])


def both(a):
    return (a + np.transpose(a)) / 2


def normal_at(x, m, c):
    return stats.multivariate_normal.logpdf(x, m, both(c))


def frozen_at(x, m, c):
    return stats.multivariate_normal(m, both(c)).pdf(x)


def slope(f, args, i, index, h=1e-5):
    def at(t):
        moved = [np.array(a) for a in args]
        moved[i][index] += t
        return f(*moved)

    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


CASES = {
    "pearsonr": (lambda a, b: stats.pearsonr(a, b).statistic, X, Y),
    "pearsonr p": (lambda a, b: stats.pearsonr(a, b).pvalue, X, Y),
    "f_oneway": (lambda a, b: stats.f_oneway(a, b).pvalue, X, Y),
    "ttest_ind": (lambda a, b: stats.ttest_ind(a, b).pvalue, X, Y),
    "zscore": (lambda a: np.sum(stats.zscore(a) ** 3), X),
    "gmean": (lambda a, w: stats.gmean(a, weights=w), P, Q),
    "hmean": (lambda a, w: stats.hmean(a, weights=w), P, Q),
    "pmean": (lambda a: stats.pmean(a, 1.7), P),
    "skew": (lambda a: stats.skew(a, bias=False), X),
    "kurtosis": (lambda a: stats.kurtosis(a, 0, False), X),
    "trim_mean": (lambda a: stats.trim_mean(a, 0.2), X),
    "circmean": (lambda a: stats.circmean(a, high=3, low=-1), X),
    "entropy": (lambda a, b: stats.entropy(a, b), P, Q),
    "linregress": (lambda a, b: stats.linregress(a, b).stderr, X, Y),
    "theilslopes": (lambda a, b: stats.theilslopes(b, a).slope, X, Y),
    "wasserstein": (lambda a, b: stats.wasserstein_distance(a, b), X, P),
    "boxcox_llf": (lambda a: stats.boxcox_llf(0.7, a), P),
    "mvn": (normal_at, POINT, POINT / 2, COV),
    "mvn matrix alone": (lambda c: stats.multivariate_normal.logpdf(POINT, None, both(c)), COV),
    "mvn pdf": (lambda x, m: stats.multivariate_normal.pdf(x, m, COV), POINT, POINT / 2),
    "mvn frozen": (frozen_at, POINT, POINT / 2, COV),
    "mvn entropy": (lambda c: stats.multivariate_normal.entropy(None, both(c)), COV),
    "mvn frozen entropy": (lambda c: stats.multivariate_normal(None, both(c)).entropy(), COV),
}


@pytest.mark.parametrize("name", CASES)
def test_statistic(name):
    f, *args = CASES[name]
    found = autodiff.gradient(f, *args)
    found = found if len(args) > 1 else (found,)
    dots = [RNG.normal(size=np.shape(a)) for a in args]
    total = 0.0
    for i, a in enumerate(args):
        expected = np.zeros(np.shape(a))
        for index in np.ndindex(expected.shape):
            expected[index] = slope(f, args, i, index)
        np.testing.assert_allclose(found[i], expected, rtol=1e-5, atol=1e-7)
        total = total + np.sum(expected * dots[i])
    pushed = autodiff.jvp(f, tuple(args), tuple(dots))[1]
    np.testing.assert_allclose(pushed, total, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: stats.multiscale_graphcorr(a[:, None], np.cos(a)[:, None], reps=2).statistic,
    ],
)
def test_refused(f):
    with pytest.raises(RefusedError):
        autodiff.gradient(f, X)
