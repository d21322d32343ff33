"""The precedence table of sums, and the rest of the arithmetic of tangents."""

import math
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from chainrules_core.errors import NotImplementedTangentError, ProjectionError, TangentTypeError
from chainrules_core.operations.arithmetic import add, conj, inner, is_tangent, is_zero, norm, scale
from chainrules_core.tangents import (
    InplaceableThunk,
    NoTangent,
    Tangent,
    ZeroTangent,
    not_implemented,
    thunk,
)

ZERO, NO, MISSING = ZeroTangent(), NoTangent(), not_implemented("for a test")
A, B = np.array([1.0, 2.0]), np.array([3.0, 5.0])
Point = namedtuple("Point", "x y")


@dataclass
class Foo:
    a: Any
    b: Any


def boom():
    raise AssertionError("a thunk was forced that need not be")


LAZY = thunk(boom)


@pytest.mark.parametrize(
    "a, b, total",
    [
        (MISSING, NO, MISSING),
        (MISSING, LAZY, MISSING),
        (MISSING, A, MISSING),
        (MISSING, Tangent[tuple](1.0), MISSING),
        (NO, ZERO, NO),
        (NO, A, A),
        (NO, LAZY, LAZY),
        (ZERO, LAZY, LAZY),
        (ZERO, 1.0, 1.0),
        (ZERO, ZERO, ZERO),
    ],
)
def test_precedence(a, b, total):
    assert add(a, b) is total
    assert add(b, a) is total


def test_of_two_missing_ones_the_left_wins():
    other = not_implemented("another")
    assert add(MISSING, other) is MISSING
    assert add(other, MISSING) is other


@pytest.mark.parametrize("a", [A, thunk(lambda: A), InplaceableThunk(boom, lambda: A)])
@pytest.mark.parametrize("b", [B, thunk(lambda: B)])
def test_arrays_and_thunks(a, b):
    total = add(a, b)
    assert type(total) is np.ndarray
    np.testing.assert_array_equal(total, A + B)


@pytest.mark.parametrize("a, b", [(1.0, 2), (1j, 2.0), (np.float32(1), 2.0), (Fraction(1, 2), 1)])
def test_numbers(a, b):
    assert add(a, b) == a + b
    assert type(add(a, b)) is type(a + b)


def test_structures_in_thunks():
    assert add(thunk(lambda: Tangent[Foo](a=1.0)), Tangent[Foo](a=2.0, b=1.0)) == Tangent[Foo](
        a=3.0, b=1.0
    )


@pytest.mark.parametrize("bare", [(1.0,), [1.0], {"a": 1.0}, Point(1.0, 2.0), {1.0}])
def test_bare_containers_are_refused(bare):
    for use in (lambda: add(bare, bare), lambda: add(bare, A), lambda: add(1.0, bare),
                lambda: scale(bare, 2.0), lambda: inner(bare, bare), lambda: norm(bare),
                lambda: is_zero(bare), lambda: conj(bare)):  # fmt: skip
        with pytest.raises(TangentTypeError, match=r"is a Tangent\[|elements of a set"):
            use()


@pytest.mark.parametrize("other", [1.0, A])
def test_a_structural_and_a_natural_tangent_have_no_sum(other):
    with pytest.raises(TangentTypeError, match="have no sum"):
        add(Tangent[Foo](a=1.0), other)
    with pytest.raises(TangentTypeError, match="have no sum"):
        add(other, Tangent[Foo](a=1.0))


# Tangents of one primal, (number, (number, array), {"k": number}), of every kind.
leaf = st.one_of(
    st.floats(-1e3, 1e3),
    st.just(ZERO),
    st.just(NO),
    st.floats(-1e3, 1e3).map(lambda x: thunk(lambda: x)),
)
array = st.one_of(
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=2).map(np.array),
    st.just(ZERO),
    st.just(LAZY),
).map(lambda x: thunk(lambda: A) if x is LAZY else x)
pair = st.one_of(st.just(ZERO), st.builds(Tangent[tuple], leaf, array))
mapping = st.one_of(st.just(NO), st.dictionaries(st.sampled_from("km"), leaf).map(Tangent[dict]))
tangents = st.builds(lambda *parts: Tangent[list](*parts), leaf, pair, mapping)


def close(a, b):
    """Whether two tangents agree up to rounding, and are zeros of a kind at the same places."""
    if isinstance(a, Tangent):
        keys = {*Tangent.keys(a), *Tangent.keys(b)}
        return type(a) is type(b) and all(close(a[k], b[k]) for k in keys)
    if a is ZERO or a is NO:
        return a is b
    return np.allclose(a, b, rtol=1e-12, atol=1e-9)


@given(tangents, tangents)
def test_sums_commute(a, b):
    assert close(add(a, b), add(b, a))


@given(tangents, tangents, tangents)
def test_sums_associate(a, b, c):
    assert close(add(add(a, b), c), add(a, add(b, c)))


@given(tangents)
def test_zero_is_neutral(a):
    assert add(a, ZERO) is a
    assert add(ZERO, a) is a


@given(tangents, tangents)
def test_inner_is_symmetric_and_norm_agrees(a, b):
    assert inner(a, b) == pytest.approx(inner(b, a), rel=1e-9, abs=1e-6)
    assert norm(a) ** 2 == pytest.approx(inner(a, a), rel=1e-9, abs=1e-300)


@given(tangents, st.integers(-9, 9))
def test_scaling(a, s):
    # The squares of numbers below 1e-154 have few digits, or none.
    assert norm(scale(a, s)) == pytest.approx(abs(s) * norm(a), rel=1e-9, abs=1e-150)
    assert is_zero(scale(a, 0.0))


@pytest.mark.parametrize(
    "a, b, value",
    [
        (2.0, 3.0, 6.0),
        (1j, 1j, 1.0),
        (1 + 2j, 3.0, 3.0),
        (A, B, 13.0),
        (A * 1j, B * 1j, 13.0),
        (np.array(2.0), 3.0, 6.0),
        (np.float32(2), np.float32(3), 6.0),
        (ZERO, A, 0.0),
        (A, NO, 0.0),
        (MISSING, ZERO, 0.0),
        (thunk(lambda: A), B, 13.0),
        (Tangent[Foo](a=A, b=1.0), Tangent[Foo](a=B), 13.0),
        (Tangent[tuple](1.0, NO), Tangent[tuple](2.0, NO), 2.0),
        (np.array([1.0, 2j], object), np.array([3.0, 2j], object), 7.0),
    ],
)
def test_inner(a, b, value):
    assert inner(a, b) == value
    assert type(inner(a, b)) is float


@pytest.mark.parametrize(
    "a, b, error",
    [
        (np.ones(2), np.ones(3), ProjectionError),
        (np.ones((2, 3)), np.ones((3, 2)), ProjectionError),
        (1.0, np.ones(1), ProjectionError),
        (Tangent[Foo](a=1.0), 1.0, TangentTypeError),
        (Tangent[Foo](a=1.0), Tangent[tuple](1.0), TangentTypeError),
        (MISSING, 1.0, NotImplementedTangentError),
    ],
)
def test_inner_of_what_does_not_fit(a, b, error):
    with pytest.raises(error):
        inner(a, b)
    with pytest.raises(error):
        inner(b, a)


@pytest.mark.parametrize(
    "t, value",
    [
        (-2.0, 2.0),
        (3 + 4j, 5.0),
        (np.array([[3.0, 0.0], [0.0, 4.0]]), 5.0),
        (Tangent[Foo](a=3.0, b=Tangent[tuple](4j)), 5.0),
        (np.array([3.0, 4j], object), 5.0),
        (thunk(lambda: -1.0), 1.0),
        (ZERO, 0.0),
        (np.ones(0), 0.0),
    ],
)
def test_norm(t, value):
    assert norm(t) == value


def test_a_missing_derivative_has_no_norm():
    with pytest.raises(NotImplementedTangentError):
        norm(MISSING)


def test_norm_does_not_overflow():
    assert math.isfinite(norm(Tangent[tuple](1e200, 1e200)))


@pytest.mark.parametrize("t", [1.0, 2, A, np.float32(1), NO, ZERO, MISSING, Decimal(1)])
def test_conj_of_what_is_real_is_no_copy(t):
    assert conj(t) is t


def test_conj():
    assert conj(1j) == -1j
    assert conj(np.complex64(1j)) == -1j
    np.testing.assert_array_equal(conj(A * 1j), A * -1j)
    assert conj(Tangent[Foo](a=1j, b=2.0)) == Tangent[Foo](a=-1j, b=2.0)
    assert conj(thunk(lambda: 1j)) == -1j


@pytest.mark.parametrize(
    "t, zero",
    [
        (ZERO, True),
        (NO, True),
        (0.0, True),
        (-0.0, True),
        (np.zeros(3), True),
        (np.zeros(0), True),
        (Tangent[Foo](), True),
        (Tangent[Foo](a=np.zeros(2), b=NO), True),
        (thunk(lambda: 0j), True),
        (np.array([0.0, ZERO], object), True),
        (1e-300, False),
        (math.nan, False),
        (np.array([0.0, math.nan]), False),
        (Tangent[Foo](a=1.0), False),
        (MISSING, False),
    ],
)
def test_is_zero(t, zero):
    assert is_zero(t) is zero


@pytest.mark.parametrize(
    "x, answer",
    [
        (1.0, True),
        (1, True),
        (1j, True),
        (np.float32(1), True),
        (A, True),
        (np.arange(2), True),
        (Fraction(1, 2), True),
        (Decimal(1), True),
        (ZERO, True),
        (MISSING, True),
        (LAZY, True),
        (Tangent[Foo](), True),
        (np.array([1.0, ZERO], object), True),
        (True, False),
        (np.bool_(True), False),
        (np.array([True]), False),
        (np.array(["a"]), False),
        (np.array([1.0, "a"], object), False),
        ("a", False),
        (None, False),
        ((1.0,), False),
        ({"a": 1.0}, False),
    ],
)
def test_is_tangent(x, answer):
    assert is_tangent(x) is answer
