"""The page "Pedagogical Example": a rule for a function of an object and an array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

import autodiff
from chainrules_core import (
    InplaceableThunk,
    NoTangent,
    Tangent,
    Thunk,
    ZeroTangent,
    rrule,
    thunk,
    unthunk,
)
from chainrules_core.testing import check_rrule


@dataclass
class Foo:
    A: np.ndarray
    c: float


def foo_mul(foo: Foo, b: np.ndarray) -> np.ndarray:
    return foo.A @ b


@pytest.fixture
def foo() -> Foo:
    return Foo(np.arange(9.0).reshape(3, 3) - 2.0, 3.0)


@pytest.fixture
def b() -> np.ndarray:
    return np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0], [2.0, 1.0, -1.0]])


@pytest.fixture
def forced() -> list[str]:
    """Register the page's rule, word for word; the list fills as its thunk is computed."""
    computed: list[str] = []

    @rrule.register(foo_mul, Foo, np.ndarray)
    def foo_mul_rrule(foo: Foo, b: np.ndarray) -> tuple[np.ndarray, Callable]:
        y = foo_mul(foo, b)

        def foo_mul_pullback(y_bar: np.ndarray) -> tuple:
            def b_bar_now() -> np.ndarray:
                computed.append("b_bar")
                return foo.A.T @ y_bar

            f_bar = NoTangent()
            foo_bar = Tangent[Foo](A=y_bar @ b.T, c=ZeroTangent())
            b_bar = thunk(b_bar_now)
            return f_bar, foo_bar, b_bar

        return y, foo_mul_pullback

    return computed


def test_the_rule_agrees_with_finite_differences(forced: list, foo: Foo, b: np.ndarray) -> None:
    check_rrule(foo_mul, foo, b)


def test_field_c_is_ignored_in_the_calculation(foo: Foo, b: np.ndarray) -> None:
    np.testing.assert_array_equal(foo_mul(foo, b), foo_mul(replace(foo, c=-1.0), b))


def test_primal_and_pullback(forced: list, foo: Foo, b: np.ndarray) -> None:
    y, pullback = rrule(foo_mul, foo, b)
    np.testing.assert_array_equal(y, foo.A @ b)
    y_bar = np.ones((3, 3))
    f_bar, foo_bar, b_bar = pullback(y_bar)
    assert f_bar is NoTangent()  # foo_mul is no closure: it has nothing to perturb
    assert isinstance(foo_bar, Tangent[Foo])
    np.testing.assert_array_equal(foo_bar.A, y_bar @ b.T)
    assert foo_bar.c is ZeroTangent()
    np.testing.assert_array_equal(unthunk(b_bar), foo.A.T @ y_bar)


def test_the_pullback_carries_the_name_its_author_gave_it(
    forced: list, foo: Foo, b: np.ndarray
) -> None:
    _, pullback = rrule(foo_mul, foo, b)
    assert pullback.__name__ == "foo_mul_pullback"
    assert "foo_mul_pullback" in repr(pullback)


def test_the_rule_dispatches_on_the_types_of_the_arguments(
    forced: list, foo: Foo, b: np.ndarray
) -> None:
    assert rrule(foo_mul, foo, b) is not None
    assert rrule(foo_mul, (foo.A, foo.c), b) is None
    assert rrule(foo_mul, foo, 2.0) is None


def test_a_thunk_is_computed_if_it_is_used_and_only_then(
    forced: list, foo: Foo, b: np.ndarray
) -> None:
    _, pullback = rrule(foo_mul, foo, b)
    _, foo_bar, b_bar = pullback(np.ones((3, 3)))
    assert isinstance(b_bar, Thunk)
    assert foo_bar.A.shape == (3, 3)
    assert forced == []
    assert unthunk(b_bar) is unthunk(b_bar)
    assert forced == ["b_bar"]


@pytest.mark.parametrize(
    "argnums, times", [(0, 0), (1, 1), ((0, 1), 1), (None, 1)], ids=["foo", "b", "both", "all"]
)
def test_the_engine_forces_the_thunk_of_a_wanted_argument_once(
    forced: list, foo: Foo, b: np.ndarray, argnums: int | tuple | None, times: int
) -> None:
    _, back = autodiff.pullback(foo_mul, foo, b, argnums=argnums)
    assert len(forced) == 0
    back(np.ones((3, 3)))
    assert len(forced) == times


def test_the_engine_uses_the_rule(forced: list, foo: Foo, b: np.ndarray) -> None:
    y, back = autodiff.pullback(foo_mul, foo, b)
    foo_bar, b_bar = back(np.ones((3, 3)))
    assert forced == ["b_bar"]
    np.testing.assert_array_equal(y, foo.A @ b)
    assert isinstance(foo_bar, Foo)
    np.testing.assert_array_equal(foo_bar.A, np.ones((3, 3)) @ b.T)
    assert foo_bar.c == 0.0
    np.testing.assert_array_equal(b_bar, foo.A.T @ np.ones((3, 3)))


def test_without_the_rule_the_body_gives_the_same(foo: Foo, b: np.ndarray) -> None:
    assert rrule(foo_mul, foo, b) is None
    foo_bar, b_bar = autodiff.gradient(lambda foo, b: np.sum(foo_mul(foo, b)), foo, b)
    np.testing.assert_allclose(foo_bar.A, np.ones((3, 3)) @ b.T)
    assert foo_bar.c == 0.0
    np.testing.assert_allclose(b_bar, foo.A.T @ np.ones((3, 3)))


def test_the_rule_is_used_inside_another_function(forced: list, foo: Foo, b: np.ndarray) -> None:
    autodiff.gradient(lambda foo, b: np.sum(foo_mul(foo, b)), foo, b)
    assert forced == ["b_bar"]


def test_a_thunk_for_the_field_too(foo: Foo, b: np.ndarray) -> None:
    """In practice one would delay the tangent of the field A as well."""
    computed: list[str] = []

    def noted(name: str, value: np.ndarray) -> np.ndarray:
        computed.append(name)
        return value

    @rrule.register(foo_mul, Foo, np.ndarray)
    def foo_mul_rrule(foo: Foo, b: np.ndarray) -> tuple[np.ndarray, Callable]:
        def foo_mul_pullback(y_bar: np.ndarray) -> tuple:
            foo_bar = Tangent[Foo](A=thunk(lambda: noted("A", y_bar @ b.T)))
            return NoTangent(), foo_bar, thunk(lambda: noted("b", foo.A.T @ y_bar))

        return foo_mul(foo, b), foo_mul_pullback

    _, back = autodiff.pullback(foo_mul, foo, b, argnums=0)
    np.testing.assert_array_equal(back(np.ones((3, 3))).A, np.ones((3, 3)) @ b.T)
    assert computed == ["A"]
    check_rrule(foo_mul, foo, b)


def test_the_whole_structural_tangent_may_be_a_thunk(foo: Foo, b: np.ndarray) -> None:
    @rrule.register(foo_mul, Foo, np.ndarray)
    def foo_mul_rrule(foo: Foo, b: np.ndarray) -> tuple[np.ndarray, Callable]:
        def foo_mul_pullback(y_bar: np.ndarray) -> tuple:
            return NoTangent(), thunk(lambda: Tangent[Foo](A=y_bar @ b.T)), foo.A.T @ y_bar

        return foo_mul(foo, b), foo_mul_pullback

    _, back = autodiff.pullback(foo_mul, foo, b)
    np.testing.assert_array_equal(back(np.ones((3, 3)))[0].A, np.ones((3, 3)) @ b.T)


def test_an_inplaceable_thunk_adds_into_the_buffer_that_is_there() -> None:
    ways: list[str] = []

    def twice(b: np.ndarray) -> np.ndarray:
        return 2.0 * b

    @rrule.register(twice, np.ndarray)
    def twice_rrule(b: np.ndarray) -> tuple[np.ndarray, Callable]:
        def twice_pullback(y_bar: np.ndarray) -> tuple:
            def add_into(b_bar: np.ndarray) -> np.ndarray:
                ways.append("added")
                b_bar += 2.0 * y_bar
                return b_bar

            def value() -> np.ndarray:
                ways.append("computed")
                return 2.0 * y_bar

            return NoTangent(), InplaceableThunk(add_into, value)

        return twice(b), twice_pullback

    x = np.array([1.0, 2.0])
    _, back = autodiff.pullback(twice, x)
    np.testing.assert_array_equal(back(np.array([1.0, 10.0])), [2.0, 20.0])
    assert ways == ["added"]
    check_rrule(twice, x)


@pytest.mark.parametrize(
    "b, A",
    [
        (np.ones((3, 2), np.float32), np.eye(3)),
        (np.ones((3, 2)), np.eye(3) * (1 + 2j)),
        (np.ones((3, 2), np.complex64), np.eye(3)),
    ],
    ids=["single precision", "real b", "complex b"],
)
def test_the_tangent_of_b_is_projected_onto_its_space(
    forced: list, b: np.ndarray, A: np.ndarray
) -> None:
    y, pullback = rrule(foo_mul, Foo(A, 0.0), b)
    b_bar = unthunk(pullback(np.ones_like(y))[2])
    assert b_bar.dtype == b.dtype
    _, back = autodiff.pullback(foo_mul, Foo(A, 0.0), b, argnums=1)
    assert back(np.ones_like(y)).dtype == b.dtype


def test_a_closure_has_a_tangent_of_its_own() -> None:
    """What distinguishes foo_mul, a function without fields: an object that is called has some."""

    @dataclass
    class Scale:
        factor: float

        def __call__(self, x: float) -> float:
            return self.factor * x

    @rrule.register(Scale.__call__, Scale, float)
    def scale_rrule(scale: Scale, x: float) -> tuple[float, Callable]:
        def scale_pullback(y_bar: float) -> tuple:
            return NoTangent(), Tangent[Scale](factor=x * y_bar), scale.factor * y_bar

        return scale(x), scale_pullback

    scale_bar, x_bar = rrule(Scale(3.0), 2.0)[1](1.0)
    assert scale_bar == Tangent[Scale](factor=2.0)
    assert x_bar == 3.0
    assert autodiff.gradient(Scale(3.0), 2.0) == 3.0
