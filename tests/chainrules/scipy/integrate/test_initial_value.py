"""Initial value problems: by the state, the times, arguments, captured values; events; odeint."""

import numpy as np
import pytest
from scipy import integrate

from autodiff import gradient, hessian, jacobian, pushforward
from chainrules.scipy.integrate.initial_value import OutsideError
from chainrules.scipy.integrate.states import MixedError, UnsolvedError
from tests.helpers import differences

TIGHT = {"rtol": 1e-8, "atol": 1e-10}


def predators(t, y, a, b):
    return [a * y[0] - b * y[0] * y[1], -y[1] + b * y[0] * y[1]]


def by_method(method):
    def f(x):
        how = {"method": method, "args": (x[2], x[3]), "t_eval": [0.3, 0.7, 1.0]}
        return np.sum(integrate.solve_ivp(predators, (0, 1.0), [x[0], x[1]], **how, **TIGHT).y ** 2)

    f.__name__ = f"method_{method}"
    return f


def captured(x):
    def fun(t, y):
        return np.array([y[1], -x[0] * y[0] * t])

    return np.sum(integrate.solve_ivp(fun, (0, 2.0), x[1:3], **TIGHT).y[:, -1] ** 2)


def ends(x):
    y = integrate.solve_ivp(lambda t, y: -x[0] * y * t, (x[1], x[2]), np.array([1.0, 2.0]), **TIGHT)
    return np.sum(y.y[:, -1] ** 2) * y.t[-1]


def times(x):
    how = {"t_eval": x, **TIGHT}
    return np.sum(integrate.solve_ivp(lambda t, y: -y * t, (0, 3), [1.0, 2.0], **how).y ** 2)


def backward(x):
    how = {"t_eval": [1.5, 0.5], **TIGHT}
    return np.sum(integrate.solve_ivp(lambda t, y: -x[0] * y, (2, 0), [x[1], 2.0], **how).y ** 2)


def dense(x):
    how = {"dense_output": True, **TIGHT}
    sol = integrate.solve_ivp(lambda t, y: -x[0] * y, (0, 2), [x[1], 2.0], **how).sol
    return np.sum(sol(x[2]) ** 2) + np.sum(sol(np.array([1.5, 0.3]))[0])


def dense_at(method, times=None):
    def f(x):
        how = {"method": method, "dense_output": True, **TIGHT}
        sol = integrate.solve_ivp(lambda t, y: -x[0] * y, (0, 2), [x[1], 2.0], **how).sol
        at = x[2:] if times is None else times(x)
        return np.sum(sol(at) ** 2) + np.sum(sol(np.linspace(0, 2, 9))[1])

    f.__name__ = f"dense_{method}_{'array' if times is None else 'list'}"
    return f


def dense_one_by_one(x):
    how = {"dense_output": True, **TIGHT}
    sol = integrate.solve_ivp(lambda t, y: -x[0] * y * t, (2, 0), [x[1], 2.0], **how).sol
    return sum(sol(x[i])[0] for i in (2, 3)) + sol.t_min


def sorted_times(x):
    how = {"t_eval": np.sort(x[2:]), **TIGHT}
    y = integrate.solve_ivp(lambda t, y: -x[0] * y * t, (0, 2), [x[1], 2.0], **how).y
    return np.sum(y**2)


def first_time(x):
    how = {"t_eval": [x[0]], **TIGHT}
    y = integrate.solve_ivp(lambda t, y: -x[1] * y * t, (x[0], 2), [x[1], 2.0], **how).y
    return np.sum(y**2)


def stiff(method):
    def f(x):
        def fun(t, y):
            slow = y[0] - x[1] * y[1] ** 2
            return np.array([-1e4 * x[0] * (y[0] - np.cos(t)), slow])

        how = {"method": method, "t_eval": [0.5, 1.7], "rtol": 1e-8, "atol": 1e-10}
        return np.sum(integrate.solve_ivp(fun, (0, 2.0), [x[2], 1.0], **how).y[1] ** 2)

    f.__name__ = f"stiff_{method}"
    return f


def mildly_stiff(x):
    def fun(t, y):
        return np.array([-3e5 * x[0] * (y[0] - x[1] * t)])

    y = integrate.solve_ivp(fun, (0, 1.0), [0.0], method="Radau", rtol=1e-4, atol=1e-6).y
    return y[0, -1] ** 2 * x[0]


def stiff_odeint(x):
    def fun(y, t):
        return [-1e4 * x[0] * (y[0] - np.cos(t)), y[0] - x[1] * y[1] ** 2]

    how = {"rtol": 1e-10, "atol": 1e-12}
    return np.sum(integrate.odeint(fun, [x[2], 1.0], [0.0, 0.5, 1.7], **how)[:, 1] ** 2)


def stiff_complex(x):
    def fun(t, y):
        return np.array([-1e4 * (y[0] - 1j * x[0] * y[1]), -x[1] * y[0] + 1j * y[1]])

    how = {"method": "BDF", "rtol": 1e-9, "atol": 1e-12}
    y = integrate.solve_ivp(fun, (0, 1.0), [0j, 1.0 + 0j], **how).y[:, -1]
    return np.real(y[1]) + 2 * np.imag(y[0])


def ground(t, y):
    return y[0]


ground.terminal = True
ground.direction = -1


def thrown(x):
    def fun(t, y):
        return [y[1], -x[0]]

    return integrate.solve_ivp(fun, (0, 50), [x[1], x[2]], events=ground, **TIGHT)


def event_time(x):
    return thrown(x).t_events[0][0]


def event_state(x):
    found = thrown(x)
    return found.y[1, -1] ** 2 + found.t[-1]


def event_of_a_parameter(x):
    def level(t, y):
        return y[0] - x[2]

    level.terminal, level.direction = True, -1
    found = integrate.solve_ivp(lambda t, y: -x[0] * y, (0, 6), [x[1]], events=level, **TIGHT)
    return found.t[-1] ** 2 + found.y[0, -1] + found.t_events[0][0]


def event_the_second_time(x):
    def level(t, y):
        return y[0] - x[2] * 0.1

    level.terminal = 2
    how = {"events": [level], "dense_output": True, **TIGHT}
    found = integrate.solve_ivp(lambda t, y: [y[1], -x[0] * y[0]], (0, 20), [x[1], 0.3], **how)
    return found.t[-1] + np.sum(found.y_events[0][:, 1] ** 2) + found.sol(1.2)[0]


def event_between_times(x):
    def level(t, y, k):
        return y[0] - 0.1 * k

    level.terminal = True
    how = {"events": (level,), "t_eval": [0.1, 0.2, 5.0], "args": (x[0],), **TIGHT}
    found = integrate.solve_ivp(lambda t, y, k: [y[1], -k * y[0]], (0, 9), [x[1], x[2]], **how)
    return np.sum(found.y**2) + found.t_events[0][0]


def events_that_do_not_stop(x):
    def fun(t, y, k):
        return [y[1], -k * y[0]]

    events = [lambda t, y, k: y[0] - 0.1 * k, lambda t, y, k: y[1]]
    how = {"args": (x[0],), "events": events, **TIGHT}
    found = integrate.solve_ivp(fun, (0, 3.0), [x[1], 0.2], **how)
    return np.sum(found.t_events[0]) + np.sum(found.y_events[1][:, 0])


def complex_state(x):
    start = np.array([1.0 + 0j, x[1] * 1j])
    y = integrate.solve_ivp(lambda t, y: 1j * x[0] * y + x[1], (0, 1.0), start, **TIGHT).y[:, -1]
    return np.sum(np.real(y) ** 2) + np.imag(y[0])


def vectorized(x):
    how = {"method": "Radau", "vectorized": True, "jac": lambda t, y: -x[0] * np.eye(2), **TIGHT}
    y = integrate.solve_ivp(lambda t, y: -x[0] * y, (0, 1), [x[1], 2.0], **how).y
    return np.sum(y[:, -1] ** 2)


def odeint_arguments(x):
    def fun(y, t, a):
        return [y[1], -a * y[0]]

    y = integrate.odeint(fun, [x[0], x[1]], np.linspace(0, 2, 5), args=(x[2],))
    return np.sum(y**2)


def odeint_times(x):
    t = np.array([0.0, 1.0, x[2]])
    return np.sum(integrate.odeint(lambda t, y: -x[0] * y * t, x[1], t, tfirst=True) ** 2)


def odeint_full(x):
    t = [0.0, 1.0, 2.0]
    return np.sum(integrate.odeint(lambda y, t: -x[0] * y, x[1], t, full_output=1)[0] ** 2)


PROGRAMS = [
    *[(by_method(m), [1.3, 0.5, 1.1, 0.9]) for m in ("RK45", "DOP853", "Radau", "BDF", "LSODA")],
    (captured, [1.3, 0.5, 1.1]), (ends, [1.3, 0.5, 1.1]), (times, [0.3, 0.5, 1.1]),
    (backward, [0.3, 0.5]), (dense, [0.3, 0.5, 1.3]), (event_time, [9.8, 5.0, 1.3]),
    (event_state, [9.8, 5.0, 1.3]), (events_that_do_not_stop, [2.0, 1.0]),
    (complex_state, [1.3, 0.4]), (vectorized, [0.3, 0.5]), (odeint_arguments, [1.3, 0.5, 1.1]),
    (odeint_times, [1.3, 0.5, 1.1]), (odeint_full, [1.3, 0.5]),
    *[(dense_at(m), [1.3, 0.7, 0.4, 1.6]) for m in ("RK23", "RK45", "DOP853", "Radau", "LSODA")],
    (dense_at("RK45", lambda x: [x[2], x[3], 1.0]), [1.3, 0.7, 0.4, 1.6]),
    (dense_one_by_one, [1.3, 0.7, 0.4, 1.6]), (sorted_times, [1.3, 0.7, 1.6, 0.4]),
    (first_time, [0.3, 0.7]), *[(stiff(m), [1.0, 0.5, 0.9]) for m in ("Radau", "BDF", "LSODA")],
    (stiff_odeint, [1.0, 0.5, 0.9]), (stiff_complex, [1.0, 0.5]),
    (event_of_a_parameter, [1.3, 1.7, 0.4]), (event_the_second_time, [1.3, 1.7, 0.4]),
    (event_between_times, [1.3, 1.7, 0.4]),
]  # fmt: skip
TWICE = [
    (ends, [1.3, 0.5, 1.1]), (dense_at("RK45"), [1.3, 0.7, 0.4, 1.6]),
    (by_method("BDF"), [1.3, 0.5, 1.1, 0.9]), (mildly_stiff, [1.0, 0.5]),
    (event_of_a_parameter, [1.3, 1.7, 0.4]), (odeint_arguments, [1.3, 0.5, 1.1]),
]  # fmt: skip


@pytest.mark.parametrize("f, x", [pytest.param(f, np.array(x), id=f.__name__) for f, x in PROGRAMS])
def test_both_modes(f, x):
    expected = differences(f, x, 1e-3, order=4)
    # The values of a stiff problem are its solver's, to about 1e-8; h divides that.
    atol = 3e-5 if "stiff" in f.__name__ else 1e-6
    np.testing.assert_allclose(gradient(f, x), expected, rtol=1e-4, atol=atol)
    direction = np.array([0.3, -1.0, 0.5, 0.8])[: len(x)]
    value, push = pushforward(f, x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(push(direction), expected @ direction, rtol=1e-4, atol=atol)


@pytest.mark.parametrize("f, x", [pytest.param(f, np.array(x), id=f.__name__) for f, x in TWICE])
def test_second_order(f, x, monkeypatch):
    expected = differences(lambda x: gradient(f, x), x, 1e-3, order=4)
    monkeypatch.setitem(TIGHT, "rtol", 1e-5)
    monkeypatch.setitem(TIGHT, "atol", 1e-7)
    np.testing.assert_allclose(hessian(f, x), expected, rtol=2e-3, atol=2e-4)


def pendulum(p, start, method):
    """Three places of a driven pendulum, by steps that are exact to a part in 10⁵."""

    def fun(t, y):
        return np.array([y[1] * np.cos(p[0] * t), -p[1] * np.sin(y[0]) - p[2] * y[1] ** 2])

    how = {"t_eval": [0.3, 1.0, 2.0], "method": method, "rtol": 1e-5, "atol": 1e-7}
    return np.sum(integrate.solve_ivp(fun, (0.0, 2.0), start, **how).y ** 2)


def complex_oscillator(p, _, method):
    def fun(t, y):
        return 1j * p[0] * y - p[1] * y * np.abs(y) ** 2

    how = {"t_eval": [0.4, 1.0], "method": method, "rtol": 1e-5, "atol": 1e-7}
    y = integrate.solve_ivp(fun, (0.0, 1.0), p[2:] * np.array([1.0 + 0.5j]), **how).y
    return np.sum(np.abs(y) ** 2 + np.real(y))


RATES, BEGIN = np.array([0.7, 1.3, 0.2]), np.array([0.5, -0.4])


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
@pytest.mark.parametrize("f", [pendulum, complex_oscillator])
def test_hessians_of_explicit_methods(f, method):
    def slope(p):
        return gradient(f, p, BEGIN, method, argnums=0)

    found = hessian(f, RATES, BEGIN, method, argnums=0)
    np.testing.assert_allclose(found, found.T, rtol=1e-9, atol=1e-11)
    expected = differences(slope, RATES, 1e-4)
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3 * np.max(np.abs(expected)))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_mixed_second_derivatives(mode):
    """The gradient by captured rates, differentiated by a factor and a start that it does not see.

    By symmetry that is the gradient by these, differentiated by the rates.
    """

    def slope(q):
        return gradient(lambda p: pendulum(p * q[0], q[1:], "RK45"), RATES)

    def other(p):
        return gradient(lambda q: pendulum(p * q[0], q[1:], "RK45"), np.array([1.1, 0.5, -0.4]))

    found = jacobian(slope, np.array([1.1, 0.5, -0.4]), mode=mode)
    np.testing.assert_allclose(found, jacobian(other, RATES).T, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("rtol", [1e-3, 1e-6])
def test_the_error_is_of_the_size_of_the_tolerance(method, rtol):
    """Against y = y₀ exp(-k t²/2), whose derivatives are known."""

    def f(x):
        how = {"method": method, "rtol": rtol, "atol": rtol * 1e-2}
        found = integrate.solve_ivp(lambda t, y: -x[0] * t * y, (0.0, 2.0), [x[1]], **how)
        return found.y[0, -1]

    found = gradient(f, np.array([0.7, 1.5]))
    expected = np.exp(-1.4) * np.array([-2.0 * 1.5, 1.0])
    np.testing.assert_allclose(found, expected, rtol=30 * rtol)


def test_a_closed_form_at_several_times():
    """∂/∂k of the sum over tᵢ of y₀ exp(-k tᵢ) is -Σ tᵢ y₀ exp(-k tᵢ)."""
    t = np.linspace(0.0, 3.0, 50)

    def f(k):
        how = {"t_eval": t, "rtol": 1e-10, "atol": 1e-12}
        return np.sum(integrate.solve_ivp(lambda t, y: -k * y, (0.0, 3.0), [2.0], **how).y)

    np.testing.assert_allclose(gradient(f, 0.7), -np.sum(t * 2.0 * np.exp(-0.7 * t)), rtol=1e-8)


def test_stages_that_are_not_kept_are_found_again(monkeypatch):
    from chainrules.scipy.integrate import runge_kutta

    x = np.array([1.3, 0.7, 0.4, 1.6])
    expected = gradient(dense_at("DOP853"), x)
    monkeypatch.setattr(runge_kutta, "MOST_NUMBERS", 0)
    np.testing.assert_allclose(gradient(dense_at("DOP853"), x), expected, rtol=1e-12)


def test_the_right_hand_side_is_evaluated_a_few_times_as_often():
    """The value takes n evaluations; the gradient no more than the stages once again, compiled."""
    calls = []

    def f(x, counted):
        def fun(t, y):
            if counted:
                calls.append(t)
            return -x * y

        return integrate.solve_ivp(fun, (0.0, 9.0), np.array([1.0, 2.0]), **TIGHT).y[0, -1]

    f(1.0, True)
    before = len(calls)
    gradient(f, 1.0, False)
    gradient(lambda x: f(x, True), 1.0)
    assert len(calls) < 4 * before


def test_a_stiff_problem_that_is_not_holomorphic_raises():
    def f(k):
        how = {"method": "BDF", "rtol": 1e-6, "atol": 1e-8}
        y0 = np.array([1.0 + 1j])
        fun = lambda t, y: -1e5 * k * (np.conj(y) - t) - 2e5 * y  # noqa: E731
        return np.real(integrate.solve_ivp(fun, (0.0, 1.0), y0, **how).y[0, -1])

    with pytest.raises(MixedError, match="holomorphic"):
        gradient(f, 1.0)


@pytest.mark.filterwarnings("ignore::scipy.integrate.ODEintWarning", "ignore:lsoda")
def test_a_solution_that_does_not_exist_raises():
    """Of y' = y² from 1 there is none at t = 1. LSODA goes on for ever."""
    with pytest.raises(UnsolvedError, match="end before that"):
        gradient(lambda k: integrate.odeint(lambda y, t: k * y**2, 1.0, [0.0, 1.1])[-1, 0], 1.0)


def test_a_dense_output_outside_raises():
    def f(a):
        sol = integrate.solve_ivp(lambda t, y: -a * y, (0, 1), [1.0], dense_output=True).sol
        return sol(2.0)[0]

    with pytest.raises(OutsideError, match="longer interval"):
        gradient(f, 1.0)
