"""Functions that differentiate, called in loops: each call is one operation of the program."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import autodiff
from autodiff import (
    compile,
    derivative,
    grad,
    gradient,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jvp,
    pullback,
    value_and_grad,
    value_and_gradient,
    vhp,
    vjp,
)

A = np.array([[1.0, 0.5, -0.3], [0.2, 0.8, 0.4], [0.1, -0.6, 0.7], [0.9, 0.3, 0.2]])
B = np.array([0.3, -0.2, 0.5, 0.1])
X = np.array([0.4, -0.7, 1.1])


def loss(w: Any, k: Any) -> Any:
    r = np.tanh(A @ w) - B
    return r @ r + np.exp(k) * np.sum(w**4)


def field(x: Any, k: Any) -> Any:
    return np.sin(k * x) + 0.2 * x[::-1] * x


def with_momentum(k: Any) -> Any:
    w, m, total = np.zeros(3), np.zeros(3), 0.0
    for _ in range(5):
        value, g = value_and_gradient(loss, w, k, argnums=0)
        m = 0.9 * m + g
        w = w - 0.1 * m
        total = total + value
    return total


def of_curried_functions(k: Any) -> Any:
    slope = grad(loss)
    w = np.ones(3)
    for _ in range(3):
        value, g = value_and_grad(loss)(w, k)
        w = w - 0.01 * slope(w, k) - 0.01 * g * value
    return np.sum(w * w)


slope_of_loss = grad(loss)


def of_a_global_gradient(k: Any) -> Any:
    w = np.ones(3)
    for _ in range(3):
        w = w - 0.05 * slope_of_loss(w, k)
    return np.sum(w * w)


def of_partials(k: Any) -> Any:
    slope = functools.partial(gradient, functools.partial(loss, k=k), argnums=0)
    w = np.ones(3)
    for _ in range(3):
        w = w - 0.05 * slope(w)
    return np.sum(w * w)


def by_newton(k: Any) -> Any:
    w = 0.2 * X
    for _ in range(3):
        H = hessian(loss, w, k, argnums=0)
        w = w - 0.5 * np.linalg.solve(H + np.eye(3), gradient(loss, w, k, argnums=0))
    return np.sum(w**2)


def by_gauss_newton(x: Any) -> Any:
    w = np.zeros(3)
    for _ in range(3):
        J = jacobian(lambda w: A @ np.sin(w * x) - B, w)
        w = w - np.linalg.solve(J.T @ J + np.eye(3), J.T @ (A @ np.sin(w * x) - B))
    return np.sum(w * w)


def of_jacobians(x: Any) -> Any:
    total, k = 0.0, 0.7
    for i in range(3):
        by_x, by_k = jacobian(field, x, k, argnums=(0, 1))
        x = x + 0.1 * by_x @ by_k + 0.1 * jacfwd(field)(x, k) @ x
        total = total + np.sum(jacobian(grad(loss), x, 0.1 * i, argnums=0) ** 2)
    return total * 1e-3 + np.sum(x)


def of_products(x: Any) -> Any:
    for _ in range(3):
        y, dot = jvp(lambda x: field(x, 0.5), (x,), (x * x,))
        v = hvp(loss, x, y, 0.1) + vhp(loss, x, dot, 0.1)
        x = x - 1e-3 * v + 1e-4 * jvp(grad(loss), (x, 0.1), (v, 0.2))[1]
    return np.sum(x * dot)


def of_pullbacks(x: Any) -> Any:
    k = 0.8
    for _ in range(3):
        y, back = vjp(field, x, k)
        by_x, by_k = back(y * y)
        k = k - 0.1 * by_k
        y, back = pullback(lambda x: field(x, k), x)  # noqa: B023 - called at once
        x = x - 0.1 * by_x + 0.1 * back(y)
    return np.sum(x) * k


def of_numbers(k: Any) -> Any:
    x = 1.5
    for _ in range(4):
        y, slope = value_and_gradient(lambda x: math.exp(x) - k * x - 2.0, x)
        bend = derivative(grad(lambda x: math.exp(x) - k * x), x)
        x = x - 2.0 * y * slope / (2.0 * slope**2 - y * bend)
    return x


def net(p: Any, x: Any) -> Any:
    return np.sum(np.tanh(x * p["w"] + p["b"]) ** 2) * p["scale"]


def of_dicts(x: Any) -> Any:
    params = {"w": x, "b": np.zeros(3), "scale": 0.5}
    for _ in range(4):
        g = gradient(net, params, x, argnums=0)
        params = {name: params[name] - 0.1 * g[name] for name in params}
    return net(params, x)


def of_dicts_written_into(x: Any) -> Any:
    params = {"w": x, "b": 0.5}
    for _ in range(4):
        value, g = value_and_gradient(lambda p: np.sum((p["w"] * x + p["b"]) ** 2), params)
        params["w"] = params["w"] - 0.1 * g["w"]
        for name in params:
            params[name] -= 0.1 * g[name]
    return value + np.sum(params["b"])


def of_layers(x: Any) -> Any:
    def out(layers: Any, x: Any) -> Any:
        for w, b in layers:
            x = np.tanh(w * x + b)
        return np.sum(x * x)

    layers = [(x, np.zeros(3)), (0.5 * x, np.ones(3))]
    for _ in range(3):
        by = gradient(out, layers, x, argnums=0)
        layers = [(w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(layers, by, strict=True)]
    return out(layers, x)


class Model:
    def __init__(self, x: Any, k: Any) -> None:
        self.x = x
        self.k = k

    def predict(self, w: Any) -> Any:
        return np.tanh(self.x * w)

    def loss(self, w: Any) -> Any:
        return np.sum((self.predict(w) - 0.3) ** 2) + self.k * np.sum(w * w)


def of_methods(x: Any) -> Any:
    model, w = Model(x, 0.1), np.ones(3)
    for _ in range(4):
        value, g = value_and_gradient(model.loss, w)
        w = w - 0.1 * g
    return np.sum(w) + value


FIXED = Model(X, 0.2)


def of_an_outside_object(x: Any) -> Any:
    for _ in range(4):
        x = x - 0.1 * gradient(lambda w: FIXED.loss(w) * FIXED.k, x)
    return np.sum(x)


def of_auxiliary_values(x: Any) -> Any:
    def measured(w: Any, k: Any) -> Any:
        r = np.sin(w) * k
        return r @ r, (np.mean(w), r)

    total = 0.0
    for _ in range(3):
        (value, (mean, r)), g = value_and_grad(measured, has_aux=True)(x, 0.7)
        by, aux = gradient(measured, x, 0.5, argnums=0, has_aux=True)
        x = x - 0.1 * g + 0.1 * r - 0.1 * by
        total = total + value * mean + aux[0]
    return total


def of_defaults(x: Any) -> Any:
    def bowl(w: Any, k: Any = 0.5, *, power: Any = 2.0) -> Any:
        return k * np.sum(np.abs(w) ** power)

    for _ in range(3):
        g = gradient(bowl, x)
        x = x - 0.1 * g - 0.1 * gradient(bowl, x, k=0.2, power=3.0) * np.sum(g)
    return np.sum(x)


def of_captured_tuples(x: Any) -> Any:
    data, w = (x, 0.3), np.ones(3)
    for _ in range(3):
        w = w - 0.1 * gradient(lambda w: np.sum((data[0] * w) ** 2) * data[1], w)
    return np.sum(w)


class Point(NamedTuple):
    w: Any
    b: Any


def of_named_tuples(x: Any) -> Any:
    p = Point(x, 0.5)
    for _ in range(3):
        g = gradient(lambda p: np.sum(p.w**2 * p.b) + p.b**3, p)
        p = Point(p.w - 0.1 * g.w, p.b - 0.1 * g.b)
    return np.sum(p.w) * p.b


def of_what_has_no_gradient(x: Any) -> Any:
    p = {"w": x, "power": 3, "name": "cubic"}
    for _ in range(3):
        g = gradient(lambda p: np.sum(p["w"] ** p["power"]), p)
        p = {"w": p["w"] - 0.1 * g["w"], "power": 3, "name": "cubic"}
    return np.sum(p["w"])


def of_inner_functions_with_defaults(x: Any) -> Any:
    def scaled(a: Any, b: Any = x, *, c: Any = 2.0) -> Any:
        return np.sum(a * b) * c

    for _ in range(3):
        x = x - 0.1 * gradient(lambda w: scaled(w) ** 2 + scaled(w, w, c=x[0]), x)  # noqa: B023
    return np.sum(x)


def of_what_the_function_catches(x: Any) -> Any:
    for i in range(3):
        try:
            g = gradient(lambda w: np.sum(np.linalg.solve(i * A[:3], w)), x)  # noqa: B023
        except np.linalg.LinAlgError:
            g = x * x
        x = x - 0.1 * g
    return np.sum(x * x)


def of_float32(x: Any) -> Any:
    w = np.ones(3, np.float32)
    for _ in range(3):
        value, g = value_and_gradient(lambda w: np.sum((w * x) ** 2), w)
        H = hessian(lambda w: np.sum(w**3 * x), w)
        w = w - np.float32(0.1) * g + np.float32(0.01) * H @ w
    return value + np.sum(w)


READ: list[tuple[Callable, Any]] = [
    (with_momentum, 0.3), (of_curried_functions, 0.3), (of_a_global_gradient, 0.3),
    (of_partials, 0.3), (by_newton, 0.3), (by_gauss_newton, X), (of_jacobians, X),
    (of_products, X), (of_pullbacks, X), (of_numbers, 2.0), (of_dicts, X),
    (of_dicts_written_into, X), (of_layers, X), (of_methods, X), (of_an_outside_object, X),
    (of_auxiliary_values, X), (of_defaults, X), (of_captured_tuples, X),
    (of_named_tuples, X), (of_what_has_no_gradient, X), (of_inner_functions_with_defaults, X),
    (of_float32, X.astype(np.float32)),
]  # fmt: skip


@pytest.mark.parametrize("f, x", READ)
def test_programs_give_what_tracing_gives(
    f: Callable, x: Any, traced: Callable, runs: list[str]
) -> None:
    expected, rtol = traced(f, x), 1e-5 if f is of_float32 else 1e-9
    found = gradient(f, x)
    assert f.__name__ in runs
    assert type(found) is type(expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found, expected, rtol=rtol)
    autodiff.automatic_compile(True)  # the inner derivatives become programs of their own
    for _ in range(20):
        np.testing.assert_allclose(gradient(f, x), expected, rtol=rtol)


@pytest.mark.parametrize("f, x", READ[:-1])
def test_differences_agree(f: Callable, x: Any) -> None:
    h, direction = 1e-5, np.cos(np.arange(np.size(x))).reshape(np.shape(x))
    slope = (f(x + h * direction) - f(x - h * direction)) / (2 * h)
    np.testing.assert_allclose(np.sum(gradient(f, x) * direction), slope, rtol=1e-6)


@pytest.mark.parametrize("f, x", READ[:-1])
def test_both_modes(f: Callable, x: Any, traced: Callable) -> None:
    dot = np.cos(np.arange(np.size(x))).reshape(np.shape(x))
    _, pushed = autodiff.jvp(f, (x,), (dot if np.ndim(x) else 1.0,))
    np.testing.assert_allclose(pushed, np.sum(gradient(f, x) * dot), rtol=1e-9)


@pytest.mark.parametrize("backend", ["python", "auto"])
@pytest.mark.parametrize("f, x", READ[:-1])
def test_compiled(f: Callable, x: Any, backend: str, traced: Callable) -> None:
    compiled = compile(lambda x: gradient(f, x), backend=backend)
    for given in (x, 0.9 * x, x):
        np.testing.assert_allclose(compiled(given), traced(f, given), rtol=1e-9)


def changed_before_the_pullback(x: Any) -> Any:
    total = 0.0
    for _ in range(2):
        y, back = vjp(lambda x: np.sum(np.sin(x)), x)
        x[0] = 2.0
        total = total + np.sum(back(y)[0])
    return total


def searched(t: Any) -> Any:
    y = 0.5
    for _ in range(3):
        y = y - 0.1 * gradient(lambda w: w * w if w > t else w, y)
    return y


@pytest.mark.parametrize(
    "f, x", [(changed_before_the_pullback, X), (searched, 0.3), (of_what_the_function_catches, X)]
)
def test_what_is_more_than_a_derivative_is_traced(
    f: Callable, x: Any, traced: Callable, runs: list[str]
) -> None:
    expected = traced(lambda x: f(x * 1.0), x)
    np.testing.assert_allclose(gradient(lambda x: f(x * 1.0), x), expected, rtol=1e-12)
    assert f.__name__ not in runs
