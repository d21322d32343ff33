"""Kinds of values of Python and NumPy that have no derivative."""

import datetime
import decimal
import fractions
import json
import statistics

import numpy as np

from autodiff import gradient, ignore_derivatives
from chainrules.calculus.polynomials import DroppedCoefficientError
from chainrules.refused import RefusedError
from tools.errors.entries import entry

# -- Python ----------------------------------------------------------------------------------------


@entry("An exact number", RefusedError)
def exact_number() -> None:
    gradient(lambda x: float(decimal.Decimal(x) * 2), 0.5)


@exact_number.instead("Compute with floats")
def float_number() -> None:
    assert gradient(lambda x: x * 2, 0.5) == 2.0


@exact_number.instead("Make the exact number of a constant")
def exact_constant() -> None:
    gradient(lambda x: x * float(decimal.Decimal(ignore_derivatives(x))), 0.5)


@entry("Data that mix floats with fractions", RefusedError)
def fractions_among_data() -> None:
    gradient(lambda x: statistics.mean([x, fractions.Fraction(1, 3)]), 2.0)


@fractions_among_data.instead("Convert them to floats")
def floats_among_data() -> None:
    assert gradient(lambda x: statistics.mean([x, float(fractions.Fraction(1, 3))]), 2.0) == 0.5


@entry("The most common value", RefusedError)
def most_common_value() -> None:
    gradient(lambda x: statistics.mode([x, 1.0, 1.0]) * x, 2.0)


@most_common_value.instead("Take the data as constants")
def most_common_constant() -> None:
    g = gradient(lambda x: statistics.mode(ignore_derivatives([x, 1.0, 1.0])) * x, 2.0)
    assert g == 1.0


@entry("A text that is made to be read again", RefusedError)
def text_to_be_read() -> None:
    gradient(lambda x: json.loads(json.dumps({"x": x}))["x"], 2.0)


@text_to_be_read.instead("Write a constant")
def text_of_a_constant() -> None:
    gradient(lambda x: x * len(json.dumps({"x": ignore_derivatives(x)})), 2.0)


@text_to_be_read.instead("For a copy, take copy.deepcopy")
def copy_of_a_dict() -> None:
    import copy

    assert gradient(lambda x: copy.deepcopy({"x": x})["x"], 2.0) == 1.0


@entry("A span of time", RefusedError)
def span_of_time() -> None:
    gradient(lambda x: datetime.timedelta(seconds=x).total_seconds() * 2, 1.5)


@span_of_time.instead("Compute with its seconds")
def seconds() -> None:
    assert gradient(lambda x: x * 2, 1.5) == 2.0


# -- NumPy -----------------------------------------------------------------------------------------


@entry("The bare memory of an array", RefusedError)
def bare_memory() -> None:
    gradient(lambda x: np.frombuffer(x).sum(), np.ones(3))


@bare_memory.instead("Use the array itself")
def array_itself() -> None:
    gradient(lambda x: np.ravel(x).sum(), np.ones(3))


@entry("A np.matrix", RefusedError)
def matrix_class() -> None:
    gradient(lambda x: np.sum(np.asmatrix(x) * np.asmatrix(x)), np.eye(2))


@matrix_class.instead("Use arrays, with @ for the product")
def array_class() -> None:
    assert np.allclose(gradient(lambda x: np.sum(x @ x), np.eye(2)), 2.0)


@entry("A record array of traced values", RefusedError)
def record_array() -> None:
    gradient(lambda x: np.rec.fromarrays([x, 2 * x], names="a,b").b.sum(), np.ones(3))


@record_array.instead("Use an array for each field")
def array_for_each_field() -> None:
    gradient(lambda x: {"a": x, "b": 2 * x}["b"].sum(), np.ones(3))


@entry("A structured array of traced values", RefusedError)
def structured_array() -> None:
    kind = [("a", float), ("b", float)]
    gradient(lambda x: np.array([(x[0], x[1])], dtype=kind)["a"][0], np.ones(2))


@structured_array.instead("Keep the fields as arrays of their own, in a dict")
def dict_of_arrays() -> None:
    gradient(lambda x: {"a": np.array([x[0]]), "b": np.array([x[1]])}["a"][0], np.ones(2))


@entry("A leading coefficient that is 0", DroppedCoefficientError)
def leading_zero() -> None:
    gradient(lambda c: np.poly1d(c)(2.0), np.array([0.0, 1.0, 3.0]))


@leading_zero.instead("Compute with polyval")
def polyval_with_a_leading_zero() -> None:
    g = gradient(lambda c: np.polyval(c, 2.0), np.array([0.0, 1.0, 3.0]))
    assert np.allclose(g, [4.0, 2.0, 1.0])


@leading_zero.instead("Leave the coefficient out")
def without_the_leading_zero() -> None:
    g = gradient(lambda c: np.poly1d(c)(2.0), np.array([1.0, 3.0]))
    assert np.allclose(g, [2.0, 1.0])
