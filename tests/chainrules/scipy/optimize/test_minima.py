"""Minima of functions of numbers and vectors, free, in a box, and under constraints."""

import numpy as np
import pytest
from scipy import optimize

from autodiff import gradient, pushforward
from chainrules.scipy.optimize.implicit import ImplicitError, SingularError, UnconvergedError

X = np.array([0.8, 0.3])
Z = [0.0, 0.0]
FAR = np.inf
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")


def bowl(u, a, b):
    return (
        (u[0] - a) ** 2 * (1 + b**2) + (u[1] - b * u[0]) ** 2 + 0.1 * u[1] ** 4 + 0.3 * u[0] * u[1]
    )


def slope(u, a, b):
    d = u[1] - b * u[0]
    first = 2 * (u[0] - a) * (1 + b * b) - 2 * b * d + 0.3 * u[1]
    return np.array([first, 2 * d + 0.4 * u[1] ** 3 + 0.3 * u[0]])


def curvature(u, a, b):
    return np.array([[2 + 4 * b * b, 0.3 - 2 * b], [0.3 - 2 * b, 2 + 1.2 * u[1] ** 2]])


def weighted(u):
    return u[0] + 2 * u[1]


def line(t, a, b):
    return (t - a) ** 2 + 0.1 * np.exp(b * t)


def beside(u, a, b):
    return 0.2 * a - u[0] ** 2 - u[1]


OPTIONS = {
    "Nelder-Mead": {"xatol": 1e-12, "fatol": 1e-16}, "Powell": {"xtol": 1e-12, "ftol": 1e-16},
    "CG": {"gtol": 1e-9}, "BFGS": {"gtol": 1e-9}, "L-BFGS-B": {"ftol": 1e-16, "gtol": 1e-10},
    "TNC": {"ftol": 1e-16, "gtol": 1e-10}, "COBYLA": {"tol": 1e-10},
    "SLSQP": {"ftol": 1e-16}, "trust-constr": {"gtol": 1e-11, "xtol": 1e-13},
    "COBYQA": {"final_tr_radius": 1e-9},
}  # fmt: skip


def minimum(x, method, f=bowl, **more):
    return optimize.minimize(f, Z, tuple(x), method, options=OPTIONS.get(method), **more)


def exact(f, x, gradient):
    """A looser method, against another one whose gradient is checked."""
    return f, x, gradient


@pytest.fixture
def reference():
    """What the constrained methods should agree with, checked against differences once each."""
    return lambda **more: gradient(lambda x: weighted(minimum(x, "SLSQP", **more).x), X)


@pytest.mark.parametrize("method", ["BFGS", "SLSQP"])
def test_methods(method, check_implicit):
    check_implicit(lambda x: weighted(minimum(x, method, jac=slope).x), X, rtol=1e-5, step=1e-3)


@pytest.mark.parametrize("method", [*OPTIONS, "Newton-CG", "dogleg", "trust-ncg", "trust-exact"])
def test_all_methods_have_the_same_gradient(method):
    expected = gradient(lambda x: weighted(minimum(x, "BFGS", jac=slope).x), X)
    derivatives = {} if method in OPTIONS else {"jac": slope, "hess": curvature}
    f = lambda x: weighted(minimum(x, method, **derivatives).x)  # noqa: E731
    np.testing.assert_allclose(gradient(f, X), expected, rtol=1e-6)
    np.testing.assert_allclose(pushforward(f, X)[1](np.ones(2)), np.sum(expected), rtol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: optimize.minimize(lambda u: bowl(u, *x), Z).fun,
        lambda x: minimum(x, None, lambda u, a, b: (bowl(u, a, b), slope(u, a, b)), jac=True).fun,
        lambda x: minimum(x, "L-BFGS-B", bounds=[(None, 0.5 * x[1]), (-1, 1)]).fun,
        lambda x: weighted(minimum(x, "L-BFGS-B", bounds=[(None, 0.5 * x[1]), (-1, 1)]).x),
        lambda x: weighted(
            minimum(x, "SLSQP", bounds=optimize.Bounds([-1, -1], [0.3 * x[0], 1])).x
        ),
        lambda x: (
            minimum(
                x,
                "SLSQP",
                constraints={"type": "ineq", "fun": lambda u: 0.2 * x[0] - u[0] ** 2 - u[1]},
            ).fun
        ),
    ],
)
def test_values_and_bounds(f, check_implicit):
    check_implicit(f, X, rtol=1e-5, step=1e-3)


CONSTRAINTS = {
    "inequality": lambda x: {"type": "ineq", "fun": lambda u: 0.2 * x[0] - u[0] ** 2 - u[1]},
    "with args": lambda x: ({"type": "ineq", "fun": beside, "args": (x[0], x[1])},),
    "equality": lambda x: [{"type": "eq", "fun": lambda u: x[1] - u[0] ** 2 - u[1]}],
    "one that is slack": lambda x: [
        {"type": "eq", "fun": lambda u: x[1] - u[0] ** 2 - u[1]},
        {"type": "ineq", "fun": lambda u: 5 - u},
    ],
    "nonlinear": lambda x: optimize.NonlinearConstraint(
        lambda u: u[0] ** 2 + x[1] * u[1], -FAR, 0.1 * x[0]
    ),
    "linear": lambda x: [optimize.LinearConstraint(np.array([[1.0, x[0]]]), x[1], x[1])],
    "two-sided": lambda x: optimize.LinearConstraint([[1.0, 1.0]], -1.0, x[1]),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints(name, check_implicit):
    def f(x):
        return weighted(minimum(x, "SLSQP", constraints=CONSTRAINTS[name](x)).x)

    check_implicit(f, X, rtol=2e-5, step=1e-3, second=name in ("equality", "two-sided"))


@pytest.mark.parametrize("method", ["trust-constr", "COBYLA", "COBYQA"])
@pytest.mark.parametrize("name", ["inequality", "nonlinear", "two-sided"])
def test_methods_under_constraints(name, method):
    def f(x, method):
        return weighted(minimum(x, method, constraints=CONSTRAINTS[name](x)).x)

    expected = gradient(lambda x: f(x, "SLSQP"), X)
    np.testing.assert_allclose(gradient(lambda x: f(x, method), X), expected, rtol=1e-5, atol=1e-7)


def test_only_a_constraint_depends_on_x(check_implicit):
    def f(x):
        constraint = {"type": "eq", "fun": lambda u: x[1] - u[0] ** 2 - x[0] * u[1]}
        return optimize.minimize(bowl, Z, (0.5, 0.4), "SLSQP", constraints=[constraint]).fun

    check_implicit(f, X, rtol=1e-5, step=1e-3, second=False)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: optimize.minimize_scalar(line, args=(x[0], x[1]), tol=1e-10).x,
        lambda x: optimize.minimize_scalar(line, args=(x[0], x[1]), method="golden").fun,
        lambda x: optimize.minimize_scalar(lambda t: line(t, *x), bounds=(0, 3)).fun,
        lambda x: optimize.minimize_scalar(line, None, (0, 0.5 * x[0]), tuple(x)).fun,
        lambda x: optimize.brent(line, args=(x[0], x[1]), tol=1e-10),
        lambda x: optimize.golden(line, tuple(x), tol=1e-12, full_output=True)[1],
        lambda x: optimize.fminbound(line, 0, 0.5 * x[0], args=tuple(x), full_output=True)[1],
        lambda x: optimize.fminbound(line, 0, 3, args=tuple(x), xtol=1e-10),
    ],
)
def test_one_variable(f, check_implicit):
    check_implicit(f, X, rtol=1e-4, step=1e-3)


OLDER = {
    "fmin": lambda x: optimize.fmin(bowl, Z, tuple(x), 1e-12, 1e-16, disp=0),
    "fmin_powell": lambda x: optimize.fmin_powell(bowl, Z, tuple(x), 1e-12, 1e-16, disp=0),
    "fmin_cg": lambda x: optimize.fmin_cg(bowl, Z, slope, tuple(x), disp=0, full_output=True)[0],
    "fmin_bfgs": lambda x: optimize.fmin_bfgs(bowl, Z, args=tuple(x), disp=0, retall=True)[0],
    "fmin_ncg": lambda x: optimize.fmin_ncg(bowl, Z, slope, args=tuple(x), disp=0),
    "fmin_l_bfgs_b": lambda x: optimize.fmin_l_bfgs_b(
        bowl, Z, args=tuple(x), approx_grad=True, factr=10
    )[0],
    "fmin_l_bfgs_b with gradient": lambda x: optimize.fmin_l_bfgs_b(
        lambda u, a, b: (bowl(u, a, b), slope(u, a, b)), Z, args=tuple(x), factr=10
    )[0],
    "fmin_tnc": lambda x: optimize.fmin_tnc(bowl, Z, slope, tuple(x), disp=0)[0],
}  # fmt: skip


@pytest.mark.parametrize("name", OLDER)
def test_older_functions(name):
    expected = gradient(lambda x: weighted(minimum(x, "BFGS", jac=slope).x), X)
    found = gradient(lambda x: weighted(OLDER[name](x)), X)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: optimize.fmin_cobyla(bowl, Z, [beside], tuple(x), rhoend=1e-9),
        lambda x: optimize.fmin_slsqp(
            bowl, Z, f_ieqcons=beside, args=tuple(x), acc=1e-14, iprint=0
        ),
        lambda x: optimize.fmin_slsqp(
            bowl, Z, eqcons=[beside], args=tuple(x), acc=1e-14, iprint=0, full_output=True
        )[0],
    ],
)
def test_older_functions_under_constraints(f):
    expected = gradient(
        lambda x: weighted(minimum(x, "SLSQP", constraints=CONSTRAINTS["inequality"](x)).x), X
    )
    np.testing.assert_allclose(gradient(lambda x: weighted(f(x)), X), expected, rtol=1e-5)


def test_where_it_starts_does_not_matter():
    np.testing.assert_array_equal(
        gradient(lambda z: weighted(optimize.minimize(bowl, z, (0.8, 0.3)).x), np.zeros(2)), 0.0
    )


def test_a_known_minimum_in_a_box():
    # (u - a)² in [0, 1]: the minimum is a inside, and the bound outside.
    def f(a, upper):
        return optimize.minimize(lambda u: (u[0] - a) ** 2, [0.5], bounds=[(0, upper)]).x[0]

    assert gradient(f, 0.4, 1.0) == pytest.approx((1.0, 0.0), abs=1e-9)
    assert gradient(f, 1.7, 1.0) == pytest.approx((0.0, 1.0), abs=1e-9)


def test_a_minimum_on_the_verge_of_a_bound_is_an_error():
    with pytest.raises(ImplicitError, match=r"just on a bound of x\[0\]"):
        gradient(
            lambda a: optimize.minimize(lambda u: (u[0] - a) ** 2, [0.5], bounds=[(0, 1)]).x[0], 1.0
        )


def test_a_valley_is_an_error():
    with pytest.raises(SingularError, match="singular"):
        gradient(lambda a: optimize.minimize(lambda u: (u[0] + u[1] - a) ** 2, Z).x[0], 1.0)


def test_an_unconverged_minimum_is_an_error():
    with pytest.raises(UnconvergedError, match=r"scipy.optimize.minimize has not converged"):
        (
            gradient(
                lambda x: optimize.minimize(bowl, Z, tuple(x), "CG", options={"maxiter": 1}).x[0], X
            )
        )
