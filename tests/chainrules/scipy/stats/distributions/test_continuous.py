"""Every continuous distribution by x, shapes, loc and scale, against finite differences."""

import numpy as np
import pytest
from scipy import stats

import autodiff

METHODS = ["logpdf", "cdf", "logsf", "ppf"]
ALL_METHODS = ["pdf", "sf", "logcdf", "isf", *METHODS]
DISTRIBUTIONS = [
    ("alpha", (3.5705,)),
    ("anglit", ()),
    ("arcsine", ()),
    ("beta", (2.3098, 0.6269)),
    ("betaprime", (5.0, 6.0)),
    ("bradford", (0.2989,)),
    ("burr", (10.5, 4.3)),
    ("burr12", (10.0, 4.0)),
    ("cauchy", ()),
    ("chi", (78.0,)),
    ("chi2", (55.0,)),
    ("cosine", ()),
    ("crystalball", (2.0, 3.0)),
    ("dgamma", (1.1023,)),
    ("dpareto_lognorm", (3.0, 1.2, 1.5, 2.0)),
    ("dweibull", (2.0685,)),
    ("erlang", (10.0,)),
    ("expon", ()),
    ("exponpow", (2.6971,)),
    ("exponweib", (2.8924, 1.9505)),
    ("f", (29.0, 18.0)),
    ("fatiguelife", (29.0,)),
    ("fisk", (3.0858,)),
    ("foldcauchy", (4.7165,)),
    ("foldnorm", (1.9521,)),
    ("gamma", (1.9932,)),
    ("genexpon", (9.1326, 16.232, 3.282)),
    ("genextreme", (-0.1,)),
    ("gengamma", (4.4162, 3.1193)),
    ("genhalflogistic", (0.7727,)),
    ("genlogistic", (0.4119,)),
    ("gennorm", (1.2988,)),
    ("halfgennorm", (0.6748,)),
    ("genpareto", (0.1,)),
    ("gibrat", ()),
    ("gompertz", (0.9474,)),
    ("gumbel_l", ()),
    ("gumbel_r", ()),
    ("halfcauchy", ()),
    ("halflogistic", ()),
    ("halfnorm", ()),
    ("hypsecant", ()),
    ("invgamma", (4.0669,)),
    ("invgauss", (0.1455,)),
    ("invweibull", (10.58,)),
    ("jf_skew_t", (8.0, 4.0)),
    ("johnsonsb", (4.3173, 3.1838)),
    ("johnsonsu", (2.5544, 2.2482)),
    ("kappa3", (1.0,)),
    ("kstwobign", ()),
    ("landau", ()),
    ("laplace", ()),
    ("laplace_asymmetric", (2.0,)),
    ("levy", ()),
    ("levy_l", ()),
    ("loggamma", (0.4141,)),
    ("logistic", ()),
    ("loglaplace", (3.2506,)),
    ("lognorm", (0.9537,)),
    ("loguniform", (0.01, 1.25)),
    ("lomax", (1.8771,)),
    ("maxwell", ()),
    ("mielke", (10.4, 4.6)),
    ("moyal", ()),
    ("nakagami", (4.9674,)),
    ("ncf", (27.0, 27.0, 0.4158)),
    ("nct", (14.0, 0.2405)),
    ("ncx2", (21.0, 1.056)),
    ("norm", ()),
    ("pareto", (2.6217,)),
    ("pearson3", (0.1,)),
    ("powerlaw", (1.6591,)),
    ("powerlognorm", (2.1414, 0.4464)),
    ("powernorm", (4.4454,)),
    ("rayleigh", ()),
    ("rdist", (1.6,)),
    ("reciprocal", (0.01, 1.25)),
    ("rice", (0.775,)),
    ("semicircular", ()),
    ("skewcauchy", (0.5,)),
    ("skewnorm", (4.0,)),
    ("t", (2.7434,)),
    ("trapezoid", (0.2, 0.8)),
    ("triang", (0.1579,)),
    ("truncexpon", (4.6908,)),
    ("truncnorm", (-1.0979, 2.7307)),
    ("truncpareto", (1.8, 5.3)),
    ("truncweibull_min", (2.5, 0.25, 1.75)),
    ("tukeylambda", (3.1321,)),
    ("uniform", ()),
    ("vonmises", (3.9939,)),
    ("wald", ()),
    ("weibull_max", (2.8688,)),
    ("weibull_min", (1.7866,)),
    ("wrapcauchy", (0.0311,)),
    ("kappa4", (0.3, 0.2)),
    ("kappa4", (-0.3, 0.2)),
    ("kappa4", (0.3, -0.2)),
    # Where SciPy computes by another formula.
    ("kappa4", (0.0, 0.0)),
    ("kappa4", (0.3, 0.0)),
    ("kappa4", (0.0, 0.2)),
    ("genextreme", (0.0,)),
    ("genextreme", (0.2,)),
    ("genpareto", (0.0,)),
    ("genpareto", (-0.3,)),
    ("skewnorm", (0.0,)),
    ("nct", (4.0, 0.0)),
    ("vonmises", (80.0,)),
    ("beta", (1.0, 1.0)),
]
# By numerical integration, so few of the methods.
SLOW = [
    ("gausshyper", (13.8, 3.12, 2.51, 5.18), ["pdf", "cdf"]),
    ("geninvgauss", (2.3, 1.5), ["pdf", "logpdf", "cdf"]),
    ("genhyperbolic", (0.5, 1.5, -0.5), ["pdf", "logpdf", "cdf"]),
    ("norminvgauss", (1.25, 0.5), ["pdf", "cdf"]),
    ("recipinvgauss", (0.63,), ["pdf", "cdf", "sf"]),
    ("argus", (1.0,), ["pdf", "cdf"]),
    ("exponnorm", (1.5,), ["pdf", "cdf", "ppf"]),
    ("rel_breitwigner", (3.0,), ["pdf", "cdf"]),
]
# Their shape is a number of events.
BY_INTEGERS = [("irwinhall", 4), ("kstwo", 10), ("ksone", 20)]


def point(dist, method, shapes):
    if method in ("ppf", "isf"):
        return 0.37
    return 0.1 + 1.2 * float(dist.ppf(0.4, *shapes))


def difference(f, args, i):
    h = 1e-3 * max(abs(args[i]), 0.05)

    def at(t):
        return f(*args[:i], args[i] + t, *args[i + 1 :])

    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


def check(name, shapes, methods):
    dist = getattr(stats, name)
    for method in methods:
        f = getattr(dist, method)
        args = (point(dist, method, shapes), *shapes, 0.1, 1.2)
        with np.errstate(all="ignore"):
            found = autodiff.gradient(f, *args)
            expected = [difference(f, args, i) for i in range(len(args))]
            _, slope = autodiff.jvp(f, args, (1.0,) * len(args))
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            if not (name == "kappa4" and np.isnan(b)):
                assert a == pytest.approx(b, rel=3e-5, abs=3e-6), (method, i)
        assert slope == pytest.approx(sum(found), rel=1e-8, abs=1e-8), method


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, shapes", DISTRIBUTIONS, ids=str)
def test_distribution(name, shapes):
    # Where SciPy writes all of them out, or computes by another formula, all are checked.
    own = name in ("genextreme", "genpareto", "kappa4", "ncf", "ncx2", "nct", "skewnorm", "landau")
    check(name, shapes, ALL_METHODS if own else METHODS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, shapes, methods", SLOW, ids=str)
def test_slow_distribution(name, shapes, methods):
    check(name, shapes, methods)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, n", BY_INTEGERS)
@pytest.mark.parametrize("method", ["cdf", "sf", "ppf"])
def test_shapes_that_are_integers(name, n, method):
    f = getattr(getattr(stats, name), method)
    x = 0.37 if method == "ppf" else float(getattr(stats, name).ppf(0.3, n))
    found = autodiff.gradient(lambda x, scale: f(x, n, scale=scale), x, 1.2)
    expected = [difference(lambda x, s: f(x, n, scale=s), (x, 1.2), i) for i in range(2)]
    assert found == pytest.approx(expected, rel=1e-4)


X = np.array([0.3, 1.1, 2.4])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: stats.norm.logpdf(X, loc=x[0], scale=x[1]),
        lambda x: stats.norm(x[0], x[1]).logpdf(X),
        lambda x: stats.gamma.logpdf(X, x[0], scale=x[1]),
        lambda x: stats.gamma(a=x[0], scale=x[1]).cdf(X),
        lambda x: stats.t.logpdf(X, df=x[0], loc=0.2, scale=x[1]),
        lambda x: stats.beta.cdf(X / 3, x[0], x[1]),
        lambda x: stats.expon.sf(x, scale=x[::-1]),
        lambda x: stats.chi2.isf([0.1, 0.4], x),
        lambda x: stats.lognorm.ppf(0.3, x[0], scale=x),
    ],
)
def test_arrays_keywords_and_frozen(f):
    x = np.array([1.3, 0.8])

    def loss(x):
        return np.sum(f(x) * np.cos(np.arange(np.size(f(np.array([1.3, 0.8]))))))

    def slope(x):
        return np.sum(autodiff.gradient(loss, x) * np.array([0.7, -0.4]))

    for function in (loss, slope):
        expected = [
            (function(x + step) - function(x - step)) / 2e-5
            for step in (np.array([1e-5, 0]), np.array([0, 1e-5]))
        ]
        np.testing.assert_allclose(autodiff.gradient(function, x), expected, rtol=1e-5, atol=1e-6)


def test_pearson3_without_skew():
    """The first term of Edgeworth's series: φ (x³ - 3x)/6."""
    x = 0.7
    slope = autodiff.gradient(lambda s: stats.pearson3.pdf(x, s), 0.0)
    assert slope == pytest.approx(stats.norm.pdf(x) * (x**3 - 3 * x) / 6, rel=1e-8)


def test_outside_of_the_support():
    gradient = autodiff.gradient(lambda x: np.sum(stats.expon.pdf(x)), np.array([-1.0, 1.0]))
    np.testing.assert_allclose(gradient, [0, -np.exp(-1)])
