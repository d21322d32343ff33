"""Functions that have no rule, and whose body cannot be traced."""

import ctypes
import datetime
import struct

import numpy as np
from scipy import sparse, special
from scipy.sparse import _sparsetools
from scipy.special import cython_special

from autodiff import (
    DifferentiationError,
    MissingRuleError,
    MutationError,
    SourceError,
    gradient,
    ignore_derivatives,
    numeric_fallback,
    pushforward,
)
from chainrules_core import NoTangent, rrule
from tools.errors.entries import entry

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)

# -- no rule ---------------------------------------------------------------------------------------


@entry("A C function without rule", MissingRuleError)
def c_function_without_rule() -> None:
    cube = CALLBACK(lambda x: x**3)
    gradient(lambda x: cube(x), 2.0)


@c_function_without_rule.instead("Call it in a function of your own, and give that one a rule")
def c_function_with_rule() -> None:
    c_cube = CALLBACK(lambda x: x**3)

    def cube(x):
        return c_cube(x)

    @rrule.register(cube, float)
    def cube_rrule(x):
        return cube(x), lambda y_bar: (NoTangent(), y_bar * 3 * x**2)

    assert gradient(lambda x: cube(x), 2.0) == 12.0


@c_function_without_rule.instead("Write the computation with functions that have one")
def python_function() -> None:
    assert gradient(lambda x: x**3, 2.0) == 12.0


@entry("A value is packed into bytes", MissingRuleError)
def packed_into_bytes() -> None:
    gradient(lambda x: struct.unpack("d", struct.pack("d", x))[0] ** 2, 2.0)


@packed_into_bytes.instead("Wrap the argument in ignore_derivatives, if it is a constant")
def packed_constant() -> None:
    gradient(lambda x: x * struct.unpack("d", struct.pack("d", ignore_derivatives(x)))[0], 2.0)


@entry("The address of an array", MissingRuleError)
def address_of_an_array() -> None:
    gradient(lambda x: np.sum(x) * (x.ctypes.data % 8 == 0), np.ones(3))


@address_of_an_array.instead("Ask for that of a constant")
def address_of_a_constant() -> None:
    gradient(lambda x: np.sum(x) * (ignore_derivatives(x).ctypes.data % 8 == 0), np.ones(3))


@entry("A method without rule", MissingRuleError)
def method_without_rule() -> None:
    gradient(lambda x: float.fromhex(x.hex()) ** 2, 2.0)


@method_without_rule.instead("Do without it")
def without_the_method() -> None:
    assert gradient(lambda x: x**2, 2.0) == 4.0


@entry("The memory of an array, by the name of an attribute", MissingRuleError)
def attribute_by_name() -> None:
    name = "__array_interface__"
    gradient(lambda x: np.sum(x) * len(getattr(x, name)["shape"]), np.ones(3))


@attribute_by_name.instead("Read it of a constant")
def attribute_of_a_constant() -> None:
    name = "__array_interface__"
    gradient(lambda x: np.sum(x) * len(getattr(ignore_derivatives(x), name)["shape"]), np.ones(3))


@entry("A method of a constant is given a traced value", MissingRuleError)
def method_of_a_constant() -> None:
    weights = np.ones(3)
    gradient(lambda x: np.sum(weights.__array_wrap__(x**2)), np.ones(3))


@method_of_a_constant.instead("Do without it")
def without_wrapping() -> None:
    gradient(lambda x: np.sum(x**2), np.ones(3))


@entry("An option for which a function has no rule", MissingRuleError)
def option_without_rule() -> None:
    gradient(lambda x: np.sum(np.sin(x, signature="d->d")), np.ones(3))


@option_without_rule.instead("Call it without the option")
def without_the_option() -> None:
    gradient(lambda x: np.sum(np.sin(x)), np.ones(3))


@entry("An operator of an object made in C", MissingRuleError)
def operator_without_rule() -> None:
    gradient(lambda x: (datetime.timedelta(hours=1) * x).total_seconds(), 2.0)


@operator_without_rule.instead("Compute with the number in it")
def operator_of_numbers() -> None:
    assert gradient(lambda x: datetime.timedelta(hours=1).total_seconds() * x, 2.0) == 3600.0


@entry("A function of Cython's without rule", MissingRuleError)
def cython_function_without_rule() -> None:
    gradient(lambda x: cython_special.gamma(x), 2.5)


@cython_function_without_rule.instead("Write the computation with functions that have one")
def function_of_scipy() -> None:
    gradient(lambda x: special.gamma(x), 2.5)


@cython_function_without_rule.instead("Give it a rule")
def cython_function_with_rule() -> None:
    @rrule.register(cython_special.gamma, float)
    def gamma_rrule(x):
        y = cython_special.gamma(x)
        return y, lambda y_bar: (NoTangent(), y_bar * y * special.digamma(x))

    assert np.isclose(
        gradient(lambda x: cython_special.gamma(x), 2.5), gradient(special.gamma, 2.5)
    )


# -- loops of NumPy --------------------------------------------------------------------------------


@entry("np.nditer with an external loop", DifferentiationError)
def nditer_in_chunks() -> None:
    def loss(x):
        return sum(np.sum(chunk**2) for chunk in np.nditer(x, flags=["external_loop"]))

    gradient(loss, np.ones(3))


@nditer_in_chunks.instead("Go through the elements")
def elements_one_by_one() -> None:
    gradient(lambda x: sum(a**2 for a in x.flat), np.ones(3))


@nditer_in_chunks.instead("Write the loop as operations on whole arrays")
def operation_on_the_array() -> None:
    gradient(lambda x: np.sum(x**2), np.ones(3))


@entry("A table by a function of np.frompyfunc", DifferentiationError)
def table_by_frompyfunc() -> None:
    larger = np.frompyfunc(lambda a, b: a if a > b else b, 2, 1)
    gradient(lambda x: np.sum(larger.outer(x, x).astype(float)), np.array([1.0, 2.0]))


@table_by_frompyfunc.instead("Call it on arrays that broadcast")
def table_by_broadcasting() -> None:
    larger = np.frompyfunc(lambda a, b: a if a > b else b, 2, 1)
    gradient(lambda x: np.sum(larger(x[:, None], x).astype(float)), np.array([1.0, 2.0]))


# -- no source -------------------------------------------------------------------------------------


@entry("Code made by exec asks for the class of a value", SourceError)
def class_asked_unseen() -> None:
    space = {}
    exec("def square(x):\n    return x * x if type(x) is float else None", space)
    gradient(space["square"], 2.0)


@class_asked_unseen.instead("Put it into a file")
def class_asked_in_a_file() -> None:
    def square(x):
        return x * x if type(x) is float else None

    assert gradient(square, 2.0) == 4.0


@class_asked_unseen.instead("Do without type")
def class_not_asked() -> None:
    space = {}
    exec("def square(x):\n    return x * x", space)
    assert gradient(space["square"], 2.0) == 4.0


@entry("C code in code made by exec takes no traced value", SourceError)
def timedelta_unseen() -> None:
    space = {"hour": datetime.timedelta(hours=1)}
    exec("def seconds(x):\n    return (x * hour).total_seconds()", space)
    gradient(space["seconds"], 2.0)


@timedelta_unseen.instead("Compute with the number in it")
def number_of_seconds() -> None:
    space = {"hour": 3600.0}
    exec("def seconds(x):\n    return x * hour", space)
    assert gradient(space["seconds"], 2.0) == 3600.0


# -- the numeric fallback --------------------------------------------------------------------------


@entry("The numeric fallback, twice", DifferentiationError)
def fallback_twice() -> None:
    cube = CALLBACK(lambda x: x**3)
    with numeric_fallback():
        gradient(lambda x: gradient(lambda y: cube(y), x), 2.0)


@c_function_without_rule.instead("Have it differentiated numerically")
def c_function_by_differences() -> None:
    cube = CALLBACK(lambda x: x**3)
    assert np.isclose(gradient(lambda x: cube(x), 2.0, fallback="numeric"), 12.0)


@fallback_twice.instead("Call it in a function of your own, and give that one a rule")
def rule_twice() -> None:
    c_cube = CALLBACK(lambda x: x**3)

    def cube(x):
        return c_cube(x)

    @rrule.register(cube, float)
    def cube_rrule(x):
        return cube(x), lambda y_bar: (NoTangent(), y_bar * 3 * x**2)

    assert gradient(lambda x: gradient(lambda y: cube(y), x), 2.0) == 12.0


@entry("The numeric fallback with a complex argument", DifferentiationError)
def fallback_of_a_complex_number() -> None:
    gradient(lambda x: cython_special.wofz(1j * x).real, 2.0, fallback="numeric")


@fallback_of_a_complex_number.instead("Call a function of the real and imaginary parts")
def fallback_of_parts() -> None:
    gradient(lambda x: cython_special.erfcx(x), 2.0, fallback="numeric")


@fallback_of_a_complex_number.instead("Take a function that has a rule")
def complex_function_with_rule() -> None:
    gradient(lambda x: special.wofz(1j * x).real, 2.0)


@entry("The numeric fallback, and a result that is no number", DifferentiationError)
def fallback_with_bytes() -> None:
    gradient(lambda x: struct.unpack("d", struct.pack("d", x))[0] ** 2, 2.0, fallback="numeric")


@fallback_with_bytes.instead("Give a rule to what comes to a number again")
def rule_for_the_whole() -> None:
    def packed(x):
        return struct.unpack("d", struct.pack("d", x))[0]

    @rrule.register(packed, float)
    def packed_rrule(x):
        return packed(x), lambda y_bar: (NoTangent(), y_bar)

    assert gradient(lambda x: packed(x) ** 2, 2.0) == 4.0


@entry("The numeric fallback of a function that writes into its argument", MutationError)
def fallback_that_writes() -> None:
    def loss(x):
        _sparsetools.csr_matvec(1, 1, np.array([0, 1]), np.array([0]), np.ones(1), np.ones(1), x)
        return x[0]

    gradient(loss, np.ones(1), fallback="numeric")


@fallback_that_writes.instead("Write the computation with functions that have a rule")
def sparse_product() -> None:
    def loss(x):
        return (x + sparse.csr_array(np.ones((1, 1))) @ np.ones(1))[0]

    gradient(loss, np.ones(1))


@entry("The numeric fallback at a jump", DifferentiationError)
def fallback_at_a_jump() -> None:
    step = CALLBACK(lambda x: float(x > 1.0))
    gradient(lambda x: step(x), 1.0, fallback="numeric")


@fallback_at_a_jump.instead("Choose a point where it is smooth")
def fallback_beside_a_jump() -> None:
    step = CALLBACK(lambda x: float(x > 1.0))
    assert gradient(lambda x: step(x), 2.0, fallback="numeric") == 0.0


@entry("The derivative of a numeric fallback by the tangent", DifferentiationError)
def fallback_by_the_tangent() -> None:
    cube = CALLBACK(lambda x: x**3)

    def slope(dot):
        with numeric_fallback():
            return pushforward(lambda x: cube(x), 2.0)[1](dot)

    gradient(slope, 1.0)


@fallback_by_the_tangent.instead("Give the function a rule")
def rule_by_the_tangent() -> None:
    def slope(dot):
        return pushforward(lambda x: x**3, 2.0)[1](dot)

    assert gradient(slope, 1.0) == 12.0
