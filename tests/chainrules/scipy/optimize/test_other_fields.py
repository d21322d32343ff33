"""What a result holds besides the solution: differentiated where it is known, else an error."""

import numpy as np
import pytest
from scipy import optimize

from autodiff import gradient, ignore_derivatives, pushforward
from chainrules.scipy.optimize.implicit import ImplicitError
from chainrules_core import NotImplementedTangentError

T = np.array([0.0, 0.5, 1.0, 2.0])


def fit(k):
    return optimize.least_squares(
        lambda x: x[0] * np.exp(-x[1] * T) - k / (1.0 + T), [1.0, 0.3], xtol=1e-14, ftol=1e-14
    )


def minimum(k, **how):
    return optimize.minimize(lambda x: np.sum((x - k) ** 4 + x**2), [0.3, 0.1], **how)


def bounded(k):
    return minimum(k, bounds=[(1.0, 2.0), (None, None)], tol=1e-10)


def root(k):
    return optimize.root(lambda x: [x[0] ** 3 - k, x[1] - x[0]], [1.0, 1.0], tol=1e-12)


def program(k):
    return optimize.linprog([-k, -1.0], [[1.0, 1.0], [1.0, 1.0]], [4.0, 4.0])


def a_ub():
    return [[1.0, 2.0], [3.0, 1.0]]


KNOWN = [
    ("jac", lambda k: np.sum(fit(k).jac ** 2)),
    ("grad", lambda k: np.sum(fit(k).grad)),
    ("jac at a minimum", lambda k: np.sum(minimum(k).jac)),
    ("fun at a root", lambda k: np.sum(root(k).fun)),
    ("slack", lambda k: np.sum(program(k).slack)),
    ("counts", lambda k: annealed(k).x[0] * annealed(k).nit / annealed(k).nit),
    ("the grid", lambda k: k * gridded(k)[2][0] + gridded(k)[1]),
    ("unused", lambda k: bounded(k).x[1] + 0.0 * bounded(k).jac[0]),
    ("looked at", lambda k: bounded(k).x[1] if bounded(k).jac[0] > 0 else k),
    ("a constant", lambda k: k * ignore_derivatives(root(k).fjac)[0, 0] * 0.0),
]


@pytest.mark.parametrize("f", [row[1] for row in KNOWN], ids=[row[0] for row in KNOWN])
def test_known(f):
    h = 1e-4
    expected = (f(1.3 + h) - f(1.3 - h)) / (2 * h)
    np.testing.assert_allclose(gradient(f, 1.3), expected, rtol=1e-4, atol=2e-3)


def test_fields_that_are_not_used_forward():
    for f in [row[1] for row in KNOWN[4:] if row[0] != "unused"]:
        np.testing.assert_allclose(pushforward(f, 1.3)[1](1.0), gradient(f, 1.3), rtol=1e-5)


def test_the_jacobian_of_a_fit_forward():
    f = KNOWN[0][1]
    np.testing.assert_allclose(pushforward(f, 1.3)[1](1.0), gradient(f, 1.3), rtol=1e-8)


def annealed(k):
    return optimize.dual_annealing(lambda x: np.sum((x - k) ** 2), [(-3.0, 3.0)] * 2, seed=1)


def gridded(k):
    return optimize.brute(lambda x: np.sum((x - k) ** 2), [(-3.0, 3.0)], full_output=True)


def evolved(k):
    return optimize.differential_evolution(
        lambda x: np.sum((x - k) ** 2), [(-3.0, 3.0)] * 2, seed=1, maxiter=30
    )


UNKNOWN = [
    ("Jout", lambda k: np.sum(gridded(k)[3])),
    ("population", lambda k: np.sum(evolved(k).population)),
    ("population_energies", lambda k: np.sum(evolved(k).population_energies)),
    ("jac", lambda k: np.sum(bounded(k).jac)),
    ("hess_inv", lambda k: np.sum(minimum(k, method="BFGS").hess_inv)),
    ("fjac", lambda k: np.sum(root(k).fjac)),
    ("qtf", lambda k: np.sum(root(k)["qtf"])),
    ("marginals", lambda k: np.sum(program(k).ineqlin.marginals)),
    ("optimality", lambda k: fit(k).optimality),
]


@pytest.mark.parametrize("name, f", UNKNOWN, ids=[row[0] for row in UNKNOWN])
def test_an_error_where_they_are_used(name, f):
    with pytest.raises(ImplicitError, match=f"{name} in the result"):
        gradient(f, 1.3)
    with pytest.raises(NotImplementedTangentError, match=f"{name} in the result"):
        pushforward(f, 1.3)[1](1.0)
