"""scipy.linalg at singular and structured matrices, at kinks and ties: gradients as numbers."""

import math

import numpy as np
import pytest
from scipy import linalg

import autodiff

INF = math.inf
Z2, I2, I3 = [[0.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], np.eye(3).tolist()
TURN = [[0.0, 1.0], [-1.0, 0.0]]
NIL = [[0.0, 1.0], [0.0, 0.0]]
B = np.array([1.0, 2.0])

VALUES = [
    # function, x, gradient of the sum of its values
    (lambda a: linalg.norm(a), Z2, Z2),
    (lambda a: linalg.norm(a, 2), Z2, Z2),
    (lambda a: linalg.norm(a, "nuc"), Z2, Z2),
    (lambda a: linalg.norm(a, 2), I2, [[0.5, 0.0], [0.0, 0.5]]),
    (lambda a: linalg.norm(a, "nuc"), I2, I2),
    (lambda a: linalg.norm(a, "nuc"), [[3.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]),
    (lambda a: linalg.norm(a, 1), I2, [[0.5, 0.0], [0.0, 0.5]]),
    (lambda a: linalg.norm(a, INF), [[1.0, -2.0], [0.0, 1.0]], [[1.0, -1.0], [0.0, 0.0]]),
    (lambda x: linalg.norm(x), [0.0, 0.0], [0.0, 0.0]),
    (lambda x: linalg.norm(x, 1), [0.0, -2.0], [0.0, -1.0]),
    (lambda x: linalg.norm(x, INF), [2.0, -2.0], [0.5, -0.5]),
    (lambda x: linalg.norm(x, 3), [0.0, 4.0], [0.0, 1.0]),
    (lambda a: linalg.det(a), Z2, Z2),
    (lambda a: linalg.det(a), [[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]),
    (lambda a: linalg.det(a), np.diag([2.0, 3.0, 0.0]), np.diag([0.0, 0.0, 6.0])),
    (lambda a: linalg.det(a), np.diag([2.0, 0.0, 0.0]), np.zeros((3, 3))),
    (lambda a: linalg.det(a), TURN, [[0.0, 1.0], [-1.0, 0.0]]),
    (lambda a: linalg.inv(a), I2, [[-1.0, -1.0], [-1.0, -1.0]]),
    (lambda a: linalg.inv(a)[0, 0], [[2.0, 0.0], [0.0, 1.0]], [[-0.25, 0.0], [0.0, 0.0]]),
    (lambda a: linalg.solve(a, B), I2, [[-1.0, -2.0], [-1.0, -2.0]]),
    (lambda a: linalg.solve(a, B, assume_a="pos"), I2, [[-1.0, -3.0], [0.0, -2.0]]),
    (lambda a: linalg.solve_triangular(a, B), I2, [[-1.0, -2.0], [0.0, -2.0]]),
    (lambda a: linalg.solve_triangular(a, B, lower=True), I2, [[-1.0, 0.0], [-1.0, -2.0]]),
    (lambda a: linalg.solve_triangular(a, B, unit_diagonal=True), I2, [[0.0, -2.0], [0.0, 0.0]]),
    (lambda a: linalg.cholesky(a), I2, [[0.5, 1.0], [0.0, 0.5]]),
    (lambda a: linalg.cholesky(a, lower=True), I2, [[0.5, 0.0], [1.0, 0.5]]),
    (lambda a: linalg.svdvals(a), I3, I3),
    (lambda a: linalg.svdvals(a), Z2, Z2),
    (lambda a: linalg.eigvalsh(a), I2, I2),
    (lambda a: linalg.eigvalsh(a), Z2, I2),
    (lambda a: linalg.eigvalsh(a)[-1], np.diag([1.0, 3.0]), [[0.0, 0.0], [0.0, 1.0]]),
    (lambda a: linalg.eigvals(a).real, TURN, I2),
    (lambda a: linalg.expm(a), Z2, [[1.0, 1.0], [1.0, 1.0]]),
    (lambda a: linalg.expm(a)[0, 0], NIL, [[1.0, 0.0], [0.5, 0.0]]),
    (lambda a: linalg.expm(a)[0, 1], NIL, [[0.5, 1.0], [1 / 6, 0.5]]),
    (lambda a: linalg.logm(a), I2, [[1.0, 1.0], [1.0, 1.0]]),
    (lambda a: linalg.sqrtm(a), I2, [[0.5, 0.5], [0.5, 0.5]]),
    (lambda a: linalg.polar(a)[0], I2, [[0.0, 0.0], [0.0, 0.0]]),
    (lambda a: linalg.polar(a)[0][0, 1], I2, [[0.0, 0.5], [-0.5, 0.0]]),
    (lambda a: linalg.polar(a)[1], I2, [[1.0, 1.0], [1.0, 1.0]]),
    (lambda a: linalg.pinv(a), Z2, Z2),
    (lambda a: linalg.pinv(a), [[2.0, 0.0], [0.0, 1.0]], [[-0.25, -0.5], [-0.5, -1.0]]),
    (lambda a: linalg.lstsq(a, B)[0], I2, [[-1.0, -2.0], [-1.0, -2.0]]),
    (lambda a: linalg.fractional_matrix_power(a, 0), I2, Z2),
    (lambda a: linalg.fractional_matrix_power(a, 2), Z2, Z2),
    (
        lambda a: linalg.solve_sylvester(a, np.eye(2), np.eye(2)),
        I2,
        [[-0.25, -0.25], [-0.25, -0.25]],
    ),
    (lambda c: linalg.toeplitz(c), [1.0, 2.0, 3.0], [3.0, 4.0, 2.0]),
    (lambda c: linalg.circulant(c), [0.0, 0.0, 0.0], [3.0, 3.0, 3.0]),
    (lambda c: linalg.hankel(c), [1.0, 2.0], [1.0, 2.0]),
    (lambda x: linalg.fiedler(x), [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]),
    (lambda x: linalg.fiedler(x), [2.0, 1.0], [2.0, -2.0]),
    (lambda x: linalg.block_diag(x, 2 * x), [[0.0]], [[3.0]]),
]


@pytest.mark.parametrize("f, x, expected", VALUES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_gradient(f, x, expected):
    x, expected = np.array(x), np.array(expected)
    bar = autodiff.gradient(lambda x: np.sum(f(x)), x)
    np.testing.assert_allclose(bar, expected, atol=1e-14)
    v = np.cos(1.0 + np.arange(x.size)).reshape(x.shape)
    y_dot = autodiff.pushforward(lambda x: np.sum(f(x)), x)[1](v)
    np.testing.assert_allclose(y_dot, np.sum(expected * v), atol=1e-14)
