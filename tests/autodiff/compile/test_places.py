"""Arrays of places, given or looked up, in compiled functions."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff
from autodiff import compile, gradient


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
