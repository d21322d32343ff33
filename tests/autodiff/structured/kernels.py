"""Kernels with loops, and a class, that several tests differentiate."""

from dataclasses import dataclass
from typing import Any

import numpy as np


def arguments(n: int) -> list[np.ndarray]:
    """Two vectors and a matrix for the kernels."""
    a = 0.4 * np.sin(np.arange(float(n)) + 0.3)
    b = 0.5 * np.cos(np.arange(float(n)) * 1.1)
    return [a, b, 0.3 * np.cos(0.7 * np.arange(float(n * n))).reshape(n, n)]


def stencil(a, b, m):
    for _ in range(4):
        b[1:-1] = 0.33 * (a[:-2] + a[1:-1] * a[1:-1] + a[2:])
        a[1:-1] = 0.33 * (b[:-2] * b[1:-1] + b[2:])
    return np.sum(a) + np.sum(b * b)


def recurrence(a, b, m):
    y = np.empty_like(a)
    alpha = -a[0]
    beta = 1.0
    y[0] = -a[0]
    for k in range(1, a.shape[0]):
        beta *= 1.5 - alpha * alpha
        alpha = -(a[k] + np.dot(np.flip(a[:k]), y[:k])) / (2.0 + beta)
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y @ b


def reductions(a, b, m):
    s = 0.0
    for i in range(3):
        x = m * a[i]
        s += np.sum(x * b[i]) + np.mean(m[i]) * x.mean()
        b += np.sum(x, axis=0) * (m**2).sum(axis=-1, keepdims=True)[i] + np.mean(x, axis=(0,))
        z = np.array([np.sum(b[:2]), s, m[i, 0]])
        w = np.asarray([[z[0], 1.0], [z[1] * z[2], a[i]]])
        s += w[0, 0] * w[1, 0] + np.sum(w) * 0.1
    return s + np.sum(b)


def small_matrices(a, b, m):
    p = np.eye(len(a)) * a[0]
    w = m.copy()
    s = 0.0
    for i in range(4):
        w = m @ w @ p.T * 0.3 + 0.1 * w
        k = np.array([a[i], s, b[i]])
        turned = np.array([[k[0], -k[2]], [k[1], k[0]]])
        p = 0.5 * p + np.dot(w.T, w)
        s += np.sum(w * w[:, ::-1]) + np.sum(turned @ turned.T) + np.sum(p[i])
    return s


def diagonal_after_writes(a, b, m):
    s = np.zeros_like(m)
    t = 0  # an integer at first: the loop is read twice
    for i in range(3):
        t = t + np.sum(np.diag(m) * a[i])
    for i in range(len(a)):
        for j in range(i + 1):
            s[i, j] = t * m[i, j] * a[j] + np.dot(s[i, :j], b[:j])
    return np.sum(np.exp(np.diag(s) * 0.1)) + np.sum(s)


@dataclass
class Spring:
    k: Any
    c: Any = 0.1
    v: Any = None

    def force(self, y: Any) -> Any:
        return -self.k * y - self.c


def masked(a, b, m):
    """Arrays of truth values as indices."""
    for i in range(4):
        near = m > 0.05 * i
        far = m <= 0.05 * i
        m[near] = m[near] ** 1.5
        m[m < -0.2] = -0.1
        m[far] *= 0.9 + 0.01 * i
        b[a > 0.1] += a[a > 0.1] * np.sum(m[near])
        a[b > 100.0] = b[b > 100.0]
        a += 0.1 * m[i] * (b[a > -2.0] + b)
    return np.sum(m) + np.sum(a * b)


def joined(a, b, m):
    """Arrays that are put together, and triangles of matrices."""
    n = len(a)
    for i in range(1, 4):
        x = np.hstack((a[:i], b[i:])) * 0.5
        y = np.vstack((a, x))
        z = np.concatenate((y, m[2:]), axis=0)
        m = np.hstack((m[:, :i], z[:, i:])) + np.triu(z, i - 2) @ np.tril(m)
        a = np.stack((x, b), axis=-1) @ m[0, :2] + np.concatenate((b[:1], a[1:]))
        b = np.stack((a, x, b))[i % 3] * 0.3 + np.tril(m, -1)[n - 1]
    return np.sum(m * z) + np.sum(a)
