"""Branches that depend on the last bits are those of the eager call."""

import math

import numpy as np
import pytest

from autodiff import compile, gradient


def powers_that_are_no_products():
    """Numbers of which the third power is more than the product of three."""
    xs = np.linspace(1.1, 1.9, 2000).tolist()
    return [x for x in xs if x * x * x < x**3][:20]


def cubed(x, c):
    return 1.0 if x**3 >= c else x


def of_arrays(x, c):
    return 1.0 if np.sum(np.array([x, x]) ** 3) >= 2 * c else x


def of_copies(x, c):
    return 1.0 if np.sum(np.copy(2.0 * np.array([x, x])) ** 3) >= 16 * c else x


def in_a_gradient(x, c):
    return gradient(lambda z: z * z if z**3 >= c else z, x)


def of_exponentials(x, c):
    return 1.0 if np.exp(np.log(x) * 3.0) >= math.exp(math.log(x) * 3.0) else x


@pytest.mark.parametrize(
    "f, by_products",
    [
        (cubed, lambda x, c: 1.0 if x * x * x >= c else x),
        (of_arrays, lambda x, c: 1.0 if x * x * x + x * x * x >= 2 * c else x),
        (of_copies, lambda x, c: 1.0 if 8 * x * x * x + 8 * x * x * x >= 16 * c else x),
        (in_a_gradient, lambda x, c: 2 * x if x * x * x >= c else 1.0),
        # What NumPy's exp is in the last bit hangs on the processor.
        (of_exponentials, lambda x, c: 1.0),
    ],
)
def test_branches_are_those_of_the_eager_call(f, by_products):
    """From the first call on in which the last bit decides."""
    compiled = compile(f)
    points = powers_that_are_no_products()
    assert len(points) > 3
    points.sort(key=lambda x: f(x, x**3) == by_products(x, x**3))
    for x in points:
        assert compiled(x, x**3) == f(x, x**3)
    before = compiled.variants
    for x in points:
        assert compiled(x, x**3) == f(x, x**3)
    assert compiled.variants == before <= 4
    assert compiled.eager_because is None


def test_newton_until_it_converges_is_recorded_once():
    def root(a):
        x, n = a, 0
        while abs(x**3 - a) > 1e-15 * a and n < 50:
            x, n = x - (x**3 - a) / (3 * x**2), n + 1
        return x

    compiled = compile(lambda a: gradient(root, a))
    for _ in range(3):
        for a in (2.0, 2.1, 2.2, 3.0, 5.0):
            np.testing.assert_allclose(compiled(a), gradient(root, a), rtol=1e-12)
    before = compiled.variants
    for a in (2.0, 2.1, 2.2, 3.0, 5.0):
        np.testing.assert_allclose(compiled(a), gradient(root, a), rtol=1e-12)
    assert compiled.variants == before
