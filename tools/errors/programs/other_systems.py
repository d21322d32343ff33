"""Arrays and functions of other systems, and functions of ours in these.

Where an entry needs such a system, a class or function that passes for one of it stands in, so that
the page does not depend on what is installed.
"""

import numpy as np

from autodiff import (
    ArgumentError,
    MissingRuleError,
    MutationError,
    OutputError,
    gradient,
)
from autodiff.interop.flat_call import array_of, check_function, flat_call
from autodiff.interop.foreign_call import Foreign, ForeignCall
from tools.errors.entries import entry


class Tensor:
    """What engines see of ``torch.Tensor``."""

    def __init__(self, numbers):
        self.numbers = np.array(numbers)

    def __array__(self, dtype=None, copy=None):
        return self.numbers


Tensor.__module__ = "torch"


@entry("An array of another system in a derivative", ArgumentError)
def tensor_in_a_derivative() -> None:
    weights = Tensor([1.0, 2.0])  # torch.tensor([1.0, 2.0])
    gradient(lambda x: np.sum(weights * x), np.ones(2))


@tensor_in_a_derivative.instead("Give its numbers")
def numbers_in_a_derivative() -> None:
    weights = np.asarray(Tensor([1.0, 2.0]))
    np.testing.assert_array_equal(
        gradient(lambda x: np.sum(weights * x), np.ones(2)), np.array([1.0, 2.0])
    )


def relu(x):
    return Tensor(np.maximum(x.numbers, 0))


relu.__module__ = "torch.nn.functional"


class Relu(ForeignCall):
    """What ``from_torch`` makes of a call of `relu`."""

    def value(self, x):
        return [y.numbers for y in self.function([Tensor(x)])]

    def recorded(self, arrays, wanted):
        return self.value(*arrays), lambda y_bars: [y_bars[0] * (arrays[0] > 0)]


def relu_call(function):
    call = Relu("relu")
    call.function = function
    return call


@entry("A function of another system in a derivative", MissingRuleError)
def function_of_torch() -> None:
    gradient(lambda x: np.sum(relu(x)), np.ones(2))


@function_of_torch.instead("Wrap it: from_torch(relu)")
def wrapped_function_of_torch() -> None:
    wrapped = Foreign(relu, relu_call, lambda leaf: isinstance(leaf, Tensor))
    np.testing.assert_array_equal(
        gradient(lambda x: np.sum(wrapped(x)), np.array([1.0, -1.0])), np.array([1.0, 0.0])
    )


@entry("No function to wrap for another system", ArgumentError)
def nothing_to_wrap() -> None:
    check_function(np.tanh(1.0), "to_torch")  # to_torch(np.tanh(1.0))


@nothing_to_wrap.instead("Give the function")
def function_to_wrap() -> None:
    check_function(np.tanh, "to_torch")


@entry("An array of another system that NumPy cannot have", ArgumentError)
def no_numpy_array() -> None:
    def numbers(tensor):
        raise TypeError("Got unsupported ScalarType BFloat16")

    (tensor,), call = flat_call(np.tanh, (Tensor([1.0]),), {}, lambda x: isinstance(x, Tensor))
    array_of(tensor, numbers, call, "Convert it first: t.to(torch.float32).")


@no_numpy_array.instead("Convert it first")
def numpy_array() -> None:
    (tensor,), call = flat_call(np.tanh, (Tensor([1.0]),), {}, lambda x: isinstance(x, Tensor))
    assert array_of(tensor, np.asarray, call, "") == 1.0


@entry("A function writes into a large array of another system", MutationError)
def write_into_a_large_array() -> None:
    def scaled(x):
        x *= 2
        return x

    arrays, call = flat_call(scaled, (np.ones(100_000),), {})
    call.value(*arrays)


@write_into_a_large_array.instead("Use a copy")
def write_into_a_copy() -> None:
    def scaled(x):
        x = x.copy()
        x *= 2
        return x

    arrays, call = flat_call(scaled, (np.ones(100_000),), {})
    assert call.value(*arrays)[0][0] == 2


@entry("What is no array differs among the rows of a batch", OutputError)
def constants_differ() -> None:
    arrays, call = flat_call(lambda x: (x, bool(x > 0)), (np.array([1.0, -1.0]),), {})
    call.batched((0,), 2).value(*arrays)


@constants_differ.instead("Return an array")
def arrays_differ() -> None:
    arrays, call = flat_call(lambda x: (x, np.float64(x > 0)), (np.array([1.0, -1.0]),), {})
    np.testing.assert_array_equal(call.batched((0,), 2).value(*arrays)[1], [1.0, 0.0])


@entry("A batch without rows", OutputError)
def no_rows() -> None:
    _, call = flat_call(np.sinc, (1.0,), {})
    call.batched((0,), 0).value(np.ones(0))


@no_rows.instead("Give at least one row")
def one_row() -> None:
    _, call = flat_call(np.tanh, (1.0,), {})
    np.testing.assert_array_equal(call.batched((0,), 1).value(np.zeros(1))[0], [0.0])
