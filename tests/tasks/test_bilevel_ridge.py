"""The penalty of a ridge regression, chosen by the loss on other data: a minimum inside a loss.

The inner problem is given to minimize; the independent value is that of the normal equations,
w = (AᵀA + e^λ)⁻¹ Aᵀ b and dw/dλ = -e^λ (AᵀA + e^λ)⁻¹ w.
"""

import numpy as np
import pytest
from scipy import optimize

from autodiff import gradient, pushforward

RNG = np.random.default_rng(3)
A, B = RNG.normal(size=(20, 4)), RNG.normal(size=20)
A_TEST, B_TEST = RNG.normal(size=(15, 4)), RNG.normal(size=15)


def weights(log_penalty, method):
    def loss(w):
        return np.sum((A @ w - B) ** 2) + np.exp(log_penalty) * np.sum(w**2)

    return optimize.minimize(loss, np.zeros(4), method=method, tol=1e-9).x


def held_out(log_penalty, method="BFGS"):
    return np.sum((A_TEST @ weights(log_penalty, method) - B_TEST) ** 2)


def expected(log_penalty):
    s = np.exp(log_penalty)
    normal = A.T @ A + s * np.eye(4)
    w = np.linalg.solve(normal, A.T @ B)
    return -2 * s * (A_TEST @ w - B_TEST) @ A_TEST @ np.linalg.solve(normal, w)


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "SLSQP"])
def test_the_gradient_of_the_penalty(method):
    g = gradient(lambda p: held_out(p, method), 0.7)
    # The weights themselves are as good as the method's tolerance.
    assert g == pytest.approx(expected(0.7), rel=1e-5 if method == "L-BFGS-B" else 1e-8)
    assert pushforward(lambda p: held_out(p, method), 0.7)[1](1.0) == pytest.approx(g, rel=1e-8)


def test_the_curvature_of_the_penalty():
    twice = gradient(lambda p: gradient(held_out, p), 0.7)
    assert twice == pytest.approx((expected(0.701) - expected(0.699)) / 0.002, rel=1e-5)


def test_the_best_penalty():
    best = optimize.minimize(
        lambda p: held_out(p[0]), [0.0], jac=lambda p: np.array([gradient(held_out, p[0])])
    ).x[0]
    assert expected(best) == pytest.approx(0.0, abs=1e-4)
