"""Kernel estimates of densities by points, data, weights and bandwidth, against differences."""

import numpy as np
import pytest
from scipy import stats

import autodiff

RNG = np.random.default_rng(0)
DATA, PLANE = RNG.normal(size=8), RNG.normal(size=(2, 8))
WEIGHTS = RNG.uniform(0.5, 1.0, 8)
X, Y = RNG.normal(size=5), RNG.normal(size=(2, 3))
COV = np.array([[1.0, 0.2], [0.2, 2.0]])
kde = stats.gaussian_kde
OUTSIDE = kde(DATA)


def widened(d, h):
    estimate = kde(d)
    estimate.set_bandwidth(h)
    return estimate(X)


CASES = {
    "call": (lambda d, x: kde(d)(x), DATA, X),
    "weights": (lambda d, w, x: kde(d, weights=w).pdf(x), DATA, WEIGHTS, X),
    "logpdf": (lambda d, w, x: kde(d, weights=w).logpdf(x), DATA, WEIGHTS, X),
    "bandwidth": (lambda d, h: kde(d, bw_method=h).evaluate(X), DATA, 0.4),
    "Silverman": (lambda d: kde(d, "silverman")(X), DATA),
    "own bandwidth": (lambda d: kde(d, bw_method=lambda k: 0.4)(X), DATA),
    "widened": (widened, DATA, 0.4),
    "plane": (lambda d, x: kde(d)(x), PLANE, Y),
    "plane, log": (lambda d, x: kde(d).logpdf(x), PLANE, Y[:, 0]),
    "outside": (lambda x: [OUTSIDE(x), OUTSIDE.logpdf(x)], X),
    "one point": (lambda x: OUTSIDE(x), 0.3),
    "between": (lambda d, a, b: kde(d).integrate_box_1d(a, b), DATA, -0.3, 0.5),
    "in a box": (lambda d, a: kde(d).integrate_box(a, a + 1), PLANE, Y[:, 1]),
    "in a box turned round": (lambda d, a: kde(d).integrate_box(a, a - 1), PLANE, Y[:, 1]),
    "in a line turned round": (lambda d, a: kde(d).integrate_box(a, a - 1), DATA, X[:1]),
    "in a box by weights": (
        lambda d, w, a, b: kde(d, weights=w).integrate_box([a, -np.inf], [np.inf, b]),
        PLANE, WEIGHTS, -0.3, 0.5,
    ),
    "under a normal": (lambda d, m: kde(d).integrate_gaussian(m, COV), PLANE, Y[:, 1]),
    "under another": (lambda d, e: kde(d).integrate_kde(kde(e)), DATA, X),
    "marginal": (lambda d: kde(d).marginal([1])(X), PLANE),
    "attributes": (lambda d: [kde(d).covariance, kde(d).inv_cov, kde(d).factor], PLANE),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_estimate(name, check_traced):
    f, *args = CASES[name]
    check_traced(f, *args, rtol=1e-5)


@pytest.mark.parametrize("method", ["evaluate", "logpdf"])
def test_value(method):
    for estimate, x in ((kde(PLANE, weights=WEIGHTS), Y), (OUTSIDE, X)):
        plain = getattr(estimate, method)(x)
        traced = autodiff.value_and_gradient(lambda x, e=estimate: np.sum(getattr(e, method)(x)), x)
        np.testing.assert_allclose(traced[0], np.sum(plain), rtol=1e-13)


def test_far_away():
    """Only the nearest point counts: the slope is (x_j - x)/h², where the density is 0."""
    x = 80.0
    h = OUTSIDE.covariance[0, 0]
    found = autodiff.gradient(lambda x: OUTSIDE.logpdf(x)[0], x)
    np.testing.assert_allclose(found, (np.max(DATA) - x) / h, rtol=1e-6)


def test_twice():
    found = autodiff.hessian(lambda d: kde(d, bw_method=0.5)(0.2)[0], DATA)
    h = 1e-5
    expected = [
        (
            autodiff.gradient(lambda d: kde(d, bw_method=0.5)(0.2)[0], DATA + h * e)
            - autodiff.gradient(lambda d: kde(d, bw_method=0.5)(0.2)[0], DATA - h * e)
        )
        / (2 * h)
        for e in np.eye(8)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_wrong_dimension():
    with pytest.raises(ValueError, match="dataset has dimension 2"):
        autodiff.gradient(lambda x: np.sum(kde(PLANE)(x)), np.ones((3, 4)))
