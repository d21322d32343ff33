"""Splines of a smoothing factor, against its equations solved anew on the same knots."""

import numpy as np
import pytest
import scipy
from scipy import interpolate, optimize

from autodiff import gradient, hessian, ignore_derivatives, pushforward
from chainrules.refused import RefusedError
from tests.helpers import differences

SCIPY = tuple(map(int, scipy.__version__.split(".")[:2]))
X = np.linspace(0, 3, 14) + 0.05 * np.cos(np.arange(14) * 5.0)
Y = np.sin(2 * X) + 0.1 * np.cos(17 * X)
W = 1 + 0.2 * np.sin(X)
Q = np.array([0.3, 1.7, 2.9])
S = 0.05


def solved_anew(x, y, w, s, k):
    """The values at Q; the sum of squares is as far from `s` as FITPACK has left it."""
    t, c, _ = interpolate.splrep(X, Y, w=W, s=S, k=k)
    left = np.sum((W * (Y - interpolate.splev(X, (t, c, k)))) ** 2) - S
    at = np.searchsorted(X, t[k + 1 : -k - 1])
    t = np.concatenate([[x[0]] * (k + 1), x[at], [x[-1]] * (k + 1)])
    n = len(t) - k - 1
    B = interpolate.BSpline(t, np.eye(n), k)
    A = B(x) * w[:, None]
    ends = np.unique(t)
    D = np.diff(B.derivative(k)((ends[1:] + ends[:-1]) / 2), axis=0)

    def fit(log):
        c = np.linalg.solve(A.T @ A + np.exp(log) * D.T @ D, A.T @ (w * y))
        return c, np.sum((w * y - A @ c) ** 2)

    log = optimize.brentq(lambda log: fit(log)[1] - s - left, -25, 10, xtol=1e-13, rtol=1e-13)
    return np.sum(interpolate.BSpline(t, fit(log)[0], k)(Q))


def by_class(x, y, w, s, k):
    return np.sum(interpolate.UnivariateSpline(x, y, w=w, s=s, k=k)(Q))


def by_splrep(x, y, w, s, k):
    return np.sum(interpolate.splev(Q, interpolate.splrep(x, y, w=w, s=s, k=k)))


def by_make_splrep(x, y, w, s, k):
    return np.sum(interpolate.make_splrep(x, y, w=w, s=s, k=k)(Q))


WAYS = [by_class, by_splrep]
HAS_MAKE_SPLREP = hasattr(interpolate, "make_splrep") and SCIPY >= (1, 16)
if HAS_MAKE_SPLREP:  # refused before
    WAYS.append(by_make_splrep)
ARGUMENTS = [X, Y, W, np.array(S)]


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("f", WAYS)
def test_both_modes(f, k, place):
    def of(function):
        def one(v):
            args = [v if i == place else a for i, a in enumerate(ARGUMENTS)]
            return function(*args, k)

        return one

    x = ARGUMENTS[place]
    expected = differences(of(solved_anew), x, 1e-4, order=4)
    scale = np.max(np.abs(expected))
    found = gradient(of(f), x)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * scale)
    direction = np.cos(np.arange(x.size)).reshape(x.shape)
    pushed = pushforward(of(f), x)[1](direction)
    np.testing.assert_allclose(pushed, np.sum(found * direction), rtol=1e-7, atol=1e-8 * scale)


def test_second_derivatives():
    def f(y):
        return by_splrep(X, y, W, S, 3)

    expected = np.stack([differences(lambda y, i=i: gradient(f, y)[i], Y, 1e-5) for i in range(3)])
    # The gradient itself jumps a little with what FITPACK leaves of s.
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(hessian(f, Y)[:3], expected, rtol=0.02, atol=0.02 * scale)


def test_no_inner_knots():
    def f(y):
        return by_splrep(X, y, W, 50.0, 3) + by_class(X, y, W, 50.0, 3)

    np.testing.assert_allclose(gradient(f, Y), differences(f, Y, 1e-3, order=4), rtol=1e-7)


def test_another_factor_later():
    def f(y):
        spline = interpolate.UnivariateSpline(X, y, w=W, s=0.2)
        spline.set_smoothing_factor(S)
        return np.sum(spline(Q))

    np.testing.assert_allclose(
        gradient(f, Y), gradient(lambda y: by_class(X, y, W, S, 3), Y), rtol=1e-2, atol=1e-3
    )


def test_nothing_found_is_an_error():
    with pytest.raises(ValueError, match="FITPACK finds no spline"):
        gradient(lambda y: by_splrep(X[::-1], y, W, S, 3), Y)


def test_interpolation_after_a_factor():
    def f(y):
        spline = interpolate.UnivariateSpline(X, y, s=0.2)
        spline.set_smoothing_factor(0.0)
        return np.sum(spline(Q))

    def expected(y):
        return np.sum(interpolate.UnivariateSpline(X, y, s=0.0)(Q))

    if SCIPY >= (1, 18):  # where FITPACK finds nothing, and SciPy itself returns any numbers
        with pytest.raises(ValueError, match="FITPACK finds no spline"):
            gradient(f, Y)
    else:
        np.testing.assert_allclose(gradient(f, Y), differences(expected, Y), rtol=1e-6, atol=1e-8)


def test_curves():
    def f(y):
        return np.sum(interpolate.splev(Q / 4, interpolate.splprep([X, y], s=S)[0])[1])

    def g(y):
        return np.sum(interpolate.make_splprep([X, y], s=S)[0](Q / 4)[1])

    expected = differences(f, Y, 1e-4)
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(gradient(f, Y), expected, rtol=0.02, atol=0.03 * scale)
    if HAS_MAKE_SPLREP:
        np.testing.assert_allclose(gradient(g, Y), gradient(f, Y), rtol=1e-2, atol=1e-2 * scale)


def test_the_value_is_that_of_scipy():
    seen = []

    def f(y):
        spline = interpolate.UnivariateSpline(X, y, s=S)
        seen.append([ignore_derivatives(a) for a in (spline.get_coeffs(), spline.get_knots())])
        return np.sum(spline(Q))

    gradient(f, Y)
    f(Y)
    for one, other in zip(seen[0], seen[1], strict=True):
        np.testing.assert_array_equal(np.asarray(one), other)


def test_chosen_knots_alone_are_refused():
    if not hasattr(interpolate, "generate_knots"):
        pytest.skip("SciPy is older")
    with pytest.raises(RefusedError, match="generate_knots"):
        gradient(lambda y: np.sum(list(interpolate.generate_knots(X, y, s=S))[-1]), Y)
