"""The derivatives of the workloads, written by hand as a careful user of NumPy would."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

CHAIN_STEPS = 40
EULER_STEPS = 500


def mse(y: Any, y_hat: Any) -> Any:
    g = (2 / len(y)) * (y - y_hat)
    return g, -g


def sum3(array: Any) -> Any:
    g = np.zeros_like(array)
    g[:3] = 1.0
    return g


def chain(x: float) -> float:
    derivative = 1.0
    for _ in range(CHAIN_STEPS):
        numerator, denominator = x * 1.01 + 0.3, 1.0 + x * x
        derivative *= 1.01 / denominator - numerator * 2.0 * x / denominator**2
        x = numerator / denominator
    return derivative


def euler(y: float, rate: float) -> Any:
    ys = []
    for _ in range(EULER_STEPS):
        ys.append(y)
        y = y + 0.01 * (rate * y * (1.0 - y))
    y_bar, rate_bar = 2.0 * y, 0.0
    for y in reversed(ys):
        z = 0.01 * y_bar
        rate_bar += z * y * (1.0 - y)
        y_bar += z * rate * (1.0 - 2.0 * y)
    return y_bar, rate_bar


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max())
    p = e / e.sum()
    log_p = np.log(p)
    return -p * (log_p - np.sum(p * log_p))


def rosenbrock(x: Any) -> Any:
    g = np.zeros_like(x)
    d = x[1:] - x[:-1] ** 2
    g[:-1] = -400.0 * x[:-1] * d - 2.0 * (1.0 - x[:-1])
    g[1:] += 200.0 * d
    return g


def logistic(w: Any, features: Any, labels: Any) -> Any:
    s = -labels / (1.0 + np.exp(labels * (features @ w)))
    return features.T @ s / len(labels) + 0.02 * w


def rnn(w: Any, u: Any, b: Any, inputs: Any) -> Any:
    h = np.zeros_like(b)
    hs = [h]
    for x in inputs:
        h = np.tanh(w @ h + u @ x + b)
        hs.append(h)
    h_bar = 2.0 * h
    z_bars = np.empty((len(inputs), len(b)))
    for t in range(len(inputs) - 1, -1, -1):
        z_bars[t] = z = h_bar * (1.0 - hs[t + 1] ** 2)
        h_bar = w.T @ z
    return z_bars.T @ np.array(hs[:-1]), z_bars.T @ inputs, z_bars.sum(axis=0)


def mlp(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
    hidden = np.tanh(x @ w1 + b1)
    z = hidden @ w2 + b2
    e = np.exp(z - z.max(axis=1, keepdims=True))
    z_bar = (e / e.sum(axis=1, keepdims=True) - y) / 128
    hidden_bar = (z_bar @ w2.T) * (1.0 - hidden * hidden)
    return x.T @ hidden_bar, hidden_bar.sum(axis=0), hidden.T @ z_bar, z_bar.sum(axis=0)


def gp(theta: Any, squared: Any, y: Any) -> Any:
    length, noise = np.exp(theta)
    plain = np.exp(-0.5 * squared / (length * length))
    factor = np.linalg.cholesky(plain + noise * np.eye(200))
    inverse = solve_triangular(factor, np.eye(200), lower=True, check_finite=False)
    alpha = inverse.T @ (inverse @ y)
    k_bar = 0.5 * (inverse.T @ inverse - np.outer(alpha, alpha))
    by_length = np.sum(k_bar * plain * squared) / length**2
    return np.array([by_length, noise * np.trace(k_bar)])


def products(a: Any, x: Any) -> Any:
    xs = [x]
    for _ in range(5):
        xs.append(np.tanh(a @ xs[-1]))
    a_bar, bar = np.zeros_like(a), np.ones_like(x)
    for k in range(5, 0, -1):
        bar = bar * (1 - xs[k] ** 2)
        a_bar += bar @ xs[k - 1].T
        bar = a.T @ bar
    return a_bar


def elementwise(x: Any, a: float, b: float) -> Any:
    t = np.tanh(a * x + b)
    e = np.exp(-x * x)
    z = 2.0 * t * (1.0 - t * t) * e
    return a * z - 2.0 * x * t * t * e, np.dot(z, x), np.sum(z)


def buffer(x: Any) -> Any:
    out = np.zeros(50)
    previous = 0.0
    for i, value in enumerate(x.tolist()):
        previous = 0.5 * previous + value * value
        out[i] = previous
    x_bar = np.empty(50)
    carried = 0.0
    for i in range(49, -1, -1):
        carried = 0.5 * carried + 2.0 * out[i]
        x_bar[i] = carried
    return 2.0 * x * x_bar


def hvp(x: Any, v: Any) -> Any:
    head, tail = x[:-1], x[1:]
    g = np.zeros_like(x)
    g[:-1] = (1200.0 * head * head - 400.0 * tail + 2.0) * v[:-1] - 400.0 * head * v[1:]
    g[1:] += 200.0 * v[1:] - 400.0 * head * v[:-1]
    return g


def jacobian(x: Any, w: Any) -> Any:
    t = np.tanh(w @ x)
    rows = ((1.0 - t * t) * x)[:, None] * w
    rows[np.arange(50), np.arange(50)] += t
    return rows
