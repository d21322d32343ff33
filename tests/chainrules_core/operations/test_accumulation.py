"""add_inplace and is_inplaceable_destination."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from chainrules_core.calling.debug import debug_mode
from chainrules_core.errors import BadInplaceError, TangentTypeError
from chainrules_core.operations.accumulation import add_inplace, is_inplaceable_destination
from chainrules_core.tangents import (
    InplaceableThunk,
    NoTangent,
    Tangent,
    ZeroTangent,
    not_implemented,
    thunk,
)

ZERO, NO = ZeroTangent(), NoTangent()


def read_only(x):
    x.flags.writeable = False
    return x


class Sub(np.ndarray):
    pass


@pytest.mark.parametrize(
    "x, answer",
    [
        (np.ones(3), True),
        (np.ones(()), True),
        (np.ones((2, 0)), True),
        (np.ones(3, np.float32), True),
        (np.ones(3, complex), True),
        (np.asfortranarray(np.ones((2, 3))), True),
        (np.ones((4, 6))[::2, ::-3], True),
        (np.ones((2, 3)).T, True),
        (np.ones((2, 3, 4)).transpose(2, 0, 1)[:, :1], True),
        (np.arange(3), False),
        (np.ones(3, bool), False),
        (np.ones(3, object), False),
        (read_only(np.ones(3)), False),
        (np.broadcast_to(1.0, 3), False),
        (as_strided(np.ones(3), (3, 2), (8, 0)), False),
        (as_strided(np.ones(5), (3, 3), (8, 8)), False),
        (np.ones(3).view(Sub), False),
        (np.float64(1), False),
        (1.0, False),
        ([1.0], False),
        (None, False),
        (Tangent[tuple](1.0), False),
        (thunk(lambda: np.ones(3)), False),
    ],
)
def test_is_inplaceable_destination(x, answer):
    assert is_inplaceable_destination(x) is answer


def test_a_class_can_be_registered():
    class Buffer:
        pass

    is_inplaceable_destination.register(Buffer)(lambda x: True)
    assert is_inplaceable_destination(Buffer())


@pytest.mark.parametrize("dx", [np.array([1.0, 2.0]), np.float32([1.0, 2.0]), np.array([1, 2]),
                                thunk(lambda: np.array([1.0, 2.0]))])  # fmt: skip
def test_in_place(dx):
    acc = np.array([1.0, 1.0])
    assert add_inplace(acc, dx) is acc
    np.testing.assert_array_equal(acc, [2.0, 3.0])


def test_the_accumulator_keeps_its_precision():
    acc = np.ones(2, np.float32)
    assert add_inplace(acc, np.array([1.0, 2.0])) is acc
    assert acc.dtype == np.float32


@pytest.mark.parametrize(
    "acc, dx",
    [
        (np.ones(2), np.array([1j, 2.0])),
        (np.ones(2), thunk(lambda: np.array([1j, 2.0]))),
        (np.ones(2), np.ones((2, 2))),
        (np.ones((2, 2)), np.ones(2)),
        (read_only(np.ones(2)), np.ones(2)),
        (np.broadcast_to(1.0, 2), np.ones(2)),
        (np.arange(2), np.ones(2)),
        (1.0, 2.0),
        (np.float64(1.0), 2.0),
        (np.ones(2), 2.0),
        (Tangent[tuple](1.0), Tangent[tuple](2.0)),
        (Tangent[tuple](np.ones(2)), thunk(lambda: Tangent[tuple](np.ones(2)))),
    ],
)
def test_out_of_place(acc, dx):
    before = np.array(acc) if isinstance(acc, np.ndarray) else acc
    total = add_inplace(acc, dx)
    assert total is not acc
    if isinstance(acc, Tangent):
        assert total == acc + dx
    else:
        np.testing.assert_array_equal(total, acc + dx)
        np.testing.assert_array_equal(acc, before)


@pytest.mark.parametrize("dx", [ZERO, NO])
def test_zeros_add_nothing(dx):
    acc = np.ones(2)
    assert add_inplace(acc, dx) is acc
    assert add_inplace(dx, acc) is acc
    assert add_inplace(ZERO, NO) is NO


def test_a_missing_derivative_wins():
    missing = not_implemented("x")
    assert add_inplace(np.ones(2), missing) is missing


def test_containers_are_refused():
    with pytest.raises(TangentTypeError):
        add_inplace([1.0], [2.0])


def item_thunk(add_into):
    return InplaceableThunk(add_into, lambda: np.array([0.0, 5.0]))


def add_item(buffer):
    buffer[1] += 5.0
    return buffer


def test_inplaceable_thunks_add_themselves():
    def boom():
        raise AssertionError("the value was computed")

    acc = np.ones(2)
    assert add_inplace(acc, InplaceableThunk(add_item, boom)) is acc
    np.testing.assert_array_equal(acc, [1.0, 6.0])


@pytest.mark.parametrize("acc", [read_only(np.ones(2)), np.broadcast_to(1.0, 2), np.arange(1, 3)])
def test_inplaceable_thunks_are_computed_where_the_buffer_may_not_be_changed(acc):
    before = acc.copy()
    np.testing.assert_array_equal(
        add_inplace(acc, item_thunk(add_item)), before + np.array([0.0, 5.0])
    )
    np.testing.assert_array_equal(acc, before)
    assert add_inplace(ZERO, item_thunk(add_item))[1] == 5.0


def test_a_buffer_that_is_not_returned_is_found_in_debug_mode():
    def bad_add_into(buffer):
        return buffer + np.array([0.0, 5.0])

    with debug_mode(), pytest.raises(BadInplaceError, match=r"bad_add_into.*return buffer"):
        add_inplace(np.ones(2), item_thunk(bad_add_into))
    with debug_mode():
        add_inplace(np.ones(2), item_thunk(add_item))
    with debug_mode(False):
        np.testing.assert_array_equal(add_inplace(np.ones(2), item_thunk(bad_add_into)), [1.0, 6.0])
