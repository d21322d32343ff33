import numpy as np
import pytest

from chainrules_core import rrule
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import COMPLEX, REAL
from tests.helpers import case

V = REAL.draw(5, rng=1)
X = REAL.draw((2, 3), rng=2)
X32 = REAL.draw((2, 3), np.float32, rng=3)
Z = COMPLEX.draw((2, 3, 2), rng=4)
T = REAL.draw((2, 3, 4), rng=5)
STRIDED = REAL.draw((4, 6), rng=6)[::2, ::-2]
EMPTY = np.zeros((0, 3))


AXES = [
    case(np.transpose, X),
    case(np.transpose, T),
    case(np.transpose, T, (1, 2, 0)),
    case(np.transpose, T, axes=(2, 0, 1)),
    case(np.transpose, T, [-1, 0, -2]),
    case(np.transpose, Z, (1, 2, 0)),
    case(np.transpose, X32),
    case(np.transpose, V, (0,)),
    case(np.transpose, EMPTY),
    case(np.transpose, 1.5),
    case(np.permute_dims, T, (2, 0, 1)),
    case(np.matrix_transpose, Z),
    case(np.linalg.matrix_transpose, Z),
    case(np.swapaxes, T, 0, 2),
    case(np.swapaxes, T, axis1=-1, axis2=1),
    case(np.moveaxis, T, 0, 2),
    case(np.moveaxis, T, source=[0, 1], destination=[-1, 0]),
    case(np.moveaxis, Z, (2, 0), (0, 1)),
    case(np.rollaxis, T, 2),
    case(np.rollaxis, T, 0, 3),
    case(np.rollaxis, T, -1, start=1),
    case(np.rollaxis, T, 1, -2),
    case(np.rollaxis, T, 0, -1),
]
ORDER = [
    case(np.flip, X),
    case(np.flip, T, 1),
    case(np.flip, T, axis=(0, -1)),
    case(np.flip, m=Z, axis=0),
    case(np.flip, STRIDED),
    case(np.flip, EMPTY),
    case(np.flip, np.array(1.5)),
    case(np.fliplr, X),
    case(np.flipud, X32),
    case(np.roll, V, 2),
    case(np.roll, X, -4),
    case(np.roll, V, True),
    case(np.roll, V, np.uint8(1)),
    case(np.roll, V, np.array([True, False, True])),
    case(np.roll, T, 5, 1),
    case(np.roll, T, shift=(1, -2), axis=(0, 2)),
    case(np.roll, T, (1, 1), (1, 1)),
    case(np.roll, T, 1, axis=(0, 1)),
    case(np.roll, X, (1, 2), 1),
    case(np.roll, V, np.array([1, 1])),
    case(np.roll, Z, 1, axis=-1),
    case(np.roll, X32, 1),
    case(np.roll, EMPTY, 1),
    case(np.rot90, X),
    case(np.rot90, X, 2),
    case(np.rot90, T, k=3, axes=(1, 2)),
    case(np.rot90, Z, -1, (2, 0)),
]


@pytest.mark.parametrize("f, args, kwargs", AXES + ORDER)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.T,
        lambda x: np.transpose(x, (1, 2, 0)),
        lambda x: x.transpose(2, 0, 1),
        lambda x: x.mT,
        lambda x: x.swapaxes(0, 1),
        lambda x: np.moveaxis(x, 0, -1),
        lambda x: np.rollaxis(x, 2),
        lambda x: np.flip(x, 1),
        lambda x: np.fliplr(x) * np.flipud(x),
        lambda x: np.roll(x, (1, 2), (0, 1)),
        lambda x: np.rot90(x, 1, (1, 0)),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, T)


@pytest.mark.parametrize("f", [np.transpose, np.flip, np.rot90])
def test_cotangents_are_views(f):
    y, pullback = rrule(f, X)
    y_bar = np.ones(np.shape(y))
    assert np.shares_memory(pullback(y_bar)[1], y_bar)
