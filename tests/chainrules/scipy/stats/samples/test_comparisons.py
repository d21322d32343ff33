import numpy as np
import pytest
from scipy import stats

import autodiff
from chainrules.refused import RefusedError
from chainrules.scipy.stats.samples.comparisons import range_exceeded
from chainrules_core import NotImplementedTangentError
from chainrules_core.testing import check_rule
from chainrules_core.testing.failures import MissingDerivativeWarning

X = np.array([0.3, 1.9, -0.7, 2.4, 0.9, -1.6, 3.3, 4.2, 5.0, -2.9, 1.4, 6.1, 7.7])
Y = np.array([0.5, 2.2, -1.1, 3.7, 1.2])
P = np.array([[0.0, 0.1], [1.0, 0.3], [0.2, 1.4]])
Q = np.array([[0.5, 0.9], [1.6, 1.1], [-0.4, 0.7], [0.3, -0.8]])
U, V = np.array([0.2, 0.5, 0.4]), np.array([0.3, 0.15, 0.32, 0.23])
DISTS = ("norm", "expon", "logistic", "gumbel_r", "gumbel_l")


@pytest.mark.parametrize("n", [3, 4, 5, 8, 11, 12, 13])
def test_shapiro(n, check_modes):
    check_modes(lambda x: stats.shapiro(x)[0], X[:n])
    check_modes(lambda x: stats.shapiro(x).pvalue * 10, X[:n], twice=False)
    y, _ = autodiff.pullback(lambda x: tuple(stats.shapiro(x)), X[:n])
    np.testing.assert_allclose(y, stats.shapiro(X[:n]), rtol=1e-6)


@pytest.mark.parametrize("dist", DISTS)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_anderson(dist, check_modes):
    sample = X + 4 if dist == "expon" else X
    f = lambda x: stats.anderson(x, dist).statistic  # noqa: E731 # one of several, by its name
    if dist in ("norm", "expon"):
        check_modes(f, sample)
    else:  # SciPy's search for the parameters is not exact enough for differences of small steps
        v = np.cos(np.arange(len(X)))
        slope = (f(sample + 1e-3 * v) - f(sample - 1e-3 * v)) / 2e-3
        assert np.sum(autodiff.gradient(f, sample) * v) == pytest.approx(slope, rel=1e-3)


@pytest.mark.filterwarnings("ignore")
def test_anderson_by_a_search_is_refused():
    with pytest.raises(RefusedError, match="weibull"):
        autodiff.gradient(lambda x: stats.anderson(x, "weibull_min").statistic, X + 4)


def test_the_studentised_range():
    with pytest.warns(MissingDerivativeWarning, match="df"):
        check_rule(range_exceeded, 2.3, 3, 7, rtol=1e-5)


def test_tukey(check_modes):
    samples = X[:4], X[4:8], Y
    check_modes(lambda a, b, c: stats.tukey_hsd(a, b, c).statistic, *samples)
    check_modes(lambda a, b, c: stats.tukey_hsd(a, b, c).pvalue, *samples, twice=False)
    with pytest.raises(NotImplementedTangentError, match="degrees of freedom"):
        autodiff.gradient(lambda a: np.sum(stats.tukey_hsd(a, Y, equal_var=False).pvalue), X)


def test_dunnett(check_modes):
    def statistic(a, b, c):
        return stats.dunnett(a, b, control=c, rng=1).statistic

    check_modes(statistic, X[:4], X[4:8], Y, twice=False)
    with pytest.raises(NotImplementedTangentError, match="random numbers"):
        autodiff.gradient(lambda a: np.sum(stats.dunnett(a, control=Y, rng=1).pvalue), X)


def test_transport(check_modes):
    f = stats.wasserstein_distance_nd
    check_modes(lambda p, q: f(p, q), P, Q)
    check_modes(lambda p, q, u, v: f(p, q, u, v), P, Q, U, V)
    check_modes(lambda u: f(P, Q, u, [0.3, 0.15, 0.32, 0.23]), U)
    check_modes(lambda x, y: f(x, y), X[:4], Y)
    y, _ = autodiff.pullback(lambda p: f(p, Q, U, V), P)
    assert y == pytest.approx(f(P, Q, U, V), rel=1e-9)


def test_constant_weights_of_a_transport_that_is_not_unique():
    """They may be made in the function that is differentiated."""
    x, y = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])
    found = autodiff.gradient(
        lambda x: stats.wasserstein_distance_nd(x, y, np.ones(2), np.ones(2)), x
    )
    np.testing.assert_allclose(found, [[0.0, -0.5], [0.0, -0.5]], atol=1e-9)


def test_transport_that_is_not_unique_is_refused():
    with pytest.raises(RefusedError, match="weights"):
        autodiff.gradient(
            lambda u: stats.wasserstein_distance_nd(P, Q[:3], u, np.ones(3)), np.ones(3)
        )
