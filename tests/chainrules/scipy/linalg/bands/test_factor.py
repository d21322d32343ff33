"""The Cholesky factor of band matrices, of narrow ones and block by block."""

import numpy as np
import pytest
from scipy import linalg

import autodiff
from chainrules.scipy.linalg.bands.factor import band_factor, within
from chainrules.scipy.linalg.bands.narrow import factor_change, factor_change_adjoint
from chainrules_core.testing import check_rule

RNG = np.random.default_rng(0)


def matrix(n, width, dtype, lower=True):
    ab = RNG.standard_normal((width + 1, n)).astype(dtype)
    if np.dtype(dtype).kind == "c":
        ab = ab + 1j * RNG.standard_normal(ab.shape).astype(ab.real.dtype)
    ab[0 if lower else -1] = 5 + 2 * width + np.abs(ab[0 if lower else -1])
    return ab


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("n, width", [(65, 1), (70, 0), (96, 3), (96, 8), (130, 40)])
@pytest.mark.parametrize("lower", [True, False])
def test_is_that_of_the_dense_matrix(n, width, dtype, lower):
    ab = matrix(n, width, dtype, lower)
    weights = RNG.standard_normal(ab.shape)
    f = np.abs(weights) + 0.5

    def loss(a):
        return np.sum(weights * np.abs(linalg.cholesky_banded(a, lower=lower) + f) ** 2)

    found = autodiff.gradient(loss, ab)
    direction, h = matrix(n, width, dtype), 1e-6
    expected = (loss(ab + h * direction) - loss(ab - h * direction)) / (2 * h)
    np.testing.assert_allclose(np.real(np.vdot(found, direction)), expected, rtol=1e-6)
    pushed = autodiff.pushforward(loss, ab)[1](direction)
    np.testing.assert_allclose(pushed, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "n, width, dtype", [(65, 2, np.float64), (65, 7, np.float64), (66, 1, np.complex128)]
)
def test_rules(n, width, dtype):
    check_rule(band_factor, matrix(n, width, dtype))


@pytest.mark.parametrize("n, width", [(5, 2), (3, 0), (2, 3), (7, 6)])
@pytest.mark.parametrize("f", [factor_change, factor_change_adjoint])
def test_change_of_narrow_bands(f, n, width, check_modes):
    factor, change = matrix(n, width, float), RNG.standard_normal((width + 1, n))
    check_modes(lambda lb, x: f(within(lb), within(x)), factor, change)


@pytest.mark.parametrize("width", [2, 8])
def test_second_order(width):
    ab, v, h = matrix(80, width, float), RNG.standard_normal((width + 1, 80)), 1e-5

    def inner(a):
        return autodiff.gradient(lambda z: np.sum(linalg.cholesky_banded(z, lower=True) ** 3), a)

    found = autodiff.gradient(lambda a: np.sum(inner(a) * v), ab)
    expected = (inner(ab + h * v) - inner(ab - h * v)) / (2 * h)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_what_is_outside_the_matrix_is_left_alone():
    ab = matrix(100, 2, float)
    found = autodiff.gradient(lambda a: np.sum(linalg.cholesky_banded(a, lower=True)), ab)
    np.testing.assert_array_equal(found[2, -2:], [1, 1])  # SciPy hands these on as they are


def test_precision():
    ab = matrix(100, 2, np.float32)
    found = autodiff.gradient(lambda a: np.sum(linalg.cholesky_banded(a, lower=True)), ab)
    assert found.dtype == np.float32
