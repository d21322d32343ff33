"""Fusion groups executed tile by tile give what the same calls give on whole arrays."""

import importlib

import numpy as np
import pytest

from autodiff import compile, gradient, jvp, value_and_gradient
from autodiff.compiler.compile_errors import MISMATCH
from autodiff.compiler.tiling.tile_executor import Tiles

RNG = np.random.default_rng(3)
tiles = importlib.import_module("autodiff.compiler.tiling.tile_groups")
tile_runs = importlib.import_module("autodiff.compiler.tiling.tile_executor")


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Have arrays of 100 elements cut into tiles of 32, and machine code made at once."""
    monkeypatch.setattr(tiles, "LARGE", 100)
    monkeypatch.setattr(tiles, "LARGE_IF_MIXED", 100)
    monkeypatch.setattr(tile_runs, "TILE", 32)
    monkeypatch.setattr(tile_runs, "_SHORTEST_RUN", 2)
    monkeypatch.setattr(tile_runs, "_FEWEST_CALLS", 1)
    monkeypatch.setattr(tile_runs, "_SECONDS", 0.0)


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


def elementwise(x, w):
    y = np.tanh(x * w)
    turned = (y * y).T  # a view, which is read after others have been computed
    z = np.exp(-x * x) * y / (1.0 + y * y)
    return np.sum(z) + np.sum(np.sqrt(1.0 + turned * turned) * w.T)


PROGRAMS = [
    elementwise, softmax, columns, layer_norm, spread, extrema, distances, products, network, huber,
    writes, views, masked, matrices_times_vectors,
]  # fmt: skip
# Rows that are a multiple of a tile, and such that are not; few long ones, many short ones.
SHAPES = [(40, 8), (43, 8), (67, 11), (8, 40), (9, 63)]


def both(f, args, calls=8, has_machine=True, rtol=1e-9):
    """Compare a compiled function with the function, in all stages of its machine code."""
    compiled = compile(f)
    for _ in range(calls):
        expected, found = f(*args), compiled(*args)
        for mine, theirs in zip(leaves(found), leaves(expected), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol / 100)
            assert np.shape(mine) == np.shape(theirs)
            assert type(mine) is type(theirs)
            assert getattr(mine, "dtype", None) == getattr(theirs, "dtype", None)
    assert compiled.eager_because is None
    assert compiled.variants == 1
    for variant in next(iter(compiled._variants.values())):
        assert variant.run(*args) is not MISMATCH
    functions = [s.f for v in compiled._variants[len(args)] for s in v.program.steps]
    assert all(g._machine_code or not has_machine for g in functions if type(g) is Tiles)
    return functions


def leaves(x):
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, tuple) else [x]


@pytest.mark.parametrize(
    "f", [elementwise, softmax, layer_norm, spread, extrema, products, huber, writes]
)
def test_float32(f):
    pytest.importorskip("llvmlite")
    rng = np.random.default_rng(4)  # numbers for which float32 is exact enough
    args = tuple([x.astype(np.float32) for x in given((43, 8), rng)])
    functions = both(lambda x, w: value_and_gradient(f, x, w), args, rtol=2e-4)
    assert any(type(g) is Tiles for g in functions)


def given(shape, rng=RNG):
    return rng.normal(size=shape), rng.normal(size=shape) + 1.5


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("f", PROGRAMS)
def test_values_and_gradients(f, shape, interpreted):
    functions = both(f, given(shape))
    functions += both(lambda x, w: value_and_gradient(f, x, w), given(shape))
    assert any(type(g) is Tiles for g in functions)


@pytest.mark.parametrize("f", PROGRAMS)
def test_without_machine_code(f, monkeypatch):
    machine = importlib.import_module("autodiff.compiler.kernels.array_kernels")
    monkeypatch.setattr(machine, "is_installed", lambda: False)
    functions = both(lambda x, w: value_and_gradient(f, x, w), given((43, 8)), has_machine=False)
    assert any(type(g) is Tiles for g in functions)


def test_of_two_axes_of_one_length_one_is_cut():
    def fluxes(x, w):
        out = np.array(w)
        y = np.sin(x) * 2.0
        away = np.where((y[1:] - y[:-1]) * w > 0.0, y[1:] - y[:-1], 0.0)
        out[:, :] = away * w + np.tanh(y[1:])
        return np.sum(out * out) + np.sum(np.exp(out))

    x, w = RNG.normal(size=(41, 40)), RNG.normal(size=(40, 40))
    functions = both(lambda x, w: gradient(fluxes, x, w), (x, w), has_machine=False)
    assert Tiles in map(type, functions)


def test_outer_products_are_made_in_tiles_and_returned_without_copies(interpreted):
    """The gradients of two matrices are read and written once."""

    def loss(a, b, x):
        y = 1.5 * a @ x + 1.2 * b @ x
        return 0.5 * np.sum(y * y)

    args = RNG.normal(size=(40, 40)), RNG.normal(size=(40, 40)), RNG.normal(size=40)
    f = lambda a, b, x: gradient(loss, a, b, x)  # noqa: E731
    functions = both(f, args)
    assert np.einsum not in functions
    compiled = compile(f)
    found = [compiled(*args) for _ in range(8)]
    (variant,) = compiled._variants[3]
    assert ".copy()" not in variant.source
    arrays = [x for part in found for x in part]
    for k, x in enumerate(arrays):
        assert not any(np.shares_memory(x, y) for y in (*arrays[:k], *args))


@pytest.mark.parametrize("f", [softmax, products, writes])
def test_other_layouts_and_forward_mode(f, interpreted):
    x, w = given((43, 8))
    compiled = compile(lambda x, w: (f(x, w), gradient(f, x, w), jvp(f, (x, w), (w, x))))
    for a in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1]):
        expected = f(a, w), gradient(f, a, w), jvp(f, (a, w), (w, a))
        for mine, theirs in zip(leaves(compiled(a, w)), leaves(expected), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11)


def test_parts_of_arrays_are_read_and_written_where_they_are(interpreted, monkeypatch):
    """Tiles that do not lie in a row are not copied, and results are made in place."""

    def stencil(x, w):
        y = np.tanh(x[1:-1, 2:] * w) + x[2:, 1:-1]
        return np.sin(y * x[:-2, :-2]), np.exp(-y)

    def columns(x, w):
        y = np.sin(x[:, 1:-1]) * np.sum(w, axis=0)[1:-1]
        return y / np.sum(np.exp(y), axis=0)

    x = RNG.normal(size=(44, 12))
    w = RNG.normal(size=(42, 10))
    cases = [(stencil, (x, w), True), (columns, (x, x), False)]
    for f, args, are_rows in cases:
        interpreted.clear()
        functions = both(f, args)
        groups = [g for g in functions if type(g) is Tiles]
        assert any(g._strides for g in groups)
        assert any(g and g.strides for kernel in interpreted for g in kernel.given)
        assert all(
            g._chosen is not None and g._machine_code for g in groups
        )  # no kernel has failed
        assert any("p0=o0" in g.source for g in groups) == are_rows
        # Of arrays that lie in memory otherwise, each is read by its own strides.
        compiled = compile(f)
        for _ in range(8):
            compiled(*args)
        for other in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1], x):
            others = (other, *args[1:])
            for mine, theirs in zip(leaves(compiled(*others)), leaves(f(*others)), strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("f", [softmax, columns, extrema, masked])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite(f, bad, interpreted):
    x, w = given((43, 8))
    x[17, 3] = bad
    with np.errstate(all="ignore"):
        compiled = compile(f)
        for _ in range(8):
            np.testing.assert_allclose(compiled(x, w), f(x, w), rtol=1e-9)


def test_threads_do_not_change_results(interpreted):
    from autodiff.compiler.tiling.tile_threads import set_threads

    x, w = given((64, 8))
    f = compile(lambda x, w: value_and_gradient(layer_norm, x, w))
    found = []
    try:
        for n in (1, 2, 3):
            set_threads(n)
            for _ in range(9):
                y = f(x, w)
            found.append(y)
    finally:
        set_threads(None)
    for y in found[1:]:
        for mine, theirs in zip(leaves(y), leaves(found[0]), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_what_is_cheap_is_computed_again(interpreted):
    """The array less its mean is needed after its variance is known, but not kept until then."""
    f = lambda x, w: gradient(spread, x, w)  # noqa: E731
    compiled = compile(f)
    args = given((67, 11))
    compiled(*args)
    steps = compiled._variants[2][0].program.steps
    kept = [s.out for s in steps if type(s.f) is Tiles]
    assert len(kept) > 1
    both(f, args)


def test_a_diagonal_is_not_cut(interpreted):
    def f(x):
        y = np.exp(x)
        return np.sum(np.diagonal(y)) + np.sum(np.sum(y, axis=1) * np.diag(y))

    x = RNG.normal(size=(20, 20))
    both(f, (x,))
    both(lambda x: gradient(f, x), (x,))


def test_an_array_read_along_both_axes(interpreted):
    def f(x):
        return np.sum(np.exp(-((x[:, None] - x[None, :]) ** 2)) * np.cos(x)[:, None])

    x = RNG.normal(size=24)
    both(f, (x,))
    both(lambda x: gradient(f, x), (x,))
