import numpy as np
import pytest

from chainrules_core import NoTangent, Tangent, rrule
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import COMPLEX, REAL
from tests.helpers import Pair, case

V = REAL.draw(3, rng=1)
W = REAL.draw(2, rng=2)
X = REAL.draw((2, 3), rng=3)
Y = REAL.draw((1, 3), rng=4)
X32 = REAL.draw((2, 3), np.float32, rng=5)
Z = COMPLEX.draw((2, 3), rng=6)
T = REAL.draw((2, 3, 2), rng=7)
STRIDED = REAL.draw((4, 6), rng=8)[::2, ::-2]
EMPTY = np.zeros((0, 3))
POINT = np.array(1.5)


CONCATENATE = [
    case(np.concatenate, [X, Y]),
    case(np.concatenate, (X, Y, X)),
    case(np.concatenate, [X, X], 1),
    case(np.concatenate, [X, STRIDED], axis=-1),
    case(np.concatenate, [X, V, [1.0, 2.0]], None),
    case(np.concatenate, [X, POINT], axis=None),
    case(np.concatenate, [X, [[1.0, 2.0, 3.0]]]),
    case(np.concatenate, [V, [1.0], W]),
    case(np.concatenate, [V, [1, 2]]),
    case(np.concatenate, [V, [True, False]]),
    case(np.concatenate, [V, np.array([True, False])]),
    case(np.concatenate, [X, Z]),
    case(np.concatenate, [X, X32]),
    case(np.concatenate, [X32, X32]),
    case(np.concatenate, [EMPTY, X]),
    case(np.concatenate, T),
    case(np.concatenate, [X32, X32], dtype=np.float64),
    case(np.concatenate, [X, X], dtype=np.float32, casting="same_kind"),
    case(np.concatenate, [X, X], dtype=complex),
    case(np.concat, [X, Y], axis=0),
]
STACK = [
    case(np.stack, [X, X, STRIDED]),
    case(np.stack, (X, X), 1),
    case(np.stack, [X, X], axis=-1),
    case(np.stack, [X, Z], axis=2),
    case(np.stack, [1.0, 2.0, POINT]),
    case(np.stack, [X32, X]),
    case(np.stack, [V, [1.0, 2.0, 3.0]]),
    case(np.stack, T),
    case(np.stack, T, axis=1),
    case(np.stack, [EMPTY, EMPTY]),
    case(np.stack, [X32, X32], dtype=float),
    case(np.vstack, [X, Y]),
    case(np.vstack, (V, V)),
    case(np.vstack, [V, X, [1.0, 2.0, 3.0]]),
    case(np.vstack, [1.0, POINT]),
    case(np.vstack, T),
    case(np.vstack, [X, X], dtype=np.float32),
    case(np.hstack, [X, X]),
    case(np.hstack, (V, W)),
    case(np.hstack, [V, 1.0, [2.0]]),
    case(np.hstack, [T, T]),
    case(np.hstack, T),
    case(np.dstack, [X, Z]),
    case(np.dstack, (V, V)),
    case(np.dstack, [T, X]),
    case(np.dstack, [1.0, 2.0]),
    case(np.column_stack, [W, X]),
    case(np.column_stack, (W, W)),
    case(np.column_stack, [1.0, POINT]),
    case(np.column_stack, [T, T]),
]
APPEND = [
    case(np.append, V, W),
    case(np.append, X, Y),
    case(np.append, X, Y, 0),
    case(np.append, X, X32, axis=-1),
    case(np.append, V, 1.5),
    case(np.append, V, [1.0, 2.0]),
    case(np.append, X, [[1.0], [2.0]], 1),
    case(np.append, [1.0, 2.0], Z),
    case(np.append, arr=V, values=W),
    case(np.append, 1.5, 2.5),
]
BLOCK = [
    case(np.block, [V, W, 1.5]),
    case(np.block, [[X, X], [Y, Y]]),
    case(np.block, [[X, W.reshape(2, 1)], [V, 2.0]]),
    case(np.block, [[[T, T]], [[T, T]]]),
    case(np.block, [[T, T], [T, T]]),
    case(np.block, [[1.0, 2.0], [3.0, POINT]]),
    case(np.block, [[X, Z]]),
    case(np.block, [X32, X32]),
    case(np.block, X),
    case(np.block, 1.5),
]


@pytest.mark.parametrize("f, args, kwargs", CONCATENATE + STACK + APPEND + BLOCK)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


@pytest.mark.skipif("row_stack" not in vars(np), reason="this NumPy has no row_stack any more")
@pytest.mark.filterwarnings("ignore:`row_stack`:DeprecationWarning")
def test_row_stack():
    check_rule(vars(np)["row_stack"], [V, X])


@pytest.mark.parametrize("f", [np.concatenate, np.stack])
def test_a_result_of_integers_is_constant(f):
    check_rule(f, [X, X], fkwargs={"dtype": int, "casting": "unsafe"})


def test_cotangents_are_those_of_each_part():
    y, pullback = rrule(np.concatenate, [X32, Y, np.ones((1, 3), bool)])
    y_bar = np.ones(np.shape(y))
    _, bars = pullback(y_bar)
    assert isinstance(bars, Tangent[list])
    assert bars[0].dtype == np.float32
    assert np.shares_memory(bars[1], y_bar)
    assert bars[2] == NoTangent()


@pytest.mark.parametrize(
    "f",
    [
        lambda x, s: np.concatenate([x, [[1.0, 2.0, 3.0]], x[:1] * s]),
        lambda x, s: np.concatenate((x, x * x), axis=None) * s,
        lambda x, s: np.stack([x, x * s], 1),
        lambda x, s: np.vstack([x, [1.0, 2.0, 3.0], x[0] * s]),
        lambda x, s: np.hstack([x, x * s]),
        lambda x, s: np.hstack([x[0], s, 2.0]),
        lambda x, s: np.hstack(Pair(x[0], s)),
        lambda x, s: np.concatenate(Pair(x, x * s)),
        lambda x, s: np.dstack([x, x * s]),
        lambda x, s: np.column_stack([x, x[:, 0] * s]),
        lambda x, s: np.append(x, s),
        lambda x, s: np.append(x, x * s, axis=1),
        lambda x, s: np.block([[x, x * s], [x[:1], np.ones((1, 3))]]),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X, 1.5)
