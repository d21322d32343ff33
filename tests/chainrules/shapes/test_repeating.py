import numpy as np
import pytest

from chainrules.shapes.repeating import add_runs
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import COMPLEX, REAL
from tests.helpers import case

V = REAL.draw(4, rng=1)
X = REAL.draw((2, 3), rng=2)
X32 = REAL.draw((2, 3), np.float32, rng=3)
Z = COMPLEX.draw((2, 3), rng=4)
T = REAL.draw((2, 1, 3), rng=5)
STRIDED = REAL.draw((4, 6), rng=6)[::2, ::-2]
EMPTY = np.zeros((0, 3))


BROADCAST = [
    case(np.broadcast_to, X, (4, 2, 3)),
    case(np.broadcast_to, T, shape=(2, 4, 3)),
    case(np.broadcast_to, Z, (2, 3)),
    case(np.broadcast_to, X32, (2, 2, 3)),
    case(np.broadcast_to, V, (0, 4)),
    case(np.broadcast_to, 1.5, (2, 2)),
    case(np.broadcast_to, np.array(1.5), 3),
    case(np.broadcast_arrays, X, T),
    case(np.broadcast_arrays, X, 1.5, V[:3]),
    case(np.broadcast_arrays, Z, np.array(2.0)),
    case(np.broadcast_arrays, X32),
]
REPEAT = [
    case(np.repeat, X, 3),
    case(np.repeat, X, 2, 0),
    case(np.repeat, X, repeats=2, axis=-1),
    case(np.repeat, X, [2], axis=1),
    case(np.repeat, V, [1, 0, 3, 2]),
    case(np.repeat, X, [1, 0, 3], axis=1),
    case(np.repeat, X, np.array([2, 0]), 0),
    case(np.repeat, Z, [0, 2], 0),
    case(np.repeat, X32, [1, 2, 0], 1),
    case(np.repeat, X, 0),
    case(np.repeat, X, [0, 0, 0], 1),
    case(np.repeat, EMPTY, 2, 1),
    case(np.repeat, EMPTY, 2, 0),
    case(np.repeat, STRIDED, 2, 1),
    case(np.repeat, T, [3], 1),
    case(np.repeat, 1.5, 3),
    case(np.repeat, np.array(1.5), 3),
    case(np.repeat, 1.5, 3, -1),
    case(np.repeat, np.array(1.5), [3], 0),
]
TILE = [
    case(np.tile, V, 3),
    case(np.tile, X, 2),
    case(np.tile, X, (2, 1)),
    case(np.tile, X, reps=(3, 2, 1)),
    case(np.tile, A=T, reps=[2]),
    case(np.tile, Z, (1, 2)),
    case(np.tile, X32, (2, 2)),
    case(np.tile, X, 0),
    case(np.tile, X, ()),
    case(np.tile, EMPTY, 2),
    case(np.tile, STRIDED, (1, 2)),
    case(np.tile, 1.5, (2, 2)),
    case(np.resize, X, (3, 3)),
    case(np.resize, X, new_shape=(2, 2)),
    case(np.resize, V, 12),
    case(np.resize, V, 10),
    case(np.resize, Z, (4, 4)),
    case(np.resize, X32, 7),
    case(np.resize, V, 0),
    case(np.resize, EMPTY, 4),
]


@pytest.mark.parametrize("f, args, kwargs", BROADCAST + REPEAT + TILE)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


@pytest.mark.parametrize("counts", [[1, 2, 3], [0, 5, 1], [6, 0, 0], [0, 0, 6]])
def test_add_runs_is_the_adjoint_of_repeat(counts):
    check_rule(add_runs, REAL.draw((6, 2)), counts, 0)
    check_rule(add_runs, REAL.draw((2, 6)), counts, 1)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.broadcast_to(x, (2, 2, 3)),
        lambda x: np.broadcast_arrays(x, x[:1])[1],
        lambda x: np.repeat(x, 2),
        lambda x: x.repeat([1, 0, 3], axis=1),
        lambda x: np.tile(x, (2, 2)),
        lambda x: np.resize(x, 8),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X)
