"""A whole task: the conductivities of a bar from its temperatures, through a sparse solve."""

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

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
