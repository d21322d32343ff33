"""Programs by which the fuzzer (``make fuzz``) found something wrong, made short."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from chainrules_core import NotImplementedTangentError

X = np.array([0.7, -1.3, 0.4])
W = np.array([1.0, 2.0, -0.5])
SQUARE = np.array([[0.7, -1.3], [0.4, 1.1]])


def constants_split_into_views(x: Any) -> Any:
    buffer = np.zeros(4)
    a, b = np.split(buffer, 2)
    kept = buffer + 0.0
    buffer[0] = 1.0
    a[:] = 2.0
    b[0] = x[0]
    return np.sum(buffer * x[1]) + np.sum(kept)


def shuffled_in_place(x: Any) -> Any:
    np.random.default_rng(3).shuffle(x)
    return np.sum(x * W)


def accumulated_into_the_argument(x: Any) -> Any:
    np.add.accumulate(x * 0.5, axis=0, out=x)
    return np.sum(x * x * W)


def reduced_into_the_argument(x: Any) -> Any:
    np.add.reduce(np.stack([x, x * x]), axis=0, out=x)
    return np.sum(x * x * W)


def joined_into_the_argument(x: Any) -> Any:
    np.concatenate([x[1:] * x[:-1], x[:1] * 1.0], out=x)
    np.stack([x[0] * 2.0, x[1], x[2]], out=x)
    return np.sum(x * x * W)


def conjugate_of_reals_is_the_array_itself(x: Any) -> Any:
    y = x.conj()
    x[...] = x[0]
    return np.sum(y * W)


def fill_of_a_number_does_nothing(x: Any) -> Any:
    for element in x:
        element.fill(2.0)
    return np.sum(x * x)


def argument_scaled_in_place(x: Any) -> Any:
    x /= 1.5
    y = x
    return np.sum(y * y * W)


def number_without_axes_squared_in_place(x: Any) -> Any:
    y = np.i0(x[0] * 1.5)
    y **= 2
    return y * x[1]


def ends_of_a_linspace(x: Any) -> Any:
    y = np.linspace(0.0, 1.0, 4)
    y[y > 0.5] -= x[1]
    y[0] = x[0] * x[2]
    return np.sum(y * y) * x[2]


def rows_of_windows(x: Any) -> Any:
    y = np.stack([x, 2.0 * x, x * x])
    row = np.lib.stride_tricks.sliding_window_view(y, 2, axis=0)[0][0]
    y[0] = x[::-1]
    y[1] = x**3
    return np.sum(row * row)


def halves(x: Any) -> Any:
    """The same buffer each time."""
    y = x.copy()
    for _ in range(3):
        y *= 0.5
        yield y


def sum_of_a_generator_of_one_buffer(x: Any) -> Any:
    return np.sum(sum(halves(x)) ** 2) + math.prod(halves(x))[0]


def largest_of_a_generator_of_one_buffer(x: Any) -> Any:
    return np.sum(max(halves(-x), key=np.sum) ** 2) + np.sum(min(halves(x), key=np.sum) * W)


def resized_to_the_shape_it_has(x: Any) -> Any:
    y = x.reshape(-1)
    y.shape = (-1,)
    y[0] = x[1] ** 2
    return np.sum(x * x * W)


def type_of_a_conjugate(x: Any) -> Any:
    z = complex(float(x[0]), 0.5).conjugate()
    return (x[1], x[2])[z.real * z.imag > 0.0] * z.real


def inserted_into_integers(x: Any) -> Any:
    return np.sum(np.insert(np.arange(2), 1, x[0] * 5.0) * x * x)


PROGRAMS = [
    constants_split_into_views, shuffled_in_place, accumulated_into_the_argument,
    reduced_into_the_argument, joined_into_the_argument, conjugate_of_reals_is_the_array_itself,
    fill_of_a_number_does_nothing, argument_scaled_in_place, number_without_axes_squared_in_place,
    ends_of_a_linspace, rows_of_windows, sum_of_a_generator_of_one_buffer,
    largest_of_a_generator_of_one_buffer, resized_to_the_shape_it_has, type_of_a_conjugate,
    inserted_into_integers,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_gradient_pushforward_and_argument(f: Callable, differences: Callable) -> None:
    expected = differences(f, X)
    x = X.copy()
    value, found = autodiff.value_and_gradient(f, x)
    assert value == f(X.copy())
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    value, push = autodiff.pushforward(f, x)
    assert value == f(X.copy())
    np.testing.assert_allclose(push(W), expected @ W, rtol=1e-6)
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("f", PROGRAMS)
def test_forward_over_forward(f: Callable, differences: Callable) -> None:
    def slope(x: Any) -> Any:
        return autodiff.pushforward(f, x)[1](W)

    expected = differences(lambda x: autodiff.gradient(f, x) @ W, X) @ W
    np.testing.assert_allclose(autodiff.pushforward(slope, X)[1](W), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize(
    "f",
    [
        lambda z: math.hypot(*z),
        lambda z: math.log(z[0]),
        lambda z: math.atan2(z[0], 1.0),
        lambda z: math.lgamma(z[2]),
        lambda z: math.dist(z, [1.0, 2.0, 3.0]),
        lambda z: math.fsum(z),
    ],
)
def test_the_imaginary_part_is_not_lost_without_a_word(f: Callable) -> None:
    z = X + 1.5 + 0.5j
    with pytest.raises(autodiff.LostValueError):
        autodiff.gradient(f, z)
    with pytest.raises(autodiff.LostValueError):
        autodiff.pushforward(f, z)[1](z)


def test_partials_of_traced_floats_are_infinite_where_those_of_floats_are() -> None:
    assert autodiff.gradient(math.cbrt, 0.0) == math.inf
    assert not math.isfinite(autodiff.gradient(lambda x: autodiff.gradient(math.cbrt, x), 0.0))


def test_a_missing_derivative_is_its_own_error_further_up() -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.linalg.qr(np.outer(x, W) * 2.0).Q[0] * W)

    with pytest.raises(NotImplementedTangentError, match="linearly dependent"):
        autodiff.gradient(loss, X)


def test_a_list_of_traced_arrays_written_into_a_plain_one():
    def f(x):
        out = np.arange(1) * 1.0
        np.concatenate([x, x[1:]], out=out)
        return out.sum()

    with pytest.raises(autodiff.MutationError, match="out="):
        autodiff.gradient(f, np.array([-1.262]))


def rounded(x: Any) -> Any:
    v = x * 1.0
    np.round(v, 1, out=v)
    return np.sum(v * np.array([1.0, 2.0, 3.0]))


def rounded_by_place(x: Any) -> Any:
    v = x * 1.0
    np.round(v, 1, v)
    return np.sum(v)


def rounded_by_method(x: Any) -> Any:
    v = x * 1.0
    v.round(1, v)
    return np.sum(v)


def fixed_by_place(x: Any) -> Any:
    v = x * 1.0
    np.fix(v, v)
    return np.sum(v)


def into_a_plain_array(x: Any) -> Any:
    w = np.zeros(3)
    np.around(x, 1, w)
    return np.sum(w)


@pytest.mark.parametrize(
    "f", [rounded, rounded_by_place, rounded_by_method, fixed_by_place, into_a_plain_array]
)
def test_constants_that_are_written_into_an_array(f):
    x = np.array([0.33, -0.71, 1.44])
    value, found = autodiff.value_and_gradient(f, x)
    assert value == f(x)
    assert np.array_equal(found, np.zeros(3))
    assert autodiff.jvp(f, (x,), (np.ones(3),)) == (value, 0.0)


def test_the_array_to_be_written_into_may_stand_in_its_place():
    def f(x):
        v = x * 1.0
        np.cumsum(v, 0, None, v)
        v.cumsum(0, None, v)
        return np.sum(v)

    x = np.array([0.33, -0.71, 1.44])
    assert np.allclose(autodiff.gradient(f, x), [6.0, 3.0, 1.0], rtol=1e-14)
