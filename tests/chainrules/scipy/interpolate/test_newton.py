"""Polynomials in Newton's form."""

import numpy as np
import pytest
from scipy import interpolate

import autodiff
from chainrules.scipy.interpolate.newton import differences, polynomial
from chainrules_core.testing import check_rule

X = np.array([0.3, 1.2, -0.7, 2.1, 0.9])
AT = np.array([0.5, 1.2, -1.1])
RNG = np.random.default_rng(2)


def numbers(*shape, dtype=float):
    x = RNG.standard_normal(shape)
    return x + 1j * RNG.standard_normal(shape) if dtype is complex else x


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("n, r", [(1, 1), (2, 3), (5, 1), (5, 2)])
def test_rules(n, r, dtype):
    y = numbers(n, r, dtype=dtype)
    check_rule(differences, X[:n], y)
    check_rule(polynomial, y, X[:n], AT)
    spline = interpolate.KroghInterpolator(X[:n], y)
    c = differences(X[:n], y)
    np.testing.assert_allclose(c, spline.c[:n], rtol=1e-12)
    np.testing.assert_allclose(polynomial(c, X[:n], AT), spline(AT), rtol=1e-12)


def made(x, y, at):
    return interpolate.KroghInterpolator(x, y)(at)


CALLS = {
    "values": made,
    "columns": lambda x, y, at: made(x, np.stack([y, y * y], axis=1), at),
    "axis": lambda x, y, at: interpolate.KroghInterpolator(x, np.stack([y, y**3]), axis=1)(at),
    "derivatives": lambda x, y, at: interpolate.KroghInterpolator(x, y).derivatives(at, 3),
    "function": lambda x, y, at: interpolate.krogh_interpolate(x, y, at, der=[0, 2]),
    "repeated": lambda x, y, at: interpolate.KroghInterpolator([0.0, 0.0, 0.0, 1.0, 2.0], y)(at),
    "complex": lambda x, y, at: np.abs(made(x, y * (1 + 2j) + 1, at)),
    "one place": lambda x, y, at: made(x, y, at[0]),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name, check_modes):
    check_modes(CALLS[name], X, np.array([1.0, -0.5, 0.3, 2.0, 0.7]), AT)


def test_nodes_that_come_again_are_scipys_error():
    with pytest.raises(ValueError, match="can't be equal"):
        autodiff.gradient(lambda y: made(np.array([0.0, 1.0, 0.0]), y, 0.5), np.ones(3))


def test_places_that_are_nan_have_no_part_in_a_gradient():
    at = np.array([0.5, np.nan, np.inf])
    y = np.array([1.0, -0.5, 0.3, 2.0, 0.7])
    found = autodiff.gradient(lambda x, y, at: np.sum(made(x, y, at)[:1]), X, y, at)
    expected = autodiff.gradient(lambda x, y, at: np.sum(made(x, y, at)), X, y, at[:1])
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a[: len(b)], b)
    np.testing.assert_array_equal(found[2][1:], 0.0)
