"""What a differentiated function returns, and what its pullback or pushforward is given."""

import numpy as np

from autodiff import (
    DifferentiationError,
    OutputError,
    SeedError,
    gradient,
    jacobian,
    jvp,
    pullback,
    pushforward,
    value_and_gradient,
    vhp,
)
from tools.errors.entries import entry

# -- outputs ---------------------------------------------------------------------------------------


@entry("The function returns an array", OutputError)
def returns_an_array() -> None:
    gradient(lambda x: x * 2, np.ones(3))


@returns_an_array.instead("Sum it")
def sum_of_an_array() -> None:
    gradient(lambda x: np.sum(x * 2), np.ones(3))


@returns_an_array.instead("Give a cotangent for the array")
def pullback_of_an_array() -> None:
    _, back = pullback(lambda x: x * 2, np.ones(3))
    back(np.ones(3))


@returns_an_array.instead("Take the Jacobian")
def jacobian_of_an_array() -> None:
    assert np.array_equal(jacobian(lambda x: x * 2, np.ones(3)), 2 * np.eye(3))


@entry("A return statement is missing", OutputError)
def returns_nothing() -> None:
    def loss(x):
        total = np.sum(x**2)
        total /= len(x)

    gradient(loss, np.ones(3))


@returns_nothing.instead("Return the value")
def returns_the_value() -> None:
    def loss(x):
        total = np.sum(x**2)
        return total / len(x)

    gradient(loss, np.ones(3))


@entry("The function returns a complex number", OutputError)
def returns_a_complex_number() -> None:
    gradient(lambda x: np.exp(1j * x), 0.5)


@returns_a_complex_number.instead("Return a real number")
def returns_a_real_part() -> None:
    assert gradient(lambda x: np.real(np.exp(1j * x)), 0.0) == 0.0


@returns_a_complex_number.instead("Give a cotangent of your choice")
def pullback_of_a_complex_number() -> None:
    _, back = pullback(lambda x: np.exp(1j * x), 0.0)
    assert back(1j) == 1.0


@entry("The function returns a pair", OutputError)
def returns_a_pair() -> None:
    gradient(lambda x: (x**2, "step 1"), 3.0)


@returns_a_pair.instead("Say that the second part is auxiliary")
def auxiliary_output() -> None:
    made = value_and_gradient(lambda x: (x**2, "step 1"), 3.0, has_aux=True)
    assert made == ((9.0, "step 1"), 6.0)


@returns_a_pair.instead("For the derivatives of both, give a cotangent for each")
def pullback_of_a_pair() -> None:
    _, back = pullback(lambda x: (x**2, 3 * x), 3.0)
    assert back((1.0, 1.0)) == 9.0


@entry("has_aux=True, and no pair is returned", OutputError)
def auxiliary_output_missing() -> None:
    value_and_gradient(lambda x: x**2, 3.0, has_aux=True)


@auxiliary_output_missing.instead("Return a pair")
def auxiliary_output_returned() -> None:
    made = value_and_gradient(lambda x: (x**2, {"x": x}), 3.0, has_aux=True)
    assert made == ((9.0, {"x": 3.0}), 6.0)


@auxiliary_output_missing.instead("Leave has_aux out")
def no_auxiliary_output() -> None:
    assert value_and_gradient(lambda x: x**2, 3.0) == (9.0, 6.0)


@entry("The Jacobian of complex numbers", OutputError)
def jacobian_of_complex_numbers() -> None:
    jacobian(lambda x: np.exp(1j * x), np.array([0.5, 1.0]))


@jacobian_of_complex_numbers.instead("Return the real and imaginary parts")
def jacobian_of_parts() -> None:
    def parts(x):
        y = np.exp(1j * x)
        return np.real(y), np.imag(y)

    jacobian(parts, np.array([0.5, 1.0]))


# -- cotangents ------------------------------------------------------------------------------------


@entry("The cotangents of several parts, not as one tuple", SeedError)
def cotangents_one_by_one() -> None:
    _, back = pullback(lambda x: (x**2, 3 * x), 2.0)
    back(1.0, 1.0)


@cotangents_one_by_one.instead("Give them as one tuple")
def cotangents_as_a_tuple() -> None:
    _, back = pullback(lambda x: (x**2, 3 * x), 2.0)
    assert back((1.0, 1.0)) == 7.0


@entry("A cotangent of another shape", SeedError)
def cotangent_of_another_shape() -> None:
    _, back = pullback(lambda x: x * 2, np.ones(3))
    back(1.0)


@cotangent_of_another_shape.instead("Give one like the output")
def cotangent_like_the_output() -> None:
    y, back = pullback(lambda x: x * 2, np.ones(3))
    back(np.ones_like(y))


@entry("A cotangent that is a list", SeedError)
def cotangent_is_a_list() -> None:
    _, back = pullback(lambda x: x * 2, np.ones(2))
    back([1.0, 1.0])


@cotangent_is_a_list.instead("Give an array")
def cotangent_is_an_array() -> None:
    _, back = pullback(lambda x: x * 2, np.ones(2))
    back(np.array([1.0, 1.0]))


@entry("A cotangent of objects", SeedError)
def cotangent_of_objects() -> None:
    _, back = pullback(lambda x: x * 2, np.ones(2))
    back(np.array([1.0, None]))


@cotangent_of_objects.instead("Give an array of numbers, 0 where nothing arrives")
def cotangent_of_numbers() -> None:
    _, back = pullback(lambda x: x * 2, np.ones(2))
    back(np.array([1.0, 0.0]))


@entry("A cotangent for a key that the output does not have", SeedError)
def cotangent_for_an_unknown_key() -> None:
    _, back = pullback(lambda x: {"loss": x**2}, 2.0)
    back({"los": 1.0})


@cotangent_for_an_unknown_key.instead("Give it for a key of the output")
def cotangent_for_a_known_key() -> None:
    _, back = pullback(lambda x: {"loss": x**2}, 2.0)
    assert back({"loss": 1.0}) == 4.0


@entry("No cotangent for a key of the output", SeedError)
def cotangent_without_a_key() -> None:
    _, back = pullback(lambda x: {"loss": x**2, "size": 3 * x}, 2.0)
    back({"loss": 1.0})


@cotangent_without_a_key.instead("Give one for each key")
def cotangent_for_each_key() -> None:
    _, back = pullback(lambda x: {"loss": x**2, "size": 3 * x}, 2.0)
    assert back({"loss": 1.0, "size": 0.0}) == 4.0


@entry("Too few cotangents", SeedError)
def too_few_cotangents() -> None:
    _, back = pullback(lambda x: (x**2, 3 * x), 2.0)
    back((1.0,))


@too_few_cotangents.instead("Give one for each part, None where it does not count")
def cotangent_for_each_part() -> None:
    _, back = pullback(lambda x: (x**2, 3 * x), 2.0)
    assert back((1.0, None)) == 4.0


@entry("A number as the cotangent of a dict", SeedError)
def number_for_a_dict() -> None:
    _, back = pullback(lambda x: {"loss": x**2}, 2.0)
    back(1.0)


@number_for_a_dict.instead("Give a dict")
def dict_for_a_dict() -> None:
    _, back = pullback(lambda x: {"loss": x**2}, 2.0)
    assert back({"loss": 1.0}) == 4.0


# -- tangents --------------------------------------------------------------------------------------


@entry("A function that is pushed forward twice returns another value", DifferentiationError)
def pushed_twice() -> None:
    x = np.ones(2)
    _, push = pushforward(lambda x: x * x, x)
    push(np.ones(2))
    x[0] = 3.0
    push(np.ones(2))


@pushed_twice.instead("Give it an array of its own")
def pushed_twice_with_a_copy() -> None:
    x = np.ones(2)
    _, push = pushforward(lambda x: x * x, x.copy())
    x[0] = 3.0
    assert push(np.ones(2))[0] == 2.0


@entry("Too few tangents", SeedError)
def too_few_tangents() -> None:
    _, push = pushforward(lambda x, y: x * y, 2.0, 3.0)
    push(1.0)


@too_few_tangents.instead("Give one for each argument, 0.0 where it does not move")
def tangent_for_each_argument() -> None:
    _, push = pushforward(lambda x, y: x * y, 2.0, 3.0)
    assert push(1.0, 0.0) == 3.0


@too_few_tangents.instead("Name the argument that moves")
def tangent_for_one_argument() -> None:
    _, push = pushforward(lambda x, y: x * y, 2.0, 3.0, argnums=0)
    assert push(1.0) == 3.0


@entry("A tangent that is a list", SeedError)
def tangent_is_a_list() -> None:
    _, push = pushforward(lambda x: x * 2, np.ones(2))
    push([1.0, 0.0])


@tangent_is_a_list.instead("Give an array")
def tangent_is_an_array() -> None:
    _, push = pushforward(lambda x: x * 2, np.ones(2))
    push(np.array([1.0, 0.0]))


@entry("A tangent of another shape", SeedError)
def tangent_of_another_shape() -> None:
    _, push = pushforward(lambda x: x * 2, np.ones(3))
    push(1.0)


@tangent_of_another_shape.instead("Give one like the argument")
def tangent_like_the_argument() -> None:
    _, push = pushforward(lambda x: x * 2, np.ones(3))
    push(np.ones(3))


@entry("A number as the tangent of a dict", SeedError)
def number_as_tangent_of_a_dict() -> None:
    _, push = pushforward(lambda p: p["slope"] * 2, {"slope": 1.0})
    push(1.0)


@number_as_tangent_of_a_dict.instead("Give a dict")
def dict_as_tangent_of_a_dict() -> None:
    _, push = pushforward(lambda p: p["slope"] * 2, {"slope": 1.0})
    assert push({"slope": 1.0}) == 2.0


@entry("Two tangents for one object", SeedError)
def two_tangents_for_one_object() -> None:
    layer = [1.0, 2.0]
    jvp(lambda layers: layers[0][0] * layers[1][1], ((layer, layer),), (([1.0, 0.0], [0.0, 1.0]),))


@two_tangents_for_one_object.instead("Give two objects")
def two_tangents_for_two_objects() -> None:
    layers = ([1.0, 2.0], [1.0, 2.0])
    slope = jvp(lambda p: p[0][0] * p[1][1], (layers,), (([1.0, 0.0], [0.0, 1.0]),))[1]
    assert slope == 3.0


@entry("A vector of another shape", SeedError)
def vector_of_another_shape() -> None:
    vhp(lambda x: np.sum(x**3), np.ones(3), np.ones(2))


@vector_of_another_shape.instead("Give one of the shape of the argument")
def vector_of_the_same_shape() -> None:
    assert np.all(vhp(lambda x: np.sum(x**3), np.ones(3), np.ones(3)) == 6.0)
