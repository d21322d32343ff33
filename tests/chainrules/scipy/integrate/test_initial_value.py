"""Initial value problems: by the state, the times, arguments, captured values; events; odeint."""

import numpy as np
import pytest
from scipy import integrate

from autodiff import gradient, pushforward
from chainrules.scipy.integrate.initial_value import OutsideError

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
]  # fmt: skip


def differences(f, x, h=1e-3):
    steps = h * np.eye(len(x))
    return np.array(
        [(8 * (f(x + e) - f(x - e)) - (f(x + 2 * e) - f(x - 2 * e))) / (12 * h) for e in steps]
    )


@pytest.mark.parametrize("f, x", [pytest.param(f, np.array(x), id=f.__name__) for f, x in PROGRAMS])
def test_both_modes(f, x):
    expected = differences(f, x)
    np.testing.assert_allclose(gradient(f, x), expected, rtol=1e-4, atol=1e-6)
    direction = np.array([0.3, -1.0, 0.5, 0.8])[: len(x)]
    value, push = pushforward(f, x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(push(direction), expected @ direction, rtol=1e-4, atol=1e-6)


def test_a_dense_output_outside_raises():
    def f(a):
        sol = integrate.solve_ivp(lambda t, y: -a * y, (0, 1), [1.0], dense_output=True).sol
        return sol(2.0)[0]

    with pytest.raises(OutsideError, match="longer interval"):
        gradient(f, 1.0)
