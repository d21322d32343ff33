"""ProjectTo for containers, objects and arrays of objects."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from chainrules_core.errors import ProjectionError, TangentTypeError
from chainrules_core.projection.project_to import ProjectTo, identity, no_tangent
from chainrules_core.tangents import (
    MutableTangent,
    NoTangent,
    Tangent,
    ZeroTangent,
    not_implemented,
    thunk,
    unthunk,
)

ZERO, NO = ZeroTangent(), NoTangent()
Point = namedtuple("Point", "x y")
f4 = np.float32


@dataclass
class Data:
    a: Any = 1.0
    name: str = "text"


@dataclass(slots=True)
class Slotted:
    a: Any = 1.0
    name: str = "text"


class Plain:
    def __init__(self):
        self.a, self.name = 1.0, "text"


class Sub(Plain):
    pass


class MyList(list):
    pass


def objects(*elements):
    a = np.empty(len(elements), object)
    a[:] = elements
    return a


@pytest.mark.parametrize(
    "x, dx, projected",
    [
        ((1.0, f4(1)), (2j, 2.0), Tangent[tuple](0.0, f4(2))),
        ((1.0, "a"), (2.0, 3.0), Tangent[tuple](2.0, NO)),
        ((1.0, "a"), [2.0, 3.0], Tangent[tuple](2.0, NO)),
        ((1.0, 2.0), np.array([1.0, 2.0]), Tangent[tuple](1.0, 2.0)),
        ((1.0, (2.0,)), (ZERO, (2j,)), Tangent[tuple](ZERO, Tangent[tuple](0.0))),
        ([1.0, 2], [1, 2 + 1j], Tangent[list](1.0, 2.0)),
        ([1.0, 2], (1, 2), Tangent[list](1.0, 2.0)),
        (MyList([1.0]), [1], Tangent[MyList](1.0)),
        ({"k": 1.0, "m": 1}, {"m": 1j}, Tangent[dict](m=0.0)),
        ({"k": 1.0, 3: "a"}, {3: 5.0, "k": 2}, Tangent[dict]({"k": 2.0, 3: NO})),
        (OrderedDict(k=1.0), {"k": 2}, Tangent[OrderedDict](k=2.0)),
        (Point(1.0, "a"), {"x": 1j}, Tangent[Point](x=0.0)),
        (Point(1.0, 2.0), (1, 2), Tangent[Point](1.0, 2.0)),
        (Point(1.0, 2.0), Point(1, 2), Tangent[Point](1.0, 2.0)),
        (Data(), {"a": 2j}, Tangent[Data](a=0.0)),
        (Data(), Data(2, "b"), Tangent[Data](a=2.0, name=NO)),
        (Slotted(), {"a": 2j}, Tangent[Slotted](a=0.0)),
        (Data((1.0,)), {"a": (1j,)}, Tangent[Data](a=Tangent[tuple](0.0))),
    ],
)
def test_natural_cotangents_become_structural(x, dx, projected):
    result = ProjectTo(x)(dx)
    assert result == projected
    assert repr(canonical(result)) == repr(canonical(projected))
    assert ProjectTo(x)(result) is result


def canonical(t):
    """With its parts in one order: for comparison of types of parts by repr."""
    if isinstance(t, Tangent):
        return sorted((repr(k), canonical(part)) for k, part in Tangent.items(t))
    return t


@pytest.mark.parametrize(
    "x, dx",
    [
        ((1.0, 2.0), Tangent[tuple](2j, 3.0)),
        ((1.0, 2.0), Tangent[Any](2.0, 3.0)),
        ([1.0], Tangent[list](2.0)),
        ({"k": 1.0}, Tangent[dict]()),
        (Point(1.0, 2.0), Tangent[Point](x=1.0)),
        (Data(), Tangent[Data](a=1.0)),
        (Data(), MutableTangent[Data](a=1.0, name=NO)),
        (MyList([1.0]), Tangent[list](1.0)),
        (Plain(), Tangent[Plain](a=1.0)),
        (Sub(), Tangent[Plain](a=1.0)),
    ],
)
def test_matching_tangents_pass(x, dx):
    assert ProjectTo(x)(dx) is dx


@pytest.mark.parametrize("x", [(), [], {}, (True, "a"), ["a", [None]], {"k": "a"}, Point("a", None),
                               Data("a"), objects("a", None), ((), [])], ids=repr)  # fmt: skip
def test_where_nothing_can_be_perturbed_all_is_no_tangent(x):
    assert ProjectTo(x) is no_tangent


@pytest.mark.parametrize(
    "x, dx, error, match",
    [
        ((1.0, 2.0), (1.0,), ProjectionError, "of length 2 cannot have a cotangent of length 1"),
        ((1.0, 2.0), Tangent[tuple](1.0), ProjectionError, "length 2"),
        ((1.0, 2.0), np.ones(3), ProjectionError, "length 2"),
        (Point(1.0, 2.0), (1.0,), ProjectionError, "length 2"),
        ({"k": 1.0}, {"m": 1.0}, ProjectionError, r"keys \['k'\].*keys \['m'\]"),
        ({"k": 1.0}, Tangent[dict](m=1.0), ProjectionError, "keys"),
        (Data(), {"b": 1.0}, ProjectionError, "keys"),
        ((1.0,), 1.0, TangentTypeError, r"return a Tangent\[tuple\]"),
        ((1.0,), None, TangentTypeError, r"return a Tangent\[tuple\]"),
        ((1.0,), {"a": 1.0}, TangentTypeError, r"return a Tangent\[tuple\]"),
        ((1.0,), Tangent[list](1.0), TangentTypeError, r"Tangent\[list\] cannot be"),
        ({"k": 1.0}, [1.0], TangentTypeError, r"return a Tangent\[dict\]"),
        (Data(), 1.0, TangentTypeError, r"return a Tangent\[Data\]"),
        (Data(), Tangent[Plain](a=1.0), TangentTypeError, "cannot be"),
        (Plain(), Tangent[Data](a=1.0), TangentTypeError, "cannot be"),
        (Plain(), Tangent[Sub](a=1.0), TangentTypeError, "cannot be"),
    ],
)
def test_what_does_not_fit(x, dx, error, match):
    with pytest.raises(error, match=match):
        ProjectTo(x)(dx)


@pytest.mark.parametrize("x", [(1.0,), {"k": 1.0}, Data(), Plain()])
def test_special_tangents(x):
    missing = not_implemented("x")
    for special in (ZERO, NO, missing):
        assert ProjectTo(x)(special) is special
    natural = (1j,) if isinstance(x, tuple) else {"k": 1j} if isinstance(x, dict) else {"a": 1j}
    assert unthunk(ProjectTo(x)(thunk(lambda: natural))) == ProjectTo(x)(natural)


def test_plain_objects_are_known_by_their_class_alone():
    p = ProjectTo(Plain())
    assert p({"a": 1j}) == Tangent[Plain](a=1j)
    array = np.ones(2)
    assert p(array) is array


def test_arrays_of_objects():
    x = objects(1.0, (2.0, "a"), "b", np.ones(2, f4))
    p = ProjectTo(x)
    assert (p.shape, p.ndim, p.size, p.dtype) == ((4,), 1, 4, np.dtype(object))
    result = p(objects(1j, (1, 1), 5.0, np.ones(2)))
    assert (result[0], result[1], result[2]) == (0.0, Tangent[tuple](1.0, NO), NO)
    assert result[3].dtype == f4
    again = p(result)
    assert list(again[:3]) == list(result[:3])


def test_arrays_of_numbers_as_objects_take_arrays_of_numbers():
    p = ProjectTo(objects(1.0, 2.0))
    assert list(p(np.array([1j, 2.0]))) == [0.0, 2.0]
    assert p(np.array([[1.0, 2.0]])).shape == (2,)
    with pytest.raises(ProjectionError):
        p(np.ones(3))
    with pytest.raises(TangentTypeError):
        p([1.0, 2.0])


def test_what_contains_itself():
    x = [1.0]
    x.append(x)
    p = ProjectTo(x)
    assert p([1j, 5.0]) == Tangent[list](0.0, 5.0)
    assert p.parts[1] is identity
    d = Data()
    d.a = {"d": d}
    assert isinstance(ProjectTo(d)({"a": {}}), Tangent)


def test_the_same_value_twice_is_no_cycle():
    shared = [1.0]
    assert ProjectTo((shared, shared))(([1j], [2j])) == Tangent[tuple](
        Tangent[list](0.0), Tangent[list](0.0)
    )
