"""Slices of lists that are replaced, and what is looked for in lists and arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.helpers import check_gradient

X = np.array([0.2, 0.45, 0.9, 1.3, 0.7])


def slices_are_replaced(x: Any) -> Any:
    u, total = [0.0] * 8, 0.0
    u[1:4] = [x[0], x[1], x[2]]
    for k in range(7):
        for i in range(1, 7):
            u[i] = u[i] + 0.1 * (u[i - 1] - 2 * u[i] + u[i + 1])
        u[::3] = x[:3] * k
        u[-2:] = u[:2]
        u[k % 3 : k % 3 + 2] = [u[5], u[6]]
        total += u[3] * u[6]
    return total


def slices_that_grow(x: Any) -> Any:
    u, total = [0.0, 0.0], 0.0
    for k in range(7):
        u[1:1] = [x[k % 4]]
        total += u[1] * u[k]
    return total


def looked_for(x: Any) -> Any:
    seen, total = [], 0.0
    walls = np.array([1, 4])
    for k in range(7):
        if k in walls:
            continue
        if k % 3 in seen or x[0] in x:
            total += x[k % 4] ** 2
        if x[0] + 1.0 not in x[1:]:
            total += x[1]
        seen.append(k % 3)
        total += getattr(x, "size") * x[2]  # noqa: B009
    return total


@pytest.mark.parametrize("f", [slices_are_replaced, looked_for], ids=lambda f: f.__name__)
def test_gradients(f: Callable, check_sweep: Callable, check_with_machine_code: Callable) -> None:
    check_sweep(f, X)
    check_with_machine_code(f, X)


def test_a_list_that_grows_is_right() -> None:
    check_gradient(slices_that_grow, X)


def bootstrapped(x: Any) -> Any:
    """Go over a list, and slices of it, that are empty at first."""
    known, rates = [], []
    for i, price in enumerate((x[0], x[1], x[2])):
        paid = sum(0.1 * d for d in known[:i])
        for d in known:
            paid = paid + 0.01 * d
        known.append((price - paid) / 1.1)
        rates.append(sum(known) + sum([]))
    for k in range(3):
        rates.append(rates[k] * known[k])
    return sum(rates) + np.sum(np.diag(rates)) + np.linalg.norm(known)


def test_lists_that_are_empty_at_first(check_sweep: Callable) -> None:
    check_sweep(bootstrapped, X)
