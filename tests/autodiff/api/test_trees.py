"""Parameters in nests: ravel, tree_map, tree_add, tree_scale."""

import math
import pickle
import types

import numpy as np
import pytest

import autodiff
from autodiff import ArgumentError, gradient, hvp, jacobian, ravel, tree_add, tree_map, tree_scale
from autodiff.api.trees import Ravelling
from autodiff.trace.pytree import leaves_of
from tests.helpers import Data, Pair, differences


class Layer:
    """An object with a weight, a name and an offset."""

    def __init__(self, weight, offset):
        self.weight, self.offset, self.name = weight, offset, "layer"


NESTS = {
    "float": lambda: 2.0,
    "array": lambda: np.arange(6.0).reshape(2, 3),
    "tuple": lambda: (1.0, np.ones(2)),
    "list": lambda: [1.0, [np.ones(2), None]],
    "dict": lambda: {"a": 1.0, "b": {"c": np.ones((2, 2)), "n": 3}, "name": "x", "none": None},
    "named tuple": lambda: Pair(1.0, np.ones(3)),
    "dataclass": lambda: Data(np.ones(2), {"k": 2.0}),
    "object": lambda: Layer(np.ones((2, 2)), 0.5),
    "namespace": lambda: types.SimpleNamespace(a=1.0, b="b"),
    "empty array": lambda: [np.zeros((0, 3)), 1.0],
}


def plain(x):
    """A nest with its objects as dicts, and arrays as lists, to compare."""
    if isinstance(x, (Layer, Data, types.SimpleNamespace)):
        return plain(vars(x))
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (tuple, list)):
        return [type(x).__name__, *map(plain, x)]
    return (str(x.dtype), x.shape, x.tolist()) if isinstance(x, np.ndarray) else x


@pytest.mark.parametrize("name", NESTS)
def test_ravel_and_back(name):
    params = NESTS[name]()
    vector, nest = ravel(params)
    assert vector.ndim == 1
    assert vector.dtype == float
    back = nest(vector)
    assert type(back) is type(params)
    assert plain(back) == plain(params)
    np.testing.assert_array_equal(ravel(nest(3 * vector + 1))[0], 3 * vector + 1)


@pytest.mark.parametrize("name", NESTS)
def test_ravel_of_what_gradient_returns(name):
    params = NESTS[name]()
    vector, nest = ravel(params)
    slope = gradient(lambda p: np.sum(np.sin(ravel(p)[0])), params)
    np.testing.assert_allclose(ravel(slope)[0], np.cos(vector))
    slope = gradient(lambda v: np.sum(np.sin(ravel(nest(v))[0])), vector)
    np.testing.assert_allclose(slope, np.cos(vector))


@pytest.mark.parametrize(
    "params, dtype",
    [
        ([np.ones(2, np.float32), np.float32(2)], np.float32),
        ([np.ones(2, np.float32), 2.0], np.float64),
        ([np.ones(2, np.complex64), np.float32(1)], np.complex64),
        ([np.ones(2, np.complex64), 1.0], np.complex128),
        ([1j, np.ones(2)], np.complex128),
        ({"name": "nothing"}, np.float64),
    ],
)
def test_dtypes_are_kept(params, dtype):
    vector, nest = ravel(params)
    assert vector.dtype == dtype
    back = nest(vector)
    leaves = zip(list(back), list(params), strict=True)
    assert all(type(b) is type(p) and np.result_type(b) == np.result_type(p) for b, p in leaves
               if not isinstance(p, str))  # fmt: skip


def test_a_gradient_through_ravel_keeps_dtypes():
    params = {"a": np.ones(2, np.float32), "z": 1 + 2j}
    slope = gradient(lambda p: np.sum(np.abs(ravel(p)[0]) ** 2), params)
    assert slope["a"].dtype == np.float32
    np.testing.assert_allclose(slope["a"], [2, 2])
    np.testing.assert_allclose(slope["z"], 2 + 4j)


def test_second_derivatives_through_nests():
    params = {"a": 2.0, "b": np.array([1.0, -2.0])}
    x, nest = ravel(params)

    def f(v):
        p = nest(v)
        return p["a"] ** 2 * np.sum(np.sin(p["b"]))

    slope = jacobian(lambda v: gradient(f, v), x)
    np.testing.assert_allclose(slope, differences(lambda v: gradient(f, v), x), atol=1e-8)
    np.testing.assert_allclose(hvp(f, x, x), slope @ x)
    np.testing.assert_allclose(jacobian(nest, x)["b"], [[0, 1, 0], [0, 0, 1]])


def test_a_leaf_shares_no_memory_with_the_vector():
    vector, nest = ravel([np.ones(2)])
    nest(vector)[0][0] = 5.0
    np.testing.assert_array_equal(vector, np.ones(2))


def test_an_object_in_two_places_remains_one():
    layer = Layer(np.ones(2), 0.5)
    vector, nest = ravel([layer, layer])
    assert vector.size == 3
    first, second = nest(2 * vector)
    assert first is second


PLAIN = {
    "array": lambda: np.arange(6.0).reshape(2, 3),
    "float of NumPy": lambda: [np.float64(1.0), 2.0],
    "array without axes": lambda: {"a": np.array(2.0), "b": np.zeros((0, 3))},
    "constants": lambda: {"a": 1.0, "n": 3, "deep": ("x", [None, np.ones(2)]), "empty": {}},
    "tuple in two places": lambda: [(pair := (1.0, 2.0)), pair],
    "list in two places": lambda: {"a": (row := [1.0, 2.0]), "b": row},
    "linked list": lambda: linked(200),
    "itself inside": lambda: [1.0, (ring := [np.ones(2)]).append(ring) or ring],
}


def linked(length):
    """A long chain of lists."""
    chain = []
    for i in range(length):
        chain = [float(i), chain]
    return chain


def by_the_long_way(ravelling):
    """A ravelling that walks through nests anew each time."""
    other = Ravelling(ravelling.like, ravelling.is_real)
    other._make = other._write = None
    return other


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("again", [lambda r: r, lambda r: pickle.loads(pickle.dumps(r))])
def test_the_short_way_of_plain_nests_is_the_long_one(name, again):
    params = PLAIN[name]()
    short = again(Ravelling(params, real=True))
    long = by_the_long_way(short)
    vector = short.vector(params)
    np.testing.assert_array_equal(vector, long.vector(params))
    made, expected = short.nest(vector + 0.5), long.nest(vector + 0.5)
    if name != "itself inside":
        assert plain(made) == plain(expected)
    assert all(
        type(a) is type(b) for a, b in zip(leaves_of(made), leaves_of(expected), strict=True)
    )
    assert all(leaf.flags.owndata for leaf in leaves_of(made) if isinstance(leaf, np.ndarray))


@pytest.mark.parametrize(
    "like", [{"a": np.ones(2, np.float32)}, {"a": 1j}, {"a": np.ones(2, complex), "b": 1.0}]
)
def test_without_numbers_other_kinds_of_numbers_are_kept(like):
    small = Ravelling(like, real=True).without_numbers()
    vector = np.arange(1.0, small.size + 1)
    (leaf, *_) = small.nest(vector).values()
    assert np.result_type(leaf) == np.result_type(like["a"])
    assert plain(small.nest(vector)) == plain(Ravelling(like, real=True).nest(vector))


@pytest.mark.parametrize(
    "other",
    [
        {"a": 1.0, "n": 3.0, "b": np.ones(2)},
        {"a": 1.0, "n": 3, "b": None},
        {"a": 1.0, "n": 3, "b": np.ones(3)},
        {"a": 1.0, "n": 3, "b": np.ones(2), "c": 1.0},
        {"a": 1.0, "b": [1.0, 1.0]},
    ],
)
def test_a_nest_of_another_form_is_no_vector(other):
    ravelling = Ravelling({"a": 1.0, "n": 3, "b": np.ones(2)})
    with pytest.raises(ArgumentError, match="does not have the form"):
        ravelling.vector(other)


def test_numbers_of_other_kinds_in_a_nest_go_into_the_vector():
    ravelling = Ravelling({"a": 1.0, "b": np.ones(2)})
    found = ravelling.vector({"a": np.float32(2.0), "b": np.array([3.0, 4.0], np.float32)})
    np.testing.assert_array_equal(found, [2.0, 3.0, 4.0])


def test_a_vector_that_does_not_fit():
    _, nest = ravel({"a": 1.0, "b": np.ones(2)})
    with pytest.raises(ArgumentError, match=r"made of 3 numbers, so it takes one of shape \(3,\)"):
        nest(np.ones(4))
    with pytest.raises(ArgumentError, match="an imaginary part at 0:1"):
        nest(np.array([1j, 0, 0]))


def test_a_step_of_gradient_descent_is_one_line():
    params = {"a": 1.0, "w": np.ones(2, np.float32), "name": "net", "order": 2, "none": None}
    slopes = gradient(lambda p: p["a"] ** p["order"] + np.sum(p["w"]), params)
    new = tree_add(params, tree_scale(-0.5, slopes))
    assert new["a"] == 0.0
    np.testing.assert_array_equal(new["w"], [0.5, 0.5])
    assert new["w"].dtype == np.float32
    assert (new["name"], new["order"], new["none"]) == ("net", 2, None)
    assert list(new) == list(params)


def test_maps_are_traced_also_where_the_function_has_captured_a_variable():
    def f(rate, p):
        moved = tree_map(lambda a, b: np.exp(rate * a) * b, p, {"b": p["a"], "a": p["b"]})
        return moved["a"] + moved["b"]

    def by_hand(v):
        return np.exp(v[0] * v[1]) * v[2] + np.exp(v[0] * v[2]) * v[1]

    rate, slope = gradient(f, 0.3, {"a": 1.0, "b": 2.0})
    expected = differences(by_hand, np.array([0.3, 1.0, 2.0]))
    np.testing.assert_allclose([rate, slope["a"], slope["b"]], expected, rtol=1e-7)


def test_maps_in_forward_mode():
    def f(rate):
        return tree_map(lambda a: math.exp(a * rate), {"a": 2.0, "n": 1})["a"]

    assert autodiff.derivative(f, 0.5) == pytest.approx(2 * np.e)


def test_parts_are_found_by_name():
    assert tree_add({"a": 1.0, "b": 10.0}, {"b": 20.0, "a": 2.0}) == {"a": 3.0, "b": 30.0}
    assert tree_add(Pair(1.0, 2.0), {"b": 2.0, "a": 1.0}) == Pair(2.0, 4.0)


@pytest.mark.parametrize(
    "other, message",
    [
        ({"a": 1.0}, "have the parts 'a', 'b', the other nest has 'a'"),
        ({"a": 1.0, "b": [1.0], "c": 1.0}, "the other nest has 'a', 'b', 'c'"),
        ({"a": 1.0, "b": [1.0, 2.0]}, r"parameters\['b'\] have the parts 0"),
        ({"a": 1.0, "b": 2.0}, r"parameters\['b'\] are of class list"),
        ({"a": None, "b": [1.0]}, "None in the place of a variable"),
    ],
)
def test_nests_that_differ(other, message):
    with pytest.raises(ArgumentError, match=message):
        tree_add({"a": 1.0, "b": [1.0]}, other)


def test_compiled():
    params = {"a": 1.0, "b": np.ones(2)}
    _, nest = ravel(params)

    def f(v):
        return np.sum(nest(v)["b"] ** 2) * nest(v)["a"]

    compiled = autodiff.compile(lambda v: gradient(f, v))
    for x in (np.arange(3.0), np.ones(3)):
        np.testing.assert_allclose(compiled(x), differences(f, x), atol=1e-8)
