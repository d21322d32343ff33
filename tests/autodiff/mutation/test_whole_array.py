"""The cotangent of a whole-array assignment is propagated without copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff


def test_a_whole_write_shares_no_cotangent() -> None:
    def filled(x: Any) -> Any:
        out = np.zeros(x.shape)
        out[...] = x
        return out

    def halves(x: Any) -> Any:
        out = np.empty(4)
        out[:2] = x
        out[2:] = 3 * x
        return out

    y_bar = np.array([1.0, 2.0])
    back = autodiff.pullback(filled, np.array([5.0, 6.0]))[1]
    x_bar = back(y_bar)
    assert not np.shares_memory(x_bar, y_bar)
    x_bar[0] = 9
    np.testing.assert_array_equal(back(y_bar), [1.0, 2.0])
    y_bar = np.arange(4.0)
    back = autodiff.pullback(halves, np.array([5.0, 6.0]))[1]
    np.testing.assert_array_equal(back(y_bar), [6.0, 10.0])
    np.testing.assert_array_equal(y_bar, np.arange(4.0))
    np.testing.assert_array_equal(back(y_bar), [6.0, 10.0])


def test_the_value_of_a_whole_write_may_be_used_again() -> None:
    def f(x: Any) -> Any:
        out = np.zeros(x.shape)
        out[...] = x
        return np.sum(out * out) + np.sum(x * out)

    np.testing.assert_array_equal(autodiff.gradient(f, np.array([1.0, 2.0])), [4.0, 8.0])


def _written(change: Any) -> Any:
    """A function that writes a whole array, and then changes something."""

    def f(x: Any) -> Any:
        out = np.full(x.shape, 7.0)
        y = x * x
        view = out[1:]
        out[...] = y
        extra = change(out, y, view, x)
        weights = np.arange(1.0, 1.0 + x.size)
        return np.sum(out * weights) + 3 * np.sum(y * weights) + np.sum(view**2) + extra

    return f


def _array_then_value(out: Any, y: Any, view: Any, x: Any) -> Any:
    out[0] = x[1]
    y[1] = 5 * x[0]
    return 0.0


def _value_then_array(out: Any, y: Any, view: Any, x: Any) -> Any:
    y[1] = 5 * x[0]
    out[0] = x[1]
    return 0.0


def _through_a_view(out: Any, y: Any, view: Any, x: Any) -> Any:
    view[0] = x[0] * x[2]
    y *= x
    return 0.0


def _by_a_second_array(out: Any, y: Any, view: Any, x: Any) -> Any:
    second = np.empty(x.shape)
    second[:] = out
    second[0] = 0.0
    out += x
    return np.sum(second * x)


def _after_a_use(out: Any, y: Any, view: Any, x: Any) -> Any:
    used = np.sum(np.exp(out))
    out[1] = 0.0
    view[...] = x[1:]
    return used


def _twice(out: Any, y: Any, view: Any, x: Any) -> Any:
    out[...] = np.sin(x)
    out[:] = out + x
    return 0.0


CHANGES = [
    _array_then_value, _value_then_array, _through_a_view, _by_a_second_array, _after_a_use, _twice
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_an_array_and_what_was_written_into_it_are_two(change: Any, check_modes: Any) -> None:
    check_modes(_written(change), np.array([0.3, -0.7, 0.5]))


def test_whole_writes_leave_the_users_arrays_alone() -> None:
    made = []

    def f(x: Any) -> Any:
        out = np.empty(3)
        out[...] = x
        out[0] = 0.0
        y = x + 1
        made.append(y)
        work = np.zeros(3)
        work[...] = y
        work *= 2
        return np.sum(work * out) + np.sum(made[0])

    x = np.array([1.0, 2.0, 3.0])
    found = autodiff.gradient(f, x)
    np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(found, [1.0, 2 * (3.0 + 2.0) + 1, 2 * (4.0 + 3.0) + 1])


def test_a_whole_write_of_other_types_and_layouts(check_modes: Any) -> None:
    """Real into complex, by columns, broadcast, and through a view of the whole."""

    def f(x: Any) -> Any:
        z = np.zeros(x.shape, complex)
        z[...] = x
        z[...] = z * (1 + 2j) + x
        by_columns = np.zeros(x.shape, order="F")
        by_columns[...] = x * 2
        by_columns.ravel(order="K")[0] = 1.0
        rows = np.empty(x.shape)
        rows[...] = x[0] * x[1]
        same = rows[:]
        same[...] = rows * x
        turned = np.empty(x.shape)
        turned.T[...] = x.T * 3
        same[0, 0] = 4.0
        return np.sum(np.abs(z) ** 2) + np.sum(by_columns**2 * x) + np.sum(rows * turned)

    check_modes(f, np.array([[0.3, -0.7], [0.5, 1.2]]))
