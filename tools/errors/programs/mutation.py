"""Arrays that are written into inside a differentiated function."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy import integrate

from autodiff import MutationError, gradient, pullback
from tools.errors.entries import entry

# -- arrays that cannot take a traced value --------------------------------------------------------


@entry("A buffer from outside", MutationError)
def buffer_from_outside() -> None:
    buffer = np.zeros(3)

    def loss(x):
        buffer[:] = [x, x**2, x**3]
        return np.sum(buffer)

    gradient(loss, 2.0)


@buffer_from_outside.instead("Make the array inside the function")
def buffer_made_inside() -> None:
    def loss(x):
        buffer = np.zeros(3)
        buffer[:] = [x, x**2, x**3]
        return np.sum(buffer)

    assert gradient(loss, 2.0) == 17.0


@buffer_from_outside.instead("Hand it in as an argument to be differentiated")
def buffer_as_an_argument() -> None:
    def loss(x, buffer):
        buffer[:] = [x, x**2, x**3]
        return np.sum(buffer)

    assert gradient(loss, 2.0, np.zeros(3))[0] == 17.0


@entry("An array of integers takes a float", MutationError)
def float_into_integers() -> None:
    def loss(x):
        counts = np.array([0, 0, 0])
        counts[0] = x * 1.5
        return np.sum(counts)

    gradient(loss, 2.0)


@float_into_integers.instead("Make the array one of floats")
def float_into_floats() -> None:
    def loss(x):
        counts = np.array([0.0, 0.0, 0.0])
        counts[0] = x * 1.5
        return np.sum(counts)

    assert gradient(loss, 2.0) == 1.5


@float_into_integers.instead("If the whole number is meant, say so")
def whole_number_into_integers() -> None:
    def loss(x):
        counts = np.array([0, 0, 0])
        counts[0] = int(x * 1.5)
        return x * np.sum(counts)

    assert gradient(loss, 2.0) == 3.0


@entry("np.copyto into a buffer from outside", MutationError)
def copied_into_a_buffer() -> None:
    buffer = np.zeros(3)

    def loss(x):
        np.copyto(buffer, x**2)
        return np.sum(buffer)

    gradient(loss, np.ones(3))


@copied_into_a_buffer.instead("Make the array inside the function")
def copied_into_an_array_made_inside() -> None:
    def loss(x):
        buffer = np.zeros(3)
        np.copyto(buffer, x**2)
        return np.sum(buffer)

    assert np.array_equal(gradient(loss, np.ones(3)), [2.0, 2.0, 2.0])


@entry("out= is a buffer from outside", MutationError)
def out_is_a_buffer() -> None:
    buffer = np.zeros(3)
    gradient(lambda x: np.sum(np.multiply(x, x, out=buffer)), np.ones(3))


@out_is_a_buffer.instead("Do without out=")
def without_out() -> None:
    gradient(lambda x: np.sum(np.multiply(x, x)), np.ones(3))


@out_is_a_buffer.instead("Make the array from a traced one")
def out_is_made_inside() -> None:
    gradient(lambda x: np.sum(np.multiply(x, x, out=np.zeros_like(x))), np.ones(3))


@entry("Complex numbers into an array of real ones", MutationError)
def complex_into_real() -> None:
    def loss(x):
        y = x * 2
        y += 1j * x
        return np.sum(np.abs(y))

    gradient(loss, np.ones(3))


@complex_into_real.instead("Make a new array")
def complex_in_a_new_array() -> None:
    def loss(x):
        y = x * 2
        y = y + 1j * x
        return np.sum(np.abs(y))

    gradient(loss, np.ones(3))


@complex_into_real.instead("Make the array one of complex numbers")
def complex_into_complex() -> None:
    def loss(x):
        y = (x * 2).astype(complex)
        y += 1j * x
        return np.sum(np.abs(y))

    gradient(loss, np.ones(3))


# -- memory that several arrays share --------------------------------------------------------------


@entry("An array is given twice and written into", MutationError)
def same_array_twice() -> None:
    def loss(x, y):
        x *= 2
        return np.sum(x * y)

    start = np.ones(3)
    gradient(loss, start, start)


@same_array_twice.instead("Give a copy of one of them")
def copy_of_one_argument() -> None:
    def loss(x, y):
        x *= 2
        return np.sum(x * y)

    start = np.ones(3)
    gradient(loss, start.copy(), start)


@same_array_twice.instead("Let the function write into a copy")
def function_with_a_copy() -> None:
    def loss(x, y):
        x = x.copy()
        x *= 2
        return np.sum(x * y)

    start = np.ones(3)
    gradient(loss, start, start)


@entry("Every second element, from a view of the same array", MutationError)
def shared_memory() -> None:
    def loss(x):
        y = x * 1.0
        y[::2] = y[:3]
        return np.sum(y**2)

    gradient(loss, np.arange(1.0, 7.0))


@shared_memory.instead("Write a copy")
def shared_memory_copied() -> None:
    def loss(x):
        y = x * 1.0
        y[::2] = y[:3].copy()
        return np.sum(y**2)

    assert np.array_equal(gradient(loss, np.arange(1.0, 7.0)), [2, 8, 6, 8, 0, 12])


@entry("x.flat takes the same array in another order", MutationError)
def flat_reads_what_it_writes() -> None:
    def fill(x):
        y = x * 1.0
        y.flat[...] = y.T
        return np.sum(y**2)

    gradient(fill, np.arange(9.0).reshape(3, 3))


@flat_reads_what_it_writes.instead("Write a copy")
def flat_takes_a_copy() -> None:
    def fill(x):
        y = x * 1.0
        y.flat[...] = y.T.copy()
        return np.sum(y**2)

    x = np.arange(9.0).reshape(3, 3)
    assert np.array_equal(gradient(fill, x), 2 * x)


@entry("A window of an array is written into", MutationError)
def window_written() -> None:
    def loss(x):
        windows = np.lib.stride_tricks.sliding_window_view(x * 1.0, 2, writeable=True)
        windows[0] = 0.0
        return np.sum(windows)

    gradient(loss, np.ones(4))


@window_written.instead("Write into a copy")
def copy_of_windows_written() -> None:
    def loss(x):
        windows = np.lib.stride_tricks.sliding_window_view(x * 1.0, 2).copy()
        windows[0] = 0.0
        return np.sum(windows)

    assert np.array_equal(gradient(loss, np.ones(4)), [0.0, 1.0, 2.0, 1.0])


@entry("Pairs of an array are written as complex numbers", MutationError)
def pairs_written() -> None:
    def loss(x):
        y = x * 1.0
        y.view(complex)[0] = 1.0
        return np.sum(y**2)

    gradient(loss, np.ones(4))


@pairs_written.instead("Write into a copy")
def copy_of_pairs_written() -> None:
    def loss(x):
        y = x * 1.0
        pairs = y.view(complex).copy()
        pairs[0] = 1.0
        return np.sum(np.abs(pairs) ** 2)

    assert np.array_equal(gradient(loss, np.ones(4)), [0.0, 0.0, 2.0, 2.0])


@pairs_written.instead("Write into the array itself")
def pairs_written_directly() -> None:
    def loss(x):
        y = x * 1.0
        y[:2] = [1.0, 0.0]
        return np.sum(y**2)

    assert np.array_equal(gradient(loss, np.ones(4)), [0.0, 0.0, 2.0, 2.0])


@entry("An array that has views is resized", MutationError)
def resized_in_place() -> None:
    def loss(x):
        y = x * 1.0
        first = y[:2]
        y.resize((3, 2), refcheck=False)
        return np.sum(y @ first)

    gradient(loss, np.ones(4))


@resized_in_place.instead("Make a new array")
def resized() -> None:
    def loss(x):
        y = x * 1.0
        first = y[:2]
        y = np.resize(y, (3, 2))
        return np.sum(y @ first)

    assert np.shape(gradient(loss, np.ones(4))) == (4,)


@entry("The dtype of an array is set", MutationError)
def dtype_is_set() -> None:
    def loss(x):
        y = x * 1.0
        y.dtype = np.complex128
        return np.sum(np.abs(y))

    gradient(loss, np.ones(4))


@dtype_is_set.instead("Make a new array")
def dtype_of_a_new_array() -> None:
    gradient(lambda x: np.sum(np.abs(x.astype(np.complex128))), np.ones(4))


# -- values that the derivative needs --------------------------------------------------------------


@entry("A large constant is written into after it was used", MutationError)
def constant_written_later() -> None:
    weights = np.ones(100_000)

    def loss(x):
        total = np.sum(weights * x)
        weights[0] = 0.0
        return total

    gradient(loss, np.ones(100_000))


@constant_written_later.instead("Use a copy of it inside the function")
def copy_written_later() -> None:
    weights = np.ones(100_000)

    def loss(x):
        own = weights.copy()
        total = np.sum(own * x)
        own[0] = 0.0
        return total

    gradient(loss, np.ones(100_000))


@entry("Code without source writes into an array that was used", MutationError)
def constant_written_unseen() -> None:
    space = {}
    exec("def reset(array):\n    array[0] = 0.0", space)
    weights = np.ones(100_000)

    def loss(x):
        total = np.sum(weights * x)
        space["reset"](weights)
        return total

    gradient(loss, np.ones(100_000))


@constant_written_unseen.instead("Use a copy of the array")
def copy_written_unseen() -> None:
    space = {}
    exec("def reset(array):\n    array[0] = 0.0", space)
    weights = np.ones(100_000)

    def loss(x):
        total = np.sum(weights.copy() * x)
        space["reset"](weights)
        return total

    gradient(loss, np.ones(100_000))


@entry("A constant is written into before the pullback is called", MutationError)
def constant_written_before_pullback() -> None:
    weights = np.ones(100_000)
    _, back = pullback(lambda x: np.sum(weights * x), np.ones(100_000))
    weights[0] = 0.0
    back(1.0)


@constant_written_before_pullback.instead("Call the pullback before")
def pullback_called_before() -> None:
    weights = np.ones(100_000)
    _, back = pullback(lambda x: np.sum(weights * x), np.ones(100_000))
    back(1.0)
    weights[0] = 0.0


@constant_written_before_pullback.instead("Use a copy in the function")
def pullback_with_a_copy() -> None:
    weights = np.ones(100_000)
    _, back = pullback(lambda x: np.sum(weights.copy() * x), np.ones(100_000))
    weights[0] = 0.0
    assert back(1.0)[0] == 1.0


@entry("Another thread writes into a traced array", MutationError)
def thread_writes() -> None:
    def loss(x):
        squares = np.zeros_like(x)

        def work(i):
            squares[i] = x[i] ** 2

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, range(3)))
        return np.sum(squares)

    gradient(loss, np.ones(3))


@thread_writes.instead("Return the values from the thread")
def thread_returns() -> None:
    def loss(x):
        with ThreadPoolExecutor(2) as pool:
            squares = list(pool.map(lambda i: x[i] ** 2, range(3)))
        return np.sum(np.array(squares))

    assert np.array_equal(gradient(loss, np.ones(3)), [2.0, 2.0, 2.0])


# -- functions that a rule calls -------------------------------------------------------------------


@entry("An integrand assigns to a variable outside of it", MutationError)
def integrand_assigns() -> None:
    def loss(x):
        total = 0.0

        def integrand(t):
            nonlocal total
            total = total + x * t
            return x * t

        return integrate.quad(integrand, 0.0, 1.0)[0] + total

    gradient(loss, 2.0)


@integrand_assigns.instead("Let it return the value")
def integrand_returns() -> None:
    def loss(x):
        return integrate.quad(lambda t: x * t, 0.0, 1.0)[0]

    assert np.isclose(gradient(loss, 2.0), 0.5)


@entry("What an integrand reads is changed later", MutationError)
def integrand_reads_a_list() -> None:
    def loss(x):
        scale = [2.0]
        area = integrate.quad(lambda t: scale[0] * np.sin(x * t), 0.0, 1.0)[0]
        scale[0] = 5.0
        return area * scale[0]

    gradient(loss, 2.0)


@integrand_reads_a_list.instead("Give the value as an argument")
def integrand_with_an_argument() -> None:
    def loss(x):
        scale = [2.0]
        area = integrate.quad(lambda t, c: c * np.sin(x * t), 0.0, 1.0, args=(scale[0],))[0]
        scale[0] = 5.0
        return area * scale[0]

    gradient(loss, 2.0)


# -- arguments that have another name --------------------------------------------------------------


@entry("An argument is written into, and read by another name", MutationError)
def argument_with_another_name() -> None:
    state = [1.0, 2.0]

    def loss(values):
        values[0] = values[0] * 3.0
        return state[0] * values[1]

    gradient(loss, state)


@entry("What is an argument is written into by its other name", MutationError)
def argument_changed_by_another_name() -> None:
    state = [1.0, 2.0]

    def loss(values):
        state[0] = 5.0
        return values[0] * values[1]

    gradient(loss, state)


@argument_changed_by_another_name.instead("Write into the argument")
def write_into_the_argument() -> None:
    def loss(values):
        values[0] = 5.0
        return values[0] * values[1]

    assert gradient(loss, [1.0, 2.0]) == [0.0, 5.0]


@argument_with_another_name.instead("Use the argument alone")
def argument_alone() -> None:
    def loss(values):
        values[0] = values[0] * 3.0
        return values[0] * values[1]

    assert gradient(loss, [1.0, 2.0]) == [6.0, 3.0]


@argument_with_another_name.instead("Give it a copy")
def copy_of_the_argument() -> None:
    state = [1.0, 2.0]

    def loss(values):
        values[0] = values[0] * 3.0
        return state[0] * values[1]

    assert gradient(loss, list(state)) == [0.0, 1.0]
