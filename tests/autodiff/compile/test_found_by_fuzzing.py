"""Programs whose compiled form differed from the eager one when random programs were compared."""

import numpy as np
import pytest

from autodiff import compile, gradient

X = np.array([0.816, 1.044, 1.604, 1.88])


def part_of_complex(x):
    z = 0.5j * x + np.cos(x)
    z.imag *= 0.13
    return np.sum(np.abs(z) ** 2)


def view_of_part(x):
    z = 0.5j * x + np.cos(x)
    v = np.real(z)
    v[1:3] = x[:2] * v[1:3]
    np.imag(z)[...] = v
    return np.sum(np.abs(z) ** 2)


def part_of_rows(x):
    z = (x + 1j * x**2).reshape(2, 2)
    z.T.imag[0] = np.sin(x[:2])
    z.real[:, 1] += x[2:]
    return np.sum((z * np.conj(z)).real * np.arange(1.0, 5.0).reshape(2, 2))


def object_of_a_class(x):
    y = np.deg2rad(np.round(x, 1) * 10.0)
    return np.sum(np.polymul(y, x))


def polynomial(x):
    p = np.poly1d(x * 2.0)
    return p(0.7) + np.sum(p.deriv().coeffs)


def turned_round(x):
    y = x * 1.0
    y[1:] *= y[:-1].copy()
    np.add.at(y[1:][::-1], [-3, 2, 0], -0.21)
    return np.sum(y[1:] ** 2 * np.array([0.88, 0.93, 0.38]))


def first_turn_shares(x):
    v = np.tanh(x)
    h = v.copy()
    for _ in range(5):  # in the first turn both products are the same one
        h = np.tanh(0.5 * h + 0.5 * v)
    return np.sum(h * h * np.arange(1.0, 5.0))


def repeated_places(x):
    v = x[np.array([1, -3, -1, -1])]
    h = v * 1.0
    for _ in range(5):
        h = np.tanh(0.5 * h + 0.5 * v)
    return np.sum(h * h * np.arange(1.0, 5.0))


PROGRAMS = [
    first_turn_shares,
    repeated_places,
    turned_round,
    part_of_complex,
    view_of_part,
    part_of_rows,
    object_of_a_class,
    polynomial,
]


@pytest.mark.parametrize("backend", ["python", "numba"])
@pytest.mark.parametrize("f", PROGRAMS)
def test_compiled_is_eager(f, backend):
    for g in (f, lambda x: gradient(f, x)):
        compiled = compile(g, backend=backend)
        for scale in (1.0, 1.0, 0.7, -1.2):
            x = scale * X
            np.testing.assert_allclose(compiled(x.copy()), g(x.copy()), rtol=1e-12, atol=1e-13)
