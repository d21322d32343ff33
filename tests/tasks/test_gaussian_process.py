"""Hyperparameters of a Gaussian process through cho_factor and cho_solve.

The independent values come from the eigenvalues of the kernel matrix, which give the likelihood
without a factorisation, and from a search without gradients. The mean of the prediction is checked
by the conditional distribution of the joint one.
"""

import numpy as np
import pytest
from scipy import linalg, optimize, stats

import autodiff

RNG = np.random.default_rng(4)
X = np.sort(RNG.uniform(0.0, 6.0, 25))
Y = np.sin(1.3 * X) + 0.2 * RNG.normal(size=25)


def kernel(theta, a, b):
    """The squared exponential; theta holds logarithms of amplitude, length and noise."""
    distance = np.square(a[:, None] - b[None]) / np.exp(2 * theta[1])
    return np.exp(2 * theta[0] - distance / 2)


def loss(theta):
    """The negative logarithm of the marginal likelihood."""
    cov = kernel(theta, X, X) + np.exp(2 * theta[2]) * np.eye(X.size)
    factor = linalg.cho_factor(cov, lower=True)
    log_det = 2 * np.sum(np.log(np.diagonal(factor[0])))
    return 0.5 * (Y @ linalg.cho_solve(factor, Y) + log_det + X.size * np.log(2 * np.pi))


def loss_by_eigenvalues(theta):
    values, vectors = np.linalg.eigh(kernel(theta, X, X))
    values = values + np.exp(2 * theta[2])
    z = vectors.T @ Y
    return 0.5 * (np.sum(z * z / values) + np.sum(np.log(2 * np.pi * values)))


def slope_in_closed_form(theta):
    """(tr(K⁻¹ dK) - αᵀ dK α)/2 with α = K⁻¹ y."""
    k = kernel(theta, X, X)
    inverse = np.linalg.inv(k + np.exp(2 * theta[2]) * np.eye(X.size))
    distance = np.square(X[:, None] - X[None]) / np.exp(2 * theta[1])
    alpha = inverse @ Y
    by = [2 * k, distance * k, 2 * np.exp(2 * theta[2]) * np.eye(X.size)]
    return np.array([(np.sum(inverse * d) - alpha @ d @ alpha) / 2 for d in by])


@pytest.mark.parametrize("theta", [(0.0, 0.0, -1.0), (0.5, 0.7, -2.0)])
def test_the_slope_of_the_likelihood(theta):
    theta = np.array(theta)
    assert loss(theta) == pytest.approx(loss_by_eigenvalues(theta), rel=1e-10)
    np.testing.assert_allclose(
        autodiff.gradient(loss, theta), slope_in_closed_form(theta), rtol=1e-8
    )


def test_the_likelihood_is_a_normal_density():
    theta = np.array([0.2, 0.1, -1.0])

    def by_density(theta):
        cov = kernel(theta, X, X) + np.exp(2 * theta[2]) * np.eye(X.size)
        return -stats.multivariate_normal.logpdf(Y, None, cov)

    np.testing.assert_allclose(
        autodiff.gradient(by_density, theta), slope_in_closed_form(theta), rtol=1e-8
    )


def test_the_best_hyperparameters():
    found = optimize.minimize(
        lambda t: autodiff.value_and_gradient(loss, t), np.array([0.0, 0.0, -1.0]), jac=True
    )
    searched = optimize.minimize(
        loss_by_eigenvalues,
        np.array([0.0, 0.0, -1.0]),
        method="Nelder-Mead",
        options={"xatol": 1e-6, "fatol": 1e-10, "maxiter": 2000},
    )
    np.testing.assert_allclose(found.x, searched.x, atol=2e-4)
    np.testing.assert_allclose(slope_in_closed_form(found.x), 0.0, atol=1e-3)
    curvature = autodiff.hessian(loss, found.x)
    assert np.all(np.linalg.eigvalsh(curvature) > 0)


def test_the_slope_of_the_prediction():
    """How the mean at a new point moves with an observation: a weight of the linear smoother."""
    theta, new = np.array([0.2, 0.1, -1.0]), np.array([2.5])

    def prediction(y):
        cov = kernel(theta, X, X) + np.exp(2 * theta[2]) * np.eye(X.size)
        return (kernel(theta, new, X) @ linalg.cho_solve(linalg.cho_factor(cov), y))[0]

    joint = kernel(theta, np.append(X, new), np.append(X, new))
    joint[:-1, :-1] += np.exp(2 * theta[2]) * np.eye(X.size)
    precision = np.linalg.inv(joint)
    np.testing.assert_allclose(
        autodiff.gradient(prediction, Y), -precision[-1, :-1] / precision[-1, -1], rtol=1e-6
    )
