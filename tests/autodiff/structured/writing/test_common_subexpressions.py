"""Arrays that a block makes twice are made once, if they are only read."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, value_and_gradient
from autodiff.structured.runtime import Structured


def stencil(x: Any, y: Any) -> Any:
    for _ in range(3):
        y[1:-1] = 0.3 * (x[2:] - 2.0 * x[1:-1]) - (2.0 * x[1:-1] - x[:-2]) ** 2
        x[1:-1] += np.sin(2.0 * x[1:-1]) * y[1:-1]
    return np.sum(x * y)


def written_or_kept(x: Any, y: Any) -> Any:
    kept, s = [], 0.0
    for i in range(3):
        a = x * 2.0
        b = x * 2.0  # it is written into
        b[i] = y[0]
        c = x + y
        y[i] = 0.5 * a[i]
        d = x + y  # what it reads has been written
        kept.append(x * y)
        kept.append(x * y)
        s = s + np.sum(a * b * c * d) + np.sum((x * y)[1:])
    kept[0][1] = 0.1
    return s + np.sum(kept[0] * kept[1] * kept[2])


def both_returned(x: Any, y: Any) -> Any:
    for _ in range(2):
        x = x * y
    return x * y, x * y


def columns_and_matrices(x: Any, y: Any) -> Any:
    s, column, row = 0.0, x[:, None], y[None, :]
    for i in range(3):
        a = (2.0 * column) * row + (2.0 * column) * (x[i] * column)
        s = s + np.sum(a * np.exp(-(2.0 * column))) + np.sum((2.0 * column) * y[i])
    return s


KERNELS = (stencil, written_or_kept, columns_and_matrices)


def _arguments() -> tuple[np.ndarray, np.ndarray]:
    return 0.4 * np.cos(np.arange(6.0)), 0.3 * np.sin(1.0 + np.arange(6.0))


def _loss(kernel: Callable) -> Callable:
    return lambda x, y: kernel(x * 1.0, y * 1.0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients(kernel: Callable, traced: Callable, runs: list[str]) -> None:
    value, found = value_and_gradient(_loss(kernel), *_arguments(), argnums=(0, 1))
    assert value == _loss(kernel)(*_arguments())
    for x, y in zip(found, traced(_loss(kernel), *_arguments()), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)
    assert kernel.__name__ in runs


def test_arrays_of_which_both_are_returned(traced: Callable, runs: list[str]) -> None:
    def loss(x: Any, y: Any) -> Any:
        a, b = both_returned(x, y)
        a[0] = 0.0
        return np.sum(a) + 2.0 * np.sum(b)

    for x, y in zip(gradient(loss, *_arguments()), traced(loss, *_arguments()), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)
    assert runs


def test_what_is_repeated_is_made_once() -> None:
    source = Structured(stencil, (None,) * 2, _arguments(), (0, 1)).source
    forward, backward = source.split("def backward")
    assert forward.count("2.0 *") == 1
    assert backward.count("2.0") == 1
    assert "broadcast(" not in forward  # no shape is compared: shadows refuse what is too large


def test_nothing_is_shared_across_the_edge_of_an_errstate() -> None:
    def kernel(x: Any, y: Any) -> Any:
        s = 0.0
        for _ in range(3):
            with np.errstate(divide="ignore"):
                s = s + np.sum(np.minimum(y / x, 1.0))
            s = s + np.sum(np.minimum(y / x, 1.0))
        return s

    x, y = np.array([0.5, 0.0]), np.array([0.1, 0.2])
    with warnings.catch_warnings(record=True) as expected:
        warnings.simplefilter("always")
        kernel(x, y)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        Structured(kernel, (None,) * 2, (x, y), (0, 1)).run((x, y))
    assert len(found) == len(expected) > 0


class Filter:
    def __init__(self, weights: Any) -> None:
        self.weights = [weights[0], weights[1], weights[2]]
        self.last = self.before = 0.0

    def step(self, x: Any) -> Any:
        y = self.weights[0] * x + self.weights[1] * self.last + self.weights[2] * self.before
        self.before, self.last = self.last, x
        self.weights[1] = self.weights[1] * 0.9 + 0.01 * y
        if x > 0.3:
            self.weights = [self.weights[2], self.weights[0], self.last]
        return y + self.weights[0] + self.last


def filtered(x: Any, y: Any) -> Any:
    filters, s = [Filter(x), Filter(y), Filter(x[3:])], 0.0
    for v in x:
        for one in filters:
            v = one.step(v)
        s = s + v**2
    return s


def test_attributes_that_are_read_twice(check_with_machine_code: Callable, runs: list[str]) -> None:
    x, y = _arguments()
    check_with_machine_code(lambda x: filtered(x, y), x)
    assert "filtered" in runs
