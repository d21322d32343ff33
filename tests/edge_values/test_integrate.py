"""Integrals and initial value problems: gradients that can be written down."""

import math

import numpy as np
import pytest
from scipy import integrate

import autodiff

INF = np.inf
E = math.e


def quad(f, a, b, **how):
    return integrate.quad(f, a, b, **how)[0]


def ended(f, y0, t1=1.0, **how):
    """The last state."""
    found = integrate.solve_ivp(f, (0.0, t1), y0, rtol=1e-10, atol=1e-12, **how)
    return found.y[:, -1]


def event_of(level, **how):
    def reached(t, y):
        return y[0] - level

    reached.terminal = True
    found = integrate.solve_ivp(
        lambda t, y: [1.0 + 0.0 * t], (0.0, 9.0), [0.0], events=reached, rtol=1e-9, **how
    )
    return found.t_events[0][0]


# fmt: off
TABLE = [
    # limits: the fundamental theorem
    ("upper limit", lambda x: quad(lambda t: t * t, 0.0, x), 2.0, 4.0),
    ("lower limit", lambda x: quad(lambda t: t * t, x, 3.0), 2.0, -4.0),
    ("both limits are one", lambda x: quad(lambda t: t + 1.0, x, x), 2.0, 0.0),
    ("limits the wrong way round", lambda x: quad(lambda t: t, 3.0, x), 1.0, 1.0),
    ("nothing between, by the upper", lambda x: quad(lambda t: t + 1.0, 2.0, x), 2.0, 3.0),
    ("from a to a by the integrand", lambda x: quad(lambda t: x * t, 2.0, 2.0), 5.0, 0.0),
    ("to infinity, lower limit", lambda x: quad(lambda t: math.exp(-t), x, INF), 0.0, -1.0),
    ("infinite limit", lambda x: quad(lambda t: math.exp(-x * t), 0.0, INF), 2.0, -0.25),
    ("both infinite", lambda x: quad(lambda t: np.exp(-((t - x) ** 2)), -INF, INF), 0.5, 0.0),
    ("from infinity", lambda x: quad(lambda t: math.exp(-t), INF, x), 0.0, -1.0 * -1.0),
    # the integrand
    ("constant integrand", lambda x: quad(lambda t: x, 0.0, 3.0), 5.0, 3.0),
    ("integrand without the variable", lambda x: quad(lambda t: 1.0, 0.0, 2.0) + x, 5.0, 1.0),
    ("a root at the limit", lambda x: quad(lambda t: x * math.sqrt(t), 0.0, 1.0), 3.0, 2 / 3),
    ("singular at the limit", lambda x: quad(lambda t: x / math.sqrt(t), 0.0, 1.0), 3.0, 2.0),
    ("args", lambda x: quad(lambda t, a, b: a * t + b, 0, 2, args=(x, 1.0)), 3.0, 2.0),
    ("one arg", lambda x: quad(lambda t, a: a * t, 0, 2, args=x), 3.0, 2.0),
    # jumps and kinks
    ("a jump at a break point", lambda x: quad(lambda t: 1.0 if t > x else 0.0, 0, 1, points=[x]),
     0.25, -1.0),
    ("a jump of height 3", lambda x: quad(lambda t: 5.0 if t < x else 2.0, 0, 1, points=[x]),
     0.25, 3.0),
    ("a kink", lambda x: quad(lambda t: abs(t - x), 0, 1, points=[x]), 0.25, -0.5),
    ("a kink in the middle", lambda x: quad(lambda t: abs(t - x), 0, 1, points=[x]), 0.5, 0.0),
    ("two jumps", lambda x: quad(lambda t: float(x < t < 2 * x), 0, 1, points=[x, 2 * x]),
     0.25, 1.0),
    # weights
    ("cos by its frequency", lambda x: quad(lambda t: 1.0, 0, 1, weight="cos", wvar=x),
     math.pi, -1 / math.pi),
    ("cos at frequency 0", lambda x: quad(lambda t: 1.0, 0, 1, weight="cos", wvar=x), 0.0, 0.0),
    ("sin at frequency 0", lambda x: quad(lambda t: 1.0, 0, 1, weight="sin", wvar=x), 0.0, 0.5),
    ("cauchy", lambda x: quad(lambda t: t, -1.0, 1.0, weight="cauchy", wvar=x), 0.0, 0.0),
    ("cauchy of a constant", lambda x: quad(lambda t: x, 1.0, E, weight="cauchy", wvar=0.0),
     2.0, 1.0),
    # several variables
    ("square", lambda x: integrate.dblquad(lambda s, t: 1.0, 0, x, 0, x)[0], 3.0, 6.0),
    ("triangle", lambda x: integrate.dblquad(lambda s, t: 1.0, 0, x, 0, lambda t: t)[0], 3.0, 3.0),
    ("cube", lambda x: integrate.tplquad(lambda r, s, t: 1.0, 0, x, 0, x, 0, x)[0], 2.0, 12.0),
    ("flat", lambda x: integrate.dblquad(lambda s, t: x, 0, 1, 0, 0)[0], 2.0, 0.0),
    ("nquad", lambda x: integrate.nquad(lambda s, t: s * t * x, [[0, 1], [0, 2]])[0], 3.0, 1.0),
    ("vector", lambda x: integrate.quad_vec(lambda t: np.array([x, t * x]), 0, 2)[0], 3.0, 4.0),
    # sampled
    ("trapezoid", lambda x: integrate.trapezoid(x), [1.0, 2.0, 4.0], [0.5, 1.0, 0.5]),
    ("trapezoid of one", lambda x: integrate.trapezoid(x), [3.0], [0.0]),
    ("simpson", lambda x: integrate.simpson(x), [1.0, 2.0, 4.0], [1 / 3, 4 / 3, 1 / 3]),
    ("romb", lambda x: integrate.romb(x), [1.0, 2.0, 4.0], [1 / 3, 4 / 3, 1 / 3]),
    ("cumulative", lambda x: integrate.cumulative_trapezoid(x), [1.0, 2.0, 4.0], [1.0, 1.5, 0.5]),
]
PROBLEMS = [
    ("decay by its rate", lambda x: ended(lambda t, y: -x * y, [1.0]), 1.0, -1 / E),
    ("decay by the start", lambda x: ended(lambda t, y: -y, [x]), 1.0, 1 / E),
    ("by the last time", lambda x: ended(lambda t, y: -y, [1.0], x), 1.0, -1 / E),
    ("no time at all", lambda x: ended(lambda t, y: -x * y, [x], 0.0), 2.0, 1.0),
    ("a slope of 0", lambda x: ended(lambda t, y: 0.0 * y, [x]), 2.0, 1.0),
    ("start at a fixed point", lambda x: ended(lambda t, y: x * y, [0.0]), 2.0, 0.0),
    ("a slope that is a parameter", lambda x: ended(lambda t, y: [x], [0.0]), 2.0, 1.0),
    ("args", lambda x: ended(lambda t, y, k: [k * t], [0.0], args=(x,)), 2.0, 0.5),
    ("two states", lambda x: ended(lambda t, y: [y[1], 0.0], [0.0, x])[0], 2.0, 1.0),
    ("Radau", lambda x: ended(lambda t, y: -x * y, [1.0], method="Radau"), 1.0, -1 / E),
    ("BDF", lambda x: ended(lambda t, y: -x * y, [1.0], method="BDF"), 1.0, -1 / E),
    ("LSODA", lambda x: ended(lambda t, y: -x * y, [1.0], method="LSODA"), 1.0, -1 / E),
    ("a time asked for", lambda x: ended(lambda t, y: -y, [1.0], 2.0, t_eval=[x]), 1.0, -1 / E),
    ("the first time", lambda x: ended(lambda t, y: -y, [x], 2.0, t_eval=[0.0]), 1.0, 1.0),
    ("an event's time", event_of, 3.0, 1.0),
    ("odeint", lambda x: integrate.odeint(lambda y, t: -x * y, 1.0, [0.0, 1.0])[-1], 1.0, -1 / E),
    ("odeint at its start", lambda x: integrate.odeint(lambda y, t: -y, x, [0.0, 1.0])[0],
     1.0, 1.0),
]
# fmt: on
ALL = [(*row, 1e-9) for row in TABLE] + [(*row, 1e-6) for row in PROBLEMS]
NAMES = [row[0] for row in ALL]


@pytest.mark.parametrize("f, x, expected, rtol", [row[1:] for row in ALL], ids=NAMES)
def test_gradient(f, x, expected, rtol):
    x = np.array(x) if isinstance(x, list) else x
    found = autodiff.gradient(lambda x: np.sum(f(x)), x)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("f, x, expected, rtol", [row[1:] for row in ALL], ids=NAMES)
def test_pushforward(f, x, expected, rtol):
    x = np.array(x) if isinstance(x, list) else x
    v = np.arange(1.0, 1.0 + np.size(x)) if np.ndim(x) else 1.0
    found = autodiff.pushforward(lambda x: np.sum(f(x)), x)[1](v)
    np.testing.assert_allclose(found, np.sum(np.multiply(expected, v)), rtol=rtol, atol=rtol)
