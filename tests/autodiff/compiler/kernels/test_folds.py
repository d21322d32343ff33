"""Sums, extrema and products along any axes, of arrays that lie in memory in any order."""

import itertools

import numpy as np
import pytest

from autodiff import compile, gradient
from autodiff.compiler.kernels import row_blocks

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((3, 4, 5)), RNG.standard_normal((3, 4, 5))
AXES = [None, 0, 1, -1, (0, 1), (0, 2), (1, 2), (0, 1, 2)]
VIEWS = {
    "whole": lambda x: x,
    "transposed": lambda x: x.transpose(1, 2, 0),
    "strided": lambda x: x[:, ::-2, 1:4],
    "repeated": lambda x: np.broadcast_to(x[:, :1], (3, 4, 5)),
    "computed": np.sin,
    "computed and transposed": lambda x: np.sin(x).T,
    "short": lambda x: x[:1, :, :1],
}
FOLDS = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": lambda x, **options: np.min(x, initial=0.1, **options),
    "var": np.var,
    "any": lambda x, **options: 1.0 * np.any(x > 0.7, **options),
}


def program(view, fold):
    def f(x):
        total = 0.0
        for axis, keeps in itertools.product(AXES, (False, True)):
            y = fold(view(x), axis=axis, keepdims=keeps)
            total = total + np.sum(y * y) + np.sum(fold(view(x) * 1.5, axis=axis))
        return total

    return f


def check(f, points):
    for g in (f, lambda x: gradient(f, x)):
        compiled = compile(g, backend="native")
        for x in points:
            with np.errstate(invalid="ignore"):
                expected = g(x)
            np.testing.assert_allclose(compiled(x), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("fold", FOLDS.values(), ids=FOLDS)
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_along_axes(view, fold, interpreted):
    check(program(view, fold), [X, 2.0 * Y])
    assert interpreted


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_nan_is_an_extremum(view, name, interpreted):
    x = X.copy()
    x[1, 0, 2] = np.nan

    def f(x):
        return np.concatenate(
            [np.ravel(FOLDS[name](view(x) * 0.5 + 1.0, axis=axis)) for axis in AXES]
        )

    compiled = compile(f, backend="native")
    for point in (X, x, X):
        np.testing.assert_array_equal(compiled(point), f(point))
    assert interpreted


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_as_machine_code(view):
    pytest.importorskip("llvmlite")
    check(program(view, np.sum), [X, 2.0 * Y])
    check(program(view, np.max), [X, 2.0 * Y])


PRODUCTS = {
    "rows": lambda a, b: a @ b,
    "columns": lambda a, b: b.T @ a.T,
    "strided rows": lambda a, b: a[::2, ::-1] @ b[::-1],
    "a vector": lambda a, b: a @ b[:, 0],
    "a vector from the left": lambda a, b: b[:, 1] @ a.T,
    "transposed, with a vector": lambda a, b: a.T @ a[:, 0],
    "an inner product": lambda a, b: np.vdot(a, a) * np.dot(a[0], b[:, 2]) * np.inner(a[1], a[2]),
    "terms in fours": lambda a, b: np.einsum("ij,jk->ki", a, b),
    "stacks": lambda a, b: np.stack([a, 0.5 * a]) @ b,
}


@pytest.mark.parametrize("size", [(6, 8, 5), (20, 24, 16), (7, 37, 19)], ids=str)
@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
def test_products(product, size, interpreted):
    n, k, m = size
    a, b = RNG.standard_normal((n, k)), RNG.standard_normal((k, m))

    def f(a, b):
        y = np.tanh(product(a, b))
        return np.sum(y * y) + np.sum(np.sin(a)) + np.sum(np.cos(b))

    compiled = compile(lambda a, b: gradient(f, a, b), backend="native")
    for found, expected in zip(compiled(a, b), gradient(f, a, b), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)
    assert interpreted


ORDERS = {
    "reversed": lambda d: d[::-1],
    "a column": lambda d: d[:, :1],
    "moved": lambda d: np.concatenate([d[1:], d[:1]]),
    "transposed": lambda d: d.T,
    "a part": lambda d: np.pad(d[1:], ((0, 1), (0, 0))),
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("kind", ["one array", "two vectors"])
def test_cheap_operations_that_are_read_in_two_orders(order, kind, monkeypatch, interpreted):
    monkeypatch.setattr(row_blocks, "LARGE", 1)

    def f(x):
        d = 0.5 * x + 1.0 if kind == "one array" else x[0, :, None] + 0.5 * x[:, 1]
        y = order(d) * d
        return np.sum(y * d) + np.sum(np.sin(d)) + np.sum(d * order(d)) + np.max(y * y + d)

    check(f, [X[0, :, :4], Y[0, :, :4]])
    assert interpreted


@pytest.mark.parametrize("shape", [(4, 5), (400, 300)])
def test_cotangents_of_one_element_that_are_repeated(shape, interpreted):
    def f(x):
        d = x[0, : shape[0], None] * x[1, : shape[1]]
        return np.sum(d * d) + np.mean(np.sin(d), axis=0)[3]

    x = np.linspace(-1.0, 1.0, 800).reshape(2, 400)
    compiled = compile(lambda x: gradient(f, x), backend="native")
    np.testing.assert_allclose(compiled(x), gradient(f, x), rtol=1e-11, atol=1e-12)
    assert compiled.eager_because is None
    assert interpreted
