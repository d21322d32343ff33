"""Classes of numbers and arrays that bring their own arithmetic: refused, whatever they define."""

from __future__ import annotations

import enum
import http
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import ArgumentError, gradient, pushforward
from autodiff.trace.checks.number_classes import overridden
from tools.fuzz.generators import subclasses
from tools.fuzz.judge import judge

X = np.array([1.0, 2.0, 3.0])
C = np.array([0.5, 1.5, 2.5])


class Metres(np.ndarray):
    """As libraries of units do."""

    def __array_ufunc__(self, f: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(x) * 1000.0 if type(x) is type(self) else x for x in inputs]
        return getattr(f, method)(*plain, **options)


class Labelled(np.ndarray):
    """With a label, and nothing of an array's changed."""

    def __new__(cls, values: Any, label: str = "") -> Any:
        made = np.asarray(values).view(cls)
        made.label = label
        return made

    def __array_finalize__(self, other: Any) -> None:
        self.label = getattr(other, "label", "")

    def __repr__(self) -> str:
        return self.label

    def described(self) -> str:
        return f"{self.label}: {len(self)}"


class Degrees(float):
    def __mul__(self, other: Any) -> Any:
        return float(self) * np.pi / 180 * other

    __rmul__ = __mul__


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Constant(float, enum.Enum):
    HALF = 0.5


def in_forward(f: Callable, x: Any) -> Any:
    return pushforward(f, x)[1](np.ones_like(x))


METRES: dict[str, Callable] = {
    "sum": lambda x: np.sum(C + C.view(Metres) * x),
    "from the right": lambda x: np.sum(x * C.view(Metres)),
    "a function": lambda x: np.sum(np.sin(C.view(Metres) * x)),
    "a product": lambda x: np.dot(C.view(Metres), x),
    "einsum": lambda x: np.einsum("i,i", x, C.view(Metres)),
    "among others": lambda x: np.sum(np.concatenate([x, C.view(Metres)])),
    "where": lambda x: np.sum(np.where(x > 0, C.view(Metres), x)),
    "in place": lambda x: np.sum(np.add(x, 1.0, out=x * C.view(Metres))),
}


@pytest.mark.parametrize("differentiate", [gradient, in_forward])
@pytest.mark.parametrize("use", METRES)
def test_a_constant_with_units(use: str, differentiate: Callable) -> None:
    slopes = {
        "sum": 1000.0 * C,
        "from the right": 1000.0 * C,
        "a function": 1000.0 * C * np.cos(1000.0 * C * X),
        "in place": np.ones(3),
    }
    if use in slopes:  # operators and ufuncs are the class's own
        found = differentiate(METRES[use], X)
        np.testing.assert_allclose(np.sum(found), np.sum(slopes[use]))
        return
    with pytest.raises(ArgumentError, match="Metres, a class of arrays that defines __array_ufunc"):
        differentiate(METRES[use], X)


def test_an_argument_with_units() -> None:
    with pytest.raises(ArgumentError, match="Metres"):
        gradient(lambda x: np.sum(x * x), X.view(Metres))


def test_the_way_out_of_the_message_works() -> None:
    np.testing.assert_array_equal(gradient(lambda x: np.sum(np.asarray(C.view(Metres)) * x), X), C)


def test_what_the_class_computes_by_itself_stays() -> None:
    c = C.view(Metres)
    assert gradient(lambda x: np.sum(np.asarray(c * 2.0)) * x, 1.0) == np.sum(C) * 2000.0


@pytest.mark.parametrize("name", sorted({*dir(np.ndarray)} - {"__class__", "__doc__"}))
def test_each_name_of_an_array_counts_unless_it_computes_nothing(name: str) -> None:
    kind = type("Own", (np.ndarray,), {name: getattr(np.ndarray, name)})
    made = overridden(kind)
    harmless = {
        "__array_finalize__", "__array_priority__", "__class_getitem__", "__copy__",
        "__deepcopy__", "__delattr__", "__dir__", "__format__", "__getstate__", "__hash__",
        "__init__", "__init_subclass__", "__new__", "__reduce__", "__reduce_ex__", "__repr__",
        "__setattr__", "__setstate__", "__sizeof__", "__str__", "__subclasshook__",
    }  # fmt: skip
    assert made == ([] if name in harmless else [name])


@pytest.mark.parametrize("kind", [np.memmap, np.recarray, Labelled, np.ndarray])
def test_classes_that_compute_as_arrays_do(kind: type) -> None:
    assert overridden(kind) == []
    c = C.view(kind)
    np.testing.assert_allclose(gradient(lambda x: np.sum(np.sin(c * x) + c[0] * x), X),
                               C * np.cos(C * X) + C[0])  # fmt: skip


def test_an_argument_of_a_plain_subclass() -> None:
    found = gradient(lambda x: np.sum(np.asarray(x) ** 2), Labelled(X, "x"))
    np.testing.assert_array_equal(found, 2 * X)


@pytest.mark.parametrize("x", [1.5, np.float64(1.5), X])
@pytest.mark.parametrize(
    "f, refused",
    [
        (lambda c, x: c * x, False),
        (lambda c, x: x * c, True),
        (lambda c, x: np.sin(x) * c, True),
    ],
)
def test_numbers(f: Callable, refused: bool, x: Any) -> None:
    """On the left, the method of the class is traced; on the right, the traced value refuses it."""
    c = Degrees(30.0)

    def g(x: Any) -> Any:
        return np.sum(f(c, x))

    h = 1e-6 * np.ones_like(x)
    if refused:
        with pytest.raises(ArgumentError, match="Degrees, a class of numbers that defines __mul"):
            gradient(g, x)
    else:
        np.testing.assert_allclose(np.sum(gradient(g, x)), (g(x + h) - g(x - h)) / 2e-6, rtol=1e-6)


@pytest.mark.parametrize("c", [Level.HIGH, Constant.HALF, http.HTTPStatus.OK, True, np.int8(3)])
def test_constants_of_an_enumeration(c: Any) -> None:
    assert gradient(lambda x: x * c, 1.5) == float(c)
    assert gradient(lambda x: c * x + x**c, 1.0) == 2 * float(c)


class Tripled(np.ndarray):
    """With functions of its own."""

    def __array_function__(self, f: Any, types: Any, args: Any, options: Any) -> Any:
        return f(*[np.asarray(x) * 3.0 if type(x) is Tripled else x for x in args], **options)


BY_BODY: dict[str, Callable] = {
    "polyval": np.polyval,
    "polymul": np.polymul,
    "column_stack": lambda c, x: np.column_stack([c, x]),
    "column_stack of lists": lambda c, x: np.column_stack([c, [x[0], 1.0, x[1]]]),
    "polyval of a list": lambda c, x: np.polyval(c, [x[0], 1.0]),
    "apply_over_axes": lambda c, x: np.apply_over_axes(lambda a, k: a * x, c, [0]),
    "insert": lambda c, x: np.insert(c, 0, x),
    "cov": lambda c, x: np.cov(c, x),
}


def test_methods_of_arrays_made_inside() -> None:
    c = C.view(Tripled)
    for f in (lambda x: x.dot(c), lambda x: np.sum(np.zeros(3).dot(c)) * x[0]):
        with pytest.raises(ArgumentError, match="Tripled, a class of arrays"):
            pushforward(f, X)


@pytest.mark.parametrize("f", BY_BODY.values(), ids=BY_BODY)
def test_functions_without_a_rule(f: Callable) -> None:
    c = C.view(Tripled)
    with pytest.raises(ArgumentError, match="Tripled, a class of arrays"):
        gradient(lambda x: np.sum(f(c, x)), X)


@pytest.mark.parametrize("seed", range(150))
def test_written_programs(seed: int) -> None:
    for outcome in judge(subclasses.write(seed), seed):
        assert not outcome.failed, outcome.detail


def test_compiled_functions_say_the_same() -> None:
    f = autodiff.compile(lambda x: gradient(METRES["a product"], x))
    with pytest.raises(ArgumentError, match="Metres"):
        f(X)


class Distance(float):
    @property
    def in_kilometres(self):
        return self / 1000.0

    def scaled(self, factor):
        return type(self)(self * factor)


@pytest.mark.parametrize("ask", [gradient, lambda f, x: autodiff.pushforward(f, x)[1](1.0)])
@pytest.mark.parametrize("f", [lambda d: d.in_kilometres, lambda d: d.scaled(2.0)])
def test_members_of_a_class_of_numbers_are_named(ask, f):
    with pytest.raises(ArgumentError, match="of a traced Distance, a class of numbers"):
        ask(f, Distance(2.0))
