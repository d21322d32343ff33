"""Linear algebra at singular matrices, kinks and ties: expected gradients as numbers."""

import math

import numpy as np
import pytest

import autodiff

INF = math.inf
norm, vector_norm, det = np.linalg.norm, np.linalg.vector_norm, np.linalg.det

Z2, I2, I3 = [[0.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], np.eye(3).tolist()
ONES = [[1.0, 1.0], [1.0, 1.0]]
TURN = [[0.0, 1.0], [-1.0, 0.0]]
RANK_2 = [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]
RANK_1 = [[3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]

# fmt: off
VECTOR_NORMS = [
    # ord, x, gradient
    (None, [3.0, 4.0], [0.6, 0.8]),
    (None, [0.0, 0.0], [0.0, 0.0]),
    (None, [0.0, -2.0], [0.0, -1.0]),
    (None, [], []),
    (None, [-0.0], [0.0]),
    (2, [0.0, 0.0], [0.0, 0.0]),
    (1, [3.0, -4.0], [1.0, -1.0]),
    (1, [0.0, -4.0], [0.0, -1.0]),
    (1, [0.0, 0.0], [0.0, 0.0]),
    (INF, [3.0, -4.0], [0.0, -1.0]),
    (INF, [4.0, -4.0], [0.5, -0.5]),
    (INF, [2.0, 2.0, -2.0, 1.0], [1 / 3, 1 / 3, -1 / 3, 0.0]),
    (INF, [0.0, 0.0], [0.0, 0.0]),
    (-INF, [3.0, -4.0], [1.0, 0.0]),
    (-INF, [3.0, -3.0, 5.0], [0.5, -0.5, 0.0]),
    (-INF, [0.0, 3.0], [0.0, 0.0]),
    (0, [0.0, 3.0], [0.0, 0.0]),
    (3, [0.0, 0.0], [0.0, 0.0]),
    (3, [0.0, -2.0], [0.0, -1.0]),
    (1.5, [0.0, 0.0], [0.0, 0.0]),
    (1.5, [0.0, 3.0], [0.0, 1.0]),
    (0.5, [0.0, 4.0], [0.0, 1.0]),
    (0.5, [1.0, 4.0], [3.0, 1.5]),
    (0.5, [0.0, 0.0], [0.0, 0.0]),
    (-1, [2.0, 2.0], [0.25, 0.25]),
    (-1, [0.0, 2.0], [0.0, 0.0]),
    (-2, [0.0, 0.0], [0.0, 0.0]),
]
MATRIX_NORMS = [
    # ord, x, gradient
    (None, Z2, Z2),
    ("fro", [[0.0, 3.0], [4.0, 0.0]], [[0.0, 0.6], [0.8, 0.0]]),
    ("fro", Z2, Z2),
    (1, [[1.0, 2.0], [-3.0, 4.0]], [[0.0, 1.0], [0.0, 1.0]]),
    (1, ONES, [[0.5, 0.5], [0.5, 0.5]]),
    (1, [[0.0, 2.0], [-2.0, 0.0]], [[0.0, 0.5], [-0.5, 0.0]]),
    (1, Z2, Z2),
    (-1, [[1.0, 2.0], [-3.0, 4.0]], [[1.0, 0.0], [-1.0, 0.0]]),
    (-1, I2, [[0.5, 0.0], [0.0, 0.5]]),
    (INF, [[1.0, 2.0], [-3.0, 4.0]], [[0.0, 0.0], [-1.0, 1.0]]),
    (INF, ONES, [[0.5, 0.5], [0.5, 0.5]]),
    (-INF, [[1.0, 2.0], [-3.0, 4.0]], [[1.0, 1.0], [0.0, 0.0]]),
    (-INF, [[0.0, 1.0], [1.0, 0.0]], [[0.0, 0.5], [0.5, 0.0]]),
    (2, [[3.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 0.0]]),
    (2, I2, [[0.5, 0.0], [0.0, 0.5]]),
    (2, TURN, [[0.0, 0.5], [-0.5, 0.0]]),
    (2, Z2, Z2),
    (2, ONES, [[0.5, 0.5], [0.5, 0.5]]),
    (-2, [[3.0, 0.0], [0.0, -1.0]], [[0.0, 0.0], [0.0, -1.0]]),
    (-2, I2, [[0.5, 0.0], [0.0, 0.5]]),
    (-2, ONES, Z2),
    (-2, Z2, Z2),
    ("nuc", [[3.0, 0.0], [0.0, -1.0]], [[1.0, 0.0], [0.0, -1.0]]),
    ("nuc", I3, I3),
    ("nuc", TURN, TURN),
    ("nuc", ONES, [[0.5, 0.5], [0.5, 0.5]]),
    ("nuc", Z2, Z2),
    ("nuc", RANK_1, [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
]
DETERMINANTS = [
    # x, gradient of det
    ([[2.0]], [[1.0]]),
    ([[0.0]], [[1.0]]),
    (I2, I2),
    (I3, I3),
    (ONES, [[1.0, -1.0], [-1.0, 1.0]]),
    ([[1.0, 2.0], [2.0, 4.0]], [[4.0, -2.0], [-2.0, 1.0]]),
    ([[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [-1.0, 0.0]]),
    (Z2, Z2),
    (RANK_2, [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 2.0]]),
    ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],
     [[-3.0, 6.0, -3.0], [6.0, -12.0, 6.0], [-3.0, 6.0, -3.0]]),
    (RANK_1, np.zeros((3, 3)).tolist()),
    (np.zeros((3, 3)).tolist(), np.zeros((3, 3)).tolist()),
    ([I2, Z2, ONES], [I2, Z2, [[1.0, -1.0], [-1.0, 1.0]]]),
]
LOG_DETERMINANTS = [
    # x, gradient of log|det|
    ([[2.0]], [[0.5]]),
    ([[-2.0]], [[-0.5]]),
    ([[0.0]], [[INF]]),
    (I2, I2),
    ([[0.0, 2.0], [4.0, 0.0]], [[0.0, 0.5], [0.25, 0.0]]),
    ([[0.0, 0.0], [0.0, 1.0]], [[INF, 0.0], [0.0, 0.0]]),
    (I3, I3),
]
OTHERS = [
    # name, function, x, gradient
    ("cond of the unit matrix", lambda x: np.linalg.cond(x), I2, Z2),
    ("cond", lambda x: np.linalg.cond(x), [[3.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, -3.0]]),
    ("cond -2", lambda x: np.linalg.cond(x, -2), I2, Z2),
    ("cond fro of the unit matrix", lambda x: np.linalg.cond(x, "fro"), I2, Z2),
    ("matrix_power 0", lambda x: np.sum(np.linalg.matrix_power(x, 0)), ONES, Z2),
    ("matrix_power 2 at 0", lambda x: np.sum(np.linalg.matrix_power(x, 2)), Z2, Z2),
    ("matrix_power 1 at 0", lambda x: np.sum(np.linalg.matrix_power(x, 1)), Z2, ONES),
    ("svdvals at 0", lambda x: np.sum(np.linalg.svdvals(x)), Z2, Z2),
    ("svdvals, tied", lambda x: np.sum(np.linalg.svdvals(x)), I2, I2),
    ("svdvals, one zero", lambda x: np.sum(np.linalg.svdvals(x)), [[2.0, 0.0], [0.0, 0.0]],
     [[1.0, 0.0], [0.0, 0.0]]),
    ("svd values, hermitian at 0",
     lambda x: np.sum(np.linalg.svd(x, compute_uv=False, hermitian=True)), Z2, Z2),
    ("eigvalsh, tied", lambda x: np.sum(np.linalg.eigvalsh(x)), I2, I2),
    ("eigvalsh, tied, squared", lambda x: np.sum(np.linalg.eigvalsh(x) ** 2), I2,
     [[2.0, 0.0], [0.0, 2.0]]),
    ("eigh values only, tied", lambda x: np.sum(np.linalg.eigh(x)[0]), I3, I3),
    ("eigvalsh reads the lower triangle", lambda x: np.linalg.eigvalsh(x)[1],
     [[0.0, 9.0], [1.0, 0.0]], [[0.5, 0.0], [1.0, 0.5]]),
    ("eigvalsh reads the upper triangle", lambda x: np.linalg.eigvalsh(x, "U")[1],
     [[0.0, 1.0], [9.0, 0.0]], [[0.5, 1.0], [0.0, 0.5]]),
    ("eigvals, tied", lambda x: np.sum(np.real(np.linalg.eigvals(x))), I2, I2),
    ("cholesky reads the lower triangle", lambda x: np.linalg.cholesky(x)[1, 0],
     [[4.0, 7.0], [2.0, 5.0]], [[-0.125, 0.0], [0.5, 0.0]]),
    ("cholesky reads the upper triangle", lambda x: np.linalg.cholesky(x, upper=True)[0, 1],
     [[4.0, 2.0], [7.0, 5.0]], [[-0.125, 0.5], [0.0, 0.0]]),
    ("cholesky of the unit matrix", lambda x: np.sum(np.linalg.cholesky(x)), I2,
     [[0.5, 0.0], [1.0, 0.5]]),
    ("pinv of a row", lambda x: np.sum(np.linalg.pinv(x)), [[3.0, 4.0]], [[-0.0272, -0.0496]]),
    ("pinv, rank 1", lambda x: np.trace(np.linalg.pinv(x)), [[2.0, 0.0], [0.0, 0.0]],
     [[-0.25, 0.0], [0.0, 0.0]]),
    ("lstsq of deficient rank", lambda x: np.linalg.lstsq(x, np.array([2.0, 1.0]))[0][0],
     [[2.0, 0.0], [0.0, 0.0]], [[-0.5, 0.0], [0.25, 0.0]]),
    ("dot at 0", lambda x: np.dot(x, x), [0.0, 0.0], [0.0, 0.0]),
    ("dot of nothing", lambda x: np.dot(x, x), [], []),
    ("vdot", lambda x: np.vdot(x, np.array([[1.0, 2.0], [3.0, 4.0]])), ONES,
     [[1.0, 2.0], [3.0, 4.0]]),
    ("trace", lambda x: np.trace(x), ONES, I2),
    ("trace beyond the matrix", lambda x: np.trace(x, 5), ONES, Z2),
    ("einsum ii", lambda x: np.einsum("ii", x), ONES, I2),
    ("einsum, an index alone", lambda x: np.einsum("ij,k->", x, np.array([1.0, 2.0])), ONES,
     [[3.0, 3.0], [3.0, 3.0]]),
    ("cross of parallel vectors", lambda x: np.sum(np.cross(x, 2 * x)), [1.0, 2.0, 3.0],
     [0.0, 0.0, 0.0]),
    ("kron with 0", lambda x: np.sum(np.kron(x, np.zeros((2, 2)))), ONES, Z2),
    ("norm along an axis", lambda x: np.sum(norm(x, axis=1)), [[3.0, 4.0], [0.0, 0.0]],
     [[0.6, 0.8], [0.0, 0.0]]),
    ("vector_norm of a matrix", lambda x: vector_norm(x, ord=INF), [[1.0, -1.0], [0.0, 1.0]],
     [[1 / 3, -1 / 3], [0.0, 1 / 3]]),
]
# fmt: on


def check(f, x, expected):
    x = np.array(x, float)
    with np.errstate(divide="ignore"):
        gradient = autodiff.gradient(f, x)
    np.testing.assert_allclose(gradient, np.reshape(expected, x.shape), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("order, x, expected", VECTOR_NORMS)
def test_vector_norm(order, x, expected):
    check(lambda x: norm(x, order), x, expected)
    if order is not None:
        check(lambda x: vector_norm(x, ord=order), x, expected)


@pytest.mark.parametrize("order, x, expected", MATRIX_NORMS)
def test_matrix_norm(order, x, expected):
    check(lambda x: norm(x, order), x, expected)


@pytest.mark.parametrize("x, expected", DETERMINANTS)
def test_det(x, expected):
    check(lambda x: np.sum(det(x)), x, expected)


@pytest.mark.parametrize("x, expected", LOG_DETERMINANTS)
def test_slogdet(x, expected):
    check(lambda x: np.sum(np.linalg.slogdet(x)[1]), x, expected)


@pytest.mark.parametrize("f, x, expected", [pytest.param(*row[1:], id=row[0]) for row in OTHERS])
def test_other(f, x, expected):
    check(f, x, expected)


@pytest.mark.parametrize(
    "z, expected",
    [(3.0 + 4j, 0.6 + 0.8j), (0j, 0), (-2j, -1j)],
)
@pytest.mark.parametrize("order", [None, 1, 3, INF])
def test_norm_of_one_complex_number(order, z, expected):
    """x_bar = ∂/∂re + i ∂/∂im, as for abs."""
    gradient = autodiff.gradient(lambda z: norm(z, order), np.array([z]))
    np.testing.assert_allclose(gradient, [expected], rtol=1e-12)


HESSIANS = [
    # name, function, x, direction w, gradient of ⟨w, gradient⟩
    ("det at rank 1 of 2", lambda x: det(x), ONES, I2, I2),
    ("det at 0", lambda x: det(x), Z2, [[1.0, 2.0], [3.0, 4.0]], [[4.0, -3.0], [-2.0, 1.0]]),
    ("det at rank 1 of 3", lambda x: det(x), RANK_1, I3, [[0, 0, 0], [0, 3, 0], [0, 0, 3]]),
    ("nuc, tied", lambda x: norm(x, "nuc"), I2, TURN, TURN),
    ("norm", lambda x: norm(x), [3.0, 4.0], [1.0, 0.0], [0.128, -0.096]),
]


@pytest.mark.parametrize(
    "f, x, w, expected", [pytest.param(*row[1:], id=row[0]) for row in HESSIANS]
)
def test_second_derivatives(f, x, w, expected):
    check(lambda x: np.sum(np.array(w) * autodiff.gradient(f, x)), x, expected)
