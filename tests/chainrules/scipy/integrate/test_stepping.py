"""Solvers that take one step at a time, scipy.integrate.ode and complex_ode."""

import numpy as np
import pytest
from scipy import integrate

from autodiff import gradient, hessian, pushforward
from chainrules.refused import RefusedError
from chainrules.scipy.integrate.initial_value import OutsideError
from tests.helpers import differences

X = np.array([1.2, 1.0, 0.3, 0.1, 1.5])
TIGHT = {"rtol": 1e-8, "atol": 1e-10}
SOLVERS = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
DIRECTION = np.array([0.3, -1.0, 0.5, 0.8, 0.1])


def check(f, x=X, rtol=1e-5):
    expected = differences(f, x, 1e-3, order=4)
    scale = np.max(np.abs(expected))
    found = gradient(f, x)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * scale)
    np.testing.assert_allclose(pushforward(f, x)[1](DIRECTION[: len(x)]),
                               found @ DIRECTION[: len(x)], rtol=1e-7)  # fmt: skip


def swing(k):
    return lambda t, y: np.array([y[1], -k * y[0] * t])


def by_solver(name, **options):
    def f(x):
        solver = getattr(integrate, name)(swing(x[0]), x[3], x[1:3], x[4], **TIGHT, **options)
        total = 0.0
        while solver.status == "running":
            solver.step()
            if solver.t_old <= 0.5 < solver.t:
                output = solver.dense_output()
                total = total + output(0.5)[0] ** 2 + output(np.array([0.5, solver.t_old]))[1, 0]
        return total + np.sum(solver.y**2) * solver.t

    return f


@pytest.mark.parametrize("name", SOLVERS)
def test_steps_and_dense_output(name):
    check(by_solver(name))


@pytest.mark.parametrize("name", ["Radau", "BDF", "LSODA"])
def test_given_jacobian(name):
    check(by_solver(name, jac=lambda t, y: np.array([[0.0, 1.0], [-1.2 * t, 0.0]])))


def stiff(x):
    def fun(t, y):
        return np.array([-1000 * x[0] * (y[0] - np.cos(t)), y[0] - x[1] * y[1]])

    solver = integrate.BDF(fun, 0.0, np.array([x[2], x[3]]), 0.4, **TIGHT)
    while solver.status == "running":
        solver.step()
    return np.sum(solver.y**2)


def test_stiff_problem():
    check(stiff, X[:4])


def backward(x):
    solver = integrate.RK45(lambda t, y: -x[0] * y, x[2], x[1:2], -x[3], **TIGHT)
    while solver.status == "running":
        solver.step()
    return solver.y[0]


def test_backward():
    check(backward, X[:4])


def columns(x):
    matrix = np.array([[0.0, 1.0], [-1.0, -0.3]])

    def fun(t, y):
        return x[0] * matrix @ y

    solver = integrate.RK45(fun, 0.0, x[1:3], 1.0, vectorized=True, **TIGHT)
    while solver.status == "running":
        solver.step()
    return np.sum(solver.y**2)


def test_vectorized_function():
    check(columns, X[:3])


def test_complex_states():
    def f(x):
        y0 = x[1:2] + 1j * x[2]
        solver = integrate.DOP853(lambda t, y: 1j * x[0] * y - np.conj(y), 0.0, y0, 1.0, **TIGHT)
        while solver.status == "running":
            solver.step()
        return np.sum(np.abs(solver.y) ** 2)

    check(f, X[:3])


def collected(x):
    solver = integrate.RK45(swing(x[0]), 0.0, x[1:3], 1.5, **TIGHT)
    times, outputs = [0.0], []
    while solver.status == "running":
        solver.step()
        times.append(solver.t)
        outputs.append(solver.dense_output())
    sol = integrate.OdeSolution(times, outputs)
    return np.sum(sol(np.array([0.3, 1.1, 0.2])) ** 2) + sol(x[0] / 2)[0]


def test_ode_solution_of_outputs():
    check(collected, X[:3])


def test_the_solution_is_that_of_scipy():
    plain = integrate.RK45(swing(1.2), 0.1, X[1:3], 1.5)
    seen = []

    def f(x):
        solver = integrate.RK45(swing(x[0]), 0.1, x[1:3], 1.5)
        assert isinstance(solver, integrate.OdeSolver)
        for _ in range(3):
            solver.step()
        seen.append((solver.t, solver.status, solver.nfev, solver.step_size, solver.n))
        return np.sum(solver.y)

    value = f(X)
    seen.clear()
    assert gradient(f, X) @ X != 0
    for _ in range(3):
        plain.step()
    assert seen[0] == (plain.t, plain.status, plain.nfev, plain.step_size, plain.n)
    assert value == np.sum(plain.y)


def test_second_derivatives():
    f = by_solver("DOP853")
    expected = differences(lambda t: gradient(f, X + t * DIRECTION), 0.0, 1e-3, order=4)
    np.testing.assert_allclose(hessian(f, X) @ DIRECTION, expected, rtol=1e-5, atol=1e-5)


def test_what_a_solver_keeps_is_refused():
    def f(x):
        solver = integrate.RK45(swing(x[0]), 0.0, x[1:3], 1.5)
        solver.step()
        return np.sum(solver.K)

    with pytest.raises(RefusedError, match=r"RK45\.K was given"):
        gradient(f, X[:3])


def test_outside_of_a_step():
    def f(x):
        solver = integrate.RK45(swing(x[0]), 0.0, x[1:3], 1.5)
        solver.step()
        return np.sum(solver.dense_output()(1.4))

    with pytest.raises(OutsideError, match="between the ends"):
        gradient(f, X[:3])


# -- ode and complex_ode ---------------------------------------------------------------------------


def fun(t, y, k, m):
    return [y[1], -k * y[0] * t - m * y[1]]


def jac(t, y, k, m):
    return [[0, 1], [-k * t, -m]]


def by_integrator(name, jac=None, **options):
    def f(x):
        r = integrate.ode(fun, jac).set_integrator(name, **TIGHT, **options)
        r.set_initial_value(x[1:3], x[3]).set_f_params(x[0], 0.3).set_jac_params(x[0], 0.3)
        total = 0.0
        while r.successful() and r.t < 1.0:
            r.integrate(r.t + 0.5)
            total = total + r.y[0] ** 2
        return total + np.sum(r.integrate(x[4]) ** 2) * r.t

    return f


INTEGRATORS = [
    ("vode", None, {}), ("vode", jac, {"method": "bdf"}), ("lsoda", None, {}), ("lsoda", jac, {}),
    ("dopri5", None, {}), ("dop853", None, {}),
]  # fmt: skip


@pytest.mark.parametrize("name, jac, options", INTEGRATORS)
def test_ode(name, jac, options):
    check(by_integrator(name, jac, **options), rtol=1e-4)


def test_captured_values():
    def f(x):
        r = integrate.ode(swing(x[0])).set_integrator("dopri5", **TIGHT)
        r.set_initial_value([x[1], x[2]])
        return np.sum(r.integrate(1.0) ** 2)

    check(f, X[:3])


@pytest.mark.parametrize("name", ["vode", "lsoda"])
def test_single_steps(name):
    def f(x):
        r = integrate.ode(swing(x[0])).set_integrator(name, **TIGHT)
        r.set_initial_value(x[1:3], 0.0)
        while r.t < 1.0:
            r.integrate(1.0, step=True)
        times.append(r.t)
        return np.sum(r.y**2)

    times: list = []
    found = gradient(f, X[:3])

    def at_that_time(x):
        y = integrate.solve_ivp(swing(x[0]), (0, times[0]), x[1:3], rtol=1e-10, atol=1e-11).y
        return np.sum(y[:, -1] ** 2)

    np.testing.assert_allclose(found, differences(at_that_time, X[:3], 1e-3, order=4), rtol=1e-5)


@pytest.mark.parametrize("name", ["vode", "dopri5", "lsoda"])
def test_complex_ode(name):
    def f(x):
        r = integrate.complex_ode(lambda t, y, k: [1j * k * y[0] + np.conj(y[1]), -y[1] * t * k])
        r.set_integrator(name, **TIGHT)
        r.set_initial_value(x[1:3] + 1j * x[2], x[3]).set_f_params(x[0])
        return np.sum(np.abs(r.integrate(x[4])) ** 2) + np.real(r.y[0])

    try:
        f(X)
    except IndexError:
        pytest.skip("SciPy's own complex_ode gets a number for the state")
    check(f, rtol=1e-4)


def test_zvode():
    def f(x):
        r = integrate.ode(lambda t, y, k: [1j * k * y[0] + y[1], -y[1] * t * k])
        r.set_integrator("zvode", method="bdf", **TIGHT)
        r.set_initial_value(x[1:3] + 1j * x[2], x[3]).set_f_params(x[0])
        return np.sum(np.abs(r.integrate(x[4])) ** 2)

    check(f, rtol=1e-4)


def test_solout_is_refused():
    def f(x):
        r = integrate.ode(swing(x[0])).set_integrator("dopri5")
        seen = []
        r.set_solout(lambda t, y: seen.append(y[0]))
        r.set_initial_value(x[1:3])
        return np.sum(r.integrate(1.0))

    with pytest.raises(RefusedError, match="solout"):
        gradient(f, X[:3])
