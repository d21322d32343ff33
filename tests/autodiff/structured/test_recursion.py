"""Functions that call themselves, as programs: compared with traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff import gradient, value_and_gradient
from autodiff.structured import calls
from tests.helpers import check_gradient

X = np.array([0.3, -0.7, 0.5, 1.2, 0.1, -0.2, 0.9, 0.4])


def transform(x: Any) -> Any:
    n = len(x)
    if n == 1:
        return x
    even, odd = transform(x[::2]), transform(x[1::2])
    turned = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate([even + turned, even - turned])


def spectrum(x: Any) -> Any:
    return np.sum(np.abs(transform(x + 0j)) ** 2 * np.arange(len(x)))


def polynomial(n: Any, t: Any) -> Any:
    if n == 0:
        return 1.0
    if n == 1:
        return t
    return ((2 * n - 1) * t * polynomial(n - 1, t) - (n - 1) * polynomial(n - 2, t)) / n


def legendre(x: Any) -> Any:
    return polynomial(5, x[0]) * polynomial(3, x[1]) + x[2]


def pairwise(x: Any, low: Any, high: Any, scale: Any = 0.5) -> Any:
    if high - low < 3:
        total = 0.0
        for i in range(low, high):
            total = total + np.sin(x[i]) * scale
        return total
    middle = (low + high) // 2
    return pairwise(x, low, middle) + pairwise(x, middle, high) * scale


def summed(x: Any) -> Any:
    return pairwise(x, 0, len(x)) ** 2


def power(a: Any, n: Any) -> Any:
    if n == 1:
        return a
    half = power(a, n // 2)
    return half @ half if n % 2 == 0 else half @ half @ a


def matrix_power(x: Any) -> Any:
    return np.sum(power(x.reshape(2, 4) @ x.reshape(4, 2), 11))


def children(x: Any, node: Any) -> Any:
    total = x[node]
    for child in (2 * node + 1, 2 * node + 2):
        if child < len(x):
            total = total + 0.5 * children(x, child) * x[node]
    return total


def tree(x: Any) -> Any:
    return children(x, 0)


def clipped(x: Any, n: Any) -> Any:
    y = x if n == 0 else clipped(np.where(x > 0.2, x * 0.5, x * x + 0.1), n - 1)
    return y + 0.1 * x


def nested(x: Any) -> Any:
    return np.sum(clipped(x, 6) ** 2)


@pytest.mark.parametrize(
    "kernel, name",
    [
        (spectrum, "transform"), (legendre, "polynomial"), (summed, "pairwise"),
        (matrix_power, "power"), (tree, "children"), (nested, "clipped"),
    ],
)  # fmt: skip
def test_functions_that_call_themselves(
    kernel: Callable, name: str, runs: list[str], traced: Callable
) -> None:
    np.testing.assert_allclose(gradient(kernel, X), traced(kernel, X), rtol=1e-12)
    assert name in runs


def other_arguments(x: Any, y: Any, n: Any) -> Any:
    """Give what depends on the variables to a parameter that does not."""
    return np.sum(x * y) if n == 0 else other_arguments(y, x * 0.5, n - 1)


def other_kinds(x: Any, n: Any) -> Any:
    return np.sum(x) if n == 0 else other_kinds(x[0] * np.ones((2, 2)), n - 1)


def search(t: Any, low: Any, high: Any, n: Any) -> Any:
    middle = 0.5 * (low + high)
    if n == 0:
        return middle
    return search(t, low, middle, n - 1) if t < middle else search(t, middle, high, n - 1)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: other_arguments(x, np.arange(8.0), 3),
        lambda x: other_kinds(x, 2),
    ],
)
def test_calls_that_no_program_makes(f: Callable, traced: Callable) -> None:
    np.testing.assert_array_equal(gradient(f, X), traced(f, X))


def test_a_search_is_found() -> None:
    with pytest.warns(autodiff.NoPathWarning):
        gradient(lambda t: search(t, 0.0, 4.0, 30), 1.147)


def test_the_result_is_an_argument(runs: list[str]) -> None:
    """The outermost call may return its argument: the caller then has one array, not two."""

    def f(x: Any) -> Any:
        y = x * 1.0
        z = transform(y)
        z[0] = 3.0
        return np.sum(y * z)

    np.testing.assert_array_equal(gradient(f, np.array([2.0])), [0.0])


def test_no_numbers_are_lost(traced: Callable) -> None:
    """An error inside leaves the next calls as they are."""
    with pytest.raises(IndexError):
        gradient(lambda x: children(x[:2], 5), X)
    np.testing.assert_allclose(gradient(tree, X), traced(tree, X), rtol=1e-12)
    for of_code in [of_code for _, of_code in calls._programs.values()]:
        for program in [p for made in of_code.values() for p in made.known.values() if p]:
            itself = program.program.itself
            assert itself is None or itself.is_outermost()


def shortened(x: Any) -> Any:
    if len(x) <= 2:
        return x
    return shortened(x[:-1])


def written_through(x: Any) -> Any:
    a, s = x * 1.0, 0.0
    for _ in range(3):
        v = shortened(a)
        v[0] = v[0] * 2.0
        s = s + a[0]
    return s


def seen_through(x: Any) -> Any:
    a = x * 1.0
    v = shortened(a)
    a[0] = a[0] * 3.0
    return np.sum(v)


def chosen(n: Any, among: Any) -> Any:
    return among["rows"][0][1:] if n == 0 else chosen(n - 1, among)


def written_in_a_dict(x: Any) -> Any:
    a = x * 1.0
    v = chosen(2, {"rows": (a, x[0])})
    v[0] = v[0] * 3.0 * x[0]
    return np.sum(a * a)


def seen_in_a_dict(x: Any) -> Any:
    a = x * 1.0
    v = chosen(2, {"rows": (a, x[0])})
    a[1] = a[0] * 3.0
    return np.sum(v * v)


def captured(x: Any) -> Any:
    a = x * 1.0

    def go(n: Any, y: Any) -> Any:
        return a if n == 0 else go(n - 1, y * 2.0)

    v = go(2, x[0])
    v[0] = 5.0 * x[1]
    return np.sum(a * a)


@pytest.mark.parametrize(
    "kernel", [written_through, seen_through, written_in_a_dict, seen_in_a_dict, captured]
)
@pytest.mark.parametrize("n", [2, 3, 20])
def test_a_result_that_is_a_view_of_an_argument(kernel: Callable, n: int, traced: Callable) -> None:
    """The inmost call returns a part of what the outermost is given."""
    x = np.linspace(1.0, 2.0, n)
    expected = traced(kernel, x)
    for _ in range(6):
        value, found = value_and_gradient(kernel, x)
        np.testing.assert_allclose(value, kernel(x), rtol=1e-14)
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def basis(i: Any, k: Any, t: Any, x: Any) -> Any:
    if k == 0:
        return 1.0 if t[i] <= x < t[i + 1] else 0.0
    left = (x - t[i]) / (t[i + k] - t[i]) * basis(i, k - 1, t, x)
    return left + (t[i + k + 1] - x) / (t[i + k + 1] - t[i + 1]) * basis(i + 1, k - 1, t, x)


def spline(x: Any) -> Any:
    knots, total = np.linspace(-1.0, 2.0, 12), 0.0
    for at in (0.1, 0.45, 0.8):
        total = total + sum(x[i] * basis(i, 3, knots, at) for i in range(8)) ** 2
    return total


def knots_move(x: Any) -> Any:
    knots, total = np.cumsum(np.exp(x)), 0.0
    for k in range(3):
        total = total + basis(k, 2, knots, 0.5 * (knots[k + 1] + knots[k + 2]) + 0.1 * x[0])
    return total


def integral(f: Any, a: Any, b: Any, n: Any) -> Any:
    middle = (a + b) / 2
    if n == 0:
        return f(middle) * (b - a)
    return integral(f, a, middle, n - 1) + integral(f, middle, b, n - 1)


def integrals(x: Any) -> Any:
    scale = x[1] * 2.0
    total = 0.0
    for _ in range(3):
        total = total + integral(lambda s: np.exp(-x[0] * s) * scale, x[3], 1, 4)
    return total * scale


def local(x: Any) -> Any:
    rate = x[0] * x[1]

    def go(i: Any, y: Any) -> Any:
        if i == 0:
            return y * rate
        return go(i - 1, np.sin(y) + x) * rate + y

    total = 0.0
    for k in range(3):
        total = total + np.sum(go(k + 2, x * k))
    return total


def two(x: Any) -> Any:
    """Both functions call each other; what the first returns is a view of its argument."""

    def even(y: Any, n: Any) -> Any:
        return y if n == 0 else odd(y * 0.5, n - 1)

    def odd(y: Any, n: Any) -> Any:
        return even(y + x[0], n - 1)

    total = 0.0
    for k in range(2):
        total = total + np.sum(even(x, 2 * k + 2) ** 2)
    return total


def pairs(x: Any) -> Any:
    """Arrays are broadcast inside alone."""

    def go(y: Any, n: Any) -> Any:
        if n == 0:
            return y
        return go(np.sqrt(y * y + 0.1) * x[0], n - 1) + y[:1] * x[1:2]

    total = 0.0
    for k in range(3):
        total = total + np.sum(go(x - x[k] + 0.5, k + 1))
    return total


def steep(x: Any) -> Any:
    """A slope is infinite inside alone, where a zero wins."""

    def go(y: Any, n: Any) -> Any:
        if n == 0:
            return y
        return go(np.where(y > 0.0, np.sqrt(np.abs(y)), x), n - 1)

    total = 0.0
    for k in range(3):
        total = total + np.sum(go(x - x[k], k + 1))
    return total


def summed(k: float, end: Any) -> Callable:
    def go(x: Any, i: int) -> Any:
        if i == 0:
            return x[0] if end is None else end(x, 1)
        return go(x, i - 1) * k + x[i]

    return go


HALVED, DOUBLED = summed(0.5, None), summed(2.0, None)
MIXED = summed(3.0, HALVED)


def captured(x: Any) -> Any:
    """Functions of one definition have captured different variables; one calls another."""
    total = 0.0
    for k in range(4):
        total = total + HALVED(x, k) * DOUBLED(x, k) + MIXED(x, k)
    return total


@pytest.mark.parametrize(
    "kernel", [spline, knots_move, integrals, local, two, pairs, steep, captured],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_programs_that_call_such(kernel: Callable, runs: list[str], traced: Callable) -> None:
    for at in (X, X, X * 0.9 + 0.01):
        value, found = value_and_gradient(kernel, at)
        np.testing.assert_allclose(value, kernel(at), rtol=1e-13)
        np.testing.assert_allclose(found, traced(kernel, at), rtol=1e-10, atol=1e-13)
    assert kernel.__name__ in runs or kernel in (two, steep, captured)
    if kernel is not steep:
        check_gradient(kernel, X)


def test_second_derivatives_of_such() -> None:
    def slope(x: Any) -> Any:
        return np.sum(gradient(integrals, x) * np.arange(8.0))

    check_gradient(slope, X)
