"""Cotangents propagated by generated code: shared, summed, projected, or of a wrong kind."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, hvp, pushforward
from autodiff.dispatch import dispatch_cache
from autodiff.fastpath.codegen.node_code import for_arrays
from chainrules_core import (
    Array,
    BadInplaceError,
    NoTangent,
    ZeroTangent,
    linear_rule,
    rrule,
    scalar_rule,
    thunk,
)
from chainrules_core.define.partial import Partial
from chainrules_core.errors import CotangentError
from tests.helpers import forget_decisions

A = np.array([0.3, -0.7, 0.5])
B = np.array([1.2, 0.4, 2.0])


@pytest.fixture(autouse=True)
def written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch_cache, "OFTEN", 1)
    forget_decisions()


def check(f: Callable, args: tuple, differences: Callable, rtol: float = 1e-6) -> None:
    """Compare gradients, tangents and products with the Hessian; the third time all is written."""
    argnums = tuple(range(len(args)))
    for _ in range(3):
        found = gradient(f, *args, argnums=argnums)
    for i, slopes in enumerate(found):

        def of_one(x: Any, i: int = i) -> Any:
            return f(*args[:i], x, *args[i + 1 :])

        expected = differences(of_one, args[i])
        np.testing.assert_allclose(slopes, expected, rtol=rtol, atol=1e-7)
        v = np.cos(np.arange(1.0, np.size(args[i]) + 1)).reshape(np.shape(args[i]))
        for _ in range(3):
            dot = pushforward(of_one, args[i])[1](v)
        np.testing.assert_allclose(dot, np.sum(expected * v), rtol=rtol, atol=1e-7)
        eps = 1e-5
        ahead, back = (gradient(of_one, args[i] + s * eps * v) for s in (1, -1))
        for _ in range(3):
            second = hvp(of_one, args[i], v)
        np.testing.assert_allclose(second, (ahead - back) / (2 * eps), rtol=1e-4, atol=1e-5)


_OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, np.maximum, np.arctan2]
_SHAPES: list[Any] = [B, B[:, None], B[:1], np.outer(B, A), 1.7, np.float64(1.7)]


@pytest.mark.parametrize("op, b", list(itertools.product(_OPERATORS, _SHAPES)))
def test_operations_on_all_shapes(op: Callable, b: Any, differences: Callable) -> None:
    def f(a: Any, b: Any) -> Any:
        y, z = op(a, b), op(b, a)
        return np.sum(y * np.arange(1.0, 4.0)) + np.sum(z * z)

    check(f, (A, b), differences)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: np.sum((a + b) * (a - b) + (a + a) * b - (b - b) + a * a),
        lambda a, b: np.sum((a + b + a) ** 2) + np.sum((a - b - b) ** 2),
        lambda a, b: np.sum(a * b.sum() + b / b.sum() - a / np.mean(b)),
        lambda a, b: np.sum(np.tanh(a) / (1.0 + np.exp(-b)) + np.sqrt(b) * np.log(b)),
        lambda a, b: np.sum(2.0 * a - b * 3 + 0.5 / b - (1 - a) ** 2 + b**1.5 + 2.0**a),
        lambda a, b: np.sum(a[::-1] * b + a[1:].sum() * np.reshape(b, (1, 3))),
        lambda a, b: np.dot(np.outer(a, b), a) @ b + np.dot(a, b) * np.max(a * b),
        lambda a, b: np.sum(np.logaddexp(a, b) * np.logaddexp(a, 0.5) + np.hypot(a, b) ** b[0]),
        lambda a, b: np.sum(np.where(a > 0, a * b, a / b) + np.maximum(a, 0.0) + np.abs(a) * b),
        lambda a, b: np.sum(np.concatenate([a, b]) ** 2) + np.sum(np.stack([a, b]).T[:, 1] * a),
        lambda a, b: float(len(a)) * np.linalg.norm(a) + np.sum(np.cumsum(a) * b) + np.prod(b),
    ],
)
def test_programs(f: Callable, differences: Callable) -> None:
    check(f, (A, B), differences)


def test_each_gradient_has_its_own_memory() -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        return np.sum(a + b + c)  # one cotangent for all three

    for _ in range(3):
        found = gradient(f, A, B, B.copy(), argnums=(0, 1, 2))
    for g, other in itertools.permutations(found, 2):
        assert not np.shares_memory(g, other)


def test_a_cotangent_that_two_arguments_have_is_not_added_to() -> None:
    def f(a: Any, b: Any) -> Any:
        s = a + b
        later = s * s
        return np.sum(later) + np.sum(a * 3.0) + np.sum(np.exp(b)) + np.sum(a * b)

    for _ in range(3):
        a_bar, b_bar = gradient(f, A, B, argnums=(0, 1))
    np.testing.assert_allclose(a_bar, 2 * (A + B) + 3 + B)
    np.testing.assert_allclose(b_bar, 2 * (A + B) + np.exp(B) + A)


def test_zeros_are_strong() -> None:
    x = np.array([0.0, 4.0, 9.0])
    for _ in range(3):
        found = gradient(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)), x)
        np.testing.assert_allclose(found, [0.0, 0.25, 1 / 6])
        found = gradient(lambda x: np.sum(np.maximum(np.sqrt(x), 2.5)), x)
        np.testing.assert_allclose(found, [0.0, 0.0, 1 / 6])
        dot = pushforward(lambda x: np.where(x > 0, np.sqrt(x), 0.0), x)[1](np.array([0.0, 1, 1]))
        np.testing.assert_allclose(dot, [0.0, 0.25, 1 / 6])


def test_large_arrays_of_the_same_operations(differences: Callable) -> None:
    x = np.linspace(0.1, 2.0, 5000)
    for z in (x[:5], x, x[:5]):
        for _ in range(3):
            found = gradient(lambda z: np.sum(np.tanh(z) * z - z / (1.0 + z) + (z - 1.0)), z)
        exact = np.tanh(z) + z / np.cosh(z) ** 2 - 1 / (1 + z) ** 2 + 1
        np.testing.assert_allclose(found, exact, rtol=1e-12)


def test_complex_values_take_turns_with_real_ones() -> None:
    z = np.array([1.0 + 2.0j, -0.5j, 3.0])

    def f(s: Any, x: Any, c: Any) -> Any:
        return np.sum(np.abs(s * c - c / s + x * c) ** 2)

    for _ in range(3):
        for c in (A, z, B.astype(np.float32)):
            s_bar, x_bar = gradient(f, 1.3, B, c, argnums=(0, 1))
            y = 1.3 * c - c / 1.3 + B * c
            np.testing.assert_allclose(
                s_bar, np.sum(2 * np.real(np.conj(y) * c * (1 + 1 / 1.69))), rtol=1e-5
            )
            np.testing.assert_allclose(x_bar, 2 * np.real(np.conj(y) * c), rtol=1e-5)


# ------------------------------------------------------------------------ rules of all kinds


def through(rule_function: Callable) -> Any:
    for _ in range(3):
        found = gradient(lambda x: np.sum(rule_function(x) * np.arange(3.0)), A)
    return found


def test_partial_derivatives_with_closures_and_conditions() -> None:
    factor = 3.0

    cases: list[tuple[Any, float]] = [
        (lambda y, x: factor + 0 * x, 3.0),
        (lambda y, x: (x if x is None else x * 0) + 4, 4.0),
        (lambda y, x: x[..., 0] * 0 + 6.0, 6.0),
        (7.5, 7.5),
        (True, 1.0),
    ]
    for partial, expected in cases:

        def f(x: Any, k: float = expected) -> Any:
            return k * x

        scalar_rule(f, partial)
        np.testing.assert_allclose(through(f), expected * np.arange(3.0))


def test_products_made_together_that_decline() -> None:
    def f(a: Any, b: Any) -> Any:
        return a * b

    asked = []

    def together(y_bar: Any, y: Any, a: Any, b: Any) -> tuple | None:
        asked.append(1)
        return None if a[0] > 0 else (y_bar * b, y_bar * a)

    scalar_rule(f, lambda y, a, b: b, lambda y, a, b: a, together=together)
    for a in (A, -A):
        for _ in range(3):
            found = gradient(lambda a, b: np.sum(f(a, b)), a, B, argnums=(0, 1))
        np.testing.assert_allclose(found, (B, a))
    assert len(asked) >= 6


def test_adjoints_that_return_what_somebody_else_holds() -> None:
    kept = np.full(3, 2.0)
    readonly = np.full(3, 2.0)
    readonly.flags.writeable = False

    for returned in (lambda y_bar: kept, lambda y_bar: readonly, lambda y_bar: kept[::-1]):

        def f(x: Any) -> Any:
            return 2 * x

        linear_rule(f, lambda y_bar, x, r=returned: r(y_bar))
        for _ in range(3):
            found = gradient(lambda x: np.sum(f(x) + x + f(x)), A)
        np.testing.assert_array_equal(found, np.full(3, 5.0))
        np.testing.assert_array_equal(kept, np.full(3, 2.0))
        found[:] = 9.0
        np.testing.assert_array_equal(kept, np.full(3, 2.0))


def test_adjoints_that_hand_the_cotangent_on() -> None:
    def f(x: Any) -> Any:
        return x + 0.0

    def g(x: Any, y: Any) -> Any:
        return x + y

    linear_rule(f, lambda y_bar, x: y_bar)
    linear_rule(g, lambda z_bar, x, y: z_bar, lambda z_bar, x, y: z_bar)
    for _ in range(3):
        found = gradient(lambda a, b: np.sum(g(f(a), b) ** 2 + f(a) * b), A, B, argnums=(0, 1))
    np.testing.assert_allclose(found[0], 2 * (A + B) + B)
    np.testing.assert_allclose(found[1], 2 * (A + B) + A)


def test_pullbacks_return_whatever_they_may() -> None:
    def twice(y_bar: Any) -> Any:
        return 2 * y_bar

    cases: list[Callable] = [
        lambda y_bar: (twice(y_bar),),
        lambda y_bar: twice(y_bar),
        lambda y_bar: (NoTangent(), twice(y_bar)),
        lambda y_bar: (thunk(lambda: twice(y_bar)),),
        lambda y_bar: (twice(y_bar).astype(np.float32),),
        lambda y_bar: (twice(y_bar) + 0j,),
        lambda y_bar: (twice(y_bar)[None],),
    ]
    for pullback in cases:

        def f(x: Any) -> Any:
            return 2 * x

        rrule.register(f, Array)(lambda x, p=pullback: (2 * x, p))
        np.testing.assert_allclose(through(f), 2 * np.arange(3.0))

    def still(x: Any) -> Any:
        return 2 * x

    rrule.register(still, Array)(lambda x: (2 * x, lambda y_bar: (ZeroTangent(),)))
    np.testing.assert_array_equal(through(still), np.zeros(3))


def test_cotangents_that_do_not_fit_are_errors() -> None:
    def f(x: Any) -> Any:
        return 2 * x

    linear_rule(f, lambda y_bar, x: np.ones(4))
    with pytest.raises(CotangentError):
        through(f)

    def g(x: Any) -> Any:
        return 2 * x

    linear_rule(g, lambda y_bar, x: 2 * y_bar, add_into=lambda buffer, y_bar, x: buffer + y_bar)
    with pytest.raises(BadInplaceError):
        through(g)

    def h(x: Any) -> Any:
        return 2 * x

    rrule.register(h, Array)(lambda x: (2 * x, lambda y_bar: (np.ones((2, 2)),)))
    with pytest.raises(CotangentError):
        through(h)


def test_constants_become_arrays_where_that_is_the_same() -> None:
    replaced: list[Callable] = [lambda y, x: 1 - y * y, lambda y, x: 2 * x, lambda y, x: -1.0 / x]
    kept: list[Callable] = [
        lambda y, x: x**2,
        lambda y, x: x // 2,
        lambda y, x: x[0],
        lambda y, x: math.pi * x,
        lambda y, x: 1.0 if y is None else x,
        np.cos,
    ]
    x, y = A.copy(), np.exp(A)
    for function in replaced:
        other = for_arrays(Partial(function, 2), [np.ndarray])
        assert other is not function
        np.testing.assert_array_equal(other(y, x), function(y, x))
        assert for_arrays(Partial(function, 2), [float]) is function or not Partial(
            function, 2
        ).reads & {1}
    for function in kept:
        assert for_arrays(Partial(function, 2), [np.ndarray]) is function


def test_two_parameters_read_at_once() -> None:
    # Python 3.13 has one instruction for both.
    x = np.array([0.2, 1.5, -1.0])
    found = gradient(lambda x: np.sum(np.maximum(x, 0.0) * x), x)
    np.testing.assert_allclose(found, [0.4, 3.0, 0.0])


# ------------------------------------------------------------------------------------- dtypes

_F32 = np.array([0.3, 0.7, 1.5], np.float32)
_COMPLEX = np.array([0.3 + 1j, -0.7 + 0.2j, 0.5 - 2j])


@pytest.mark.parametrize("x", [A, _F32, _F32.astype(np.float16), _COMPLEX, _F32 + np.complex64(1j)])
@pytest.mark.parametrize("c", [2, 2.5, B, B.astype(np.float32), np.arange(3), 1.5j, np.array(2.0)])
def test_generated_code_gives_the_bits_of_the_general_path(x: Any, c: Any) -> None:
    def f(x: Any) -> Any:
        y = np.sin(x) * c
        z = x * x
        y = y / z
        z = np.abs(y)
        y = c * x
        z = y + z
        return np.sum(np.abs(z))

    dot = np.cos(np.arange(3)).astype(x.dtype)
    found = [(gradient(f, x), pushforward(f, x)[1](dot), hvp(f, x, dot)) for _ in range(4)]
    for later in found[1:]:
        for a, b in zip(found[0], later, strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_array_equal(a, b)
    assert found[0][0].dtype == x.dtype


def test_code_for_one_dtype_is_not_taken_for_another() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(np.abs(np.tanh(x) * y))

    values = [A, A.astype(np.float32), A + 1j, A[:, None], A.astype(np.float16)]
    expected = {}
    for i, j in itertools.product(range(len(values)), repeat=2):
        forget_decisions()
        expected[i, j] = gradient(f, values[i], values[j])
    forget_decisions()
    for _ in range(2):
        for (i, j), bars in expected.items():
            for a, b in zip(gradient(f, values[i], values[j]), bars, strict=True):
                assert a.dtype == b.dtype
                np.testing.assert_array_equal(a, b)


def test_operations_on_arrays_made_inside_can_be_written_into() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for k in range(4):
            made = np.zeros(3) + k
            scaled = np.exp(made * 0.5)
            scaled[1] = x[k % 3]
            total = total + np.sum(scaled * made)
        return total

    np.testing.assert_allclose(gradient(f, A), [3.0, 1.0, 2.0])


def test_a_value_beside_itself_and_beside_an_array_made_inside() -> None:
    def f(x: Any) -> Any:
        ones = np.ones(3)
        return np.sum(x * x + ones * x + x * ones + x / x)

    for _ in range(3):
        np.testing.assert_allclose(gradient(f, A), 2 * A + 2)
