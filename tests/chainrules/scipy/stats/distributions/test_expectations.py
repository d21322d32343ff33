"""Expectations, entropies and moments, by differences and in closed form."""

import numpy as np
import pytest
from scipy import stats

import autodiff
from chainrules.scipy.stats.quadrature import JumpError, QuadratureError, quadrature

M, S = 0.3, 1.2


def step(x):
    return 1.0 if x > 0.7 else 0.0


CASES = {
    "mean": (lambda m, s: stats.norm.expect(loc=m, scale=s), M, S),
    "of one number": (lambda m, s: stats.norm.expect(lambda x: max(x - 0.4, 0.0), loc=m, scale=s),
                      M, S),
    "captured": (lambda m, k: stats.norm.expect(lambda x: np.cos(k * x), loc=m), M, 0.7),
    "limits": (lambda m, a, b: stats.norm.expect(lambda x: x**2, loc=m, lb=a, ub=b), M, -0.4, 1.5),
    "conditional": (
        lambda m, a: stats.norm.expect(lambda x: x**2, loc=m, lb=a, ub=1.5, conditional=True),
        M, -0.4,
    ),
    "complex": (
        lambda m: stats.norm.expect(lambda x: np.exp(1j * x), loc=m, complex_func=True), M,
    ),
    "shapes": (lambda a, s: stats.gamma.expect(np.log, args=(a,), scale=s), 0.7, S),
    "frozen": (lambda a, s: stats.gamma(a, scale=s).expect(lambda x: x**2), 0.7, S),
    "cusp": (lambda a, m: stats.dgamma.expect(lambda x: 1 / (9 + x * x), args=(a,), loc=m), 1.3, M),
    "counts": (lambda m: stats.poisson.expect(lambda k: k**2, args=(m,)), 3.1),
    "frozen counts": (lambda p: stats.binom(5, p).expect(), 0.3),
    "entropy": (lambda a, s: [stats.exponpow.entropy(a, scale=s),
                              stats.exponpow(a, scale=s).entropy()], 2.7, S),
    "entropy with a kink": (lambda a: stats.skewcauchy.entropy(a), 0.5),
    "moments": (lambda a: [stats.burr12.moment(2, a, 4.0), stats.burr12(a, 4.0).std()], 10.0),
    "moments by numbers": (lambda k: stats.genhalflogistic.moment(3, k, 0.1, 1.2), 0.77),
    "moments of shape zero": (
        lambda c: [stats.genpareto.moment(2, c), *stats.genextreme.stats(c, moments="mv")], 0.0,
    ),
    "moments of shape one": (lambda b: stats.truncpareto.mean(b, 3.0), 1.0),
    "all moments": (
        lambda c: stats.genextreme.stats(c, moments="mvsk"), np.array([-0.2, -0.04, 0.02, 0.3]),
    ),
    "stats": (lambda a, m: stats.gamma(a, loc=m).stats("mvsk"), 1.7, M),
    "interval": (lambda a, m: stats.gamma(a, m).interval(0.8), 1.7, M),
    "median": (lambda a: stats.dgamma.median(a, 0.1), 1.3),
    "nnlf": (lambda t: stats.gamma.nnlf((t[0], 0.0, t[1]), [0.3, 1.2, 2.4]), np.array([1.7, 0.9])),
    "draws": (lambda m, s: [stats.norm.rvs(m, s, size=3, random_state=1),
                            stats.gumbel_r(m, s).rvs(2, random_state=1)], M, S),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_against_differences(name, check_traced):
    f, *args = CASES[name]
    check_traced(f, *args, rtol=1e-4 if name == "moments by numbers" else 1e-5)


class Decay(stats.rv_continuous):
    """A distribution of which the density alone is given."""

    def _pdf(self, x, a):
        return a * np.exp(-a * x)


def test_own_distribution(check_traced):
    own = Decay(a=0, name="decay", shapes="a")
    check_traced(lambda a: [own.expect(np.square, args=(a,)), own(a).logpdf(0.3)], 1.3)
    check_traced(lambda a: own.entropy(a, scale=0.7), 1.3)


@pytest.mark.filterwarnings("ignore")
def test_a_jump_that_does_not_move():
    """E 1(x > k) is 1 - F(k), to as many digits as the place of the jump is resolved."""
    found = autodiff.gradient(lambda m, s: stats.norm.expect(step, loc=m, scale=s), M, S)
    expected = autodiff.gradient(lambda m, s: stats.norm.sf(0.7, m, s), M, S)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("distribution", [stats.expon, stats.laplace])
def test_a_jump_that_may_move(distribution):
    with pytest.raises(JumpError, match="expect could not be computed"):
        autodiff.gradient(lambda m: distribution.expect(step, loc=m), M)


@pytest.mark.filterwarnings("ignore")
def test_divergence():
    with pytest.raises(QuadratureError, match=r"falls too slowly"):
        autodiff.gradient(lambda m: stats.cauchy.expect(lambda x: x**2, loc=m), M)


def test_twice():
    """E x⁴ of a normal variable is m⁴ + 6 m² s² + 3 s⁴."""

    def f(p):
        return stats.norm.expect(lambda x: x**4, loc=p[0], scale=p[1])

    found = autodiff.hessian(f, np.array([M, S]))
    expected = [[12 * M * M + 12 * S * S, 24 * M * S], [24 * M * S, 12 * M * M + 36 * S * S]]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("a, b", [(-np.inf, np.inf), (-np.inf, 0.8), (0.8, np.inf), (0.2, 0.8)])
@pytest.mark.parametrize("log", [False, True])
def test_quadrature(a, b, log, check_traced):
    def integral(m, s):
        known = stats.norm.cdf(b, m, s) - stats.norm.cdf(a, m, s)
        f = stats.norm.logpdf if log else stats.norm.pdf
        return quadrature(lambda x: f(x, m, s), a, b, np.log(known) if log else known, log=log)

    def closed(m, s):
        known = stats.norm.cdf(b, m, s) - stats.norm.cdf(a, m, s)
        return np.log(known) if log else known

    found = autodiff.gradient(integral, M, S)
    np.testing.assert_allclose(found, autodiff.gradient(closed, M, S), rtol=1e-9, atol=1e-12)


def test_limits_of_several():
    low, high = np.array([-np.inf, 0.1, -0.5]), np.array([0.4, np.inf, 0.3])

    def total(z):
        a, b = np.where(np.isinf(low), low, z[:3]), np.where(np.isinf(high), high, z[3:])
        known = stats.norm.cdf(b) - stats.norm.cdf(a)
        return np.sum(quadrature(stats.norm.pdf, a, b, known))

    z = np.array([0.0, 0.1, -0.5, 0.4, 0.0, 0.3])
    expected = np.array([0.0, -1, -1, 1, 0.0, 1]) * stats.norm.pdf(z)
    np.testing.assert_allclose(autodiff.gradient(total, z), expected, rtol=1e-10)


def test_moments_on_one_period():
    """The density of von Mises goes on over all of the line; SciPy's quantiles do not.

    The second moment is ∫ x² exp(κ cos x) dx / ∫ exp(κ cos x) dx from -π to π.
    """

    def var(kappa):
        x = np.linspace(-np.pi, np.pi, 40_001)
        p = np.exp(kappa * np.cos(x))
        return np.trapezoid(x * x * p, x) / np.trapezoid(p, x)

    kappa, h = 3.99, 1e-4
    expected = (var(kappa + h) - var(kappa - h)) / (2 * h)
    found = autodiff.gradient(lambda k: stats.vonmises.moment(2, k), kappa)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    _, push = autodiff.pushforward(lambda k: stats.vonmises.moment(2, k), kappa)
    np.testing.assert_allclose(push(1.0), expected, rtol=1e-6)


def central(f, *args, h=1e-4):
    steps = h * np.eye(len(args))
    return [(f(*np.add(args, step)) - f(*np.subtract(args, step))) / (2 * h) for step in steps]


@pytest.mark.parametrize("x", [0.0, 0.5])
def test_a_factor_that_is_zero_everywhere(x):
    """The integrand is 0 at each node, and its derivative is not."""

    def whole(x, loc):
        return stats.norm.expect(lambda t: t * x, loc=loc)

    def part(x, loc):
        return stats.norm.expect(lambda t: t * x, loc=loc, lb=-1, ub=x + 1.1, conditional=True)

    for f in (whole, part):
        np.testing.assert_allclose(autodiff.gradient(f, x, 1.0), central(f, x, 1.0), atol=1e-6)


@pytest.mark.skipif(not hasattr(stats, "truncate"), reason="SciPy 1.15 has it")
@pytest.mark.parametrize("mean, high", [(0.0, 1.0), (0.3, 1.0), (0.3, 1.5)])
def test_an_integrand_that_is_zero_in_the_middle(mean, high):
    """X f(x) is 0 at the middle of [-1, 1], where it moves with the limit."""

    def f(mean, high):
        return stats.truncate(stats.Normal(mu=mean), -1, high).mean()

    np.testing.assert_allclose(autodiff.gradient(f, mean, high), central(f, mean, high), atol=1e-6)


def test_a_derivative_that_is_infinite_at_a_limit():
    slope = autodiff.gradient(lambda b: stats.beta.expect(args=(1.0, b)), 1.0)
    assert slope == pytest.approx(-0.25)
    assert autodiff.gradient(lambda c: stats.rdist.entropy(c), 2.0) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("dist", [stats.levy, stats.levy_l])
def test_a_density_that_is_nan_beside_a_limit(dist):
    """It is 0 times Inf there, and the rest of the integral counts."""

    def f(loc, scale):
        return dist.expect(lambda x: np.exp(-((x - 0.2) ** 2) / 8), loc=loc, scale=scale)

    np.testing.assert_allclose(autodiff.gradient(f, 0.3, 1.7), central(f, 0.3, 1.7), atol=1e-7)
