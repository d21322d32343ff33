import numpy as np
import pytest

from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import COMPLEX, REAL
from tests.helpers import case

V = REAL.draw(5, rng=1)
X = REAL.draw((3, 4), rng=2)
X32 = REAL.draw((3, 4), np.float32, rng=3)
Z = COMPLEX.draw((3, 2), rng=4)
T = REAL.draw((2, 3, 2), rng=5)
ROW = REAL.draw(4, rng=6)
COLUMN = REAL.draw(3, rng=7)
STRIDED = REAL.draw((6, 8), rng=8)[::2, ::-2]
MASK = np.array([True, False, True])


INSERT = [
    case(np.insert, V, 2, 1.5),
    case(np.insert, V, -1, 1.5),
    case(np.insert, V, 2, [1.0, 2.0, 3.0]),
    case(np.insert, V, [1, 4], [1.0, 2.0]),
    case(np.insert, V, [4, 1], np.array([1.0, 2.0])),
    case(np.insert, V, [2, 2, 0], [1.0, 2.0, 3.0]),
    case(np.insert, V, [1, 3, 5], 1.5),
    case(np.insert, V, slice(1, 4), COLUMN),
    case(np.insert, V, slice(1, 2), 1.5),
    case(np.insert, V, [3], COLUMN),
    case(np.insert, V, np.array([True, False, True, False, False]), [1.0, 2.0]),
    case(np.insert, V, [], np.zeros(0)),
    case(np.insert, X, 5, 1.5),
    case(np.insert, X, [3, 8], [1.0, 2.0], axis=None),
    case(np.insert, X, 1, 1.5, 0),
    case(np.insert, X, 1, ROW, 0),
    case(np.insert, X, 1, COLUMN, axis=1),
    case(np.insert, X, 1, REAL.draw((2, 4), rng=9), axis=0),
    case(np.insert, X, [1], COLUMN.reshape(3, 1), axis=1),
    case(np.insert, X, [1, 3], REAL.draw((3, 2), rng=9), axis=1),
    case(np.insert, X, [3, 1], [1.0, 2.0], axis=-1),
    case(np.insert, X, [0, 2], ROW, axis=0),
    case(np.insert, X, MASK, ROW, axis=0),
    case(np.insert, X, slice(None, None, 2), 2.5, axis=0),
    case(np.insert, T, 1, REAL.draw((2, 2), rng=9), axis=1),
    case(np.insert, T, [1], REAL.draw((2, 1, 2), rng=9), axis=1),
    case(np.insert, X32, 1, ROW, axis=0),
    case(np.insert, Z, 1, [1.0, 2.0], axis=0),
    case(np.insert, STRIDED, 0, 1.5, axis=1),
    case(np.insert, arr=V, obj=1, values=2.5),
]
DELETE = [
    case(np.delete, V, 2),
    case(np.delete, V, -1),
    case(np.delete, V, [0, 3]),
    case(np.delete, V, [0, 0, -5]),
    case(np.delete, V, slice(1, 4)),
    case(np.delete, V, slice(None, None, -2)),
    case(np.delete, V, []),
    case(np.delete, V, slice(None)),
    case(np.delete, V, np.array([True, False, True, False, True])),
    case(np.delete, X, 5),
    case(np.delete, X, 1, 0),
    case(np.delete, X, [0, 2], axis=1),
    case(np.delete, X, MASK, 0),
    case(np.delete, arr=T, obj=0, axis=-1),
    case(np.delete, X32, 1, axis=1),
    case(np.delete, Z, 0, axis=0),
    case(np.delete, STRIDED, [0], axis=0),
]


@pytest.mark.parametrize("f, args, kwargs", INSERT + DELETE)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, s: np.insert(x, 1, s),
        lambda x, s: np.insert(x, [2, 0], x[:, :2] * s, axis=1),
        lambda x, s: np.insert(x * s, 1, x[0], axis=0),
        lambda x, s: np.delete(x * s, [0, 2], axis=1),
        lambda x, s: np.delete(x * s, 4),
        lambda x, s: np.trim_zeros(np.concatenate([[0.0], x[0] * s, [0.0, 0.0]])),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X, 1.5)
