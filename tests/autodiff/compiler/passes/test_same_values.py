"""Passes keep values: dtypes, wrap-around, overflow, signs of zeros, infinities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import gradient, jacobian

N = 9
X = np.linspace(-2.0, 2.5, N)
EYE = np.eye(N)
RAMP = np.arange(float(N * N)).reshape(N, N)
MIXED = np.array([0.0, -0.0, 0.0, -0.0])
MINUS = -np.zeros(4)
INFINITE = np.array([[np.inf, -np.inf, 1.0, 2.0]])


def twice(x: Any) -> Any:
    return x + x


def relu(x: Any) -> Any:
    return np.maximum(x, 0.0)


def filled(x: Any, place: Any) -> Any:
    y = MINUS.copy()
    y[place] = x[0]
    return 1.0 / y


def wrapped(x: Any) -> Any:
    s = (x > 0).astype(np.int8) * np.int8(100)
    for i in range(20):
        s = s + (x > 0.1 * i).astype(np.int8) * np.int8(100)
    return s * x


def any_of(x: Any) -> Any:
    s = x > 0
    for i in range(20):
        s = s + (x > 0.1 * i)
    return (s + x) * x


def changed_columns(x: Any) -> Any:
    w = np.sin(x) * 1.0
    w[..., None] *= 2.0
    w[:-1, :-1, None] += 1.0
    return w


def half_batched(x: Any) -> Any:
    t = [np.sin(x + RAMP[i]) for i in range(N)]
    first = np.stack([t[i] * np.cumsum(t[i]) for i in range(N)])
    return first, np.stack([np.tanh(t[i]) for i in range(N)])


def masked(x: Any) -> Any:
    y = np.sin(x)
    y[x > 0.0] = y[x > 0.0] ** 2
    y[x < 1.0] *= x[x < 1.0]
    return y, x[x > 0.0]


def of_masks(x: Any) -> Any:
    return gradient(lambda z: sum(np.mean(z[z > 0.2 * i] ** 3) for i in range(4)), x)


def whole(x: Any) -> Any:
    y = np.empty((N, N))
    y[...] = (RAMP * x).T
    y += y[0]
    return y, y.ravel()


def with_matrix(x: Any) -> Any:
    def f(z: Any) -> Any:
        y = np.matmul(RAMP.reshape(3, 3, N) * z, EYE + 0.5)
        return np.sum(np.matmul(np.swapaxes(y, 0, 1), RAMP[:, :1]) ** 2)

    return gradient(f, x)


CASES: dict[str, tuple[Callable, Any]] = {
    "integers": (lambda x: 2 * (x * 4), np.arange(5)),
    "short integers": (lambda x: 2 * (x * 4), np.arange(5, dtype=np.uint8)),
    "wrap-around": (lambda x: 2**40 * (x * 2**40), np.arange(5)),
    "integers times a float": (lambda x: 2.0 * (x * 2**62), np.arange(5)),
    "overflow": (lambda x: 2.0 * (x * 1e308), np.array([1e-300, 1e-10])),
    "overflow of floats": (lambda x: 4.0 * (x[0] * 1e308), np.array([1e-200])),
    "overflow of float32": (lambda x: 2.0 * (x * 3e38), np.full(3, 1e-3, np.float32)),
    "overflow of float16": (lambda x: 16.0 * (x * 8192.0), np.full(3, 1e-3, np.float16)),
    "underflow": (lambda x: 0.5 * (x * 5e-324), np.array([1e300])),
    "signs of zeros": (lambda x: np.arctan2(MIXED, -np.abs(x)), np.ones(4)),
    "signs copied": (lambda x: np.copysign(x, MIXED), np.ones(4)),
    "an element": (lambda x: filled(x, 1), np.ones(4)),
    "a mask": (lambda x: filled(x, x > 5.0), np.ones(4)),
    "an integer negative": (
        lambda x: -np.negative(x * 3.0, dtype=np.int64, casting="unsafe"), np.array([0.4, 1.9]),
    ),
    "a power of booleans": (lambda x: np.log1p((x > 0) ** 2), X),
    "a sum of booleans": (lambda x: ((x > 0) + (x > 1)) * x, X),
    "a product of booleans": (lambda x: ((x > 0) * (x > 1)) * x, X),
    "an exponential of booleans": (lambda x: np.exp(x > 0) * 1.0, X),
    "sums of booleans": (any_of, X),
    "sums that wrap": (wrapped, X),
    "columns": (changed_columns, np.sin(np.arange(10_000.0)).reshape(100, 100)),
    "a Jacobian of ones and zeros": (lambda x: twice(jacobian(relu, x)), X),
    "a Jacobian by a mask": (lambda x: twice(jacobian(lambda z: z * (z > 0), x)), X),
    "a Jacobian by integers": (
        lambda x: jacobian(lambda z: RAMP.astype(int) @ z, x) * 0.5, X,
    ),
    "a stack of booleans": (
        lambda x: twice(np.stack([EYE[i] * (x > 0) for i in range(N)])), X,
    ),
    "a stack of rows": (lambda x: np.stack([EYE[i] * x for i in range(N)]), X[:1]),
    "reads and writes through masks": (masked, X),
    "adjoints of masks": (of_masks, X),
    "a write of the whole array": (whole, X),
    "a stack times a matrix": (with_matrix, X),
    "a stack that is half made": (half_batched, X),
    "logarithms of sums": (
        lambda x: (np.logaddexp(x, x[:, :1]), np.logaddexp2(x, x), x * 2.0, x + 1.0), INFINITE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["python", "native"])
@pytest.mark.parametrize("name", CASES)
def test_values(name: str, backend: str) -> None:
    if backend == "native":
        pytest.importorskip("llvmlite")
    f, x = CASES[name]
    compiled = autodiff.compile(f, backend=backend)
    with np.errstate(all="ignore"):
        for scale in (1, 1, 2):
            given = (x * scale).astype(x.dtype)
            expected, found = f(given), compiled(given)
            pairs = (
                zip(expected, found, strict=True) if type(found) is tuple else [(expected, found)]
            )
            for plain, mine in pairs:
                assert np.asarray(mine).dtype == np.asarray(plain).dtype
                np.testing.assert_allclose(mine, plain, rtol=1e-12, atol=0.0)
                np.testing.assert_array_equal(np.signbit(mine), np.signbit(plain))
    assert not compiled.eager_because
