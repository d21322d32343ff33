"""unbroadcast: the adjoint of broadcasting."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from chainrules_core.errors import ProjectionError
from chainrules_core.operations.broadcasting import spread_to, unbroadcast
from chainrules_core.tangents import NoTangent, ZeroTangent, not_implemented, thunk


@given(mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=4, max_dims=4))
def test_is_the_adjoint_of_broadcasting(shapes):
    shape, larger = shapes.input_shapes[0], shapes.result_shape
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, shape).astype(float)
    y_bar = rng.integers(-9, 9, larger).astype(float)
    x_bar = unbroadcast(y_bar, shape)
    assert np.shape(x_bar) == shape
    assert np.vdot(x, x_bar) == np.vdot(np.broadcast_to(x, larger), y_bar)


@pytest.mark.parametrize("x", [1.0, np.float64(1), np.ones(()), np.ones((2, 3)), np.ones(0)])
def test_the_same_shape_is_the_same_object(x):
    assert unbroadcast(x, np.shape(x)) is x


def test_axes_of_length_one_in_front_are_dropped_without_a_sum():
    np.testing.assert_array_equal(unbroadcast(np.ones((1, 1, 3)), (3,)), np.ones(3))


@pytest.mark.parametrize("special", [ZeroTangent(), NoTangent(), not_implemented("x")])
def test_special_tangents_pass(special):
    assert unbroadcast(special, (3,)) is special


def test_thunks_are_forced():
    np.testing.assert_array_equal(unbroadcast(thunk(lambda: np.ones((2, 3))), (3,)), [2, 2, 2])


def test_precision_and_kind_are_kept():
    assert unbroadcast(np.ones((2, 3), np.complex64), (3,)).dtype == np.complex64
    assert unbroadcast(np.ones((2, 3), np.float32), ()).dtype == np.float32


@pytest.mark.parametrize(
    "larger, shape",
    [((3,), (2,)), ((), (3,)), ((1,), (3,)), ((3,), (1, 3)), ((2, 3), (2,)), ((0,), (3,))],
)
def test_what_was_not_broadcast(larger, shape):
    with pytest.raises(ProjectionError) as caught:
        unbroadcast(np.ones(larger), shape)
    assert (caught.value.expected, caught.value.found) == (shape, larger)
    assert str(shape) in str(caught.value)
    assert str(larger) in str(caught.value)


@given(st.sampled_from([(4, 3), (4, 1), (3,), (1,), (), (1, 3)]))
def test_twice_is_once(shape):
    once = unbroadcast(np.ones((4, 3)), shape)
    assert unbroadcast(once, shape) is once


@pytest.mark.parametrize(
    "y, shape",
    [
        (2.0, (3,)),
        (2.0, ()),
        (1j, (2, 2)),
        (np.float32(2), (2, 3)),
        (np.array([1.0, 2.0, 3.0]), (2, 3)),
        (np.array([[1.0], [2.0]]), (2, 3)),
        (np.array(3.0), (0, 4)),
        (2.0, (30, 30)),
        (3, (2,)),
        (True, (2,)),
    ],
)
def test_spread_to_is_broadcast_to(y, shape):
    found, expected = spread_to(y, shape), np.broadcast_to(y, shape)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


def message(f, *args):
    try:
        return f(*args)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize(
    "y, shape", [(np.ones(2), (3,)), (np.ones((2, 2)), (2,)), (np.ones((1, 3)), (3,))]
)
def test_spread_to_refuses_in_the_words_of_numpy(y, shape):
    assert isinstance(message(spread_to, y, shape), str)
    assert message(spread_to, y, shape) == message(np.broadcast_to, y, shape)
