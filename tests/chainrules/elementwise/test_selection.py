import numpy as np
import pytest

import autodiff
from chainrules_core import rrule
from chainrules_core.define.bits import where_true
from chainrules_core.testing import COMPLEX, NONZERO, REAL, check_rule, const

SHAPES = [((), ()), ((3,), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((0,), ())]
EXTREMA = [np.maximum, np.minimum, np.fmax, np.fmin]
X = np.array([-2.0, -0.3, 0.4, 1.7])
X32 = X.astype(np.float32)
MASK = np.array([True, False, True, False])
INDEX = np.array([0, 1, 1, 0])


@pytest.mark.parametrize("f", EXTREMA)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_extrema(f, shapes):
    check_rule(f, REAL.draw(shapes[0]), REAL.draw(shapes[1]))


@pytest.mark.parametrize("f", EXTREMA)
def test_extrema_in_other_forms(f):
    check_rule(f, X32, X32[::-1] + np.float32(0.1))
    check_rule(f, X, 0)
    check_rule(f, COMPLEX.draw(3), COMPLEX.draw(3))


@pytest.mark.parametrize("f", EXTREMA)
def test_extrema_rounded_to_less_precision(f):
    a, b = np.array([0.3, 0.7, 0.2]), np.array([0.1, 0.9, 0.2])
    found = rrule(f, a, b, dtype=np.float32)[1](np.ones(3, np.float32))
    largest = f(a, b) == a
    np.testing.assert_array_equal(found[1], np.where(a == b, 0.5, largest))
    np.testing.assert_array_equal(found[2], np.where(a == b, 0.5, ~largest))


def test_heaviside():
    check_rule(np.heaviside, const(np.array([-1.0, 0.0, 2.0])), REAL.draw(3))
    check_rule(np.heaviside, NONZERO.draw((2, 1)), REAL.draw(3))


@pytest.mark.parametrize("shapes", [((4,), (4,)), ((), (4,)), ((2, 1), (4,)), ((), ())], ids=str)
@pytest.mark.parametrize("domain", [REAL, COMPLEX], ids=str)
def test_where(shapes, domain):
    check_rule(np.where, MASK, domain.draw(shapes[0]), REAL.draw(shapes[1]))
    check_rule(np.where, True, domain.draw(shapes[0]), REAL.draw(shapes[1]))


def test_where_in_other_forms():
    check_rule(np.where, MASK, X32, 2 * X32)
    check_rule(np.where, np.zeros(0, bool), REAL.draw((2, 1)), 1.5)
    check_rule(np.where, const([True, False, True, True]), X, 0)
    check_rule(np.where, MASK[:, None], X, X[:, None])
    (indices,), _ = rrule(np.where, X)
    assert indices.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "args",
    [
        (X, -1.0, 1.0),
        (X, -1, 1),
        (X, 1.0, -1.0),
        (X, None, 1.0),
        (X, -1.0, None),
        (X, np.array([-1.0, 0, 0.5, 0]), np.array([1.0, 0.2, 0.7, 0.5])),
        (X[:, None], -1.0, np.array([1.0, 0.5])),
        (X, X[::-1] - 1.05, 1.0),
        (0.3, 0.0, 1.0),
        (X32, np.float32(-1), np.float32(1)),
        (np.zeros((0, 2)), 0.0, 1.0),
        (0.3, X, 2.0),
    ],
)
def test_clip(args):
    check_rule(np.clip, *args)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.clip(x, min=-1.0) * x,
        lambda x: np.clip(x, max=x[1]) * x,
        lambda x: np.clip(x, min=x[1], max=1.0) * x,
        lambda x: np.clip(x, a_min=x[1], a_max=x[2]) * x,
        lambda x: np.clip(x, x[1], None) * x,
        lambda x: x.clip(x[1], x[2]) * x,
        lambda x: x.clip(max=0.3) * x,
        lambda x: np.clip(x[0], x[1], x[2]) * x,
    ],
)
def test_clip_by_name(f, check_engine):
    check_engine(f, X)


def test_nan_to_num():
    check_rule(np.nan_to_num, X, fkwargs={"nan": 3.0, "posinf": 1.0})
    check_rule(np.nan_to_num, X32)
    assert rrule(np.nan_to_num, X, copy=False) is None  # it writes into X


@pytest.mark.parametrize("holes", [[np.nan, np.inf, -np.inf, 0.3], [0.1, np.nan, np.nan, np.inf]])
@pytest.mark.parametrize("kind", [float, complex])
def test_what_nan_to_num_fills_holes_with(holes, kind, check_engine):
    x = np.array(holes, kind)
    if kind is complex:
        x.imag = holes[::-1]
    w = np.arange(1.0, 5.0)

    def of_numbers(fills):
        return np.abs(np.nan_to_num(x, nan=fills[0], posinf=fills[1], neginf=fills[2])) * w

    def of_arrays(fills):
        return np.abs(np.nan_to_num(x, True, fills, fills * 2.0, posinf)) * w

    posinf = -1.5
    check_engine(of_numbers, np.array([0.5, 3.0, -2.0]))
    check_engine(of_arrays, np.array([0.5, 3.0, -2.0, 0.7]))


def test_nan_to_num_without_a_copy_writes(check_engine):
    def f(x):
        y = np.log(x) * 1.0
        z = np.nan_to_num(y, copy=False)
        return w * y * y + z

    w, x = np.array([1.0, 2.0, 3.0]), np.array([2.0, -1.0, 3.0])
    with np.errstate(invalid="ignore"):
        check_engine(f, x)


@pytest.mark.parametrize(
    "args",
    [
        ([X > 1, X > 0], [X, 2 * X], 7.0),
        ([X > 1, X > 0], [X, 2 * X]),
        ([X > 1, X > 0], [X, 5.0], np.arange(4.0)),
        ([X > 1, X > 0], (X, X + 1j)),
        ([X > 1], [X32], np.float32(2)),
        ([X[:, None] > X, X > 0], [X, X[:, None]], 1.0),
    ],
)
def test_select(args):
    check_rule(np.select, *args)


@pytest.mark.parametrize(
    "index, choices, mode",
    [
        (INDEX, [X, 2 * X], "raise"),
        (INDEX, np.stack([X, 2 * X]), "raise"),
        (INDEX, (X, 3.0), "raise"),
        (np.array([0, 1, 5, -1]), [X, 3.0], "clip"),
        (np.array([0, 1, 5, -1]), np.stack([X, 3 * X]), "wrap"),
        (np.array([[0], [1]]), [X, 3.0], "raise"),
        (INDEX, [X32, 2 * X32], "raise"),
        (INDEX, [X + 1j, X], "raise"),
        (INDEX, [X.tolist(), (2 * X).tolist()], "raise"),
    ],
)
def test_choose(index, choices, mode):
    check_rule(np.choose, index, choices, fkwargs={"mode": mode})


ENGINE = [
    lambda x: np.maximum(x, x[::-1] * 1.1) * x,
    lambda x: np.minimum(x[0], x[1]) * x,
    lambda x: np.fmax(x, 0.1) * x,
    lambda x: np.fmin(np.where(x > 0, np.nan, x), x) * x,
    lambda x: np.maximum(x, [0.0, 1.0, 0.0, 2.0]) * x,
    lambda x: np.where(x > 0, x * x, np.sin(x)),
    lambda x: np.where([True, False, False, True], x[0], x) * x,
    lambda x: np.select([x > 1, x > 0], [x * x, np.sin(x)], x[0] * x[1]),
    lambda x: np.select([x > 1, x > 0], [x * x, 2.0]) * x,
    lambda x: np.choose([0, 1, 1, 0], [x * x, np.sin(x)]),
    lambda x: np.choose([0, 1, 1, 0], np.stack([x * x, np.sin(x)])),
    lambda x: np.heaviside([0.0, 1.0, 0.0, 2.0], x) * x,
    lambda x: np.piecewise(x, [x < 0, x > 1], [np.square, np.sin, lambda z: z**3]),
    lambda x: np.piecewise(x, [x < 0], [lambda z, a: a * z, 3.0], 2.0) * x,
    lambda x: np.piecewise(x, x < 0, [np.exp, np.sin]),
    lambda x: np.piecewise(x[0], [x[0] < 0], [np.exp, np.sin]) * x,
]


@pytest.mark.parametrize("f", ENGINE)
def test_engine(f, check_engine):
    check_engine(f, X)


def test_where_alone_gives_indices():
    def total(x):
        (indices,) = np.where(x > 0)
        return np.sum(x[indices])

    assert autodiff.gradient(total, X).tolist() == [0, 0, 1, 1]


def test_piecewise_with_a_wrong_number_of_functions():
    with pytest.raises(ValueError, match="1 condition"):
        autodiff.gradient(lambda x: np.sum(np.piecewise(x, [x > 0], [1, 2, 3])), X)


@pytest.mark.parametrize(
    "mask, t, expected",
    [
        ([True, False], [2.0, 3.0], [2, 0]),
        ([True, False], [2.0, np.inf], [2, 0]),
        ([True, False], [np.nan, np.nan], [np.nan, 0]),
        ([[True], [False]], [2.0, -np.inf], [[2, -np.inf], [0, 0]]),
        ([True, False], [1j, np.inf * 1j], [1j, 0]),
        ([False], np.float32([2]), [0]),
        (True, [2.0], [2]),
    ],
)
def test_where_true(mask, t, expected):
    with np.errstate(all="ignore"):
        found = where_true(np.array(mask), np.array(t))
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.array(t).dtype


EXTREMA = [
    # f, a, b, the cotangents of a and b for ȳ = 10, 100, 1000
    (np.maximum, [1.0, 2.0, 3.0], [0.0, 5.0, 1.0], [10, 0, 1000], [0, 100, 0]),
    (np.minimum, [1.0, 2.0, 3.0], [0.0, 5.0, 1.0], [0, 100, 0], [10, 0, 1000]),
    (np.maximum, [1.0, 2.0, 3.0], [1.0, 5.0, 1.0], [5, 0, 1000], [5, 100, 0]),
    (np.maximum, [np.nan, 2.0, 3.0], [0.0, 5.0, 1.0], [0, 0, 1000], [0, 100, 0]),
    (np.fmax, [np.nan, 2.0, 3.0], [0.0, 5.0, 1.0], [0, 0, 1000], [10, 100, 0]),
    (np.fmin, [1.0, 2.0, 3.0], [np.nan, np.nan, 1.0], [10, 100, 0], [0, 0, 1000]),
    (np.maximum, [1.0, 2.0, np.inf], [0.0, 5.0, np.inf], [10, 0, 500], [0, 100, 500]),
]


@pytest.mark.parametrize("f, a, b, a_bar, b_bar", EXTREMA)
def test_both_cotangents_of_extrema(f, a, b, a_bar, b_bar):
    found = rrule(f, np.array(a), np.array(b))[1](np.array([10.0, 100.0, 1000.0]))
    np.testing.assert_array_equal(found[1], a_bar)
    np.testing.assert_array_equal(found[2], b_bar)


def test_both_cotangents_of_a_quotient_where_the_divisor_is_zero():
    a, b = np.array([1.0, 2.0, 3.0]), np.array([2.0, 0.0, 0.0])
    with np.errstate(all="ignore"):
        _, a_bar, b_bar = rrule(np.divide, a, b)[1](np.array([4.0, 1.0, 0.0]))
    np.testing.assert_array_equal(a_bar, [2, np.inf, 0])
    np.testing.assert_array_equal(b_bar, [-1, -np.inf, 0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.clip(x, a_min=[0, 0, 0], a_max=1.5),
        lambda x: np.clip(x, [[0.0], [1.0]], None),
        lambda x: np.clip([0.3, 2.0, -1.0], [x[0], 0.5, 0.0], x[2]),
        lambda x: np.clip([x[0], 0.25], 0, x[2]),
    ],
)
def test_clip_of_lists(f, check_modes):
    check_modes(f, np.array([0.7, -1.3, 2.1]))


@pytest.mark.parametrize("size", [4, 4000])
def test_a_nan_does_not_change_what_others_get_from_clip(size):
    x = np.full(size, 0.3)
    x[:3] = -1.0, 2.0, 0.7
    alone = autodiff.gradient(lambda x: np.sum(np.clip(x, -1, 1)), x)
    x[3] = np.nan
    beside = autodiff.gradient(lambda x: np.sum(np.clip(x, -1, 1)), x)
    np.testing.assert_array_equal(beside[:3], alone[:3])
    np.testing.assert_array_equal(beside[:4], [0.5, 0.0, 1.0, 0.0])
