"""Distributions and tests of scipy.stats."""

import numpy as np
from scipy import stats

from autodiff import gradient, ignore_derivatives
from chainrules.refused import RefusedError
from chainrules.scipy.stats.distributions.infrastructure import SumError
from chainrules.scipy.stats.quadrature import JumpError, QuadratureError
from tools.errors.entries import entry

# -- distributions ---------------------------------------------------------------------------------


@entry("An expectation of a function that jumps", JumpError)
def expectation_of_a_jump() -> None:
    def step(x):
        return 1.0 if x > 0.7 else 0.0

    gradient(lambda m: stats.expon.expect(step, loc=m), 0.3)


@expectation_of_a_jump.instead("Give the place of the jump as a limit")
def expectation_from_the_jump() -> None:
    g = gradient(lambda m: stats.expon.expect(lambda x: 1.0, loc=m, lb=0.7), 0.3)
    assert np.isclose(g, np.exp(-0.4))


@entry("An expectation that does not exist", QuadratureError)
def divergent_expectation() -> None:
    gradient(lambda m: stats.cauchy.expect(lambda x: x**2, loc=m), 0.3)


@divergent_expectation.instead("Integrate between limits")
def expectation_between_limits() -> None:
    def f(m):
        return stats.cauchy.expect(lambda x: x**2, loc=m, lb=-5.0, ub=5.0)

    step = (f(0.3 + 1e-5) - f(0.3 - 1e-5)) / 2e-5
    assert np.isclose(gradient(f, 0.3), step, rtol=1e-5)


@divergent_expectation.instead("Wrap the arguments of a constant")
def constant_expectation() -> None:
    def f(m):
        return m * stats.cauchy.expect(lambda x: x**2, loc=ignore_derivatives(m))

    gradient(f, 0.3)


@entry("A sum over integers without a lowest one", SumError)
def sum_without_a_lowest_term() -> None:
    Skellam = stats.make_distribution(stats.skellam)
    gradient(lambda mu: Skellam(mu1=mu, mu2=1.0).entropy(), 0.8)


@sum_without_a_lowest_term.instead("Sum enough terms")
def sum_of_enough_terms() -> None:
    k = np.arange(-30, 31)

    def f(mu):
        logs = stats.skellam.logpmf(k, mu, 1.0)
        return -np.sum(np.exp(logs) * logs)

    gradient(f, 0.8)


@entry("A sum over integers that converges too slowly", SumError)
def slow_sum() -> None:
    Zipf = stats.make_distribution(stats.zipf)
    gradient(lambda a: Zipf(a=a).entropy(), 1.3)


@slow_sum.instead("Wrap the parameters of a constant")
def constant_entropy() -> None:
    Zipf = stats.make_distribution(stats.zipf)
    gradient(lambda a: a * Zipf(a=ignore_derivatives(a)).entropy(), 1.3)


@entry("A mixture's logarithm of an entropy", RefusedError)
def logarithm_of_an_entropy() -> None:
    def f(m):
        parts = [stats.Normal(mu=m, sigma=1.0), stats.Normal(mu=1.0, sigma=0.5)]
        return np.real(stats.Mixture(parts, weights=[0.4, 0.6]).logentropy())

    gradient(f, 0.3)


@logarithm_of_an_entropy.instead("Take the logarithm of the entropy")
def entropy_and_logarithm() -> None:
    def f(m):
        parts = [stats.Normal(mu=m, sigma=1.0), stats.Normal(mu=1.0, sigma=0.5)]
        return np.real(np.log(stats.Mixture(parts, weights=[0.4, 0.6]).entropy() + 0j))

    gradient(f, 0.3)


# -- tests and statistics --------------------------------------------------------------------------


@entry("The power of a test", RefusedError)
def power_of_a_test() -> None:
    x = np.array([0.3, 1.2, 2.4, 0.8])

    def f(mean):
        return stats.power(stats.ttest_1samp, lambda size: x, 8, kwargs={"popmean": mean}).power

    gradient(f, 1.0)


@power_of_a_test.instead("Differentiate the statistic of the test")
def statistic_of_the_test() -> None:
    x = np.array([0.3, 1.2, 2.4, 0.8])
    gradient(lambda mean: stats.ttest_1samp(x, mean).statistic, 1.0)


@entry("A statistic of compiled code", RefusedError)
def compiled_statistic() -> None:
    x = np.arange(8.0)
    y = np.cos(x)
    gradient(lambda x: stats.multiscale_graphcorr(x[:, None], y[:, None], reps=2).statistic, x)


@compiled_statistic.instead("Take it as a constant")
def constant_statistic() -> None:
    x = np.arange(8.0)
    y = np.cos(x)

    def f(x):
        plain = ignore_derivatives(x)
        found = stats.multiscale_graphcorr(plain[:, None], y[:, None], reps=2, random_state=1)
        return np.sum(x) * found.statistic

    gradient(f, x)


@entry("anderson with a fit by a search", RefusedError)
def anderson_of_weibull() -> None:
    x = np.array([0.3, 1.2, 2.4, 0.8, 1.7, 0.6, 1.1, 1.9])
    gradient(lambda x: stats.anderson(x, "weibull_min").statistic, x)


@anderson_of_weibull.instead("Take the sample as a constant")
def anderson_of_a_constant() -> None:
    x = np.array([0.3, 1.2, 2.4, 0.8, 1.7, 0.6, 1.1, 1.9])

    def f(x):
        return np.sum(x) * stats.anderson(ignore_derivatives(x), "weibull_min").statistic

    gradient(f, x)


@entry("power_divergence by the exponent where its formula changes", RefusedError)
def special_exponent() -> None:
    counts = np.array([3.0, 5.0, 8.0])
    gradient(lambda p: stats.power_divergence(counts, lambda_=p)[0], 1.0)


@special_exponent.instead("Move the exponent a little")
def exponent_beside() -> None:
    counts = np.array([3.0, 5.0, 8.0])

    def f(p):
        return stats.power_divergence(counts, lambda_=p)[0]

    step = (f(1.001) - f(0.999)) / 2e-3
    assert np.isclose(gradient(f, 1.0 + 1e-6), step, rtol=1e-4)


@entry("Transport for which one plan is not the only best one", RefusedError)
def transport_not_unique() -> None:
    p, q = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])
    gradient(lambda u: stats.wasserstein_distance_nd(p, q, u, np.ones(2)), np.ones(2))


@transport_not_unique.instead("Take the weights as constants")
def transport_of_constant_weights() -> None:
    p, q = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])
    gradient(lambda p: stats.wasserstein_distance_nd(p, q, np.ones(2), np.ones(2)), p)
