"""Gradients of scipy.stats where they are decided: as numbers.

Outside of a support densities are constant; ties share; what is 0 at the edge of a support may have
a slope there; a spread of 0 has gradient 0.
"""

import numpy as np
import pytest
from scipy import stats

import autodiff

VALUES = [
    (stats.expon.pdf, 0.0, -1.0),
    (stats.expon.pdf, -1.0, 0.0),
    (stats.expon.logpdf, -1.0, 0.0),
    (stats.uniform.cdf, 2.0, 0.0),
    (stats.uniform.pdf, 1.0, 0.0),
    (stats.norm.ppf, 0.5, 2.5066282746310002),
    (stats.norm.logcdf, -40.0, 40.02496884720727),
    (stats.laplace.logpdf, 0.0, 0.0),
    (lambda x: stats.gennorm.logpdf(x, 1.5), 0.0, 0.0),
    (lambda x: stats.gamma.pdf(x, 1.0), 0.0, -1.0),
    (lambda x: stats.gamma.pdf(x, 2.0), 0.0, 1.0),
    (lambda x: stats.gamma.pdf(x, 3.0), 0.0, 0.0),
    (lambda x: stats.gamma.logpdf(x, 1.0), 0.0, -1.0),
    (lambda x: stats.chi2.pdf(x, 4.0), 0.0, 0.25),
    (lambda x: stats.chi2.pdf(x, 2.0), 0.0, -0.25),
    (lambda x: stats.weibull_min.pdf(x, 2.0), 0.0, 2.0),
    (lambda x: stats.maxwell.pdf(x), 0.0, 0.0),
    (lambda x: stats.beta.pdf(x, 2.0, 2.0), 0.0, 6.0),
    (lambda x: stats.beta.pdf(x, 2.0, 2.0), 1.0, -6.0),
    (lambda x: stats.beta.pdf(x, 1.0, 3.0), 0.0, -6.0),
    (lambda x: stats.beta.pdf(x, 3.0, 2.0), 0.0, 0.0),
    (lambda x: stats.beta.logpdf(x, 1.0, 1.0), 0.0, 0.0),
    (lambda x: stats.chi2.cdf(x, 3.0), 0.0, 0.0),
    # SciPy clips probabilities to [0, 1], where 0 and 1 are ties.
    (lambda m: stats.poisson.pmf(0, m), 0.0, -0.5),
    (lambda m: stats.poisson.pmf(1, m), 0.0, 0.5),
    (lambda m: stats.poisson.pmf(2, m), 0.0, 0.0),
    (lambda p: stats.binom.pmf(0, 3, p), 0.0, -1.5),
    (lambda p: stats.binom.logpmf(3, 3, p), 1.0, 3.0),
    (lambda a: stats.dgamma.median(a, 0.3), 1.3, 0.0),
    (lambda x: stats.truncnorm.logpdf(x, -1.0, 1.0), 2.0, 0.0),
    (lambda p: stats.boxcox([1.0, 2.0], p).sum(), 0.0, 0.2402265069591007),
    (lambda p: stats.yeojohnson([0.0, 1.0, -1.0], p).sum(), 0.0, 0.8765208680789913),
    (lambda p: stats.yeojohnson([0.0, 1.0, -1.0], p).sum(), 2.0, 0.8765208680789913),
    (lambda x: stats.gaussian_kde([0.0, 2.0], bw_method=1.0)(x)[0], 1.0, 0.0),
    (lambda m: stats.norm.rvs(m, 0.0, random_state=1), 1.0, 1.0),
    (lambda x: stats.rankdata([x, 2.0])[0], 2.0, 0.0),
]
OF_ARRAYS = [
    (stats.tmin, [1.0, 1.0, 2.0], [0.5, 0.5, 0]),
    (stats.tmax, [1.0, 2.0, 2.0], [0, 0.5, 0.5]),
    (lambda x: stats.mode(x).mode, [1.0, 2.0, 2.0], [0, 0.5, 0.5]),
    (stats.iqr, [1.0, 1.0, 1.0], [-0.5, 0, 0.5]),
    (stats.median_abs_deviation, [1.0, 1.0, 1.0], [0, 0, 0]),
    (stats.median_abs_deviation, [1.0, 2.0, 4.0], [-1, 1, 0]),
    (stats.sem, [1.0, 1.0], [0, 0]),
    (stats.variation, [1.0, 1.0], [0, 0]),
    (lambda x: stats.moment(x, 2), [1.0, 1.0], [0, 0]),
    (stats.circmean, [0.0, 0.0], [0.5, 0.5]),
    (stats.circvar, [0.0, 0.0], [0, 0]),
    (lambda x: stats.trim_mean(x, 0.25), [1.0, 2.0, 3.0, 4.0], [0, 0.5, 0.5, 0]),
    (lambda x: stats.pearsonr(x, [1.0, 3.0]).statistic, [4.0, 5.0], [0, 0]),
    (lambda x: stats.wasserstein_distance(x, [1.0, 2.0]), [1.0, 2.0], [0, 0]),
    (lambda x: stats.wasserstein_distance(x, [1.0, 2.0]), [1.0, 3.0], [0, 0.5]),
    (lambda x: stats.sigmaclip(x, 1.0, 1.0).lower, [1.0, 3.0], [1, 0]),
    (lambda x: stats.linregress([0.0, 1.0, 2.0], x).slope, [2.0, 5.0, 8.0], [-0.5, 0, 0.5]),
    (lambda p: stats.multinomial.pmf([0, 2], 2, p), [0.0, 1.0], [0, 2]),
    # Of a pdf at its peak, and of equal variances, whose eigenvectors have no derivative.
    (lambda x: stats.multivariate_normal.pdf(x, [0.0, 0.0]), [0.0, 0.0], [0, 0]),
    (
        lambda v: stats.multivariate_normal.logpdf([0.0, 0.0], [0.0, 0.0], v),
        [1.0, 1.0],
        [-0.5, -0.5],
    ),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f, x, expected", VALUES)
def test_gradient(f, x, expected):
    assert autodiff.gradient(f, x) == pytest.approx(expected, rel=1e-10, abs=1e-14)
    assert autodiff.pushforward(f, x)[1](1.0) == pytest.approx(expected, rel=1e-10, abs=1e-14)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f, x, expected", OF_ARRAYS)
def test_gradient_of_arrays(f, x, expected):
    x = np.array(x)
    np.testing.assert_allclose(autodiff.gradient(f, x), expected, rtol=1e-10, atol=1e-14)
    forward = [autodiff.pushforward(f, x)[1](unit) for unit in np.eye(x.size)]
    np.testing.assert_allclose(forward, expected, rtol=1e-10, atol=1e-14)
