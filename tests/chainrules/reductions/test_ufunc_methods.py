import functools

import numpy as np
import pytest

import autodiff
from chainrules.reductions.folds import FoldError, weights
from chainrules.reductions.ufunc_methods import binary_ufuncs
from chainrules_core import NoTangent, frule, rrule, unthunk
from chainrules_core.testing import NONZERO, POSITIVE, REAL, RuleCheckError, check_rule

REORDERABLE = [
    np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp, np.logaddexp2,
    np.hypot,
]  # fmt: skip
IN_ORDER = [
    np.subtract, np.divide, np.arctan2, np.power, np.float_power, np.fmod, np.remainder,
    np.copysign, np.heaviside, np.nextafter, np.floor_divide,
]  # fmt: skip
COMPLEX = [np.add, np.multiply, np.subtract, np.divide, np.maximum]
MASK = np.array([[True, False, True, True], [False, False, True, False], [True] * 4])
ROW = np.array([True, False, True, True])


def draw(f, shape, dtype=float, rng=1):
    if f in (np.power, np.float_power):  # towers of powers grow quickly
        return (1 + POSITIVE.draw(shape, rng=rng) / 10).astype(dtype)
    return NONZERO.draw(shape, dtype, rng=rng)


def reduces_rightly(f):
    """Whether this NumPy does: on processors with AVX-512 it does not always."""
    x = [1.3, 1.2, 1.1, 1.4]
    return np.isclose(f.reduce(np.array(x)), functools.reduce(f, x))


WRONG = [f for f in IN_ORDER if not reduces_rightly(f)]


def check(f, *args, **kwargs):
    try:
        check_rule(f, *args, fkwargs=kwargs)
    except RuleCheckError as error:
        if f.__self__ not in WRONG or not isinstance(error.__cause__, FoldError):
            raise


def check_second(f, *args, **kwargs):
    check(f, *args, **kwargs)
    if f.__self__ not in WRONG:
        check_rule(f, *args, fkwargs=kwargs, second_order=True, gradient=autodiff.gradient)


def test_a_wrong_reduction_is_refused():
    """As where NumPy takes the first and the last element alone."""
    x = np.array([[1.3, 1.2, 1.1]])
    with pytest.raises(FoldError, match="one element after the other"):
        weights(np.power, x, np.power(x[:, :1], x[:, -1:]))


ROWS = np.array([[0.3, 0.4], [0.2, 0.6], [1.0, 2.0]])


@pytest.mark.parametrize("f", REORDERABLE + IN_ORDER)
def test_reduce(f):
    x = draw(f, (3, 4))
    check(f.reduce, x)
    check(f.reduce, x, 1)
    check_second(f.reduce, x, axis=-1, keepdims=True)
    check_second(f.reduce, x, 0, initial=1.3)
    check(f.reduce, x, 1, initial=1.3, keepdims=True)
    check(f.reduce, x[0])
    check(f.reduce, x[:1])
    check(f.reduce, x[::2, ::-1], 1)
    check(f.reduce, draw(f, (3, 4), np.float32), 1)
    check(f.reduce, draw(f, (3, 4), np.float32), 1, initial=np.float32(1.3))


@pytest.mark.parametrize("f", REORDERABLE)
def test_reduce_over_several_axes(f):
    x = draw(f, (2, 3, 4))
    check(f.reduce, x, None)
    check(f.reduce, x, (0, 2))
    check_second(f.reduce, x, axis=(2, 1), keepdims=True)
    check(f.reduce, x, (1, 2, 0))  # all of them, in another order


@pytest.mark.parametrize("f", REORDERABLE)
def test_reduce_where(f):
    x = draw(f, (3, 4))
    initial = {} if f.identity is not None else {"initial": 0.25}
    check_second(f.reduce, x, 1, where=MASK, **initial)
    check(f.reduce, x, 1, where=ROW, keepdims=True, **initial)
    check(f.reduce, x, None, where=MASK, initial=0.25)


@pytest.mark.parametrize("f", REORDERABLE + IN_ORDER)
def test_accumulate(f):
    x = draw(f, (3, 4), rng=2)
    check(f.accumulate, x)
    check(f.accumulate, x, 1)
    check_second(f.accumulate, x, axis=-1)
    check(f.accumulate, x[0])
    check(f.accumulate, x[:, :1], 1)
    check(f.accumulate, x[:0])
    check(f.accumulate, draw(f, (3, 4), np.float32), 1)


@pytest.mark.parametrize("f", REORDERABLE + IN_ORDER)
def test_reduceat(f):
    x = draw(f, (3, 5), rng=3)
    check(f.reduceat, x, [0, 2], 1)
    check(f.reduceat, x, [1, 2])
    check_second(f.reduceat, x, indices=np.array([0, 3, 1, 1, 4]), axis=1)
    check(f.reduceat, x[0], [2, 0, 3, 1])
    check(f.reduceat, x[0], [0])
    check(f.reduceat, draw(f, (3, 4), np.float32), [0, 2], 1)


@pytest.mark.parametrize("f", REORDERABLE + IN_ORDER)
def test_outer(f):
    a, b = draw(f, 3, rng=4), draw(f, (2, 2), rng=5)
    check_second(f.outer, a, b)
    check(f.outer, b, a)
    check(f.outer, a, 1.3)
    check(f.outer, 1.3, a)
    check(f.outer, a[:0], b)
    check(f.outer, a, b, dtype=float)
    check(f.outer, draw(f, 3, np.float32), draw(f, 2, np.float32))
    check_rule(f.outer, a, [1.2, 1.3])


@pytest.mark.parametrize("f", COMPLEX)
def test_complex(f):
    x = draw(f, (3, 4), complex, rng=6)
    check(f.reduce, x)
    check_second(f.reduce, x, 1, keepdims=True)
    check_second(f.accumulate, x, 1)
    check_second(f.reduceat, x, [0, 2, 1], 1)
    check(f.outer, x[0], x[1])
    check(f.outer, x[0], draw(f, 3))


def test_ldexp():
    check_rule(np.ldexp.outer, NONZERO.draw(3), np.array([1, 2, -1]))


def test_multiply_at_zeros():
    x = np.array([[1.5, 0.0, 2.0, 0.0], [0.0, 1.5, 2.5, 3.0], [0.5, 1.5, 2.5, 3.0]])
    for axis in (0, 1):
        check(np.multiply.reduce, x, axis)
        check(np.multiply.accumulate, x, axis)
        check_second(np.multiply.reduceat, x, [0, 1, 2], axis)
    check(np.multiply.reduce, x, None)


def test_hypot_at_zero():
    x = np.zeros((2, 3))
    assert rrule(np.hypot.reduce, x)[1](np.ones(3))[1].tolist() == np.zeros((2, 3)).tolist()


def test_logaddexp_of_infinities():
    x = np.array([-np.inf, 1.0, -np.inf])
    assert rrule(np.logaddexp.reduce, x)[1](2.0)[1].tolist() == [0, 2, 0]
    x = np.full(2, -np.inf)
    assert rrule(np.logaddexp.reduce, x)[1](2.0)[1].tolist() == [0, 0]


@pytest.mark.parametrize("f", [np.maximum, np.fmax])
def test_ties_share_a_running_extremum(f):
    x = np.array([1.0, 3.0, 3.0, 2.0, 3.0])
    y_bar = np.array([10.0, 6.0, 6.0, 6.0, 6.0])
    assert rrule(f.accumulate, x)[1](y_bar)[1].tolist() == [10, 14, 8, 0, 2]
    y_dot = frule((NoTangent(), np.array([1.0, 3.0, 5.0, 7.0, 1.0])), f.accumulate, x)[1]
    assert y_dot.tolist() == [1, 3, 4, 4, 3]
    assert rrule(f.reduceat, x, [0, 3])[1](np.array([6.0, 1.0]))[1].tolist() == [0, 3, 3, 0, 1]


def test_fmax_is_deaf_to_nan():
    x = np.array([np.nan, 1.0, np.nan, 2.0])
    assert rrule(np.fmax.reduce, x)[1](1.0)[1].tolist() == [0, 0, 0, 1]
    assert rrule(np.fmax.accumulate, x)[1](np.ones(4))[1].tolist() == [0, 2, 0, 1]


@pytest.mark.parametrize("f", binary_ufuncs())
def test_every_function_has_its_methods(f):
    """The methods of a function have rules if it has one, of the same kind."""
    constant = {r.kind for r in rrule.methods(f)} == {"non_differentiable"}
    methods = (f.reduce, f.accumulate, f.reduceat, f.outer)
    if f is np.ldexp:  # its second argument is an integer, so its result cannot be the next first
        methods = (f.outer,)
    for method in methods:
        for table in (rrule, frule):
            rules = table.methods(method)
            assert bool(rules) == bool(table.methods(f))
            # An element with nothing before it is returned as it is, also by floor_divide.
            is_constant = constant and (f is not np.floor_divide or method == f.outer)
            assert is_constant == ({r.kind for r in rules} == {"non_differentiable"})


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.add.reduce(x, axis=1),
        lambda x: np.maximum.reduce(x, axis=(0, 1)),
        lambda x: np.logaddexp.reduce(x, axis=0),
        lambda x: np.multiply.outer(x[0], x[1]),
        lambda x: np.subtract.outer(x[0], x[0]),
        lambda x: np.add.reduceat(x, [0, 2], axis=1),
        lambda x: np.multiply.accumulate(x),
        lambda x: np.greater.outer(x[0], x[1]) * x[2][:, None],
    ],
)
def test_engine(f, check_engine):
    check_engine(f, NONZERO.draw((3, 4), rng=7))


@pytest.mark.parametrize(
    "f, running, parts", [(np.maximum, [1, 5, 0], [0, 1, 2]), (np.minimum, [3, 0, 3], [1, 0, 2])]
)
def test_running_extrema_rounded_to_less_precision(f, running, parts):
    x = np.array([0.3, 0.7, 0.2])
    found = rrule(f.accumulate, x, dtype=np.float32)[1](np.array([1, 2, 3], np.float32))
    np.testing.assert_array_equal(found[1], running)
    found = rrule(f.reduceat, x, [0, 2], dtype=np.float32)[1](np.array([1, 2], np.float32))
    np.testing.assert_array_equal(found[1], parts)


@pytest.mark.parametrize("f", [np.maximum, np.fmin])
def test_outer_where_elements_tie_or_a_cotangent_is_infinite(f):
    a, b = np.array([1.0, 2.0]), np.array([2.0, 0.5, 3.0])
    y, pullback = rrule(f.outer, a, b)
    y_bar = np.arange(1.0, 7.0).reshape(2, 3)
    weights = np.where(np.equal.outer(a, b), 0.5, np.equal(y, a[:, None]))
    _, a_bar, b_bar = map(unthunk, pullback(y_bar))
    np.testing.assert_array_equal(a_bar, np.sum(weights * y_bar, 1))
    np.testing.assert_array_equal(b_bar, np.sum((1 - weights) * y_bar, 0))
    y, pullback = rrule(f.outer, a, b + 0.25)
    y_bar[0, 1] = np.inf
    of_a = np.equal(y, a[:, None])
    with np.errstate(invalid="ignore"):
        _, a_bar, b_bar = map(unthunk, pullback(y_bar))
    np.testing.assert_array_equal(a_bar, np.sum(np.where(of_a, y_bar, 0), 1))
    np.testing.assert_array_equal(b_bar, np.sum(np.where(of_a, 0, y_bar), 0))


@pytest.mark.parametrize("f, chosen", [(np.minimum, 0), (np.fmin, 1)])
def test_outer_beside_nan(f, chosen):
    """``fmin`` takes the other element, ``minimum`` the NaN, which gives nothing a gradient."""
    a, b = np.array([1.0, np.nan], np.float32), np.array([2.0, 0.5], np.float32)
    _, a_bar, b_bar = map(unthunk, rrule(f.outer, a, b)[1](np.ones((2, 2), np.float32)))
    np.testing.assert_array_equal(a_bar, [1, 0])
    np.testing.assert_array_equal(b_bar, [chosen, 1 + chosen])


def test_quotients_of_all_pairs_where_one_is_infinite():
    a, b = np.array([1.0, -2.0]), np.array([0.0, 4.0])
    with np.errstate(all="ignore"):
        _, pullback = rrule(np.divide.outer, a, b)
        _, a_bar, b_bar = map(unthunk, pullback(np.array([[0.0, 1.0], [0.0, 2.0]])))
    np.testing.assert_array_equal(a_bar, [0.25, 0.5])
    np.testing.assert_array_equal(b_bar, [0, -(1 * 1 - 2 * 2) / 16])


@pytest.mark.parametrize("f, find", [(np.maximum, np.argmax), (np.fmin, np.argmin)])
def test_segments_of_many_elements(f, find):
    """Where each result is one of many elements it is put in its place."""
    x, starts, y_bar = REAL.draw(2000, rng=9), np.array([0, 700, 900]), np.array([1.0, 2.0, 3.0])
    expected = np.zeros(2000)
    expected[starts + [find(part) for part in np.split(x, starts[1:])]] = y_bar
    np.testing.assert_array_equal(unthunk(rrule(f.reduceat, x, starts)[1](y_bar)[1]), expected)


@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": None, "keepdims": True}])
@pytest.mark.parametrize(
    "f", [np.add, np.multiply, np.maximum, np.fmin, np.hypot, np.logaddexp, np.logaddexp2]
)
def test_initial_is_an_argument(f, options, check_modes):
    x = draw(f, (3, 4))
    check_modes(lambda a, c: f.reduce(a, initial=c, **options), x, 0.3)
    check_modes(lambda c: f.reduce(x, initial=c, where=MASK, **options), 0.3)


def test_outer_of_a_step_of_part_of_an_array():
    """Its pullback computes a zero only when it is asked: the element gets none."""
    found = autodiff.gradient(lambda x: np.sum(np.heaviside.outer(x[0], x[1]) * x[2]), ROWS)
    np.testing.assert_array_equal(found, [[0, 0], [0, 0], [2, 2]])
