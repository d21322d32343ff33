"""Primal + tangent, and building values from their fields."""

from collections import deque
from dataclasses import dataclass

from chainrules_core import (
    NoTangent,
    PrimalAdditionError,
    Tangent,
    TangentTypeError,
    ZeroTangent,
    add_tangent,
    construct,
)
from tools.errors.entries import entry


@entry("A bare container is added to a container", TangentTypeError, has_line=False)
def list_moved_by_a_list() -> None:
    add_tangent([1.0, 2.0], [0.1, 0.1])


@list_moved_by_a_list.instead("Give its Tangent")
def list_moved_by_a_tangent() -> None:
    assert add_tangent([1.0, 2.0], Tangent[list](0.5, 0.5)) == [1.5, 2.5]


@entry("A bare tuple is added to a number", TangentTypeError, has_line=False)
def number_moved_by_a_tuple() -> None:
    add_tangent(1.0, (0.5,))


@number_moved_by_a_tuple.instead("Give a number")
def number_moved_by_a_number() -> None:
    assert add_tangent(1.0, 0.5) == 1.5


@entry("A tangent of another class is added", TangentTypeError, has_line=False)
def list_moved_by_a_tuple() -> None:
    add_tangent([1.0, 2.0], Tangent[tuple](0.5, 0.5))


@list_moved_by_a_tuple.instead("Make it with the class of the primal")
def list_moved_by_its_own() -> None:
    primal = [1.0, 2.0]
    assert add_tangent(primal, Tangent[type(primal)](0.5, 0.5)) == [1.5, 2.5]


@entry("A tangent of another length is added", TangentTypeError, has_line=False)
def pair_moved_by_one_part() -> None:
    add_tangent((1.0, 2.0), Tangent[tuple](0.5))


@pair_moved_by_one_part.instead("Give one part for each element")
def pair_moved_by_two_parts() -> None:
    assert add_tangent((1.0, 2.0), Tangent[tuple](0.5, ZeroTangent())) == (1.5, 2.0)


@entry("A field is moved that the object does not have", TangentTypeError, has_line=False)
def absent_field_moved() -> None:
    class Model:
        def __init__(self) -> None:
            self.slope, self.offset = 1.0, 2.0

    add_tangent(Model(), Tangent[Model](intercept=0.5))


@absent_field_moved.instead("Use a field that the message lists")
def offset_moved() -> None:
    class Model:
        def __init__(self) -> None:
            self.slope, self.offset = 1.0, 2.0

    assert add_tangent(Model(), Tangent[Model](offset=0.5)).offset == 2.5


@entry("A value that cannot be perturbed is moved", PrimalAdditionError, has_line=False)
def text_moved() -> None:
    add_tangent("linear", 0.5)


@text_moved.instead("Give it NoTangent()")
def text_kept() -> None:
    assert add_tangent("linear", NoTangent()) == "linear"
    assert add_tangent((1.0, "linear"), Tangent[tuple](0.5, NoTangent())) == (1.5, "linear")


@entry("An object is moved by a number", PrimalAdditionError, has_line=False)
def object_moved_by_a_number() -> None:
    @dataclass
    class Model:
        slope: float

    add_tangent(Model(1.0), 0.5)


@object_moved_by_a_number.instead("Give a Tangent of its fields")
def object_moved_by_its_tangent() -> None:
    @dataclass
    class Model:
        slope: float

    assert add_tangent(Model(1.0), Tangent[Model](slope=0.5)) == Model(1.5)


@object_moved_by_a_number.instead("Or define what adding a number means")
def object_with_addition() -> None:
    @dataclass
    class Model:
        slope: float

        def __add__(self, number: float) -> "Model":
            return Model(self.slope + number)

    assert add_tangent(Model(1.0), 0.5) == Model(1.5)


@entry("The class of a moved object needs another constructor", PrimalAdditionError, has_line=False)
def point_moved() -> None:
    class Point(tuple):
        def __new__(cls, x: float, y: float) -> "Point":
            return super().__new__(cls, (x, y))

    add_tangent(Point(1.0, 2.0), Tangent[Point](0.5, 0.5))


@point_moved.instead("Say how to build one")
def point_built() -> None:
    class Point(tuple):
        def __new__(cls, x: float, y: float) -> "Point":
            return super().__new__(cls, (x, y))

    @construct.register(Point)
    def construct_point(primal: Point, fields: list) -> Point:
        return Point(*fields)

    assert add_tangent(Point(1.0, 2.0), Tangent[Point](0.5, 0.5)) == (1.5, 2.5)


@entry("A class with contents in C is built from fields", PrimalAdditionError, has_line=False)
def deque_constructed() -> None:
    construct(deque([1.0, 2.0]), {"maxlen": 2})


@deque_constructed.instead("Say how to build one")
def deque_registered() -> None:
    class History(deque):
        pass

    @construct.register(History)
    def construct_history(primal: History, fields: dict) -> History:
        return History(primal, **fields)

    assert construct(History([1.0, 2.0, 3.0]), {"maxlen": 2}) == History([2.0, 3.0])
