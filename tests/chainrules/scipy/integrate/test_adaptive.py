"""Adaptive integrals: by captured values, arguments, limits and weights."""

import math

import numpy as np
import pytest
from scipy import integrate

from autodiff import DifferentiationError, gradient, hessian, pushforward
from chainrules.scipy.integrate.adaptive import LimitError
from tests.helpers import differences

INF = np.inf


def captured(x):
    return integrate.quad(lambda t: math.exp(-x[0] * t), 0.0, 1.0)[0]


def arguments(x):
    return integrate.quad(lambda t, a, b: math.exp(-a * t) * b, 0.0, 1.0, args=(x[0], x[1]))[0]


def one_argument(x):
    return integrate.quad(lambda t, a: math.exp(-a * t), 0.0, 1.0, x[0])[0]


def by_name(x):
    return integrate.quad(func=lambda t, p: t * p, a=0, b=x[0], args=(x[1],), limit=80)[0]


def limits(x):
    return integrate.quad(math.exp, x[0], x[1])[0]


def constant_integrand(x):
    return integrate.quad(lambda t: 1, 0, x[0])[0]


def both_infinite(x):
    return integrate.quad(lambda t: np.exp(-x[0] * t * t), -INF, INF)[0]


def half_infinite(x):
    return integrate.quad(lambda t: np.exp(-x[0] * t * t), x[1], INF)[0]


def infinite_below(x):
    return integrate.quad(lambda t: np.exp(-x[0] * t * t), -INF, x[1])[0]


def break_points(x):
    return integrate.quad(lambda t: abs(t - 0.5) ** x[0] * x[1], 0, 2, points=[0.5, 1.0])[0]


def full_output(x):
    return integrate.quad(lambda t: np.sin(x[0] * t), 0, x[1], full_output=1)[0]


def singular(x):
    return integrate.quad(lambda t: t ** (x[0] - 1), 0, 1)[0]


def weight_cos(x):
    return integrate.quad(lambda t: np.exp(-x[0] * t), x[1], 2, weight="cos", wvar=x[2])[0]


def weight_sin(x):
    return integrate.quad(lambda t: np.exp(-x[0] * t), x[1], 2, weight="sin", wvar=x[2])[0]


def weight_cos_infinite(x):
    return integrate.quad(lambda t: np.exp(-x[0] * t), x[1], INF, weight="cos", wvar=x[2])[0]


def weight_cauchy(x):
    return integrate.quad(lambda t: np.exp(-x[0] * t), x[1], 2, weight="cauchy", wvar=x[2])[0]


def weight_algebraic(x):
    how = {"weight": "alg", "wvar": (-0.5, 0.3)}
    return integrate.quad(lambda t: np.exp(-x[0] * t), x[1], x[2], **how)[0]


def weight_logarithm(x):
    how = {"weight": "alg-loga", "wvar": (-0.5, 0.3)}
    return integrate.quad(lambda t: np.exp(-x[0] * t), 0.0, 2.0, **how)[0]


def complex_values(x):
    y = integrate.quad(lambda t: np.exp(1j * x[0] * t) * x[1], 0.0, x[2], complex_func=True)[0]
    return y.real**2 + 2 * y.imag


def vector(x):
    return np.sum(integrate.quad_vec(lambda t: np.sin(x * t), 0.0, x[0])[0] ** 2)


def vector_arguments(x):
    args = (x[0], x[1])
    y = integrate.quad_vec(lambda t, a, b: np.array([a * t, t**2 * b]), 0.0, 1.0, args=args)[0]
    return np.sum(y**2)


def vector_infinite(x):
    return np.sum(integrate.quad_vec(lambda t: np.exp(-x * t), 0.0, INF)[0] ** 2)


def vector_scalar(x):
    return integrate.quad_vec(lambda t: np.exp(-x[0] * t), 0.0, 1.0, points=[0.5])[0]


def double(x):
    return integrate.dblquad(lambda y, t, a: a * y * t, 0, 1, 0.0, x[1], args=(x[0],))[0]


def several(x):
    ranges = [lambda t, a: (0, t * x[1]), (0, x[1])]
    return integrate.nquad(lambda y, t, a: a * y + t, ranges, args=(x[0],))[0]


def several_full(x):
    how = {"opts": {"epsabs": 1e-10}, "full_output": True}
    return integrate.nquad(lambda y, t: x[0] * y * t, [[0, x[1]], [0, 1]], **how)[0]


def double_functions(x):
    low, high = lambda t: x[0] * t, lambda t: t**2 + 1 + x[1]
    return integrate.dblquad(lambda y, t: np.cos(x[0] * y * t), 0, x[1], low, high)[0]


def double_infinite(x):
    f = lambda y, t: np.exp(-x[0] * y - t * x[1])  # noqa: E731
    return integrate.dblquad(f, 0, INF, lambda t: t, INF)[0]


def triple(x):
    limits = (0, 1, 0.0, lambda t: x[1] + t, lambda t, y: 0.0, lambda t, y: x[2] * y * t)
    f = lambda z, y, t, a: a * z * y * math.exp(-t)  # noqa: E731
    return integrate.tplquad(f, *limits, args=(x[0],), epsabs=1e-10)[0]


def three(x):
    f = lambda a, b, c: math.sin(a * x[0]) * b + x[1] * c  # noqa: E731
    return integrate.nquad(f, [[0, 1], [x[1], 0], (0, x[2])])[0]


def several_break_points(x):
    options = [lambda b: {"points": [x[1] * b]}, {}]
    f = lambda a, b: (1.0 if a < x[1] * b else b) * x[0]  # noqa: E731
    return integrate.nquad(f, [[0, 1], [0, 1]], opts=options)[0]


def jump(x):
    return integrate.quad(lambda t: 2.0 if t < x[0] else t * x[1], 0, 1, points=[x[0]])[0]


def jumps(x):
    f = lambda t, a, b: np.where(t < a, 2.0, np.where(t < b, t, t * t))  # noqa: E731
    return integrate.quad(f, 2.0, 0.0, args=(x[0], x[1]), points=(x[1], x[0]))[0]


def jump_of_a_vector(x):
    f = lambda t: np.array([1.0, t]) * (t > x[0]) * x[1]  # noqa: E731
    return np.sum(integrate.quad_vec(f, 0.0, 1.0, points=[x[0]])[0])


def kink(x):
    return integrate.quad(lambda t: abs(t - x[0]) ** x[1], 0, 1, points=[x[0]])[0]


def nothing_between(x):
    return integrate.quad(lambda t: x[0] * t, 0.3, 0.3)[0] + x[0]


def captured_by_an_object(x):
    class Decay:
        def __init__(self, rate):
            self.rate = rate

        def __call__(self, t):
            return np.exp(-self.rate * t)

        def at(self, t):
            return np.exp(-self.rate * t**2)

    decay = Decay(x[0])
    return integrate.quad(decay, 0, 1)[0] + integrate.quad(decay.at, 0, 1)[0]


PROGRAMS = [
    (captured, [1.3]), (arguments, [1.3, 0.4]), (one_argument, [1.3]), (by_name, [0.6, 2.0]),
    (limits, [1.3, 0.4]), (constant_integrand, [0.6]), (both_infinite, [1.3]),
    (half_infinite, [1.3, 0.3]), (infinite_below, [1.3, 0.3]), (break_points, [1.5, 0.3]),
    (full_output, [1.0, 0.3]), (singular, [1.6]), (weight_cos, [1.0, 0.3, 3.0]),
    (weight_sin, [1.0, 0.3, 30.0]), (weight_cos_infinite, [1.0, 0.3, 3.0]),
    (weight_cauchy, [1.0, 0.3, 1.0]), (weight_algebraic, [1.0, 0.3, 1.0]),
    (weight_logarithm, [1.0]), (complex_values, [1.0, 0.3, 2.0]), (vector, [1.0, 0.3, 2.0]),
    (vector_arguments, [1.0, 0.3]), (vector_infinite, [1.0, 0.3, 2.0]), (vector_scalar, [1.0]),
    (double, [1.0, 0.3]), (several, [1.0, 0.3]), (several_full, [1.0, 0.3]),
    (double_functions, [1.0, 0.3]), (triple, [1.0, 0.3, 0.5]),
    (three, [1.0, 0.3, 0.5]), (several_break_points, [1.0, 0.3]), (jump, [0.4, 1.5]),
    (jumps, [0.4, 1.5]), (jump_of_a_vector, [0.4, 1.5]), (kink, [0.4, 1.5]),
    (nothing_between, [0.4]), (captured_by_an_object, [0.4]),
]  # fmt: skip
TWICE = [
    (captured, [1.3]), (arguments, [1.3, 0.4]), (limits, [1.3, 0.4]), (half_infinite, [1.3, 0.3]),
    (vector_arguments, [1.0, 0.3]), (jump, [0.4, 1.5]), (double, [1.0, 0.3]),
    (triple, [1.0, 0.3, 0.5]),
]  # fmt: skip


def named(cases):
    return [pytest.param(f, np.array(x), id=f.__name__) for f, x in cases]


@pytest.mark.parametrize("f, x", named(PROGRAMS))
def test_both_modes(f, x):
    expected = differences(f, x, 1e-4, order=4)
    np.testing.assert_allclose(gradient(f, x), expected, rtol=1e-7, atol=1e-9)
    direction = np.array([0.3, -1.0, 0.5])[: len(x)]
    value, push = pushforward(f, x)
    np.testing.assert_allclose(value, f(x), rtol=1e-13)
    np.testing.assert_allclose(push(direction), expected @ direction, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("f, x", named(TWICE))
def test_second_order(f, x):
    expected = differences(lambda x: gradient(f, x), x, 1e-4, order=4)
    np.testing.assert_allclose(hessian(f, x), expected, rtol=1e-6, atol=1e-8)
    forward = gradient(lambda x: pushforward(f, x)[1](np.ones(len(x))), x)
    np.testing.assert_allclose(forward, np.sum(expected, axis=0), rtol=1e-6, atol=1e-8)


def test_infinite_limits_of_several_variables():
    """The integral of exp(-a y - b t) over y > t > 0 is 1 / (a (a + b))."""
    found = gradient(double_infinite, np.array([1.0, 0.5]))
    np.testing.assert_allclose(found, [-1 / 1.5 - 1 / 2.25, -1 / 2.25], rtol=1e-6)


@pytest.mark.parametrize("which", [0, 1])
def test_exponents_of_a_weight_raise(which):
    def f(p):
        exponents = (p, 0.3) if which == 0 else (0.3, p)
        return integrate.quad(math.exp, 0.0, 1.0, weight="alg", wvar=exponents)[0]

    with pytest.raises(LimitError, match="exponents"):
        gradient(f, 0.5)


def test_limits_of_a_logarithmic_weight_raise():
    def f(b):
        return integrate.quad(math.exp, 0.0, b, weight="alg-loga", wvar=(0.1, 0.3))[0]

    with pytest.raises(LimitError, match="limits"):
        gradient(f, 0.5)


def test_a_function_of_the_wrong_kind_raises():
    with pytest.raises((DifferentiationError, TypeError)):
        gradient(lambda b: integrate.quad(3.0, 0.0, b)[0], 1.0)
