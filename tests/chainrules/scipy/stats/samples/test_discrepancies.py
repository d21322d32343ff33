"""Discrepancies of samples, and quasi-random draws, against differences."""

import numpy as np
import pytest
from scipy import stats
from scipy.stats import qmc

import autodiff

SAMPLE = np.array([[0.12, 0.83], [0.37, 0.22], [0.55, 0.61], [0.91, 0.41], [0.71, 0.05]])
LOW, HIGH = np.array([-1.0, -2.0]), np.array([2.0, 3.0])


@pytest.mark.parametrize("iterative", [False, True])
@pytest.mark.parametrize("method", ["CD", "WD", "MD", "L2-star"])
def test_discrepancy(method, iterative, check_traced):
    def f(s):
        return qmc.discrepancy(s, iterative=iterative, method=method)

    check_traced(f, SAMPLE)
    value, _ = autodiff.value_and_gradient(f, SAMPLE)
    np.testing.assert_allclose(value, f(SAMPLE), rtol=1e-12)


def test_update(check_traced):
    def f(x, s, d):
        return qmc.update_discrepancy(x, s, d)

    args = np.array([0.3, 0.62]), SAMPLE, 0.3
    check_traced(f, *args)
    np.testing.assert_allclose(autodiff.value_and_gradient(f, *args)[0], f(*args), rtol=1e-12)


@pytest.mark.parametrize("method", ["mindist", "mst"])
def test_geometric_discrepancy(method, check_traced):
    check_traced(lambda s: qmc.geometric_discrepancy(s, method=method), SAMPLE)


def test_scale(check_traced):
    check_traced(lambda s, a, b: qmc.scale(s, a, b), SAMPLE, LOW, HIGH)
    check_traced(lambda s, a, b: qmc.scale(s, a, b, reverse=True), SAMPLE, LOW, HIGH)


def test_quasi_random_normals(check_traced):
    root = np.array([[1.0, 0.2], [0.1, 2.0]])
    check_traced(lambda m, r: qmc.MultivariateNormalQMC(m, cov_root=r, rng=1).random(4), LOW, root)
    check_traced(
        lambda m, r: qmc.MultivariateNormalQMC(m, r @ r.T, rng=1).random(4), LOW, root, rtol=1e-5
    )


@pytest.mark.parametrize("method", ["hierarchical", "separate"])
def test_siegelslopes(method, check_traced):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 9))

    def f(y, x):
        return list(stats.siegelslopes(y, x, method=method))

    check_traced(f, y, x)
    check_traced(lambda y: stats.siegelslopes(y, method=method).slope, y)
    np.testing.assert_allclose(
        autodiff.value_and_gradient(lambda y: f(y, x)[0] + 2 * f(y, x)[1], y)[0],
        f(y, x)[0] + 2 * f(y, x)[1],
        rtol=1e-13,
    )
