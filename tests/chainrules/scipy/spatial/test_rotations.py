import numpy as np
import pytest
from scipy import spatial
from scipy.spatial import transform
from scipy.spatial.transform import Rotation, RotationSpline, Slerp

from autodiff import gradient, hessian

RNG = np.random.default_rng(3)
E = np.array([0.3, 0.5, -0.2])
POINTS, MANY = RNG.normal(size=(5, 3)), RNG.uniform(0.2, 1, (4, 3))

pytestmark = pytest.mark.skipif(
    not hasattr(transform._rotation, "select_backend"), reason="SciPy 1.15 compiles rotations"
)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: Rotation.from_quat(np.append(x, 0.8)).as_matrix(),
        lambda x: Rotation.from_quat(np.append(x, 0.8)).as_rotvec(),
        lambda x: Rotation.from_euler("xyz", x).as_quat(),
        lambda x: Rotation.from_euler("ZYX", x, degrees=True).as_euler("xyz"),
        lambda x: Rotation.from_matrix(Rotation.from_rotvec(x).as_matrix() + 0.01).as_quat(),
        lambda x: Rotation.from_mrp(x).as_mrp(),
        lambda x: Rotation.from_rotvec(x).apply(POINTS),
        lambda x: Rotation.from_rotvec(E).apply(x),
        lambda x: (Rotation.from_rotvec(x) * Rotation.from_rotvec([1, 0.2, 0.3])).inv().as_quat(),
        lambda x: Rotation.from_rotvec(x).magnitude(),
        lambda x: (Rotation.from_rotvec(x) ** 0.3).as_matrix(),
        lambda x: Rotation.from_rotvec(x * MANY).mean().as_matrix(),
        lambda x: Rotation.align_vectors(x * MANY, POINTS[:4])[0].as_matrix(),
        lambda x: Rotation.from_rotvec(x - E).as_matrix(),
        lambda x: Slerp([0, 1, 2, 3], Rotation.from_rotvec(x * MANY))([0.4, 2.2]).as_matrix(),
        lambda x: RotationSpline([0, 1, 2, 3], Rotation.from_rotvec(x * MANY))([0.4, 2.2], 1),
        lambda x: Slerp([0, 1, 2, 3], Rotation.from_rotvec(MANY))(x**2 * 5).as_matrix(),
    ],
)
def test_rotations(f, check_traced):
    check_traced(f, E, rtol=1e-5)


TURN = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])


@pytest.mark.parametrize(
    "f",
    [
        lambda m: Rotation.from_matrix(m).as_quat(),
        lambda m: Rotation.from_matrix(np.stack([m, m @ m])).as_rotvec(),
        lambda m: Rotation.from_matrix(m + 0.1).as_quat(),
    ],
)
def test_away_from_the_rotations(f, check_traced):
    """The projection onto the rotations takes part also where it changes nothing."""
    check_traced(f, TURN, rtol=1e-5)


def both_derivatives(f, x):
    """Compare gradient and Hessian with differences."""
    x, h = np.asarray(x, dtype=float), 1e-3

    def slopes(f):
        steps = h * np.eye(x.size)
        near = np.array([f(x + step) - f(x - step) for step in steps])
        far = np.array([f(x + 2 * step) - f(x - 2 * step) for step in steps])
        return (8 * near - far) / (12 * h)

    np.testing.assert_allclose(gradient(f, x), slopes(f), atol=1e-7)
    np.testing.assert_allclose(hessian(f, x), slopes(lambda x: gradient(f, x)), atol=1e-7)


WEIGHTS = np.arange(9.0).reshape(3, 3)


@pytest.mark.parametrize("x", [(0.0, 0.0, 0.0), (1e-4, -2e-4, 0.0), (0.3, 0.2, -0.4)], ids=str)
def test_second_derivatives_at_the_identity(x):
    """SciPy's series there are in the angle, a root, whose slope at 0 is not that of its square."""
    shift = Rotation.from_rotvec([0.1, 0.2, 0.3])
    both_derivatives(lambda x: np.sum(WEIGHTS * Rotation.from_rotvec(x).as_matrix()), x)
    both_derivatives(
        lambda x: np.sum(WEIGHTS[1] * Rotation.from_rotvec(20 * x, degrees=True).as_quat()[1:]), x
    )
    both_derivatives(lambda x: (Rotation.from_rotvec(x) * shift).as_rotvec() @ WEIGHTS[1], x)
    both_derivatives(
        lambda x: (shift * Rotation.from_rotvec(x) * shift.inv()).as_rotvec(True) @ WEIGHTS[1], x
    )


@pytest.mark.parametrize("n", [0.0, 1.0, -1.0, 0.3, -2.5])
def test_powers_by_their_exponent(n):
    """SciPy has no formula for the exponents 0, 1 and -1."""

    def by_vector(x):
        power = Rotation.from_rotvec(np.stack([x[:3], -2 * x[:3]])) ** x[3]
        return np.sum(WEIGHTS * power.as_matrix())

    def by_quaternion(x):
        return np.sum(WEIGHTS * (Rotation.from_quat(x[:4]) ** x[4]).as_matrix())

    both_derivatives(by_vector, [0.1, 0.7, 0.5, n])
    both_derivatives(by_quaternion, [0.1, 0.2, 0.5, -0.4, n])


@pytest.mark.parametrize("end", [(1.0, 2.0, 3.0), (1.0, 2.1, 3.0)], ids=str)
def test_slerp_of_points_that_may_be_the_same(end):
    def unit(v):
        return v / np.sqrt(np.sum(v * v))

    start = np.array([1.0, 2.0, 3.0])
    both_derivatives(
        lambda x: np.sum(WEIGHTS * spatial.geometric_slerp(unit(start), unit(x), [0.2, 0.7, 1.4])),
        end,
    )
    both_derivatives(
        lambda x: np.sum(WEIGHTS[1] * spatial.geometric_slerp(unit(x[:3]), unit(start), x[3])),
        (*end, 0.3),
    )
