"""Distributions of the newer kind by points and parameters, against differences."""

import math

import numpy as np
import pytest
from scipy import stats

import autodiff
from chainrules.refused import RefusedError

# Discrete distributions, and those made of any class, came together.
newer = pytest.mark.skipif(
    not hasattr(stats, "Binomial"),
    reason="SciPy 1.15 has no Binomial, and makes no distributions of a class",
)
P = np.array([0.2, 1.3])
OF_X = "pdf logpdf cdf logcdf ccdf logccdf"
OF_P = "icdf iccdf ilogcdf ilogccdf"
MOMENTS = "mean median variance standard_deviation entropy"
MORE = "skewness kurtosis mode"
Normal, Uniform = stats.Normal, stats.Uniform
Gamma, Weibull = map(stats.make_distribution, (stats.gamma, stats.weibull_min))


class Decay:
    """What make_distribution makes a class of."""

    __make_distribution_version__ = "1.16.0"

    @property
    def parameters(self):
        return {"a": {"endpoints": (0, np.inf)}}

    @property
    def support(self):
        return {"endpoints": (0, np.inf)}

    def pdf(self, x, a):
        return a * np.exp(-a * x)


def normal(p):
    return Normal(mu=p[0], sigma=p[1])


def between(p):
    return Uniform(a=p[0], b=p[0] + p[1])


def mixture(p):
    return stats.Mixture([normal(p), Normal(mu=1.0, sigma=p[1])], weights=[p[0], 1 - p[0]])


CASES = [
    ("Normal", normal, f"{OF_X} {OF_P} {MOMENTS} {MORE}"),
    ("Uniform", between, f"{OF_X} {OF_P} {MOMENTS} skewness kurtosis"),
    ("Logistic", lambda p: stats.Logistic() * p[1] + p[0], f"{OF_X} {OF_P} {MOMENTS}"),
    ("Gamma", lambda p: Gamma(a=p[1]), f"{OF_X} {OF_P} {MOMENTS} {MORE}"),
    ("Weibull", lambda p: Weibull(c=p[1]), f"pdf cdf icdf {MOMENTS}"),
    ("shifted", lambda p: p[1] * Gamma(a=2.2) + p[0], f"{OF_X} {OF_P} {MOMENTS} {MORE}"),
    ("mirrored", lambda p: (p[1] - normal(p)) / 2, f"{OF_X} {MOMENTS}"),
    ("abs", lambda p: stats.abs(normal(p)), f"{OF_X} mean entropy"),
    ("exp", lambda p: stats.exp(Normal(mu=p[0], sigma=p[1] / 2)), f"{OF_X} icdf variance"),
    ("log", lambda p: stats.log(between(p)), f"{OF_X} icdf {MOMENTS}"),
    ("power", lambda p: between(p) ** 2, "logpdf cdf icdf mean entropy"),
    ("inverse", lambda p: 1 / between(p), "logpdf logcdf iccdf mean entropy"),
    ("truncate", lambda p: stats.truncate(normal(p), -1.0, p[1]), f"{OF_X} icdf mean entropy"),
    ("order", lambda p: stats.order_statistic(normal(p), n=5, r=3), f"{OF_X} icdf mean"),
    ("mixture", mixture, f"{OF_X} {OF_P} {MOMENTS} mode"),
]
ROWS = [(name, make, method) for name, make, names in CASES for method in names.split()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, make, method", ROWS)
def test_method(name, make, method, check_traced):
    if method in OF_X.split() or method in OF_P.split():
        x = np.log(0.45) if method.startswith("il") else 0.45
        x = {"log": -0.2, "inverse": 1.2}.get(name, x) if method in OF_X.split() else x
        check_traced(lambda p, x: getattr(make(p), method)(x), P, x, rtol=1e-5)
    else:
        rtol = 1e-4 if method == "mode" else 1e-5  # which SciPy finds to a few digits
        check_traced(lambda p: getattr(make(p), method)(), P, rtol=rtol)


DECAY = stats.make_distribution(Decay()) if hasattr(stats, "Binomial") else None

OTHERS = {
    "moment": lambda p: [normal(p).moment(3), normal(p).moment(4, kind="central")],
    "moment of a mixture": lambda p: [mixture(p).moment(2), mixture(p).skewness()],
    "standardized": lambda p: Gamma(a=p[1]).moment(3, kind="standardized"),
    "between": lambda p: normal(p).cdf(p[0] - 0.3, p[1]),
    "arrays": lambda p: Normal(mu=p, sigma=[1.0, 2.0]).logpdf([[0.3], [0.4]]),
    "support": lambda p: between(p).support(),
    "sample": lambda p: [normal(p).sample(3, rng=1), between(p).sample(2, rng=1)],
    "sample by inversion": lambda p: Weibull(c=p[1]).sample(3, rng=1),
    "density alone": lambda p: [DECAY(a=p[1]).cdf(0.3), DECAY(a=p[1]).icdf(0.3)],
    "density alone, moments": lambda p: [DECAY(a=p[1]).mean(), DECAY(a=p[1]).entropy()],
    "constant": lambda p: Normal(mu=0.1, sigma=1.2).logcdf(p),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other(name, check_traced):
    check_traced(OTHERS[name], P, rtol=1e-5)


@pytest.mark.parametrize(
    "method", ["pmf", "logpmf", "cdf", "ccdf", "logcdf", "mean", "variance", "entropy"]
)
def test_binomial(method, check_traced):
    def f(p):
        found = getattr(stats.Binomial(n=5, p=p), method)
        return found(2) if method in "pmf logpmf cdf ccdf logcdf" else found()

    check_traced(f, 0.3)


@newer
def test_quantiles_of_binomial_do_not_move():
    assert autodiff.gradient(lambda p: stats.Binomial(n=5, p=p).median() * 1.0, 0.3) == 0.0


def test_modes_in_closed_form():
    """Of Weibull's distribution ((c-1)/c)^(1/c), of the gamma distribution a - 1."""
    expected = autodiff.gradient(lambda c: ((c - 1) / c) ** (1 / c), 1.7)
    assert autodiff.gradient(lambda c: Weibull(c=c).mode(), 1.7) == pytest.approx(expected)
    assert autodiff.gradient(lambda a: Gamma(a=a).mode(), 1.7) == pytest.approx(1.0)
    twice = autodiff.gradient(lambda a: autodiff.gradient(lambda b: Gamma(a=b).mode(), a), 1.7)
    assert twice == pytest.approx(0.0, abs=1e-6)


@newer
@pytest.mark.parametrize(
    "f, expected",
    [
        # The median of exp(-a x) is log 2 / a, its entropy 1 - log a.
        (lambda a: DECAY(a=a).icdf(0.5), lambda a: 2 * math.log(2) / a**3),
        (lambda a: DECAY(a=a).entropy(), lambda a: 1 / a**2),
        (lambda a: DECAY(a=a).mean(), lambda a: 2 / a**3),
    ],
)
def test_twice(f, expected):
    found = autodiff.gradient(lambda a: autodiff.gradient(f, a), 1.3)
    assert found == pytest.approx(expected(1.3), rel=1e-8)


@pytest.mark.parametrize(
    "f",
    [
        lambda p: Gamma(a=p[1]).sample(3, rng=1),
        lambda p: mixture(p).sample(3, rng=1),
        lambda p: np.real(mixture(p).logentropy()),
    ],
)
def test_refused(f):
    with pytest.raises(RefusedError):
        autodiff.gradient(lambda p: np.sum(f(p)), P)
