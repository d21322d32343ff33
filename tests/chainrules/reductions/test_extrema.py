import numpy as np
import pytest

import autodiff
from chainrules.reductions.fast_extrema import placed
from chainrules_core import NoTangent, frule, rrule, unthunk
from chainrules_core.testing import COMPLEX, REAL, check_rule
from tests.helpers import case

V = REAL.draw(5, rng=1)
X = REAL.draw((2, 3, 4), rng=2)
X32 = REAL.draw((3, 4), np.float32, rng=3)
Z = COMPLEX.draw((3, 4), rng=4)
STRIDED = REAL.draw((4, 6), rng=6)[::2, ::-2]
LONG = REAL.draw((3, 200), rng=7)  # few ties for many elements
GAPS = np.where(REAL.draw((3, 4), rng=8) > 1, np.nan, REAL.draw((3, 4), rng=9))
MASK = np.array([[True, False, True, True], [False, False, True, False], [True] * 4])


EXTREMA = [
    line
    for f in (np.max, np.min, np.amax, np.amin, np.nanmax, np.nanmin, np.ptp)
    for line in (
        case(f, V),
        case(f, X),
        case(f, X, 0),
        case(f, a=X, axis=-1),
        case(f, X, (0, 2)),
        case(f, X, axis=(2, 0), keepdims=True),
        case(f, X, 1, None, True),
        case(f, X32),
        case(f, X32, 1),
        case(f, Z),
        case(f, Z, 1),
        case(f, STRIDED, 1),
        case(f, V[:1]),
        case(f, np.array(1.5)),
        case(f, 2.5),
        case(f, np.zeros((0, 3)), 1),
        case(f, LONG),
        case(f, LONG, 1),
        case(f, LONG, 1, keepdims=True),
        case(f, LONG.T, 0),
        case(f, LONG.reshape(3, 2, 100), (0, 2)),
        case(f, LONG.astype(np.float32), 1),
    )
]
PLACED = [
    case(placed, V, np.array([3, 0, 7, 1, 2]), (2, 4)),
    case(placed, 1.5, np.array([3, 0]), (6,)),
    case(placed, Z[0], np.array([3, 0, 1, 2]), (4,)),
]
PARTLY = [
    case(f, x, axis, None, keepdims, sign * initial, where)
    for f, sign in ((np.max, 1), (np.min, -1), (np.nanmax, 1), (np.nanmin, -1), (np.amax, 1))
    for x, axis, keepdims, initial, where in (
        (X, 1, False, -9.0, True),
        (X, 1, False, 0.25, True),
        (X, None, False, 9.0, True),
        (X, (0, 2), True, 0.25, True),
        (X[0], 1, False, 0.25, MASK),
        (X[0], None, False, -9.0, MASK),
        (X32, 0, True, np.float32(0.25), MASK),
        (LONG, 1, False, 0.25, LONG > -1),
        (X, 1, False, -9, True),
    )
] + [
    case(np.max, X, 1, None, np._NoValue, np._NoValue),
    case(np.nanmax, GAPS),
    case(np.nanmax, GAPS, 0),
    case(np.nanmin, GAPS, 1, keepdims=True),
    case(np.nanmin, GAPS, 1, initial=9.0, where=MASK),
]


@pytest.mark.parametrize("f, args, kwargs", EXTREMA + PARTLY + PLACED)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs, second_order=True, gradient=autodiff.gradient)


@pytest.mark.parametrize("n", [1, 2, 3, 500])
@pytest.mark.parametrize(
    "f, sign",
    [(np.max, 1), (np.min, -1), (np.nanmax, 1), (np.maximum.reduce, 1), (np.fmin.reduce, -1)],
)
def test_ties_share(f, sign, n):
    """Alone, with few and with many others that are neither largest nor smallest."""
    for m in (0, 1, 1000):
        x = np.append(np.full(n, 2.0 * sign), np.zeros(m))
        x_bar = unthunk(rrule(f, x)[1](6.0)[1])
        assert x_bar.tolist() == [6.0 / n] * n + [0.0] * m


@pytest.mark.parametrize("axis", [0, 1])
def test_a_tie_and_a_nan_do_not_make_up_for_each_other(axis):
    """Then as many elements tie as there are results."""
    x = np.tile(np.arange(5000.0), (2, 1))
    x[0, 7], x[1, 8] = np.nan, 4999.0
    x = x if axis == 1 else np.ascontiguousarray(x.T)
    bar = unthunk(rrule(np.max, x, axis=axis)[1](np.array([3.0, 5.0]))[1])
    expected = np.zeros((2, 5000))
    expected[0, 7], expected[1, [8, 4999]] = 3.0, 2.5
    np.testing.assert_array_equal(bar, expected if axis == 1 else expected.T)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 1), (1, 2), (0, 2), (0, 1, 2), ()])
@pytest.mark.parametrize("f", [np.max, np.nanmin, np.ptp])
def test_large_arrays(f, axis):
    """Each result is one of many elements: all forms of axes."""
    x = REAL.draw((20, 24, 30), rng=10)
    options = {"axis": axis, "keepdims": True}
    if f is np.ptp and axis == ():
        return
    y, pullback = rrule(f, x, **options)
    y_bar = REAL.draw(np.shape(y), rng=11)
    hits = [(y_bar, np.equal(x, y))]
    if f is np.ptp:
        low, high = np.min(x, **options), np.max(x, **options)
        hits = [(y_bar, np.equal(x, high)), (-y_bar, np.equal(x, low))]
    expected = sum(np.where(hit, bar, 0) for bar, hit in hits)
    np.testing.assert_array_equal(unthunk(pullback(y_bar)[1]), expected)
    x_dot = REAL.draw(x.shape, rng=12)
    y_dot = frule((NoTangent(), x_dot), f, x, **options)[1]
    signs = [1, -1]
    moved = sum(
        s * np.sum(np.where(hit, x_dot, 0), **options)
        for s, (_, hit) in zip(signs, hits, strict=False)
    )
    np.testing.assert_allclose(y_dot, moved, rtol=1e-12)
    flat = frule((NoTangent(), x_dot), f, x, axis=axis)[1]
    assert np.shape(flat) == np.shape(f(x, axis=axis))
    np.testing.assert_array_equal(np.ravel(flat), np.ravel(y_dot))


@pytest.mark.parametrize("axis", [0, 1])
def test_ties_in_a_large_square(axis):
    """Rows and columns are as long; some results tie, and one is NaN."""
    x = np.round(REAL.draw((90, 90), rng=13), 2)
    x[3, 4] = np.nan
    y_bar = REAL.draw(90, rng=14)
    along = np.moveaxis(x, axis, 0)
    gaps = np.isnan(along)
    hits = np.where(gaps.any(0), gaps, along == along.max(0))
    expected = np.moveaxis(hits * y_bar / hits.sum(0), 0, axis)
    bar = unthunk(rrule(np.max, x, axis=axis)[1](y_bar)[1])
    np.testing.assert_allclose(bar, expected, rtol=1e-15)


def test_ptp_has_numpys_value():
    for axis in (None, 0, 1):
        assert np.array_equal(rrule(np.ptp, X32, axis=axis)[0], np.ptp(X32, axis=axis))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.max(),
        lambda x: x.min(axis=0),
        lambda x: x.max(1, keepdims=True),
        lambda x: np.ptp(x, axis=0),
        lambda x: x - x.max(axis=1, keepdims=True),
        lambda x: np.max(x, initial=x[0, 0] ** 2),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X[0])
