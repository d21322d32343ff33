import numpy as np
import pytest

from chainrules_core import NoTangent, frule, rrule
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import COMPLEX, REAL
from tests.helpers import case

V = REAL.draw(6, rng=1)
X = REAL.draw((2, 3), rng=2)
X32 = REAL.draw((2, 3), np.float32, rng=3)
Z = COMPLEX.draw((3, 2), rng=4)
T = REAL.draw((2, 1, 3, 1), rng=5)
F = np.asfortranarray(X)  # lies in memory by columns
STRIDED = REAL.draw((4, 6), rng=6)[::2, ::-2]
MOVED = np.transpose(REAL.draw((2, 3, 4), rng=7), (1, 2, 0))
EMPTY = np.zeros((0, 3))
POINT = np.array(1.5)


RESHAPE = [
    case(np.reshape, X, (3, 2)),
    case(np.reshape, X, -1),
    case(np.reshape, X, (3, -1)),
    case(np.reshape, V, (2, 3), "F"),
    case(np.reshape, X, shape=(6, 1)),
    case(np.reshape, X, (3, 2), order="F"),
    case(np.reshape, X, (3, 2), order="A"),
    case(np.reshape, X, (1, 6), copy=True),
    case(np.reshape, X32, (3, 2)),
    case(np.reshape, Z, (6,)),
    case(np.reshape, STRIDED, (3, 2)),
    case(np.reshape, EMPTY, (3, 0, 2)),
    case(np.reshape, POINT, (1, 1)),
    case(np.reshape, 1.5, (1,)),
]
RAVEL = [
    case(np.ravel, X),
    case(np.ravel, X, "F"),
    case(np.ravel, X, order="F"),
    case(np.ravel, MOVED, order="F"),
    case(np.ravel, X32),
    case(np.ravel, Z),
    case(np.ravel, POINT),
    case(np.ravel, 1.5),
    case(np.ravel, EMPTY),
    case(np.ndarray.flatten, X),
    case(np.ndarray.flatten, X, "F"),
    case(np.ndarray.flatten, Z, order="A"),
]
ONES = [
    case(np.squeeze, T),
    case(np.squeeze, T, 1),
    case(np.squeeze, T, axis=(1, 3)),
    case(np.squeeze, a=T, axis=-1),
    case(np.squeeze, np.ones((1, 1))),
    case(np.squeeze, 1.5),
    case(np.expand_dims, X, 0),
    case(np.expand_dims, X, axis=-1),
    case(np.expand_dims, Z, (0, 2)),
    case(np.expand_dims, X32, (-1, 0)),
    case(np.expand_dims, POINT, 0),
    case(np.expand_dims, 1.5, 0),
]
AT_LEAST = [
    case(np.atleast_1d, 1.5),
    case(np.atleast_1d, X),
    case(np.atleast_1d, POINT, X32, 2.5),
    case(np.atleast_2d, V),
    case(np.atleast_2d, X, V, 1.5),
    case(np.atleast_2d, [1.0, 2.0]),
    case(np.atleast_3d, 1.5),
    case(np.atleast_3d, V),
    case(np.atleast_3d, X, Z, [[1.0, 2.0]], V),
]


@pytest.mark.parametrize("f, args, kwargs", RESHAPE + RAVEL + ONES + AT_LEAST)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


LAYOUTS = [
    np.transpose(REAL.draw((4, 2, 6), rng=8)[:, :, ::step], axes)
    for step in (1, -1, -2)
    for axes in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1))
] + [F, MOVED, X.T, np.expand_dims(MOVED, (0, 2)), Z.T, STRIDED.T]
LAYOUTS += [np.broadcast_to(X, (2, 2, *X.shape)), np.broadcast_to(X[:, :1], (4, *X.shape)).T]
LAYOUTS += [np.broadcast_to(a, (2, *a.shape)).swapaxes(0, 2) for a in (X, X.T, X[::-1])]


@pytest.mark.parametrize("a", LAYOUTS, ids=lambda a: f"strides{a.strides}")
@pytest.mark.parametrize(
    "f, args, order",
    [
        (np.ravel, (), "K"),
        (np.ravel, (), "A"),
        (np.ndarray.flatten, (), "K"),
        (np.ndarray.flatten, (), "A"),
        (np.reshape, ((2, -1),), "A"),
    ],
)
def test_memory_order(f, args, order, a):
    """Tangents do not lie in memory as the primal does, but are read in the order that it is."""
    y, pullback = rrule(f, a, *args, order=order)
    expected = f(a, *args, order=order)
    assert np.array_equal(y, expected)
    a_bar = pullback(2 * expected)[1]
    assert np.array_equal(a_bar, 2 * a)
    no = (NoTangent(),) * len(args)
    _, y_dot = frule((NoTangent(), 2 * np.ascontiguousarray(a), *no), f, a, *args, order=order)
    assert np.array_equal(y_dot, 2 * expected)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.reshape(3, 2),
        lambda x: x.reshape((3, -1), order="F"),
        lambda x: np.reshape(x.T, (2, 3), order="A"),
        lambda x: x.ravel(),
        lambda x: np.ravel(x.T, order="K"),
        lambda x: x.flatten("F"),
        lambda x: np.squeeze(x[:1]),
        lambda x: np.expand_dims(x, 1),
        lambda x: np.atleast_3d(x, x[0]),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X)


def test_the_result_is_a_view_where_numpy_has_one():
    y, pullback = rrule(np.reshape, X, (3, 2))
    y_bar = np.ones((3, 2))
    assert np.shares_memory(y, X)
    assert np.shares_memory(pullback(y_bar)[1], y_bar)
    y, pullback = rrule(np.ravel, X)
    assert np.shares_memory(y, X)
    y, _ = rrule(np.ndarray.flatten, X)
    assert not np.shares_memory(y, X)
