"""Nests of parameters: as vectors, and several of them together."""

import numpy as np

from autodiff import ArgumentError, gradient, ravel, tree_add
from autodiff.api.trees import Ravelling
from tools.errors.entries import entry


@entry("A vector of another length than the nest", ArgumentError)
def longer_vector() -> None:
    _, nest = ravel({"a": 1.0, "b": np.ones(2)})
    nest(np.ones(4))


@longer_vector.instead("Give one that is as long as the nest")
def fitting_vector() -> None:
    vector, nest = ravel({"a": 1.0, "b": np.ones(2)})
    assert nest(2 * vector)["a"] == 2.0


@entry("A complex vector for a nest of real numbers", ArgumentError)
def complex_vector() -> None:
    vector, nest = ravel([1.0, 2.0])
    nest(vector * 1j)


@complex_vector.instead("Keep it real")
def real_vector() -> None:
    vector, nest = ravel([1.0, 2.0])
    assert nest((vector * 1j).imag) == [1.0, 2.0]


@complex_vector.instead("Make the numbers of the nest complex")
def complex_nest() -> None:
    vector, nest = ravel([1 + 0j, 2 + 0j])
    assert nest(vector * 1j) == [1j, 2j]


@entry("A nest of another form than the vector was made of", ArgumentError)
def another_form() -> None:
    Ravelling({"a": np.ones(3)}).vector({"a": np.ones(2)})


@another_form.instead("Give a nest of the same shapes")
def same_form() -> None:
    Ravelling({"a": np.ones(3)}).vector({"a": np.zeros(3)})


@entry("None in the place of a variable", ArgumentError)
def none_for_a_variable() -> None:
    tree_add({"a": 1.0, "b": 2.0}, {"a": 0.5, "b": None})


@none_for_a_variable.instead("Give zeros")
def zero_for_a_variable() -> None:
    assert tree_add({"a": 1.0, "b": 2.0}, {"a": 0.5, "b": 0.0}) == {"a": 1.5, "b": 2.0}


@entry("A number in the place of a container", ArgumentError)
def number_for_a_container() -> None:
    tree_add({"a": [1.0, 2.0]}, {"a": 0.5})


@number_for_a_container.instead("Give a nest of the same structure")
def container_for_a_container() -> None:
    assert tree_add({"a": [1.0, 2.0]}, {"a": [0.5, 0.5]}) == {"a": [1.5, 2.5]}


@entry("Nests with other parts", ArgumentError)
def other_parts() -> None:
    tree_add({"a": 1.0, "b": 2.0}, {"a": 0.5})


@other_parts.instead("Take the gradient by the whole nest")
def whole_gradient() -> None:
    params = {"a": 1.0, "b": 2.0}
    assert tree_add(params, gradient(lambda p: p["a"], params)) == {"a": 2.0, "b": 2.0}
