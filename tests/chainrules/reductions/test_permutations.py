"""The order of many elements: that of a stable sort, whatever the numbers are."""

import numpy as np
import pytest

import autodiff
from chainrules.reductions.permutations import InLines, put_back, sorted_order
from chainrules_core import NoTangent, frule, rrule

N = 6000
RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, N)


def changed(**values):
    x = X.copy()
    for place, value in values.items():
        x[int(place[1:])] = value
    return x


NUMBERS = {
    "different": X,
    "ties": np.round(X, 2),
    "negative ties": -np.abs(np.round(X, 1)),
    "the same": np.zeros(N),
    "zeros of both signs": np.where(X > 0, 0.0, -0.0),
    "neighbours": 1 + 1e-15 * RNG.integers(0, 10, N),
    "negative neighbours": -1 - 1e-15 * RNG.integers(0, 10_000, N),
    "near": 1 + 1e-12 * RNG.uniform(size=N),
    "some near": np.where(np.arange(N) % 100, X, 1 + 1e-13 * X),
    "denormal": X * 1e-310,
    "nan": changed(_3=np.nan, _70=-np.nan, _71=np.nan),
    "infinite": changed(_3=np.inf, _70=-np.inf, _71=np.inf),
    "float32": np.float32(X),
    "complex": X + 1j * np.round(X[::-1]),
    "few": X[:50],
}
SHAPES = [((N,), 0), ((N,), None), ((60, 100), 0), ((60, 100), -1), ((60, 100), None)]
SHAPES += [((5, 600, 2), 1), ((5, 600, 2), 0), ((3, 10, 200), 2)]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("shape, axis", SHAPES)
def test_order(name, shape, axis):
    a = NUMBERS[name]
    a = a.reshape(shape) if a.size == N else a
    axis = axis if a.ndim == len(shape) else 0
    y, found = sorted_order(a, axis)
    expected = np.argsort(a, axis=axis, kind="stable")
    np.testing.assert_array_equal(y, np.sort(a, axis=axis))
    np.testing.assert_array_equal(found.order, expected)
    np.testing.assert_array_equal(found(a), y)
    bar = RNG.normal(size=y.shape)
    back = np.reshape(put_back(bar, expected, axis), a.shape)
    np.testing.assert_array_equal(found.pull(bar), back)


@pytest.mark.parametrize("fill", [np.inf, -np.inf])
def test_infinite_numbers_are_not_mistaken_for_the_first(fill):
    a = X.copy()
    a[0], a[17] = 3.0, fill  # the largest finite number comes first
    w = np.arange(1.0, N + 1)

    def f(a):
        y = np.unique(a)
        return np.sum(np.where(np.isfinite(y), y, 0.0) * w[: len(y)])

    expected = w[np.argsort(np.argsort(a))] * np.isfinite(a)
    np.testing.assert_array_equal(autodiff.gradient(f, a), expected)
    a[0] = fill
    for k in (N // 2, N - 1, 0):
        _, back = autodiff.pullback(lambda a, k=k: np.partition(a, k), a)
        assert sorted(back(w)) == list(w)


def test_ties_do_not_matter_to_unique():
    y, found = sorted_order(np.round(X, 2) + 0.0, 0, stable=False)
    np.testing.assert_array_equal(y, np.sort(np.round(X, 2)))
    assert type(found) is InLines


@pytest.mark.parametrize("shape, axis", [((N,), 0), ((60, 100), 0), ((60, 100), None)])
def test_sort_of_many(shape, axis):
    x = RNG.permutation(np.arange(N) - N / 2 + 0.25).reshape(shape)
    # none passes another on the way, and the differences are exact: no cancellation
    x_dot, h = np.round(RNG.normal(size=shape) * 1024) / 1024, 2.0**-7
    expected = (np.sort(x + h * x_dot, axis) - np.sort(x - h * x_dot, axis)) / (2 * h)
    y, y_dot = frule((NoTangent(), x_dot), np.sort, x, axis=axis)
    np.testing.assert_allclose(y_dot, expected, atol=1e-9)
    y_bar = RNG.normal(size=np.shape(y))
    x_bar = rrule(np.sort, x, axis=axis)[1](y_bar)[1]
    np.testing.assert_allclose(
        np.vdot(x_bar, x_dot), np.vdot(y_bar, expected), rtol=1e-9, atol=1e-9
    )


def test_second_derivatives():
    w = np.cos(np.arange(N))
    x, v = X + 0.0, RNG.normal(size=N)
    found = autodiff.hvp(lambda x: np.sum(w * np.sort(x) ** 3), x, v)
    places = np.argsort(np.argsort(x))
    np.testing.assert_allclose(found, 6 * w[places] * x * v, rtol=1e-12, atol=1e-12)
