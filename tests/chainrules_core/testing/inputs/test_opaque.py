"""OpaqueIterable: iteration and nothing else."""

import copy

import pytest

from chainrules_core import add, zero_tangent
from chainrules_core.testing import (
    OpaqueIterable,
    TangentMismatchError,
    assert_tangents_close,
    rand_tangent,
    to_vector,
)


def test_traits():
    x, sized = OpaqueIterable([1.0, 2.0]), OpaqueIterable((1.0, 2.0), sized=True)
    assert list(x) == list(x) == [1.0, 2.0]
    assert len(sized) == 2
    assert not hasattr(x, "__len__")
    assert not hasattr(x, "__getitem__")
    assert repr(sized) == "OpaqueIterable([1.0, 2.0], sized=True)"
    assert x == sized
    assert copy.deepcopy(sized) == sized
    assert len(copy.deepcopy(sized)) == 2
    assert isinstance(copy.copy(x), OpaqueIterable)


def test_arithmetic():
    x = OpaqueIterable([1.0, 2.0])
    assert add(x, x) == x * 2 == 2 * x
    assert -x + x == zero_tangent(x)
    with pytest.raises(TypeError):
        x + 1.0


def test_tangents():
    x = OpaqueIterable([1.0, 2], sized=True)
    vector, rebuild = to_vector(x)
    assert vector.tolist() == [1.0]
    assert len(rebuild(vector + 1)) == 2
    t = rand_tangent(OpaqueIterable([1.0, 2.0]), rng=1)
    assert isinstance(t, OpaqueIterable)
    assert_tangents_close(t, t)
    with pytest.raises(TangentMismatchError, match=r"at ._data\[1\]"):
        assert_tangents_close(OpaqueIterable([1.0, 2.0]), OpaqueIterable([1.0, 3.0]))
    with pytest.raises(AssertionError, match="expected an OpaqueIterable"):
        assert_tangents_close([1.0], OpaqueIterable([1.0]))
