"""The products of cotangents and partial derivatives: whose memory they use, and strong zeros."""

import numpy as np
import pytest

from chainrules_core import frule, rrule, scalar_rule
from chainrules_core.define.scalar import has_nan, plain_product, strong_product

X = np.array([0.5, -1.5, 2.0])
BAR = np.array([1.0, 10.0, 100.0])
KEPT = np.array([3.0, 4.0, 5.0])  # a partial derivative that is not the rule's to change


def f(x):
    return 1.0 * x


def g(a, b):
    return a + b


@pytest.fixture
def rule():
    def define(function, *partials, **options):
        scalar_rule(function, *partials, **options)
        return lambda *args: rrule(function, *args)

    yield define
    for table in (rrule, frule):
        for function in (f, g):
            if table.methods(function):
                table.unregister(function)


@pytest.mark.parametrize(
    "partial, expected",
    [
        (lambda y, x: KEPT, [3, 40, 500]),
        (lambda y, x: KEPT[::-1], [5, 40, 300]),
        (lambda y, x: x, [0.5, -15, 200]),
        (lambda y, x: y, [0.5, -15, 200]),
        (lambda y, x: x[:], [0.5, -15, 200]),
        (lambda y, x: 2 * x, [1, -30, 400]),
        (lambda y, x: x > 0, [1, 0, 100]),
        (lambda y, x: x.astype(np.float32), [0.5, -15, 200]),
        (lambda y, x: np.float64(2), [2, 20, 200]),
        (lambda y, x: 3, [3, 30, 300]),
    ],
)
def test_only_memory_of_nobody_is_written_into(rule, partial, expected):
    x, y_bar, kept = X.copy(), BAR.copy(), KEPT.copy()
    y, pullback = rule(f, partial)(x)
    before = y.copy()
    for _ in range(2):
        np.testing.assert_array_equal(pullback(y_bar)[1], expected)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, before)
    np.testing.assert_array_equal(y_bar, BAR)
    np.testing.assert_array_equal(KEPT, kept)


def test_a_partial_of_less_precision_or_another_kind_is_no_room_for_the_product(rule):
    pull = rule(f, lambda y, x: x.astype(np.float32) * 1)(X)[1]
    assert pull(BAR)[1].dtype == float
    d = np.array([1.0, 2.0])
    assert plain_product(d, np.array([1j, 1.0]), True).dtype == complex
    np.testing.assert_array_equal(d, [1, 2])
    assert plain_product(np.array([1, 2]), np.array([0.5, 0.5]), True).dtype == float


def test_a_number_of_numpys_is_no_memory():
    """The conjugate of an array without axes is one."""
    d = np.conj(np.array(1.0 + 2.0j))
    assert plain_product(d, np.array(2.0 + 0.0j), True) == 2.0 - 4.0j


def test_complex_partials_are_conjugated_in_their_own_memory(rule):
    z = np.array([1 + 2j, 3 - 1j])
    keep = z.copy()
    pull = rule(f, lambda y, x: x * 1j)(z)[1]
    np.testing.assert_array_equal(pull(np.array([1.0 + 0j, 2.0]))[1], np.conj(keep * 1j) * [1, 2])
    pull = rule(f, lambda y, x: x)(z)[1]
    np.testing.assert_array_equal(pull(np.array([1.0 + 0j, 2.0]))[1], np.conj(keep) * [1, 2])
    np.testing.assert_array_equal(z, keep)


@pytest.mark.parametrize("d", [[np.inf, 1, 2], [np.nan, 1, 2]])
def test_zero_cotangents_win(d):
    d, t = np.array(d), np.array([0.0, 3, 4])
    with np.errstate(all="ignore"):  # as frame and engine have it
        np.testing.assert_array_equal(strong_product(d.copy(), t), [0, 3, 8])
        np.testing.assert_array_equal(strong_product(d.copy(), t, True), [0, 3, 8])


def test_zero_cotangents_win_where_the_argument_is_a_number(rule):
    pull = rule(g, 1, lambda y, a, b: np.array([np.inf, 1.0, 2.0]))(X, 0.5)[1]
    assert pull(np.array([0.0, 3, 4]))[2] == 11
    assert pull(np.array([1.0, 3, 4]))[2] == np.inf


def together(y_bar, y, a, b):
    return (2 * y_bar) / 1.0, a * 3 * y_bar


def test_products_that_share_work(rule):
    pull = rule(g, lambda y, a, b: 2, lambda y, a, b: 3 * a, together=together)
    for a, b in ((X, X), (X, X[:1]), (X[:1], X), (X, np.float32(1) * X.astype(np.float32))):
        found = pull(a, b)[1](BAR)[1:]
        ones = np.ones(3)
        for x, bar, d in zip((a, b), found, (2 * ones, 3 * a * ones), strict=True):
            expected = np.sum(d * BAR, keepdims=True) if len(x) == 1 else d * BAR
            np.testing.assert_allclose(bar, expected)
            assert bar.dtype == x.dtype


def test_partials_decide_where_shared_work_makes_nan(rule):
    def infinite(y_bar, y, a, b):
        return y_bar, y_bar * np.inf

    pull = rule(g, 1, lambda y, a, b: np.inf * np.ones_like(a), together=infinite)(X, X)[1]
    np.testing.assert_array_equal(pull(np.array([0.0, 1, 2]))[2], [0, np.inf, np.inf])


@pytest.mark.parametrize(
    "x, expected",
    [
        (1.0, False),
        (float("nan"), True),
        (np.nan, True),
        (np.array([1.0, np.inf, -np.inf]), False),
        (np.array([1.0, np.nan]), True),
        (np.array([1j, complex(0, np.nan)]), True),
        (np.array([1, 2]), False),
        (np.zeros((0, 3)), False),
        (np.array(np.nan), True),
        (np.array([1.0, np.nan], object), True),
    ],
)
def test_has_nan(x, expected):
    assert has_nan(x) is expected
