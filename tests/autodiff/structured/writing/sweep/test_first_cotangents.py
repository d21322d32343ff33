"""A shadow begins as a copy of the first cotangent, where that is of the whole array."""

from collections.abc import Callable

import numpy as np
import pytest

from autodiff import gradient
from autodiff.structured.runtime import Structured
from autodiff.structured.runtime_library import is_finite, shadow_with


def shifted(a, b):
    s = 0.0
    for i in range(len(a)):
        s += np.tanh(a[i, i]) * b[i]
    return a + s


def overwritten(a, b):
    for i in range(1, len(a)):
        a[i] = a[i] * b[i] + a[i - 1]


def broadcast(a, b):
    s = 0.0
    for i in range(len(a)):
        s += a[i, 0]
    return a * s + b[:, None, None]


def columns(a, b):
    for k in range(a.shape[1]):
        a[:, k] *= b[k]
    return a


def factors(a, b):
    """The columns go to BLAS where they are, so the sweep asks where the shadow lies."""
    for i in range(len(a)):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j] + 4.0
        for j in range(i, len(a)):
            a[i, j] -= (a[i, :i] @ a[:i, j]) * b[j]


PROGRAMS = {factors: True, shifted: True, overwritten: True, broadcast: False, columns: False}


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients(f: Callable, order: str, runs: list, traced: Callable):
    a, b = np.array(np.cos(np.arange(25.0)).reshape(5, 5), order=order), np.sin(np.arange(5.0))

    def loss(a, b):
        a = a * 1.0
        y = f(a, b)
        return np.sum(np.sin(a if y is None else y))

    for x, y in zip(gradient(loss, a, b), traced(loss, a, b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)
    assert runs == [f.__name__]
    source = Structured(f, (None, None), (a, b), (0, 1)).source
    assert ("shadow_with(" in source) == PROGRAMS[f]


def test_what_it_begins_with():
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    g = np.ones((2, 3))
    shadow = shadow_with(x, g)
    np.testing.assert_array_equal(shadow, g)
    assert shadow.strides == x.strides
    assert not np.shares_memory(shadow, g)
    np.testing.assert_array_equal(shadow_with(x, None), np.zeros((2, 3)))
    np.testing.assert_array_equal(shadow_with(x, np.arange(3.0)), [[0.0, 1.0, 2.0]] * 2)
    with pytest.raises(ValueError, match="broadcast"):
        shadow_with(x, np.ones((2, 2, 3)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_long_arrays_are_finite_or_not(bad: float):
    x = np.ones(20_000)
    assert is_finite(x)
    x[777] = bad
    assert is_finite(x) == np.isfinite(bad)
    assert is_finite(x[::2]) == (True if 777 % 2 else np.isfinite(bad))
