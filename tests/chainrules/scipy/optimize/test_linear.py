"""Linear least squares within bounds, isotonic regression."""

import numpy as np
import pytest
from scipy import optimize

from autodiff import gradient
from chainrules.scipy.optimize.implicit import ImplicitError, SingularError

X = np.array([0.8, 0.3])
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(6, 3)), RNG.normal(size=6)
SHIFT = np.arange(18.0).reshape(6, 3) / 9
W = np.array([1.0, 2.0, -1.0])
N = np.arange(6.0)
BOX = (-0.8, [0.3, 1.0, 1.0])

LINEAR = {
    "nnls": lambda x: np.sum(W * optimize.nnls(A * x[0] + x[1] * SHIFT, B + x[1])[0]),
    "nnls by name": lambda x: np.sum(W * optimize.nnls(A=A, b=B + x[1] * N)[0]) + x[0],
    "nnls norm": lambda x: optimize.nnls(A * x[0], B + x[1])[1],
    "nnls of lists": lambda x: optimize.nnls([[1.0, x[0]], [0.0, 2.0]], [x[1], 1.0])[0][1],
    "lsq_linear": lambda x: np.sum(W * optimize.lsq_linear(A * x[0] ** 2, B + x[1]).x),
    "lsq_linear bounds": lambda x: np.sum(
        W * optimize.lsq_linear(A, 3 * B + x[1], bounds=(-x[0], [0.3 * x[1], 1, 1])).x
    ),
    "lsq_linear bvls": lambda x: np.sum(
        W * optimize.lsq_linear(A, 3 * B + x[1], (-x[0], [0.3, 1, 1]), method="bvls").x
    ),
    "lsq_linear cost": lambda x: optimize.lsq_linear(A, 3 * B + x[1], (-x[0], 0.5)).cost,
    "lsq_linear residual": lambda x: np.sum(optimize.lsq_linear(A * x[0], B + x[1]).fun ** 3),
    "lsq_linear Bounds": lambda x: np.sum(
        W * optimize.lsq_linear(A * x[0], 3 * B + x[1], optimize.Bounds(*BOX)).x
    ),
    "lsq_linear all held": lambda x: np.sum(
        W * optimize.lsq_linear(A, 9 * B, (-x[1], [x[0] * x[1], 0.1, 0.1]), "bvls").x
    ),
    "lsq_linear cubed": lambda x: np.sum(
        optimize.lsq_linear(A * x[0] + x[1] * SHIFT**2, B + x[1] * N).x ** 3
    ),
    "nnls none": lambda x: np.sum(optimize.nnls(np.abs(A) + x[0], -N * x[1])[0] + x[1] ** 2),
    "nnls one": lambda x: np.sum(W * optimize.nnls(np.eye(3) * x[0], B[:3] + x[1])[0] ** 2),
    "isotonic": lambda x: np.sum(N * optimize.isotonic_regression(B * x[0] + x[1] * N).x ** 2),
    "isotonic weights": lambda x: np.sum(
        N * optimize.isotonic_regression(B, weights=1 + x[0] * N, increasing=False).x
    ),
    "isotonic sums": lambda x: optimize.isotonic_regression(B, weights=1 + x[0] * N).weights[1],
}  # fmt: skip


@pytest.mark.parametrize("name", LINEAR)
def test_linear(name, check_implicit):
    check_implicit(
        LINEAR[name], X, rtol=1e-5, step=1e-5, second="bounds" not in name and "bvls" not in name
    )


def test_isotonic_blocks_are_averages():
    g = gradient(lambda y: optimize.isotonic_regression(y).x[0], np.array([3.0, 1.0, 2.0, 9.0]))
    np.testing.assert_allclose(g, [1 / 3, 1 / 3, 1 / 3, 0.0])


def test_columns_that_depend_on_each_other():
    with pytest.raises(SingularError, match="linearly dependent"):
        gradient(lambda b: optimize.lsq_linear(np.ones((6, 2)), b).x[0], B)


def test_on_the_verge_of_a_bound():
    with pytest.raises(ImplicitError, match=r"just on the bound of x\[0\]"):
        gradient(lambda b: optimize.nnls(np.eye(2), b)[0][0], np.array([0.0, 1.0]))


def test_bounds_hold_in_second_derivatives(check_implicit):
    """Some variables at their bounds, which move; the function is smooth around."""

    def f(x):
        found = optimize.lsq_linear(A * x[0], B + x[1], (-x[0] * x[1], 0.4), "bvls", tol=1e-14)
        return np.sum(W * found.x**2)

    bounds = (-X[0] * X[1], 0.4)
    found = optimize.lsq_linear(A * X[0], B + X[1], bounds, "bvls", tol=1e-14).x
    assert 0 < np.sum(np.isin(found, bounds)) < 3
    check_implicit(f, X, rtol=1e-5, step=1e-5)


def test_more_unknowns_than_equations():
    with pytest.raises(SingularError, match="linearly dependent"):
        gradient(lambda b: optimize.lsq_linear(A.T, b).x[0], B[:3])
