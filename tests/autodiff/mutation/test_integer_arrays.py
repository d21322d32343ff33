"""A traced value written into an array of integers: its dtype is the cause of the error."""

import numpy as np
import pytest

import autodiff
from autodiff import compile, gradient, ignore_derivatives
from autodiff.errors import MutationError

X = np.array([1.7, 2.6, 3.5])


def writing(write, make=lambda x: np.zeros(3, int)):
    def f(x):
        a = make(x)
        write(a, x)
        return np.sum(a * x)

    return f


def set_one(a, x):
    a[0] = 2.0 * x[0]


def set_all(a, x):
    a[:] = x


def set_two(a, x):
    a[0], a[1] = x[0], x[1]


def set_in_a_view(a, x):
    part = a[:2]
    part[0] = x[0]


def set_by_flat(a, x):
    a.flat[0] = x[0]


def add_one(a, x):
    a[0] += x[0]


def fill(a, x):
    a.fill(x[0])


def put(a, x):
    np.put(a, [0], x[0])


def copyto(a, x):
    np.copyto(a, x, casting="unsafe")


def add_at(a, x):
    np.add.at(a, [0], x[0])


def out(a, x):
    np.multiply(x, 2.0, out=a, casting="unsafe")


WRITES = [
    set_one, set_all, set_two, set_in_a_view, set_by_flat, add_one, fill, put, copyto, add_at, out,
]  # fmt: skip
MAKERS = {
    "zeros": lambda x: np.zeros(3, int),
    "arange": lambda x: np.arange(3),
    "array": lambda x: np.array([1, 2, 3]),
    "astype": lambda x: x.astype(int),
    "truth": lambda x: np.array([True, False, True]),
    "compared": lambda x: x > 2.0,
}


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("write", WRITES)
def test_the_cause_is_the_dtype(write, make):
    f = writing(write, MAKERS[make])
    takes = [
        lambda x: gradient(f, x),
        compile(lambda x: gradient(f, x)),
    ]
    if write is not out:
        takes.append(lambda x: autodiff.pushforward(f, x)[1](np.ones(3)))
    for take in takes:
        with pytest.raises(MutationError, match=f"dtype {MAKERS[make](X).dtype}") as caught:
            take(X)
        assert "test_integer_arrays.py" in str(caught.value)


def test_whole_numbers_are_written():
    def f(x):
        a = np.zeros(3, int)
        a[0] = int(x[0])
        a[1] = np.argmax(x)
        a[2] = ignore_derivatives(x[2])
        b = np.zeros(3, int)
        b[...] = x.astype(int)
        return np.sum(a * x) + np.sum(b * x)

    expected = [2.0, 4.0, 6.0]
    np.testing.assert_array_equal(gradient(f, X), expected)
    compiled = compile(lambda x: gradient(f, x))
    for x in (X, X + 0.1, X + 1.0, X):
        np.testing.assert_array_equal(compiled(x), gradient(f, x))


def test_values_are_cut_off_in_programs_as_well():
    f = writing(set_all)
    compiled = compile(f)
    for x in (X, 2.0 * X, -X):
        assert compiled(x) == f(x)


def test_an_array_of_floats_from_outside_has_another_cause():
    outside = np.zeros(3)

    def f(x):
        outside[0] = x[0]
        return np.sum(outside * x)

    with pytest.raises(MutationError, match="made outside the function"):
        gradient(f, X)
