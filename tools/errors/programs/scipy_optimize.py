"""Solutions of scipy.optimize that have no derivative, or that an iteration has not reached."""

import numpy as np
from scipy import optimize

from autodiff import gradient, ignore_derivatives
from chainrules.refused import RefusedError
from chainrules.scipy.optimize.implicit import ImplicitError, SingularError, UnconvergedError
from tools.errors.entries import entry

# -- roots -----------------------------------------------------------------------------------------


@entry("A root finder with more equations than unknowns", ImplicitError)
def more_equations_than_unknowns() -> None:
    def fit(a):
        return optimize.root(lambda u: [u[0] - a, 2 * u[0] - a, u[0]], [1.0], method="lm").x[0]

    gradient(fit, 1.0)


@more_equations_than_unknowns.instead("Use least_squares")
def least_squares_of_more_equations() -> None:
    def fit(a):
        return optimize.least_squares(lambda u: [u[0] - a, 2 * u[0] - a, u[0]], [1.0]).x[0]

    assert np.isclose(gradient(fit, 1.0), 0.5)


@entry("The derivative of the function is infinite at its root", SingularError)
def infinite_slope_at_a_root() -> None:
    gradient(lambda a: optimize.bisect(lambda t: np.cbrt(t - a), 0.0, 4.0), 2.0)


@infinite_slope_at_a_root.instead("Solve an equation with the same root that is smooth there")
def finite_slope_at_a_root() -> None:
    assert np.isclose(gradient(lambda a: optimize.bisect(lambda t: t - a, 0.0, 4.0), 2.0), 1.0)


@entry("A multiple root", SingularError)
def multiple_root() -> None:
    def root(a):
        return optimize.newton(lambda t: (t - 1) ** 2 - a, 3.0, maxiter=99)

    gradient(root, 0.0)


@multiple_root.instead("Differentiate where the root is a simple one")
def simple_root() -> None:
    def root(a):
        return optimize.newton(lambda t: (t - 1) ** 2 - a, 3.0, maxiter=99)

    assert np.isclose(gradient(root, 0.25), 1.0)


@multiple_root.instead("Wrap what the function of a constant root is made of")
def constant_multiple_root() -> None:
    def loss(a):
        scale = ignore_derivatives(a**2)
        return a * optimize.newton(lambda t: scale * (t - 1) ** 2, 3.0, maxiter=99)

    assert np.isclose(gradient(loss, 0.5), 1.0)


@entry("Equations of which one does not depend on the unknowns", SingularError)
def equation_without_unknowns() -> None:
    def solved(a):
        return optimize.root(lambda u: [u[0] - a, 0.0 * u[0]], [1.0, 1.0]).x[0]

    gradient(solved, 2.0)


@equation_without_unknowns.instead("Leave out the redundant equation and its unknown")
def equation_for_each_unknown() -> None:
    def solved(a):
        return optimize.root(lambda u: [u[0] - a], [1.0]).x[0]

    assert np.isclose(gradient(solved, 2.0), 1.0)


@entry("Several equations solved at once, one of them flat at its root", SingularError)
def flat_root_among_several() -> None:
    def roots(a):
        return np.sum(optimize.newton(lambda t: (t - a) ** 3, np.array([1.0, 2.0]), maxiter=200))

    gradient(roots, 1.0)


@flat_root_among_several.instead("Solve an equation with the same root that is not flat there")
def simple_roots_of_several() -> None:
    def roots(a):
        return np.sum(optimize.newton(lambda t: t - a, np.array([1.5, 2.0])))

    assert np.isclose(gradient(roots, 1.0), 2.0)


@entry("Two equations that say the same", SingularError)
def dependent_equations() -> None:
    def solved(a):
        return optimize.root(lambda u: [u[0] + u[1] - a, 2 * (u[0] + u[1] - a)], [1.0, 1.0]).x[0]

    gradient(solved, 2.0)


@dependent_equations.instead("Replace the redundant equation by one that fixes the solution")
def independent_equations() -> None:
    def solved(a):
        return optimize.root(lambda u: [u[0] + u[1] - a, u[0] - u[1]], [1.0, 1.0]).x[0]

    assert np.isclose(gradient(solved, 2.0), 0.5)


@entry("A solver that has stopped far from the root", UnconvergedError)
def unconverged_root() -> None:
    def root(a):
        return optimize.fixed_point(lambda t: np.cos(a * t), 0.5, xtol=1e-2, method="iteration")

    gradient(root, 1.0)


@unconverged_root.instead("Ask for a smaller tolerance")
def converged_root() -> None:
    def root(a):
        return optimize.fixed_point(lambda t: np.cos(a * t), 0.5, xtol=1e-10)

    x = root(1.0)
    assert np.isclose(gradient(root, 1.0), -x * np.sin(x) / (1 + np.sin(x)))


# -- minima ----------------------------------------------------------------------------------------


@entry("A minimum in a flat valley", SingularError)
def valley() -> None:
    def lowest(a):
        return optimize.minimize(lambda u: (u[0] + u[1] - a) ** 2, [0.0, 0.0]).x[0]

    gradient(lowest, 1.0)


@valley.instead("Leave out the redundant parameter")
def minimum_without_valley() -> None:
    def lowest(a):
        return optimize.minimize(lambda u: (u[0] - a) ** 2, [0.0]).x[0]

    assert np.isclose(gradient(lowest, 1.0), 1.0)


@valley.instead("Make the minimum unique with a small penalty")
def minimum_with_penalty() -> None:
    def lowest(a):
        def loss(u):
            return (u[0] + u[1] - a) ** 2 + 1e-3 * (u[0] ** 2 + u[1] ** 2)

        return optimize.minimize(loss, [0.0, 0.0]).x[0]

    assert np.isclose(gradient(lowest, 1.0), 1 / 2.001)


@entry("A minimum just on a bound that does not hold it", ImplicitError)
def minimum_just_on_a_bound() -> None:
    def lowest(a):
        return optimize.minimize(lambda u: (u[0] - a) ** 2, [0.5], bounds=[(0, 1)]).x[0]

    gradient(lowest, 1.0)


@minimum_just_on_a_bound.instead("Leave out the bound")
def minimum_without_the_bound() -> None:
    def lowest(a):
        return optimize.minimize(lambda u: (u[0] - a) ** 2, [0.5]).x[0]

    assert np.isclose(gradient(lowest, 1.0), 1.0)


@entry("A field of the result that the iteration left behind", ImplicitError)
def other_field_of_a_result() -> None:
    def spread(a):
        found = optimize.minimize(lambda u: (u[0] - a) ** 2 * a, [0.0], method="BFGS")
        return found.hess_inv[0, 0]

    gradient(spread, 2.0)


@other_field_of_a_result.instead("Compute it from x")
def computed_from_the_minimum() -> None:
    def spread(a):
        found = optimize.minimize(lambda u: (u[0] - a) ** 2 * a, [0.0], method="BFGS")
        return 1 / (2 * a) + 0 * found.x[0]

    assert np.isclose(gradient(spread, 2.0), -1 / 8)


@other_field_of_a_result.instead("Take it as a constant")
def constant_field_of_a_result() -> None:
    def weighted(a):
        found = optimize.minimize(lambda u: (u[0] - a) ** 2 * a, [0.0], method="BFGS")
        return found.x[0] * ignore_derivatives(found.hess_inv[0, 0])

    assert np.isclose(gradient(weighted, 2.0), 0.25, rtol=1e-3)


@entry("A global minimum over integers", ImplicitError)
def minimum_over_integers() -> None:
    def lowest(a):
        return optimize.differential_evolution(
            lambda u: (u[0] - 2.2) ** 2 + (u[1] - a) ** 2, [(0, 4), (0, 4)], integrality=[1, 0],
            maxiter=10, rng=1,
        ).x[1]  # fmt: skip

    gradient(lowest, 1.0)


@minimum_over_integers.instead("Fix the integers, and minimise over the other variables")
def minimum_with_fixed_integers() -> None:
    def lowest(a):
        def loss(u, a):
            return (u[0] - 2.2) ** 2 + (u[1] - a) ** 2

        integer = optimize.differential_evolution(
            loss, [(0, 4), (0, 4)], (ignore_derivatives(a),), integrality=[1, 0], maxiter=10, rng=1
        ).x[0]
        return optimize.minimize(lambda v: loss([integer, v[0]], a), [0.0]).x[0]

    assert np.isclose(gradient(lowest, 1.0), 1.0)


@entry("A step of a line search", RefusedError)
def step_of_a_line_search() -> None:
    def step(a):
        return optimize.line_search(
            lambda u: np.sum((u - a) ** 2), lambda u: 2 * (u - a), np.zeros(1), np.ones(1)
        )[0]

    gradient(step, 0.7)


@step_of_a_line_search.instead("Differentiate the minimum along the line")
def minimum_along_a_line() -> None:
    def step(a):
        return optimize.minimize_scalar(lambda s: np.sum((s * np.ones(1) - a) ** 2)).x

    assert np.isclose(gradient(step, 0.7), 1.0)


@entry("check_grad in a random direction", ImplicitError)
def check_grad_in_a_random_direction() -> None:
    def gap(a):
        x0 = np.ones(2)
        return optimize.check_grad(
            lambda u: a * np.sum(u**3), lambda u: 3.1 * u**2, x0, direction="random", rng=1
        )

    gradient(gap, 1.0)


@check_grad_in_a_random_direction.instead("Leave out direction=")
def check_grad_in_all_directions() -> None:
    def gap(a):
        return optimize.check_grad(lambda u: a * np.sum(u**3), lambda u: 3.1 * u**2, np.ones(2))

    assert np.isclose(gradient(gap, 1.0), -3 * np.sqrt(2), rtol=1e-4)


# -- linear problems, fits -------------------------------------------------------------------------


@entry("A linear program without a solution", UnconvergedError)
def infeasible_program() -> None:
    gradient(lambda c: optimize.linprog(c, [[1.0]], [-1.0]).fun, np.array([1.0]))


@infeasible_program.instead("Give constraints that can be met")
def feasible_program() -> None:
    found = gradient(lambda c: optimize.linprog(c, [[-1.0]], [-1.0]).fun, np.array([1.0]))
    assert np.allclose(found, [1.0])


@entry("Linear least squares just on a bound that does not hold the solution", ImplicitError)
def least_squares_just_on_a_bound() -> None:
    gradient(lambda b: np.sum(optimize.nnls(np.eye(2), b)[0]), np.array([0.0, 1.0]))


@least_squares_just_on_a_bound.instead("Leave out the bound")
def least_squares_without_the_bound() -> None:
    g = gradient(lambda b: np.sum(optimize.lsq_linear(np.eye(2), b).x), np.array([0.0, 1.0]))
    assert np.allclose(g, [1.0, 1.0])


@entry("Linear least squares with dependent columns", SingularError)
def dependent_columns() -> None:
    gradient(lambda b: optimize.lsq_linear(np.ones((3, 2)), b).x[0], np.array([1.0, 2.0, 4.0]))


@dependent_columns.instead("Leave out columns until the others are independent")
def independent_columns() -> None:
    g = gradient(lambda b: optimize.lsq_linear(np.ones((3, 1)), b).x[0], np.array([1.0, 2.0, 4.0]))
    assert np.allclose(g, np.ones(3) / 3)


@dependent_columns.instead("Take the shortest of the solutions")
def shortest_solution() -> None:
    g = gradient(lambda b: (np.linalg.pinv(np.ones((3, 2))) @ b)[0], np.array([1.0, 2.0, 4.0]))
    assert np.allclose(g, np.ones(3) / 6)


@entry("A fit that leaves out NaN", ImplicitError)
def fit_that_omits_nan() -> None:
    def slope(y):
        t = np.arange(4.0)
        return optimize.curve_fit(lambda t, a: a * t, t, y, nan_policy="omit")[0][0]

    gradient(slope, np.array([0.0, 1.0, np.nan, 3.0]))


@fit_that_omits_nan.instead("Take the NaN out before")
def fit_without_nan() -> None:
    def slope(y):
        t = np.arange(4.0)
        good = ~np.isnan(y)
        return optimize.curve_fit(lambda t, a: a * t, t[good], y[good])[0][0]

    g = gradient(slope, np.array([0.0, 1.0, np.nan, 3.0]))
    assert np.allclose(g, [0.0, 0.1, 0.0, 0.3])
