"""Sweeps of large arrays: products in blocks, nodes dropped when visited, strong zeros at once."""

import tracemalloc

import numpy as np
import pytest

from autodiff import gradient, value_and_gradient
from autodiff.fastpath.blocked_products import BLOCK, LARGE
from autodiff.structured.settings import Settings

N = max(LARGE, 2 * BLOCK) + 77
RNG = np.random.default_rng(3)
X = RNG.uniform(0.3, 1.7, N)
W = RNG.standard_normal(N)

ELEMENTWISE = {
    "tanh": lambda x: np.tanh(x),
    "square": lambda x: x * x,
    "power": lambda x: x**3,
    "cube": lambda x: x * x * x,
    "quotient": lambda x: np.sin(x) / (1.0 + x * x),
    "read often": lambda x: x * np.exp(-x) + np.log(x) * x - x / 3.0,
    "negated": lambda x: -(-x * x),
    "where": lambda x: np.where(x > 1.0, x * x, np.sqrt(x)),
    "maximum": lambda x: np.maximum(x, 1.0) * x,
    "constant": lambda x: W * x * W,
    "mask": lambda x: (x > 1.0) * np.exp(x),
    "hypot": lambda x: np.hypot(x, 2.0 * x),
    "arctan2": lambda x: np.arctan2(x * x, x),
    "reshaped": lambda x: np.tanh(x.reshape(-1, 1)).ravel() * x,
    "reversed": lambda x: (np.exp(x[::-1]) * x[::-1])[::-1],
    "negative power": lambda x: x**-1.5,
    "many": lambda x: np.logaddexp(x, -x) * np.expm1(x) ** 2,
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_functions_agree_with_differences(name):
    g = ELEMENTWISE[name]
    h = 1e-6
    keep = np.abs(X - 1.0) > 1e-3  # away from the edges of the piecewise ones
    x = np.where(keep, X, 1.5)
    found = gradient(lambda x: np.sum(W * g(x)), x)
    differences = W * (g(x + h) - g(x - h)) / (2 * h)
    np.testing.assert_allclose(found, differences, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_sum_spreads_one_number(name):
    g = ELEMENTWISE[name]
    np.testing.assert_array_equal(
        gradient(lambda x: np.sum(g(x)), X), gradient(lambda x: np.sum(np.ones(N) * g(x)), X)
    )


def test_numbers_that_are_spread_are_summed():
    h = 1e-6

    def f(a, b):
        return np.sum(np.tanh(a * X + b) * W)

    found = gradient(f, 0.7, 0.2)
    np.testing.assert_allclose(found[0], (f(0.7 + h, 0.2) - f(0.7 - h, 0.2)) / (2 * h), rtol=1e-6)
    np.testing.assert_allclose(found[1], (f(0.7, 0.2 + h) - f(0.7, 0.2 - h)) / (2 * h), rtol=1e-6)


SCALED = {
    "product": lambda x, w: np.sum(x * w),
    "product, turned": lambda x, w: np.sum(w * x),
    "mean": lambda x, w: np.mean(x * (w * 2.0)),
    "quotient": lambda x, w: np.sum(x / w),
    "rows": lambda x, w: np.sum(x[1:].reshape(4, -1) * np.stack([w, w, w, w])[:, None]),
    "square": lambda x, w: np.sum((x * w) ** 2),
}


@pytest.mark.parametrize("w", [0.5, np.float64(0.5), np.array(0.5)])
@pytest.mark.parametrize("f", SCALED.values(), ids=SCALED)
def test_large_arrays_times_a_number(f, w):
    x_bar, w_bar = gradient(f, X, w)
    h = 1e-6
    assert x_bar.shape == X.shape
    np.testing.assert_allclose(w_bar, (f(X, w + h) - f(X, w - h)) / (2 * h), rtol=1e-6)
    difference = (f(X + h * W, w) - f(X - h * W, w)) / (2 * h)
    np.testing.assert_allclose(x_bar @ W, difference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "layout",
    [
        lambda x: x,
        lambda x: np.asfortranarray(x[: 512 * 256].reshape(512, 256)),
        lambda x: x[: 512 * 256].reshape(512, 256).T,
        lambda x: np.repeat(x, 2)[::2],
        lambda x: x[: 2**17].reshape(2, 256, 256),
    ],
)
def test_layouts_and_precisions(dtype, layout):
    x = layout(X.astype(dtype))
    found = gradient(lambda x: np.sum(np.tanh(x) * x * x), x)
    assert found.dtype == dtype
    assert found.shape == x.shape
    t = np.tanh(X)
    exact = layout((1 - t * t) * X * X + 2 * t * X)
    np.testing.assert_allclose(found, exact, rtol=2e-5 if dtype == np.float32 else 1e-12)


def test_zeros_are_strong():
    x = X.copy()
    x[::1000] = 0.0

    def safe(x):
        return np.sum(np.where(x > 0, np.sqrt(x), 0.0) * W)

    found = gradient(safe, x)
    assert np.all(found[::1000] == 0.0)
    np.testing.assert_allclose(found[1:1000], (W / (2 * np.sqrt(X)))[1:1000], rtol=1e-12)


def test_a_constant_zero_wins_over_infinity():
    mask = (np.arange(N) % 3 > 0).astype(float)
    found = gradient(lambda x: np.sum(np.sqrt(mask * x)), X)
    np.testing.assert_allclose(found, np.where(mask > 0, 0.5 / np.sqrt(X), 0.0), rtol=1e-12)


def test_a_nan_stays_where_it_is():
    x = X.copy()
    x[BLOCK + 5] = np.nan
    found = gradient(lambda x: np.sum(np.tanh(x) * x), x)
    assert np.flatnonzero(np.isnan(found)).tolist() == [BLOCK + 5]


@pytest.mark.parametrize("f", [np.maximum, np.fmax, np.minimum])
def test_ties_in_one_block_alone(f):
    other = X.copy()
    other[2:] += np.where(W[2:] > 0, 0.5, -0.5)
    found, of_other = gradient(lambda x, y: np.sum(f(x, y) * W), X, other)
    share = np.where(f(X, other) == X, 1.0, 0.0)
    share[:2] = 0.5
    np.testing.assert_array_equal(found, share * W)
    np.testing.assert_array_equal(of_other, (1.0 - share) * W)


def test_small_and_large_values_together():
    small = np.array([0.0, 2.0])

    def f(theta, x):
        scale = np.where(theta > 0, np.sqrt(theta), 0.0)  # a strong zero among small ones, too
        return np.sum(np.tanh(scale[1] * x) + scale[0])

    found, of_x = gradient(f, small, X)
    d = 1 - np.tanh(np.sqrt(2.0) * X) ** 2
    np.testing.assert_allclose(found, [0.0, np.sum(d * X) / (2 * np.sqrt(2.0))], rtol=1e-9)
    np.testing.assert_allclose(of_x, np.sqrt(2.0) * d, rtol=1e-12)


def test_floats_have_strong_zeros_beside_large_arrays():
    def f(s, x):
        root = s**0.5  # infinitely steep at 0
        return np.sum(x * x) + root * 0.0 + (0.0 * s) ** 0.5

    assert gradient(f, 0.0, X)[0] == 0.0


def test_arguments_and_constants_are_left_as_they_are():
    x, w = X.copy(), W.copy()
    value, (x_bar, w_bar) = value_and_gradient(lambda x, w: np.sum(x * w * x), x, w)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(w, W)
    assert value == np.sum(X * W * X)
    np.testing.assert_allclose(x_bar, 2 * X * W)
    np.testing.assert_allclose(w_bar, X * X)
    assert not np.shares_memory(x_bar, w)


def test_a_kept_value_propagated_unchanged_is_not_written_into():
    # The cotangent of each factor is the other factor itself; both are read again below.
    def f(x):
        e, t = np.exp(x), np.tanh(x)
        return np.sum(e * t) + np.sum(e) + np.sum(t * t)

    e, t = np.exp(X), np.tanh(X)
    d = 1 - t * t
    np.testing.assert_allclose(gradient(f, X), e * t + e * d + e + 2 * t * d, rtol=1e-12)


def test_gradients_of_gradients_keep_the_tape():
    def inner(x):
        return np.sum(np.sin(x) * x)

    def outer(x):
        return np.sum(gradient(inner, x) * W)

    found = gradient(outer, X)
    np.testing.assert_allclose(found, W * (2 * np.cos(X) - X * np.sin(X)), rtol=1e-10, atol=1e-12)


def test_what_has_been_visited_is_freed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Settings, "enabled", False)  # the loop is traced

    def deep(x):
        for _ in range(12):
            x = np.tanh(x)
        return np.sum(x)

    gradient(deep, X)
    tracemalloc.start()
    try:
        gradient(deep, X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Twelve values are kept, and one cotangent grows no second one.
    assert peak < 15 * X.nbytes
