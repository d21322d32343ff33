"""Arrays that were made in a traced function, in the hands of a library that sees no traced one.

What the library writes into them is in them, whichever way it came by their memory.
"""

from __future__ import annotations

import json
import types

import numpy as np
import pytest

import autodiff
from autodiff.intercept.runtime import hidden_values
from autodiff.intercept.source.library_code import is_library
from tests.helpers import define, differences

LIBRARY = """
import numpy as np


def fill(a):
    a = np.asarray(a)
    a[0] = 3.0


def fill_inside(holder):
    np.asarray(holder.array)[0] = 3.0


def fill_listed(arrays):
    np.asarray(arrays[0])[0] = 3.0


def setter_of(holder):
    return np.asarray(holder.array).__setitem__


def by_name(name):
    def method(self):
        return getattr(np.asarray(self), name)

    return property(method)


class Holder:
    def __init__(self, array=None):
        self.array = np.zeros(3) if array is None else array

    def fill(self):
        np.asarray(self.array)[0] = 3.0

    def __array__(self, dtype=None, copy=None):
        return self.array

    def rest(self):
        return np.asarray(self)[1:]

    setter = by_name("__setitem__")
    __setitem__ = by_name("__setitem__")
    __getitem__ = by_name("__getitem__")
    __mul__ = by_name("__mul__")
    sum = by_name("sum")
    power = property(lambda self: self.array.__pow__)


def made():
    return Holder()


class Chain:
    def __init__(self, n, value=1.0):
        self.next = Chain(n - 1, value) if n else None
        self.value = value
        self.place = np.zeros(2)

    def total(self):
        return self.value + (self.next.total() if self.next else 0.0)

    def fill(self):
        np.asarray(self.place)[0] = 3.0
"""


@pytest.fixture(scope="module")
def library() -> types.SimpleNamespace:
    """What a module of an installed package has, by the place of its file."""
    file = f"{json.__file__.rpartition('/')[0]}/library_of_arrays.py"
    found = define(LIBRARY, file, {"np": np, "__name__": "library_of_arrays"})
    assert is_library(found["made"])
    return types.SimpleNamespace(**found)


def _filled(library, y, x):
    library.fill(y)


def _filled_inside(library, y, x):
    library.fill_inside(library.Holder(y))


def _filled_in_a_list(library, y, x):
    library.fill_listed([y])


def _filled_by_a_method(library, y, x):
    library.Holder(y).fill()


def _by_a_method_of_its_array(library, y, x):
    library.setter_of(library.Holder(y))(1, x[0])


def _by_a_property(library, y, x):
    library.Holder(y).setter(0, x[1])


def _by_syntax_that_is_a_property(library, y, x):
    holder = library.Holder(y)
    holder[1] = x[0] * x[1]


def _by_a_view(library, y, x):
    library.Holder(y).rest()[0] = x[0]


def _from_another_object(library, y, x):
    y[:] = library.Holder(x * 2.0)


@pytest.mark.parametrize(
    "write",
    [
        _filled, _filled_inside, _filled_in_a_list, _filled_by_a_method,
        _by_a_method_of_its_array, _by_a_property, _by_syntax_that_is_a_property, _by_a_view,
        _from_another_object,
    ],
)  # fmt: skip
def test_what_a_library_writes_into_an_array(library, write):
    def f(x):
        y = np.zeros(3)
        y[2] = 2.0
        write(library, y, x)
        return np.sum(y * x) + np.sum(y**2)

    x = np.array([0.7, 1.2, 0.4])
    value, slope = autodiff.value_and_gradient(f, x)
    np.testing.assert_allclose(value, f(x))
    np.testing.assert_allclose(slope, differences(f, x), rtol=1e-6)


def test_methods_that_are_properties(library):
    def f(x):
        holder = library.Holder(x * 1.5)
        return holder.sum() * holder[0] + (holder * x[1]).sum() + holder.power(2).sum()

    x = np.array([0.7, 1.2, 0.4])
    np.testing.assert_allclose(autodiff.gradient(f, x), differences(f, x), rtol=1e-6)


def test_an_array_that_an_object_has_given_is_not_new(library):
    def f(x):
        holder = library.made()
        np.asarray(holder)[0] = x
        return holder.array.sum()

    with pytest.raises(autodiff.MutationError, match="known by several names"):
        autodiff.gradient(f, 2.0)


@pytest.mark.parametrize("n", [3, 3 * hidden_values._SEARCHED])
def test_objects_with_many_parts(library, n):
    def f(x):
        chain = library.Chain(n // 3, x)
        plain = library.Chain(n // 3)
        plain.fill()
        plain.fill()  # what is known of it now
        return chain.total() * plain.place[0] + plain.total()

    np.testing.assert_allclose(autodiff.gradient(f, 2.0), 3.0 * (n // 3 + 1))
    assert len(hidden_values._large) < 5  # they are gone
