import numpy as np
import pytest

import autodiff
from chainrules_core import NoTangent, ZeroTangent, frule, rrule, unthunk
from chainrules_core.testing import COMPLEX, NONZERO, POSITIVE, REAL, check_rule
from tests.helpers import case

V = REAL.draw(5, rng=1)
X = REAL.draw((2, 3, 4), rng=2)
X32 = REAL.draw((3, 4), np.float32, rng=3)
Z = COMPLEX.draw((3, 4), rng=4)
Z64 = COMPLEX.draw((2, 3), np.complex64, rng=5)
STRIDED = REAL.draw((4, 6), rng=6)[::2, ::-2]
F = np.asfortranarray(X32)
EMPTY = np.zeros((0, 3))
POINT = np.array(1.5)
GAPS = np.where(REAL.draw((3, 4), rng=7) > 1, np.nan, REAL.draw((3, 4), rng=8))
W = POSITIVE.draw((3, 4), rng=9)
MASK = np.array([[True, False, True, True], [False, False, True, False], [True] * 4])
ROW = np.array([True, False, True, True])


SUMS = [
    line
    for f in (np.sum, np.mean, np.nansum, np.nanmean)
    for line in (
        case(f, V),
        case(f, X),
        case(f, X, 0),
        case(f, X, axis=-1),
        case(f, X, (0, 2)),
        case(f, a=X, axis=(1, -3)),
        case(f, X, axis=()),
        case(f, X, 1, None, None, True),
        case(f, X, keepdims=True),
        case(f, X, axis=(0, 1), keepdims=True),
        case(f, X, axis=1, keepdims=np._NoValue),
        case(f, X32),
        case(f, X32, axis=0),
        case(f, X32, axis=0, dtype=float),
        case(f, X32, dtype=complex),
        case(f, V, dtype=np.float32),
        case(f, Z),
        case(f, Z, 1),
        case(f, Z64, 0, keepdims=True),
        case(f, STRIDED, 1),
        case(f, STRIDED.T, 0),
        case(f, F, 1),
        case(f, POINT),
        case(f, 2.5),
        case(f, np.float32(2.5)),
        case(f, 2.5, axis=None, keepdims=True),
        case(f, W, where=MASK),
        case(f, W, axis=1, where=MASK),
        case(f, W, axis=0, where=MASK, keepdims=True),
        case(f, W, axis=1, where=ROW),
        case(f, X, axis=1, where=np.array([[True], [False], [True]])),
        case(f, Z, where=MASK),
        case(f, X32, 1, where=MASK),
    )
]
INITIAL = [
    case(f, x, axis, None, None, keepdims, initial, where)
    for f in (np.sum, np.nansum)
    for x, axis, keepdims, initial, where in (
        (X, None, False, 1.5, True),
        (X, (0, 2), True, 1.5, True),
        (X, 1, np._NoValue, np._NoValue, True),
        (W, 1, False, 1.5, MASK),
        (Z, 0, False, 1.5 + 1j, True),
        (X32, 0, False, np.float32(1.5), True),
        (2.5, None, False, 1.5, True),
        (X, 0, False, 2, True),
    )
]
GAPPY = [
    case(f, GAPS, **kwargs)
    for f in (np.nansum, np.nanmean)
    for kwargs in ({}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": 0, "where": W > 0.5})
] + [
    case(np.nansum, GAPS + 1j * GAPS, 0),
    case(np.nanmean, GAPS.astype(np.float32), 0),
]
NONE = [
    case(np.sum, EMPTY),
    case(np.sum, EMPTY, 0),
    case(np.sum, EMPTY, 1, keepdims=True),
    case(np.mean, EMPTY, 1),
    case(np.nansum, EMPTY, 0),
]
AVERAGE = [
    case(np.average, X),
    case(np.average, X, 1),
    case(np.average, X, axis=(0, 2), keepdims=True),
    case(np.average, a=Z, axis=0),
    case(np.average, W, None, NONZERO.draw((3, 4), rng=10)),
    case(np.average, W, 1, REAL.draw((3, 4), rng=11) + 2),
    case(np.average, W, 0, POSITIVE.draw(3, rng=12)),
    case(np.average, X, 2, POSITIVE.draw(4, rng=12), True),
    case(np.average, X, (2, 0), POSITIVE.draw((4, 2), rng=13)),
    case(np.average, X, (0, 2), POSITIVE.draw((2, 4), rng=13), True, keepdims=True),
    case(np.average, Z, 1, POSITIVE.draw(4, rng=14), True),
    case(np.average, Z, None, COMPLEX.draw((3, 4), rng=15)),
    case(np.average, X32, 0, POSITIVE.draw(3, np.float32, rng=16)),
    case(np.average, X32, 0, POSITIVE.draw(3, rng=16), True),
    case(np.average, V, None, [1.0, 2.0, 0.5, 0.0, 1.0]),
    case(np.average, [1.0, 2.0], None, POSITIVE.draw(2, rng=17)),
    case(np.average, [[1.0, 2.0], [3.0, 5.0]], 0, (2.0, 1.0), True),
    case(np.average, [1, 2], None, POSITIVE.draw(2, rng=17)),
    case(np.average, V, None, None, True),
    case(np.average, V, returned=True),
    case(np.average, V, weights=np.array([1, 2, 3, 1, 2])),
]


@pytest.mark.parametrize("f, args, kwargs", SUMS + INITIAL + GAPPY + NONE + AVERAGE)
def test_rule(f, args, kwargs):
    second = not any(type(a) in (list, tuple) for a in (*args, *kwargs.values()))
    check_rule(f, *args, fkwargs=kwargs, second_order=second, gradient=autodiff.gradient)


def test_the_cotangent_of_a_sum_is_a_view_of_one_number():
    for axis, y_bar in [(None, 2.0), (0, np.ones(300)), (1, np.ones(200))]:
        x_bar = unthunk(rrule(np.sum, np.ones((200, 300)), axis=axis)[1](y_bar)[1])
        assert x_bar.shape == (200, 300)
        assert 0 in x_bar.strides
        assert not x_bar.flags.writeable


@pytest.mark.parametrize(
    "f",
    [np.sum, np.nansum, np.mean, np.cumsum, np.nancumsum, np.cumulative_sum, np.prod, np.cumprod],
)
def test_a_sum_in_integers_is_a_step(f):
    x = np.array([0.5, 1.5])
    assert rrule(f, x, dtype=int)[1](np.ones(np.shape(f(x))))[1] is ZeroTangent()
    assert frule((NoTangent(), x), f, x, dtype=int)[1] is ZeroTangent()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.sum(),
        lambda x: x.sum(axis=0),
        lambda x: x.sum(1, keepdims=True),
        lambda x: x.mean(axis=(0, 1)),
        lambda x: np.sum(x * x, where=MASK, axis=0),
        lambda x: np.sum(x, initial=x[0, 0]),
        lambda x: np.average(x, weights=x * x),
        lambda x: np.average(x, axis=0, weights=x[:, 0] ** 2, returned=True),
        lambda x: x.sum(dtype=np.float32),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, NONZERO.draw((3, 4)))


def test_engine_writes_into_out():
    def f(x):
        out = np.zeros_like(x[0])
        np.sum(x, axis=0, out=out)
        return np.sum(out * out)

    assert autodiff.gradient(f, np.array([[1.0, 2.0], [3.0, 4.0]])).tolist() == [[8, 12], [8, 12]]
