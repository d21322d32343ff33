"""Sampled rules and what is traced, in both modes; what is refused says so."""

import numpy as np
import pytest
from scipy import differentiate, integrate

from autodiff import gradient, pushforward
from tests.helpers import differences

Y = np.array([1.0, 0.3, -0.4, 0.8, 0.2])
P = np.array([1.0, 0.8, 1.2])


def newton_cotes(x):
    return np.sum(integrate.newton_cotes(np.array([0.0, x[0], x[0] + x[1], 3.0]))[0] ** 2)


def cubature(x):
    a, b = np.array([0.0]), np.array([1.0])
    return integrate.cubature(lambda p: np.exp(-x[0] * p[:, 0]), a, b).estimate


TRACED = [
    ("trapezoid", lambda x: integrate.trapezoid(x[:3] ** 2, x[2:]), Y),
    ("trapezoid_dx", lambda x: integrate.trapezoid(x**2, dx=x[0]), Y),
    ("trapezoid_axis", lambda x: np.sum(integrate.trapezoid(np.outer(x, x), axis=0) ** 2), Y),
    ("simpson", lambda x: integrate.simpson(x**2, dx=x[0]), Y),
    ("simpson_x", lambda x: integrate.simpson(x[:4], x=np.cumsum(x[:4] ** 2)), Y),
    ("simpson_even", lambda x: integrate.simpson(x[:4] ** 2), Y),
    ("cumulative", lambda x: np.sum(integrate.cumulative_trapezoid(x, dx=x[0], initial=0) ** 2), Y),
    ("cumulative_x", lambda x: np.sum(integrate.cumulative_trapezoid(x, x**3 + x) ** 2), Y),
    ("cumulative_simpson", lambda x: np.sum(integrate.cumulative_simpson(x, dx=x[0]) ** 2), Y),
    ("cumulative_simpson_x",
     lambda x: np.sum(integrate.cumulative_simpson(x, x=np.cumsum(x**2), initial=0) ** 2), Y),
    ("romb", lambda x: integrate.romb(x**2, dx=x[0]) + integrate.romb(list(x), x[1]), Y),
    ("newton_cotes", newton_cotes, P),
    ("fixed_quad", lambda x: integrate.fixed_quad(lambda t: np.exp(-x[0] * t), x[1], x[2])[0], P),
    ("cubature", cubature, P),
    ("derivative", lambda x: differentiate.derivative(lambda t: np.exp(-x[0] * t), x[1]).df, P),
]  # fmt: skip


@pytest.mark.parametrize("f, x", [pytest.param(f, x, id=name) for name, f, x in TRACED])
def test_traced(f, x):
    expected = differences(f, x, 1e-4, order=4)
    np.testing.assert_allclose(gradient(f, x), expected, rtol=1e-6, atol=1e-8)
    direction = np.array([0.3, -1.0, 0.5, 0.8, 0.1])[: len(x)]
    np.testing.assert_allclose(pushforward(f, x)[1](direction), expected @ direction, rtol=1e-6)
