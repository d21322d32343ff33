"""Kernels with loops that several tests differentiate."""

import numpy as np


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
