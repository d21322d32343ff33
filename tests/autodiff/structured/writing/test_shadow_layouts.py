"""Shadows lie in memory as the parts that a function reads and writes."""

from collections.abc import Callable

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.runtime import Structured


def columns(q, w, m):
    for k in range(q.shape[1]):
        q[:, k] = np.sin(q[:, k]) * w[k]
        for j in range(k + 1, q.shape[1]):
            q[:, j] -= (q[:, k] @ m[:, j]) * q[:, k]
    return np.sum(q * m)


def planes(q, w, m):
    a = np.zeros((3, 4, 5))
    for k in range(5):
        a[:, :, k] = m[1:4, :4] * w[k] + q[:3, 1:5]
        if k:
            a[:, :, k] += a[:, :, k - 1] * a[:, :, k]
    return np.sum(np.cos(a))


def rows(q, w, m):
    for k in range(1, len(q)):
        q[k] = q[k] * w[k] + q[k - 1, :]
    return np.sum(q * q)


def both(q, w, m):
    for k in range(1, len(q)):
        q[k, :k] = q[:k, k] * w[k]
    return np.sum(q * m)


def elements(q, w, m):
    s = 0.0
    for i in range(len(q)):
        for j in range(len(w)):
            q[i, j] = q[i, j] * w[j]
            s = s + q[i, j] * q[j, i]
    return s


def reshaped(q, w, m):
    for k in range(q.shape[1]):
        q[:, k] = q[:, k] * w[k]
    return np.sum(np.sin(q.ravel()) * m.reshape(36)) + np.sum(q.T @ m)


def collected(q, w, m):
    for k in range(q.shape[1]):
        column = q[:, k] * w[k]
        m = m + np.outer(column, w)
        q[:, k] = m @ column
    return np.sum(m)


OTHER = {columns: 2, planes: 1, rows: 0, both: 0, elements: 0, reshaped: 0, collected: 1}


def _arguments(order="C"):
    x = np.cos(np.arange(36.0)).reshape(6, 6)
    return np.array(x, order=order), np.sin(np.arange(6.0)), np.array(0.3 * x.T + 0.1, order=order)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kernel", OTHER)
def test_gradients_are_those_of_traces(kernel: Callable, order: str, traced: Callable) -> None:
    found = gradient(kernel, *_arguments(order))
    for x, y in zip(found, traced(kernel, *_arguments(order)), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
        assert order == "F" or x.flags.c_contiguous


@pytest.mark.parametrize("kernel", OTHER)
def test_parts_of_shadows_lie_in_a_row(kernel: Callable) -> None:
    program = Structured(kernel, (None,) * 3, _arguments(), (0, 1, 2))
    assert program.source.count("zeros_along(") == OTHER[kernel], program.source
