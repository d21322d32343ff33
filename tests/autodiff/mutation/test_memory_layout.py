"""An argument lies in memory as the user's does: some functions take strides for granted."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import autodiff
from autodiff import MutationError, gradient
from autodiff.mutation.memory_layout import copy_of
from tests.helpers import check_gradient

BASE = np.arange(60.0).reshape(5, 12)
W = np.array([[1.0, 2.0], [3.0, 4.0]])
ARRAYS = [
    BASE, BASE.T, BASE[:, ::2], BASE[::2, 1:7], BASE[::-1], BASE[:, ::-3], BASE[1:, 4],
    BASE[:0], BASE.reshape(5, 3, 4).transpose(1, 0, 2)[:, ::2], np.float32(BASE)[:, ::2],
]  # fmt: skip


@pytest.mark.parametrize("x", ARRAYS)
def test_copies(x):
    y = copy_of(x)
    np.testing.assert_array_equal(y, x)
    assert y.dtype == x.dtype
    assert x.size == 0 or y.strides == x.strides
    assert not np.shares_memory(x, y)


def test_elements_that_share_memory_are_copied_apart():
    x = as_strided(BASE, (3, 3), (8, 8))
    y = copy_of(x)
    np.testing.assert_array_equal(y, x)
    y[0, 0] = -1.0
    assert np.sum(y == -1.0) == 1


@pytest.mark.parametrize("shape", [(3, 2), (3, 2, 2), (2, 1, 2)])
def test_a_read_only_array_shares_memory_within_itself_in_the_copy_too(shape):
    x = np.broadcast_to([1.0, 2.0], shape)
    y = copy_of(x)
    np.testing.assert_array_equal(y, x)
    assert y.strides == x.strides
    assert not y.flags.writeable
    assert not np.shares_memory(x, y)


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize(
    "made",
    [
        lambda x: x,
        lambda x: x * 2.0,
        lambda x: np.exp(x),
        lambda x: x.T,
        lambda x: np.broadcast_to(x, (2, *x.shape)),
        lambda x: np.broadcast_to(x[0], x.shape),
        lambda x: x[:, :1] + np.zeros(2)[:, None, None],
    ],
)
@pytest.mark.parametrize("flatten", [np.ravel, np.ndarray.flatten])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_broadcast_array_is_read_in_its_own_order(flatten, made, order, axis, check_modes):
    part = np.array([1.0, -2.0, 0.5])
    x = np.broadcast_to(part if axis else part[:, None], (3, 3))

    def f(x):
        y = flatten(made(x), order=order)
        return np.sum(y * y * np.arange(y.size))

    expected = f(x)
    assert autodiff.value_and_gradient(f, x)[0] == expected
    np.testing.assert_allclose(autodiff.compile(f)(x), expected, rtol=1e-14)
    check_modes(f, x)


@pytest.mark.parametrize(
    "x, strides",
    [
        (BASE[:, ::2], (96, 16)),
        (BASE[:, ::2], (192, 32)),
        (BASE[::2, 1:7], (192, 8)),
        (BASE.T, (8, 96)),
        (BASE[::-1], (-96, 8)),
    ],
)
def test_strides_in_numbers(x, strides):
    def f(x):
        return np.sum(as_strided(x, (2, 2), strides) * W)

    value, bar = autodiff.value_and_gradient(f, x)
    assert value == f(x)
    i, j = [s // t for s, t in zip(strides, x.strides, strict=True)]
    expected = np.zeros(x.shape)
    expected[: 2 * i : i, : 2 * j : j] = W
    np.testing.assert_array_equal(bar, expected)
    v = np.cos(np.arange(x.size)).reshape(x.shape)
    pushed = autodiff.pushforward(f, x)
    assert pushed[0] == f(x)
    np.testing.assert_allclose(pushed[1](v), np.sum(expected * v))


def test_writes_into_such_an_argument():
    def f(x):
        x[0, 1] = x[0, 0] ** 2
        return np.sum(x)

    x = BASE[:, ::4]
    bar = autodiff.gradient(f, x)
    expected = np.ones(x.shape)
    expected[0, :2] = 1.0 + 2 * x[0, 0], 0.0
    np.testing.assert_array_equal(bar, expected)


WEIGHTS = np.arange(1.0, 13.0).reshape(4, 3)


def into_a_copy(a):
    b = a.copy()
    b.ravel()[1] = 7.0
    c = a.astype(float, order="C")
    c.ravel()[2] = a[0, 0]
    return np.sum(b * WEIGHTS + c)


def into_one_alike(a):
    b = np.zeros_like(a)
    b += a
    b.T.reshape(-1)[1] = 7.0
    return np.sum(b * WEIGHTS)


def in_order_of_memory(a):
    b = a * 1.0
    b.ravel("K")[1] = 7.0
    b.ravel("A")[3:5] *= a[0, 0]
    return np.sum(b * WEIGHTS)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("f", [into_a_copy, into_one_alike, in_order_of_memory])
def test_the_order_in_memory_decides_what_is_a_view(f, order, compiled):
    a = np.array(np.sin(WEIGHTS), order=order)
    expected = np.zeros(a.shape)
    for i in np.ndindex(a.shape):
        d = np.zeros_like(a)
        d[i] = 1e-6
        expected[i] = (f(a + d) - f(a - d)) / 2e-6
    slope = autodiff.compile(lambda a: autodiff.gradient(f, a)) if compiled else None
    for _ in range(2):
        found = slope(a) if slope else autodiff.gradient(f, a)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    value = autodiff.compile(f)(a) if compiled else autodiff.pullback(f, a)[0]
    np.testing.assert_allclose(value, f(a))


def _written_through_a_view(x, c):
    y = x.reshape(-1)
    y[2:5] = c
    return x


BY_COLUMNS = np.asfortranarray(np.cos(BASE[:3, :4]))


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.copy(),
        lambda x: x.copy("F"),
        lambda x: x.copy(order="K"),
        lambda x: np.copy(x),
        lambda x: x.astype(float, order="C"),
        lambda x: x.astype(float),
        lambda x: np.where(x > 0, x, 0.5),
        lambda x: np.sort(x, axis=0),
    ],
)
@pytest.mark.parametrize("x", [np.cos(BASE[:3, :4]), BY_COLUMNS, BY_COLUMNS[:, ::-1]])
def test_results_lie_as_those_of_numpy(make, x, check_modes):
    """It decides whether a reshaped array is a view, and so what a write reaches."""

    def strides(x):
        found.append(make(x).strides)
        return np.sum(x)

    found = []
    strides(x)
    autodiff.gradient(strides, x)
    autodiff.pushforward(strides, x)[1](x)
    assert len(set(found)) == 1
    check_modes(lambda x: np.sin(_written_through_a_view(make(x), x[0, 1] / 2)), x)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.sort(x, axis=0),
        lambda x: np.sort(x),
        lambda x: np.partition(x, 1),
        lambda x: np.where(x > 0.1, x, -x),
        lambda x: np.cumsum(x, axis=0),
        lambda x: x * 1.0,
    ],
)
@pytest.mark.parametrize("order", ["K", "A", "F", "C"])
def test_tangents_lie_as_their_values(make, order, check_modes):
    """A write through `ravel` reaches in the tangent what it reaches in the value."""

    def written(x):
        y = make(x)
        y.ravel(order)[1:3] = x[0, 0] ** 2
        return y

    check_modes(written, BY_COLUMNS, twice=False)
    moved = autodiff.pushforward(written, BY_COLUMNS)[1]
    rows = np.cos(np.arange(12.0)).reshape(3, 4)
    np.testing.assert_array_equal(moved(rows), moved(np.asfortranarray(rows)))


# -------------------------------------------------------------- writes of what shares their memory


POINT = np.array([0.3, -0.7, 0.5])


def spread_out(x: Any) -> Any:
    y = np.concatenate([x, x * x])
    y[1::2] = y[:3]
    return y


def moved(x: Any) -> Any:
    y = np.concatenate([x, x * x])
    y[1:] = y[:-1]
    y[:-1] = y[1:]
    y[::-1] = y
    return y


def row_from_column(x: Any) -> Any:
    y = np.outer(x, x + 1.0)
    y[1] = y[:, 1]
    y[:, 2] = y[0]
    return y


def mask_reads_ahead(x: Any) -> Any:
    y = x * x
    y[np.array([True, True, False])] = y[1:]
    return y


@pytest.mark.parametrize("f", [spread_out, moved, row_from_column, mask_reads_ahead])
def test_a_write_of_shared_memory_that_reads_before_it_writes(f: Callable) -> None:
    check_gradient(
        lambda x: np.sum(f(x) * np.arange(1.0, 1.0 + f(POINT).size).reshape(f(POINT).shape)), POINT
    )


def gathered(x: Any) -> Any:
    y = np.concatenate([x, x * x])
    y[::2] = y[:3]
    return y


def row_over_itself(x: Any) -> Any:
    y = np.outer(np.concatenate([x, x * x]), np.concatenate([x, x]))
    y[2, 1:5] = y[1:5, 3]
    return y


def mask_reads_behind(x: Any) -> Any:
    y = np.concatenate([x, x * x])
    y[np.array([False, True, False, True, False, True])] = y[:3]
    return y


@pytest.mark.parametrize("f", [gathered, row_over_itself, mask_reads_behind])
def test_a_write_that_reads_what_it_has_overwritten(f: Callable) -> None:
    with pytest.raises(MutationError, match="elements that it has already overwritten"):
        gradient(lambda x: np.sum(f(x)), POINT)


def shifted(x):
    y = np.array([0.3, 0.7, 0.2]) + x
    y[1:] = y[:-1]
    return y * x


def scaled_view(x):
    y = np.ones((2, 3)) + x
    view = y.T
    view[1] = 2.0 * x
    view[0] *= x
    return y


@pytest.mark.parametrize("f", [shifted, scaled_view])
def test_a_tangent_that_is_broadcast_is_written_into(f):
    """The array itself is not broadcast: only its tangent, that of a number, is."""
    expected = (f(0.4 + 1e-6) - f(0.4 - 1e-6)) / 2e-6
    np.testing.assert_allclose(autodiff.pushforward(f, 0.4)[1](1.0), expected, rtol=1e-8)
    second = (f(0.4 + 1e-3) - 2 * f(0.4) + f(0.4 - 1e-3)) / 1e-6
    slope = autodiff.pushforward(lambda x: autodiff.pushforward(f, x)[1](1.0), 0.4)[1](1.0)
    np.testing.assert_allclose(slope, second, rtol=1e-5, atol=1e-8)
