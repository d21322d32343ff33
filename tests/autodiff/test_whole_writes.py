"""A whole array written into a new one hands its cotangent on without copies."""

from __future__ import annotations

from typing import Any

import numpy as np

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
