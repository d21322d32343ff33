import numpy as np
import pytest

from chainrules.indexing.taking import scatter_along
from chainrules_core import rrule, unthunk
from chainrules_core.operations.scattering import scatter_along_into
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import COMPLEX, REAL
from tests.helpers import case

V = REAL.draw(5, rng=1)
X = REAL.draw((3, 4), rng=2)
X32 = REAL.draw((3, 4), np.float32, rng=3)
Z = COMPLEX.draw((3, 4), rng=4)
T = REAL.draw((2, 3, 4), rng=5)
STRIDED = REAL.draw((6, 8), rng=6)[::2, ::-2]
POINT = np.array(1.5)
I = np.array([0, 2, 2, -1])  # noqa: E741
FAR = [-7, 9, 1, 4]
MASK = [True, False, True]
ORDER = np.argsort(X, axis=1)


TAKE = [
    case(np.take, V, I),
    case(np.take, V, 2),
    case(np.take, np.array(1.5), [0, 0], 0),
    case(np.take, np.array(1.5), 0, -1),
    case(np.take, X, I),
    case(np.take, X, [[0, 11], [0, 5]]),
    case(np.take, X, I % 3, 0),
    case(np.take, X, I, axis=-1),
    case(np.take, X, 1, axis=1),
    case(np.take, T, [[0, 1], [1, 1]], axis=1),
    case(np.take, a=T, indices=(3, 0), axis=2),
    case(np.take, V, FAR, mode="wrap"),
    case(np.take, V, FAR, mode="clip"),
    case(np.take, X, FAR, axis=1, mode="wrap"),
    case(np.take, X, FAR, axis=0, mode="clip"),
    case(np.take, X, np.array([], int), axis=0),
    case(np.take, X32, I, axis=1),
    case(np.take, Z, I, axis=1),
    case(np.take, STRIDED, I, axis=1),
    case(np.take, POINT, 0),
    case(np.take, 1.5, [0, 0]),
]
ALONG = [
    case(np.take_along_axis, X, ORDER, 1),
    case(np.take_along_axis, X, ORDER, axis=-1),
    case(np.take_along_axis, X, np.array([[0, 0, 2]]).T, 1),
    case(np.take_along_axis, X, np.array([[0, 0, 2, -1], [0, 0, 1, 1]]), 0),
    case(np.take_along_axis, X, np.array([[1, 0]]), axis=1),
    case(np.take_along_axis, X, np.array([5, 5, 0, -1]), axis=None),
    case(np.take_along_axis, T, np.zeros((2, 1, 4), int), axis=1),
    case(np.take_along_axis, T[:, :1], np.zeros((1, 3, 2), int), axis=2),
    case(np.take_along_axis, Z, ORDER, 1),
    case(np.take_along_axis, X32, ORDER, 1),
]
COMPRESS = [
    case(np.compress, MASK, X, 0),
    case(np.compress, [True], np.array(1.5), -1),
    case(np.compress, MASK, X, axis=1),
    case(np.compress, MASK, X),
    case(np.compress, np.array([1, 0, 1, 1]), a=X, axis=-1),
    case(np.compress, [False], V),
    case(np.compress, MASK, Z, axis=0),
    case(np.compress, MASK, X32, axis=0),
    case(np.extract, X > 0, X),
    case(np.extract, MASK, V),
    case(np.extract, condition=[[1, 0], [0, 1]], arr=X),
    case(np.extract, Z.real > 0, Z),
]
ITEM = [
    case(np.ndarray.item, X, 5),
    case(np.ndarray.item, X, -1),
    case(np.ndarray.item, X, 1, 2),
    case(np.ndarray.item, X, (1, -2)),
    case(np.ndarray.item, POINT),
    case(np.ndarray.item, np.ones((1, 1))),
    case(np.ndarray.item, Z, 3),
    case(np.ndarray.item, X32, 3),
]


@pytest.mark.parametrize("f, args, kwargs", TAKE + ALONG + COMPRESS + ITEM)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("indices", [[0, 1], [1, 1], [[0, 1], [1, 1]]])
def test_scatter_along(axis, indices):
    y_bar = np.take(X, indices, axis)
    check_rule(scatter_along, y_bar, indices, axis, (3, 4), np.dtype(float))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("options", [{}, {"axis": 0, "mode": "wrap"}, {"axis": 1, "mode": "clip"}])
def test_take_into_a_buffer(options, order):
    rule, args, kwargs = rrule.resolve(np.take, (X, [0, 2, 2]), options)
    y, pull = rule.record(args, kwargs, (0,))
    buffer = np.ones((3, 4), order=order)
    (bar,) = pull(np.ones_like(y))
    bar.add_into(buffer)
    assert np.array_equal(buffer, 1 + unthunk(bar))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.take(x, [0, 2, 2], axis=1),
        lambda x: x.take([0, 5, 5]),
        lambda x: np.take_along_axis(x, np.array([[0, 0], [1, 2], [3, 3]]), 1),
        lambda x: np.compress(MASK, x, axis=0),
        lambda x: np.extract(x > 0, x),
        lambda x: x.item(3) * x,
        lambda x: x.item(1, 2) * x,
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X)


WIDE = REAL.draw((5, 70), rng=11)
SEVERAL = [
    [0, 1, 2, 3],  # no repeats
    [0, 2, 2, 4],  # layers
    [4, 4, -1, 0, -5, 2],
    [3] * 12,  # one by one or flat
    [],
]


@pytest.mark.parametrize("indices", SEVERAL, ids=str)
@pytest.mark.parametrize("width", [1, 3, 70, 300])
@pytest.mark.parametrize("dtype", [float, np.float32, complex])
def test_slices_of_any_width_add_up(indices, width, dtype):
    rng = np.random.default_rng(0)
    indices = np.array(indices, int)
    y_bar = rng.integers(-9, 9, (len(indices), width)).astype(dtype)
    expected = np.zeros((5, width), dtype)
    np.add.at(expected, indices, y_bar)
    found = scatter_along(y_bar, indices, 0, (5, width), dtype)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    buffer = np.ones((5, width), dtype)
    assert scatter_along_into(buffer, y_bar, indices, 0) is buffer
    np.testing.assert_array_equal(buffer, expected + 1)
    turned = scatter_along(y_bar.T.copy(), indices, 1, (width, 5), dtype)
    np.testing.assert_array_equal(turned, expected.T)


@pytest.mark.parametrize("indices", SEVERAL, ids=str)
def test_wide_slices(indices):
    check_rule(np.take, WIDE, np.array(indices, int), 0)
