"""Arrays of classes with arithmetic of their own: units, labels."""

import pickle

import numpy as np
import scipy.linalg

from autodiff import (
    ArgumentError,
    DifferentiationError,
    LostValueError,
    OutputError,
    gradient,
    ignore_derivatives,
    jacobian,
)
from tools.errors.entries import entry


class Metres(np.ndarray):
    """As classes of units are: numbers in kilometres become metres."""

    def __array_ufunc__(self, f, method, *inputs, **options):
        plain = [np.asarray(v) * 1000.0 if isinstance(v, Metres) else v for v in inputs]
        return getattr(f, method)(*plain, **options).view(Metres)


class Noted(np.ndarray):
    """With a note, and the arithmetic of arrays."""

    def __getitem__(self, index):
        return super().__getitem__(index)


class Doubling(np.ndarray):
    """What it makes of results is not followed."""

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return np.asarray(array) * 2.0


@entry("A bit pattern of an array with units", DifferentiationError)
def bytes_of_an_array_with_units() -> None:
    gradient(lambda x: np.sum(x.view(Noted).byteswap()), np.ones(3))


@bytes_of_an_array_with_units.instead("Take the plain array out first")
def plain_array_taken_out() -> None:
    gradient(lambda x: np.sum(np.asarray(x.view(Noted))), np.ones(3))


@entry("A result that a class of arrays changes afterwards", DifferentiationError)
def result_changed_by_a_class() -> None:
    gradient(lambda x: np.sum(x.view(Doubling) * x), np.ones(3))


@result_changed_by_a_class.instead("Take the plain array out first")
def result_of_a_plain_array() -> None:
    gradient(lambda x: np.sum(np.asarray(x.view(Doubling)) * x), np.ones(3))


@entry("A write into an array with units", DifferentiationError)
def write_into_an_array_with_units() -> None:
    def f(x):
        y = x.view(Noted)
        y *= 2.0
        return np.sum(np.asarray(y))

    gradient(f, np.ones(3))


@write_into_an_array_with_units.instead("Make a new array")
def new_array_with_units() -> None:
    def f(x):
        y = x.view(Noted)
        y = y * 2.0
        return np.sum(np.asarray(y))

    np.testing.assert_array_equal(gradient(f, np.ones(3)), 2.0 * np.ones(3))


@entry("A rule that is given an array with units", ArgumentError)
def rule_with_units() -> None:
    gradient(lambda x: scipy.linalg.norm(x.view(Metres)), np.ones(3))


@rule_with_units.instead("Take the plain array out first")
def rule_of_a_plain_array() -> None:
    gradient(lambda x: scipy.linalg.norm(np.asarray(x.view(Metres))), np.ones(3))


@entry("A result with units", OutputError)
def result_with_units() -> None:
    jacobian(lambda x: x.view(Metres) * 2.0, np.ones(3))


@result_with_units.instead("Return the plain numbers")
def result_without_units() -> None:
    jacobian(lambda x: np.asarray(x.view(Metres) * 2.0), np.ones(3))


@entry("An array with units as one number of a text", LostValueError)
def units_as_a_number() -> None:
    gradient(lambda x: len("%.2f" % x.view(Noted)[:1]) * x[0], np.ones(3))  # noqa: UP031


@units_as_a_number.instead("Take the element")
def element_with_units() -> None:
    gradient(lambda x: x.view(Noted)[0], np.ones(3))


@entry("A mean written into another array with units", DifferentiationError)
def mean_written_into() -> None:
    gradient(lambda x: x.view(Noted).mean(out=np.zeros(())), np.ones(3))


@mean_written_into.instead("Take the plain array out first")
def mean_of_a_plain_array() -> None:
    gradient(lambda x: np.asarray(x.view(Noted)).mean(), np.ones(3))


@entry("An array with units in another precision", DifferentiationError)
def other_precision() -> None:
    gradient(lambda x: np.sum(x.view(Noted).view(np.float32)), np.ones(3))


@other_precision.instead("Take the plain array out first")
def precision_of_a_plain_array() -> None:
    gradient(lambda x: np.sum(np.asarray(x.view(Noted)).astype(np.float32)), np.ones(3))


@entry("An array with units that NumPy would read", LostValueError)
def read_by_numpy() -> None:
    gradient(lambda x: np.broadcast(x.view(Noted)).size * x[0], np.ones(3))


@read_by_numpy.instead("Take a constant for what is not differentiated")
def constant_read_by_numpy() -> None:
    gradient(lambda x: np.broadcast(ignore_derivatives(x)).size * x[0], np.ones(3))


@entry("An array with units in a pickle", LostValueError)
def units_in_a_pickle() -> None:
    gradient(lambda x: len(pickle.dumps(x.view(Noted))) * x[0], np.ones(3))


@units_in_a_pickle.instead("Take a constant")
def constant_in_a_pickle() -> None:
    gradient(lambda x: len(pickle.dumps(ignore_derivatives(x))) * x[0], np.ones(3))


@entry("An attribute of an array with units that NumPy would set", DifferentiationError)
def attribute_set() -> None:
    def f(x):
        y = x.view(Noted)
        y.shape = (3, 1)
        return np.sum(np.asarray(y))

    gradient(f, np.ones(3))


@attribute_set.instead("Make a new array")
def new_shape() -> None:
    gradient(lambda x: np.sum(np.asarray(x.view(Noted).reshape(3, 1))), np.ones(3))


@entry("A constant that is a np.matrix", ArgumentError)
def constant_matrix() -> None:
    m = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    gradient(lambda x: np.sum(m @ x), np.ones(2))


@constant_matrix.instead("Make it an array")
def constant_array() -> None:
    m = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    assert np.array_equal(gradient(lambda x: np.sum(np.asarray(m) @ x), np.ones(2)), [4.0, 6.0])


class Distance(float):
    """A number with a property."""

    @property
    def in_kilometres(self):
        return self / 1000.0


@entry("A method or property of a class of numbers", ArgumentError)
def property_of_a_number() -> None:
    gradient(lambda d: d.in_kilometres**2, Distance(2000.0))


@property_of_a_number.instead("Write it as a function of a plain number")
def function_of_a_number() -> None:
    def in_kilometres(d):
        return d / 1000.0

    assert gradient(lambda d: in_kilometres(d) ** 2, float(Distance(2000.0))) == 0.004
