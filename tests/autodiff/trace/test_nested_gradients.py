"""Gradients of functions that take gradients: nested trace levels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import derivative, gradient, pullback, value_and_gradient

X = np.array([1.0, -2.0, 3.0])
W = np.array([0.5, 2.0, -1.0])
A = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])


def iterated(f: Callable, order: int) -> Callable:
    for _ in range(order):
        f = (lambda g: lambda x: gradient(g, x))(f)
    return f


@pytest.mark.parametrize(
    "f, derivatives",
    [
        (lambda x: x**4, [32.0, 48.0, 48.0, 24.0]),
        (lambda x: x * x * x, [12.0, 12.0, 6.0, 0.0]),
        (lambda x: 1.0 / x, [-0.25, 0.25, -0.375, 0.75]),
        (lambda x: np.exp(2.0 * x), [np.exp(4.0) * 2**n for n in (1, 2, 3, 4)]),
        (lambda x: np.sin(x), [np.cos(2.0), -np.sin(2.0), -np.cos(2.0), np.sin(2.0)]),
        (lambda x: np.float64(3.0) * x * x, [12.0, 6.0, 0.0, 0.0]),
    ],
    ids=["power", "product", "inverse", "exp", "sin", "float64"],
)
def test_higher_orders(f: Callable, derivatives: list) -> None:
    for order, expected in enumerate(derivatives, 1):
        assert iterated(f, order)(2.0) == pytest.approx(expected)


@pytest.mark.parametrize(
    "f, x, expected",
    [
        (lambda x: x * gradient(lambda y: x + y, 1.0), 3.0, 1.0),
        (lambda x: x * gradient(lambda y: x * y, 1.0), 3.0, 6.0),
        (lambda x: x * gradient(lambda y: x * y * y, x), 3.0, 54.0),
        (lambda x: gradient(lambda y: x, 1.0) * x, 3.0, 0.0),
        (lambda x: gradient(lambda y: gradient(lambda z: x * y * z, 1.0) * y, x), 3.0, 12.0),
        (lambda x: x * gradient(lambda y: gradient(lambda z: x + y + z, y) + x * y, x), 3.0, 6.0),
        (lambda x: gradient(lambda x: x * x, x) * x, 3.0, 12.0),
        (lambda x: derivative(lambda y: x**2 * y**3, 2.0), 3.0, 72.0),
        (lambda x: gradient(lambda y, z: y * z * x, x, 2.0)[0], 3.0, 2.0),
        (lambda x: gradient(lambda y, z: y * z * x, x, x)[1], 3.0, 6.0),
    ],
)
def test_perturbations_of_different_levels_are_kept_apart(
    f: Callable, x: float, expected: float
) -> None:
    assert gradient(f, x) == pytest.approx(expected)


def loss(x: Any) -> Any:
    return np.sum(np.sin(x) * W) * np.sum(x * x) + x[0] * x[1] ** 2


def by_elements(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s = s + x[i] * x[i - 1] * x[i] / (2.0 + x[0] * x[0])
    return s


def by_slices(x: Any) -> Any:
    return np.sum(x[1:] * x[:-1] ** 2) + np.sum(x[[0, 0, 2]] ** 3) + np.sum(x[x > 0] ** 2 * x[0])


def by_matrices(x: Any) -> Any:
    return (A @ x) @ x * (x @ W) + np.sum((A * x) @ (A * x))


def by_writes(x: Any) -> Any:
    b = x.copy()
    b[0] = x[1] * x[2]
    b[1:] = b[1:] * b[0]
    b *= x
    return np.sum(b * b)


def by_branches(x: Any) -> Any:
    y = np.where(x > 0, x**3, np.sin(x))
    return np.sum(y * y) if x[0] > 0 else np.sum(y)


@pytest.mark.parametrize("f", [loss, by_elements, by_slices, by_matrices, by_writes, by_branches])
def test_hessians_agree_with_finite_differences(f: Callable, differences: Callable) -> None:
    for k in range(3):
        row = gradient(lambda x, k=k: gradient(f, x)[k], X)
        expected = differences(lambda x, k=k: gradient(f, x)[k], X)
        np.testing.assert_allclose(row, expected, rtol=1e-5, atol=1e-6)
    by_product = gradient(lambda x: np.sum(gradient(f, x) * W), X)
    np.testing.assert_allclose(
        by_product, differences(lambda x: np.sum(gradient(f, x) * W), X), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("f", [loss, by_elements, by_slices, by_matrices])
def test_third_order(f: Callable, differences: Callable) -> None:
    def second(x: Any) -> Any:
        return np.sum(gradient(lambda y: np.sum(gradient(f, y) * W), x) * W)

    np.testing.assert_allclose(gradient(second, X), differences(second, X, 1e-5), rtol=1e-4)


def test_inner_gradients_see_captured_outer_values() -> None:
    def inner_loss(y: Any, x: Any) -> Any:
        return np.sum(x * x * y) + x[0] * y[1]

    def f(x: Any) -> Any:
        return np.sum(gradient(lambda y: inner_loss(y, x), W) * W)

    np.testing.assert_allclose(gradient(f, X), 2 * X * W + [W[1], 0.0, 0.0])


def test_gradient_descent_is_differentiated_through() -> None:
    def trained(rate: float) -> Any:
        w = W.copy()
        for _ in range(5):
            w = w - rate * gradient(lambda w: np.sum((A @ w - X) ** 2), w)
        return np.sum((A @ w - X) ** 2)

    h = 1e-6
    expected = (trained(0.01 + h) - trained(0.01 - h)) / (2 * h)
    assert gradient(trained, 0.01) == pytest.approx(expected, rel=1e-5)


def test_the_pullback_is_differentiated_with_respect_to_its_seed() -> None:
    def f(seed: Any) -> Any:
        _, back = pullback(lambda x: A @ (x * x), X)
        return np.sum(back(seed) ** 2)

    J = A * (2 * X)
    np.testing.assert_allclose(gradient(f, W), 2 * J @ (J.T @ W))


def test_a_pullback_made_under_tracing_can_be_called_often() -> None:
    def f(x: Any) -> Any:
        _, back = pullback(lambda y: y * y * x, x)
        return np.sum(back(x) + 2.0 * back(W))

    np.testing.assert_allclose(gradient(f, X), 6 * X**2 + 8 * X * W)


def test_a_nested_result_can_be_written_into() -> None:
    """The gradients an inner call returns are values of their own."""

    def f(x: Any) -> Any:
        a_bar, b_bar = gradient(lambda a, b: np.sum((a + b) * x), X, X)
        a_bar *= x
        a_bar[0] = 0.0
        return np.sum(b_bar * W) + np.sum(a_bar)

    np.testing.assert_allclose(gradient(f, X), W + 2 * X * [0.0, 1.0, 1.0])


@pytest.mark.parametrize("write", [lambda g, x: g.__imul__(x), lambda g, x: g.__setitem__(0, x[0])])
def test_a_nested_result_is_no_other_name_for_a_captured_value(write: Callable) -> None:
    def f(x: Any) -> Any:
        w = x * 1.0
        g = gradient(lambda a: np.sum(a * w), X)
        write(g, 100.0 * x)
        _, back = pullback(lambda a: a * 1.0, X)
        seed_bar = back(w)
        write(seed_bar, 100.0 * x)
        return np.sum(w * W)

    np.testing.assert_allclose(gradient(f, X), W)


def test_value_and_gradient_with_aux_inside() -> None:
    def f(x: float) -> Any:
        (value, aux), g = value_and_gradient(lambda y: (y * x, x * y * y), 2.0, has_aux=True)
        return value * aux * g  # 2x * 4x * x

    assert gradient(f, 3.0) == pytest.approx(24 * 9.0)


def test_nested_structures() -> None:
    def f(p: Any) -> Any:
        g = gradient(lambda q: q["a"] ** 2 * p["b"] + q["b"] * p["a"], p)
        return g["a"] * g["b"]  # 2ab · a

    g = gradient(f, {"a": 2.0, "b": 3.0})
    assert g == pytest.approx({"a": 24.0, "b": 8.0})


def test_complex_hessian(differences: Callable) -> None:
    def f(x: Any) -> Any:
        z = x * (1.0 + 2.0j) + 1j
        return np.sum((z * z * z).real) + np.sum(np.abs(z) ** 2)

    found = gradient(lambda x: np.sum(gradient(f, x) * W), X)
    expected = differences(lambda x: np.sum(gradient(f, x) * W), X)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_mixed_precision_of_levels() -> None:
    g = gradient(lambda x: gradient(lambda y: x * y * y, np.float32(2.0)), 3.0)
    assert g == 4.0
    assert type(g) is float
