"""Functions that call themselves and write into an argument, as programs: compared with traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, value_and_gradient
from tests.helpers import check_gradient

X = np.array([0.3, -0.7, 0.5, 1.2, 0.1, -0.2, 0.9, 0.4])


def halves(x: Any, n: Any) -> Any:
    """Write into the argument of the outer call."""
    if n > 0:
        x *= 0.5
        halves(x, n - 1)
    return x


def quicksort(a: Any, low: Any, high: Any) -> None:
    if low < high:
        p = low
        for i in range(low, high):
            if a[i] < a[high]:
                a[i], a[p] = a[p], a[i]
                p += 1
        a[p], a[high] = a[high], a[p]
        quicksort(a, low, p - 1)
        quicksort(a, p + 1, high)


def merge_sort(a: Any, low: Any, high: Any) -> None:
    """Write after the recursive calls alone."""
    if high - low < 2:
        return
    middle = (low + high) // 2
    merge_sort(a, low, middle)
    merge_sort(a, middle, high)
    left, right = a[low:middle].copy(), a[middle:high].copy()
    i, j = 0, 0
    for k in range(low, high):
        if j == len(right) or (i < len(left) and left[i] < right[j]):
            a[k] = left[i]
            i += 1
        else:
            a[k] = right[j]
            j += 1


def smooth(u: Any, f: Any, h: Any) -> Any:
    for _ in range(2):
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1] + h * h * f[i])
    return u


def cycle(u: Any, f: Any, h: Any) -> Any:
    n = len(u) - 1
    if n <= 2:
        u[1] = 0.5 * (u[0] + u[2] + h * h * f[1])
        return u
    u = smooth(u, f, h)
    r = np.zeros_like(u)
    r[1:-1] = f[1:-1] + (u[:-2] - 2 * u[1:-1] + u[2:]) / (h * h)
    e = cycle(np.zeros(n // 2 + 1), r[::2].copy(), 2 * h)
    u[::2] += e
    u[1::2] += 0.5 * (e[:-1] + e[1:])
    return smooth(u, f, h)


def spread(u: Any, w: Any, n: Any) -> None:
    """Write into one array, read another."""
    if n > 0:
        u[1:] = u[:-1] * 0.5 + w[1:]
        spread(u, w, n - 1)
        u += w[0]


def sorted_weights(x: Any) -> Any:
    a, b = x * 1.0, x[::-1] * x[0]
    quicksort(a, 0, len(a) - 1)
    merge_sort(b, 0, len(b))
    return np.sum(a * np.arange(8.0)) + np.sum(b * b * np.arange(8.0))


def multigrid(x: Any) -> Any:
    f = np.concatenate([x, x[:1]])
    u = np.zeros(9)
    for _ in range(3):
        u = cycle(u, f, 0.125)
    return np.sum(u**2) * 100


def one_array_by_two_names(x: Any) -> Any:
    y = x * 1.0
    z = halves(y, 2)
    z[0] = 3.0 * x[1]
    halves(y[2:], 3)
    return np.sum(y * z)


def of_two_arrays(x: Any) -> Any:
    u, total = x * 1.0, 0.0
    for k in range(3):
        spread(u, x * (k + 1), 2)
        total = total + np.sum(u * x)
    return total


def two_that_become_one(x: Any) -> Any:
    u, w, total = x * 1.0, x * 2.0, 0.0
    for _ in range(3):
        spread(u, w, 2)
        total = total + np.sum(u * w)
        w = u
    return total


def one_given_twice(x: Any) -> Any:
    u = x * 1.0
    spread(u, u, 2)
    spread(u[:4], u[4:], 2)
    return np.sum(u * x)


def grown(a: Any, n: Any) -> Any:
    """Return something else than the array that it writes into."""
    if n == 0:
        return a
    a[0] = a[0] * 2.0
    return grown(a * 1.5, n - 1)


def of_another_array(x: Any) -> Any:
    a = x * 1.0
    return np.sum(grown(a, 2) * a)


def part_of_it(a: Any, n: Any) -> Any:
    a[n] = a[n] ** 2
    return a[::-1] if n == 0 else part_of_it(a, n - 1)


def of_a_view(x: Any) -> Any:
    a = x * 1.0
    return np.sum(part_of_it(a, 2) * x)


@pytest.mark.parametrize(
    "kernel, read",
    [
        (sorted_weights, {"quicksort", "merge_sort"}), (multigrid, {"multigrid"}),
        (one_array_by_two_names, {"halves"}), (of_two_arrays, {"of_two_arrays"}),
        (two_that_become_one, {"spread"}), (one_given_twice, {"spread"}), (of_another_array, set()),
        (of_a_view, set()),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_functions_that_write_into_an_argument(
    kernel: Callable, read: set[str], runs: list[str], traced: Callable
) -> None:
    for at in (X, X, X[::-1] * 0.9):
        value, found = value_and_gradient(kernel, at)
        np.testing.assert_allclose(value, kernel(at), rtol=1e-13)
        np.testing.assert_allclose(found, traced(kernel, at), rtol=1e-10, atol=1e-13)
    assert set(runs) == read
    check_gradient(kernel, X)


@pytest.mark.parametrize("f", [quicksort, merge_sort])
def test_a_program_that_writes_into_its_own_argument(
    f: Callable, runs: list[str], traced: Callable
) -> None:
    def sorts(x: Any) -> Any:
        a = x * 1.0
        f(a, 0, len(a) - (f is quicksort))
        return np.sum(a**3 * np.arange(8.0))

    for at in (X, X[::-1]):
        np.testing.assert_allclose(gradient(sorts, at), traced(sorts, at), rtol=1e-12)
    assert f.__name__ in runs
