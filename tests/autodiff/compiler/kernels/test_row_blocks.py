"""Nests that run for a few rows at a time give what the same calls give on whole arrays."""

import numpy as np
import pytest

from autodiff import compile, gradient, jvp, value_and_gradient
from autodiff.compiler.kernels import row_blocks

RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Have arrays of 100 elements computed in blocks of about 32."""
    monkeypatch.setattr(row_blocks, "LARGE", 100)
    monkeypatch.setattr(row_blocks, "BLOCK", 64)


def softmax(x, w):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.sum(e / np.sum(e, axis=1, keepdims=True) * w)


def columns(x, w):
    m = np.max(x, axis=0)
    return np.sum(m + np.log(np.sum(np.exp(x - m) * np.exp(w), axis=0)))


def layer_norm(x, w):
    away = x - np.mean(x, axis=1, keepdims=True)
    return np.sum((away / np.sqrt(np.var(x, axis=1, keepdims=True) + 1e-3) * w[0] + w[1]) ** 2)


def spread(x, w):
    return np.sum(np.std(x, axis=0) * w[0]) + np.var(x * w) + np.mean(x)


def extrema(x, w):
    y = np.abs(x * w)
    return np.max(y) + np.min(y + 1.0) + np.sum(np.min(y, axis=1)) + np.max(np.sum(y, axis=1))


def distances(x, w):
    d = np.sum((x[:, None, :] - w[None, :5, :]) ** 2, axis=-1)
    return np.sum(np.exp(-0.5 * d))


def products(x, w):
    d = np.sum(x**2, axis=1)[:, None] - 2 * x @ w.T
    return np.sum(np.tanh(d @ w))


def network(x, w):
    h = np.tanh(x @ w.T[:, :6])
    return np.mean((h @ w[0, :6] - x[:, 0]) ** 2)


def huber(x, w):
    r = (x - w).ravel()
    a = np.abs(r)
    return np.mean(np.where(a < 1, 0.5 * r**2, a - 0.5))


def writes(x, w):
    y = np.square(x) * w
    y[:, 0] = np.sum(y, axis=1)
    y[:, 1:3] += 1.0
    return np.sum(y / np.sqrt(1.0 + y**2) * np.reshape(y, (-1, *y.shape[1:])))


def views(x, w):
    y = np.exp(-(x**2)).T * w.T
    z = np.swapaxes(y[None, ::-1], 0, 2)
    return np.sum(np.squeeze(z, axis=2) * x) + np.sum(np.mean(z, axis=1) ** 2)


def masked(x, w):
    y = x * w
    is_large = (y > 0.2) & ~(y > 0.8)
    shown = np.where(np.any(is_large, axis=1, keepdims=True), y, 0.5 * y)
    return np.sum(np.clip(shown, -1.0, 1.0) * np.where(np.all(y < 9.0), y, 0.0))


def matrices_times_vectors(x, w):
    y = 1.5 * x @ w[0] + np.outer(w[:, 0], x[0]) @ w[1] + (w * 1.2) @ x[1]
    return np.sum(y * y)


def padded(x, w):
    y = 2.0 * np.pad(x, ((1, 2), (0, 1)))  # cheap: nests that need it again compute it again
    p = np.exp(y) / np.sum(np.exp(y), axis=1, keepdims=True)
    inside = x[1:-1, 1:] * w[:-2, 1:]
    far = inside / np.sqrt(1.0 + np.sum(inside**2, axis=1, keepdims=True)) - x[:-2, :-1]
    return np.sum(p * y) + np.sum(far * np.max(far, axis=1, keepdims=True))


def elementwise(x, w):
    y = np.tanh(x * w)
    turned = (y * y).T  # a view, which is read after others have been computed
    z = np.exp(-x * x) * y / (1.0 + y * y)
    return np.sum(z) + np.sum(np.sqrt(1.0 + turned * turned) * w.T)


PROGRAMS = [
    elementwise, softmax, columns, layer_norm, spread, extrema, distances, products, network, huber,
    writes, views, masked, matrices_times_vectors, padded,
]  # fmt: skip
# Rows that are a multiple of a tile, and such that are not; few long ones, many short ones.
SHAPES = [(40, 8), (43, 8), (67, 11), (8, 40), (9, 63)]


def leaves(x):
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, tuple) else [x]


def given(shape, rng=RNG):
    return rng.normal(size=shape), rng.normal(size=shape) + 1.5


def check(f, args, rtol=1e-9):
    """Compare a compiled function with the function; return the compiled one."""
    compiled = compile(f, backend="native")
    for _ in range(3):
        for mine, theirs in zip(leaves(compiled(*args)), leaves(f(*args)), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol / 100)
            assert np.shape(mine) == np.shape(theirs)
            assert type(mine) is type(theirs)
            assert getattr(mine, "dtype", None) == getattr(theirs, "dtype", None)
    assert compiled.eager_because is None
    return compiled


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("f", PROGRAMS)
def test_values_and_gradients(f, shape, interpreted):
    check(f, given(shape))
    check(lambda x, w: value_and_gradient(f, x, w), given(shape))
    assert interpreted


IN_BLOCKS = [softmax, columns, layer_norm, spread, network]


@pytest.mark.parametrize("f", IN_BLOCKS)
def test_by_machine_code(f):
    pytest.importorskip("llvmlite")
    compiled = check(lambda x, w: value_and_gradient(f, x, w), given((43, 8)))
    assert "for block in" in compiled.source


@pytest.mark.parametrize("f", [softmax, layer_norm, spread, extrema, products, huber, writes])
def test_float32(f):
    pytest.importorskip("llvmlite")
    rng = np.random.default_rng(4)  # numbers for which float32 is exact enough
    args = tuple([x.astype(np.float32) for x in given((43, 8), rng)])
    check(lambda x, w: value_and_gradient(f, x, w), args, rtol=2e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(43, 8), (1030, 1024)])
def test_counts_of_ties_are_floats_of_the_kernel(shape, dtype):
    pytest.importorskip("llvmlite")

    def f(x):
        return np.sum(np.max(x, axis=1) ** 2)

    x = np.round(np.random.default_rng(5).normal(size=shape) * 2).astype(dtype)
    compiled = check(lambda x: gradient(f, x), (x,), rtol=2e-6)
    assert "count_nonzero" not in compiled.source


@pytest.mark.parametrize("shape", [(3, 4, 5, 16), (2, 1, 30, 9), (5, 3, 70), (2, 3, 4, 5, 6)])
@pytest.mark.parametrize("axis", [-1, -2, (-1, -2), 0])
def test_rows_along_several_axes(shape, axis, interpreted):
    def f(x, w):
        e = np.exp(x - np.max(x, axis=axis, keepdims=True)) * w[:1]
        p = e / np.sum(e, axis=axis, keepdims=True)
        q = p - np.mean(p * w, axis=-1, keepdims=True)
        return np.sum(q * q * w) + np.sum(np.sum(p, axis=0) ** 2)

    check(f, given(shape))
    check(lambda x, w: value_and_gradient(f, x, w), given(shape))
    assert any("for block in" in kernel.source for kernel in interpreted)


@pytest.mark.parametrize("f", [softmax, products, writes])
def test_other_layouts_and_forward_mode(f, interpreted):
    x, w = given((43, 8))
    compiled = compile(
        lambda x, w: (f(x, w), gradient(f, x, w), jvp(f, (x, w), (w, x))), backend="native"
    )
    for a in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1]):
        expected = f(a, w), gradient(f, a, w), jvp(f, (a, w), (w, a))
        for mine, theirs in zip(leaves(compiled(a, w)), leaves(expected), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("f", [softmax, columns, extrema, masked])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite(f, bad, interpreted):
    x, w = given((43, 8))
    x[17, 3] = bad
    with np.errstate(all="ignore"):
        compiled = compile(f, backend="native")
        for _ in range(3):
            np.testing.assert_allclose(compiled(x, w), f(x, w), rtol=1e-9)


@pytest.mark.parametrize("shape", [(3, 4, 5, 16), (2, 1, 30, 9), (5, 3, 70)])
def test_padded_along_several_axes(shape, interpreted):
    def f(x, w):
        y = 2.0 * np.pad(x, [(k % 2, 1) for k in range(len(shape))])
        z = y / (2.0 + np.max(y, axis=-1, keepdims=True) ** 2)
        return np.sum(np.exp(z) / np.sum(np.exp(z), axis=-1, keepdims=True) * y) + np.sum(
            x[:, 1:] ** 2
        )

    check(lambda x, w: value_and_gradient(f, x, w), given(shape))


def test_a_row_that_reads_other_rows_waits(interpreted):
    def f(x, w):
        y = np.exp(x - np.max(x, axis=1, keepdims=True)) * np.mean(w, axis=1, keepdims=True)
        z = y[::-1] / np.sum(y, axis=1, keepdims=True)
        return np.sum(z * y / np.sum(np.roll(z, 1, axis=0), axis=1, keepdims=True))

    check(lambda x, w: value_and_gradient(f, x, w), given((43, 8)))


def test_an_array_read_along_both_axes(interpreted):
    def f(x):
        return np.sum(np.exp(-((x[:, None] - x[None, :]) ** 2)) * np.cos(x)[:, None])

    def diagonal(x):
        y = np.exp(x[:, None] * x)
        return np.sum(np.diagonal(y)) + np.sum(np.sum(y, axis=1) * np.diag(y))

    for g in (f, diagonal):
        check(lambda x, g=g: value_and_gradient(g, x), (RNG.normal(size=24),))
