"""assert_tangents_close: what is equal, what is not, and what it says."""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

from chainrules_core import NoTangent, Tangent, ZeroTangent, not_implemented, thunk
from chainrules_core.testing import TangentMismatchError, assert_tangents_close
from chainrules_core.testing.comparison.hints import hint

Pair = namedtuple("Pair", "a b")
MISSING = not_implemented("why")


@dataclass
class Foo:
    a: float
    b: np.ndarray


class Other:
    pass


EQUAL = [
    (1.0, 1.0),
    (1.0, 1.0 + 1e-9),
    (1.0, np.float64(1.0)),
    (1, 1.0),
    (np.float32(1), 1.0 + 1e-5),
    (np.ones(3), np.ones(3)),
    (np.array(1.0), 1.0),
    (np.array([1e9, 1.0]), np.array([1e9, 1.5])),  # relative to the largest entry
    (np.array([np.inf, -np.inf]), np.array([np.inf, -np.inf])),
    (ZeroTangent(), ZeroTangent()),
    (NoTangent(), NoTangent()),
    (NoTangent(), ZeroTangent()),
    (ZeroTangent(), 0.0),
    (0.0, ZeroTangent()),
    (ZeroTangent(), np.zeros(3)),
    (np.zeros(3), ZeroTangent()),
    (NoTangent(), np.zeros(3)),
    (Tangent[tuple](0.0, NoTangent()), ZeroTangent()),
    (thunk(lambda: 1.0), 1.0),
    (1.0, thunk(lambda: thunk(lambda: 1.0))),
    (Tangent[Foo](a=1.0), Tangent[Foo](a=1.0, b=np.zeros(2))),
    (Tangent[Foo](a=1.0), Tangent[Foo](b=ZeroTangent(), a=thunk(lambda: 1.0))),
    (Tangent[Pair](1.0, 2.0), Tangent[Pair](b=2.0, a=1.0)),
    (Tangent[dict]({"k": 1.0}), Tangent[dict]({"k": 1.0, "n": NoTangent()})),
    (Tangent[tuple](1.0, ZeroTangent()), Tangent[tuple](1.0, NoTangent())),
    (Foo(1.0, np.ones(2)), Tangent[Foo](a=1.0, b=np.ones(2))),
    (Tangent[object](a=1.0), Tangent[Foo](a=1.0)),
    (Foo(1.0, np.ones(2)), Foo(1.0, np.ones(2))),
    ((1.0, [2.0]), (1.0, [2.0])),
    ({"a": 1.0}, {"a": 1.0}),
    ("text", "text"),
    (None, None),
    (MISSING, MISSING),
    (np.array(["a"]), np.array(["a"])),
]


@pytest.mark.parametrize("actual, expected", EQUAL)
def test_close(actual, expected):
    assert_tangents_close(actual, expected)


DIFFERENT = [
    (1.0, 2.0, "found 1, expected 2"),
    (1.0, 1.0 + 1e-5, "where 1.1e-06|where 1.01e-06"),
    (np.ones(3), np.ones(4), r"expected the shape \(4,\), but found \(3,\)"),
    (np.ones((1, 3)), np.ones(3), "differ in axes of length one"),
    (np.array([[1.0, 2.0]]), np.array([[1.0, 3.0]]), r"1 of 2 entries differ, most at \[0, 1\]"),
    (np.nan, 1.0, "There is NaN"),
    (1.0, np.nan, "expected nan"),
    (np.nan, np.nan, "found nan, expected nan"),
    (1.0, np.inf, "expected inf"),
    (np.inf, 1.0, "found inf"),
    (ZeroTangent(), NoTangent(), r"expected NoTangent\(\), .*found ZeroTangent\(\)"),
    (0.0, NoTangent(), r"expected NoTangent\(\).*found 0.0"),
    (1.0, ZeroTangent(), "expected a zero, but found 1.0"),
    (NoTangent(), 1.0, r"found NoTangent\(\), but expected 1.0"),
    (Tangent[Foo](a=1.0), Tangent[Foo](a=2.0), "at .a: found 1, expected 2"),
    (Tangent[Foo](a=1.0), Tangent[Foo](b=np.ones(1)), "at .b: found ZeroTangent"),
    (
        Tangent[Foo](b=np.array([1.0, 2.0])),
        Tangent[Foo](b=np.array([1.0, 3.0])),
        r"at \.b: 1 of 2 entries differ, most at \[1\]",
    ),
    (Tangent[tuple](1.0), Tangent[tuple](1.0, 0.0), "expected 2 parts, but found 1"),
    (
        Tangent[dict]({"k": Tangent[list](1.0)}),
        Tangent[dict]({"k": Tangent[list](2.0)}),
        r"at \['k'\]\[0\]",
    ),
    (
        Tangent[list](1.0),
        Tangent[tuple](1.0),
        r"expected a Tangent\[tuple\].*found a Tangent\[list",
    ),
    (Tangent[Foo](a=1.0), Tangent[Pair](a=1.0, b=0.0), r"expected a Tangent\[Pair\]"),
    (Foo(1.0, np.ones(2)), Tangent[Foo](a=2.0, b=np.ones(2)), "at .a"),
    ((1.0, 2.0), Tangent[tuple](1.0, 2.0), r"bare tuple.*write Tangent\[tuple\]"),
    (Tangent[list](1.0, 2.0), [1.0, 2.0], r"bare list.*write Tangent\[list\]"),
    (np.ones(2), Tangent[tuple](1.0, 1.0), "found a float64 array"),
    ((1.0,), (1.0, 2.0), "expected the parts"),
    ((1.0,), [1.0], "expected list"),
    ("a", "b", "expected str 'b', but found str 'a'"),
    (Other(), Foo(1.0, np.ones(2)), "expected Foo"),
    (1.0, "a", "expected str"),
    (MISSING, 1.0, r"not implemented: why \(.*test_compare.py:\d+\)"),
    (1.0, MISSING, "not implemented"),
]


@pytest.mark.parametrize("actual, expected, match", DIFFERENT)
def test_not_close(actual, expected, match):
    with pytest.raises(TangentMismatchError, match=match) as caught:
        assert_tangents_close(actual, expected, "here")
    assert str(caught.value).startswith("here: ")
    assert isinstance(caught.value, AssertionError)


def test_tolerances():
    assert_tangents_close(1.0, 1.1, rtol=0.2)
    assert_tangents_close(0.0, 0.1, atol=0.2)
    assert_tangents_close(np.nan, np.nan, equal_nan=True)
    with pytest.raises(TangentMismatchError):
        assert_tangents_close(1.0, 1.0 + 1e-9, rtol=1e-12, atol=0)


def test_error_carries_what_differs():
    with pytest.raises(TangentMismatchError) as caught:
        assert_tangents_close(Tangent[Foo](a=1.0), Tangent[Foo](a=2.0))
    assert (caught.value.path, caught.value.actual, caught.value.expected) == (".a", 1.0, 2.0)


def test_registration():
    class Interval:
        def __init__(self, low, high):
            self.ends = (low, high)

    @assert_tangents_close.register(Interval)
    def compare(actual, expected, close):
        close(actual.ends[0], expected.ends[0], ".low")

    assert_tangents_close(Interval(1.0, 2.0), Interval(1.0, 3.0))
    with pytest.raises(TangentMismatchError, match=r"at \[0\].low: found 1, expected 4"):
        assert_tangents_close([Interval(1.0, 2.0)], [Interval(4.0, 3.0)])


E = np.array([[1.0, 2.0], [3.0, -5.0]])


@pytest.mark.parametrize(
    "actual, expected, words",
    [
        (-E, E, "a sign"),
        (E * 2, E, "2 times what is expected, throughout"),
        (E.T, E, "transpose"),
        (E.ravel(), E, ""),
        (E + 1j, E - 1j, "conj"),
        (-E + 1j, E + 1j, "minus the complex conjugate"),
        (E.astype(complex), E + 1j, "real part"),
        (1j * (E + 1j), E + 1j, "0+1j times"),
        ((E + 1j * E * E).T, (E - 1j * E * E), "conjugate transpose"),
        (0 * E, E, "zero throughout"),
        (E, 0 * E, "Zero is expected"),
        (E * [1, np.nan], E, "NaN"),
        (E[::-1], E, "another order"),
        (np.ones((2, 3)), np.ones(3), "broadcast: sum"),
        (np.ones((2, 3)), np.ones((3, 2)), "reverse order"),
        (np.array(1.5), np.array(3.0), "0.5 times"),
        (np.array(1.5), np.array(4.1), ""),
        (E + 0.1, E, ""),
        (np.ones(2), np.array([1, 2]), ""),
    ],
)
def test_hints(actual, expected, words):
    text = hint(np.asarray(actual), np.asarray(expected))
    assert words in text
    assert bool(text) == bool(words)
