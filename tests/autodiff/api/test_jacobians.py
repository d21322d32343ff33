"""Jacobians, Hessians and forward mode, against finite differences."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import autodiff
from autodiff import (
    diag_hessian,
    gradient,
    hessian,
    hvp,
    jacobian,
    jvp,
    pushforward,
    vhp,
)
from chainrules_core import NoTangent, frule, rrule

X = np.array([0.3, -0.7, 0.5])
V = np.array([1.0, -2.0, 0.5])
Pair = namedtuple("Pair", "a b")


def scalars(x: Any) -> Any:
    return math.sin(x[0]) * x[1] + float(x[2]) ** 3


def arrays(x: Any) -> Any:
    return np.sum(np.tanh(x * x[::-1]) @ np.outer(x, x))


def loops(x: Any) -> Any:
    b = np.zeros(4)
    for i in range(3):
        b[i + 1] = b[i] * 0.5 + x[i] ** 2
    b[1:3] *= x[0]
    return b.sum() * b[3]


def views(x: Any) -> Any:
    a = x.copy()
    v = a[1:]
    v *= x[0]
    a[0] = v[1]
    return np.sum(a**3)


def containers(x: Any) -> Any:
    parts = {"p": [x[0], x[1] * 2], "q": (x[2],)}
    return np.concatenate([np.array(parts["p"]), [parts["q"][0]]]).prod()


def linear_algebra(x: Any) -> Any:
    a = np.outer(x, x) + 2 * np.eye(3)
    return np.linalg.slogdet(a)[1] + np.linalg.solve(a, x)[0]


PROGRAMS = [scalars, arrays, loops, views, containers, linear_algebra]


@pytest.mark.parametrize("f", PROGRAMS)
def test_pushforward(f: Callable, differences: Callable) -> None:
    y, push = pushforward(f, X)
    assert y == f(X.copy())
    np.testing.assert_allclose(push(V), differences(f, X) @ V, rtol=1e-6)
    np.testing.assert_allclose(push(2 * V), 2 * push(V), rtol=1e-12)


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_hessian(f: Callable, mode: str, differences: Callable) -> None:
    expected = np.stack([differences(lambda x, i=i: gradient(f, x)[i], X, 1e-5) for i in range(3)])
    h = hessian(f, X, mode=mode)
    np.testing.assert_allclose(h, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(hvp(f, X, V), h @ V, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(vhp(f, X, V), h @ V, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(diag_hessian(f, X), np.diag(h), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
def test_jacobian_of_nests(mode: str) -> None:
    def f(p: Any, s: Any) -> Any:
        return {"y": p["w"] * s, "n": 3, "z": (p["b"] * p["b"],)}

    j = jacobian(f, {"w": np.ones((2, 1)), "b": 2.0, "text": "t"}, 3.0, mode=mode)
    by_p, by_s = j["y"]
    np.testing.assert_array_equal(by_p["w"], 3 * np.eye(2).reshape(2, 1, 2, 1))
    np.testing.assert_array_equal(by_p["b"], np.zeros((2, 1)))
    np.testing.assert_array_equal(by_s, np.ones((2, 1)))
    assert by_p["text"] is None
    assert j["n"] is None
    assert j["z"][0][0]["b"] == 4.0
    assert j["z"][0][1] == 0.0


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_equal_leaves_are_told_apart(mode: str) -> None:
    assert jacobian(lambda p: [p[0] * p[1], p[0]], [1.0, 1.0], mode=mode) == [
        [1.0, 1.0],
        [1.0, 0.0],
    ]


def test_levels_are_kept_apart() -> None:
    d = autodiff.derivative
    assert d(lambda x: x * d(lambda y: x + y, 1.0), 2.0) == 1.0
    assert d(lambda x: gradient(lambda y: y**3 * x, 2.0), 5.0) == 12.0
    assert gradient(lambda x: d(lambda y: y**3 * x * x, 2.0), 1.0) == 24.0
    assert d(lambda x: d(lambda y: d(lambda z: x * y**2 * z**3, 1.0), 1.0), 1.0) == 6.0


def test_the_argument_is_left_alone() -> None:
    def f(x: Any) -> Any:
        x[0] = x[1] * 3
        x += 1
        return np.sum(x**2)

    x = X.copy()
    _, push = pushforward(f, x)
    np.testing.assert_allclose(push(V), gradient(f, X) @ V)
    np.testing.assert_array_equal(x, X)


def test_a_function_with_one_of_the_two_rules_works_in_both_modes() -> None:
    def cubed(x: Any) -> Any:
        return x**3

    @rrule.register(cubed)
    def cubed_rrule(x: Any) -> Any:
        def cubed_pullback(y_bar: Any) -> Any:
            return 30 * x**2 * y_bar

        return x**3, cubed_pullback

    np.testing.assert_allclose(pushforward(cubed, X)[1](V), 30 * X**2 * V)
    np.testing.assert_allclose(jvp(cubed, (X,), (V,))[1], 30 * X**2 * V)


def test_the_raw_frule_takes_part() -> None:
    def twice(x: Any) -> Any:
        return 2 * x

    @frule.register(twice)
    def twice_frule(dots: tuple, x: Any) -> Any:
        return 2 * x, 20 * dots[0]

    assert pushforward(lambda x: twice(x) + x, 1.0)[1](1.0) == 21.0
    assert frule((NoTangent(), 1.0), twice, 1.0) == (2.0, 20.0)


@pytest.mark.parametrize(
    "dots, words",
    [
        ((), ["takes 1 tangent", "given 0"]),
        ((np.ones(2),), ["shape (2,)", "shape (3,)"]),
        (("text",), ["str"]),
    ],
)
def test_tangents_that_do_not_belong_to_the_argument(dots: tuple, words: list[str]) -> None:
    push = pushforward(arrays, X)[1]
    with pytest.raises(autodiff.SeedError) as caught:
        push(*dots)
    for word in ["arrays", *words]:
        assert word in str(caught.value)


def test_a_leaked_value_of_forward_mode_is_an_error() -> None:
    kept: list[Any] = []
    pushforward(lambda x: kept.append(x) or x * 2, 1.0)[1](1.0)
    with pytest.raises(autodiff.LeakedTracerError):
        kept[-1] * 2


def test_the_forms_of_other_engines() -> None:
    g = autodiff.grad(lambda x, y: (np.sum(x * y), "aux"), argnums=(0, 1), has_aux=True)
    (x_bar, y_bar), aux = g(X, V)
    np.testing.assert_array_equal(x_bar, V)
    np.testing.assert_array_equal(y_bar, X)
    assert aux == "aux"
    assert autodiff.value_and_grad(lambda x: x * x)(3.0) == (9.0, 6.0)
    _, back = autodiff.vjp(np.sin, X)
    np.testing.assert_allclose(back(V)[0], np.cos(X) * V)
    np.testing.assert_allclose(autodiff.jacfwd(np.sin)(X), np.diag(np.cos(X)))
    np.testing.assert_allclose(autodiff.jacrev(np.sin)(X), np.diag(np.cos(X)))
    np.testing.assert_allclose(autodiff.elementwise_grad(np.sin)(X), np.cos(X))
    np.testing.assert_allclose(autodiff.hessian(lambda p: p.a * p.b**2, Pair(2.0, 3.0)).b.b, 4.0)


@pytest.mark.parametrize("argnums", [None, 0, 1])
def test_a_function_that_destroys_its_arguments(argnums):
    a, b = np.array([[2.0, 0.3], [0.4, 3.0]], order="F"), np.array([1.0, 2.0])

    def f(a, b):
        return np.sum(scipy.linalg.solve(a, b, overwrite_a=True, overwrite_b=True))

    plain = autodiff.gradient(lambda a, b: np.sum(np.linalg.solve(a, b)), a.copy(), b.copy())
    _, push = autodiff.pushforward(f, a.copy(order="F"), b.copy(), argnums=argnums)
    dots = [np.ones((2, 2)), np.ones(2)]
    places = (0, 1) if argnums is None else (argnums,)
    expected = sum(np.sum(plain[i] * dots[i]) for i in places)
    np.testing.assert_allclose(push(*[dots[i] for i in places]), expected, rtol=1e-12)


# ------------------------------------------------------------------- one object in several places


def doubled_in_place(p: Any) -> Any:
    p[0][0] = p[0][0] * 2
    return p[1][0] * p[1][1]


def test_an_object_in_two_places_is_one_object_in_both_modes() -> None:
    def made() -> Any:
        shared = [3.0, 5.0]
        return (shared, shared)

    assert doubled_in_place(made()) == 30.0
    assert gradient(doubled_in_place, made()) == ([10.0, 6.0], [10.0, 6.0])
    value, slope = jvp(doubled_in_place, (made(),), (([1.0, 0.5], [1.0, 0.5]),))
    assert (value, slope) == (30.0, 13.0)
    assert jacobian(doubled_in_place, made(), mode="forward") == ([10.0, 6.0], [10.0, 6.0])
    x = made()
    for product in (hvp, vhp):
        assert product(lambda p: p[0][0] ** 2 * p[1][1], x, x) == ([60.0, 18.0], [60.0, 18.0])


def test_objects_in_one_place_each_may_have_one_vector_for_both() -> None:
    shared = [1.0, 1.0]
    for product in (hvp, vhp):
        found = product(
            lambda p: p[0][0] ** 2 * p[1][1], ([3.0, 5.0], [3.0, 5.0]), (shared, shared)
        )
        assert found == ([16.0, 0.0], [0.0, 6.0])


@pytest.mark.parametrize("product", [hvp, vhp])
def test_two_vectors_for_one_object_are_an_error(product: Callable) -> None:
    shared = [3.0, 5.0]
    with pytest.raises(autodiff.SeedError, match="one object in two places"):
        product(lambda p: p[0][0] * p[1][1], (shared, shared), ([1.0, 0.0], [0.0, 1.0]))


@pytest.mark.parametrize(
    "v, word", [(np.ones(2), "shape"), ([1.0], "list"), ("text", "str"), (None, "NoneType")]
)
def test_vectors_that_do_not_belong_to_the_argument(v: Any, word: str) -> None:
    with pytest.raises(autodiff.SeedError, match=word):
        vhp(lambda x: np.sum(x**3), X, v)


def test_a_pushforward_whose_argument_is_written_into() -> None:
    x = X.copy()
    y, push = pushforward(lambda x: x * x, x)
    y[:] = 0.0  # the result is the program's own
    np.testing.assert_allclose(push(V), 2 * X * V)
    x[1] = 5.0
    with pytest.raises(autodiff.DifferentiationError, match="another value than before"):
        push(V)


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: hessian(f, X),
        lambda f: diag_hessian(f, X),
        lambda f: jacobian(lambda x: gradient(f, x), X, mode="forward"),
        lambda f: [push(V) for push in 2 * [pushforward(f, X)[1]]],
    ],
)
def test_columns_of_one_derivative_belong_to_one_function(derivative: Callable) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(autodiff.DifferentiationError, match="another value than before"):
        derivative(lambda x: np.sum(x * x * rng.random(3)))
    drawn = rng.random(3)
    derivative(lambda x: np.sum(x * x * drawn))


def test_a_hessian_at_a_minimum_whose_gradient_is_rounding() -> None:
    def f(x: Any) -> Any:
        return np.sum((np.sin(x) - np.sin(X)) ** 2 * np.exp(x))

    np.testing.assert_allclose(hessian(f, X), np.diag(2 * np.cos(X) ** 2 * np.exp(X)), atol=1e-12)


@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (0,), (2, 2)])
@pytest.mark.parametrize("is_compiled", [False, True])
def test_shapes_of_empty_arrays(shape: tuple, is_compiled: bool) -> None:
    def shapes(x: Any) -> list:
        found = [
            hessian(lambda v: np.sum(v**2), x),
            *[jacobian(lambda v: v * 2, x, mode=mode) for mode in ("forward", "reverse")],
            *[jacobian(lambda v: v[:0], x, mode=mode) for mode in ("forward", "reverse")],
            jacobian(lambda p: p["a"] * p["b"], {"a": x, "b": 2.0})["a"],
        ]
        return [np.shape(y) for y in found]

    x = np.ones(shape)
    expected = [2 * shape] * 3 + [(0, *shape[1:], *shape)] * 2 + [2 * shape]
    assert (autodiff.compile(shapes) if is_compiled else shapes)(x) == expected


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_tangent_has_memory_of_its_own(is_compiled: bool) -> None:
    def f(x: Any) -> Any:
        return x + X, x - X, x[::-1], np.broadcast_to(x[:1], (2,))

    g = autodiff.compile(lambda x, v: jvp(f, (x,), (v,))) if is_compiled else None
    v = V.copy()
    for _ in range(3):
        tangents = (jvp(f, (X,), (v,)) if g is None else g(X, v))[1]
        for k, tangent in enumerate(tangents):
            tangent[...] = k  # type: ignore[index]
        assert [float(tangent[0]) for tangent in tangents] == [0.0, 1.0, 2.0, 3.0]
        np.testing.assert_array_equal(v, V)
