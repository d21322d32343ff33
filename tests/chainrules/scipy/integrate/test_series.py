"""nsum and qmc_quad, in both modes."""

import numpy as np
import pytest
from scipy import integrate, stats

from autodiff import gradient, hessian, pushforward
from chainrules.refused import RefusedError
from chainrules.scipy.integrate.series import SeriesError
from chainrules.scipy.optimize.implicit import ImplicitError
from tests.helpers import differences

X = np.array([1.1, 0.3, 0.8])
pytestmark = pytest.mark.skipif(not hasattr(integrate, "nsum"), reason="SciPy is older")


def nsum(f, a, b, **options):
    return integrate.nsum(f, a, b, **options).sum


def quad(x, log=False):
    def f(p):
        y = -x[0] * p[0] ** 2 - p[1]
        return y if log else np.exp(y)

    engine = stats.qmc.Halton(2, seed=1)
    return integrate.qmc_quad(f, [0.0, x[1]], [1.0, x[2]], qrng=engine, log=log, n_points=64)


def swapped(x):
    engine = stats.qmc.Halton(1, seed=1)
    return integrate.qmc_quad(lambda p: np.exp(p[0]), x[:1], x[1:2], qrng=engine).integral


CASES = {
    "finite": lambda x: nsum(lambda n: np.exp(-x[0] * n), x[1], 10.0, step=x[2]),
    "infinite": lambda x: nsum(lambda n: 1 / (n + x[1]) ** (1 + x[0]), 1, np.inf),
    "step": lambda x: nsum(lambda n: 1 / (n + x[1]) ** (1 + x[0]), x[2], np.inf, step=x[0]),
    "left": lambda x: nsum(lambda n: 1 / (n - x[1]) ** 2, -np.inf, -1) * x[0],
    "both sides": lambda x: nsum(lambda n: np.exp(-x[0] * n * n), -np.inf, np.inf),
    "log": lambda x: nsum(lambda n: -x[0] * n, 1, np.inf, log=True),
    "array": lambda x: np.sum(nsum(lambda n, p: 1 / n**p, 1, np.inf, args=(x + 1.5,)) ** 2),
    "ends": lambda x: np.sum(
        np.nan_to_num(nsum(lambda n, p: 1 / n**p, x, np.array([9.0, 5.0, -3]), args=2.0)) ** 2
    ),
    "qmc_quad": lambda x: quad(x).integral,
    "standard error": lambda x: quad(x).standard_error * 1e3,
    "qmc_quad of logarithms": lambda x: quad(x, log=True).integral,
    "limits the other way": swapped,
}


@pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in CASES.items()])
def test_both_modes(f):
    expected = differences(f, X, 1e-4, order=4)
    np.testing.assert_allclose(gradient(f, X), expected, rtol=1e-7, atol=1e-8)
    direction = np.array([0.3, -1.0, 0.5])
    np.testing.assert_allclose(
        pushforward(f, X)[1](direction), expected @ direction, rtol=1e-7, atol=1e-8
    )


@pytest.mark.parametrize("name", ["finite", "infinite", "qmc_quad"])
def test_second_derivatives(name):
    f = CASES[name]
    expected = differences(lambda x: gradient(f, x), X, 1e-3, order=4)
    np.testing.assert_allclose(hessian(f, X), expected, rtol=1e-5, atol=1e-7)


def test_what_has_no_derivative():
    with pytest.raises(ImplicitError, match=r"error in the result of scipy\.integrate\.nsum"):
        gradient(lambda x: integrate.nsum(lambda n: np.exp(-x * n), 1, np.inf).error, 1.0)
    with pytest.raises(RefusedError, match="some of its sums are finite"):
        gradient(lambda x: nsum(lambda n: x / n**2, 1, np.array([3.0, np.inf]))[0], 1.0)
    with pytest.raises(RefusedError, match="equal to the other"):
        gradient(lambda x: integrate.qmc_quad(lambda p: x * p[0], [1.0], [1.0]).integral, 1.0)


def test_two_ways_that_do_not_agree():
    with pytest.raises(SeriesError, match="do not agree"):
        gradient(lambda x: nsum(lambda n: x / n**2 + np.exp(-((n - 800) ** 2)), 1, np.inf), 1.0)
