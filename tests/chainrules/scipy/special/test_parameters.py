import numpy as np
import pytest
from scipy import special

import autodiff
from chainrules.scipy.special.parameters import ParameterDerivativeError, parameter_slope


def power(p, x):
    return np.power(x, p)


@pytest.mark.parametrize("x", [1e-8, 0.3, 1.0, 7.0, 1e6])
def test_a_power(x):
    slope = parameter_slope(power, (2.3, x), 0, 1.0)
    assert slope == pytest.approx(x**2.3 * np.log(x), rel=1e-9)


def test_a_radius_too_large_is_made_smaller():
    """1/p has a pole at 0, inside of the first interval."""
    slope = parameter_slope(lambda p: 1 / p, (0.25,), 0, 1.0)
    assert slope == pytest.approx(-16, rel=1e-9)


def test_where_it_has_no_value_so_far_away():
    def root(p):
        if p < 0:
            raise ValueError("of a negative number")
        return p**0.5

    assert parameter_slope(root, (0.25,), 0, 1.0) == pytest.approx(1.0, rel=1e-9)


def test_elements_are_looked_at_one_by_one():
    p = np.array([0.25, 3.0, 50.0])
    slope = parameter_slope(lambda p: 1 / p, (p,), 0, np.ones(3))
    np.testing.assert_allclose(slope, -1 / p**2, rtol=1e-9)


def noisy(p):
    return p + 1e-5 * np.sin(1e9 * p)


@pytest.mark.parametrize("f", [np.abs, noisy], ids=["kink", "noise"])
def test_what_is_not_smooth_is_an_error(f):
    with pytest.raises(ParameterDerivativeError, match="argument 1"):
        parameter_slope(f, (0.001 if f is np.abs else 1.0,), 0, 0.7)


def test_the_error_names_the_function():
    with pytest.raises(ParameterDerivativeError, match=r"scipy\.special\.wright_bessel by arg"):
        autodiff.gradient(lambda a: special.wright_bessel(a, 1.0, 0.5), 0.0)


def test_nan_stays_nan():
    assert np.isnan(autodiff.gradient(lambda a: special.gammainc(a, 1.0), -1.0))


@pytest.mark.parametrize("t", [np.float32, np.float64])
def test_precision(t):
    slope = autodiff.gradient(lambda v: special.jv(v, t(1.5)), t(0.7))
    assert slope.dtype == t
    assert slope == pytest.approx(-0.1661315367, rel=1e-6)
