"""What is differentiated, with respect to what, and with which options."""

import ctypes
import tempfile
from pathlib import Path

import numpy as np

from autodiff import (
    ArgumentError,
    OutputError,
    captured_gradient,
    compile,
    cotangent_hook,
    derivative,
    explain,
    grad,
    gradient,
    jacobian,
    jvp,
    numeric_fallback,
    pushforward,
)
from tools.errors.entries import entry

# -- the arguments ---------------------------------------------------------------------------------


@entry("The value in place of the function", ArgumentError)
def value_for_the_function() -> None:
    def loss(x):
        return x**2

    gradient(loss(3.0), 3.0)


@value_for_the_function.instead("Give the function itself")
def the_function_itself() -> None:
    def loss(x):
        return x**2

    assert gradient(loss, 3.0) == 6.0


@entry("A function without arguments", ArgumentError)
def without_arguments() -> None:
    gradient(lambda x: x**2)


@without_arguments.instead("Give the point after the function")
def with_arguments() -> None:
    assert gradient(lambda x: x**2, 3.0) == 6.0


@entry("No argument is chosen", ArgumentError)
def no_argument_chosen() -> None:
    gradient(lambda x, y: x * y, 3.0, 2.0, argnums=())


@no_argument_chosen.instead("Choose by position, or leave argnums out for all")
def argument_chosen() -> None:
    assert gradient(lambda x, y: x * y, 3.0, 2.0, argnums=0) == 2.0
    assert gradient(lambda x, y: x * y, 3.0, 2.0) == (2.0, 3.0)


@entry("An argument is chosen that is not there", ArgumentError)
def argument_not_there() -> None:
    gradient(lambda x, y: x * y, 3.0, 2.0, argnums=2)


@argument_not_there.instead("Count from 0")
def last_argument() -> None:
    assert gradient(lambda x, y: x * y, 3.0, 2.0, argnums=1) == 3.0


@entry("A value in the place of a position", ArgumentError)
def value_for_position() -> None:
    grad(lambda x: x**2, 3.0)


@value_for_position.instead("Give the point to the function that is returned, or use gradient")
def value_to_the_gradient() -> None:
    assert grad(lambda x: x**2)(3.0) == gradient(lambda x: x**2, 3.0) == 6.0


@entry("A mistyped option", ArgumentError)
def mistyped_option() -> None:
    gradient(lambda x, y: x * y, 3.0, 2.0, argnum=1)


@mistyped_option.instead("Write argnums")
def option() -> None:
    assert gradient(lambda x, y: x * y, 3.0, 2.0, argnums=1) == 3.0


@entry("A number in the place of a tuple of arguments", ArgumentError)
def jvp_of_numbers() -> None:
    jvp(lambda x: x**2, 3.0, 1.0)


@jvp_of_numbers.instead("Give tuples, or use derivative")
def jvp_of_tuples() -> None:
    assert jvp(lambda x: x**2, (3.0,), (1.0,)) == (9.0, 6.0)
    assert derivative(lambda x: x**2, 3.0) == 6.0


@entry("An array of integers", ArgumentError)
def array_of_integers() -> None:
    gradient(lambda x: np.sum(x**2), np.array([1, 2, 3]))


@array_of_integers.instead("Convert it to floats")
def array_of_floats() -> None:
    x = np.array([1, 2, 3])
    assert np.array_equal(gradient(lambda x: np.sum(x**2), x.astype(float)), [2.0, 4.0, 6.0])


@array_of_integers.instead("Where it is data, name the other arguments")
def integers_as_data() -> None:
    labels = np.array([1, 2, 3])
    assert gradient(lambda w, n: np.sum(w * n), 0.5, labels, argnums=0) == 6.0


@entry("A text is chosen", ArgumentError)
def text_chosen() -> None:
    gradient(lambda x, kind: x**2 if kind == "square" else x, 3.0, "square", argnums=1)


@text_chosen.instead("Choose the number")
def number_chosen() -> None:
    g = gradient(lambda x, kind: x**2 if kind == "square" else x, 3.0, "square", argnums=0)
    assert g == 6.0


@entry("Nothing in the arguments is a float", ArgumentError)
def no_float_among_arguments() -> None:
    gradient(lambda options: options["rate"] * 2, {"name": "a", "rate": None})


@no_float_among_arguments.instead("Give a float")
def float_among_arguments() -> None:
    g = gradient(lambda options: options["rate"] * 2, {"name": "a", "rate": 0.1})
    assert g == {"name": None, "rate": 2.0}


@entry("Nothing in the arguments of forward mode is a float", ArgumentError)
def no_float_to_push() -> None:
    pushforward(lambda options: options["rate"] * 2, {"rate": None})


@no_float_to_push.instead("Give a float")
def float_to_push() -> None:
    _, push = pushforward(lambda options: options["rate"] * 2, {"rate": 0.1})
    assert push({"rate": 1.0}) == 2.0


@entry("The derivative by an array", ArgumentError)
def derivative_by_an_array() -> None:
    derivative(lambda x: np.sum(x**2), np.ones(3))


@derivative_by_an_array.instead("Take the gradient")
def gradient_by_an_array() -> None:
    gradient(lambda x: np.sum(x**2), np.ones(3))


@derivative_by_an_array.instead("For many points, take the derivative at each")
def derivative_at_each() -> None:
    assert [derivative(lambda x: x**2, x) for x in (1.0, 2.0)] == [2.0, 4.0]


@entry("The gradient by what a builtin has captured", ArgumentError)
def captured_by_a_callable() -> None:
    class Line:
        def __init__(self, slope):
            self.slope = slope

        def __call__(self, x):
            return self.slope * x

    captured_gradient(Line(2.0), 3.0)


@captured_by_a_callable.instead("Differentiate with respect to the object")
def gradient_by_an_object() -> None:
    class Line:
        def __init__(self, slope):
            self.slope = slope

        def __call__(self, x):
            return self.slope * x

    assert gradient(lambda line: line(3.0), Line(2.0)).slope == 3.0


@entry("A function that has captured nothing", ArgumentError)
def nothing_captured() -> None:
    captured_gradient(lambda x: x**2, 3.0)


@nothing_captured.instead("Make the parameter a variable of a function around it")
def parameter_captured() -> None:
    def model(slope):
        return lambda x: slope * x**2

    assert captured_gradient(model(2.0), 3.0) == {"slope": 9.0}


@nothing_captured.instead("For the gradient by its argument, take gradient")
def gradient_by_the_argument() -> None:
    assert gradient(lambda x: x**2, 3.0) == 6.0


# -- options ---------------------------------------------------------------------------------------


@entry("A mode that does not exist", ArgumentError)
def unknown_mode() -> None:
    jacobian(lambda x: x**2, np.ones(3), mode="backward")


@unknown_mode.instead("Name one of the modes")
def known_mode() -> None:
    jacobian(lambda x: x**2, np.ones(3), mode="reverse")


@entry("A Jacobian by complex arguments in forward mode", ArgumentError)
def complex_arguments_forward() -> None:
    jacobian(lambda z: np.abs(z), np.array([1 + 2j, 3j]), mode="forward")


@complex_arguments_forward.instead("Take reverse mode")
def complex_arguments_in_reverse() -> None:
    jacobian(lambda z: np.abs(z), np.array([1 + 2j, 3j]), mode="reverse")


@entry("A fallback that does not exist", ArgumentError)
def unknown_fallback() -> None:
    cube = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x**3)
    gradient(cube, 2.0, fallback="finite")


@unknown_fallback.instead('Write "numeric"')
def known_fallback() -> None:
    cube = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x**3)
    assert np.isclose(gradient(cube, 2.0, fallback="numeric"), 12.0)
    with numeric_fallback():
        assert np.isclose(gradient(cube, 2.0), 12.0)


@entry("A hook that is no function", ArgumentError)
def hook_is_no_function() -> None:
    gradient(lambda x: cotangent_hook(x * x, "cotangent"), 2.0)


@hook_is_no_function.instead("Give a function of the cotangent")
def hook_is_a_function() -> None:
    seen = []
    assert gradient(lambda x: cotangent_hook(x * x, seen.append), 2.0) == 4.0
    assert seen == [1.0]


@entry("A drawing in a format that is not written", ArgumentError)
def drawing_as_png() -> None:
    explain(lambda x: x**2, 2.0).save("tape.png")


@drawing_as_png.instead("Save it as .svg")
def drawing_as_svg() -> None:
    with tempfile.TemporaryDirectory() as folder:
        explain(lambda x: x**2, 2.0).save(Path(folder) / "tape.svg")


# -- classes of numbers ----------------------------------------------------------------------------


@entry("A class of numbers with arithmetic of its own", ArgumentError)
def numbers_with_units() -> None:
    class Percent(float):
        def __mul__(self, other):
            return float(self) / 100 * other

        __rmul__ = __mul__

    gradient(lambda x: np.sum(x * Percent(50)), np.ones(3))


@numbers_with_units.instead("Convert it to a plain number outside")
def numbers_without_units() -> None:
    share = 50 / 100
    assert np.array_equal(gradient(lambda x: np.sum(x * share), np.ones(3)), [0.5, 0.5, 0.5])


@entry("A masked array", ArgumentError)
def masked_data() -> None:
    data = np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False])
    gradient(lambda x: np.dot(x, data), np.ones(3))


@masked_data.instead("Use the functions of numpy.ma")
def function_of_masked_arrays() -> None:
    data = np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False])
    assert np.array_equal(gradient(lambda x: np.ma.sum(data * x), np.ones(3)), [1.0, 0.0, 3.0])


@entry("A result with masked elements", OutputError)
def masked_output() -> None:
    jacobian(lambda x: np.ma.masked_less(x, 0.0), np.array([1.0, -2.0]))


@masked_output.instead("Fill them")
def filled_output() -> None:
    j = jacobian(lambda x: np.ma.masked_less(x, 0.0).filled(0.0), np.array([1.0, -2.0]))
    assert np.array_equal(j, np.diag([1.0, 0.0]))


# -- compile ---------------------------------------------------------------------------------------


@entry("A result in place of the function to be compiled", ArgumentError)
def compiled_result() -> None:
    def loss(x):
        return x**2

    compile(loss(2.0))


@compiled_result.instead("Compile the function")
def compiled_function() -> None:
    def loss(x):
        return x**2

    assert compile(loss)(2.0) == 4.0


@entry("A backend that does not exist", ArgumentError)
def unknown_backend() -> None:
    compile(np.sum, backend="llvm")


@unknown_backend.instead("Name one of the backends")
def known_backend() -> None:
    assert compile(lambda x: np.sum(x * 2), backend="python")(np.ones(3)) == 6.0


@entry("No variant is kept", ArgumentError)
def no_variant_kept() -> None:
    compile(lambda x: x**2, maxsize=0)


@no_variant_kept.instead("Keep at least one")
def one_variant_kept() -> None:
    assert compile(lambda x: x**2, maxsize=1)(3.0) == 9.0
