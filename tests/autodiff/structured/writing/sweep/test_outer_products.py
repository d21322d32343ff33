"""Matrices times vectors in loops: what their sweeps add is summed many at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import checkpoint_loops, gradient
from autodiff.structured import blas_sums, calls
from autodiff.structured.runtime import Structured
from tools.fuzz import generators, judge


def recurrent(w: Any, u: Any, x: Any) -> Any:
    h = np.zeros(6)
    for t in range(7):
        h = np.tanh(w @ h + x * u[t % 6])
    return np.sum(h**2)


def parts_of_a_matrix(w: Any, u: Any, x: Any) -> Any:
    total = 0.0
    for i in range(6):
        row = w[:, i] @ w[:, i:]
        column = w[i:, i:] @ x[i:]
        total += np.sum(row**2) + np.sum(np.sin(column)) + np.sum(w.T[i:] @ x)
    return total


def rows_of_stacks(w: Any, u: Any, x: Any) -> Any:
    k = np.array([u, w])
    s = 0.0
    for i in range(5):
        for j in range(2):
            x = np.tanh(k[j] @ x) + w[::-1, ::2] @ x[:3]
            s = s + np.dot(x, u)[i]
    return s


def written_in_the_loop(w: Any, u: Any, x: Any) -> Any:
    for i in range(5):
        x = np.sin(w @ x)
        w[i] = w[i] * x + u[i]
        for _ in range(3):
            x = np.tanh(u @ x + w @ x)
    return np.sum(w * u) + np.sum(x)


def bound_anew(w: Any, u: Any, x: Any) -> Any:
    n = 0
    while n < 6:
        n += 1
        w, u = u, w
        x = np.tanh(w @ x)
        if n % 2:
            u = u * 0.9
            x = x @ u
    return np.sum(x**2) + np.sum(w)


def vectors_that_are_overwritten(w: Any, u: Any, x: Any) -> Any:
    y = x * 1.0
    for i in range(6):
        y[1:] = (w @ y)[1:] * 0.5
        y[0] = y[3] * x[i]
    return y @ u @ y


def outside_of_a_loop(w: Any, u: Any, x: Any) -> Any:
    y = w @ x + (x @ w) * (u @ x)
    for i in range(3):
        y[i] = y[i + 1] * x[i]
    z = w[1:, :3] @ y[:3] if y[0] > -9.0 else u @ y
    u *= 0.5
    return y @ (w @ y) + z @ z + np.sum(u @ y)


KERNELS = (recurrent, outside_of_a_loop, parts_of_a_matrix, rows_of_stacks, written_in_the_loop,
           bound_anew, vectors_that_are_overwritten)  # fmt: skip


def _arguments(dtype: Any = float) -> tuple:
    w = 0.4 * np.cos(0.7 * np.arange(36.0)).reshape(6, 6)
    u = 0.5 * np.sin(1.3 * np.arange(36.0)).reshape(6, 6)
    return w.astype(dtype), u.astype(dtype), np.cos(np.arange(6.0)).astype(dtype)


def _loss(kernel: Callable) -> Callable:
    return lambda w, u, x: kernel(w * 1.0, u * 1.0, x * 1.0)


@pytest.mark.parametrize("most", [1, 2, 5, 32])
@pytest.mark.parametrize("kernel", KERNELS)
def test_sums(
    kernel: Callable, most: int, traced: Callable, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blas_sums, "_LEAST", 0)
    monkeypatch.setattr(blas_sums, "_MOST", most)
    monkeypatch.delattr(calls.ProgramRun, "traced")
    for dtype, tolerance in ((float, 1e-11), (np.float32, 1e-4)):
        found = gradient(_loss(kernel), *_arguments(dtype))
        expected = traced(_loss(kernel), *_arguments(dtype))
        for x, y in zip(found, expected, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
    assert kernel.__name__ in runs


@pytest.mark.parametrize("kernel", KERNELS)
def test_sums_in_checkpointed_loops(
    kernel: Callable, traced: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blas_sums, "_LEAST", 0)
    found = gradient(_loss(checkpoint_loops(kernel)), *_arguments())
    for x, y in zip(found, traced(_loss(kernel), *_arguments()), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    "kernel, depths", [(recurrent, [4]), (written_in_the_loop, [4, 8]), (outside_of_a_loop, [4])]
)
def test_only_loops_that_add_alone_collect(kernel: Callable, depths: list[int]) -> None:
    """The matrix that the outer loop writes into is collected for the inner one.

    Outside of loops, products with one matrix are collected together, those with parts of it too,
    but not those with one that is written into.
    """
    program = Structured(kernel, (None,) * 3, _arguments(), (0, 1, 2))
    lines = [x for x in program.source.splitlines() if "OuterSum()" in x]
    assert [len(x) - len(x.lstrip()) for x in lines] == depths


def products_with_columns(w: Any, u: Any, x: Any) -> Any:
    s = 0.0
    for i in range(6):
        for j in range(2):
            y = w[i:, j] @ u[i:, :] + u[:, j:] @ w[j:, i]
            s = s + np.sum(y[1:] ** 2) + (u[:2, j:] @ x[j:])[1]
    return s


def products_with_what_is_written(w: Any, u: Any, x: Any) -> Any:
    y = 0.0 * x
    for i in range(6):
        for j in range(2):
            y[i] += np.sum(u[i:, :] @ w[:, j])  # the sweep of the outer loop reads the shadow of w
        w[i, :] = np.sin(u @ x)
        u[i, 0] = 0.3 * y[i]  # and writes into u
    return np.sum(w * u) + y @ y


@pytest.mark.parametrize("kernel", [products_with_columns, products_with_what_is_written])
@pytest.mark.parametrize("most", [1, 4, 32])
def test_products_with_parts_of_a_matrix(
    kernel: Callable, most: int, traced: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blas_sums, "_LEAST", 0)
    monkeypatch.setattr(blas_sums, "_MOST", most)
    found = gradient(_loss(kernel), *_arguments())
    for x, y in zip(found, traced(_loss(kernel), *_arguments()), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    "kernel, depths", [(products_with_columns, [4, 4]), (products_with_what_is_written, [8])]
)
def test_only_loops_that_leave_both_alone_collect_products(
    kernel: Callable, depths: list[int]
) -> None:
    """The matrix is not written into, and nothing reads the shadow that is added to."""
    program = Structured(kernel, (None,) * 3, _arguments(), (0, 1, 2))
    lines = [x for x in program.source.splitlines() if "= ProductSum(" in x]
    assert [len(x) - len(x.lstrip()) for x in lines] == depths


@pytest.mark.parametrize("axis", [0, 1])
def test_products_are_collected_in_any_order(axis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that are far away, of other matrices, or on other axes; vectors that are columns."""
    monkeypatch.setattr(blas_sums, "_LEAST", 4)
    matrices = [np.cos(np.arange(400.0)).reshape(20, 20), np.sin(np.arange(60.0)).reshape(10, 6)]
    matrices[0][3, 3] = np.nan  # which is in no part
    matrices.append(np.cos(np.arange(24.0)).reshape(4, 6).T)
    found, expected = np.zeros((20, 12)), np.zeros((20, 12))
    taken = blas_sums.ProductSum(axis)
    for k in range(12):
        matrix = matrices[k % 5 // 3 if k != 7 else 2]
        part = matrix[4 + k % 4 - matrix.shape[0] : None if k % 2 else 5, k % 3 : 4 + k % 3]
        x = np.cos(np.arange(float(part.shape[axis])))
        taken.append(found[: part.shape[1 - axis], k], part, x)
        expected[: part.shape[1 - axis], k] += part @ x if axis else x @ part
        x[:] = 99.0
    taken.add_all()
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("order", ["C", "F"])
def test_small_matrices_are_collected_as_a_whole(order: Any) -> None:
    """The first products are added at once, parts in between too."""
    found, expected = np.zeros((3, 5), order=order), np.zeros((3, 5))
    other, others = np.zeros((4, 4)), np.zeros((4, 4))
    taken = blas_sums.OuterSum()
    at_once = []
    for k in range(200):
        x, y = np.cos(np.arange(3.0) + k), np.sin(np.arange(5.0) * k)
        taken.append(found, x, y)
        at_once.append(not taken.count)
        expected += np.outer(x, y)
        x[:] = 9.0
        if k % 70 == 69:
            taken.append(found[1:, 2:], y[:2], y[2:])
            taken.append(other, y[:4], y[:4])
            expected[1:, 2:] += np.outer(y[:2], y[2:])
            others += np.outer(y[:4], y[:4])
        y[:] = 9.0
    taken.add_all()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(other, others, rtol=1e-12, atol=1e-12)
    assert order == "F" or not any(at_once[10:60])


def test_products_of_vectors_that_do_not_fit() -> None:
    taken, matrix = blas_sums.ProductSum(1), np.ones((40, 40))
    with pytest.raises(ValueError, match="mismatch"):
        taken.append(np.zeros(40), matrix, np.ones(39))
    with pytest.raises(ValueError, match="broadcast"):
        taken.append(np.zeros(39), matrix, np.ones(40))
    with pytest.raises(ValueError, match="broadcast"):
        blas_sums.OuterSum().append(matrix, np.ones(39), np.ones(40))


def test_a_product_that_is_not_finite_is_left_to_the_rules(traced: Callable) -> None:
    def kernel(w: Any, x: Any) -> Any:
        for _ in range(3):
            x = np.sqrt(w @ x)
        return np.sum(x)

    w, x = np.eye(40), np.zeros(40)
    x[:3] = 1.0
    with np.errstate(all="ignore"):
        found, expected = gradient(kernel, w, x), traced(kernel, w, x)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("rows", [slice(None), slice(2, 7), slice(None, None, 2)])
@pytest.mark.parametrize("columns", [slice(None), slice(1, 4)])
def test_products_are_added_in_place(order: Any, rows: slice, columns: slice) -> None:
    whole = np.ones((9, 5), order=order)
    expected = whole.copy()
    y = whole[rows, columns]
    left, right = np.cos(np.arange(2.0 * len(y))).reshape(2, -1), np.ones((2, y.shape[1]))
    expected[rows, columns] += left.T @ right
    blas_sums._add_product(y, left, right)
    np.testing.assert_allclose(whole, expected, rtol=1e-15)


@pytest.mark.parametrize("name", ["loops", "lists"])
def test_generated(
    name: str, traced: Callable, runs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blas_sums, "_LEAST", 0)
    monkeypatch.setattr(blas_sums, "_MOST", 3)
    for seed in range(500, 540):
        f, arguments = judge.load(generators.write(name, seed))
        with np.errstate(all="ignore"):
            try:
                expected = traced(f, *judge.fresh(arguments))
            except Exception:
                continue
            calls.Settings.worth = calls.Settings.least = -1.0
            found = gradient(f, *judge.fresh(arguments))
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11, err_msg=f"seed {seed}")
    assert runs
