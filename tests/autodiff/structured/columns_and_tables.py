"""Functions with loops for the tests of programs and of machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special


def appended(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        y = np.append(w[1:], 0.5) * np.append(x[k, 0], w[1:]) + np.append([1.0], x[k, 1:])
        z = np.r_[0.0, y, x[k, 1]] * np.r_[w, 1.0, w[k]]
        total += np.sum(z[1:] * z[:-1]) + np.sum(np.r_[x, x][k : k + 5] * x)
    return total


def columns(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        m = np.c_[w, x[k], np.ones(6)] * np.column_stack((w, w * x[k], x[1]))
        n = np.c_[x.T, w] + np.column_stack([x.T * w[k], w])
        total += np.sum(m.T @ n) + m[k, 1]
    return total


def spaced(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        y = (
            np.linspace(w[0], x[k, 1], 6) * np.linspace(0, 1, 6)
            + np.linspace(w[k], 2, num=k + 6)[:6]
        )
        total += np.sum(y * w) + np.linspace(-1.0, w[1])[7]
    return total


def weighted(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        v = w * w + 0.1
        total += np.average(x[k], weights=v) * np.ptp(w) + np.average(x[k] ** 2, weights=x[1] ** 2)
        total += np.sum(np.ptp(x, axis=1)) + np.sum(np.ptp(x, axis=0, keepdims=True) * x)
        w = w * 1.1
    return total


def again(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        y = np.tile(w[:2], 3) * np.repeat(w[:3], 2) + w.repeat(k + 1)[:6]
        m = np.kron(x[:2, :2], x[k : k + 2, 2:4]) * np.kron(w[:2], y[:2])
        total += np.sum(y * y * x[k]) + np.sum(m) + np.sum(np.tile(w, 0)) + np.sum(m * m)
    return total


def powers(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        m = np.vander(w * 0.7, 4) @ np.vander(x[k, :4] * 0.5, 3) + np.vander(w, 3, increasing=True)
        a = np.linalg.matrix_power(x[:4, :4] * 0.4, 3) + np.linalg.matrix_power(x[1:, 1:5] * 0.4, 2)
        total += np.sum(m * m) + np.sum(a @ x[:4]) + np.vander(w, 1)[k, 0]
    return total


def taken(x: Any, w: Any) -> Any:
    at = np.array([[0, 3], [5, 3]])
    total = 0.0
    for k in range(3):
        y = np.take(w, [0, 2, 2]) * np.take(w, k) + w.take(at[1])[k % 2]
        m = np.take(x, [1, 0], axis=0) * np.take(w, at[0])[0] + x.take([k, 4], axis=0)
        total += np.sum(y) + np.sum(m * m) + np.sum(np.take(x, at[0], axis=1) ** 2)
    return total


def exponentials(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        p = scipy.special.softmax(x * 2.0, axis=1) * scipy.special.softmax(w)
        q = scipy.special.log_softmax(x, axis=0) + scipy.special.log_softmax(w)[k]
        total += np.sum(p * q) + scipy.special.logsumexp(w * 3.0) * scipy.special.logsumexp(
            x[k], axis=0
        )
        r = x - scipy.special.logsumexp(x, axis=-1, keepdims=True)
        total += np.sum(scipy.special.logsumexp(r * w, axis=1) * scipy.special.logsumexp(x, axis=1))
        total += np.sum(scipy.special.logsumexp(np.r_[w, w, w[k]]) * w)
        total += np.sum(scipy.special.logsumexp(x, axis=0) * w)
        w = w * 0.9
    return total


def running(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        y = np.cumsum(x, axis=1) * np.cumsum(x * 0.5, axis=0) + x.cumsum(axis=-1)
        z = np.cumprod(w + 1.5) * np.cumprod(x[k] + 2.0) + (w * 2.0).cumsum()
        total += np.sum(y * w) + np.sum(z * x[k]) + np.sum(np.cumsum(x[:, ::-1], 1)[::2] ** 2)
    return total


def sorted_and_searched(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        order = np.argsort(x[k])
        y = np.sort(w * x[k])[::-1]
        places = np.searchsorted(y[::-1], w) + np.searchsorted(np.sort(x[k]), 0.1, side="right")
        total += np.sum(w[order] * y * np.arange(6)) + np.sum(places * w) + x[k][x[k].argsort()[2]]
    return total


def interpolated(x: Any, w: Any) -> Any:
    nodes = np.cumsum(w * w + 0.1)
    total = 0.0
    for k in range(3):
        y = np.interp(x[k] * 2.0, nodes, w) * np.interp(w, np.sort(x[k + 1]), x[k])
        total += np.sum(y * w) + np.interp(w[k] + 1.0, nodes, x[k]) * np.interp(nodes[k], nodes, w)
        total += np.interp(-100.0, nodes, w) + np.interp(100.0 * w[0], nodes, x[0])
    return total


def convolved(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(3):
        y = np.convolve(x[k], w[:3], "same") * np.convolve(w[:2], x[k + 1], mode="same")
        z = np.convolve(y, w)[k : k + 6] + np.convolve(w, x[k, :1], "valid")
        total += np.sum(z * y) + np.sum(np.convolve(w, w[k:], "valid")) + np.convolve(w, y)[-1]
    return total


def compared(x: Any, w: Any) -> Any:
    total = 0.0
    n = len(w)
    for i in range(4):
        for j in range(n):
            if (i, j) != (0, 0) and j not in (1, n - 1):
                total = total + x[i, j] * w[j]
            if i in [0, 2] or (i, (j, 1)) == (3, (2, 1)):
                total = total * 1.1 + w[j]
            total = total + (0.5 * w[i] if [i, j] == [1, 4] else x[i, j] ** 2)
    return total


PROGRAMS = [
    appended, columns, spaced, weighted, again, powers, taken, exponentials, running,
    sorted_and_searched, interpolated, convolved, compared,
]  # fmt: skip
