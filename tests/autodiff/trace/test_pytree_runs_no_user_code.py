"""Objects are flattened without running any code of theirs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, ignore_derivatives
from autodiff.trace.pytree import leaves_of, map_leaves, parts_of

numba = pytest.importorskip("numba")


class Touched(Exception):  # noqa: N818 - raised by code that must not run
    pass


class Getattr:
    """Answers for every attribute, as proxies do."""

    def __getattr__(self, name: str) -> Any:
        raise Touched(name)


class Unset:
    """Its slots are not set, and a missing attribute is looked for in one of them: xarray's way."""

    __slots__ = ("_cache", "_source")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


class Wrapper:
    """Makes something of every attribute: numba's way."""

    __slots__ = ("kept",)

    def __getattr__(self, name: str) -> Any:
        return lambda *args: None


class Guarded:
    """Even its class and its dict are not to be had."""

    def __getattribute__(self, name: str) -> Any:
        raise Touched(name)


class Passing:
    """Passes for a class when somebody asks, which runs code."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise Touched("__class__")


class OwnDict:
    """Has a property in the place of its dict."""

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise Touched("__dict__")


class Meta(type):
    def __getattr__(cls, name: str) -> Any:
        raise Touched(name)


class OfMeta(metaclass=Meta):
    def __init__(self) -> None:
        self.a = 1.0


class OddSlots:
    """What ``__slots__`` was is gone, or is no list of names any more."""

    __slots__ = ("__b", "a")

    def __init__(self, a: Any) -> None:
        self.a, self.__b = a, a

    def value(self) -> Any:
        return self.a * self.__b


OddSlots.__slots__ = 7  # type: ignore[assignment]


class OnceSlots:
    __slots__ = iter(("a", "b"))

    def __init__(self, a: Any) -> None:
        self.a = a


@dataclasses.dataclass
class Late:
    a: Any
    b: Any = dataclasses.field(init=False)


ODD = [Getattr, Unset, Wrapper, Guarded, Passing, OwnDict, OfMeta]


@pytest.mark.parametrize("kind", ODD)
def test_no_code_of_an_object_runs(kind):
    odd = kind()
    leaves_of([odd, 1.0])
    assert map_leaves([odd, 1.0], lambda leaf: leaf)[0] is odd
    assert gradient(lambda nest: nest[1] ** 2, [odd, 3.0])[1] == 6.0

    def made_inside(x: Any) -> Any:
        held = {"odd": kind(), "x": x, "f": lambda y: (odd, y)[1]}
        return ignore_derivatives(held["x"]) * held["f"](x)

    assert gradient(made_inside, 3.0) == 3.0


def test_slots_are_the_descriptors():
    assert dict(parts_of(OddSlots(2.0))) == {"a": 2.0, "_OddSlots__b": 2.0}
    assert dict(parts_of(OnceSlots(2.0))) == {"a": 2.0}
    assert gradient(lambda o: o.value(), OddSlots(3.0)).a == 3.0
    assert gradient(lambda o: o.a**2, OnceSlots(3.0)).a == 6.0
    assert gradient(lambda o: o.a**2, Late(3.0)).a == 6.0


def test_a_slot_is_filled_past_a_property_of_its_name():
    class Base:
        __slots__ = ("a",)

    class Derived(Base):
        __slots__ = ()

        @property
        def a(self) -> Any:  # type: ignore[override]
            return 10.0 * Base.a.__get__(self)  # type: ignore[attr-defined]

    x = Derived()
    Base.a.__set__(x, 3.0)  # type: ignore[attr-defined]
    y = map_leaves(x, lambda leaf: leaf + 1.0)
    assert Base.a.__get__(y) == 4.0  # type: ignore[attr-defined]


@numba.njit
def square(x):
    return x * x


def test_a_compiled_function_is_a_leaf():
    square(2.0)
    assert leaves_of(square) == [square]

    def f(x: Any) -> Any:
        from scipy.integrate import quad

        return quad(lambda t: x * t * square(2.0), 0.0, 1.0)[0]

    assert gradient(f, 3.0) == pytest.approx(2.0)


def test_a_long_chain_of_objects():
    class Link:
        def __init__(self, tail: Any) -> None:
            self.tail = tail

    chain: Any = None
    for _ in range(5000):
        chain = Link(chain)
    assert leaves_of([chain, 2.0]) == [None, 2.0]
    assert gradient(lambda x: np.sum([x, x]) * leaves_of([chain, 2.0])[1], 1.0) == 4.0
