"""Traced values that would become plain ones, or outlive their differentiation."""

import ast
import csv
import ctypes
import io
import json

import numpy as np

from autodiff import (
    DifferentiationError,
    LeakedTracerError,
    LostValueError,
    gradient,
    ignore_derivatives,
    pullback,
    pushforward,
    value_and_gradient,
)
from chainrules.refused import RefusedError
from tools.errors.entries import entry

FOUND = {}

# -- whole numbers ---------------------------------------------------------------------------------


@entry("An integer that holds all of a float", LostValueError)
def integer_that_holds_a_float() -> None:
    def scaled(x):
        return int(x * 2**60) / 2**60

    gradient(scaled, 0.3)


@integer_that_holds_a_float.instead("Compute with floats")
def float_kept() -> None:
    def scaled(x):
        return x * 2**60 / 2**60

    assert gradient(scaled, 0.3) == 1.0


@integer_that_holds_a_float.instead("Make the integer of a constant")
def integer_of_a_constant() -> None:
    assert gradient(lambda x: x * int(ignore_derivatives(x) * 2**60) / 2**60, 0.5) == 0.5


# -- memory ----------------------------------------------------------------------------------------


@entry("The memory of an array", RefusedError)
def memory_of_an_array() -> None:
    def loss(x):
        weights = np.ones(3)
        return x * memoryview(weights)[0]

    gradient(loss, 2.0)


@memory_of_an_array.instead("Use the array itself")
def array_itself() -> None:
    def loss(x):
        weights = np.ones(3)
        return x * weights[0]

    assert gradient(loss, 2.0) == 1.0


@entry("The bits of an array read as something else", DifferentiationError)
def bits_of_an_array() -> None:
    gradient(lambda x: np.sum(x.view(np.int64) % 2 * x), np.ones(3))


@bits_of_an_array.instead("Convert the numbers")
def numbers_converted() -> None:
    gradient(lambda x: np.sum(x.astype(np.int64) % 2 * x), np.ones(3))


@bits_of_an_array.instead("Read the bits of a constant")
def bits_of_a_constant() -> None:
    gradient(lambda x: np.sum(ignore_derivatives(x).view(np.int64) % 2 * x), np.ones(3))


@entry("A field of an array's bytes", DifferentiationError)
def field_of_bytes() -> None:
    gradient(lambda x: np.sum(x.getfield(np.int32, 4) * x), np.ones(3))


@field_of_bytes.instead("Take it of a constant")
def field_of_a_constant() -> None:
    gradient(lambda x: np.sum(ignore_derivatives(x).getfield(np.int32, 4) * x), np.ones(3))


@entry("An array of Python's objects", DifferentiationError)
def array_of_objects() -> None:
    gradient(lambda x: np.sum(x.astype(object) ** 2), np.ones(3))


@array_of_objects.instead("Use an array of numbers")
def array_of_numbers() -> None:
    gradient(lambda x: np.sum(x.astype(float) ** 2), np.ones(3))


@array_of_objects.instead("Use a list")
def list_of_objects() -> None:
    gradient(lambda x: sum(a**2 for a in list(x)), np.ones(3))


def _in_cells(x):
    a = np.empty(2, dtype=object)
    a[0], a[1] = x, x**2
    return a


@entry("A rule for arrays is given an array of traced arrays", DifferentiationError)
def arrays_in_cells() -> None:
    gradient(lambda x: np.sum(np.dot(_in_cells(x), np.ones(2))), np.ones(3))


@arrays_in_cells.instead("Use a list")
def arrays_in_a_list() -> None:
    gradient(lambda x: np.sum(np.dot([x, x**2], np.ones(3))), np.ones(3))


@entry("The function returns an array of traced arrays", DifferentiationError)
def arrays_in_cells_returned() -> None:
    pullback(_in_cells, np.ones(3))


@arrays_in_cells_returned.instead("Return a list")
def arrays_in_a_list_returned() -> None:
    pullback(lambda x: list(_in_cells(x)), np.ones(3))


# -- texts -----------------------------------------------------------------------------------------


@entry("A number is read from a text", LostValueError)
def number_from_a_text() -> None:
    gradient(lambda x: float(f"{x:.3f}") ** 2, 2.0)


@number_from_a_text.instead("Use the value itself")
def value_without_text() -> None:
    assert gradient(lambda x: x**2, 2.0) == 4.0


@number_from_a_text.instead("Make the text of a constant")
def text_of_a_constant_read() -> None:
    assert gradient(lambda x: x * float(f"{ignore_derivatives(x):.3f}"), 2.0) == 2.0


@entry("A text is read byte by byte", LostValueError)
def bytes_of_a_text() -> None:
    gradient(lambda x: x * sum(str(x).encode()), 1.5)


@bytes_of_a_text.instead("Make the text of a constant")
def bytes_of_the_text_of_a_constant() -> None:
    assert gradient(lambda x: x * sum(str(ignore_derivatives(x)).encode()), 1.5) == sum(b"1.5")


@entry("A single byte of a text", LostValueError)
def byte_of_a_text() -> None:
    gradient(lambda x: x * str(x).encode()[0], 1.5)


@byte_of_a_text.instead("Make the text of a constant")
def byte_of_the_text_of_a_constant() -> None:
    assert gradient(lambda x: x * str(ignore_derivatives(x)).encode()[0], 1.5) == ord("1")


@entry("An integer is read from a text", LostValueError)
def integer_from_a_text() -> None:
    gradient(lambda x: int(str(x).split(".")[0]) * 1.0, 2.5)


@integer_from_a_text.instead("Use the value itself")
def integer_without_text() -> None:
    assert gradient(lambda x: np.floor(x) * x, 2.5) == 2.0


@entry("A literal is read from a text", LostValueError)
def literal_from_a_text() -> None:
    gradient(lambda x: sum(ast.literal_eval(f"[{x}, 1.0]")), 2.5)


@literal_from_a_text.instead("Use the values themselves")
def list_of_values() -> None:
    assert gradient(lambda x: sum([x, 1.0]), 2.5) == 1.0


@entry("Numbers are read from a file of texts", LostValueError)
def numbers_from_a_file() -> None:
    def loss(x):
        file = io.StringIO(f"{x} {2 * x}")
        return np.sum(np.loadtxt(file))

    gradient(loss, 2.0)


@numbers_from_a_file.instead("Use the values themselves")
def numbers_without_a_file() -> None:
    assert gradient(lambda x: np.sum(np.array([x, 2 * x])), 2.0) == 3.0


@entry("A library reads numbers from a text", LostValueError)
def number_by_a_library() -> None:
    decoder = json.JSONDecoder()
    gradient(lambda x: decoder.decode(str(x)) ** 2, 2.0)


@number_by_a_library.instead("Use the value itself")
def number_without_a_library() -> None:
    assert gradient(lambda x: x**2, 2.0) == 4.0


@entry("An array of numbers is made of texts", LostValueError)
def array_of_texts_as_numbers() -> None:
    gradient(lambda x: np.sum(np.array([str(x), "1.0"]).astype(float)), 2.0)


@array_of_texts_as_numbers.instead("Make it of the values")
def array_of_values() -> None:
    assert gradient(lambda x: np.sum(np.array([x, 1.0])), 2.0) == 1.0


@entry("A CSV reader that makes numbers", LostValueError)
def csv_reader_of_numbers() -> None:
    def loss(x):
        (row,) = csv.reader([f"{x},1.0"], quoting=csv.QUOTE_NONNUMERIC)
        return sum(row)

    gradient(loss, 2.0)


@csv_reader_of_numbers.instead("Use the values themselves")
def row_of_values() -> None:
    assert gradient(lambda x: sum([x, 1.0]), 2.0) == 1.0


@entry("The elements of an array as texts", LostValueError)
def elements_as_texts() -> None:
    gradient(lambda x: np.sum(x.astype(str).astype(float)), np.ones(3))


@elements_as_texts.instead("Use the array itself")
def elements_as_numbers() -> None:
    gradient(lambda x: np.sum(x.astype(float)), np.ones(3))


@entry("A program is written with a value in it", LostValueError)
def evaluated_text() -> None:
    gradient(lambda x: eval(f"{x} ** 2"), 2.0)


@evaluated_text.instead("Use the value by its name")
def evaluated_name() -> None:
    assert gradient(lambda x: eval("x ** 2", {"x": x}), 2.0) == 4.0


# -- compiled code ---------------------------------------------------------------------------------


@entry("A callback of C code finds a traced value", LostValueError)
def callback_with_a_traced_value() -> None:
    def loss(x):
        FOUND["scale"] = x
        scaled = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda t: t * FOUND["scale"])
        return scaled(3.0)

    gradient(loss, 2.0)


@callback_with_a_traced_value.instead("Compute without compiled code in between")
def function_with_a_traced_value() -> None:
    def loss(x):
        FOUND["scale"] = x
        return (lambda t: t * FOUND["scale"])(3.0)

    assert gradient(loss, 2.0) == 3.0


@entry("A callback of C code has captured a traced value", LostValueError)
def callback_that_captured() -> None:
    scaled = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    gradient(lambda x: scaled(lambda t: t * x)(3.0), 2.0)


@callback_that_captured.instead("Compute without compiled code in between")
def function_that_captured() -> None:
    assert gradient(lambda x: (lambda t: t * x)(3.0), 2.0) == 3.0


# -- values that outlive their differentiation -----------------------------------------------------


@entry("A traced value that was stored", LeakedTracerError)
def stored_value() -> None:
    history = []

    def loss(x):
        history.append(x**2)
        return x**2

    gradient(loss, 2.0)
    print(history[0] + 1.0)


@stored_value.instead("Store a constant")
def stored_constant() -> None:
    history = []

    def loss(x):
        history.append(ignore_derivatives(x**2))
        return x**2

    gradient(loss, 2.0)
    assert history[0] + 1.0 == 5.0


@stored_value.instead("Return it beside the result")
def returned_value() -> None:
    (_, history), _ = value_and_gradient(lambda x: (x**2, [x**2]), 2.0, has_aux=True)
    assert history[0] + 1.0 == 5.0


@entry("A traced value that was stored in forward mode", LeakedTracerError)
def stored_value_of_forward_mode() -> None:
    history = []

    def loss(x):
        history.append(x**2)
        return x**2

    _, push = pushforward(loss, 2.0)
    push(1.0)
    print(history[-1] + 1.0)


@stored_value_of_forward_mode.instead("Store a constant")
def stored_constant_of_forward_mode() -> None:
    history = []

    def loss(x):
        history.append(ignore_derivatives(x**2))
        return x**2

    _, push = pushforward(loss, 2.0)
    push(1.0)
    assert history[-1] + 1.0 == 5.0


@entry("A traced value of an earlier call", LeakedTracerError)
def cached_value() -> None:
    cache = {}

    def loss(x):
        if "scale" not in cache:
            cache["scale"] = np.sqrt(x)
        return float(np.sum(cache["scale"])) * x

    gradient(loss, 2.0)
    gradient(loss, 3.0)


@cached_value.instead("Cache a constant")
def cached_constant() -> None:
    cache = {}

    def loss(x):
        if "scale" not in cache:
            cache["scale"] = ignore_derivatives(np.sqrt(x))
        return cache["scale"] * x

    gradient(loss, 2.0)
    gradient(loss, 3.0)
