"""Arguments that are containers and objects: their gradients, and what is not changed."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import types
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import gradient
from autodiff.trace import pytree
from autodiff.trace.pytree import attributes_alone, object_with, parts_of, rebuilt
from tests.helpers import Data, Pair

X = np.array([1.0, -2.0, 3.0])


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: Any
    b: Any


class Plain:
    def __init__(self, a: Any, b: Any) -> None:
        self.a = a
        self.b = b


class Slots:
    __slots__ = ("__hidden", "a", "b")

    def __init__(self, a: Any, b: Any) -> None:
        self.a = a
        self.b = b
        self.__hidden = a


class Child(Plain):
    __slots__ = ("extra",)


class Refusing:
    """Its constructor must not be called again."""

    made = 0

    def __init__(self, a: Any, b: Any) -> None:
        assert isinstance(a, float)
        type(self).made += 1
        self.a = a
        self.b = b


def product(p: Any) -> Any:
    return p.a * p.b


@pytest.mark.parametrize("cls", [Pair, Data, Frozen, Plain, Slots, Child, Refusing])
def test_objects(cls: type) -> None:
    p = cls(2.0, 3.0)
    made = Refusing.made
    g = gradient(product, p)
    assert type(g) is cls
    assert (g.a, g.b) == (3.0, 2.0)
    assert (p.a, p.b) == (2.0, 3.0)
    assert Refusing.made == made


@pytest.mark.parametrize(
    "nest, f, expected",
    [
        ((2.0, 3.0), lambda p: p[0] * p[1], (3.0, 2.0)),
        ([2.0, 3.0], lambda p: p[0] * p[1], [3.0, 2.0]),
        ({"a": 2.0, 7: 3.0}, lambda p: p["a"] * p[7], {"a": 3.0, 7: 2.0}),
        ((2.0, [3.0, {"k": (4.0,)}]), lambda p: p[0] * p[1][0] * p[1][1]["k"][0],
         (12.0, [8.0, {"k": (6.0,)}])),
        ([[[2.0]]], lambda p: p[0][0][0] ** 3, [[[12.0]]]),
        (collections.OrderedDict(b=2.0, a=3.0), lambda p: p["a"] * p["b"],
         collections.OrderedDict(b=3.0, a=2.0)),
        (collections.defaultdict(float, a=2.0), lambda p: p["a"] ** 2 + p["none"],
         collections.defaultdict(float, a=4.0)),
        (({}, [], (), 2.0), lambda p: p[3] ** 2, ({}, [], (), 4.0)),
        ([2.0, "text", True, 3, None, b"x", print], lambda p: p[0] * p[3],
         [3.0, None, None, None, None, None, None]),
    ],
    ids=["tuple", "list", "dict", "nested", "deep", "ordered", "default", "empty", "constants"],
)  # fmt: skip
def test_containers(nest: Any, f: Callable, expected: Any) -> None:
    before = copy.deepcopy(nest)
    g = gradient(f, nest)
    assert g == expected
    assert type(g) is type(expected)
    assert nest == before


def test_a_nest_of_everything() -> None:
    nest = {
        "layers": [Data(X, 2.0), Frozen(1 + 1j, "relu")],
        "n": 3,
        "pair": Pair(X[:1], Plain(1.0, None)),
    }

    def f(p: Any) -> Any:
        first, second = p["layers"]
        z = second.a * second.a
        return np.sum(first.a * first.b) + z.real * p["n"] + p["pair"].a[0] * p["pair"].b.a

    g = gradient(f, nest)
    np.testing.assert_array_equal(g["layers"][0].a, [2.0, 2.0, 2.0])
    assert g["layers"][0].b == 2.0
    assert g["layers"][1] == Frozen(6 - 6j, None)
    assert g["n"] is None
    np.testing.assert_array_equal(g["pair"].a, [1.0])
    assert (g["pair"].b.a, g["pair"].b.b) == (1.0, None)


@pytest.mark.parametrize(
    "make",
    [
        lambda: types.SimpleNamespace(a=2.0, b=3.0),
        lambda: collections.UserDict(a=2.0, b=3.0),
        lambda: collections.UserList([2.0, 3.0]),
    ],
    ids=["namespace", "user dict", "user list"],
)
def test_objects_of_the_standard_library_are_nests_as_well(make: Callable) -> None:
    def f(p: Any) -> Any:
        if isinstance(p, types.SimpleNamespace):
            return p.a * p.b
        return p["a"] * p["b"] if isinstance(p, collections.UserDict) else p[0] * p[1]

    g = gradient(f, make())
    if isinstance(g, types.SimpleNamespace):
        assert g == types.SimpleNamespace(a=3.0, b=2.0)
    else:
        assert list(g.data.values() if isinstance(g.data, dict) else g.data) == [3.0, 2.0]


# ---------------------------------------------------------------------------- shared and cyclic


def test_an_object_in_two_places_is_one_object() -> None:
    shared = Plain(2.0, 3.0)
    nest = [shared, shared]
    g = gradient(lambda p: p[0].a * p[1].b if p[0] is p[1] else 0.0 * p[0].a, nest)
    assert g[0] is g[1]
    assert (g[0].a, g[0].b) == (3.0, 2.0)


def test_an_array_in_two_places_has_a_gradient_in_each() -> None:
    x = X.copy()
    a, b = gradient(lambda p: np.sum(p[0] * p[1] * p[1]), [x, x])
    np.testing.assert_allclose(a, X * X)
    np.testing.assert_allclose(b, 2 * X * X)


def test_a_tuple_in_two_places_is_two_values() -> None:
    def f(p: Any) -> Any:
        return p[0][0] ** 2 * p[1][0] + p[0][1]

    written_out = ((2.0, 3.0), (2.0, 3.0))
    assert written_out[0] is written_out[1]
    assert gradient(f, written_out) == ((8.0, 1.0), (4.0, 0.0))
    assert gradient(f, [*written_out]) == [(8.0, 1.0), (4.0, 0.0)]
    pair = Pair(2.0, 3.0)
    assert gradient(f, (pair, pair)) == (Pair(8.0, 1.0), Pair(4.0, 0.0))
    dots = ((1.0, 0.0), (0.0, 1.0))
    assert autodiff.jvp(f, (written_out,), (dots,)) == (11.0, 8.0)
    assert autodiff.jacobian(f, written_out, mode="forward") == ((8.0, 1.0), (4.0, 0.0))
    for product in (autodiff.hvp, autodiff.vhp):
        assert product(f, written_out, ((1.0, 0.0), (1.0, 0.0))) == ((8.0, 0.0), (4.0, 0.0))
    # What stands in a tuple stays one object.
    shared = [2.0, 3.0]
    found = gradient(lambda p: p[0][0][0] * p[1][0][1], ((shared,), (shared,)))
    assert found == (([3.0, 2.0],), ([3.0, 2.0],))


class Node:
    def __init__(self, w: float) -> None:
        self.w = w
        self.next: Any = None
        self.parent: Any = None


def ring() -> Node:
    a, b = Node(2.0), Node(3.0)
    a.next, b.next = b, a
    return a


def family() -> Node:
    a = Node(2.0)
    a.next = Node(3.0)
    a.next.parent = a
    return a


def itself() -> Node:
    a = Node(2.0)
    a.next = a
    return a


@pytest.mark.parametrize(
    "make, f, expected",
    [
        (itself, lambda n: n.w * n.next.w, 4.0),
        (ring, lambda n: n.w * n.next.next.w * n.next.w, 12.0),
        (family, lambda n: n.next.w * n.next.parent.w, 3.0),
        (family, lambda n: n.next.parent.w**2, 4.0),
    ],
    ids=["itself", "ring", "parent", "only by the parent"],
)
def test_cycles(make: Callable, f: Callable, expected: float) -> None:
    n = make()
    g = gradient(f, n)
    assert g.w == expected
    assert n.w == 2.0
    assert g is not n


def test_a_cycle_of_the_gradient_is_a_cycle_of_gradients() -> None:
    n = itself()
    g = gradient(lambda n: n.w**2, n)
    assert g.next is g


def test_cyclic_containers() -> None:
    xs: list[Any] = [2.0]
    xs.append(xs)
    g = gradient(lambda p: p[0] * p[1][0], xs)
    assert g[0] == 4.0
    assert g[1] is g


# ---------------------------------------------------------------------- what must not be changed


def test_a_singleton_is_not_written_into() -> None:
    class Only:
        it: Any = None

        def __new__(cls) -> Any:
            if cls.it is None:
                cls.it = object.__new__(cls)
            return cls.it

    only = Only()
    only.w = 2.0
    g = gradient(lambda p: p.w**2, only)
    assert g.w == 4.0
    assert g is not only
    assert only.w == 2.0


def test_what_a_gradient_contains_is_not_the_users() -> None:
    params: dict[str, Any] = {"w": 2.0, "history": [], "info": {"n": [1, 2]}}
    g = gradient(lambda p: p["w"] ** 2, params)
    g["history"].append(1)
    assert params["history"] == []
    assert g["info"] == {"n": [None, None]}
    assert params["info"] == {"n": [1, 2]}


class Remembering:
    def __init__(self, k: float) -> None:
        self.k = k
        self.known: dict[int, float] = {}
        self.seen: list[float] = []

    @functools.cached_property
    def square(self) -> float:
        return self.k**2

    def __call__(self, n: int) -> float:
        if n not in self.known:
            self.known[n] = self.square * n
            self.seen.append(self.known[n])
        return self.known[n] + sum(self.seen)


def test_an_argument_that_remembers_is_a_copy() -> None:
    model = Remembering(3.0)
    g = gradient(lambda m: m(1) * m(2), model)
    assert g.k == pytest.approx(4 * (2 * 5) * 3.0**3)
    assert (model.known, model.seen) == ({}, [])
    assert (g.known, g.seen) == ({}, [])


def test_a_value_remembered_from_before_is_not_taken_for_a_constant() -> None:
    @dataclasses.dataclass
    class Square:
        a: float

        @cached_property
        def value(self) -> float:
            return self.a**2

    s = Square(3.0)
    assert s.value == 9.0
    assert gradient(lambda s: s.value, s).a == 6.0
    assert s.value == 9.0


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda: type("Metre", (float,), {})(2.0), 3.0),
        (lambda: type("Series", (np.ndarray,), {}), None),
        (lambda: type("Name", (str,), {})("text"), None),
    ],
    ids=["float", "array", "str"],
)
def test_subclasses_of_leaves_are_leaves(make: Callable, expected: Any) -> None:
    leaf = make()
    if isinstance(leaf, type):
        leaf = X.view(leaf)
        g = gradient(lambda p: np.sum(p[0] * p[1]), [leaf, 3.0])
        np.testing.assert_array_equal(np.asarray(g[0]), [3.0, 3.0, 3.0])
        assert g[1] == 2.0
        return
    g = gradient(lambda p: p[1] * (1.0 if isinstance(p[0], str) else p[0]), [leaf, 3.0])
    assert g[0] == expected


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_matrices_are_refused() -> None:
    m = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(autodiff.ArgumentError, match=r"a np\.matrix .* meets a traced value"):
        gradient(lambda m: np.sum(m * m), m)


def test_masked_arrays_are_refused() -> None:
    m = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    with pytest.raises(autodiff.ArgumentError, match=r"MaskedArray, a class .* meets a traced"):
        gradient(lambda m: np.sum(m * m), m)


# ----------------------------------------------------------------------------- types and promotion


@pytest.mark.parametrize(
    "x, kind",
    [
        (3, float),
        (3.0, float),
        (1 + 1j, complex),
        (np.int32(3), np.float64),
        (np.float16(3), np.float16),
        (np.float32(3), np.float32),
        (np.float64(3), (float, np.float64)),
        (np.longdouble(3), np.longdouble),
        (np.complex64(3), np.complex64),
    ],
)
def test_a_gradient_has_the_type_of_its_argument(x: Any, kind: Any) -> None:
    g = gradient(lambda x: np.abs(x * x), x)
    assert type(g) in (kind if isinstance(kind, tuple) else (kind,))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "F", "D", ">f8", ">c16"])
@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 1), (2, 3)])
def test_arrays_keep_precision_and_shape(dtype: str, shape: tuple) -> None:
    x = np.ones(shape, dtype)
    g = gradient(lambda x: np.sum((x * np.float64(3.0)).real), x)
    assert isinstance(g, np.ndarray)
    assert g.shape == shape
    assert g.dtype == x.dtype.newbyteorder("=")
    np.testing.assert_array_equal(g, np.full(shape, 3.0))


@pytest.mark.parametrize("order", ["C", "F", "strided", "read-only"])
def test_any_memory_layout(order: str) -> None:
    x = np.arange(6.0).reshape(2, 3)
    x = {"F": np.asfortranarray(x), "strided": np.arange(24.0).reshape(4, 6)[::2, ::2]}.get(
        order, x
    )
    x.flags.writeable = order != "read-only"
    g = gradient(lambda x: np.sum(x * x), x)
    np.testing.assert_array_equal(g, 2 * x)
    assert g.flags.writeable


@pytest.mark.parametrize(
    "f, z, expected",
    [
        (lambda z: abs(z) ** 2, 1 + 2j, 2 + 4j),
        (lambda z: (z * z.conjugate()).real, 1 + 2j, 2 + 4j),
        (lambda z: z.real, 1 + 2j, 1 + 0j),
        (lambda z: z.imag, 1 + 2j, 1j),
        (lambda z: (z * z).real, 1 + 2j, 2 - 4j),
        (lambda z: (z * z).imag, 1 + 2j, 4 + 2j),
        (lambda z: ((1 + 1j) * z).imag, 1 + 2j, 1 + 1j),
        (lambda z: np.sum(np.abs(z) ** 2), np.array([1 + 2j, 3j]), [2 + 4j, 6j]),
    ],
)
def test_the_complex_convention(f: Callable, z: Any, expected: Any) -> None:
    """The gradient is ∂f/∂re + i ∂f/∂im: that of |z|² is 2 z, not 2 z̄."""
    np.testing.assert_allclose(gradient(f, z), expected)


def test_a_real_argument_of_complex_arithmetic_has_a_real_gradient() -> None:
    g = gradient(lambda x: np.sum(((2 + 3j) * x * x).imag), X)
    assert g.dtype == np.float64
    np.testing.assert_array_equal(g, 6 * X)
    assert gradient(lambda x: ((2 + 3j) * x * x).imag, 2.0) == 12.0


class WithTotal(Plain):
    @cached_property
    def total(self) -> Any:
        return self.a + self.b


def _with_total() -> Any:
    x = WithTotal(1.0, 2.0)
    assert x.total == 3.0
    return x


MADE = [
    Plain(1.0, 2.0), Frozen(1.0, X), Slots(1.0, 2.0), Child(1.0, 2.0), Refusing(1.0, "a"),
    types.SimpleNamespace(a=1.0, b=2.0), {"a": 1.0}, collections.OrderedDict(a=1.0),
    Pair(1.0, 2.0), [1.0], _with_total(),
]  # fmt: skip


@pytest.mark.parametrize("x", MADE, ids=lambda x: type(x).__name__)
def test_objects_made_of_their_attributes_are_what_rebuilding_gives(x: Any) -> None:
    own, names = attributes_alone(x), [name for name, _ in parts_of(x) or ()]
    assert (own is not None) == isinstance(x, (Plain, Child, Refusing))
    if own is None:
        return
    before = parts_of(x)
    for parts in ([float(k) for k in range(len(names))], [None] * len(names)):
        y = object_with(type(x), own | dict(zip(names, parts, strict=True)))
        expected = rebuilt(x, parts)
        assert type(y) is type(expected) is type(x)
        assert y is not x
        assert parts_of(y) == parts_of(expected)
        assert getattr(y, "__dict__", None) == getattr(expected, "__dict__", None)
    assert str(parts_of(x)) == str(before)


def test_places_of_variables_stand_in_the_order_of_the_variables() -> None:
    """A list in two places counts once, a tuple each time."""
    xs, pair = [1.0, 2.0], (3.0, Plain(4.0, "text"))
    params = {"xs": xs, "n": 5, "pairs": [pair, pair], "again": xs}

    def at(x: Any, keys: tuple) -> Any:
        for key in keys:
            x = dict(parts_of(x) or ())[key]
        return x

    places = pytree.variables_at(params)
    assert [at(params, keys) for keys in places] == pytree.variables_of(params)
    assert places[-2:] == [("pairs", 0, 1, "a"), ("pairs", 1, 0)]
    assert pytree.variables_at(2.0) == [()]


def test_a_tuple_in_two_places_of_a_nest() -> None:
    pair, xs = (1.0, 2.0), [3.0]
    params = {"a": pair, "b": pair, "c": xs, "d": xs, "e": 4.0}
    other = {"a": (1.0, 10.0), "b": (2.0, 20.0), "c": [3.0], "d": [3.0], "e": 5.0}
    assert autodiff.tree_add(params, other) == {
        "a": (2.0, 12.0), "b": (3.0, 22.0), "c": [6.0], "d": [6.0], "e": 9.0
    }  # fmt: skip


def test_a_class_whose_module_is_no_text() -> None:
    """The metaclass of Cython's functions says ``__module__`` of its classes alone."""
    cls = type(np.random.Generator.normal)
    assert not isinstance(type(cls).__module__, str)
    assert parts_of(cls) is None
