# ruff: noqa: UP031, UP032 - texts are made in every way
"""A traced value answers questions about itself as the plain value does.

Generated: every kind of value, traced in every mode, is asked every question; the answers are
compared with those of the plain value.
"""

from __future__ import annotations

import collections.abc
import copy
import functools
import inspect
import numbers
import sys
import typing
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from multipledispatch import Dispatcher, dispatch

import autodiff
from tests.helpers import define

VALUES: dict[str, Any] = {
    "float": 1.5,
    "float64": np.float64(1.5),
    "float32": np.float32(1.5),
    "complex": 1.5 + 2j,
    "complex128": np.complex128(1.5 + 2j),
    "0-d": np.array(1.5),
    "vector": np.array([1.0, 2.0, 3.0]),
    "single": np.ones(2, np.float32),
    "matrix": np.array([[1.0, 2.0], [3.0, 4.0]]),
    "complex vector": np.array([1j, 2.0]),
    "empty": np.zeros(0),
}


def total(x: Any) -> Any:
    return np.sum(np.real(x * x))


def ones(x: Any) -> Any:
    return np.ones_like(x) if isinstance(x, np.ndarray) else type(x)(1.0)


def in_reverse(f: Callable, x: Any) -> None:
    autodiff.gradient(f, x)


def forward(f: Callable, x: Any) -> None:
    autodiff.pushforward(f, x)[1](ones(x))


def nested(f: Callable, x: Any) -> None:
    autodiff.gradient(lambda y: total(autodiff.gradient(f, y)), x)


def forward_over_reverse(f: Callable, x: Any) -> None:
    autodiff.pushforward(lambda y: autodiff.gradient(f, y), x)[1](ones(x))


MODES = {f.__name__: f for f in (in_reverse, forward, nested, forward_over_reverse)}


def answers(ask: Callable, x: Any, mode: str) -> list:
    """Return what `ask` says of the value as it is traced in a mode, each time it is asked."""
    found: list[Any] = []

    def f(x: Any) -> Any:
        found.append(ask(x))
        return total(x)

    MODES[mode](f, x)
    return found


every_value = pytest.mark.parametrize("value", VALUES)
every_mode = pytest.mark.parametrize("mode", MODES)
OTHERS = [
    "__len__", "__iter__", "__array_interface__", "__array_struct__", "__array__", "__dict__",
    "__slots__", "_value", "_tape", "hex", "data", "ctypes", "tolist", "keys", "iloc", "detach",
    "numpy", "__call__", "__fspath__", "__index__", "__int__", "__buffer__", "__float__",
]  # fmt: skip


def has(x: Any, names: list[str]) -> dict[str, Any]:
    """Return for each name whether `x` has it, or the class of the value's own error."""
    found: dict[str, Any] = {}
    for name in names:
        try:
            found[name] = hasattr(x, name)
        except ValueError as error:  # the matrix transpose of a vector
            found[name] = type(error)
    return found


@every_mode
@every_value
def test_which_attributes_there_are(value: str, mode: str) -> None:
    x = VALUES[value]
    names = [*dir(x), *OTHERS]
    for found in answers(lambda x: (has(x, names), dir(x)), x, mode):
        assert found == (has(x, names), dir(x))


@every_mode
@every_value
def test_an_attribute_with_a_default_is_that_of_the_value(value: str, mode: str) -> None:
    x = VALUES[value]
    missing = [name for name in OTHERS if not hasattr(x, name)]
    for found in answers(lambda x: [getattr(x, name, None) for name in missing], x, mode):
        assert found == [None] * len(missing)


SPECIAL = sorted(
    {n for kind in (np.ndarray, float, complex, list, dict) for n in dir(kind) if n[:2] == "__"}
)
READING = """
def read(x):
    try:
        found = x.{name}
    except AttributeError:
        return "missing"
    return "None" if found is None else "there"
"""


def reading(name: str) -> Callable:
    """Return a function, with its source, that reads an attribute by its name in the text."""
    text = READING.format(name=name)
    return define(text, f"<reading {name}>", {"__name__": __name__})["read"]


@pytest.mark.parametrize("name", SPECIAL)
def test_a_special_attribute_is_there_where_the_value_has_it(name: str) -> None:
    read = reading(name)
    for x in VALUES.values():
        for mode in MODES:
            try:
                found = answers(read, x, mode)
            except autodiff.DifferentiationError:  # what cannot be followed is an error
                assert read(x) == "there"
            else:
                assert {read(x)} == set(found)


# Special methods are reached by syntax; and there the names count only.
METHODS = {
    value: [n for n in dir(x) if n[0] != "_" and n != "mT" and callable(getattr(x, n))]
    for value, x in VALUES.items()
}  # fmt: skip


def described(x: Any, names: list[str]) -> list[tuple]:
    methods = [getattr(x, name) for name in names]
    return [
        (m.__name__, m.__qualname__, m.__doc__, m.__module__, callable(m), str(signature(m)))
        for m in methods
    ]


def signature(m: Any) -> Any:
    try:
        return inspect.signature(m)
    except ValueError:
        return None


@every_mode
@every_value
def test_how_methods_are_called(value: str, mode: str) -> None:
    x = VALUES[value]
    expected = described(x, METHODS[value])
    for found in answers(lambda x: described(x, METHODS[value]), x, mode):
        assert found == expected


@every_mode
@every_value
def test_the_names_of_operators(value: str, mode: str) -> None:
    names = ["__add__", "__rmul__", "__neg__", "__eq__", "__pow__", "__bool__", "__repr__"]
    for found in answers(lambda x: [getattr(x, n).__name__ for n in names], VALUES[value], mode):
        assert found == names


DEPRECATED = {"ByteString"} if sys.version_info >= (3, 12) else set()
ABSTRACT = [
    *[getattr(collections.abc, name) for name in collections.abc.__all__ if name not in DEPRECATED],
    *[getattr(numbers, name) for name in numbers.__all__],
    typing.SupportsFloat, typing.SupportsInt, typing.SupportsIndex, typing.SupportsAbs,
    typing.SupportsRound, typing.SupportsComplex, typing.SupportsBytes,
    float, int, complex, bool, str, list, tuple, object, np.ndarray, np.generic, np.floating,
    np.inexact, np.number, np.float64, np.float32, np.complexfloating,
]  # fmt: skip


@every_mode
@every_value
def test_what_it_is_an_instance_of(value: str, mode: str) -> None:
    def ask(x: Any) -> list:
        return [(isinstance(x, kind), issubclass(type(x), kind)) for kind in ABSTRACT]

    x = VALUES[value]
    for found in answers(ask, x, mode):
        assert found == ask(x)


@functools.singledispatch
def by_type(x: Any) -> str:
    return "object"


class Visitor:
    @functools.singledispatchmethod
    def visit(self, x: Any) -> str:
        return "object"

    @dispatch(object)
    def see(self, x: Any) -> str:
        return "object"


by_dispatcher = Dispatcher("by_dispatcher")
by_dispatcher.register(object)(lambda x: "object")
by_number = Dispatcher("by_number")
by_number.register(object)(lambda x: "object")
by_number.register(numbers.Number)(lambda x: "number")
for kind in (float, complex, np.float64, np.float32, np.complex128, np.ndarray):
    by_type.register(kind)(lambda x, kind=kind: kind.__name__)
    Visitor.visit.register(kind)(lambda self, x, kind=kind: kind.__name__)
    by_dispatcher.register(kind)(lambda x, kind=kind: kind.__name__)


def matched(x: Any) -> str:
    match x:
        case np.ndarray(shape=(3,)):
            return "of three"
        case np.ndarray(ndim=n):
            return f"of {n} axes"
        case np.floating():
            return "of NumPy"
        case float(y):
            return type(y).__name__
        case [_, _]:
            return "sequence"
        case complex():
            return "complex"
        case _:
            return "else"


QUESTIONS: dict[str, Callable] = {
    "singledispatch": lambda x: by_type(x),
    "singledispatchmethod": lambda x: Visitor().visit(x),
    "multipledispatch": lambda x: by_dispatcher(x),
    "multipledispatch by an abstract class": lambda x: by_number(x),
    "a method of multipledispatch": lambda x: Visitor().see(x),
    "match": lambda x: matched(x),
    "type": lambda x: (type(x), x.__class__, type(x).__name__, type(x).__mro__),
    "doc": lambda x: x.__doc__,
    "repr": lambda x: (repr(x), str(x), f"{x}", f"{x!r}", f"{x!s:>40}", "%s %r" % (x, x)),
    "text of a nest": lambda x: (str([x]), repr({"a": (x,)}), f"{[x]}", "{0} {0!r}".format(x)),
    "format": lambda x: format(x, "") + "{:}".format(x),
    "callable": lambda x: (callable(x), inspect.isfunction(x), inspect.ismethod(x)),
    "shape": lambda x: (np.shape(x), np.ndim(x), np.size(x)),
    "numpy": lambda x: (np.isscalar(x), np.iscomplexobj(x), np.isrealobj(x), np.iterable(x)),
    "dtype": lambda x: (np.result_type(x), np.min_scalar_type(x)),
    "cast": lambda x: np.can_cast(np.result_type(x), "f8"),
    "kind": lambda x: np.issubdtype(np.result_type(x), np.floating),
    "common": lambda x: np.common_type(np.asarray(x)),
    "attributes": lambda x: [getattr(x, n, None) for n in ("dtype", "shape", "nbytes", "units")],
    "copies": lambda x: (type(copy.copy(x)), type(copy.deepcopy(x))),
    "length": lambda x: len(x) if hasattr(x, "__len__") and np.ndim(x) else -1,
    "vars": lambda x: hasattr(x, "__dict__"),
    "text": lambda x: (type(str(x)), isinstance(repr(x), str), str(x).__class__, len(str(x))),
}  # fmt: skip


@every_mode
@every_value
@pytest.mark.parametrize("question", QUESTIONS)
def test_other_questions(question: str, value: str, mode: str) -> None:
    x, ask = VALUES[value], QUESTIONS[question]
    for found in answers(ask, x, mode):
        assert found == ask(x)


# ------------------------------------------------------------------------------ what may be had


@every_value
def test_the_memory_of_a_value_is_not_to_be_had(value: str) -> None:
    x = VALUES[value]

    def f(x: Any, name: str) -> Any:
        return total(x) * (getattr(x, name, None) is None)

    for name in ("__array_interface__", "__array_struct__", "data"):
        if hasattr(x, name):
            with pytest.raises(autodiff.DifferentiationError, match=name):
                autodiff.gradient(f, x, name, argnums=0)


@pytest.mark.parametrize("name", ["hex", "as_integer_ratio"])
def test_a_method_without_a_rule_is_an_error_when_it_is_called(name: str) -> None:
    def f(x: Any) -> Any:
        method = getattr(x, name)
        return x * x if callable(method) else method()

    assert autodiff.gradient(f, 1.5) == 3.0
    with pytest.raises(autodiff.MissingRuleError, match=f"float.{name} has no rule"):
        autodiff.gradient(lambda x: getattr(x, name)(), 1.5)


def test_a_dispatched_function_is_differentiated() -> None:
    scaled = Dispatcher("scaled")
    scaled.register(object)(lambda x: 0.0 * x)
    scaled.register(float)(lambda x: 3.0 * x)
    scaled.register(np.ndarray, float)(lambda x, y: np.sum(x) * y)
    assert autodiff.gradient(lambda x: scaled(x), 2.0) == 3.0
    assert autodiff.gradient(scaled, 2.0) == 3.0
    assert autodiff.gradient(lambda x: scaled(np.ones(3), x), 2.0) == 3.0


def test_python_has_not_lost_count() -> None:
    """A method that is shown as another's is made once."""

    def f(x: Any) -> Any:
        return x.sum() + x.mean() * 2.0

    autodiff.gradient(f, np.ones(3))
    first = autodiff.numpy_api.methods._shown_as.cache_info().currsize
    for _ in range(50):
        autodiff.gradient(f, np.ones(3))
    assert autodiff.numpy_api.methods._shown_as.cache_info().currsize == first
    assert sys.getrefcount(f) < 20
