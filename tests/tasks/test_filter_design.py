"""A recursive filter from the response that it is to have, through lfilter, by Gauss-Newton.

Where the response is that of a filter of the same order, this filter is the answer. Otherwise it is
compared with least squares by SciPy, with differences and a recursion written as a loop.
"""

import numpy as np
import pytest
from scipy import optimize, signal

import autodiff

PULSE = np.zeros(40)
PULSE[0] = 1.0
KNOWN = np.array([0.2, 0.35, 0.1, -0.9, 0.4])  # b, and a without the leading 1
IDEAL = np.exp(-0.15 * np.arange(40)) * np.sin(0.5 * np.arange(40) + 0.4)
START = np.array([0.3, 0.2, 0.0, -1.2, 0.6])


def response(c, x=PULSE):
    return signal.lfilter(c[:3], np.concatenate([np.ones(1), c[3:]]), x)


def response_by_loop(c, x=PULSE):
    y = []
    for n in range(len(x)):
        past = sum(c[k] * x[n - k] for k in range(3) if n >= k)
        y.append(past - sum(c[2 + k] * y[n - k] for k in (1, 2) if n >= k))
    return np.array(y)


def designed(wanted, c, f=response, steps=40):
    """Gauss-Newton; the step is halved until it descends."""

    def loss(c):
        return np.sum((f(c) - wanted) ** 2)

    for _ in range(steps):
        step = np.linalg.lstsq(autodiff.jacobian(f, c), wanted - f(c))[0]
        size = 1.0
        while not loss(c + size * step) <= loss(c) and size > 1e-9:
            size /= 2
        c = c + size * step
    return c


def test_a_known_filter():
    found = designed(response_by_loop(KNOWN), START)
    np.testing.assert_allclose(found, KNOWN, rtol=1e-8)


def test_the_best_filter():
    wanted = IDEAL + 0.05 * np.cos(2.0 * np.arange(40))
    found = designed(wanted, START)
    expected = optimize.least_squares(
        lambda c: response_by_loop(c) - wanted, START, "3-point", xtol=1e-15, ftol=1e-15, gtol=1e-15
    ).x
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    slope = autodiff.gradient(lambda c: np.sum((response(c) - wanted) ** 2), found)
    np.testing.assert_allclose(slope, 0.0, atol=1e-8)


def test_the_curvature():
    """Newton's method converges quadratically only with the right Hessian."""
    wanted = response_by_loop(KNOWN)

    def loss(c):
        return np.sum((response(c) - wanted) ** 2)

    c = KNOWN + 0.02
    for _ in range(8):
        c = c - np.linalg.solve(autodiff.hessian(loss, c), autodiff.gradient(loss, c))
    np.testing.assert_allclose(c, KNOWN, rtol=1e-10)


@pytest.mark.parametrize("cutoff", [0.2, 0.45])
def test_the_cutoff_of_a_butterworth_filter(cutoff):
    """The one number behind the coefficients, through the design as well."""
    noise = np.cos(1.7 * np.arange(40.0) ** 1.3)
    wanted = signal.lfilter(*signal.butter(2, cutoff), noise)

    def filtered(c):
        return signal.lfilter(*signal.butter(2, c[0]), noise)

    found = designed(wanted, np.array([0.3]), filtered, steps=12)
    assert found[0] == pytest.approx(cutoff, rel=1e-9)
