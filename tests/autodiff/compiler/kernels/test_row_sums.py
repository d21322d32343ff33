"""Sums along the last axis are added up in the nest that makes the elements."""

import numpy as np
import pytest

from autodiff import compile, gradient

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((5, 3)), RNG.standard_normal((4, 3))

FUNCTIONS = {
    "distances": lambda x, y: np.sum(
        1.0 / (np.sum((x[:, None] - y[None]) ** 2, axis=2) + 0.1) ** 2
    ),
    "kept axes": lambda x, y: np.sum((x * x) / np.sum(np.exp(x), axis=1, keepdims=True)) + y[0, 0],
    "means": lambda x, y: np.sum(np.mean(np.sin(x), axis=-1) ** 2) * np.sum(y),
    "several": lambda x, y: np.sum(np.sum(x * x, axis=1) * np.sum(np.cos(x), 1) ** 2) + y[0, 1],
    "both axes": lambda x, y: np.sum(np.sum(x**3, 1)) + np.sum(np.sum(x**3, 0) * np.sum(y, 0)),
    "one row": lambda x, y: np.sum(np.sum(x[:1] * y[:1], axis=1) ** 2),
    "one column": lambda x, y: np.sum(np.sum(x[:, :1] * y[0, :1], axis=1) ** 2),
    "a vector": lambda x, y: np.sum(x[0] * x[0], axis=0) * np.sum(y[0] * x[1], axis=0),
    "in turns": lambda x, y: np.sum(_turns(x, y)),
    "stacked": lambda x, y: np.sum(np.stack([np.sum(x * k, 1) for k in (1.0, 2.0)]) ** 2) + y[1, 1],
    "variances": lambda x, y: np.sum(x / np.sqrt(np.var(x, axis=1) + 0.1)[:, None]) * y[0, 2],
}  # fmt: skip


def _turns(x, y):
    for _ in range(12):
        x = x * 0.5 + np.sum(x * y[0], axis=1)[:, None] * 0.1
    return x


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_gradients(f, interpreted):
    compiled = compile(lambda x, y: gradient(f, x, y), backend="native")
    for x, y in [(X, Y), (Y[:, ::-1][[0, 1, 2, 3, 0]], X[:4]), (2.0 * X, Y)]:
        x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
        for found, expected in zip(compiled(x, y), gradient(f, x, y), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert interpreted


def test_the_elements_are_not_stored(interpreted):
    compiled = compile(lambda x: np.sum(np.exp(np.sum(np.sin(x) * x, axis=1))), backend="native")
    compiled(X)
    kernel = interpreted[0].source
    assert kernel.count("put(s, ") == 1  # the sums of the rows
    assert kernel.count("range(3)") == 1
