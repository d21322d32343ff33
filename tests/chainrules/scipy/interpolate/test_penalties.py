import numpy as np
import pytest
from scipy import interpolate

import autodiff

X = np.linspace(0.0, 6.0, 40) + 0.05 * np.sin(np.arange(40.0))
NOISE = np.random.default_rng(3).standard_normal((40, 2))
Y = np.sin(X) + 0.2 * NOISE[:, 0]
W = 2.0 + np.cos(np.arange(40.0))
Q = np.array([0.4, 1.7, 2.2, 5.1])


def read(x, y, w):
    return np.sum(interpolate.make_smoothing_spline(x, y, w)(Q) * np.arange(1.0, 5.0))


def test_the_penalty_moves_with_all_arguments(check_traced):
    """SciPy finds it to 1e-5, so the differences are of steps that make more of a difference."""
    for place, step, f in (
        (0, 1e-3, lambda x: read(x, Y, W)),
        (1, 2e-2, lambda y: read(X, y, W)),
        (2, 1e-1, lambda w: read(X, Y, w)),
    ):
        check_traced(f, (X, Y, W)[place], step=step, rtol=1e-3)


def test_the_penalty_makes_a_difference():
    fixed = autodiff.gradient(
        lambda y: interpolate.make_smoothing_spline(X, y, W, lam=0.05)(Q[1]), Y
    )
    free = autodiff.gradient(lambda y: interpolate.make_smoothing_spline(X, y, W)(Q[1]), Y)
    assert np.linalg.norm(fixed - free) > 1e-2 * np.linalg.norm(free)


def test_second_derivatives():
    def slope(y):
        return np.sum(autodiff.gradient(lambda z: read(X, z, W), y) * NOISE[:, 0])

    h = 2e-3
    ahead, behind = slope(Y + h * NOISE[:, 1]), slope(Y - h * NOISE[:, 1])
    found = np.sum(autodiff.gradient(slope, Y) * NOISE[:, 1])
    np.testing.assert_allclose(found, (ahead - behind) / (2 * h), rtol=1e-2)


def test_several_columns():
    both = np.stack([Y, np.cos(X) + 0.1 * NOISE[:, 1]], 1)
    try:
        interpolate.make_smoothing_spline(X, both)
    except ValueError:
        pytest.skip("this version of SciPy takes one column without a penalty")

    def f(y):
        return np.sum(interpolate.make_smoothing_spline(X, y)(Q))

    found = autodiff.gradient(f, both)
    for column, y in zip(found.T, both.T, strict=True):
        np.testing.assert_allclose(column, autodiff.gradient(f, y), rtol=1e-6, atol=1e-9)
