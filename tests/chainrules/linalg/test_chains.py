import numpy as np
import pytest

import autodiff
from chainrules.linalg.chains import best_splits
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import well_conditioned_matrix
from tests.helpers import compl, real

A = well_conditioned_matrix(3, rng=3)
Z = well_conditioned_matrix(3, complex, rng=4)
STACK = np.stack([A, A.T + 1])
ROTATION = np.array([[0.0, -1.0], [1.0, 0.0]])


def case(f, *args):
    return pytest.param(f, args, id=f.__name__)


CASES = [
    case(np.linalg.multi_dot, [real(2, 3), real(3, 4)]),
    case(np.linalg.multi_dot, [compl(2, 3), compl(3, 4), compl(4, 2)]),
    case(np.linalg.multi_dot, [compl(4, 2), compl(2, 3), compl(3, 5)]),
    case(np.linalg.multi_dot, (real(3), real(3, 4), real(4, 2), real(2))),
    case(np.linalg.multi_dot, [compl(2, 3), compl(3, 4), compl(4, 2), compl(2)]),
    case(np.linalg.multi_dot, [compl(3), compl(3, 4), compl(4, 2), compl(2, 5)]),
    case(np.linalg.multi_dot, [real(3), real(3)]),
    case(np.linalg.multi_dot, [1.7, real(3)]),
    case(np.linalg.multi_dot, [real(2, 3).tolist(), real(3, 2), real(2, 2).tolist()]),
    case(np.linalg.multi_dot, [real(2, 3, dtype=np.float32), real(3, 4, dtype=np.float32)]),
    case(np.linalg.multi_dot, [real(2, 0), real(0, 3), real(3, 2)]),
    case(np.linalg.matrix_power, A, 0),
    case(np.linalg.matrix_power, A, 1),
    case(np.linalg.matrix_power, A, 2),
    case(np.linalg.matrix_power, A, 3),
    case(np.linalg.matrix_power, Z, 4),
    case(np.linalg.matrix_power, Z, 5),
    case(np.linalg.matrix_power, Z, 6),
    case(np.linalg.matrix_power, Z, np.int64(7)),
    case(np.linalg.matrix_power, A, -1),
    case(np.linalg.matrix_power, Z, -3),
    case(np.linalg.matrix_power, STACK, 3),
    case(np.linalg.matrix_power, STACK, -2),
    case(np.linalg.matrix_power, ROTATION, 4),
    case(np.linalg.matrix_power, A.astype(np.float32), 3),
    case(np.linalg.matrix_power, real(0, 0), 2),
]


@pytest.mark.parametrize("f, args", CASES)
def test_rule(f, args):
    check_rule(f, *args, second_order=True, gradient=autodiff.gradient)


def test_power_by_name():
    check_rule(np.linalg.matrix_power, A, fkwargs={"n": 3})


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.linalg.multi_dot([a[0], a, a.T, a]),
        lambda a: np.linalg.multi_dot((a, ROTATION[0][[0, 1, 1]])),
        lambda a: np.linalg.matrix_power(a, 3) @ a,
        lambda a: np.linalg.matrix_power(a, -2),
        lambda a: np.linalg.matrix_power(a, 0) + a,
    ],
)
def test_engine(f, check_engine):
    check_engine(f, A)


def test_the_cheapest_order_is_taken():
    sizes = [30, 35, 15, 5, 10, 20, 25]  # Cormen et al., Introduction to Algorithms, 15.2
    split = best_splits(sizes)
    assert split[0, 5] == 2
    assert split[0, 2] == 0
    assert split[3, 5] == 4
