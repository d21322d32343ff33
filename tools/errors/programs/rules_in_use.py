"""Rules that the engine calls, and that return what does not fit."""

import numpy as np

from autodiff import DifferentiationError, gradient, ignore_derivatives, jacobian, pushforward
from chainrules_core import (
    InplaceableThunk,
    NoTangent,
    Tangent,
    frule,
    linear_rule,
    not_implemented,
    rrule,
    scalar_rule,
)
from chainrules_core.errors import BadInplaceError, CotangentError, NotImplementedTangentError
from tools.errors.entries import entry

# -- arguments -------------------------------------------------------------------------------------


@entry("A keyword that a rule does not differentiate", DifferentiationError)
def traced_keyword() -> None:
    def scaled(x, *, factor):
        return x * factor

    @rrule.register(scaled, float)
    def scaled_rrule(x, *, factor):
        return x * factor, lambda y_bar: (NoTangent(), y_bar * factor)

    gradient(lambda x: scaled(2.0 * x, factor=x), 3.0)


@traced_keyword.instead("Wrap it in ignore_derivatives, if it is a constant")
def constant_keyword() -> None:
    def scaled(x, *, factor):
        return x * factor

    @rrule.register(scaled, float)
    def scaled_rrule(x, *, factor):
        return x * factor, lambda y_bar: (NoTangent(), y_bar * factor)

    assert gradient(lambda x: scaled(2.0 * x, factor=ignore_derivatives(x)), 3.0) == 6.0


@traced_keyword.instead("Make it an argument that the rule differentiates")
def differentiated_argument() -> None:
    def scaled(x, factor):
        return x * factor

    @rrule.register(scaled, float, float)
    def scaled_rrule(x, factor):
        return x * factor, lambda y_bar: (NoTangent(), y_bar * factor, y_bar * x)

    assert gradient(lambda x: scaled(2.0 * x, x), 3.0) == 12.0


@entry("An argument that a linear rule takes for a constant", DifferentiationError)
def traced_constant_of_a_linear_rule() -> None:
    def scaled(x, factor):
        return x * factor

    linear_rule(scaled, lambda y_bar, x, factor: y_bar * factor, argnums=(0,))
    gradient(lambda x: np.sum(scaled(x, x)), np.ones(3))


@traced_constant_of_a_linear_rule.instead("Wrap it in ignore_derivatives, if it is a constant")
def constant_of_a_linear_rule() -> None:
    def scaled(x, factor):
        return x * factor

    linear_rule(scaled, lambda y_bar, x, factor: y_bar * factor, argnums=(0,))
    gradient(lambda x: np.sum(scaled(x, ignore_derivatives(x))), np.ones(3))


@entry("A function that has captured a traced value, where no rule looks", DifferentiationError)
def function_to_a_rule() -> None:
    def applied(x, f):
        return f(x)

    @rrule.register(applied, float, object)
    def applied_rrule(x, f):
        return f(x), lambda y_bar: (NoTangent(), y_bar, NoTangent())

    gradient(lambda x: applied(x, lambda t: t * x), 3.0)


@function_to_a_rule.instead("Let it capture a constant")
def function_with_a_constant() -> None:
    def applied(x, f):
        return f(x)

    @rrule.register(applied, float, object)
    def applied_rrule(x, f):
        return f(x), lambda y_bar: (NoTangent(), 3.0 * y_bar, NoTangent())

    def loss(x):
        slope = ignore_derivatives(x)
        return applied(x, lambda t: t * slope)

    assert gradient(loss, 3.0) == 3.0


@entry("A function as an option of a rule", DifferentiationError)
def function_as_an_option() -> None:
    def applied(x, *, by):
        return by(x)

    @rrule.register(applied, float)
    def applied_rrule(x, *, by):
        return by(x), lambda y_bar: (NoTangent(), y_bar)

    gradient(lambda x: applied(x, by=lambda t: t * x), 3.0)


@function_as_an_option.instead("Let it capture a constant")
def option_with_a_constant() -> None:
    def applied(x, *, by):
        return by(x)

    @rrule.register(applied, float)
    def applied_rrule(x, *, by):
        return by(x), lambda y_bar: (NoTangent(), 3.0 * y_bar)

    def loss(x):
        slope = ignore_derivatives(x)
        return applied(x, by=lambda t: t * slope)

    assert gradient(loss, 3.0) == 3.0


# -- cotangents of containers ----------------------------------------------------------------------


@entry("A cotangent with a field that the argument has not", CotangentError)
def cotangent_with_another_field() -> None:
    class Line:
        def __init__(self, slope):
            self.slope = slope

    def at_two(line):
        return line.slope * 2.0

    @rrule.register(at_two, Line)
    def at_two_rrule(line):
        return line.slope * 2.0, lambda y_bar: (NoTangent(), Tangent[Line](slop=2.0 * y_bar))

    gradient(lambda line: at_two(line), Line(1.0))


@cotangent_with_another_field.instead("Give it the fields of the argument")
def cotangent_with_the_field() -> None:
    class Line:
        def __init__(self, slope):
            self.slope = slope

    def at_two(line):
        return line.slope * 2.0

    @rrule.register(at_two, Line)
    def at_two_rrule(line):
        return line.slope * 2.0, lambda y_bar: (NoTangent(), Tangent[Line](slope=2.0 * y_bar))

    assert gradient(lambda line: at_two(line), Line(1.0)).slope == 2.0


@entry("A number as the cotangent of an object", CotangentError)
def number_for_an_object() -> None:
    class Line:
        def __init__(self, slope):
            self.slope = slope

    def at_two(line):
        return line.slope * 2.0

    @rrule.register(at_two, Line)
    def at_two_rrule(line):
        return line.slope * 2.0, lambda y_bar: (NoTangent(), 2.0 * y_bar)

    gradient(lambda line: at_two(line), Line(1.0))


@number_for_an_object.instead("Return a Tangent of the class")
def tangent_for_an_object() -> None:
    class Line:
        def __init__(self, slope):
            self.slope = slope

    def at_two(line):
        return line.slope * 2.0

    @rrule.register(at_two, Line)
    def at_two_rrule(line):
        return line.slope * 2.0, lambda y_bar: (NoTangent(), Tangent[Line](slope=2.0 * y_bar))

    assert gradient(lambda line: at_two(line), Line(1.0)).slope == 2.0


@entry("A list's cotangent is too short", CotangentError)
def short_cotangent_of_a_list() -> None:
    def total(values):
        return values[0] + values[1]

    @rrule.register(total, list)
    def total_rrule(values):
        return total(values), lambda y_bar: (NoTangent(), Tangent[list](y_bar))

    gradient(lambda x: total([x, 2 * x]), 3.0)


@short_cotangent_of_a_list.instead("Give it a part for each value")
def cotangent_of_a_list() -> None:
    def total(values):
        return values[0] + values[1]

    @rrule.register(total, list)
    def total_rrule(values):
        return total(values), lambda y_bar: (NoTangent(), Tangent[list](y_bar, y_bar))

    assert gradient(lambda x: total([x, 2 * x]), 3.0) == 3.0


# -- adding in place -------------------------------------------------------------------------------


@entry("add_into returns a new array", BadInplaceError)
def add_into_of_a_linear_rule() -> None:
    def doubled(x):
        return 2 * x

    def add_doubled(buffer, y_bar, x):
        return buffer + 2 * y_bar

    linear_rule(doubled, lambda y_bar, x: 2 * y_bar, add_into=add_doubled)
    gradient(lambda x: np.sum(doubled(x) + doubled(x)), np.ones(3))


@add_into_of_a_linear_rule.instead("Add in place, and return the buffer")
def add_into_in_place() -> None:
    def doubled(x):
        return 2 * x

    def add_doubled(buffer, y_bar, x):
        buffer += 2 * y_bar
        return buffer

    linear_rule(doubled, lambda y_bar, x: 2 * y_bar, add_into=add_doubled)
    gradient(lambda x: np.sum(doubled(x) + doubled(x)), np.ones(3))


@entry("A thunk that adds in place returns a new array", BadInplaceError)
def thunk_adds_to_a_new_array() -> None:
    def doubled(x):
        return 2 * x

    @rrule.register(doubled, np.ndarray)
    def doubled_rrule(x):
        def pull(y_bar):
            thunk = InplaceableThunk(lambda buffer: buffer + 2 * y_bar, lambda: 2 * y_bar)
            return NoTangent(), thunk

        return 2 * x, pull

    gradient(lambda x: np.sum(doubled(x) + doubled(x)), np.ones(3))


@thunk_adds_to_a_new_array.instead("Add in place, and return the buffer")
def thunk_adds_in_place() -> None:
    def doubled(x):
        return 2 * x

    @rrule.register(doubled, np.ndarray)
    def doubled_rrule(x):
        def pull(y_bar):
            def add(buffer):
                buffer += 2 * y_bar
                return buffer

            return NoTangent(), InplaceableThunk(add, lambda: 2 * y_bar)

        return 2 * x, pull

    gradient(lambda x: np.sum(doubled(x) + doubled(x)), np.ones(3))


# -- derivatives that a rule does not know ---------------------------------------------------------


@entry("A derivative that a rule does not know", NotImplementedTangentError)
def unknown_derivative() -> None:
    def bessel(order, x):
        return np.cos(order) * x

    @rrule.register(bessel, float, float)
    def bessel_rrule(order, x):
        missing = not_implemented("the derivative of bessel in its order")
        return bessel(order, x), lambda y_bar: (NoTangent(), missing, y_bar * np.cos(order))

    gradient(lambda order: bessel(order * 2, 3.0), 0.5)


@unknown_derivative.instead("Differentiate with respect to the others")
def known_derivative() -> None:
    def bessel(order, x):
        return np.cos(order) * x

    @rrule.register(bessel, float, float)
    def bessel_rrule(order, x):
        missing = not_implemented("the derivative of bessel in its order")
        return bessel(order, x), lambda y_bar: (NoTangent(), missing, y_bar * np.cos(order))

    gradient(lambda x: bessel(0.5, x), 3.0)


@entry("A tangent that a rule does not know", NotImplementedTangentError)
def unknown_tangent() -> None:
    def bessel(order, x):
        return np.cos(order) * x

    @frule.register(bessel, float, float)
    def bessel_frule(dots, order, x):
        return bessel(order, x), not_implemented("the derivative of bessel in its order")

    pushforward(lambda order: bessel(order, 3.0), 0.5)[1](1.0)


@unknown_tangent.instead("Give the function a rule that knows it")
def known_tangent() -> None:
    def bessel(order, x):
        return np.cos(order) * x

    @frule.register(bessel, float, float)
    def bessel_frule(dots, order, x):
        order_dot, x_dot = dots
        return bessel(order, x), -np.sin(order) * order_dot * x + np.cos(order) * x_dot

    pushforward(lambda order: bessel(order, 3.0), 0.5)[1](1.0)


@entry("A Jacobian by what a rule does not know", NotImplementedTangentError)
def jacobian_of_an_unknown_derivative() -> None:
    def bessel(order, x):
        return np.cos(order) * x

    missing = not_implemented("the derivative of bessel in its order")
    scalar_rule(bessel, missing, lambda y, order, x: np.cos(order))
    jacobian(lambda order: np.array([1.0, 2.0]) * bessel(order, 3.0), 0.5, mode="reverse")


@jacobian_of_an_unknown_derivative.instead("Differentiate with respect to the others")
def jacobian_of_a_known_derivative() -> None:
    def bessel(order, x):
        return np.cos(order) * x

    missing = not_implemented("the derivative of bessel in its order")
    scalar_rule(bessel, missing, lambda y, order, x: np.cos(order))
    jacobian(lambda x: np.array([1.0, 2.0]) * bessel(0.5, x), 3.0, mode="reverse")
