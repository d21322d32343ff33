"""Sums of outer products, which rules write for matrices times vectors, as products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff
from autodiff.compiler.passes.simplify import nan_of_product


def products(a: Any, x: Any) -> Any:
    y = a @ x
    return y @ (a @ y)


@pytest.mark.parametrize("n, is_product", [(20, False), (80, True)])
def test_two_outer_products_of_rules_are_one_product(n: int, is_product: bool) -> None:
    a = np.cos(np.arange(float(n * n))).reshape(n, n) / n
    x = np.sin(np.arange(float(n)))
    compiled = autodiff.compile(lambda a, x: autodiff.gradient(products, a, x))
    before = autodiff.gradient(products, a, x)
    for _ in range(3):
        for found, expected in zip(compiled(a, x), before, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    assert (".dot(" in compiled.source and "array([" in compiled.source) == is_product


@pytest.mark.parametrize("by_machine", [False, True])
def test_two_large_outer_products_stay_for_machine_code(by_machine: bool) -> None:
    """One pass over memory; BLAS, which takes two, is faster than NumPy's calls."""
    if by_machine:
        pytest.importorskip("llvmlite")
    a = np.cos(np.arange(400.0 * 400.0)).reshape(400, 400) / 400.0
    x = np.sin(np.arange(400.0))
    backend = "native" if by_machine else "python"
    compiled = autodiff.compile(lambda a, x: autodiff.gradient(products, a, x), backend=backend)
    before = autodiff.gradient(products, a, x)
    for _ in range(2):
        for found, expected in zip(compiled(a, x), before, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    assert ("array([" in compiled.source) != by_machine
    assert ("def kernel(" in compiled.source) == by_machine


def test_outer_products_of_the_user_keep_their_bits() -> None:
    def f(u: Any, v: Any) -> Any:
        return np.outer(u, v) + np.outer(v, u)

    u, v = np.cos(np.arange(100.0)), np.sin(np.arange(100.0)) * 3.3
    compiled = autodiff.compile(f)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(u, v), f(u, v))


@pytest.mark.parametrize("bad", [None, np.nan, np.inf, 1e200])
@pytest.mark.parametrize("where", ["x", "w"])
def test_a_large_product_is_searched_for_nan_by_its_factors(bad: float | None, where: str) -> None:
    """What is not finite is found all the same, and then zeros win over infinite slopes."""

    def loss(a: Any, x: Any, w: Any) -> Any:
        y = a @ x
        return np.sum(w * np.sqrt(np.where(y > 0, y, 0.0))) + np.sum((x @ a) * w)

    rng = np.random.default_rng(0)
    a, x, w = rng.normal(size=(80, 80)), rng.normal(size=80), rng.normal(size=80)
    compiled = autodiff.compile(lambda a, x, w: autodiff.gradient(loss, a, x, w))
    given = {"x": x, "w": w}
    with np.errstate(all="ignore"):
        for k in range(3):
            if k and bad is not None:
                given[where][7] = bad
            found, expected = compiled(a, x, w), autodiff.gradient(loss, a, x, w)
            for mine, theirs in zip(found, expected, strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-9)
    variants = compiled._variants[3]
    assert any(s.f is nan_of_product for v in variants for s in v.program.steps)


N = 9
A = np.cos(np.arange(float(N * N))).reshape(N, N) / 3
B = np.sin(np.arange(float(N * N))).reshape(N, N) / 3
ORDER = np.array([3, 1, 4, 0, 5, 8, 2, 6, 7])


def layers(x: Any) -> Any:
    return np.tanh(A @ np.tanh(B @ x))


def by_rows(x: Any) -> Any:
    return np.exp(-x * x) @ A - x


def in_parts(x: Any) -> Any:
    return np.concatenate([np.sin(x[:4]), x[4:] * x[3:8]])


def in_order(x: Any) -> Any:
    return x[ORDER] * np.tanh(x)


def with_an_element(x: Any) -> Any:
    y = x * x
    y[2] = x[3]
    return np.tanh(A @ y)


def of_a_choice(x: Any) -> Any:
    return np.where(x > 0, x * np.sum(x), x + B @ x)


FUNCTIONS = [layers, by_rows, in_parts, in_order, with_an_element, of_a_choice]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_rows_that_are_computed_alike_are_computed_together(f: Any) -> None:
    """Rows of Jacobians of gradients, and of Hessians, which are swept one by one."""

    def squares(x: Any) -> Any:
        return np.sum(f(x) ** 2)

    x = np.cos(np.arange(float(N)))
    slopes = autodiff.compile(lambda x: autodiff.jacobian(f, x))
    curvature = autodiff.compile(lambda x: autodiff.hessian(squares, x))
    for point in (x, x[::-1] * 0.7, -x):
        for _ in range(2):
            slope_rows = finite_differences(f, point)
            np.testing.assert_allclose(slopes(point), slope_rows, rtol=1e-6, atol=1e-8)
            rows = finite_differences(lambda x: autodiff.gradient(squares, x), point)
            np.testing.assert_allclose(curvature(point), rows, rtol=1e-6, atol=1e-7)


def finite_differences(f: Any, x: np.ndarray) -> np.ndarray:
    """Return the Jacobian by central differences."""
    steps = 1e-6 * np.eye(len(x))
    return np.stack([(f(x + h) - f(x - h)) / 2e-6 for h in steps], axis=-1)


def test_a_layered_function_has_a_jacobian_without_a_step_for_each_row() -> None:
    compiled = autodiff.compile(lambda x: autodiff.jacobian(layers, x), backend="python")
    compiled(np.cos(np.arange(float(N))))
    assert compiled.source.count(" = ") < 4 * N


def test_a_jacobian_with_nan_in_one_row_is_found() -> None:
    """One check of all rows, after which zeros win over infinite slopes."""

    def f(x: Any) -> Any:
        return A @ np.where(x > 0, np.sqrt(np.where(x >= 0, x, 1.0)), 0.0)

    compiled = autodiff.compile(lambda x: autodiff.jacobian(f, x))
    x = np.linspace(0.5, 2.0, N)
    with np.errstate(all="ignore"):
        for place in (None, 4, 0):
            if place is not None:
                x[place] = 0.0
            np.testing.assert_allclose(compiled(x), autodiff.jacobian(f, x), rtol=1e-12)


def test_the_jacobian_of_a_linear_function_is_its_argument() -> None:
    a = np.cos(np.arange(144.0)).reshape(12, 12)
    compiled = autodiff.compile(lambda a, x: autodiff.jacobian(lambda z: a @ z, x))
    for _ in range(2):
        np.testing.assert_array_equal(compiled(a, np.ones(12)), a)
    assert compiled.eager_because is None


PERMUTED = np.array([3, 1, 0, 5, 4, 2])


@pytest.mark.parametrize(
    "column, row",
    [
        (lambda v: v[:, None], lambda w: w[None]),
        (lambda v: v[..., None], lambda w: w),
        (lambda v: v[::-1, None], lambda w: w[None]),
        (lambda v: v[PERMUTED[:, None]], lambda w: w[None]),
        (lambda v: v[:, None], lambda w: w[None, ::-1]),
        (lambda v: v[:, None], lambda w: w[None, :1]),
    ],
)
def test_sums_of_products_of_columns_and_rows(column: Any, row: Any) -> None:
    def summed(v: Any, w: Any) -> Any:
        total = np.ones((6, 5)) * v[0, 0]
        for k in range(10):
            total = total + column(v[k]) * row(w[k])
        return total

    v, w = np.sin(np.arange(60.0)).reshape(10, 6), np.cos(np.arange(50.0)).reshape(10, 5)
    compiled = autodiff.compile(lambda v, w: summed(v, w))
    for _ in range(2):
        np.testing.assert_allclose(compiled(v, w), summed(v, w), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("n", [3, 8])
@pytest.mark.parametrize("index", [slice(0, 8), slice(2, 5), 4])
def test_a_stack_of_arrays_into_which_vectors_are_written(n: int, index: Any) -> None:
    rows = [np.sin(np.arange(n) + 0.1 * i) for i in range(8)]

    def stacked(x: Any) -> Any:
        arrays = []
        for row in rows:
            a = np.zeros((8, n))
            a[index] = x * row
            arrays.append(a)
        return np.stack(arrays)

    x = np.cos(np.arange(float(n)))
    compiled = autodiff.compile(lambda x: stacked(x))
    for _ in range(2):
        np.testing.assert_allclose(compiled(x), stacked(x), rtol=1e-14)


UNITS = np.eye(N)
ROWS_OF_UNITS = [
    lambda unit, x: unit * x,
    lambda unit, x: -(unit * x) * np.sin(x),
    lambda unit, x: unit * x + np.cos(x),
    lambda unit, x: (unit * x) @ A,
    lambda unit, x: unit @ np.outer(x, B[0]),
]


def test_rows_of_a_unit_matrix_times_nan_are_nan() -> None:
    def stacks(x: Any) -> Any:
        return [np.stack([row(UNITS[i], x) for i in range(N)]) for row in ROWS_OF_UNITS]

    compiled = autodiff.compile(stacks, backend="python")
    x = np.cos(np.arange(float(N)))
    for bad in (0.5, np.nan, np.inf, 0.7):
        x[4] = bad
        with np.errstate(all="ignore"):
            for found, expected in zip(compiled(x), stacks(x), strict=True):
                np.testing.assert_allclose(found, expected, atol=1e-14)
