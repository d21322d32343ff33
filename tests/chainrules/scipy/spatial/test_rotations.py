import numpy as np
import pytest
from scipy.spatial import transform
from scipy.spatial.transform import Rotation, RotationSpline, Slerp

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
