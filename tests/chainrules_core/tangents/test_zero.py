"""ZeroTangent and NoTangent."""

import copy
import operator
import pickle

import numpy as np
import pytest

from chainrules_core.tangents import NoTangent, Tangent, ZeroTangent, not_implemented, thunk

ZERO, NO = ZeroTangent(), NoTangent()
MISSING = not_implemented("for a test")
EACH_ZERO = pytest.mark.parametrize("zero", [ZERO, NO], ids=repr)


def boom():
    raise AssertionError("a thunk was forced that need not be")


@EACH_ZERO
@pytest.mark.parametrize(
    "clone",
    [copy.copy, copy.deepcopy, lambda z: pickle.loads(pickle.dumps(z)), lambda z: type(z)()],
)
def test_there_is_one_object(zero, clone):
    assert clone(zero) is zero


def test_repr_equality_and_hash():
    assert (repr(ZERO), repr(NO)) == ("ZeroTangent()", "NoTangent()")
    assert ZERO == ZERO
    assert ZERO != NO
    assert ZERO != 0.0
    assert len({ZERO, NO, ZeroTangent()}) == 2


@pytest.mark.parametrize(
    "op, a, b, result",
    [
        (operator.add, NO, ZERO, NO),
        (operator.add, ZERO, NO, NO),
        (operator.add, ZERO, ZERO, ZERO),
        (operator.add, NO, NO, NO),
        (operator.sub, NO, ZERO, NO),
        (operator.sub, ZERO, NO, NO),
        (operator.mul, NO, ZERO, ZERO),
        (operator.mul, ZERO, NO, ZERO),
        (operator.mul, NO, NO, NO),
        (operator.matmul, NO, ZERO, ZERO),
        (operator.add, ZERO, MISSING, MISSING),
        (operator.add, MISSING, NO, MISSING),
        (operator.mul, ZERO, MISSING, ZERO),
        (operator.mul, MISSING, NO, NO),
    ],
)
def test_zeros_among_themselves(op, a, b, result):
    assert op(a, b) is result


@EACH_ZERO
@pytest.mark.parametrize(
    "x",
    [2, 2.0, 2j, np.float32(2), np.complex128(2), np.ones(3), np.ones((2, 2)), np.float64(1)],
    ids=lambda x: type(x).__name__,
)
def test_with_numbers_and_arrays(zero, x):
    assert zero + x is x
    assert x + zero is x
    assert x - zero is x
    np.testing.assert_array_equal(zero - x, -x)
    assert zero * x is x * zero is zero
    assert zero / x is zero
    assert zero @ x is x @ zero is zero


@EACH_ZERO
def test_with_tangents_and_thunks(zero):
    t, lazy = Tangent[tuple](1.0, 2.0), thunk(boom)
    assert zero + t is t
    assert t + zero is t
    assert zero - t == -t
    assert t - zero is t
    assert zero * t is t * zero is zero
    assert zero + lazy is lazy
    assert lazy + zero is lazy
    assert lazy - zero is lazy
    assert zero * lazy is zero
    assert lazy * zero is zero
    assert lazy @ zero is zero


@EACH_ZERO
def test_there_is_no_quotient_by_zero(zero):
    with pytest.raises(TypeError):
        1.0 / zero
    with pytest.raises(TypeError):
        np.ones(2) / zero


@EACH_ZERO
def test_as_a_number(zero):
    assert (float(zero), complex(zero), int(zero), bool(zero)) == (0.0, 0j, 0, False)
    with pytest.raises(TypeError):
        operator.index(zero)


@EACH_ZERO
def test_as_an_array(zero):
    assert np.asarray(zero).shape == ()
    assert np.asarray(zero, dtype=np.float32).dtype == np.float32
    assert np.array([zero, 1.0], dtype=object)[0] is zero
    for same in (zero[1], zero[1:, ...], zero["a"], zero.T, zero.mT, zero.real, zero.imag):
        assert same is zero
    for same in (
        zero.sum(), zero.sum(axis=0), zero.reshape(2, 3), zero.conj(), zero.conjugate(),
        zero.transpose(1, 0), zero.astype(float), np.sum(zero), np.reshape(zero, (1,)),
        np.transpose(zero), np.real(zero), -zero, +zero,
    ):  # fmt: skip
        assert same is zero


@EACH_ZERO
def test_iterates_once(zero):
    assert list(zero) == [zero]
    (a,) = zero
    assert a is zero


@EACH_ZERO
@pytest.mark.parametrize("name", ["shape", "dtype", "weight", "_private", "__array_interface__"])
def test_has_no_other_attributes(zero, name):
    assert not hasattr(zero, name)


@EACH_ZERO
def test_numpy_functions_without_an_operator_refuse(zero):
    with pytest.raises(TypeError):
        np.add(np.ones(2), zero)
