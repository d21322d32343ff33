"""Index arrays, given or computed, in compiled functions."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff
from autodiff import compile, gradient, jvp


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, i: x[i],
        lambda x, i: x[:, i],
        lambda x, i: x[i, 1:],
        lambda x, i: x[i, i],
        lambda x, i: np.stack(np.unravel_index(i, x.shape)) * x[0, 0],
        lambda x, i: np.ravel_multi_index((i, i), x.shape) * x[0, 0],
    ],
)
def test_arrays_of_places_may_be_arguments(f):
    def slope(x, i):
        return gradient(lambda x: np.sum(f(x, i) ** 2), x)

    compiled = compile(slope)
    x = np.arange(9.0).reshape(3, 3)
    for i in (np.array([0, 2, 2]), np.array([1, 0, 2])):
        close(compiled(x, i), slope(x, i))
    assert compiled.eager_because is None
    assert compiled.variants == 1


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_few_elements_that_are_largest(axis):
    """Their places are looked up: one in more than 64 elements."""

    def curvature(x):
        return autodiff.jvp(
            lambda x: gradient(lambda x: np.sum(np.max(x, axis=axis) ** 2), x),
            (x,),
            (np.ones_like(x),),
        )[1]

    compiled = compile(curvature)
    rng = np.random.default_rng(3)
    for x in rng.normal(size=(2, 100, 90)):
        close(compiled(x), curvature(x))
    assert compiled.eager_because is None


def scaled_row(w):
    h = w * 1.0
    h[np.argmax(w[:, 0])] *= 0.5
    v = h[np.argmax(w[:, 1])]
    v[:2] = w[0, :2] * 3.0
    return h


def from_a_row_on(w):
    h = w * 1.0
    v = h[np.argmin(w[:, 1]) :]
    v[0] += 2.0 * w[1]
    return h


def sorted_places_of_a_view(w):
    h = w.T * 1.0
    places = np.argsort(w[:, 0])
    h[1][places[:2]] = w[0, :2]
    h[2][places[3]] = w[0, 1]
    h[0, ::-1][places] *= 0.5
    return h


def masked_view(w):
    h = w * 1.0
    h[1:][w[1:] > 0.0] = 0.25
    h.T[1:, ::-1][w.T[1:, ::-1] > 0.3] *= 0.5
    return h


@pytest.mark.parametrize("backend", ["python", "native"])
@pytest.mark.parametrize(
    "f", [scaled_row, from_a_row_on, sorted_places_of_a_view, masked_view], ids=lambda f: f.__name__
)
def test_views_at_places_that_are_computed(f, backend, interpreted):
    rng = np.random.default_rng(0)
    for g in (
        f,
        lambda w: gradient(lambda w: np.sum(f(w)), w),
        lambda w: gradient(lambda w: np.sum(f(w) ** 3), w),
        lambda w: jvp(f, (w,), (np.cos(w),))[1],
    ):
        compiled = compile(g, backend=backend)
        for _ in range(8):
            w = rng.standard_normal((4, 3))
            np.testing.assert_allclose(compiled(w), g(w))
