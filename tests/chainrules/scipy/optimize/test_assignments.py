"""Assignments, differences, and what is refused."""

import numpy as np
import pytest
from scipy import optimize

from autodiff import gradient
from chainrules.refused import RefusedError
from chainrules.scipy.optimize.implicit import ImplicitError

X = np.array([0.8, 0.3])
A = np.random.default_rng(0).normal(size=(6, 3))


def matched(x):
    cost = A[:3] * x[0] + x[1] * np.eye(3)
    return np.sum(cost[optimize.linear_sum_assignment(cost)])


def steep(u, a=1.0, b=0.0):
    return a * np.sum(u**3) + b * u[0]


CASES = {
    "linear_sum_assignment": matched,
    "quadratic_assignment": lambda x: optimize.quadratic_assignment(
        A[:3] * x[0] + x[1] * np.eye(3), A[3:] * x[1]
    ).fun,
    "quadratic_assignment 2opt": lambda x: optimize.quadratic_assignment(
        A[:3] * x[0], A[3:], method="2opt", options={"rng": np.random.default_rng(1)}
    ).fun,
    "rosen": lambda x: optimize.rosen(x),
    "rosen_der": lambda x: np.sum(optimize.rosen_der(x) ** 2),
    "rosen_hess": lambda x: np.sum(optimize.rosen_hess(x) ** 2),
    "rosen_hess_prod": lambda x: np.sum(optimize.rosen_hess_prod(x, x**2) ** 2),
    "approx_fprime": lambda x: np.sum(optimize.approx_fprime(x, steep, 1e-6)),
    "approx_fprime args": lambda x: np.sum(
        optimize.approx_fprime(np.ones(2), steep, 1e-6, x[0], x[1])
    ),
    "approx_fprime closure": lambda x: np.sum(
        optimize.approx_fprime(np.ones(2), lambda u: steep(u, x[0], x[1]), 1e-6)
    ),
    "approx_fprime of a vector": lambda x: np.sum(
        optimize.approx_fprime(x, lambda u: np.stack([u[0] * u[1], u[1] ** 2, u[0]]), 1e-6)
        * np.arange(6.0).reshape(3, 2)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_assignments(name, check_implicit):
    second = not name.startswith("approx")  # differences of differences are noise
    if name.startswith("approx"):
        f = CASES[name]
        differences = [(f(X + h) - f(X - h)) / 2e-3 for h in 1e-3 * np.eye(2)]
        np.testing.assert_allclose(gradient(f, X), differences, rtol=1e-4)
    else:
        check_implicit(CASES[name], X, second=second)


def test_check_grad():
    def gap(x):
        return optimize.check_grad(lambda u: steep(u, x[0]), lambda u: 3.1 * u**2, np.ones(2))

    step = np.array([1e-4, 0.0])
    differences = (gap(X + step) - gap(X - step)) / 2e-4
    np.testing.assert_allclose(gradient(gap, X), [differences, 0.0], rtol=1e-4)
    with pytest.raises(ImplicitError, match="random direction"):
        gradient(
            lambda x: optimize.check_grad(steep, lambda u: 3 * x * u, X, direction="random"), 1.0
        )


@pytest.mark.parametrize(
    "f",
    [
        lambda x: optimize.bracket(lambda t: (t - x) ** 2)[0],
        lambda x: optimize.line_search(
            lambda u: np.sum((u - x) ** 2), lambda u: 2 * (u - x), np.zeros(1), np.ones(1)
        )[0],
    ],
)
def test_steps_are_refused(f):
    with pytest.raises(RefusedError, match="step of an iteration"):
        gradient(f, 0.7)
