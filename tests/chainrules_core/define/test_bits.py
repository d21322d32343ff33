"""Products with truth values and signs by the bits of numbers."""

import numpy as np
import pytest

from chainrules_core.define.bits import remainder, turned_by_sign, where_true


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("t", [[1.5, -2.0, 3.0], [np.inf, -np.inf, np.nan], [-0.0, 0.0, 1.0]])
def test_a_part_and_what_remains(t, dtype):
    t = np.array(t, dtype)
    part = where_true(np.array([True, False, True]), t)
    np.testing.assert_array_equal(part, [t[0], 0, t[2]])
    np.testing.assert_array_equal(remainder(t, part), [0, t[1], 0])
    assert part.dtype == remainder(t, part).dtype == dtype
    assert not np.signbit(part[1])


@pytest.mark.parametrize("shapes", [((3,), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (3,))])
def test_where_true_broadcasts(shapes):
    rng = np.random.default_rng(0)
    mask, t = rng.standard_normal(shapes[0]) > 0, rng.standard_normal(shapes[1])
    np.testing.assert_array_equal(where_true(np.asarray(mask), t), np.where(mask, t, 0))


def test_where_true_of_arrays_that_are_not_contiguous():
    mask, t = np.arange(12).reshape(3, 4) % 3 == 0, np.arange(12.0).reshape(4, 3).T
    np.testing.assert_array_equal(where_true(mask, t), np.where(mask, t, 0))
    np.testing.assert_array_equal(
        where_true(mask[::2, 1:], t[::2, 1:]), np.where(mask, t, 0)[::2, 1:]
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_turned_by_sign(dtype):
    t, x = np.array([1, -2, np.inf, 0], dtype), np.array([-3, -0.5, -np.inf, 2], dtype)
    found = turned_by_sign(t, x)
    np.testing.assert_array_equal(found, [-1, 2, -np.inf, 0])
    assert found.dtype == dtype


@pytest.mark.parametrize(
    "t, x",
    [
        (np.ones(2, complex), np.ones(2, complex)),
        (np.ones(2, np.float32), np.ones(2)),
        (np.ones((2, 2)), np.ones(2)),
        (1.0, np.ones(2)),
    ],
)
def test_turned_by_sign_leaves_the_rest_to_others(t, x):
    assert turned_by_sign(t, x) is None


@pytest.mark.parametrize("t", [1.5, -np.inf, np.float64(2), np.float32(2.5), np.array(1.5), 3, 1j])
def test_where_true_of_numbers(t):
    for mask in (np.array([[True, False], [False, True]]), np.array(True), np.zeros(0, bool)):
        found, expected = where_true(mask, t), np.where(mask, t, 0)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
