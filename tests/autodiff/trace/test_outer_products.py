"""Sums of outer products: the cotangent of a matrix that many vectors are multiplied with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import gradient, hvp, jacobian
from autodiff.trace import outer_products
from autodiff.trace.outer_products import OuterProducts
from chainrules_core import frule, linear_rule, rrule
from tests.helpers import differences

rng = np.random.default_rng(0)
W = rng.standard_normal((3, 4)) / 2
X = rng.standard_normal((150, 4))


def steps(product: Callable, n: int) -> Callable:
    def f(w: Any) -> Any:
        h = np.zeros(3)
        for x in X[:n]:
            h = np.tanh(product(w, x) + 0.5 * h)
        return np.sum(h * h)

    return f


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 150])
@pytest.mark.parametrize(
    "product",
    [
        np.dot,
        np.matmul,
        lambda w, x: w @ x,
        lambda w, x: np.dot(x, w.T),
        lambda w, x: x @ w.T,
        lambda w, x: np.dot(w, x) + np.sum(w) * 0.1,  # another cotangent of the same matrix
        lambda w, x: np.sum(w * w) * 0.1 + w @ x,
    ],
)
def test_gradients_of_a_matrix_used_often(product: Callable, n: int) -> None:
    f = steps(product, n)
    np.testing.assert_allclose(gradient(f, W), differences(f, W), rtol=1e-5, atol=1e-8)


def test_in_single_precision() -> None:
    f, w = steps(np.dot, 70), W.astype(np.float32)
    slopes = gradient(f, w)
    assert slopes.dtype == np.float32
    np.testing.assert_allclose(slopes, differences(f, W), rtol=1e-3, atol=1e-5)


def test_of_complex_vectors_the_real_part_is_kept() -> None:
    def f(w: Any) -> Any:
        return np.sum(np.abs(np.dot(w, X[0] + 1j * X[1]) + np.dot(w, X[2])) ** 2)

    np.testing.assert_allclose(gradient(f, W), differences(f, W), rtol=1e-5)


def test_a_cotangent_that_is_shared_is_copied() -> None:
    def f(w: Any, v: Any) -> Any:
        y = np.dot(w, X[0])
        z = y + v  # y and v have one cotangent
        return np.sum(z * z) + np.sum(np.dot(w, X[1]) * v) + np.sum(v * v * v)

    v = np.array([0.3, 0.2, -0.4])
    w_bar, v_bar = gradient(f, W, v)
    np.testing.assert_allclose(w_bar, differences(lambda w: f(w, v), W), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(v_bar, differences(lambda v: f(W, v), v), rtol=1e-5, atol=1e-8)


def test_a_number_times_a_vector() -> None:
    v = np.array([0.3, 0.2, -0.4])
    for f in (lambda s, v: np.sum(np.dot(s, v) ** 2), lambda s, v: np.sum(np.dot(v, s) ** 2)):
        s_bar, v_bar = gradient(f, 2.0, v)
        np.testing.assert_allclose(s_bar, 4.0 * np.sum(v * v))
        np.testing.assert_allclose(v_bar, 8.0 * v)


def test_factors_of_other_shapes_are_left_to_the_adjoint() -> None:
    def product(w: Any, x: Any) -> Any:
        return np.dot(w, x)

    linear_rule(
        product,
        lambda y_bar, w, x: np.outer(y_bar, x),
        argnums=(0,),
        factors=(lambda y_bar, w, x: (y_bar, x[:2]),),
    )
    f = steps(product, 3)
    np.testing.assert_allclose(gradient(f, W), differences(f, W), rtol=1e-5, atol=1e-8)
    rrule.unregister(product)
    frule.unregister(product)


def test_an_intermediate_matrix() -> None:
    def f(w: Any) -> Any:
        matrix = np.tanh(w) * 2.0
        return np.sum(matrix @ X[0]) * np.sum(matrix @ X[1]) + np.sum(matrix)

    np.testing.assert_allclose(gradient(f, W), differences(f, W), rtol=1e-5, atol=1e-8)


def test_second_derivatives_and_jacobians() -> None:
    f, v = steps(np.dot, 5), np.ones_like(W)
    second = (gradient(f, W + 1e-6 * v) - gradient(f, W - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(hvp(f, W, v), second, rtol=1e-4, atol=1e-6)
    rows = jacobian(lambda w: np.dot(w, X[0]) + np.dot(w, X[1]), W)
    np.testing.assert_allclose(rows[1, 1], X[0] + X[1])
    np.testing.assert_array_equal(rows[1, 0], np.zeros(4))


def test_few_pairs_are_kept() -> None:
    sums = OuterProducts(np.ones(3), np.ones(4))
    for _ in range(2 * outer_products._MOST):
        sums.append(np.ones(3), np.ones(4))
        assert len(sums.left) < outer_products._MOST
    np.testing.assert_array_equal(sums._forced_(), np.full((3, 4), 2.0 * outer_products._MOST + 1))
