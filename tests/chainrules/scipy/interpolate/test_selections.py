"""The nearest neighbour and AAA, by values and places; what changes its form is refused."""

import numpy as np
import pytest
from scipy import interpolate

from autodiff import gradient, pushforward
from chainrules.refused import RefusedError

X = np.array([0.0, 0.7, 1.5, 2.6, 3.1, 4.2])
Y = np.array([1.0, 2.2, -0.4, 0.3, 1.8, 0.6])
AT = np.array([0.3, 1.1, 2.9])
POINTS = np.array([[0.0, 0.0], [1.0, 0.1], [0.2, 1.0], [0.9, 0.8]])
PLACES = np.array([[0.1, 0.2], [0.8, 0.9]])


def aaa(y):
    return np.sum(interpolate.AAA(X, y)(AT) ** 2)


def aaa_at(x):
    return np.sum(interpolate.AAA(X, Y)(x) ** 2)


def aaa_without_clean_up(y):
    return np.sum(interpolate.AAA(X, y, clean_up=False)(AT) ** 2)


def nearest(y):
    return np.sum(interpolate.NearestNDInterpolator(POINTS, y[:4])(PLACES) ** 2)


def nearest_of_two(y):
    found = interpolate.NearestNDInterpolator(POINTS, np.outer(y[:4], y[:2]))
    return np.sum(found(PLACES[:, 0], PLACES[:, 1]) ** 2)


def nearest_rescaled(y):
    return np.sum(interpolate.griddata(POINTS, y[:4], PLACES, "nearest", rescale=True) ** 2)


def nearest_at(x):
    places = np.reshape(x[:4], (2, 2)) * 0.2
    return np.sum(interpolate.griddata(POINTS, Y[:4], places, "nearest") ** 2) + x[0]


def nearest_within(y):
    found = interpolate.NearestNDInterpolator(POINTS, y[:4])
    return np.nansum(found([[0.1, 0.2], [9.0, 9.0]], distance_upper_bound=0.5) ** 2)


@pytest.mark.parametrize(
    "f, x",
    [
        (aaa, Y), (aaa_at, AT), (aaa_without_clean_up, Y), (nearest, Y), (nearest_of_two, Y),
        (nearest_rescaled, Y), (nearest_at, Y), (nearest_within, Y),
    ],
)  # fmt: skip
def test_both_modes(f, x):
    h = 1e-5
    expected = np.array([(f(x + e) - f(x - e)) / (2 * h) for e in h * np.eye(len(x))])
    np.testing.assert_allclose(gradient(f, x), expected, rtol=1e-6, atol=1e-7)
    direction = np.cos(np.arange(len(x)))
    found = pushforward(f, x)[1](direction)
    np.testing.assert_allclose(found, expected @ direction, rtol=1e-6, atol=1e-7)


@pytest.mark.filterwarnings("ignore:.*doublets")
def test_spurious_poles_are_refused():
    """SciPy takes away a support point for each pole whose residue is below a tolerance."""

    def f(k):
        made = interpolate.AAA(X, k * Y, clean_up=False)
        made.clean_up(1e9)
        return made(0.3)

    for mode in (gradient, lambda f, k: pushforward(f, k)[1](1.0)):
        with pytest.raises(RefusedError, match="clean_up=False"):
            mode(f, 1.0)
