"""Kepler's equation, E - e sin E = M, by brentq; its derivatives are known in closed form."""

import numpy as np
import pytest
from scipy import optimize

from autodiff import derivative, gradient


def eccentric_anomaly(mean, e):
    return optimize.brentq(lambda x: x - e * np.sin(x) - mean, mean - 1.0, mean + 1.0, xtol=1e-15)


def radius(mean, e):
    """The distance from the focus, in units of the larger half axis."""
    return 1 - e * np.cos(eccentric_anomaly(mean, e))


@pytest.mark.parametrize("mean", [0.1, 1.0, 2.5, 5.0])
@pytest.mark.parametrize("e", [0.0167, 0.3, 0.85])
def test_the_anomaly_and_the_distance(mean, e):
    x = eccentric_anomaly(mean, e)
    r = 1 - e * np.cos(x)
    np.testing.assert_allclose(
        gradient(eccentric_anomaly, mean, e), (1 / r, np.sin(x) / r), rtol=1e-10
    )
    # The true anomaly ν: dr/de = -cos ν, dr/dM = e sin ν / √(1 - e²).
    nu = 2 * np.arctan(np.sqrt((1 + e) / (1 - e)) * np.tan(x / 2))
    expected = e * np.sin(nu) / np.sqrt(1 - e * e), -np.cos(nu)
    np.testing.assert_allclose(gradient(radius, mean, e), expected, rtol=1e-10)


def test_the_second_derivative():
    mean, e = 1.0, 0.3
    x = eccentric_anomaly(mean, e)
    twice = derivative(lambda m: derivative(lambda k: eccentric_anomaly(k, e), m), mean)
    assert twice == pytest.approx(-e * np.sin(x) / (1 - e * np.cos(x)) ** 3, rel=1e-9)
