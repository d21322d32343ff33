"""Power transformations, probability plots, tests by distance and by resampling."""

import numpy as np
import pytest
from scipy import stats
from scipy.stats import contingency

import autodiff
from chainrules.refused import RefusedError

RNG = np.random.default_rng(0)
X, Y, Z = RNG.normal(1.0, 1.0, (3, 9))
P, Q = RNG.uniform(0.3, 2.0, (2, 9))
TABLE = RNG.uniform(2.0, 9.0, (3, 4))


def fields(result, names):
    return [getattr(result, name) for name in names.split()]


def squares(x, axis=-1):
    return np.mean(x**2, axis=axis)


def difference(x, y, axis=-1):
    return np.mean(x, axis=axis) - np.mean(y, axis=axis)


CASES = {
    "boxcox": (lambda x, p: stats.boxcox(x, p), P, 0.3),
    "yeojohnson": (lambda x, p: stats.yeojohnson(x, lmbda=p), X, 0.3),
    "yeojohnson of 0": (lambda x: stats.yeojohnson(x, 0.0), X),
    "yeojohnson of 2": (lambda x: stats.yeojohnson(x, 2.0), X),
    "yeojohnson_llf": (lambda p, x: stats.yeojohnson_llf(p, x), 0.3, X),
    "yeojohnson_llf of zeros": (lambda p, x: stats.yeojohnson_llf(p, x - x[0]), 0.3, X),
    "boxcox_llf": (lambda p, x: stats.boxcox_llf(p, x), 0.3, P),
    "boxcox_normplot": (lambda x: stats.boxcox_normplot(x, -1, 1, N=5), P),
    "yeojohnson_normplot": (lambda x: stats.yeojohnson_normplot(x, -1, 1, N=5), X),
    "ppcc_plot": (lambda x: stats.ppcc_plot(x, -1, 1, N=5), X),
    "probplot": (lambda x: stats.probplot(x), X),
    "probplot of shapes": (
        lambda x, s: stats.probplot(x, (s,), dist="gamma", fit=False), P, 1.7,
    ),
    "relfreq": (lambda x, w: stats.relfreq(x, 4, (-3, 5), w).frequency, X, P),
    "cumfreq": (lambda x: stats.cumfreq(x, numbins=4).binsize, X),
    "bayes_mvs": (lambda x: stats.bayes_mvs(x), X),
    "mvsdist": (lambda x: [d.mean() for d in stats.mvsdist(x)], X),
    "ecdf": (lambda x: stats.ecdf(x).cdf.quantiles, X),
    "ks_1samp": (lambda x: fields(stats.ks_1samp(x, stats.norm.cdf), "statistic pvalue"), X),
    "ks_1samp of parameters": (
        lambda x, m: fields(stats.ks_1samp(x, stats.norm.cdf, args=(m, 1.3)), "statistic pvalue"),
        X, 0.2,
    ),
    "kstest": (lambda x: fields(stats.kstest(x, "norm", alternative="less"), "statistic"), X),
    "cramervonmises": (
        lambda x, m: fields(stats.cramervonmises(x, "norm", args=(m,)), "statistic pvalue"),
        X, 0.2,
    ),
    "epps_singleton": (
        lambda x, y: fields(stats.epps_singleton_2samp(x, y), "statistic pvalue"), X, Y,
    ),
    "bootstrap": (
        lambda x: stats.bootstrap((x,), np.mean, n_resamples=20, rng=1).standard_error, X,
    ),
    "bootstrap, its interval": (
        lambda x: list(
            stats.bootstrap(
                (x,), np.mean, n_resamples=20, rng=1, method="percentile"
            ).confidence_interval
        ), X,
    ),
    "permutation_test": (
        lambda x, y: stats.permutation_test((x, y), difference, n_resamples=9, rng=1).statistic,
        X, Y,
    ),
    "monte_carlo_test": (
        lambda x: stats.monte_carlo_test(
            x, np.random.default_rng(1).normal, squares, n_resamples=9
        ).statistic, X,
    ),
    "sobol_indices": (
        lambda a: stats.sobol_indices(
            func={
                "f_A": np.outer([1, 2], a),
                "f_B": np.outer([2, 0.5], a**2),
                "f_AB": np.stack([np.outer([1, 2], a * 1.1), np.outer([0.3, 2], a**3)]),
            },
            n=8,
        ).first_order, P[:8],
    ),
    "quantile": (lambda x, p: stats.quantile(x, p), X, 0.37),
    "quantile by beta weights": (lambda x: stats.quantile(x, 0.3, method="harrell-davis"), X),
    "quantile of weights": (
        lambda x: stats.quantile(x, 0.3, weights=P, method="inverted_cdf"), X,
    ),
    "expected_freq": (lambda t: contingency.expected_freq(t), TABLE),
    "margins": (lambda t: list(contingency.margins(t)), TABLE),
    "binned_statistic": (
        lambda v: stats.binned_statistic(np.arange(9.0), v, "std", bins=3).statistic, X,
    ),
    "differential_entropy": (lambda x: stats.differential_entropy(x, method="vasicek"), X),
    "directional_stats": (
        lambda x: fields(stats.directional_stats(x), "mean_direction mean_resultant_length"),
        TABLE,
    ),
    "lmoment": (lambda x: stats.lmoment(x, order=[1, 2, 3]), X),
    "zmap": (lambda x, y: stats.zmap(x, y, ddof=1), X, Y),
    "power_divergence": (lambda x, p: stats.power_divergence(x, lambda_=p)[:], P, 0.6),
    "iqr of scale 1": (lambda x, s: stats.iqr(x, rng=(20, 70), scale=s), X, 1.0),
    "iqr of columns": (lambda x: stats.iqr(x, 0, scale="normal", keepdims=True), TABLE),
    "energy_distance": (lambda x, y, u: stats.energy_distance(x, y, u), X, Y, P),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_against_differences(name, check_traced):
    f, *args = CASES[name]
    check_traced(f, *args, step=1e-5, rtol=1e-5)


EXPONENTS = {
    "boxcox": lambda p, x: stats.boxcox(x, p),
    "boxcox_llf": lambda p, x: stats.boxcox_llf(p, x),
    "yeojohnson": lambda p, x: stats.yeojohnson(x - 1.0, p),
    "yeojohnson_llf": lambda p, x: stats.yeojohnson_llf(p, x - 1.0),
    "pmean": lambda p, x: stats.pmean(x, p),
    "pmean weighted": lambda p, x: stats.pmean([x, x**2], p, axis=1, weights=np.arange(1.0, 10)),
    "pmean of all": lambda p, x: stats.pmean([x, x**2], p, axis=None, keepdims=True),
}


@pytest.mark.parametrize("p", [-0.7, 0.0, 1.0, 2.0, 3.4])
@pytest.mark.parametrize("name", EXPONENTS)
def test_exponents(name, p, check_traced):
    """SciPy has formulas of their own for 0, 1 and 2, in which the exponent does not occur."""
    f = EXPONENTS[name]
    check_traced(f, p, P, step=1e-2, rtol=1e-7)
    check_traced(lambda p, x: autodiff.gradient(lambda p: np.sum(f(p, x) ** 2), p), p, P, step=1e-2)


@pytest.mark.parametrize("name", EXPONENTS)
def test_exponents_nearby(name):
    """Where SciPy's own values have lost digits."""

    def loss(p, x):
        return np.sum(EXPONENTS[name](p, x) ** 2)

    for p in (0.0, 2.0):
        at, near = (autodiff.gradient(loss, q, P) for q in (p, p + 1e-9))
        np.testing.assert_allclose(near[0], at[0], rtol=1e-6)
        np.testing.assert_allclose(near[1], at[1], rtol=1e-6)


@pytest.mark.parametrize(
    "fit, likelihood, data",
    [
        (lambda x: stats.boxcox_normmax(x, method="mle"), stats.boxcox_llf, P),
        (lambda x: stats.boxcox(x)[1], stats.boxcox_llf, P),
        (lambda x: stats.yeojohnson_normmax(x), stats.yeojohnson_llf, X),
        (lambda x: stats.yeojohnson(x)[1], stats.yeojohnson_llf, X),
    ],
)
def test_the_best_transformation(fit, likelihood, data):
    """It is where the slope of the likelihood l is 0: dλ/dx = -(∂²l/∂λ∂x)/(∂²l/∂λ²)."""
    best = fit(data)

    def slope(p, x):
        return autodiff.gradient(lambda p: likelihood(p, x), p)

    by_p, by_x = autodiff.gradient(slope, best, data)
    np.testing.assert_allclose(autodiff.gradient(fit, data), -by_x / by_p, rtol=1e-5)


@pytest.mark.parametrize(
    "f",
    [
        *[lambda x, p=p: stats.power_divergence(P, lambda_=p + x[0] - X[0])[0] for p in (-1, 0, 1)],
        lambda x: stats.multiscale_graphcorr(x[:, None], Y[:, None], reps=2).statistic,
        lambda x: stats.power(stats.ttest_1samp, lambda size: X, 8, kwargs={"popmean": x[0]}).power,
    ],
)
def test_refused(f):
    with pytest.raises(RefusedError):
        autodiff.gradient(lambda x: 1.0 * f(x), X)
