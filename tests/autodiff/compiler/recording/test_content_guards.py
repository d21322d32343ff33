"""Arrays that a derivative reads but does not trace, and that are written into later."""

import numpy as np
import pytest

from autodiff import compile, gradient, jvp


def matrix(x, w):
    w = w.copy()
    h = w @ x
    w[0, 1:] *= 2.0
    return np.sum(h**2) + np.sum(w @ x)


def view(x, w):
    w = w.copy()
    v = w[0]
    h = x * v
    v[1:] += w[1, 0]
    return np.sum(h**2) + np.sum(v * x)


def transposed(x, w):
    w = w.copy()
    v = w.T
    h = np.einsum("ij,j->i", v, x)
    w *= 2.0
    return np.sum(h**2) + np.sum(v @ x)


def in_a_list(x, w):
    w = w.copy()
    h = np.stack([w[0], x]) * x
    w[0] = w[1]
    return np.sum(h**2) + np.sum(w @ x)


def chosen(x, w):
    w = w.copy()
    h = np.where(x > 0, x * w[0], w[1])
    w[0] = w[1]
    w[1] *= 3.0
    return np.sum(h**2) + np.sum(w @ x)


def state(x, w):
    s = w[0].copy()
    total = 0.0
    for k in range(3):
        total = total + np.sum(np.sin(x) * s) + s @ x * s[0]
        s *= 0.5
        s[k] += w[1, k] ** 2
    return total


def counts(x, w):
    n = np.arange(3)
    h = x * n
    n[1:] += np.argmax(w[0]) + 1
    return np.sum(h**2) + np.sum(np.sin(x) * n)


PROGRAMS = [matrix, view, transposed, in_a_list, chosen, state, counts]
X = np.array([0.4, -0.7, 1.1])
W = np.sin(np.arange(9.0)).reshape(3, 3)


def difference(f, x):
    """Return the gradient by central differences."""
    steps = 1e-6 * np.eye(x.size).reshape(x.size, *x.shape)
    return np.array([(f(x + d) - f(x - d)) / 2e-6 for d in steps]).reshape(x.shape)


@pytest.mark.parametrize("backend", ["python", "native"])
@pytest.mark.parametrize("f", PROGRAMS)
def test_compiled_gradients(f, backend):
    compiled = compile(lambda x, w: gradient(f, x, w, argnums=0), backend=backend)
    for w in (W, W, -W):
        expected = difference(lambda x, w=w: f(x, w), X)
        np.testing.assert_allclose(compiled(X, w), expected, rtol=1e-6, atol=1e-8)
    assert compiled.eager_because is None


def test_integers_given_are_written_into():
    def f(x, k):
        h = x * k
        k[1:] += 1
        return np.sum(h**2) + np.sum(k * x)

    places = np.array([1, 2, 3])
    expected = difference(lambda x: f(x, places.copy()), X)
    compiled = compile(lambda x, k: gradient(f, x, k, argnums=0))
    for _ in range(2):
        np.testing.assert_allclose(compiled(X, places.copy()), expected, rtol=1e-6)


@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives_of_gradients(f):
    def measured(w):
        return np.sum(gradient(lambda x: f(x, w), X) ** 2)

    expected = difference(measured, W)
    np.testing.assert_allclose(gradient(measured, W), expected, rtol=1e-5, atol=1e-7)
    tangent = jvp(measured, (W,), (np.ones_like(W),))[1]
    np.testing.assert_allclose(tangent, np.sum(expected), rtol=1e-5, atol=1e-7)
