"""zero_tangent and add_tangent."""

import functools
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from chainrules_core.errors import (
    NotImplementedTangentError,
    PrimalAdditionError,
    TangentTypeError,
)
from chainrules_core.operations.arithmetic import is_zero
from chainrules_core.operations.zeros import add_tangent, zero_tangent
from chainrules_core.projection.project_to import ProjectTo
from chainrules_core.tangents import (
    MutableTangent,
    NoTangent,
    Tangent,
    ZeroTangent,
    construct,
    not_implemented,
    thunk,
)

ZERO, NO = ZeroTangent(), NoTangent()
Point = namedtuple("Point", "x y")


@dataclass
class Data:
    a: Any
    b: Any = "text"


@dataclass(frozen=True)
class Frozen:
    a: Any


class Plain:
    def __init__(self, a=1.0):
        self.a, self.name = a, "text"


@pytest.mark.parametrize(
    "x, zero",
    [
        (2.0, 0.0),
        (2, 0.0),
        (2j, 0j),
        (np.float32(2), np.float32(0)),
        (np.int8(2), np.float64(0)),
        (np.complex64(2), np.complex64(0)),
        (Fraction(1, 2), Fraction(0)),
    ],
)
def test_numbers(x, zero):
    assert zero_tangent(x) == zero
    assert type(zero_tangent(x)) is type(zero)


@pytest.mark.parametrize(
    "dtype, of_zero",
    [("f4", "f4"), ("f8", "f8"), ("c8", "c8"), ("i4", "f8"), ("u1", "f8"), (">f8", "f8")],
)
def test_arrays(dtype, of_zero):
    zero = zero_tangent(np.ones((2, 3), dtype))
    np.testing.assert_array_equal(zero, np.zeros((2, 3)), strict=False)
    assert zero.dtype == np.dtype(of_zero)
    assert zero.flags.writeable


@pytest.mark.parametrize(
    "x", [True, "a", b"a", None, len, Data, np.array([True]), np.array(["a"]), slice(3), object(),
          ("a", True), [], {}, functools.partial(len)],
)  # fmt: skip
def test_what_cannot_be_perturbed(x):
    assert zero_tangent(x) is NO


@pytest.mark.parametrize(
    "x, zero",
    [
        ((1.0, "a"), Tangent[tuple](0.0, NO)),
        ([1, [2j]], Tangent[list](0.0, Tangent[list](0j))),
        ({"k": 1.0, 3: np.ones(2)}, Tangent[dict]({"k": 0.0, 3: np.zeros(2)})),
        (OrderedDict(k=1.0), Tangent[OrderedDict](k=0.0)),
        (Point(1.0, 2), Tangent[Point](0.0, 0.0)),
        (Frozen(1.0), Tangent[Frozen](a=0.0)),
        (Data(1.0), MutableTangent[Data](a=0.0, b=NO)),
        (Plain(), MutableTangent[Plain](a=0.0, name=NO)),
        (Data((Plain(),)), MutableTangent[Data](
            a=Tangent[tuple](MutableTangent[Plain](a=0.0, name=NO)), b=NO)),
    ],
)  # fmt: skip
def test_structures(x, zero):
    result = zero_tangent(x)
    assert result == zero
    assert type(result) is type(zero)
    assert is_zero(result)


def test_arrays_of_objects():
    x = np.empty(2, object)
    x[:] = [1.0, (2.0,)]
    zero = zero_tangent(x)
    assert zero.dtype == object
    assert zero[0] == 0.0
    assert zero[1] == Tangent[tuple](0.0)


def test_what_contains_itself():
    x = Plain()
    x.me = x
    assert zero_tangent(x).me is ZERO
    y = [1.0]
    y.append(y)
    assert zero_tangent(y) == Tangent[list](0.0, ZERO)


def test_a_class_can_be_registered():
    class Angle:
        pass

    zero_tangent.register(Angle)(lambda x: 0.0)
    assert zero_tangent([Angle()]) == Tangent[list](0.0)


@pytest.mark.parametrize(
    "primal, tangent, moved",
    [
        (1.0, 0.5, 1.5),
        (1, 0.5, 1.5),
        (1j, 0.5, 0.5 + 1j),
        ((1.0, "a"), Tangent[tuple](0.5, NO), (1.5, "a")),
        ([1.0, [2.0]], Tangent[list](ZERO, Tangent[list](0.5)), [1.0, [2.5]]),
        ({"k": 1.0, "m": 2.0}, Tangent[dict](k=0.5), {"k": 1.5, "m": 2.0}),
        (Point(1.0, 2.0), Tangent[Point](y=0.5), Point(1.0, 2.5)),
        (Data(1.0), Tangent[Data](a=0.5), Data(1.5)),
        (Data(1.0), thunk(lambda: MutableTangent[Data](a=0.5, b=NO)), Data(1.5)),
        (Frozen((1.0,)), Tangent[Frozen](a=Tangent[tuple](0.5)), Frozen((1.5,))),
        ((1.0,), Tangent[Any](0.5), (1.5,)),
    ],
)
def test_add_tangent(primal, tangent, moved):
    result = add_tangent(primal, tangent)
    assert result == moved
    assert type(result) is type(moved)


def test_add_to_arrays():
    a = np.ones(2, np.float32)
    moved = add_tangent(a, np.float32([1, 2]))
    assert moved.dtype == np.float32
    np.testing.assert_array_equal(moved, [2, 3])
    objects = np.array([1.0, (2.0, 3.0)], dtype=object)
    dots = np.empty(2, object)
    dots[:] = [0.5, Tangent[tuple](0.5, ZERO)]
    assert list(add_tangent(objects, dots)) == [1.5, (2.5, 3.0)]


def test_add_to_plain_objects():
    x = Plain()
    moved = add_tangent(x, Tangent[Plain](a=0.5, name=NO, absent=ZERO))
    assert (moved.a, moved.name, x.a) == (1.5, "text", 1.0)


@pytest.mark.parametrize("zero", [ZERO, NO], ids=repr)
@pytest.mark.parametrize("x", [1.0, np.ones(2), "a", None, Plain(), (1.0,), len])
def test_zeros_move_nothing(x, zero):
    assert add_tangent(x, zero) is x


@pytest.mark.parametrize(
    "primal, tangent, error",
    [
        ("a", 1.0, PrimalAdditionError),
        (True, 1.0, PrimalAdditionError),
        (None, 1.0, PrimalAdditionError),
        (Plain(), 1.0, PrimalAdditionError),
        ((1.0,), (0.5,), TangentTypeError),
        ([1.0], np.ones(1), TangentTypeError),
        ((1.0,), Tangent[list](0.5), TangentTypeError),
        ((1.0,), Tangent[tuple](0.5, 0.5), TangentTypeError),
        ({"k": 1.0}, Tangent[dict](m=0.5), TangentTypeError),
        (Plain(), Tangent[Plain](absent=0.5), TangentTypeError),
        (1.0, Tangent[tuple](0.5), TangentTypeError),
        (1.0, not_implemented("x"), NotImplementedTangentError),
    ],
)
def test_what_cannot_be_added(primal, tangent, error):
    with pytest.raises(error):
        add_tangent(primal, tangent)


def test_a_type_that_cannot_be_built_says_what_to_register():
    class Odd(tuple):
        def __new__(cls, a, b):
            return super().__new__(cls, (a, b))

    with pytest.raises(PrimalAdditionError, match=r"@construct\.register\(.*Odd\)") as caught:
        add_tangent(Odd(1.0, 2.0), Tangent[Odd](0.5, 0.5))
    assert caught.value.primal_type is Odd
    construct.register(Odd)(lambda primal, fields: Odd(*fields))
    assert add_tangent(Odd(1.0, 2.0), Tangent[Odd](0.5, 0.5)) == (1.5, 2.5)


@pytest.mark.parametrize("x", [1.0, np.ones(2), (1.0, "a"), {"k": 1j}, Frozen(1.0), [np.ones(2)]])
def test_zero_is_a_projected_tangent_that_moves_nothing(x):
    zero = zero_tangent(x)
    assert repr(ProjectTo(x)(zero)) == repr(zero)
    assert repr(add_tangent(x, zero)) == repr(x)
