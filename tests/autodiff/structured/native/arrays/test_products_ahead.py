"""Products of the rows of a matrix with another one, which machine code computes ahead."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

N = 44
A = np.sin(np.arange(N * N, dtype=float)).reshape(N, N)
B = np.cos(np.arange(N * N, dtype=float) * 0.7).reshape(N, N)


def of_columns(a, b):
    c = np.eye(N)
    for i in range(N - 1):
        c[i, i + 1 :] = a[:, i] @ a[:, i + 1 :]
    return np.sum(c * b)


def of_more_and_more_rows(a, b):
    c = np.zeros((N, N))
    for i in range(N):
        c[i, : i + 1] = a[: i + 1] @ b[i]
    return np.sum(c * c)


def of_samples(a, b):
    total = 0.0
    for i in range(N):
        h = np.tanh(a[i] @ b)
        h[0] += 1.0
        total = total + np.sum(h * h)
    return total


def of_columns_left_of_them(a, b):
    total = 0.0
    for i in range(N):
        total = total + np.sum((a[:, i] @ b[:, N - i - 1 :]) ** 2)
    return total


def backward(a, b):
    total = 0.0
    for i in range(N):
        total = total + np.sum((a[-1 - i] @ b[:, i // 2 :]) ** 2) + (b.T @ a[i])[i]
    return total


def in_jumps(a, b):
    total = 0.0
    for i in range(2 * N):
        total = total + np.sum((a[7 * i % N] @ b) ** 2) + (b @ a[i // 2 % N])[3]
    return total


def again_and_again(a, b):
    total = 0.0
    for t in range(3):
        for i in range(t, N):
            total = total + (b @ a[:, i])[t] * (b[i] @ a)[i]
    return total


def of_parts(a, b):
    total = 0.0
    for i in range(N):
        x = a[3:, i] @ b[3:] if i % 5 < 3 else a[2:-1, i] @ b[1:-2]
        total = (
            total + np.sum(x * x) + np.sum(a[i, ::2] @ b[::2, 5:]) + np.sum(a[1:, i] @ b[1:].T[1:])
        )
    return total


def of_matrices_that_change(a, b):
    total = 0.0
    for t in range(3):
        for i in range(N):
            total = total + np.sum((a[i] @ b) ** 2)
        b[t] = 0.5 * b[t] + 0.1 * a[:, t]
    return total


def until_enough(a, b):
    total = 0.0
    for i in range(N):
        total = total + np.sum((a[i] @ b) ** 2)
        if total > 900.0:
            break
    return total


@pytest.mark.parametrize(
    "f",
    [
        of_columns, of_more_and_more_rows, of_samples, of_columns_left_of_them, backward, in_jumps,
        again_and_again, of_parts, of_matrices_that_change, until_enough,
    ],
)  # fmt: skip
def test_machine_code(f: Callable, check_machine_code: Callable) -> None:
    program = check_machine_code(f, lambda: (A.copy(), B.copy()), rtol=1e-10)
    is_ahead = "structured_find_product" in program.native.module.globals
    assert is_ahead == (f is not of_matrices_that_change)
