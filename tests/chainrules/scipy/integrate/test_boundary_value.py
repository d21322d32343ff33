"""Boundary value problems: by captured values, the ends, parameters, a singular term."""

import numpy as np
import pytest
from scipy import integrate

from autodiff import gradient, hessian, pushforward
from chainrules.scipy.integrate.boundary_value import BoundaryError
from chainrules.scipy.optimize.implicit import ImplicitError
from tests.helpers import differences


def bratu(x):
    mesh = np.linspace(x[3], 1, 5)
    r = integrate.solve_bvp(lambda t, y: np.vstack((y[1], -x[0] * np.exp(y[0]))),
                            lambda a, b: np.array([a[0] - x[1], b[0] - x[2]]),
                            mesh, np.zeros((2, 5)), tol=1e-5)  # fmt: skip
    return np.sum(r.sol(0.4) ** 2) + r.y[1, 0] * r.x[0] + r.yp[1, -1] + r.sol(0.3, 1)[1]


def eigenvalue(x):
    guess = np.array([[0, 1, 0, -1, 0, 0.1], [0] * 6])
    r = integrate.solve_bvp(lambda t, y, p: np.vstack((y[1], -x[0] * p[0] ** 2 * y[0])),
                            lambda a, b, p: np.array([a[0], b[0], a[1] - p[0] * x[1]]),
                            np.linspace(0, 1, 6), guess, p=[6], tol=1e-5)  # fmt: skip
    return r.p[0] + r.sol(np.array([0.3, 0.2]))[0] @ np.array([1.0, 2.0])


def emden(x):
    matrix = np.array([[0, 0], [0, -2.0]]) * x[1]
    r = integrate.solve_bvp(lambda t, y: np.vstack((y[1], -x[0] * y[0] ** 5)),
                            lambda a, b: np.array([a[1], b[0] - x[2]]), np.linspace(0, 1, 5),
                            np.array([np.ones(5), np.zeros(5)]), S=matrix, tol=1e-6)  # fmt: skip
    return np.sum(r.sol(0.4) ** 2)


def given_jacobians(x):
    r = integrate.solve_bvp(lambda t, y: np.array([y[1], -x[0] * y[0] * t]),
                            lambda a, b: [a[0] - x[1], b[1] - x[2]],
                            np.linspace(0, 1, 7), np.ones((2, 7)),
                            fun_jac=lambda t, y: np.array([[0 * t, 1 + 0 * t],
                                                           [-x[0] * t, 0 * t]]),
                            bc_jac=lambda a, b: (np.diag([1.0, 0]), np.array([[0, 0], [0, 1.0]])),
                            )  # fmt: skip
    return np.sum(r.y**2)


CASES = [
    (bratu, np.array([1.0, 0.1, 0.2, 0.05])),
    (eigenvalue, np.array([1.1, 0.7])),
    (emden, np.array([1.0, 1.0, 0.8])),
    (given_jacobians, np.array([1.0, 0.3, 0.8])),
]


@pytest.mark.parametrize("f, x", CASES)
def test_both_modes(f, x):
    expected = differences(f, x, 1e-4, order=4)
    np.testing.assert_allclose(gradient(f, x), expected, rtol=1e-7, atol=1e-9)
    direction = np.array([0.3, -1.0, 0.5, 0.8])[: len(x)]
    np.testing.assert_allclose(pushforward(f, x)[1](direction), expected @ direction, rtol=1e-7)


def test_second_derivatives():
    f, x = CASES[0]
    expected = np.stack(
        [differences(lambda x, i=i: gradient(f, x)[i], x, 1e-4, order=4) for i in range(len(x))]
    )
    np.testing.assert_allclose(hessian(f, x), expected, rtol=1e-6, atol=1e-8)


def problem(x, bc, **options):
    return integrate.solve_bvp(lambda t, y: np.vstack((y[1], -x * np.exp(y[0]))), bc,
                               np.linspace(0, 1, 5), np.zeros((2, 5)), **options)  # fmt: skip


def at_ends(a, b):
    return np.array([a[0], b[0]])


def test_no_solution():
    with pytest.raises(BoundaryError, match="not found a solution"):
        gradient(lambda x: np.sum(problem(x, at_ends, tol=1e-9, max_nodes=6).y), 1.0)


def test_the_residuals_have_no_derivative():
    with pytest.raises(ImplicitError, match="rms_residuals"):
        gradient(lambda x: np.sum(problem(x, at_ends).rms_residuals), 1.0)
