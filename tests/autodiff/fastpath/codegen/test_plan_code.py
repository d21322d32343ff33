"""Plans as generated code: what they are valid for, and what they leave to the plan."""

from __future__ import annotations

import gc
import math
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, hvp, pushforward, value_and_gradient
from autodiff.dispatch import dispatch_cache
from autodiff.errors import LeakedTracerError, MutationError
from autodiff.trace.tracer import Tracer
from chainrules_core import Array, NoTangent, rrule
from tests.helpers import forget_decisions

X = np.array([0.3, -0.7, 0.5])
W = np.arange(9.0).reshape(3, 3) / 7


@pytest.fixture(autouse=True)
def written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch_cache, "OFTEN", 1)
    forget_decisions()


def differences(f: Callable, x: np.ndarray) -> np.ndarray:
    eps, slopes = 1e-6, np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[place] = eps
        slopes[place] = (f(x + step) - f(x - step)) / (2 * eps)
    return slopes


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.dot(W, x)) + np.sum(np.dot(x, W)),
        lambda x: np.dot(x, x) + np.dot(np.outer(x, x), x)[1],
        lambda x: np.sum(x[1:] * x[:-1]) + np.sum(x[::-1][:2]),
        lambda x: np.sum(np.outer(x, x)[:, 1]) + np.outer(x, x)[0, ...][2],
        lambda x: np.max(np.outer(x, x), axis=1)[0] + np.max(np.outer(x, x), axis=(0, 1)),
        lambda x: np.sum(np.sum(np.outer(x, x), axis=0, keepdims=True) * x),
        lambda x: np.sum(np.reshape(np.reshape(x, (3, 1)), (1, 3)) * W),
        lambda x: np.sum(np.transpose(np.reshape(x, (3, 1))) * W) + x.reshape(1, 3).T[1, 0],
        lambda x: np.sum(x * np.argmax(x)) + np.sum(np.cumsum(x)[np.argsort(x)]),
        lambda x: float(np.count_nonzero(x > 0)) * np.linalg.norm(x),
        lambda x: np.sum(np.broadcast_to(np.sum(x), (2, 3)) * x),
        lambda x: np.sum(np.clip(x, -0.5, 0.4) * x) + np.mean(x) + np.mean(x, axis=0),
        lambda x: np.sum(-x * x + x / (2.0 + x) - 1.5 * x + (x - 0.25) ** 2 + 2.0**x),
        lambda x: np.sum(W @ x + x @ W) + (W @ np.outer(x, x) @ W).sum() + x.dot(x),
        lambda x: np.sum(
            np.exp(x) * np.maximum(x, 0.1) + np.maximum(W, x)[1] + W * x - W / (x + 2)
        ),
        lambda x: np.sum(x * x[0] + x[1] / (x + 3.0) - x[2] ** 2 * x) + np.sum(np.abs(x)),
        lambda x: x.sum() + x.mean() * x.reshape(1, 3).T.sum(axis=0)[0] + x.reshape((3, 1)).max(),
    ],
)
def test_written_calls_have_the_derivatives_of_all_others(f: Callable) -> None:
    def twice(x: Any) -> Any:
        return f(x) + 2.0 * f(x * 1.1)  # the second call takes what the first has written

    expected = differences(twice, X)
    for _ in range(2):
        np.testing.assert_allclose(gradient(twice, X), expected, rtol=1e-6, atol=1e-8)
    slope = pushforward(twice, X)[1](np.ones(3))
    np.testing.assert_allclose(slope, expected.sum(), rtol=1e-6, atol=1e-8)
    eps = 1e-6 * np.ones(3)
    second = (gradient(twice, X + eps) - gradient(twice, X - eps)) / 2e-6
    np.testing.assert_allclose(hvp(twice, X, np.ones(3)), second, rtol=1e-5, atol=1e-6)


def test_values_of_other_types_keep_to_the_plan() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.dot(x, x))

    for x in (X, X.astype(np.float32), X, X + 0j, np.outer(X, X)):
        slopes = gradient(lambda x: np.real(f(x)), x)
        assert slopes.dtype == x.dtype
        np.testing.assert_allclose(
            slopes, 2 * x.conj() if x.ndim == 1 else x.sum(1) + x.sum(0)[:, None], rtol=1e-6
        )


def test_elementwise_operations_on_values_of_other_types() -> None:
    def f(x: Any) -> Any:
        return np.real(np.sum(x * x * 0.5 + np.exp(x) * x - x / 3.0))

    for x in (X, X.astype(np.float32), X + 0.1j, X, np.float64(0.5), np.array(0.5), X[:0]):
        for _ in range(2):
            slopes = np.asarray(gradient(f, x))
            exact = np.conj(x + np.exp(x) * (1 + x) - 1 / 3.0)
            assert slopes.dtype == np.asarray(x).dtype
            np.testing.assert_allclose(slopes, exact, rtol=1e-5)


def test_options_by_name_of_other_types_keep_to_the_plan() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for axis in (0, None, (0, 1), -1, 0):
            total = total + np.sum(np.sum(np.outer(x, x), axis=axis) ** 2)
        return total

    np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-6)


def test_traced_values_by_name_and_plain_ones_in_turn() -> None:
    def f(y: Any) -> Any:
        total = np.trapezoid(y, dx=0.5)
        total = total + np.trapezoid(y, dx=y[0])
        return total + np.trapezoid(y, dx=0.5)

    np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-6)
    np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-6)


def test_names_of_options_may_be_those_of_the_codes_own_variables() -> None:
    def odd(x: Any, *, type: int = 1, y: float = 1.0, tape: Any = None, len: int = 1) -> Any:
        return x * (type * y * len)

    @rrule.register(odd, Array)
    def odd_rrule(x: Any, *, type: int = 1, y: float = 1.0, tape: Any = None, len: int = 1) -> Any:
        return odd(x, type=type, y=y, len=len), lambda y_bar: y_bar * (type * y * len)

    def f(x: Any) -> Any:
        return np.sum(odd(x, type=2) + odd(x, y=3.0) + odd(x, tape=None, len=5))

    try:
        for _ in range(3):
            np.testing.assert_array_equal(gradient(f, X), np.full(3, 10.0))
    finally:
        rrule.unregister(odd)


def test_a_change_of_a_rule_ends_what_was_written() -> None:
    def tripled(x: Any) -> Any:
        return 3 * x

    def registered(factor: float) -> None:
        @rrule.register(tripled, Array)
        def tripled_rrule(x: Any) -> Any:
            return tripled(x), lambda y_bar: (NoTangent(), factor * y_bar)

    for factor in (3.0, 4.0):
        registered(factor)
        for _ in range(3):
            slopes = gradient(lambda x: np.sum(tripled(x) + tripled(x)), X)
            np.testing.assert_array_equal(slopes, 2 * factor * np.ones(3))
        rrule.unregister(tripled)
        assert not dispatch_cache.ways_of(tripled)


def test_a_function_without_rules_is_not_kept_alive() -> None:
    def made() -> Callable:
        def tripled(x: Any) -> Any:
            return 3 * x

        def tripled_rrule(x: Any) -> Any:
            return 3 * x, lambda y_bar: (NoTangent(), 3 * y_bar)

        rrule.register(tripled)(tripled_rrule)
        gradient(lambda x: np.sum(tripled(x) + tripled(x)), X)
        known = dispatch_cache.ways_of(tripled)
        assert known
        rrule.unregister(tripled)
        assert dispatch_cache.known_of(tripled) is None
        assert dispatch_cache.ways_of(tripled) is known  # that which wrappers have
        rrule.register(tripled)(tripled_rrule)
        rrule.unregister(tripled)
        return tripled

    gone = weakref.ref(made())
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda x: np.sqrt(x) + np.sum(x), -1.0),
        (lambda x: np.log(x) * 2.0, -1.0),
        (lambda x: x / 0.0, 1.0),
        (lambda x: 1.0 / x, 0.0),
    ],
)
def test_a_warning_comes_once(f: Callable, x: float) -> None:
    with np.errstate(all="ignore"):
        gradient(lambda x: np.sum(f(x)) + np.sum(f(x)), np.abs(X))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        value_and_gradient(f, np.array(x))
    assert len(found) == 1


def test_values_without_axes_and_complex_ones_take_the_written_calls() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x) * x / 3.0)

    def g(x: Any) -> Any:
        return np.sum(np.abs(x * (1.0 + 2j * X) + np.sin(x) * (X * 1j)) ** 2)

    gradient(f, X)
    for x in (np.array(0.3), np.array([0.3])):
        np.testing.assert_allclose(gradient(f, x), (np.cos(0.3) * 0.3 + np.sin(0.3)) / 3)
    assert gradient(f, np.array(0.3)).shape == ()
    for _ in range(2):
        np.testing.assert_allclose(gradient(g, X), differences(g, X), rtol=1e-6)


def test_calls_with_many_arguments_are_not_remembered() -> None:
    def f(x: Any) -> Any:
        return math.hypot(*x) + math.hypot(*X.tolist() * 10) + math.hypot(x[0], 1.0)

    for n in (3, 40):
        x = np.linspace(0.5, 1.5, n)
        for _ in range(2):
            np.testing.assert_allclose(gradient(f, x), differences(f, x), rtol=1e-6)
    assert all(len(key) <= dispatch_cache._LONGEST for key in dispatch_cache.ways_of(math.hypot))


def test_a_filter_of_warnings_by_module_is_heeded() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.log(x)) + np.sum(np.log(x))

    gradient(f, np.abs(X))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", module="autodiff")
        gradient(f, X)
    assert not found


def test_arrays_from_outside_are_copied_and_large_ones_held() -> None:
    matrix, mask = W.copy(), np.array([True, False, True])

    def writes(x: Any) -> Any:
        y = np.dot(matrix, x) + np.dot(matrix, x)
        matrix[0, 0] = 5.0
        return np.sum(y)

    expected = 2.0 * np.sum(W, axis=0)
    for _ in range(20):
        matrix[...] = W
        np.testing.assert_allclose(gradient(writes, X), expected)
    matrix = np.ones((5000, 3))
    with pytest.raises(MutationError):
        gradient(writes, X)

    def changes_mask(x: Any) -> Any:
        y = np.sum(x[mask]) + np.sum(x[mask] * 2)
        mask[:] = True
        return y

    np.testing.assert_array_equal(gradient(changes_mask, X), [3.0, 0.0, 3.0])


def test_views_are_written_through() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        first, rest = y[:1], y[1:]
        again = y[1:]
        rest[0] = x[0] * x[2]
        return np.sum(again * first) + np.sum(y)

    for _ in range(2):
        np.testing.assert_allclose(gradient(f, X), differences(f, X), rtol=1e-6)


def test_a_view_made_with_another_traced_value_is_written_through() -> None:
    def behind(x: Any, s: Any) -> Any:
        return x[1:]

    @rrule.register(behind)
    def behind_rrule(x: Any, s: Any) -> Any:
        return x[1:], lambda y_bar: (NoTangent(), np.append(0.0, y_bar), 0.0)

    def f(x: Any, s: Any) -> Any:
        y = x * 1.0
        rest = behind(y, s)
        y[1] = s * x[0]
        rest[1] = s * s
        return np.sum(rest * rest) + np.sum(y)

    for _ in range(2):
        x_bar, s_bar = gradient(f, X, 2.0)
        np.testing.assert_allclose(x_bar, differences(lambda x: f(x, 2.0), X), atol=1e-8)
        np.testing.assert_allclose(s_bar, 4 * X[0] ** 2 + 32 + X[0] + 4)
        # of the slope by x₀, 2 s² x₀ + 1 + s
        mixed = gradient(lambda s: np.sum(gradient(lambda x: f(x, s), X)), 2.0)
        np.testing.assert_allclose(mixed, 8 * X[0] + 1)
    rrule.unregister(behind)


def test_a_leaked_value_is_still_found() -> None:
    leaked: list[Any] = []

    def f(x: Any) -> Any:
        leaked.append(x)
        return np.sum(x[1:]) + np.sum(x[1:])

    gradient(f, X)
    uses: list[Callable] = [lambda x: x[1:], np.sum, lambda x: np.dot(W, x)]

    def g(x: Any, use: Callable) -> Any:
        return np.sum(x) + np.sum(use(leaked[0]))

    for use in uses:
        with pytest.raises(LeakedTracerError):
            gradient(g, X, use, argnums=0)


def test_what_is_written_is_found_by_the_types() -> None:
    gradient(lambda x: np.sum(np.dot(W, x)), X)
    assert list(dispatch_cache.ways_of(np.dot)) == [(np.ndarray, Tracer)]
