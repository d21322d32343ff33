"""Sums and asymptotic series against mpmath, to thirteen digits."""

import mpmath as mp
import numpy as np
import pytest
from scipy import special

import autodiff
from chainrules.scipy.special.gamma import trigamma, trigamma_real
from chainrules.scipy.special.series import (
    digamma_by_series,
    has_zeta_series,
    trigamma_by_series,
    zeta_slope_by_series,
)
from chainrules_core.testing import check_rule

X = [1e-8, 0.03, 0.7, 1.0, 1.4616, 2.5, 7.9, 1e4, -0.5, -0.504, -3.25, -3.9999, -120.3]
Z = [1 + 1j, 1.46 + 1e-3j, -0.5 + 0.1j, -7.2 - 3j, 5 - 40j, -20 + 300j, 1e-3j, 1e6 + 1j]
ORDERS = [(1.001, 0.2), (1.5, 3.0), (2.0, 1.0), (3.7, 0.01), (9.0, 30.0), (50.0, 1.0), (40, 20.0)]


def close(found, expected, digits=13):
    assert abs(mp.mpmathify(found) - expected) <= 10.0**-digits * abs(expected)


def test_the_rule_of_trigamma():
    check_rule(trigamma_real, np.array([0.7, 1.4616, 2.5, 7.9, 0.3]))


@pytest.mark.parametrize("x", X)
def test_trigamma_of_real_numbers(x):
    with mp.workdps(30):
        close(float(trigamma_by_series(np.float64(x))), mp.polygamma(1, mp.mpf(x)))


@pytest.mark.parametrize("z", Z)
def test_of_complex_numbers(z):
    with mp.workdps(30), np.errstate(all="ignore"):
        close(complex(trigamma_by_series(np.complex128(z))), mp.polygamma(1, mp.mpc(z)))
        expected = mp.digamma(mp.mpc(z))
        error = mp.mpc(complex(digamma_by_series(np.complex128(z)))) - expected
        assert abs(error) <= 1e-14 * (1 + abs(expected))


@pytest.mark.parametrize("s, q", ORDERS)
def test_zeta_by_its_order(s, q):
    with mp.workdps(40):
        expected = mp.diff(lambda t: mp.zeta(t, mp.mpf(q)), mp.mpf(s))
        close(float(zeta_slope_by_series(np.float64(s), np.float64(q))), expected, 12)


def test_where_zeta_has_a_series():
    assert has_zeta_series(np.array([1.5, 3]), 0.5)
    assert not has_zeta_series(np.array([1.5, 0.5]), 0.5)
    assert not has_zeta_series(2.0, np.array([0.5, -0.5]))


def test_poles_and_ends():
    with np.errstate(all="ignore"):
        found = trigamma_by_series(np.array([0.0, -1.0, -2.0, np.inf, np.nan]))
    np.testing.assert_array_equal(found, [np.inf, np.inf, np.inf, 0, np.nan])


def test_precision_and_shapes():
    assert trigamma(np.float32([0.5, -0.5])).dtype == np.float32
    assert trigamma(np.zeros((0, 3))).shape == (0, 3)
    assert trigamma(np.complex64([1j])).dtype == np.complex64


def test_third_derivative_of_log_gamma():
    def second(x):
        return autodiff.derivative(lambda z: autodiff.derivative(special.gammaln, z), x)

    close(float(autodiff.derivative(second, 2.5)), mp.polygamma(2, mp.mpf(2.5)), 10)


def test_second_derivative_of_zeta_by_its_order():
    def slope(s):
        return autodiff.derivative(lambda t: special.zeta(t, 0.7), s)

    expected = mp.diff(lambda t: mp.zeta(t, mp.mpf(0.7)), mp.mpf(2.5), 2)
    close(float(autodiff.derivative(slope, 2.5)), expected, 9)
