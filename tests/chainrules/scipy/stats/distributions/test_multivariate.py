"""Multivariate distributions by points and parameters, frozen and not, against differences."""

import numpy as np
import pytest
from scipy import stats

import autodiff
from chainrules.scipy.private import first_of

array_api_extra = first_of("_external.array_api_extra", "_lib.array_api_extra").module()

P = np.array([0.2, 0.5, -0.4])
M = np.array([0.1, 0.2, 0.3])
POINTS = np.array([[0.3, -0.2, 0.1], [1.0, 0.4, -0.6]])
COV = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.0]])
S = np.array([[1.2, 0.3], [0.3, 0.8]])
X = np.array([[1.5, 0.2], [0.2, 2.1]])
A = np.array([[0.1, -0.3, 0.6], [0.9, -0.5, 0.2]])
SHARES = np.array([0.2, 0.3, 0.5])
ALPHA = np.array([1.2, 2.3, 0.7])
D = np.array([1.0, 2.0, 3.0])
NU = 4.3


def both(c):
    return (c + np.transpose(c)) / 2


def whole(p):
    return p / np.sum(p)


def unit(x):
    return x / np.sqrt(np.sum(x * x))


def of(name, **kwargs):
    """A distribution's methods by name: those of the object, or of a frozen one."""
    return getattr(stats, name)(**kwargs) if kwargs else getattr(stats, name)


def moments(d):
    return [d.mean(), d.var(), d.cov(), d.entropy()]


def covariance(kind, *args):
    return getattr(stats.Covariance, f"from_{kind}")(*args)


CASES = {
    "normal": (lambda x, m, c: stats.multivariate_normal.logpdf(x, m, both(c)), P, M, COV),
    "normal of points": (
        lambda x, c: stats.multivariate_normal.logpdf(x, cov=both(c)), POINTS, COV,
    ),
    "normal of equal variances": (
        lambda x, s: stats.multivariate_normal.logpdf(x, None, s * np.eye(3)), P, 1.3,
    ),
    "normal of a diagonal": (lambda x, d: stats.multivariate_normal.logpdf(x, M, d), P, D),
    "normal of lists": (
        lambda x: stats.multivariate_normal.pdf([x[0], x[1]], [x[2], 0.0], S.tolist()), P,
    ),
    "normal singular": (
        lambda c: stats.multivariate_normal.logpdf(
            [0.3, 0.6], None, c * np.array([[1.0, 2.0], [2.0, 4.0]]), allow_singular=True
        ), 1.3,
    ),
    "normal frozen outside": (lambda x: stats.multivariate_normal(M, COV).logpdf(x), P),
    "normal marginal": (
        lambda m, c: stats.multivariate_normal.marginal([0, 2], m, both(c)).logpdf([0.2, 0.1]),
        M, COV,
    ),
    "normal fit": (lambda x: stats.multivariate_normal.fit(x), POINTS[:, :2]),
    "covariance of diagonal": (
        lambda x, d: stats.multivariate_normal.logpdf(x, M, covariance("diagonal", d)), P, D,
    ),
    "covariance of precision": (
        lambda x, c: stats.multivariate_normal.pdf(x, M, covariance("precision", both(c))), P, COV,
    ),
    "covariance of cholesky": (
        lambda x, c: stats.multivariate_normal.logpdf(x, M, covariance("cholesky", np.tril(c))),
        P, COV,
    ),
    "covariance of eigenvalues": (
        lambda x, w: stats.multivariate_normal.logpdf(
            x, M, covariance("eigendecomposition", (w, np.linalg.eigh(COV)[1]))
        ), P, D,
    ),
    "covariance": (
        lambda x, c: [
            covariance("cholesky", np.tril(c)).whiten(x),
            covariance("cholesky", np.tril(c)).colorize(x),
            covariance("cholesky", np.tril(c)).covariance,
            covariance("precision", both(c)).log_pdet,
        ], P, COV,
    ),
    "t": (lambda x, m, c, n: stats.multivariate_t.logpdf(x, m, both(c), n), P, M, COV, NU),
    "t frozen": (
        lambda x, m, c, n: stats.multivariate_t(loc=m, shape=both(c), df=n).pdf(x), P, M, COV, NU,
    ),
    "t without freedom": (
        lambda x, c: stats.multivariate_t.logpdf(x, M, both(c), np.inf), P, COV,
    ),
    "t entropy": (
        lambda c, n: [
            stats.multivariate_t.entropy(None, both(c), n),
            stats.multivariate_t(None, both(c), n).entropy(),
        ], COV, NU,
    ),
    "dirichlet": (lambda x, a: stats.dirichlet.logpdf(whole(x), a), SHARES, ALPHA),
    "dirichlet short": (lambda x, a: stats.dirichlet.pdf(x, a), SHARES[:2], ALPHA),
    "dirichlet frozen": (lambda x, a: stats.dirichlet(a).logpdf(whole(x)), SHARES, ALPHA),
    "dirichlet moments": (lambda a: moments(stats.dirichlet(a)), ALPHA),
    "dirichlet moments too": (
        lambda a: [stats.dirichlet.mean(a), stats.dirichlet.var(alpha=a)], ALPHA,
    ),
    "dirichlet_multinomial": (
        lambda a: [
            stats.dirichlet_multinomial.logpmf([1, 2, 3], a, 6),
            stats.dirichlet_multinomial(a, 6).pmf([1, 2, 3]),
            stats.dirichlet_multinomial.mean(a, 6),
            stats.dirichlet_multinomial(a, 6).cov(),
        ], ALPHA,
    ),
    "multinomial": (
        lambda p: [
            stats.multinomial.logpmf([1, 2, 3], 6, whole(p)),
            stats.multinomial(6, whole(p)).pmf([1, 2, 3]),
            stats.multinomial.entropy(n=6, p=whole(p)),
            stats.multinomial(6, whole(p)).cov(),
        ], SHARES,
    ),
    "wishart": (lambda x, n, s: stats.wishart.logpdf(both(x), n, both(s)), X, NU, S),
    "wishart of numbers": (lambda x, n, s: stats.wishart.pdf(x, n, s), 1.3, NU, 0.7),
    "wishart frozen": (
        lambda x, n, s: stats.wishart(df=n, scale=both(s)).pdf(both(x)), X, NU, S,
    ),
    "wishart moments": (
        lambda n, s: [
            stats.wishart.mean(n, both(s)), stats.wishart(n, both(s)).mode(),
            stats.wishart.var(n, both(s)), stats.wishart(n, both(s)).entropy(),
        ], 6.3, S,
    ),
    "invwishart": (lambda x, n, s: stats.invwishart.logpdf(both(x), n, both(s)), X, NU, S),
    "invwishart of several": (
        lambda x, s: stats.invwishart.logpdf(x, NU, both(s)), np.stack([X, S], -1), S,
    ),
    "invwishart of numbers": (lambda x, n, s: stats.invwishart.logpdf(x, n, s), 1.3, NU, 0.7),
    "invwishart frozen": (lambda x, n, s: stats.invwishart(n, both(s)).pdf(both(x)), X, NU, S),
    "invwishart moments": (
        lambda n, s: [
            stats.invwishart.mean(n, both(s)), stats.invwishart(n, both(s)).mode(),
            stats.invwishart.var(n, both(s)), stats.invwishart(n, both(s)).entropy(),
        ], 6.3, S,
    ),
    "matrix_normal": (
        lambda x, m, r, c: stats.matrix_normal.logpdf(x, m, both(r), both(c)), A, A / 2, S, COV,
    ),
    "matrix_normal of one variance": (
        lambda x, r: stats.matrix_normal.logpdf(x, A / 2, r, 1), A, 1.3,
    ),
    "matrix_normal frozen": (
        lambda x, r: stats.matrix_normal(rowcov=both(r), colcov=COV).pdf(x), A, S,
    ),
    "matrix_normal entropy": (lambda r: stats.matrix_normal.entropy(both(r), COV), S),
    "matrix_t": (
        lambda x, m, r, c, n: stats.matrix_t.logpdf(x, m, both(r), both(c), n),
        A, A / 2, S, COV, NU,
    ),
    "matrix_t frozen": (lambda x, n: stats.matrix_t(None, S, COV, n).pdf(x), A, NU),
    "vonmises_fisher": (
        lambda x, m, k: stats.vonmises_fisher.logpdf(unit(x), unit(m), k), P, M, 1.7,
    ),
    "vonmises_fisher frozen": (
        lambda k: [
            stats.vonmises_fisher([0.0, 1.0], k).pdf([1.0, 0.0]),
            stats.vonmises_fisher([0.0, 1.0, 0.0], k).entropy(),
        ], 1.7,
    ),
    "normal_inverse_gamma": (
        lambda x, s, m, r, a, b: [
            stats.normal_inverse_gamma.logpdf(x, s, m, r, a, b),
            stats.normal_inverse_gamma(m, r, a, b).pdf(x, s),
            *stats.normal_inverse_gamma.mean(m, r, a, b),
            *stats.normal_inverse_gamma(m, r, a, b).var(),
        ], 0.3, 0.7, 0.1, 1.2, 2.3, 0.9,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_distribution(name, check_traced):
    f, *args = CASES[name]
    check_traced(f, *args, rtol=1e-5)


@pytest.mark.parametrize(
    "name",
    ["normal of equal variances", "t", "dirichlet", "wishart", "invwishart", "matrix_normal"],
)
def test_twice(name):
    f, *args = CASES[name]
    last = args[-1]

    def slope(z):
        return np.sum(autodiff.gradient(lambda y: f(*args[:-1], y), z) * np.cos(last))

    found = np.sum(autodiff.gradient(slope, last))
    h = 1e-5
    expected = (slope(last + h) - slope(last - h)) / (2 * h)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_elements_replaced(check_traced, value_of):
    """In place, in a copy, and of an array that cannot be written into."""
    at = value_of(getattr, array_api_extra, "at")

    def f(x):
        z = x * x
        copied = at(z)[1:].set(x[1:] ** 3, copy=True)
        inside = at(z, np.array([True, False, True])).multiply(x[0])
        wide = at(np.broadcast_to(x[0] * x[1], (3,)))[1].add(x[2] ** 2)
        return [copied, inside, z, wide]

    check_traced(f, P)
    check_traced(lambda x: autodiff.gradient(lambda x: sum(np.sum(y**2) for y in f(x)), x), P)


def test_equal_variances_in_closed_form():
    """log f = -(n log 2πs + |x|²/s)/2 for the covariance s 1."""
    s = 0.7
    found = autodiff.gradient(lambda s: stats.multivariate_normal.logpdf(P, None, s * np.eye(3)), s)
    np.testing.assert_allclose(found, -1.5 / s + P @ P / (2 * s * s), rtol=1e-12)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: stats.dirichlet.rvs(a, random_state=1),
        lambda a: stats.multinomial.rvs(6, whole(a), random_state=1) * 1.0,
        lambda a: stats.random_correlation.rvs(whole(a) * 3, random_state=1),
    ],
)
def test_draws_that_are_refused(f):
    with pytest.raises(Exception, match=r"not differentiated|not implemented"):
        autodiff.gradient(lambda a: np.sum(f(a)), ALPHA)


def test_a_draw_by_its_mean():
    def draw(m):
        return np.sum(stats.multivariate_normal.rvs(m, COV, size=2, random_state=1) * P)

    np.testing.assert_allclose(autodiff.gradient(draw, M), 2 * P)


def test_a_draw_by_its_covariance(check_modes):
    def draw(a):
        cov = np.diag(a) + 0.1 * np.outer(a, a)
        return stats.multivariate_normal.rvs(None, cov, size=3, random_state=1)

    check_modes(draw, ALPHA)


def test_points_off_the_support_of_a_singular_matrix():
    singular = np.ones((2, 2))

    def f(x):
        return stats.multivariate_normal.logpdf(x, [0.0, 0.0], singular, allow_singular=True)

    def density(x):
        return stats.multivariate_normal.pdf(x, [0.0, 0.0], singular, allow_singular=True)

    for x in (np.array([0.0, 1.0]), np.array([1.0, 1.0])):
        assert autodiff.value_and_gradient(f, x)[0] == f(x)
        assert autodiff.value_and_gradient(density, x)[0] == pytest.approx(density(x), rel=1e-12)
    assert f(np.array([0.0, 1.0])) == -np.inf
