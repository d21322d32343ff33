"""Writes at positions given by arguments: masks and integers, forward and backward."""

import numpy as np
import pytest

from autodiff import compile, gradient, hvp, jacobian, jvp

W = np.arange(1.0, 7.0)


def added_by_a_mask(x, i):
    y = x.copy()
    y[y < -0.5] += x[x < -0.5]
    return np.sum(y)


def rows_by_integers(x, i):
    y = np.zeros((6, 2))
    y[i] = x[:3, None]
    y[i, 1] = x[3:]
    return np.sum(y)


def through_a_view(x, i):
    y = x * 1.0
    v = y[1:]
    v[i] = x[:3]
    v[v > 0] = x[0]
    return np.sum(y * y)


def parts_of_complex(x, i):
    z = np.ones((6, 2)) * (1 + 1j)
    z.imag[i, 1] = x[:3]
    z.real[x > 0] *= x[1]
    return np.sum(np.abs(z) ** 2)


def by_order(x, i):
    y = x * 1.0
    order = np.argsort(y)
    y[order[:2]] = y[order[-2:]]
    y[np.argmax(x)] = x[0]
    y[[i[0], i[1]]] = x[[i[2], i[0]]]
    return np.sum(y * W)


def counted(x, i):
    y = np.zeros(6)
    y[np.clip((x * 3).astype(int), 0, 5)] += x
    np.add.at(y, np.clip((x * 2).astype(int), 0, 5), x)
    np.maximum.at(y, i, x[1:4])
    np.maximum.at(y, x > 0, 0.3 * x[0])
    return np.sum(y * W)


def by_functions(x, i):
    y = np.ones(6)
    np.put(y, i, x[:3])
    np.place(y, x > 0, x[:2])
    np.putmask(y, x < -1, x * x)
    np.copyto(y, x * 2, where=x < -1.5)
    np.put_along_axis(y, i, x[3:], 0)
    return np.sum(y * W)


def by_an_iterator(x, i):
    y = np.outer(x, W[:2])
    y.flat[i] = x[:3]
    y.T.flat[np.repeat(x, 2) > 0.5] = x[1]
    return np.sum(y * W[:, None])


def where_a_mask_says(x, i):
    y = np.zeros(6)
    np.sqrt(x * x, where=x > 0.1, out=y)
    return np.sum(y * W)


PROGRAMS = [
    added_by_a_mask, rows_by_integers, through_a_view, parts_of_complex, by_order, counted,
    by_functions, by_an_iterator, where_a_mask_says,
]  # fmt: skip
FORMS = {
    "itself": lambda f: f,
    "gradient": lambda f: lambda x, i: gradient(f, x, i, argnums=0),
    "hvp": lambda f: lambda x, i: hvp(lambda y: f(y, i), x, W),
    "jvp": lambda f: lambda x, i: jvp(lambda y: f(y, i), (x,), (W,)),
}
X = np.array([0.35, 0.82, -0.53, -1.9, 0.9, 1.45])
CALLS = [
    (X, [0, 2, 4]), (X, [0, 2, 4]), (-X, [0, 2, 4]), (2.0 * X, [1, 1, 0]), (X, [-1, 1, 1]),
    (X[::-1].copy(), [3, -4, 2]),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("f", PROGRAMS)
def test_compiled_is_eager(f, form):
    g = FORMS[form](f)
    compiled = compile(g, backend="python")
    for x, i in CALLS:
        found, expected = compiled(x, np.array(i)), g(x, np.array(i))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    assert compiled.eager_because is None


def written_as_a_whole(x):
    y = x + 1
    y -= 0.5
    w = y * 1
    w **= 2
    w //= 0.3
    w %= 0.7
    v = np.abs(y) + 1
    v **= 0.5
    v /= x[0] ** 2 + 1
    return y, w, v


@pytest.mark.parametrize("backend", ["python", "native"])
def test_unit_cotangents_are_written_into(backend):
    f = lambda x: jacobian(written_as_a_whole, x)  # noqa: E731
    compiled = compile(f, backend=backend)
    for x in (X, X, -X):
        for found, expected in zip(compiled(x), f(x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
    assert compiled.eager_because is None
