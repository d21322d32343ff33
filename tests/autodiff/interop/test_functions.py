"""The table of functions for other systems, in both modes and to second order, by differences."""

import numpy as np
import pytest

import autodiff
from chainrules_core.testing import assert_tangents_close, jvp_fd, rand_tangent
from tests.autodiff.interop.functions import FUNCTIONS


def inner(cotangents, tangents):
    return sum(np.sum(x * t) for x, t in zip(cotangents, tangents, strict=True))


def test_names_are_unique():
    assert len({f.name for f in FUNCTIONS}) == len(FUNCTIONS) >= 160


@pytest.mark.parametrize("entry", FUNCTIONS, ids=lambda entry: entry.name)
def test_function(entry):
    f, args, rng = entry.function, entry.arguments, np.random.default_rng(3)
    assert all(np.asarray(a).dtype == float for a in args)
    dots = tuple(rand_tangent(a, rng) for a in args)
    y, push = autodiff.pushforward(f, *args)
    assert np.asarray(y).dtype == float
    expected = jvp_fd(f, args, dots)
    assert_tangents_close(push(*dots), expected)

    y_bar = rand_tangent(y, rng)

    def along(*args):
        back = autodiff.pullback(f, *args, argnums=tuple(range(len(args))))[1]
        return inner(back(y_bar), dots)

    np.testing.assert_allclose(along(*args), np.sum(y_bar * expected), rtol=1e-6, atol=1e-8)
    slope = inner(autodiff.gradient(along, *args, argnums=tuple(range(len(args)))), dots)
    np.testing.assert_allclose(slope, jvp_fd(along, args, dots), rtol=1e-5, atol=1e-6)
