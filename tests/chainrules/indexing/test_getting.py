import operator

import numpy as np
import pytest

from chainrules_core import rrule, unthunk
from chainrules_core.operations.scattering import may_repeat, scatter, scatter_into, single_axis
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import COMPLEX, REAL

V = REAL.draw(5, rng=1)
X = REAL.draw((3, 4), rng=2)
X32 = REAL.draw((3, 4), np.float32, rng=3)
Z = COMPLEX.draw((3, 4), rng=4)
T = REAL.draw((2, 3, 4), rng=5)
STRIDED = REAL.draw((6, 8), rng=6)[::2, ::-2]
POINT = np.array(1.5)
EMPTY = np.zeros((0, 4))
MASK = np.array([True, False, True])
MASKS = X > 0
I = np.array([0, 2, 2, -1])  # noqa: E741
J = np.array([[0, 1], [1, 1]])
new, dots = np.newaxis, Ellipsis
S = np.s_

BASIC = [
    (V, 2), (V, -1), (V, np.int64(3)), (V, S[1:4]), (V, S[::-1]), (V, S[4:0:-2]), (V, S[7:]),
    (V, new), (V, dots), (V, S[new, :, new]), (V, ()),
    (X, 1), (X, S[1, 2]), (X, S[-1, -2]), (X, S[:, 1]), (X, S[1:, ::2]), (X, S[dots, 0]),
    (X, S[0, dots]), (X, S[dots, 1, 2]), (X, S[:, new, 1]), (X, S[::-1, ::-1]), (X, ()),
    (T, S[1, :, 2]), (T, S[dots, new, 1]), (T, S[:, 1:2, -1]), (T, S[0, 1, 2]),
    (X32, S[1:, 0]), (Z, S[1]), (Z, S[0, 1]), (STRIDED, S[1:, 0]), (POINT, ()), (POINT, dots),
    (POINT, new), (EMPTY, S[:, 1]), (V, True), (V, False), (V, np.True_),
]  # fmt: skip
FANCY = [
    (V, I), (V, [0, 0, 1]), (V, J), (V, [[0, 1], [1, 1]]), (V, []), (V, np.array(2)), (V, range(3)),
    (V, I.astype(np.uint8) % 5), (V, (I,)), (V, S[I, new]), (V, np.array([], int)),
    (X, I[:3]), (X, J), (X, [2, 2, 0]), (X, S[:, I]), (X, S[dots, I]), (X, S[I, dots]),
    (X, S[I, 1]), (X, S[1, I]), (X, S[I, I]), (X, S[[0, 0], [1, 1]]), (X, ([0, 0], [1, 1])),
    (X, ((0, 0), (1, 1))), (X, S[(0, 0), :]), (X, S[J, 1:3]), (X, S[1:, J]), (X, S[J, new, J]),
    (X, S[[[0], [1]], [0, 3]]),
    (X, S[True, I % 3]), (X, S[I % 3, True, I]),
    (np.ones((300, 2)), np.array([0, 255, 0], np.uint8)),
    (X, np.ix_([0, 2], [1, 1])), (X, S[[0, 2]]), (X, S[:, [3, 0]]),
    (T, S[:, I % 3]), (T, S[1, I % 3, 1:]), (T, S[0, :, I]), (T, S[[0, 1], :, [1, 1]]),
    (T, S[:, :, I]), (T, S[:, J, :]), (T, S[dots, J]), (T, S[J]),
    (X32, S[I % 3]), (X32, S[:, I]), (Z, S[I % 3]), (Z, S[:, I]), (STRIDED, S[:, I]),
    (EMPTY, S[:, I]),
]  # fmt: skip
MASKED = [
    (V, V > 0), (V, [True, False, True, True, False]), (V, np.zeros(5, bool)),
    (X, MASK), (X, MASKS), (X, S[MASK, 1]), (X, S[:, X[0] > 0]), (X, S[MASK, dots]),
    (X, S[MASK, [1, 1]]), (X, S[MASK, new, 1:]), (T, S[:, MASK]), (T, S[:, MASKS]),
    (Z, MASKS), (X32, MASK), (POINT, True), (POINT, np.array(False)),
]  # fmt: skip


@pytest.mark.parametrize("x, index", BASIC + FANCY + MASKED)
def test_rule(x, index):
    check_rule(operator.getitem, x, index)


@pytest.mark.parametrize("x, index", [(x, i) for x, i in FANCY + MASKED + BASIC if x.dtype != "f4"])
def test_scatter(x, index):
    y_bar = REAL.draw(np.shape(x[index]))
    check_rule(scatter, y_bar, index, x.shape, x.dtype)


@pytest.mark.parametrize("x, index", BASIC + FANCY + MASKED)
def test_in_place_is_the_same(x, index):
    rule, args, kwargs = rrule.resolve(operator.getitem, (x, index), {})
    y, pull = rule.record(args, kwargs, (0,))
    (bar,) = pull(np.ones_like(y))
    buffer = np.ones_like(x)
    bar.add_into(buffer)
    expected = np.ones_like(x)
    np.add.at(expected, index, 1)
    assert np.array_equal(buffer, expected)
    assert np.array_equal(1 + unthunk(bar), expected)


@pytest.mark.parametrize("shape, axis", [((6,), 0), ((6, 3), 0), ((3, 6), 1), ((2, 6, 3), 1)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, complex])
def test_scatter_along_one_axis(shape, axis, order, dtype):
    """Every way through the fast form: flat, without repeats, not contiguous, cast."""
    for indices in ([0, 5, 3], [1, 1, -1, 5], [[0, 5], [0, -6]]):
        index = (slice(None),) * axis + (np.array(indices),)
        buffer = np.zeros(shape, dtype, order=order)
        y_bar = COMPLEX.draw(buffer[index].shape)
        expected = np.zeros(shape, dtype)
        np.add.at(expected, index, y_bar if dtype is complex else np.real(y_bar))
        scatter_into(buffer, y_bar, None, index)
        np.testing.assert_allclose(buffer, expected, rtol=1e-6)


def test_which_indices_repeat():
    assert not any(may_repeat(index) for _, index in BASIC)
    assert all(may_repeat(i) for i in (I, [0], S[:, [0]], ((0, 0),), range(2), np.array(1)))
    assert not any(may_repeat(i) for i in (MASK, (MASK, 1), (dots, MASK), True, np.True_))


def test_which_indices_are_along_one_axis():
    assert single_axis(I, 2)[1] == 0
    assert single_axis(S[:, I], 2)[1] == 1
    assert single_axis(S[dots, I], 3)[1] == 2
    assert single_axis(S[I, dots], 3)[1] == 0
    assert all(single_axis(i, 2) is None for i in (S[I, I], S[1:, I], S[new, I], S[1, I], MASK))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[1],
        lambda x: x[1, 2] * x[0],
        lambda x: x[::-1, 1:],
        lambda x: x[:, None, ..., 0],
        lambda x: x[[0, 2, 2]],
        lambda x: x[:, [0, 0, 3]],
        lambda x: x[[0, 0, 1], [1, 1, 2]],
        lambda x: x[x > 0],
        lambda x: x[np.array([True, False, True]), 1:],
        lambda x: x[np.ix_([0, 2], [1, 1])],
        lambda x: tuple(x[i, j] for i in range(3) for j in (0, 0, 2)),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X)
