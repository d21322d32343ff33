"""Which fields classes and objects have, and construct."""

import functools
import gc
import weakref
from collections import defaultdict, namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from chainrules_core.errors import PrimalAdditionError
from chainrules_core.tangents import construct, declared_fields, fields_of
from chainrules_core.tangents.fields import is_structure, per_class


@dataclass
class Data:
    a: Any = 0.0
    b: Any = 0.0


@dataclass(frozen=True)
class Frozen:
    a: Any
    b: Any = 0.0


@dataclass(slots=True)
class SlottedData:
    a: Any = 0.0
    b: Any = 0.0


class Slotted:
    __slots__ = ("__hidden", "a", "b")

    def __init__(self):
        self.a, self.__hidden = 1.0, 3.0


class Plain:
    def __init__(self, a=1.0, b=2.0):
        self.a, self.b = a, b


class SubData(Data):
    """Not decorated: may set more attributes than Data declares."""


class Attrs:
    """As the attrs library leaves a class behind."""

    __attrs_attrs__ = (SimpleNamespace(name="a"), SimpleNamespace(name="b"))

    def __init__(self, a, b):
        self.a, self.b = a, b


@dataclass
class Cached:
    r: float

    @functools.cached_property
    def area(self):
        return self.r * self.r


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "cls, fields",
    [
        (Data, ("a", "b")),
        (Frozen, ("a", "b")),
        (SlottedData, ("a", "b")),
        (Attrs, ("a", "b")),
        (Slotted, ("_Slotted__hidden", "a", "b")),
        (Point, ("x", "y")),
        (Plain, None),
        (SubData, None),
        (tuple, None),
        (dict, None),
        (float, None),
    ],
)
def test_declared_fields(cls, fields):
    assert declared_fields(cls) == fields


@pytest.mark.parametrize(
    "cls, answer",
    [
        (Plain, True),
        (Data, True),
        (Slotted, True),
        (SubData, True),
        (object, False),
        (float, False),
        (OSError, False),
        (np.ndarray, False),
        (type("Sub", (np.ndarray,), {}), False),
        (type("Sub", (dict,), {}), False),
        (type, False),
        (SimpleNamespace, False),
        (Point, False),
    ],
)
def test_is_structure(cls, answer):
    assert is_structure(cls) is answer


def test_what_is_remembered_for_a_class_goes_with_it():
    asked = []

    @per_class
    def name(cls):
        asked.append(cls.__name__)
        return cls.__name__

    class Local:
        pass

    assert name(Local) == name(Local) == "Local"
    assert asked == ["Local"]
    alive = weakref.ref(Local)
    del Local
    gc.collect()
    assert alive() is None


def test_cached_properties_are_no_fields():
    c = Cached(2.0)
    assert c.area == 4.0
    assert fields_of(c) == {"r": 2.0}
    assert construct(c, {"r": 3.0}).area == 9.0


@pytest.mark.parametrize(
    "primal, fields",
    [
        (Data(1.0, 2.0), {"a": 3.0, "b": 4.0}),
        (Frozen(1.0, 2.0), {"a": 3.0, "b": 4.0}),
        (SlottedData(1.0, 2.0), {"a": 3.0, "b": 4.0}),
        (Plain(1.0, 2.0), {"a": 3.0, "b": 4.0}),
        (Attrs(1.0, 2.0), {"a": 3.0, "b": 4.0}),
        (Slotted(), {"a": 3.0, "_Slotted__hidden": 1.0}),
        (Point(1.0, 2.0), {"x": 3.0, "y": 4.0}),
        ({"k": 1.0}, {"k": 2.0}),
        (defaultdict(list, k=1.0), {"k": 2.0}),
    ],
)
def test_construct(primal, fields):
    before = fields_of(primal)
    new = construct(primal, fields)
    assert type(new) is type(primal)
    assert fields_of(new) == fields
    assert fields_of(primal) == before


def test_construct_does_not_run_init_but_keeps_other_attributes():
    @dataclass
    class Careful:
        a: float
        log: list = field(default_factory=list, init=False)

        def __post_init__(self):
            self.log.append("init")
            self.extra = 5.0

    c = Careful(1.0)
    new = construct(c, {"a": 2.0, "log": c.log})
    assert (new.a, new.extra, c.log) == (2.0, 5.0, ["init"])


def test_construct_of_sequences():
    class MyList(list):
        pass

    assert construct([1.0, 2.0], [3.0, 4.0]) == [3.0, 4.0]
    assert construct((1.0,), [3.0]) == (3.0,)
    assert type(construct(MyList([1.0]), [2.0])) is MyList


def test_construct_refuses_hidden_contents():
    with pytest.raises(PrimalAdditionError, match=r"construct\.register\(OSError\)"):
        construct(OSError(), {})
