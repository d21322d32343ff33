"""Fusion groups of elementwise operations on large arrays, swept block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, hvp
from autodiff.fastpath import blocked_sweep
from autodiff.fastpath.blocked_products import LARGE

N = LARGE + 12345
rng = np.random.default_rng(0)
X = rng.uniform(0.3, 1.4, N)
W = rng.standard_normal(N)
PIECE = N // 7 + 1


@pytest.fixture
def members(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the chains that were swept."""
    found: list[int] = []
    sweep = blocked_sweep._Chain.sweep

    def counted(self: Any) -> None:
        found.append(len(self.members))
        sweep(self)

    monkeypatch.setattr(blocked_sweep._Chain, "sweep", counted)
    return found


def by_pieces(f: Callable, *args: np.ndarray) -> list[np.ndarray]:
    """The gradients of a sum over elements, of pieces that are not large."""
    parts = [
        gradient(f, *[a[start : start + PIECE] for a in args], argnums=tuple(range(len(args))))
        for start in range(0, N, PIECE)
    ]
    return [np.concatenate(of_one) for of_one in zip(*parts, strict=True)]


def logistic(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: np.sum(np.tanh(x) * x * w),
        lambda x, w: np.sum(np.exp(-x * x) * np.tanh(1.3 * x + w) ** 2),
        lambda x, w: np.sum(logistic(x * w) * w) + np.sum(np.sin(x) - w),
        lambda x, w: np.sum((x + w) * (x - w) / (x * x + 1.0)),
        lambda x, w: np.sum((x + w) - 2.0 * -x),
        lambda x, w: np.sum(np.maximum(np.sin(3 * x), np.abs(w)) ** 3),
        lambda x, w: np.sum(np.sqrt(np.where(w > 0, x, 1.0)) * np.log(x) * np.cos(w)),
        lambda x, w: np.sum(np.hypot(x, w) * np.arctan2(x, w) * x),
        lambda x, w: np.sum(np.power(x, 1.5) * np.exp(w * 0.1) + x**3 / (2.0 + np.cos(w))),
    ],
)
def test_gradients_are_those_of_pieces(f: Callable, members: list[int]) -> None:
    found = gradient(f, X, W)
    assert max(members) >= 2
    for mine, expected in zip(found, by_pieces(f, X, W), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-12, atol=1e-14)


def test_numbers_that_are_spread(members: list[int]) -> None:
    def f(x: Any, a: Any, b: Any) -> Any:
        t = np.tanh(a * x + b)
        return np.sum(t * t * np.exp(-x * x)) + a * b

    _, a_bar, b_bar = gradient(f, X, 1.3, 0.2)
    h = 1e-6
    np.testing.assert_allclose(
        a_bar, (f(X, 1.3 + h, 0.2) - f(X, 1.3 - h, 0.2)) / (2 * h), rtol=1e-7
    )
    np.testing.assert_allclose(
        b_bar, (f(X, 1.3, 0.2 + h) - f(X, 1.3, 0.2 - h)) / (2 * h), rtol=1e-7
    )
    assert type(a_bar) is float
    assert max(members) >= 6


def test_in_single_precision(members: list[int]) -> None:
    f, x = (lambda x: np.sum(np.tanh(x) * x * np.float32(0.5))), X.astype(np.float32)
    found = gradient(f, x)
    assert found.dtype == np.float32
    t = np.tanh(X)
    np.testing.assert_allclose(found, 0.5 * (t + X * (1 - t * t)), rtol=1e-5)
    assert members


def test_constants_of_single_precision_are_multiplied_in_double(members: list[int]) -> None:
    a, b = X.astype(np.float32), W.astype(np.float32)
    found = gradient(lambda x: np.sum((x * a) * b), X)
    np.testing.assert_allclose(found, a.astype(float) * b.astype(float), rtol=1e-15)
    assert members


def test_cotangents_from_outside_the_chain(members: list[int]) -> None:
    def f(x: Any) -> Any:
        y = np.tanh(x)
        z = y * y
        total = np.cumsum(z)[-1] + np.sum(z * x)  # z has a cotangent from outside the chain
        return total + np.sum(np.flip(y) * W) + y[5] * y[7]

    place, h = [0, 5, 7, N - 1], 1e-5
    found = gradient(f, X)[place]
    for k, slope in zip(place, found, strict=True):
        step = np.zeros(N)
        step[k] = h
        np.testing.assert_allclose(slope, (f(X + step) - f(X - step)) / (2 * h), rtol=1e-4)
    assert members


def test_shapes_that_are_broadcast_are_left_to_the_others(members: list[int]) -> None:
    x, row = X[: 512 * 260].reshape(512, 260), W[:260]

    def f(x: Any, row: Any) -> Any:
        y = np.tanh(x * row) * x
        return np.sum(np.exp(y - np.max(y, axis=1, keepdims=True)) * y)

    x_bar, row_bar = gradient(f, x, row)
    parts = [gradient(f, part, row) for part in np.split(x, 8)]
    np.testing.assert_allclose(x_bar, np.concatenate([p[0] for p in parts]), rtol=1e-12)
    np.testing.assert_allclose(row_bar, sum(p[1] for p in parts), rtol=1e-10)


@pytest.mark.parametrize("order", ["C", "F"])
def test_layouts(order: Any) -> None:
    x = np.array(X[: 512 * 260].reshape(512, 260), order=order)
    found = gradient(lambda x: np.sum(np.tanh(x) * x), x)
    t = np.tanh(x)
    np.testing.assert_allclose(found, t + x * (1 - t * t), rtol=1e-12)


def test_zeros_are_strong_in_a_block(members: list[int]) -> None:
    x = X.copy()
    x[[3, 40000, N - 1]] = 0.0

    def f(x: Any) -> Any:
        return np.sum(np.sqrt(x) * np.sqrt(x) * (W > 5.0) + np.where(x > 0, np.sqrt(x), 0.0) * W)

    found = gradient(f, x)
    expected = by_pieces(lambda x, w: np.sum(np.where(x > 0, np.sqrt(x), 0.0) * w), x, W)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_nan_stays_where_it_is() -> None:
    x = X.copy()
    x[40001] = np.nan
    found = gradient(lambda x: np.sum(np.tanh(x) * x + np.exp(x)), x)
    assert np.flatnonzero(np.isnan(found)).tolist() == [40001]


def test_arrays_from_outside_stay_as_they_are(members: list[int]) -> None:
    x, w = X.copy(), W.copy()

    def f(x: Any) -> Any:
        e = np.exp(x)
        return np.sum(e * w) + np.sum(e * e) + np.sum(w * x)

    first = gradient(f, x)
    np.testing.assert_array_equal(gradient(f, x), first)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(w, W)
    np.testing.assert_allclose(first, np.exp(X) * W + 2 * np.exp(2 * X) + W, rtol=1e-12, atol=1e-14)
    assert not np.shares_memory(first, w)


def test_the_result_of_each_argument_is_its_own(members: list[int]) -> None:
    def f(x: Any, w: Any) -> Any:
        s = x + w
        return np.sum(np.sin(s) + s)

    x_bar, w_bar = gradient(f, X, W)
    assert not np.shares_memory(x_bar, w_bar)
    np.testing.assert_allclose(x_bar, np.cos(X + W) + 1.0, rtol=1e-12)
    x_bar += 1.0
    np.testing.assert_allclose(w_bar, np.cos(X + W) + 1.0, rtol=1e-12)


def test_second_derivatives() -> None:
    found = hvp(lambda x: np.sum(np.tanh(x) * x * x), X, W)
    t = np.tanh(X)
    d = 1 - t * t
    np.testing.assert_allclose(found, W * (2 * t + 4 * X * d - 2 * t * d * X * X), rtol=1e-10)
