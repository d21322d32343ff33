import numpy as np
import pytest

from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import COMPLEX, REAL
from tests.helpers import case

V = REAL.draw(6, rng=1)
X = REAL.draw((4, 3), rng=2)
X32 = REAL.draw((4, 3), np.float32, rng=3)
Z = COMPLEX.draw((2, 4), rng=4)
T = REAL.draw((2, 2, 4), rng=5)
STRIDED = REAL.draw((8, 6), rng=6)[::2, ::-2]
EMPTY = np.zeros((0, 3))


CASES = [
    case(np.split, V, 3),
    case(np.split, X, 2),
    case(np.split, X, 3, 1),
    case(np.split, X, 3, axis=-1),
    case(np.split, V, [1, 4]),
    case(np.split, V, np.array([2, 2, 9])),
    case(np.split, ary=Z, indices_or_sections=(1, 3), axis=1),
    case(np.split, V, [4, 2]),
    case(np.split, V, [-2]),
    case(np.split, X, [3, 1], axis=0),
    case(np.split, V, []),
    case(np.split, X32, 2),
    case(np.split, EMPTY, 2),
    case(np.split, STRIDED, [1]),
    case(np.array_split, V, 4),
    case(np.array_split, X, 3),
    case(np.array_split, X, 2, axis=1),
    case(np.array_split, X, [1], 1),
    case(np.array_split, V[:2], 4),
    case(np.hsplit, V, 2),
    case(np.hsplit, Z, [1, 3]),
    case(np.hsplit, T, 2),
    case(np.vsplit, X, 2),
    case(np.vsplit, X, [3]),
    case(np.dsplit, T, 2),
    case(np.dsplit, T, [1, 2]),
    case(np.unstack, V),
    case(np.unstack, X, axis=1),
    case(np.unstack, T, axis=-1),
    case(np.unstack, Z),
    case(np.unstack, EMPTY),
    case(np.unstack, X32),
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.split(x, 2)[1],
        lambda x: tuple(np.split(x, [1], axis=1)),
        lambda x: tuple(np.split(x, [3, 1])),
        lambda x: tuple(np.array_split(x, 3)),
        lambda x: tuple(np.hsplit(x, 3)),
        lambda x: np.vsplit(x, 2)[0],
        lambda x: tuple(row for row in x),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X)
