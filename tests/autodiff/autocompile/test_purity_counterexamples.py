"""Functions that once passed the proof of purity and were not pure."""

import enum
import functools
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize

from autodiff import autocompile, gradient
from autodiff.autocompile import call_records
from autodiff.autocompile.purity_analysis import Impurity, Proof


class Rate(float):
    def __mul__(self, other):
        raise AssertionError("not to be called")


class Step(enum.IntEnum):
    ONE = 1


class Silent:
    def __getattr__(self, name):
        raise AttributeError(name)

    def __repr__(self):
        raise AssertionError("not to be shown")


class Plain:
    def apply(self, a, b, c):
        return a + b


class Holder:
    def __init__(self, f):
        self.apply = f


class Held(NamedTuple):
    apply: Any


class Holding:
    apply = np.add


RATE = Rate(2.0)
SILENT = Silent()
RECORD = np.zeros(1, [("a", float)])[0]
SCALED = functools.partial(lambda x, scale: x * scale, scale=2.0)


def writes_by_another_name(x, c):
    add = np.add
    add(c, 1.0, c)
    return np.sum(x)


def writes_by_a_default(x, c, add=np.add):
    add(c, 1.0, c)
    return np.sum(x)


def writes_in_a_loop(x, c):
    for f in (np.add, np.multiply):
        f(c, 2.0, c)
    return np.sum(x)


def writes_by_map(x, c):
    list(map(np.exp, [c], [c]))
    return np.sum(x)


def writes_by_a_partial(x, c):
    functools.partial(np.add, c, 1.0)(c)
    return np.sum(x)


def writes_by_a_function_given(x, c):
    def apply(f, *args):
        return f(*args)

    apply(np.add, c, 1.0, c)
    return np.sum(x)


def writes_by_an_inner_function_that_is_bound_again(x, c):
    def add(a, b, out):
        return a + b

    for _ in range(2):
        add(c, 1.0, c)
        add = np.add
    return np.sum(x * c)


def writes_by_an_inner_function_that_another_one_binds(x, c):
    def add(a, b, out):
        return a + b

    def change():
        nonlocal add
        add = np.add

    change()
    add(c, 1.0, c)
    return np.sum(x * c)


def writes_by_what_an_object_holds(x, c):
    Plain().apply(c, 1.0, c)
    Holder(np.add).apply(c, 1.0, c)
    return np.sum(x * c)


def writes_by_what_a_record_holds(x, c):
    Plain().apply(c, 1.0, c)
    Held(np.add).apply(c, 1.0, c)
    return np.sum(x * c)


def writes_by_what_a_class_holds(x, c):
    Plain().apply(c, 1.0, c)
    Holding().apply(c, 1.0, c)
    return np.sum(x * c)


def writes_by_a_method_of_another_name(x, c):
    mean = c.mean
    mean(0, None, c[:1].reshape(()))
    return np.sum(x * c)


def writes_by_a_method(x, c):
    clip = c.clip
    clip(0.0, 1.0, c)
    return np.sum(x)


def writes_by_reduceat(x, c):
    np.add.reduceat(c * 2.0, [0, 1, 2], 0, None, c)
    return np.sum(x)


def casts_without_a_copy(x, c):
    y = c.astype(float, "C", "unsafe", True, False)
    y += 1.0
    return np.sum(x)


def overwrites(x, c):
    scipy.linalg.det(c, True)
    return np.sum(x)


def reads_a_number_of_the_users(x):
    return RATE * x


def reads_an_enumeration(x, step=Step.ONE):
    return x * step


def reads_a_record(x):
    return x * RECORD["a"]


def reads_a_partial(x):
    return SCALED(x)


def reads_what_is_not_to_be_shown(x):
    return x * SILENT


def asks_whether_arguments_are_one(x, c, d):
    return x * (2.0 if c is d else 3.0)


def asks_whether_memory_is_shared(x, c, d):
    return x * (2.0 if np.shares_memory(c, d) else 3.0)


def reads_strides(x, c):
    return x * np.zeros_like(c).strides[0]


def reads_in_the_order_of_memory(x, c):
    return x * np.zeros_like(c).ravel(order="K")[0]


def prints_by_a_library(x):
    return x * scipy.optimize.fmin(np.cos, 3.0)[0]


def imports_one_of_two(x, c):
    if len(c) > 2:
        from numpy import asarray as made
    else:
        from numpy import zeros as made
    y = made(c)
    y += 1.0
    return np.sum(x)


DOUBTS = [f for f in list(vars().values()) if getattr(f, "__module__", "") == __name__]
DOUBTS = [f for f in DOUBTS if hasattr(f, "__code__")]


@pytest.mark.parametrize("f", DOUBTS, ids=lambda f: f.__name__)
def test_doubts(f):
    f = functools.partial(f, [1.0])  # a function that reads nothing mutable may write
    with pytest.raises(Impurity):
        Proof(f)
    assert autocompile.why_not(f)


def hands_on_a_function(x):
    act = np.tanh
    if x is None:
        return 0.0
    return sum(map(np.exp, act(x)))


def test_functions_that_could_write_may_have_other_names():
    assert autocompile.why_not(hands_on_a_function) == ""


def test_why_not_never_raises():
    class Fails:
        def __hash__(self):
            raise ValueError("no hash")

        def __call__(self, x):
            return x

    fails = Fails()
    assert autocompile.why_not(lambda x: fails(x)) == ""
    assert autocompile.why_not(functools.partial(fails, 1.0)) == ""
    assert autocompile.why_not(fails)


@pytest.mark.usefixtures("soon")
def test_partials_of_other_arguments_are_apart():
    def f(*args, **named):
        return args[-1] * (len(args) + 10 * len(named))

    def take(g):
        return [gradient(g, 2.0) for _ in range(8)]

    assert take(functools.partial(f, 1, None, "a")) == [4.0] * 8
    assert take(functools.partial(f, 1, a=None)) == [12.0] * 8
    assert len(call_records.records) == 2


def adds_to_what_an_array_of_objects_holds(x, c):
    held = np.array([None, None])
    held[0] = c
    held[0] += HELD[0]
    return np.sum(x * c)


HELD = [1.0]


@pytest.mark.usefixtures("soon")
def test_arrays_of_objects_that_are_written_into():
    x, c = np.ones(2), np.array([1.0, 2.0])
    for k in range(1, 9):
        found = gradient(adds_to_what_an_array_of_objects_holds, x, c, argnums=0)
        np.testing.assert_allclose(found, [1.0 + k, 2.0 + k])
        np.testing.assert_allclose(found, c)
    assert not any(record.variants for record in call_records.records.values())


def again(f, n=8):
    return [gradient(f, 2.0) for _ in range(n)]


@pytest.mark.usefixtures("soon")
def test_names_of_python_that_are_hidden(monkeypatch):
    def f(x):
        return sum([x, x])

    assert again(f) == [2.0] * 8
    monkeypatch.setitem(globals(), "sum", lambda parts: parts[0])
    assert again(f) == [1.0] * 8


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("n", [4, 2000])
def test_arrays_of_which_shape_or_dtype_are_set(n):
    held = np.ones(n)

    def f(x):
        return x * held.shape[0]

    assert again(f) == [float(n)] * 8
    held.shape = (2, n // 2)
    assert again(f) == [2.0] * 8

    held = np.ones(n)

    def g(x):
        return x * np.sum(held)

    assert again(g) == [float(n)] * 8
    held = held.view()
    assert again(g) == [float(n)] * 8


@pytest.mark.usefixtures("soon")
def test_nests_that_are_equal_but_not_the_same():
    held = {1: 2.0, 2: 3.0}
    signs = [0.0]

    def f(x):
        return x * list(held.values())[0]  # noqa: RUF015 - as users write

    def g(x):
        return x * np.copysign(1.0, signs[0])

    assert again(f) + again(g) == [2.0] * 8 + [1.0] * 8
    held[1] = held.pop(1)
    signs[0] = -0.0
    assert again(f) + again(g) == [3.0] * 8 + [-1.0] * 8


@pytest.mark.usefixtures("soon")
def test_defaults_by_name_of_a_helper():
    def helper(x, *, scale=2.0):
        return x * scale

    def f(x):
        return helper(x) * 1.0

    assert again(f) == [2.0] * 8
    helper.__kwdefaults__["scale"] = 3.0
    assert again(f) == [3.0] * 8
    helper.__kwdefaults__ = {"scale": 4.0}
    assert again(f) == [4.0] * 8


@pytest.mark.usefixtures("soon")
def test_options_that_are_equal_but_not_the_same():
    def f(x, y):
        return x * y

    for _ in range(8):
        assert gradient(f, 2.0, 3.0, argnums=0) == 3.0
    with pytest.raises(TypeError):
        gradient(f, 2.0, 3.0, argnums=False)
