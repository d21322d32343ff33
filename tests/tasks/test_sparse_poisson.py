"""Conductivities from temperatures: the inverse of a Poisson problem, through sparse solves.

In a bar the gradient of the misfit is that of the adjoint method, written by hand with dense
matrices. In a plate the logarithm of the conductivity is a sum of given functions; its coefficients
are found by Gauss-Newton, and independently by least squares with dense matrices and differences.
"""

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from scipy import optimize

import autodiff

N = 12
SOURCE = np.sin(np.linspace(0.3, 2.8, N))
MEASURED = np.linspace(1.0, 2.0, N)


def misfit(k):
    """Half the squared misfit of -(k u')' = f with u = 0 at both ends, k between the nodes."""
    main = k[:-1] + k[1:]
    a = sp.diags([main, -k[1:-1], -k[1:-1]], [0, 1, -1], format="csc")
    u = spl.spsolve(a, SOURCE)
    return 0.5 * np.sum((u - MEASURED) ** 2)


def dense_gradient(k):
    """The adjoint method by hand, with dense matrices."""
    main = k[:-1] + k[1:]
    a = np.diag(main) - np.diag(k[1:-1], 1) - np.diag(k[1:-1], -1)
    u = np.linalg.solve(a, SOURCE)
    adjoint = np.linalg.solve(a.T, u - MEASURED)
    jump = np.diff(np.concatenate([[0.0], u, [0.0]]))
    adjoint_jump = np.diff(np.concatenate([[0.0], adjoint, [0.0]]))
    return -jump * adjoint_jump


def test_the_gradient_is_that_of_the_adjoint_method():
    k = 1.0 + 0.3 * np.cos(np.arange(N + 1.0))
    np.testing.assert_allclose(autodiff.gradient(misfit, k), dense_gradient(k), rtol=1e-9)


def test_hessian_vector_products():
    k = 1.0 + 0.3 * np.cos(np.arange(N + 1.0))
    v = np.sin(np.arange(N + 1.0))
    expected = (dense_gradient(k + 1e-5 * v) - dense_gradient(k - 1e-5 * v)) / 2e-5
    found = autodiff.gradient(lambda k: np.sum(autodiff.gradient(misfit, k) * v), k)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


# ------------------------------------------------------------------------------------ in a plate

M = 6  # nodes along a side, with zero temperature around
LINE = sp.diags_array([np.ones(M), -np.ones(M)], offsets=[0, -1], shape=(M + 1, M))
JUMPS = sp.vstack([sp.kron(LINE, sp.eye_array(M)), sp.kron(sp.eye_array(M), LINE)], format="csr")
PLACES = np.linspace(-1.0, 1.0, JUMPS.shape[0])
SHAPES = np.stack([np.ones_like(PLACES), PLACES, np.cos(3 * PLACES)], axis=1)
HEAT = np.sin(1.0 + np.arange(M * M))  # of no symmetry
TRUE = np.array([0.3, -0.5, 0.4])


def temperatures(c):
    """The solution of -div(k grad u) = f."""
    k = np.exp(SHAPES @ c)
    return spl.spsolve((JUMPS.T @ sp.diags_array(k) @ JUMPS).tocsc(), HEAT)


def dense_temperatures(c):
    jumps = JUMPS.toarray()
    return np.linalg.solve(jumps.T @ (np.exp(SHAPES @ c)[:, None] * jumps), HEAT)


NOISY = dense_temperatures(TRUE) + 0.01 * np.cos(7.0 * np.arange(M * M))


def gauss_newton(measured, c, steps=12):
    for _ in range(steps):
        jacobian = autodiff.jacobian(temperatures, c)
        c = c - np.linalg.lstsq(jacobian, temperatures(c) - measured)[0]
    return c


def test_a_plate_without_noise():
    found = gauss_newton(dense_temperatures(TRUE), np.zeros(3))
    np.testing.assert_allclose(found, TRUE, rtol=1e-10)


def test_a_plate_with_noise():
    found = gauss_newton(NOISY, np.zeros(3), steps=14)
    expected = optimize.least_squares(
        lambda c: dense_temperatures(c) - NOISY, np.zeros(3), "3-point", xtol=1e-15, ftol=1e-15
    ).x
    np.testing.assert_allclose(found, expected, rtol=1e-6)

    def loss(c):
        return 0.5 * np.sum((temperatures(c) - NOISY) ** 2)

    np.testing.assert_allclose(autodiff.gradient(loss, found), 0.0, atol=1e-8)
