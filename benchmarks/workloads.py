"""The work that is timed: plain functions, and their gradients written by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np


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
        Its gradient, written by hand in NumPy and Python.
    limit : float, optional
        The ratio to HIPS autograd that is promised.
    """

    name: str
    about: str
    make: Callable[[ModuleType], Callable]
    args: tuple[Any, ...]
    by_hand: Callable
    limit: float | None = None


def _mse(xp: ModuleType) -> Callable:
    def mse(y: Any, y_hat: Any) -> Any:
        n = len(y)
        s = 0.0
        for i in range(n):
            s += (y[i] - y_hat[i]) ** 2.0
        return s / n

    return mse


def _mse_by_hand(y: Any, y_hat: Any) -> Any:
    g = (2 / len(y)) * (y - y_hat)
    return g, -g


STEPS = 40


def _chain(xp: ModuleType) -> Callable:
    def chain(x: Any) -> Any:
        for _ in range(STEPS):
            x = (x * 1.01 + 0.3) / (1.0 + x * x)
        return x

    return chain


def _chain_by_hand(x: float) -> float:
    derivative = 1.0
    for _ in range(STEPS):
        numerator, denominator = x * 1.01 + 0.3, 1.0 + x * x
        derivative *= 1.01 / denominator - numerator * 2.0 * x / denominator**2
        x = numerator / denominator
    return derivative


def _sum3(xp: ModuleType) -> Callable:
    def sum3(array: Any) -> Any:
        x = array[0]
        y = array[1]
        z = array[2]
        return x + y + z

    return sum3


def _sum3_by_hand(array: Any) -> Any:
    g = np.zeros_like(array)
    g[:3] = 1.0
    return g


def _softmax(xp: ModuleType) -> Callable:
    def softmax_entropy(x: Any) -> Any:
        e = xp.exp(x - xp.max(x))
        p = e / xp.sum(e)
        return -xp.sum(p * xp.log(p))

    return softmax_entropy


def _softmax_by_hand(x: Any) -> Any:
    e = np.exp(x - x.max())
    p = e / e.sum()
    log_p = np.log(p)
    return -p * (log_p - np.sum(p * log_p))


def _rosenbrock(xp: ModuleType) -> Callable:
    def rosenbrock(x: Any) -> Any:
        return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return rosenbrock


def _rosenbrock_by_hand(x: Any) -> Any:
    g = np.zeros_like(x)
    d = x[1:] - x[:-1] ** 2
    g[:-1] = -400.0 * x[:-1] * d - 2.0 * (1.0 - x[:-1])
    g[1:] += 200.0 * d
    return g


def _logistic(xp: ModuleType) -> Callable:
    def logistic(w: Any, features: Any, labels: Any) -> Any:
        return xp.mean(xp.logaddexp(0.0, -labels * xp.dot(features, w))) + 0.01 * xp.sum(w**2)

    return logistic


def _logistic_by_hand(w: Any, features: Any, labels: Any) -> Any:
    s = -labels / (1.0 + np.exp(labels * (features @ w)))
    return features.T @ s / len(labels) + 0.02 * w


def _chain_of_matrices(xp: ModuleType) -> Callable:
    def products(a: Any, x: Any) -> Any:
        for _ in range(5):
            x = xp.tanh(xp.matmul(a, x))
        return xp.sum(x)

    return products


def _chain_of_matrices_by_hand(a: Any, x: Any) -> Any:
    xs = [x]
    for _ in range(5):
        xs.append(np.tanh(a @ xs[-1]))
    a_bar, bar = np.zeros_like(a), np.ones_like(x)
    for k in range(5, 0, -1):
        bar = bar * (1 - xs[k] ** 2)
        a_bar += bar @ xs[k - 1].T
        bar = a.T @ bar
    return a_bar


_rng = np.random.default_rng(0)

WORKLOADS = [
    Workload(
        "mse_loop",
        "the seeds' mean squared error by a loop, n = 30",
        _mse,
        (_rng.random(30), _rng.random(30)),
        _mse_by_hand,
        0.2,
    ),
    Workload("scalar_chain", "200 operations on a float", _chain, (0.7,), _chain_by_hand, 0.2),
    Workload("sum3", "three elements of 30", _sum3, (_rng.random(30),), _sum3_by_hand),
    Workload(
        "softmax", "entropy of a softmax of 10", _softmax, (_rng.random(10),), _softmax_by_hand
    ),
    Workload(
        "rosenbrock",
        "by slices, n = 1,000",
        _rosenbrock,
        (_rng.random(1000),),
        _rosenbrock_by_hand,
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
        _logistic_by_hand,
    ),
    Workload(
        "products",
        "five 300 x 300 products with tanh",
        _chain_of_matrices,
        (_rng.standard_normal((300, 300)) / 20, _rng.standard_normal((300, 300))),
        _chain_of_matrices_by_hand,
    ),
]
