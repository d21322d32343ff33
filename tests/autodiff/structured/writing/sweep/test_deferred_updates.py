"""What a sweep adds to parts of shadows is written late, one statement for each part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import checkpoint_loops, gradient
from autodiff.structured.runtime import Structured


def flow(u: Any, p: Any) -> Any:
    for _ in range(3):
        c = u[1:-1, 1:-1]
        u[1:-1, 1:-1] = (
            c - 0.1 * c * (c - u[1:-1, :-2]) - 0.2 * p[1:-1, 1:-1] * (c - u[:-2, 1:-1])
            + 0.3 * (u[1:-1, 2:] - 2.0 * c + u[1:-1, :-2])
        )  # fmt: skip
        u[0, :] = 0.0
        u[:, 0] = 1.0  # it overlaps the part before
        u[-1, :] = u[1, :] * p[-1, :]
        u[:, -1] = p[:, 0]
    return np.sum(u * p)


def restored_between(u: Any, p: Any) -> Any:
    """Sums that read what the sweep puts back."""
    for i in range(1, 4):
        p[:, 1:] += u[:, 1:] * u[:, :-1]
        u[i, :] = np.sin(u[i, :])
        p[:, :-1] -= 0.5 * u[:, 1:] * p[:, i : i + 1]
        u[:, i] *= p[:, i] * p[:, i - 1]
    return np.sum(p * p) + np.sum(u)


def chosen_elements(u: Any, p: Any) -> Any:
    s = 0.0
    for i in range(1, 5):
        u[u > 0.2] *= 0.5
        v = u[i, 1:] - 2.0 * u[i, :-1]
        u[i, 1:] = v * p[i, :-1]
        u[[0, 2, 1]] = u[[1, 0, 2]] * p[0]
        s = s + u[i, i] * p[i - 1, 0] + np.sum(np.cos(v))
        p[i] = u[i] - p[i - 1]
    return s + np.sum(u * p)


def parts_of_new_arrays(u: Any, p: Any) -> Any:
    s = 0.0
    for i in range(3):
        w = np.empty_like(u)
        w[1:] = u[:-1] - u[1:]
        w[0] = p[i]
        w[:, 0] = w[:, 1] + w[:, 2]
        w[2:] -= w[:-2] - 0.5 * w[2:]
        row = w[1]
        row[1] = s
        p = p + w.T * w
        s = s + np.sum(row * w[2])
    return np.sum(p) + s


KERNELS = (flow, restored_between, chosen_elements, parts_of_new_arrays)


def _arguments() -> tuple[np.ndarray, np.ndarray]:
    at = np.arange(36.0).reshape(6, 6)
    return 0.4 * np.cos(at), 0.3 * np.sin(1.0 + at)


def _loss(kernel: Callable) -> Callable:
    return lambda u, p: kernel(u * 1.0, p * 1.0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients(kernel: Callable, traced: Callable, runs: list[str]) -> None:
    expected = traced(_loss(kernel), *_arguments())
    for x, y in zip(gradient(_loss(kernel), *_arguments()), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)
    assert kernel.__name__ in runs
    checkpointed = _loss(checkpoint_loops(kernel))
    for x, y in zip(gradient(checkpointed, *_arguments()), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-13)


def test_what_is_added_now_is_not_copied() -> None:
    def kernel(u: Any, p: Any) -> Any:
        for k in range(3):
            w = np.sin(p[k, :])
            u[k, :] = w
            u[:, k] = w
            p[k, 1:] = u[k, 0]
        return np.sum(u * p)

    source = Structured(kernel, (None,) * 2, _arguments(), (0, 1)).source
    backward = source[source.index("in reversed(") :]
    assert backward.count(".copy()") == 1  # w is written twice: the second is added to the first


def test_each_part_is_written_once() -> None:
    source = Structured(flow, (None,) * 2, _arguments(), (0, 1)).source
    backward = source[source.index("in reversed(") :]
    parts = [line.split()[0] for line in backward.splitlines() if " += " in line or " -= " in line]
    assert len(parts) == len(set(parts))
    assert "[...] = " in backward  # what was set to zero is assigned
