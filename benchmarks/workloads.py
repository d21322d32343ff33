"""The work that is timed: plain functions in terms of a NumPy-like module.

`make(xp)` returns the function for NumPy itself, ``autograd.numpy``, ``jax.numpy`` or the stand-in
for PyTorch of :mod:`benchmarks.peers`. Gradients written by hand are in :mod:`benchmarks.by_hand`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks import by_hand


@dataclass
class Workload:
    """One piece of work.

    Attributes
    ----------
    name, about : str
        What it is called, and what it is.
    make : callable
        ``make(np)`` returns the function in terms of a NumPy-like module.
    args : tuple
        Its arguments.
    by_hand : callable
        Its derivative, written by hand in NumPy and Python.
    argnums : tuple of int
        The arguments to differentiate with respect to.
    limit : float, optional
        The ratio of eager to HIPS autograd that is promised.
    kind : str
        ``"gradient"``, ``"hvp"`` or ``"jacobian"``.
    big : bool
        Whether each operation takes more than 100 µs.
    """

    name: str
    about: str
    make: Callable[[ModuleType], Callable]
    args: tuple[Any, ...]
    by_hand: Callable
    argnums: tuple[int, ...] = (0,)
    limit: float | None = None
    kind: str = "gradient"
    big: bool = False


def _mse(xp: ModuleType) -> Callable:
    def mse(y: Any, y_hat: Any) -> Any:
        n = len(y)
        s = 0.0
        for i in range(n):
            s += (y[i] - y_hat[i]) ** 2.0
        return s / n

    return mse


def _sum3(xp: ModuleType) -> Callable:
    def sum3(array: Any) -> Any:
        x = array[0]
        y = array[1]
        z = array[2]
        return x + y + z

    return sum3


def _chain(xp: ModuleType) -> Callable:
    def chain(x: Any) -> Any:
        for _ in range(by_hand.CHAIN_STEPS):
            x = (x * 1.01 + 0.3) / (1.0 + x * x)
        return x

    return chain


def _euler(xp: ModuleType) -> Callable:
    def euler(y: Any, rate: Any) -> Any:
        for _ in range(by_hand.EULER_STEPS):
            y = y + 0.01 * (rate * y * (1.0 - y))
        return y * y

    return euler


def _softmax(xp: ModuleType) -> Callable:
    def softmax_entropy(x: Any) -> Any:
        e = xp.exp(x - xp.max(x))
        p = e / xp.sum(e)
        return -xp.sum(p * xp.log(p))

    return softmax_entropy


def _rosenbrock(xp: ModuleType) -> Callable:
    def rosenbrock(x: Any) -> Any:
        return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return rosenbrock


def _logistic(xp: ModuleType) -> Callable:
    def logistic(w: Any, features: Any, labels: Any) -> Any:
        return xp.mean(xp.logaddexp(0.0, -labels * xp.dot(features, w))) + 0.01 * xp.sum(w**2)

    return logistic


def _rnn(xp: ModuleType) -> Callable:
    def rnn(w: Any, u: Any, b: Any, inputs: Any) -> Any:
        h = b * 0.0
        for x in inputs:
            h = xp.tanh(xp.dot(w, h) + xp.dot(u, x) + b)
        return xp.sum(h * h)

    return rnn


def _mlp(xp: ModuleType) -> Callable:
    def mlp(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
        hidden = xp.tanh(xp.matmul(x, w1) + b1)
        z = xp.matmul(hidden, w2) + b2
        z = z - xp.max(z, axis=1, keepdims=True)
        log_p = z - xp.log(xp.sum(xp.exp(z), axis=1, keepdims=True))
        return -xp.sum(y * log_p) / 128

    return mlp


def _gp(xp: ModuleType) -> Callable:
    def likelihood(theta: Any, squared: Any, y: Any) -> Any:
        length, noise = xp.exp(theta[0]), xp.exp(theta[1])
        k = xp.exp(-0.5 * squared / (length * length)) + noise * xp.eye(200)
        factor = xp.linalg.cholesky(k)
        z = xp.linalg.solve(factor, y)
        return 0.5 * xp.sum(z * z) + xp.sum(xp.log(xp.diag(factor)))

    return likelihood


def _products(xp: ModuleType) -> Callable:
    def products(a: Any, x: Any) -> Any:
        for _ in range(5):
            x = xp.tanh(xp.matmul(a, x))
        return xp.sum(x)

    return products


def _elementwise(xp: ModuleType) -> Callable:
    def elementwise(x: Any, a: Any, b: Any) -> Any:
        t = xp.tanh(a * x + b)
        return xp.sum(t * t * xp.exp(-x * x))

    return elementwise


def _buffer(xp: ModuleType) -> Callable:
    def filled(x: Any) -> Any:
        out = xp.zeros(50)
        previous = 0.0
        for i in range(50):
            previous = 0.5 * previous + x[i] * x[i]
            if hasattr(out, "at"):  # jax.numpy: arrays are not written into
                out = out.at[i].set(previous)
            else:
                out[i] = previous
        return xp.sum(out * out)

    def stacked(x: Any) -> Any:
        out: list[Any] = []
        previous = 0.0
        for i in range(50):
            previous = 0.5 * previous + x[i] * x[i]
            out.append(previous)
        out = xp.array(out)
        return xp.sum(out * out)

    return stacked if xp.__name__.startswith("autograd") else filled


def _layer(xp: ModuleType) -> Callable:
    def layer(x: Any, w: Any) -> Any:
        return xp.tanh(xp.dot(w, x)) * x

    return layer


_rng = np.random.default_rng(0)
_points = np.sort(_rng.random(200))[:, None]

WORKLOADS = [
    Workload(
        "mse_loop",
        "the seeds' mean squared error by a loop, n = 30",
        _mse,
        (_rng.random(30), _rng.random(30)),
        by_hand.mse,
        (0, 1),
        0.2,
    ),
    Workload("sum3", "three elements of 30", _sum3, (_rng.random(30),), by_hand.sum3),
    Workload("scalar_chain", "200 operations on a float", _chain, (0.7,), by_hand.chain, limit=0.2),
    Workload("euler", "500 Euler steps on floats", _euler, (0.1, 1.5), by_hand.euler, (0, 1)),
    Workload(
        "softmax", "entropy of a softmax of 10", _softmax, (_rng.random(10),), by_hand.softmax
    ),
    Workload(
        "rosenbrock", "by slices, n = 1,000", _rosenbrock, (_rng.random(1000),), by_hand.rosenbrock
    ),
    Workload(
        "logistic",
        "logistic regression, 1,000 x 20",
        _logistic,
        (
            _rng.standard_normal(20),
            _rng.standard_normal((1000, 20)),
            _rng.choice([-1.0, 1.0], 1000),
        ),
        by_hand.logistic,
    ),
    Workload(
        "rnn",
        "100 steps, 32 units",
        _rnn,
        (
            _rng.standard_normal((32, 32)) / 6,
            _rng.standard_normal((32, 8)) / 3,
            _rng.standard_normal(32) / 10,
            _rng.standard_normal((100, 8)),
        ),
        by_hand.rnn,
        (0, 1, 2),
    ),
    Workload(
        "mlp",
        "128 x 784 x 128 x 10",
        _mlp,
        (
            _rng.standard_normal((784, 128)) / 28,
            np.zeros(128),
            _rng.standard_normal((128, 10)) / 11,
            np.zeros(10),
            _rng.random((128, 784)),
            np.eye(10)[_rng.integers(0, 10, 128)],
        ),
        by_hand.mlp,
        (0, 1, 2, 3),
        big=True,
    ),
    Workload(
        "gp",
        "likelihood of 200 points by cholesky",
        _gp,
        (np.array([-1.0, -2.0]), (_points - _points.T) ** 2, np.sin(6 * _points[:, 0])),
        by_hand.gp,
        big=True,
    ),
    Workload(
        "products",
        "five 300 x 300 products with tanh",
        _products,
        (_rng.standard_normal((300, 300)) / 20, _rng.standard_normal((300, 300))),
        by_hand.products,
        big=True,
    ),
    Workload(
        "elementwise",
        "sum(tanh(a x + b)² exp(-x²)), n = 10⁶",
        _elementwise,
        (_rng.standard_normal(1_000_000), 1.3, 0.2),
        by_hand.elementwise,
        (0, 1, 2),
        big=True,
    ),
    Workload("buffer", "filled by a loop, n = 50", _buffer, (_rng.random(50),), by_hand.buffer),
    Workload(
        "hvp",
        "Hessian-vector product of Rosenbrock, n = 1,000",
        _rosenbrock,
        (_rng.random(1000), _rng.random(1000)),
        by_hand.hvp,
        kind="hvp",
    ),
    Workload(
        "jacobian",
        "of tanh(W x) x, 50 x 50",
        _layer,
        (_rng.random(50), _rng.standard_normal((50, 50)) / 7),
        by_hand.jacobian,
        kind="jacobian",
    ),
]
