"""Parameters of predators and prey from a time series: the gradient of the fit."""

import numpy as np
from scipy import integrate

from autodiff import gradient

TIMES = np.linspace(0.5, 3.0, 6)
TRUE = np.array([1.1, 0.4, 0.1, 0.4])


def simulated(p, rtol):
    def fun(t, y, a, b, c, d):
        return [a * y[0] - b * y[0] * y[1], c * y[0] * y[1] - d * y[1]]

    how = {"t_eval": TIMES, "args": tuple(p), "rtol": rtol, "atol": 1e-2 * rtol}
    return integrate.solve_ivp(fun, (0.0, 3.0), [10.0, 5.0], **how).y


DATA = simulated(TRUE, 1e-10)


def misfit(p, rtol=1e-8):
    return np.sum((simulated(p, rtol) - DATA) ** 2)


def test_gradient_of_the_fit():
    p, h = np.array([1.0, 0.45, 0.12, 0.35]), 1e-4
    steps = h * np.eye(4)
    expected = [(misfit(p + e, 1e-11) - misfit(p - e, 1e-11)) / (2 * h) for e in steps]
    np.testing.assert_allclose(gradient(misfit, p), expected, rtol=1e-5)


def test_the_gradient_is_zero_where_the_data_come_from():
    np.testing.assert_allclose(gradient(misfit, TRUE), 0.0, atol=1e-4)
