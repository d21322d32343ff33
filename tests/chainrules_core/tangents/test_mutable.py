"""MutableTangent and structural_tangent."""

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import pytest

from chainrules_core.errors import TangentTypeError
from chainrules_core.tangents import (
    MutableTangent,
    Tangent,
    ZeroTangent,
    fields_of,
    structural_tangent,
)

ZERO = ZeroTangent()
Point = namedtuple("Point", "x y")


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


class Plain:
    def __init__(self):
        self.a, self.b = 1.0, 2.0


@pytest.mark.parametrize("cls", [Data, Plain, SlottedData])
def test_assignment(cls):
    t = MutableTangent[cls](a=0.0, b=ZERO)
    t.a = 1.0
    t["b"] = 2.0
    assert (t.a, t["a"], t.b) == (1.0, 1.0, 2.0)
    assert t + Tangent[cls](a=1.0) == MutableTangent[cls](a=2.0, b=2.0)
    assert t == Tangent[cls](a=1.0, b=2.0)


def test_assignment_to_elements():
    t = MutableTangent[list](1.0, 2.0)
    t[-1] = 3.0
    assert t == MutableTangent[list](1.0, 3.0)


def test_assignment_to_a_field_named_like_a_method():
    t = MutableTangent[Plain](a=0.0)
    t.keys = 1.0
    assert t["keys"] == 1.0


def test_sums_do_not_change_their_terms():
    t = MutableTangent[Plain](a=1.0)
    total = t + t
    total.a = 5.0
    assert t.a == 1.0


def test_plain_tangents_are_not_assignable():
    with pytest.raises(AttributeError):
        Tangent[Data](a=1.0).a = 2.0
    with pytest.raises(TypeError):
        Tangent[Data](a=1.0)["a"] = 2.0


@pytest.mark.parametrize(
    "primal, kind",
    [
        (Plain(), MutableTangent),
        (Data(), MutableTangent),
        (SlottedData(), MutableTangent),
        (Frozen(1.0), Tangent),
        (Point(1.0, 2.0), Tangent),
        ({"a": 1.0}, Tangent),
    ],
)
def test_structural_tangent_chooses(primal, kind):
    t = structural_tangent(primal, **dict.fromkeys(fields_of(primal), 0.5))
    assert type(t) is kind[type(primal)]


def test_all_declared_fields_must_be_there():
    with pytest.raises(TangentTypeError, match="missing: b"):
        MutableTangent[Data](a=1.0)
    with pytest.raises(TangentTypeError, match="'c'"):
        MutableTangent[Data](a=1.0, b=1.0)["c"] = 1.0
