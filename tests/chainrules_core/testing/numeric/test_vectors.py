"""Values as vectors and back."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field

import numpy as np
import pytest

from chainrules_core import NoTangent, Tangent, ZeroTangent, inner, not_implemented, thunk
from chainrules_core.errors import NotImplementedTangentError
from chainrules_core.testing import rand_tangent, to_vector
from chainrules_core.testing.comparison.forms import same_value
from chainrules_core.testing.numeric.precision import coarsest, promote, promote_where, widen
from chainrules_core.testing.numeric.vectors import (
    fresh,
    is_constant,
    leaves,
    tangent_to_vector,
    vector_to_tangent,
)

Pair = namedtuple("Pair", "a b")


@dataclass(frozen=True)
class Frozen:
    a: float
    name: str = "x"
    b: np.ndarray = field(default_factory=lambda: np.ones(2))


class Plain:
    def __init__(self):
        self.weights = [np.ones((2, 2)), 3.0]
        self.count = 4


class Slotted:
    __slots__ = ("a", "unset")

    def __init__(self):
        self.a = 2.5


class Meters(np.ndarray):
    pass


def _objects():
    array = np.empty(2, dtype=object)
    array[:] = [1.5, np.ones(2)]
    return array


VALUES = {
    "float": (1.5, 1),
    "float64": (np.float64(1.5), 1),
    "float32": (np.float32(1.5), 1),
    "float16": (np.float16(1.5), 1),
    "complex": (1 + 2j, 2),
    "complex64": (np.complex64(1 + 2j), 2),
    "int": (3, 0),
    "bool": (True, 0),
    "str": ("text", 0),
    "none": (None, 0),
    "function": (np.sin, 0),
    "type": (float, 0),
    "slice": (slice(1, 2), 0),
    "array": (np.arange(6.0).reshape(2, 3), 6),
    "array0": (np.array(2.0), 1),
    "empty": (np.zeros((0, 2)), 0),
    "float32 array": (np.ones(3, np.float32), 3),
    "complex array": (np.array([1 + 2j, 3]), 4),
    "complex64 array": (np.array([1 + 2j, 3], np.complex64), 4),
    "int array": (np.arange(3), 0),
    "bool array": (np.array([True]), 0),
    "string array": (np.array(["a"]), 0),
    "strided": (np.arange(12.0).reshape(3, 4)[::2, ::-1], 8),
    "fortran": (np.asfortranarray(np.arange(6.0).reshape(2, 3)), 6),
    "subclass": (np.ones(2).view(Meters), 2),
    "objects": (_objects(), 3),
    "list": ([1.0, "a", 2, np.ones(2)], 3),
    "tuple": ((1.0, (2.0, 3j)), 4),
    "empty tuple": ((), 0),
    "dict": ({"a": 1.0, 2: 3.0, "n": None}, 2),
    "ordered": (OrderedDict(a=1.0), 1),
    "namedtuple": (Pair(1.0, [2.0]), 2),
    "frozen": (Frozen(1.0), 3),
    "plain": (Plain(), 5),
    "slots": (Slotted(), 1),
    "generator": (np.random.default_rng(1), 0),
}


@pytest.fixture(params=VALUES, ids=str)
def value(request):
    return VALUES[request.param]


def test_there_and_back(value):
    x, size = value
    vector, rebuild = to_vector(x)
    assert vector.dtype == np.float64
    assert vector.shape == (size,)
    again = rebuild(vector)
    assert type(again) is type(x)
    assert same_value(again, x)
    moved = rebuild(vector + 1)
    assert np.array_equal(to_vector(moved)[0], vector + 1)
    assert same_value(to_vector(x)[0], vector)  # x itself is not changed
    if size:
        assert not same_value(moved, x)


def test_rebuilt_arrays_are_new():
    x = np.arange(3.0)
    vector, rebuild = to_vector(x)
    rebuild(vector)[0] = 7
    vector[1] = 8
    assert (x == np.arange(3.0)).all()


def test_tangents_there_and_back(value):
    x, size = value
    t = rand_tangent(x, rng=1)
    vector = tangent_to_vector(x, t)
    assert vector.shape == (size,)
    assert isinstance(t, NoTangent) == is_constant(x)
    assert same_value(tangent_to_vector(x, vector_to_tangent(x, vector)), vector)
    assert same_value(tangent_to_vector(x, thunk(lambda: t)), vector)
    assert (tangent_to_vector(x, ZeroTangent()) == 0).all()


def test_inner_product_is_that_of_the_vectors(value):
    x, _ = value
    if isinstance(x, Meters):
        return
    a, b = rand_tangent(x, rng=1), rand_tangent(x, rng=2)
    expected = inner(a, b)
    assert tangent_to_vector(x, a) @ tangent_to_vector(x, b) == pytest.approx(expected, rel=1e-3)


def test_tangent_of_a_structure():
    t = vector_to_tangent(Plain(), np.arange(5.0))
    assert isinstance(t, Tangent[Plain])
    assert isinstance(t.weights, Tangent[list])
    assert isinstance(t["count"], NoTangent)
    assert isinstance(vector_to_tangent([1, "a"], np.zeros(0)), NoTangent)


def test_tangents_that_do_not_fit():
    for x, t in [
        (np.ones(3), np.ones(2)),
        ((1.0, 2.0), Tangent[tuple](1.0)),
        (Pair(1.0, 2.0), [1.0, 2.0]),
        ((1.0,), 1.0),
    ]:
        with pytest.raises(ValueError, match="tangent"):
            tangent_to_vector(x, t)
    with pytest.raises(NotImplementedTangentError):
        tangent_to_vector(1.0, not_implemented("why"))


def test_fields_with_the_names_of_methods():
    Odd = namedtuple("Odd", "keys items map primal_type")
    x = Odd(1.0, 2.0, 3.0, 4.0)
    t = Tangent[Odd](keys=1.0, items=2.0, map=3.0, primal_type=4.0)
    assert same_value(tangent_to_vector(x, t), np.arange(1.0, 5.0))
    assert same_value(to_vector(t)[1](np.arange(1.0, 5.0)), t)


def test_registration():
    class Celsius:
        def __init__(self, degrees):
            self.degrees = degrees

    @to_vector.register(Celsius)
    def celsius_to_vector(x):
        return np.array([x.degrees]), lambda v: Celsius(float(v[0]))

    vector, rebuild = to_vector([Celsius(20.0), 1.0])
    assert vector.tolist() == [20.0, 1.0]
    assert rebuild(vector + 1)[0].degrees == 21.0
    t = rand_tangent(Celsius(20.0), rng=1)
    assert isinstance(t, Celsius)
    assert tangent_to_vector(Celsius(0.0), t).tolist() == [t.degrees]
    with pytest.raises(ValueError, match="no tangent of a Celsius"):
        tangent_to_vector(Celsius(0.0), np.ones(2))


def test_precision():
    x = {"a": np.ones(2, np.float32), "b": np.complex64(1), "c": np.ones(2), "n": 3}
    wide = widen(x)
    assert [v.dtype for v in list(wide.values())[:3]] == [float, complex, float]
    assert wide["c"] is x["c"]
    assert widen(x["c"]) is x["c"]
    assert coarsest(x) == np.finfo(np.float32).eps
    assert coarsest(1.0) == np.finfo(float).eps
    assert coarsest(["a", 3]) == 0.0


def test_promote():
    assert promote((1, True, "a", np.arange(2)))[0] == 1.0
    assert promote(np.arange(2)).dtype == float
    assert promote(np.uint8(3)) == 3.0
    x = [1, {"k": 2}]
    t = Tangent[list](NoTangent(), Tangent[dict](k=1.0))
    assert promote_where(x, t) == [1, {"k": 2.0}]
    assert promote_where(x, NoTangent()) is x


def test_leaves_and_copies():
    assert list(leaves([1, (2.0, {"a": "b"})])) == [1, 2.0, "b"]
    generator = (i for i in range(3))
    assert fresh(generator) is generator
    x = [np.ones(2)]
    assert fresh(x)[0] is not x[0]
