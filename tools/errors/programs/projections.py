"""Cotangents that do not fit the argument that they belong to."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from chainrules_core import (
    ProjectionError,
    ProjectTo,
    Tangent,
    TangentTypeError,
    ZeroTangent,
    unbroadcast,
)
from tools.errors.entries import entry


@entry("An array for a number", ProjectionError, has_line=False)
def array_for_a_number() -> None:
    ProjectTo(2.0)(np.ones(3))


@array_for_a_number.instead("Sum it")
def sum_for_a_number() -> None:
    assert ProjectTo(2.0)(unbroadcast(np.ones(3), ())) == 3.0


@entry("An array of another shape", ProjectionError, has_line=False)
def matrix_for_a_vector() -> None:
    ProjectTo(np.ones(3))(np.ones((4, 3)))


@matrix_for_a_vector.instead("Sum it over the axes that were broadcast")
def summed_for_a_vector() -> None:
    x_bar = unbroadcast(np.ones((4, 3)), (3,))
    assert ProjectTo(np.ones(3))(x_bar)[0] == 4.0


@entry("Too few axes to undo broadcasting", ProjectionError, has_line=False)
def vector_for_a_matrix() -> None:
    unbroadcast(np.ones(3), (4, 3))


@vector_for_a_matrix.instead("Make the cotangent of the shape that was broadcast to")
def spread_for_a_matrix() -> None:
    x_bar = np.broadcast_to(np.ones(3), (4, 3))
    assert unbroadcast(x_bar, (4, 3)).shape == (4, 3)


@entry("An array of text", TangentTypeError, has_line=False)
def text_for_numbers() -> None:
    ProjectTo(np.ones(2))(np.array(["0.5", "1.5"]))


@text_for_numbers.instead("Make it numbers")
def floats_for_numbers() -> None:
    x_bar = np.array(["0.5", "1.5"]).astype(float)
    assert ProjectTo(np.ones(2))(x_bar)[1] == 1.5


@entry("None for an array", TangentTypeError, has_line=False)
def none_for_an_array() -> None:
    ProjectTo(np.ones(2))(None)


@none_for_an_array.instead("Return a zero")
def zeros_for_an_array() -> None:
    assert not ProjectTo(np.ones(2))(np.zeros(2)).any()


@entry("A structural tangent for a number", TangentTypeError, has_line=False)
def structure_for_a_number() -> None:
    ProjectTo(2.0)(Tangent[tuple](1.0, 2.0))


@structure_for_a_number.instead("Return a number")
def number_for_a_number() -> None:
    assert ProjectTo(2.0)(1.0 + 2.0) == 3.0


@entry("The tangent of another class", TangentTypeError, has_line=False)
def tuple_for_a_list() -> None:
    ProjectTo([1.0, 2.0])(Tangent[tuple](1.0, 2.0))


@tuple_for_a_list.instead("Return a tangent of the argument's class")
def list_for_a_list() -> None:
    assert ProjectTo([1.0, 2.0])(Tangent[list](1.0, 2.0))[1] == 2.0


@entry("A number for a tuple", TangentTypeError, has_line=False)
def number_for_a_tuple() -> None:
    ProjectTo((1.0, 2.0))(0.5)


@number_for_a_tuple.instead("Return a Tangent")
def tangent_for_a_tuple() -> None:
    assert ProjectTo((1.0, 2.0))(Tangent[tuple](0.5, 0.5))[0] == 0.5


@entry("Too few parts for a tuple", ProjectionError, has_line=False)
def short_for_a_tuple() -> None:
    ProjectTo((1.0, 2.0, "linear"))(Tangent[tuple](0.5, 0.5))


@short_for_a_tuple.instead("Return one part for each element")
def all_for_a_tuple() -> None:
    x_bar = Tangent[tuple](0.5, 0.5, ZeroTangent())
    assert len(ProjectTo((1.0, 2.0, "linear"))(x_bar)) == 3


@entry("A number for a dataclass", TangentTypeError, has_line=False)
def number_for_a_dataclass() -> None:
    @dataclass
    class Model:
        slope: float

    ProjectTo(Model(1.0))(0.5)


@number_for_a_dataclass.instead("Return a Tangent")
def tangent_for_a_dataclass() -> None:
    @dataclass
    class Model:
        slope: float

    assert ProjectTo(Model(1.0))(Tangent[Model](slope=0.5)).slope == 0.5


@entry("Too few parts for a named tuple's fields", ProjectionError, has_line=False)
def short_for_a_named_tuple() -> None:
    class Point(NamedTuple):
        x: float
        y: float

    ProjectTo(Point(1.0, 2.0))((0.5,))


@short_for_a_named_tuple.instead("Return one part for each element")
def all_for_a_named_tuple() -> None:
    class Point(NamedTuple):
        x: float
        y: float

    assert ProjectTo(Point(1.0, 2.0))((0.5, 0.0)).x == 0.5


@entry("A key that the argument does not have", ProjectionError, has_line=False)
def unknown_key() -> None:
    ProjectTo({"slope": 1.0, "offset": 2.0})({"intercept": 0.5})


@unknown_key.instead("Return keys of the argument; what is left out is zero")
def known_key() -> None:
    x_bar = ProjectTo({"slope": 1.0, "offset": 2.0})({"offset": 0.5})
    assert x_bar["offset"] == 0.5


@entry("Another shape for a sparse array", ProjectionError, has_line=False)
def wide_for_a_sparse_array() -> None:
    ProjectTo(sparse.eye_array(3, format="csr"))(np.ones((3, 4)))


@wide_for_a_sparse_array.instead("Return the shape of the argument")
def square_for_a_sparse_array() -> None:
    assert ProjectTo(sparse.eye_array(3, format="csr"))(np.ones((3, 3))).nnz == 3
