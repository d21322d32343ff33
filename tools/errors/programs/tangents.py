"""Structural tangents, and arithmetic of tangents."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from chainrules_core import (
    MutableTangent,
    ProjectionError,
    ProjectTo,
    Tangent,
    TangentTypeError,
    ZeroTangent,
    add,
    backing,
    inner,
    norm,
    scale,
)
from tools.errors.entries import entry

# -- making them -----------------------------------------------------------------------------------


@entry("The index of Tangent is not a class", TangentTypeError, has_line=False)
def tangent_of_a_value() -> None:
    weights = [1.0, 2.0]
    Tangent[weights](0.1, 0.2)


@tangent_of_a_value.instead("Use the class of the primal as index")
def tangent_of_a_class() -> None:
    weights = [1.0, 2.0]
    Tangent[type(weights)](0.1, 0.2)


@tangent_of_a_value.instead("Or use Any where the class is not known")
def tangent_of_any() -> None:
    assert Tangent[Any](a=0.1).a == 0.1


@entry("Tangent is indexed twice", TangentTypeError, has_line=False)
def indexed_twice() -> None:
    Tangent[tuple][float](1.0, 2.0)


@indexed_twice.instead("Give it the parts")
def indexed_once() -> None:
    assert Tangent[tuple](1.0, 2.0)[0] == 1.0


@entry("A tangent without the class of its primal", TangentTypeError, has_line=False)
def tangent_of_nothing() -> None:
    Tangent(a=1.0)


@tangent_of_nothing.instead("Name the class of the primal")
def tangent_of_a_point() -> None:
    @dataclass
    class Point:
        a: float

    assert Tangent[Point](a=1.0).a == 1.0


@tangent_of_nothing.instead("Or say that it is not known")
def tangent_of_an_unknown_class() -> None:
    assert Tangent[Any](a=1.0).a == 1.0


@entry("The parts of a sequence's tangent have names", TangentTypeError, has_line=False)
def tuple_by_keywords() -> None:
    Tangent[tuple](first=1.0, second=2.0)


@tuple_by_keywords.instead("Give them by position")
def tuple_by_position() -> None:
    assert Tangent[tuple](1.0, 2.0)[1] == 2.0


@entry("The parts of an object's tangent have no names", TangentTypeError, has_line=False)
def dataclass_by_position() -> None:
    @dataclass
    class Point:
        x: float
        y: float

    Tangent[Point](1.0, 2.0)


@dataclass_by_position.instead("Give them by name")
def dataclass_by_name() -> None:
    @dataclass
    class Point:
        x: float
        y: float

    assert Tangent[Point](x=1.0, y=2.0).y == 2.0


@entry("Too few parts for a named tuple", TangentTypeError, has_line=False)
def too_few_parts() -> None:
    class Point(NamedTuple):
        x: float
        y: float

    Tangent[Point](1.0)


@too_few_parts.instead("Give by name what is not zero")
def some_parts_by_name() -> None:
    class Point(NamedTuple):
        x: float
        y: float

    assert Tangent[Point](x=1.0).y is ZeroTangent()


@entry("The primal has no field of that name", TangentTypeError, has_line=False)
def field_misspelt() -> None:
    @dataclass
    class Layer:
        weights: np.ndarray
        bias: float

    Tangent[Layer](wieghts=np.ones(2))


@field_misspelt.instead("Use a field that the message lists")
def field_spelt_right() -> None:
    @dataclass
    class Layer:
        weights: np.ndarray
        bias: float

    assert Tangent[Layer](weights=np.ones(2)).bias is ZeroTangent()


@entry("A MutableTangent with a field left out", TangentTypeError, has_line=False)
def mutable_without_a_field() -> None:
    @dataclass
    class State:
        position: float
        speed: float

    MutableTangent[State](position=1.0)


@mutable_without_a_field.instead("Give ZeroTangent() for it")
def mutable_with_all_fields() -> None:
    @dataclass
    class State:
        position: float
        speed: float

    state_dot = MutableTangent[State](position=1.0, speed=ZeroTangent())
    state_dot.speed = 2.0
    assert state_dot.speed == 2.0


@entry("A number has no backing", TangentTypeError, has_line=False)
def backing_of_a_number() -> None:
    backing(1.0)


@backing_of_a_number.instead("Ask for the backing of a structure alone")
def backing_of_structures() -> None:
    parts = [backing(t) if isinstance(t, Tangent) else (t,) for t in (1.0, Tangent[tuple](2.0))]
    assert parts == [(1.0,), (2.0,)]


# -- calculating with them -------------------------------------------------------------------------


@entry("A bare tuple in arithmetic of tangents", TangentTypeError, has_line=False)
def bare_tuple() -> None:
    scale((1.0, 2.0), 3.0)


@bare_tuple.instead("Make it a Tangent")
def tangent_of_a_tuple() -> None:
    assert scale(Tangent[tuple](1.0, 2.0), 3.0) == Tangent[tuple](3.0, 6.0)


@entry("A bare set in arithmetic of tangents", TangentTypeError, has_line=False)
def bare_set() -> None:
    norm({3.0, 4.0})


@bare_set.instead("Use a container that has places")
def norm_of_a_list() -> None:
    assert norm(Tangent[list](3.0, 4.0)) == 5.0


@entry("A structural tangent plus an array", TangentTypeError, has_line=False)
def structure_plus_array() -> None:
    add(Tangent[tuple](1.0, 2.0), np.array([0.5, 0.5]))


@structure_plus_array.instead("Give both the form of the primal's tangent")
def both_projected() -> None:
    project = ProjectTo((1.0, 1.0))
    total = add(Tangent[tuple](1.0, 2.0), project(np.array([0.5, 0.5])))
    assert total == Tangent[tuple](1.5, 2.5)


@entry("Tangents of different classes are added", TangentTypeError, has_line=False)
def list_plus_tuple() -> None:
    Tangent[list](1.0, 2.0) + Tangent[tuple](1.0, 2.0)


@list_plus_tuple.instead("Make both with the class of the primal")
def list_plus_list() -> None:
    primal = [3.0, 4.0]
    kind = Tangent[type(primal)]
    assert kind(1.0, 2.0) + kind(1.0, 2.0) == Tangent[list](2.0, 4.0)


@entry("Tangents of different lengths are added", TangentTypeError, has_line=False)
def two_plus_three() -> None:
    Tangent[tuple](1.0, 2.0) + Tangent[tuple](1.0, 2.0, 3.0)


@two_plus_three.instead("Give zeros where an element does not change")
def three_plus_three() -> None:
    total = Tangent[tuple](1.0, 2.0, ZeroTangent()) + Tangent[tuple](1.0, 2.0, 3.0)
    assert total == Tangent[tuple](2.0, 4.0, 3.0)


@entry("Parts by position plus parts by name", TangentTypeError, has_line=False)
def position_plus_name() -> None:
    Tangent[Any](1.0, 2.0) + Tangent[Any](x=1.0, y=2.0)


@position_plus_name.instead("Give both by name")
def name_plus_name() -> None:
    total = Tangent[Any](x=1.0, y=2.0) + Tangent[Any](x=1.0, y=2.0)
    assert total == Tangent[Any](x=2.0, y=4.0)


@entry("A structural tangent is made an array", TangentTypeError, has_line=False)
def array_of_a_structure() -> None:
    np.asarray(Tangent[tuple](1.0, 2.0)).sum()


@array_of_a_structure.instead("Calculate with its parts")
def sum_of_the_parts() -> None:
    t = Tangent[tuple](1.0, 2.0)
    assert t[0] + t[1] == 3.0
    assert Tangent.map(t, np.square) == Tangent[tuple](1.0, 4.0)


@entry("The inner product of tangents of different shapes", ProjectionError, has_line=False)
def inner_of_two_shapes() -> None:
    inner(np.ones(3), np.ones((3, 1)))


@inner_of_two_shapes.instead("Give both the shape of the primal")
def inner_of_one_shape() -> None:
    assert inner(np.ones(3), np.reshape(np.ones((3, 1)), 3)) == 3.0
