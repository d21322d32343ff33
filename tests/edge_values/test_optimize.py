"""Gradients of roots, minima and programs at points where they are known, as numbers."""

import numpy as np
import pytest
from scipy import optimize

from autodiff import gradient

SEGMENT = [(0.0, 1.0)]
CASES = [
    # (f, x, gradient)
    (lambda a: optimize.brentq(lambda t: t**3 - a, 0, 3), 8.0, 1 / 12),
    (lambda a: optimize.brentq(lambda t: t - a, -1, 1), 0.0, 1.0),
    (lambda a: optimize.newton(lambda t: t * t - a, 1.0), 4.0, 0.25),
    (lambda a: optimize.fixed_point(lambda t: t / 2 + a, 1.0), 3.0, 2.0),
    (lambda a: optimize.minimize(lambda u: (u[0] - a) ** 2, [0.5]).x[0], 3.0, 1.0),
    (lambda a: optimize.minimize(lambda u: (u[0] - a) ** 2, [0.5]).fun, 3.0, 0.0),
    # At a bound the minimiser stands still and the value moves.
    (lambda a: optimize.minimize(lambda u: (u[0] - a) ** 2, [0.5], bounds=SEGMENT).x[0], 3.0, 0.0),
    (lambda a: optimize.minimize(lambda u: (u[0] - a) ** 2, [0.5], bounds=SEGMENT).fun, 3.0, 4.0),
    (lambda a: optimize.nnls(np.eye(1), np.array([1.0]) * a)[0][0], 2.0, 1.0),
    (lambda a: optimize.nnls(np.eye(1), np.array([1.0]) * a)[0][0], -2.0, 0.0),
    (lambda a: optimize.linprog([-1.0], [[1.0]], [1.0] * np.array([a])).fun, 2.0, -1.0),
    (lambda a: optimize.linprog([1.0], [[1.0]], [1.0] * np.array([a])).fun, 2.0, 0.0),
    (lambda a: optimize.isotonic_regression(np.stack([a, 1.0])).x[0], 2.0, 0.5),
    (lambda a: optimize.isotonic_regression(np.stack([a, 1.0])).x[0], 0.0, 1.0),
]


@pytest.mark.parametrize("f, x, expected", CASES)
def test_gradient(f, x, expected):
    assert gradient(f, x) == pytest.approx(expected, rel=1e-6, abs=1e-8)
