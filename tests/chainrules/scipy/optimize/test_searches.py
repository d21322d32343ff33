"""Global searches."""

import numpy as np
import pytest
from scipy import optimize

from autodiff import gradient
from chainrules.scipy.optimize.implicit import ImplicitError, UnconvergedError

X = np.array([0.8, 0.3])
BOX = [(-2, 2), (-2, 2)]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def bumps(u, a, b):
    bowl = (u[0] - a) ** 2 * (1 + b**2) + (u[1] - b * u[0]) ** 2 + 0.1 * u[1] ** 4
    return bowl + 0.3 * u[0] * u[1] + 0.1 * np.sum(1 - np.cos(3 * u))


def weighted(u):
    return u[0] + 2 * u[1]


SEARCHES = {
    "basinhopping": lambda x: weighted(
        optimize.basinhopping(
            bumps, [0.0, 0.0], niter=4, minimizer_kwargs={"args": tuple(x)}, seed=1
        ).x
    ),
    "basinhopping closure": lambda x: weighted(
        optimize.basinhopping(lambda u: bumps(u, *x), [0.0, 0.0], niter=4, seed=1).x
    ),
    "differential_evolution": lambda x: weighted(
        optimize.differential_evolution(bumps, BOX, tuple(x), maxiter=30, seed=1).x
    ),
    "dual_annealing": lambda x: weighted(
        optimize.dual_annealing(bumps, BOX, args=tuple(x), maxiter=10, seed=1).x
    ),
    "shgo": lambda x: weighted(optimize.shgo(bumps, BOX, args=(x[0], x[1])).x),
    "direct": lambda x: weighted(
        optimize.direct(bumps, BOX, args=tuple(x)).x
    ),
    "brute": lambda x: weighted(optimize.brute(bumps, BOX, tuple(x), Ns=8)),
    "brute full": lambda x: weighted(optimize.brute(bumps, BOX, tuple(x), 8, full_output=True)[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", SEARCHES)
def test_searches(name):
    def reference(x):
        return weighted(optimize.minimize(bumps, [0.8, 0.1], args=tuple(x), tol=1e-9).x)

    expected = gradient(reference, X)
    np.testing.assert_allclose(gradient(SEARCHES[name], X), expected, rtol=1e-5)


def test_a_bound_and_the_value(check_implicit):
    def f(x):
        box = [(-2, 0.5 * x[0]), (-2, 2)]
        return optimize.differential_evolution(bumps, box, tuple(x), maxiter=20, seed=1).fun

    check_implicit(f, X, rtol=1e-5, step=1e-3, second=False)


def test_a_point_of_a_grid_is_no_minimum():
    with pytest.raises(UnconvergedError, match=r"scipy.optimize.brute has not converged"):
        gradient(lambda x: optimize.brute(bumps, BOX, tuple(x), Ns=8, finish=None)[0], X)


def test_integers():
    with pytest.raises(ImplicitError, match="integrality="):
        gradient(
            lambda x: (
                optimize.differential_evolution(
                    bumps, BOX, tuple(x), integrality=[1, 0], maxiter=5, seed=1
                ).fun
            ),
            X,
        )
