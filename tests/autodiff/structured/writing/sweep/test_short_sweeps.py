"""What the sweep need not know is not pushed, and quotients are divided once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.runtime import Structured

X = np.array([0.3, -0.7, 0.5, 1.2, 0.1, -0.2, 0.9, 0.4])


def sweep_of(kernel: Callable) -> str:
    source = Structured(kernel, (None,), (X,), (0,)).source
    return source[source.index("def backward") :]


def integers_alone(x: Any) -> Any:
    names, total = [0], 0.0
    for i in range(len(x)):
        if i % 3 == 1 and (i % 2 == 0 or i > 4):
            names.append(i)
        else:
            names.append(0)
    k = 0
    while k < 5:
        k += 1
    for i in range(len(x)):
        total = total + x[names[i]] * x[i] * k
    return total


def some_way(x: Any) -> Any:
    total, n = 0.0, 0
    for i in range(len(x)):
        if x[i] > 0.2:
            total = total + x[i] ** 2
        else:
            n += 1
        for j in range(n):
            if j == 3:
                n -= 1
    return total * n


def left_early(x: Any) -> Any:
    n = 0
    for i in range(len(x)):
        if x[i] > 1.0:
            break
        n += 1
    return np.sum(x[:n] ** 3)


@pytest.mark.parametrize("kernel", [integers_alone, some_way, left_early])
def test_ways_without_a_sweep(kernel: Callable, runs: list[str], traced: Callable) -> None:
    np.testing.assert_allclose(gradient(kernel, X), traced(kernel, X), rtol=1e-13)
    assert kernel.__name__ in runs


@pytest.mark.parametrize("kernel, ways", [(integers_alone, 1), (some_way, 2), (left_early, 0)])
def test_only_ways_with_a_sweep_are_pushed(kernel: Callable, ways: int) -> None:
    lines = [x.strip() for x in sweep_of(kernel).splitlines()]
    assert len([x for x in lines if x.startswith(("if pop", "for ", "r_"))]) == ways


def quotients(x: Any) -> Any:
    total = 0.0
    for i in range(1, len(x)):
        total = total + x[i - 1] / x[i] - (x[i] * 2.0) / (x[i - 1] - 3.0)
    return total


def quotients_of_arrays(x: Any) -> Any:
    y = x
    for _ in range(4):
        y = y / (x * y + 2.0) - (y * x) / (3.0 + y)
    return np.sum(y)


def divided_by_a_norm(x: Any) -> Any:
    v = x * 1.0
    for k in range(4):
        w = np.sin(v) - x * k
        v = w / np.linalg.norm(w)
    return np.sum(v**3)


def divided_numbers(x: Any) -> Any:
    y, z = x[0], x[1]
    for i in range(5):
        y, z = 1.0 / y + x[i], -(y / z)
    return y * z


def logarithms(x: Any) -> Any:
    y = np.abs(x)
    for _ in range(4):
        y = np.log(y + 1.5) / np.log1p(y)
    return np.sum(-y)


@pytest.mark.parametrize(
    "kernel", [quotients, quotients_of_arrays, divided_by_a_norm, divided_numbers, logarithms]
)
def test_quotients(kernel: Callable, runs: list[str], traced: Callable) -> None:
    np.testing.assert_allclose(gradient(kernel, X), traced(kernel, X), rtol=1e-12)
    assert kernel.__name__ in runs
    assert "(1 / " not in sweep_of(kernel)
    assert "((-" not in sweep_of(kernel)


def test_a_quotient_without_a_derivative(traced: Callable) -> None:
    """A zero wins over what is infinite, as on the tape."""

    def f(x: Any) -> Any:
        total = 0.0
        for i in range(len(x)):
            y = x[i] / (x[i] - x[i])
            total = total + (y if x[i] > 5.0 else x[i])
        return total

    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(gradient(f, X), traced(f, X))


def residuals(x: Any) -> Any:
    a = np.outer(x, x) + np.eye(8)
    v = x * 1.0
    total = 0.0
    for k in range(4):
        r = x - a @ v
        v = v + 0.1 * r - 0.05 * (r @ a)
        total = total - (r @ v) * k
        w = -(a @ v)
        total = total + w @ w
    return total


def rows_and_columns(x: Any) -> Any:
    a = np.outer(x, x)
    for k in range(3):
        b = a - 0.1 * (a @ a.T)
        a = b - (a @ b) * 0.3
        a[k] -= a[k] @ b
        a[:, k] -= b[:, k:] @ a[k, k:]
    return np.sum(a**2)


def likelihood(x: Any) -> Any:
    s, total = np.outer(x, x) + 3.0 * np.eye(8), 0.0
    for k in range(3):
        inverse = np.linalg.inv(s)
        total = total - np.log(np.linalg.det(s)) - x @ inverse @ x
        s = s - 0.1 * (s @ inverse.T) * x[k]
    return total


def likelihood_of_what_changes(x: Any) -> Any:
    s, total = np.outer(x, x) + 3.0 * np.eye(8), 0.0
    for k in range(3):
        inverse = np.linalg.inv(s)
        s[k, k] += 1.0
        total = total - np.log(np.linalg.det(s)) - x @ inverse @ x
    return total


@pytest.mark.parametrize(
    "kernel", [residuals, rows_and_columns, likelihood, likelihood_of_what_changes]
)
def test_products_with_a_sign(kernel: Callable, runs: list[str], traced: Callable) -> None:
    np.testing.assert_allclose(gradient(kernel, X), traced(kernel, X), rtol=1e-10)
    assert kernel.__name__ in runs


def test_a_negative_cotangent_is_not_negated_for_a_product() -> None:
    def kernel(x: Any) -> Any:
        a, b = np.outer(x, x), np.ones((8, 8))
        for _ in range(3):
            a = np.sin(a) - b @ a
        return np.sum(a)

    assert "= (-" not in sweep_of(kernel)


def test_the_inverse_is_computed_once() -> None:
    assert "inv_" not in sweep_of(likelihood)
    assert "inv_" in sweep_of(likelihood_of_what_changes)


def bound_twice(x: Any) -> Any:
    v = x * x
    for k in range(5):
        v = 0.9 * (v * 0.5 + v * x[k])
        v = np.maximum(v, x - 0.1 * k)
    return v[0] + np.sum(v[1:] * v[:-1])


def held_by_two(x: Any) -> Any:
    v, total = x * 1.0, 0.0
    for k in range(4):
        v = v * 0.5
        w = v
        v = np.sin(v) + x
        w[k] += 1.0
        u = v
        v = v + w
        u[k + 1] *= x[k]
        total = total + np.sum(v * u)
    return total


def written_before_it_is_bound_anew(x: Any) -> Any:
    a = x * x
    for k in range(3):
        b = a[1:]
        a = a * 2.0
        b[k] = x[k]
        a[0] += b[k]
        a = a + np.sum(b)
        a[k] = a[k] * a[k + 1]
    return np.sum(a)


@pytest.mark.parametrize("kernel", [bound_twice, held_by_two, written_before_it_is_bound_anew])
def test_variables_that_are_bound_twice(
    kernel: Callable, runs: list[str], traced: Callable
) -> None:
    np.testing.assert_allclose(gradient(kernel, X), traced(kernel, X), rtol=1e-12)
    assert kernel.__name__ in runs


def test_an_array_that_a_variable_holds_in_between_needs_no_shadow() -> None:
    source = Structured(bound_twice, (None,), (X,), (0,)).source
    loop = source[source.index(" in r_") : source.index("def backward")]
    assert "zeros_like" not in loop


def sums_of_expressions(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        r = x * 0.5 - k
        total = total + np.sum(r**2) - np.mean(np.exp(-r)) * k + np.sum(r * r)
        x = np.sin(x) + np.sum(x) + np.mean(np.abs(x))
    return total - np.sum(np.tanh(x))


def sums_of_columns(x: Any) -> Any:
    total, column = 0.0, x[:, None]
    for k in range(3):
        column = column * x[k]
        total = total + np.sum(column * x * 2.0) - np.sum((column - x) ** 2)
    return total


def filled(x: Any) -> Any:
    v, w = np.full(len(x), 0.3), np.full((2, 8), x[1])
    for _ in range(3):
        v = v * x - w[0]
    return np.sum(v) + np.sum(w)


@pytest.mark.parametrize("kernel", [sums_of_expressions, sums_of_columns, filled])
def test_sums(kernel: Callable, check_sweep: Callable) -> None:
    check_sweep(kernel, X)


def test_the_cotangent_of_a_sum_is_not_spread_before_it_is_multiplied_or_added() -> None:
    lines = sweep_of(sums_of_expressions).splitlines()
    assert not [line for line in lines if "spread(" in line and "is float" not in line]


def test_a_cotangent_is_negated_without_a_copy() -> None:
    def kernel(x: Any) -> Any:
        a = np.zeros(8)
        for k in range(3):
            a[k] = x[k]
            v, w = np.sin(x), np.cos(x)
            a = v - w * a
        return np.sum(a)

    assert ".copy()" not in sweep_of(kernel)


def test_an_array_of_one_number_has_no_shadow() -> None:
    def kernel(x: Any) -> Any:
        v = np.full(len(x), 0.3)
        for _ in range(3):
            v = v * x
        return np.sum(v)

    assert Structured(kernel, (None,), (X,), (0,)).source.count("zeros_like(") == 1
