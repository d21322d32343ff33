"""Code is generated from the values of one evaluation, and must be right for all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.dispatch import dispatch_cache
from autodiff.intercept.source import fusion_sites

X = np.array([0.3, -0.7, 0.5, 1.1])


@pytest.fixture(autouse=True)
def written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch_cache, "OFTEN", 1)
    for site in fusion_sites._all:
        site.forget()


def test_an_array_without_axes_in_the_place_of_another() -> None:
    def powers(x: Any, n: int) -> Any:
        if n == 0:
            return np.asarray(n, float)  # what operations make of it are numbers
        return powers(x * 0.5, n - 1) * 0.3 + x

    def f(x: Any) -> Any:
        return np.sum(powers(x, 3))

    for _ in range(4):
        np.testing.assert_allclose(gradient(f, X), 1 + 0.15 + 0.15**2)


def test_an_array_without_axes_beside_others() -> None:
    def f(x: Any) -> Any:
        def q(a: Any, b: Any) -> Any:
            return a * -0.13 + b

        return np.sum(q(np.asarray(2.0), x)) + np.sum(q(x, x))

    for _ in range(4):
        np.testing.assert_allclose(gradient(f, X), np.full(4, 1.87))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.minimum(x + 1.0, 2.0),
        lambda x: np.maximum(np.positive(x), 0.1),
        lambda x: np.maximum(x + 0.0, x - 0.0),
        lambda x: 2.0 - np.minimum(x - 0.5, 0.2),
    ],
)
def test_a_slope_that_is_a_truth_value(f: Callable) -> None:
    expected = (f(0.3 + 1e-6) - f(0.3 - 1e-6)) / 2e-6
    for _ in range(4):
        np.testing.assert_allclose(gradient(f, 0.3), expected, rtol=1e-8)
