"""Integrals, sums and differential equations of scipy.integrate."""

import math

import numpy as np
from scipy import integrate

from autodiff import gradient, ignore_derivatives
from chainrules.refused import RefusedError
from chainrules.scipy.integrate.adaptive import LimitError
from chainrules.scipy.integrate.boundary_value import BoundaryError
from chainrules.scipy.integrate.initial_value import OutsideError
from chainrules.scipy.integrate.series import SeriesError
from chainrules.scipy.integrate.states import MixedError, UnsolvedError
from tools.errors.entries import entry

# -- integrals -------------------------------------------------------------------------------------


@entry("quad with a logarithmic weight, differentiated by a limit", LimitError)
def limit_of_a_logarithmic_weight() -> None:
    gradient(lambda b: integrate.quad(math.exp, 0.0, b, weight="alg-loga", wvar=(0, 0))[0], 1.0)


@limit_of_a_logarithmic_weight.instead('Write the logarithm into the integrand, weight="alg"')
def logarithm_in_the_integrand() -> None:
    def f(b):
        return integrate.quad(
            lambda t: np.exp(t) * np.log(t), 0.0, b, weight="alg", wvar=(0, 0)
        )[0]  # fmt: skip

    assert np.isclose(gradient(f, 2.0), np.exp(2.0) * np.log(2.0), rtol=1e-5)


@limit_of_a_logarithmic_weight.instead("Take the limit as a constant")
def constant_limit_of_a_logarithmic_weight() -> None:
    def f(b):
        limit = ignore_derivatives(b)
        return b * integrate.quad(math.exp, 0.0, limit, weight="alg-loga", wvar=(0, 0))[0]

    gradient(f, 1.0)


@entry("quad with an algebraic weight, differentiated by an exponent", LimitError)
def exponent_of_an_algebraic_weight() -> None:
    gradient(lambda p: integrate.quad(math.exp, 0.0, 1.0, weight="alg", wvar=(p, 0))[0], 0.5)


@exponent_of_an_algebraic_weight.instead("Write the power into the integrand, without a weight")
def power_in_the_integrand() -> None:
    g = gradient(lambda p: integrate.quad(lambda t: t**p, 0.0, 1.0)[0], 0.5)
    assert np.isclose(g, -1 / 1.5**2)


@entry("The integral of a derivative is found to few digits", integrate.IntegrationWarning,
       has_line=False)  # fmt: skip
def integral_of_a_rough_derivative() -> None:
    gradient(lambda a: integrate.quad(lambda t: t**2 * np.sin(a / t), 0.0, 1.0)[0], 1.0)


@integral_of_a_rough_derivative.instead("Split the interval where the integrand is rough")
def integral_from_a_break_point() -> None:
    def f(a):
        return integrate.quad(lambda t: t**2 * np.sin(a / t), 0.0, 1.0, points=[0.02, 0.1])[0]

    gradient(f, 1.0)


@integral_of_a_rough_derivative.instead("Give a larger limit=")
def integral_with_a_larger_limit() -> None:
    def f(a):
        return integrate.quad(lambda t: t**2 * np.sin(a / t), 0.0, 1.0, limit=1000)[0]

    gradient(f, 1.0)


@entry("tanhsinh of a logarithm", RefusedError)
def tanhsinh_of_a_logarithm() -> None:
    gradient(lambda a: integrate.tanhsinh(lambda t: -a * t, 0.0, 1.0, log=True).integral, 2.0)


@tanhsinh_of_a_logarithm.instead("Integrate the function itself")
def quad_of_the_function() -> None:
    g = gradient(lambda a: np.log(integrate.quad(lambda t: np.exp(-a * t), 0.0, 1.0)[0]), 2.0)
    assert np.isclose(g, -0.5 + 1 / np.expm1(2.0))


@entry("tanhsinh with finite and infinite limits in one array", RefusedError)
def tanhsinh_with_mixed_limits() -> None:
    def f(a):
        ends = np.array([1.0, np.inf])
        return np.sum(integrate.tanhsinh(lambda t: np.exp(-a * t), 0.0, ends).integral)

    gradient(f, 2.0)


@tanhsinh_with_mixed_limits.instead("Call it for each kind")
def tanhsinh_for_each_kind() -> None:
    def f(a):
        return sum(
            integrate.tanhsinh(lambda t: np.exp(-a * t), 0.0, end).integral for end in (1.0, np.inf)
        )

    assert np.isclose(gradient(f, 2.0), (-1 + 3 * np.exp(-2.0)) / 4 - 1 / 4)


@entry("nsum of finite and infinite sums in one array", RefusedError)
def sums_of_two_kinds() -> None:
    def f(p):
        return np.sum(integrate.nsum(lambda k: k**-p, 1, np.array([9.0, np.inf])).sum)

    gradient(f, 2.0)


@sums_of_two_kinds.instead("Call it once for each kind")
def sums_of_one_kind() -> None:
    def f(p):
        return sum(integrate.nsum(lambda k: k**-p, 1, b).sum for b in (9.0, np.inf))

    gradient(f, 2.0)


@entry("A series of which SciPy sums a part that quadrature does not see", SeriesError)
def series_with_a_spike() -> None:
    def f(p):
        return integrate.nsum(lambda k: k**-p + np.exp(-((k - 800) ** 2)), 1, np.inf).sum

    gradient(f, 2.0)


@series_with_a_spike.instead("Sum more terms: the first ones apart")
def spike_apart() -> None:
    def f(p):
        spike = integrate.nsum(lambda k: np.exp(-((k - 800) ** 2)), 1, 2000).sum
        return integrate.nsum(lambda k: k**-p, 1, np.inf).sum + spike

    gradient(f, 2.0)


@entry("qmc_quad over an interval of no length", RefusedError)
def points_of_an_empty_interval() -> None:
    gradient(lambda k: integrate.qmc_quad(lambda t: k * t[0], [1.0], [1.0]).integral, 1.0)


@points_of_an_empty_interval.instead("Move one of the limits")
def points_of_an_interval() -> None:
    g = gradient(lambda k: integrate.qmc_quad(lambda t: k * t[0], [1.0], [2.0]).integral, 1.0)
    assert np.isclose(g, 1.5, rtol=1e-3)


# -- differential equations ------------------------------------------------------------------------


def heated(k):
    """The right-hand side of a boundary value problem."""
    return lambda t, y: np.vstack([y[1], k * np.exp(y[0])])


def ends(start, end):
    """Its boundary conditions."""
    return np.array([start[0] - 1, end[0] - 1])


@entry("A boundary value problem that is not solved", BoundaryError)
def boundary_value_problem() -> None:
    t, y = np.linspace(0, 1, 5), np.zeros((2, 5))

    def f(k):
        return integrate.solve_bvp(heated(k), ends, t, y, tol=1e-9, max_nodes=6).y[0, 2]

    gradient(f, 1.0)


@boundary_value_problem.instead("Ask for more nodes")
def boundary_value_problem_with_nodes() -> None:
    t, y = np.linspace(0, 1, 5), np.zeros((2, 5))
    gradient(lambda k: integrate.solve_bvp(heated(k), ends, t, y, tol=1e-6).y[0, 2], 1.0)


@entry("A method that calls back at its steps", RefusedError)
def called_at_each_step() -> None:
    def f(k):
        solver = integrate.ode(lambda t, y: -k * y).set_integrator("dopri5")
        seen = []
        solver.set_solout(lambda t, y: seen.append(y[0]))
        return solver.set_initial_value([1.0]).integrate(1.0)[0]

    gradient(f, 1.0)


@called_at_each_step.instead("Ask integrate() for one time after the other")
def time_after_time() -> None:
    def f(k):
        solver = integrate.ode(lambda t, y: -k * y).set_integrator("dopri5")
        solver.set_initial_value([1.0])
        seen = [solver.integrate(t)[0] for t in (0.5, 1.0)]
        return seen[-1]

    assert np.isclose(gradient(f, 1.0), -np.exp(-1.0), rtol=1e-4)


@entry("What the method of a solver keeps", RefusedError)
def slopes_of_a_solver() -> None:
    def f(k):
        solver = integrate.RK45(lambda t, y: -k * y, 0.0, [1.0], 1.0)
        solver.step()
        return solver.K[0, 0]

    gradient(f, 1.0)


@slopes_of_a_solver.instead("Use t, y and dense_output()")
def states_of_a_solver() -> None:
    def f(k):
        solver = integrate.RK45(lambda t, y: -k * y, 0.0, [1.0], 1.0)
        solver.step()
        return -k * solver.y_old[0]

    assert np.isclose(gradient(f, 1.0), -1.0)


@entry("The dense output outside the interval of the solution", OutsideError)
def dense_output_outside() -> None:
    def f(a):
        sol = integrate.solve_ivp(lambda t, y: -a * y, (0, 1), [1.0], dense_output=True).sol
        return sol(2.0)[0]

    gradient(f, 1.0)


@dense_output_outside.instead("Solve over a longer interval")
def dense_output_inside() -> None:
    def f(a):
        sol = integrate.solve_ivp(
            lambda t, y: -a * y, (0, 2), [1.0], dense_output=True, rtol=1e-8
        ).sol
        return sol(2.0)[0]

    assert np.isclose(gradient(f, 1.0), -2 * np.exp(-2.0), rtol=1e-3)


@entry("A solution that does not exist until the last time", UnsolvedError)
def solution_that_ends() -> None:
    def f(k):
        return integrate.odeint(lambda y, t: k * y**2, 1.0, np.array([0.0, 2.0]))[-1, 0]

    gradient(f, 1.0)


@solution_that_ends.instead("End before that")
def solution_before_its_end() -> None:
    def f(k):
        return integrate.odeint(lambda y, t: k * y**2, 1.0, np.array([0.0, 0.5]))[-1, 0]

    assert np.isclose(gradient(f, 1.0), 0.5 / 0.5**2, rtol=1e-4)  # of y = 1 / (1 - k t)


@entry("A stiff problem with complex states that is not holomorphic", MixedError)
def not_holomorphic() -> None:
    def f(k):
        return integrate.solve_ivp(
            lambda t, y: -1e5 * k * (np.conj(y) - t) - 2e5 * y, (0.0, 1.0), np.array([1.0 + 1j]),
            method="BDF", rtol=1e-6, atol=1e-8,
        ).y[0, -1].real  # fmt: skip

    gradient(f, 1.0)


@not_holomorphic.instead("Write the state as real and imaginary parts")
def real_and_imaginary_parts() -> None:
    def f(k):
        def slope(t, y):
            return np.array([-1e5 * k * (y[0] - t) - 2e5 * y[0], 1e5 * k * y[1] - 2e5 * y[1]])

        return integrate.solve_ivp(
            slope, (0.0, 1.0), np.array([1.0, 1.0]), method="BDF", rtol=1e-6, atol=1e-8
        ).y[0, -1]

    assert np.isclose(gradient(f, 1.0), 2 / 9, rtol=1e-3)
