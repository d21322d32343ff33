"""Tangent[Foo], canonicalize, backing."""

import copy
import gc
import operator
import pickle
import weakref
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import pytest
from hypothesis import given, strategies as st
from multipledispatch import Dispatcher

from chainrules_core.errors import TangentTypeError
from chainrules_core.tangents import (
    MutableTangent,
    NoTangent,
    Tangent,
    ZeroTangent,
    backing,
    canonicalize,
    not_implemented,
    thunk,
)

ZERO, NO = ZeroTangent(), NoTangent()
T = TypeVar("T")


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


class SubPlain(Plain):
    pass


class Attrs:
    """As the attrs library leaves a class behind."""

    __attrs_attrs__ = (SimpleNamespace(name="a"), SimpleNamespace(name="b"))

    def __init__(self, a, b):
        self.a, self.b = a, b


class Clashing(NamedTuple):
    keys: Any
    map: Any
    conj: Any


class GenericFoo(Generic[T]):
    pass


Point = namedtuple("Point", "x y")
DECLARING = [Data, Frozen, SlottedData, Attrs]


# --------------------------------------------------------------------------- the class Tangent[Foo]


@pytest.mark.parametrize("kind", [Tangent, MutableTangent])
@pytest.mark.parametrize("primal", [Data, Plain, tuple, list, dict, Point, Slotted, Any])
def test_indexing_gives_one_class(kind, primal):
    cls = kind[primal]
    assert cls is kind[primal]
    assert issubclass(cls, kind)
    assert cls.__name__ == f"{kind.__name__}[{primal.__name__}]"
    assert cls is not kind[Frozen]


def test_generic_alias_means_its_class():
    assert Tangent[GenericFoo[int]] is Tangent[GenericFoo]
    assert Tangent[tuple[int, str]] is Tangent[tuple]
    assert Tangent[list[int]] is Tangent[list]


def test_classes_are_remembered_weakly():
    class Local:
        pass

    cls = weakref.ref(Local)
    t = Tangent[Local](a=1.0)
    del Local
    gc.collect()
    assert t.primal_type is cls()
    del t
    gc.collect()
    assert cls() is None


def test_serves_isinstance_and_dispatch():
    f = Dispatcher("f")
    f.register(Tangent[Data])(lambda t: "Data")
    f.register(Tangent)(lambda t: "any")
    assert f(Tangent[Data](a=1.0)) == f(MutableTangent[Data](a=1.0, b=1.0)) == "Data"
    assert f(Tangent[Plain](a=1.0)) == "any"
    assert not isinstance(Tangent[Data](), MutableTangent)


def test_the_other_spelling():
    assert Tangent(Data, a=1.0) == Tangent[Data](a=1.0)
    assert Tangent(tuple, 1.0, 2.0) == Tangent[tuple](1.0, 2.0)
    assert type(MutableTangent(Plain, a=1.0)) is MutableTangent[Plain]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Tangent(),
        lambda: Tangent(a=1.0),
        lambda: Tangent[3],
        lambda: Tangent[Data][Plain],
        lambda: Tangent[Data](c=1.0),
        lambda: Tangent[Data](1.0, 2.0),
        lambda: Tangent[Plain](1.0),
        lambda: Tangent[SlottedData](c=1.0),
        lambda: Tangent[Slotted](c=1.0),
        lambda: Tangent[Attrs](c=1.0),
        lambda: Tangent[Point](z=1.0),
        lambda: Tangent[Point](1.0),
        lambda: Tangent[Point](1.0, 2.0, 3.0),
        lambda: Tangent[tuple](a=1.0),
        lambda: Tangent[list](1.0, a=1.0),
        lambda: Tangent[dict](1.0),
        lambda: Tangent[Data](a=1.0)["c"],
        lambda: MutableTangent[Data](a=1.0),
        lambda: operator.setitem(MutableTangent[Data](a=1.0, b=1.0), "c", 1.0),
    ],
)
def test_wrong_construction(wrong):
    with pytest.raises(TangentTypeError):
        wrong()


def test_an_unknown_field_is_named_with_those_there_are():
    with pytest.raises(TangentTypeError, match=r"Tangent\[Data\] has no field 'c'.*a, b"):
        Tangent[Data](a=1.0, c=2.0)


# ------------------------------------------------------------------------------- parts of a tangent


@pytest.mark.parametrize("cls", [*DECLARING, Plain])
def test_access(cls):
    t = Tangent[cls](a=thunk(lambda: 2.0))
    assert t.a == t["a"] == 2.0
    assert t.b is t["b"] is ZERO
    assert "a" in t
    assert "b" not in t
    assert len(t) == 1
    assert list(Tangent.keys(t)) == ["a"]
    assert t.primal_type is cls


@pytest.mark.parametrize("cls", DECLARING)
def test_declared_fields_have_positions_and_are_the_only_ones(cls):
    t = Tangent[cls](b=1.0)
    assert (t[0], t[1], t[-1]) == (ZERO, 1.0, 1.0)
    assert not hasattr(t, "c")
    with pytest.raises(AttributeError, match="its fields are a, b"):
        t.c  # noqa: B018  # the lookup is the test


def test_plain_objects_have_any_field_but_protocols_are_not_fooled():
    t = Tangent[Plain](_weight=1.0)
    assert t._weight == 1.0
    assert t.anything is ZERO
    for name in ("_absent", "__array_interface__", "shape", "dtype"):
        assert not hasattr(t, name)
    assert Tangent[Plain](shape=1.0).shape == 1.0


@pytest.mark.parametrize("cls", [tuple, list])
def test_sequences(cls):
    lazy = thunk(lambda: 3.0)
    t = Tangent[cls](1.0, 2.0, lazy)
    assert (t[0], t[2], t[-1]) == (1.0, 3.0, 3.0)
    assert t[1:] == Tangent[cls](2.0, 3.0)
    assert list(t)[2] is lazy
    assert list(t.keys()) == [0, 1, 2]
    assert 2 in t
    assert 3 not in t
    with pytest.raises(IndexError):
        t[3]
    first, *rest = t
    assert (first, len(rest)) == (1.0, 2)
    assert len(Tangent[cls]()) == 0


@pytest.mark.parametrize("cls", [dict, OrderedDict, defaultdict])
def test_dicts(cls):
    t = Tangent[cls]({"k": 1.0, 3: 2.0})
    assert (t["k"], t[3], t["absent"]) == (1.0, 2.0, ZERO)
    assert t.k == 1.0
    assert dict(t.items()) == {"k": 1.0, 3: 2.0}
    assert repr(t) == f"Tangent[{cls.__name__}]({{'k': 1.0, 3: 2.0}})"
    assert Tangent[cls](k=1.0, x=2.0) == Tangent[cls]({"k": 1.0, "x": 2.0})


def test_namedtuples_by_name_or_position():
    t = Tangent[Point](1.0, 2.0)
    assert t == Tangent[Point](y=2.0, x=1.0)
    assert (t.x, t[1], t[-2]) == (1.0, 2.0, 1.0)
    assert list(Tangent[Point](y=2.0)) == [ZERO, 2.0]
    x, y = Tangent[Point](x=1.0)
    assert (x, y) == (1.0, ZERO)


def test_a_declared_field_wins_over_a_method():
    t = Tangent[Clashing](1.0, 2.0, 3.0)
    assert (t.keys, t.map, t.conj) == (1.0, 2.0, 3.0)
    assert list(Tangent.keys(t)) == ["keys", "map", "conj"]
    assert 2 * t == Tangent[Clashing](2.0, 4.0, 6.0)
    assert Tangent.map(t, operator.neg) == -t
    assert (t + t).map == 4.0


def test_an_undeclared_field_is_always_reached_by_item():
    t = Tangent[Plain](keys=1.0)
    assert t["keys"] == 1.0
    assert list(t.keys()) == ["keys"]


def test_unknown_primal():
    assert Tangent[Any](1.0, 2.0)[1] == 2.0
    assert Tangent[Any](a=1.0).a == 1.0
    assert Tangent[Any](a=1.0) + Tangent[Data](a=1.0, b=2.0) == Tangent[Data](a=2.0, b=2.0)
    assert Tangent[Data](b=2.0) + Tangent[Any](a=1.0) == Tangent[Data](a=1.0, b=2.0)
    with pytest.raises(TangentTypeError):
        Tangent[Any](1.0) + Tangent[Any](a=1.0)


# --------------------------------------------------------------------------------------- arithmetic


@pytest.mark.parametrize("cls", [*DECLARING, Plain])
def test_arithmetic(cls):
    t, u = Tangent[cls](a=1.0), Tangent[cls](a=2.0, b=np.ones(2))
    assert t + u == Tangent[cls](b=np.ones(2), a=3.0)
    assert u - t == Tangent[cls](a=1.0, b=np.ones(2))
    assert -u == Tangent[cls](a=-2.0, b=-np.ones(2))
    assert 2 * u == u * 2 == u * np.float64(2) == np.float64(2) * u == u + u
    assert u / 2 == Tangent[cls](a=1.0, b=np.full(2, 0.5))
    assert +u is u
    assert (u * 1j).conj() == u * -1j


def test_sums_of_dicts_unite_their_keys():
    assert Tangent[dict](a=1.0) + Tangent[dict](b=2.0) == Tangent[dict](a=1.0, b=2.0)


def test_parts_are_added_by_the_table_of_precedence():
    missing = not_implemented("x")
    total = Tangent[tuple](missing, ZERO, thunk(lambda: 1.0), NO, Tangent[dict](k=1.0)) + Tangent[
        tuple
    ](1.0, 2.0, thunk(lambda: 2.0), ZERO, Tangent[dict](k=2.0))
    assert list(total) == [missing, 2.0, 3.0, NO, Tangent[dict](k=3.0)]


@pytest.mark.parametrize(
    "a, b",
    [
        (Tangent[Data](a=1.0), Tangent[Frozen](a=1.0)),
        (Tangent[Plain](a=1.0), Tangent[SubPlain](a=1.0)),
        (Tangent[tuple](1.0), Tangent[list](1.0)),
        (Tangent[tuple](1.0), Tangent[tuple](1.0, 2.0)),
        (Tangent[tuple](1.0), 1.0),
        (Tangent[tuple](1.0), np.ones(1)),
        (Tangent[Data](a=1.0), {"a": 1.0}),
    ],
)
def test_different_primals_have_no_sum(a, b):
    with pytest.raises(TypeError):
        a + b
    with pytest.raises(TypeError):
        b + a


def test_there_is_no_product_of_two():
    t = Tangent[tuple](1.0)
    for op in (operator.mul, operator.truediv):
        with pytest.raises(TypeError):
            op(t, t)


def test_is_no_array():
    with pytest.raises(TangentTypeError, match="not an array"):
        np.asarray(Tangent[tuple](1.0, 2.0))
    objects = np.empty(1, object)
    objects[0] = Tangent[tuple](1.0, 2.0)
    assert objects[0][1] == 2.0
    objects[:] = [Tangent[tuple](3.0)]
    assert objects[0] == Tangent[tuple](3.0)


@pytest.mark.parametrize(
    "a, b, equal",
    [
        (Tangent[Data](a=1.0), Tangent[Data](a=1.0, b=ZERO), True),
        (Tangent[Data](a=1.0, b=2.0), Tangent[Data](b=2.0, a=1.0), True),
        (Tangent[Data](a=1.0), Tangent[Data](a=thunk(lambda: 1.0)), True),
        (Tangent[Data](a=np.ones(2)), Tangent[Data](a=thunk(lambda: np.ones(2))), True),
        (Tangent[Plain](a=1.0), Tangent[Plain](a=1.0, c=ZERO), True),
        (Tangent[Plain](a=1.0), MutableTangent[Plain](a=1.0), True),
        (Tangent[tuple](Tangent[tuple](1.0)), Tangent[tuple](Tangent[tuple](1.0)), True),
        (Tangent[Data](a=1.0), Tangent[Data](a=2.0), False),
        (Tangent[Data](a=1.0), Tangent[Data](a=1.0, b=0.0), False),
        (Tangent[Data](a=NO), Tangent[Data](a=ZERO), False),
        (Tangent[Data](a=np.ones(2)), Tangent[Data](a=np.ones(3)), False),
        (Tangent[Data](a=1.0), Tangent[Frozen](a=1.0), False),
        (Tangent[tuple](1.0), Tangent[tuple](1.0, ZERO), False),
        (Tangent[tuple](1.0), (1.0,), False),
    ],
)
def test_equality(a, b, equal):
    assert (a == b) is equal
    assert (b == a) is equal
    assert (a != b) is not equal


def test_unhashable():
    with pytest.raises(TypeError):
        hash(Tangent[tuple](1.0))


@pytest.mark.parametrize(
    "t, text",
    [
        (Tangent[Data](b=1.0), "Tangent[Data](b=1.0)"),
        (Tangent[tuple](1.0, ZERO), "Tangent[tuple](1.0, ZeroTangent())"),
        (Tangent[Point](1.0, 2.0), "Tangent[Point](x=1.0, y=2.0)"),
        (MutableTangent[Plain](a=1.0), "MutableTangent[Plain](a=1.0)"),
        (Tangent[list](), "Tangent[list]()"),
    ],
)
def test_repr(t, text):
    assert repr(t) == text


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
@pytest.mark.parametrize(
    "t",
    [Tangent[Data](a=1.0), Tangent[tuple](1.0, np.ones(2)), MutableTangent[Plain](a=1.0)],
)
def test_copies(clone, t):
    assert clone(t) == t
    assert type(clone(t)) is type(t)


def test_map_sees_stored_parts():
    lazy = thunk(lambda: 1.0)
    assert Tangent[Data](a=lazy).map(lambda part: part is lazy) == Tangent[Data](a=True)
    assert Tangent[tuple](1.0, 2.0).map(lambda x: x + 1) == Tangent[tuple](2.0, 3.0)


# ---------------------------------------------------------------------------- canonicalize, backing


@given(st.dictionaries(st.sampled_from("ab"), st.floats(allow_nan=False)))
def test_canonicalize_is_idempotent_and_keeps_the_value(fields):
    t = Tangent[Data](**fields)
    c = canonicalize(t)
    assert list(Tangent.keys(c)) == ["a", "b"]
    assert c == t
    assert repr(canonicalize(c)) == repr(c)


@pytest.mark.parametrize(
    "t",
    [Tangent[tuple](1.0), Tangent[dict](a=1.0), Tangent[Any](a=1.0), Tangent[Plain](b=1.0), 1.0],
)
def test_canonicalize_leaves_the_rest(t):
    assert canonicalize(t) is t


@pytest.mark.parametrize(
    "x, stored",
    [
        (Tangent[tuple](1.0, 2.0), (1.0, 2.0)),
        (Tangent[Data](a=1.0), {"a": 1.0}),
        (Data(1.0, 2.0), {"a": 1.0, "b": 2.0}),
        (SlottedData(1.0, 2.0), {"a": 1.0, "b": 2.0}),
        (Slotted(), {"a": 1.0, "_Slotted__hidden": 3.0}),
        (Plain(), {"a": 1.0, "b": 2.0}),
        (Point(1.0, 2.0), {"x": 1.0, "y": 2.0}),
        ((1.0, 2.0), (1.0, 2.0)),
        ([1.0], [1.0]),
        ({"k": 1.0}, {"k": 1.0}),
    ],
)
def test_backing(x, stored):
    assert backing(x) == stored


@pytest.mark.parametrize("x", [1.0, np.ones(2), "a", None, len, np, Data, ZERO, OSError()])
def test_what_has_no_backing(x):
    with pytest.raises(TangentTypeError):
        backing(x)
