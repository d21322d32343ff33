"""Sums by BLAS: what NumPy gives, for every layout, length and special value."""

import numpy as np
import pytest

from autodiff.structured.blas_sums import add_scaled, inner_product

X = np.cos(np.arange(12.0))
LAYOUTS = {
    "in a row": lambda: np.sin(np.arange(12.0)),
    "every other": lambda: np.sin(np.arange(24.0))[::2],
    "backwards": lambda: np.sin(np.arange(12.0))[::-1],
    "a column": lambda: np.sin(np.arange(60.0)).reshape(12, 5)[:, 2],
    "not aligned": lambda: _misaligned(np.sin(np.arange(12.0))),
}


def _misaligned(x):
    y = np.frombuffer(bytearray(8 * len(x) + 4), np.uint8)[4:].view(float)
    y[:] = x
    return y


@pytest.mark.parametrize("of_x", LAYOUTS)
@pytest.mark.parametrize("of_y", LAYOUTS)
@pytest.mark.parametrize("a", [0.7, -2, 0.0, np.float64(3.0), np.nan, np.inf])
@np.errstate(invalid="ignore")
def test_numbers_times_vectors_are_added_in_place(a, of_y, of_x):
    y, x = LAYOUTS[of_y](), LAYOUTS[of_x]()
    expected = y + a * x
    before = x.copy()
    add_scaled(y, a, x)
    np.testing.assert_allclose(y, expected, rtol=1e-15, atol=1e-16)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("special", [np.inf, np.nan, 1e200])
@pytest.mark.parametrize("a", [0.0, -0.0, 1.5])
@np.errstate(invalid="ignore")
def test_products_with_zero_are_those_of_numpy(a, special):
    y, x = X.copy(), X.copy()
    x[3] = special
    expected = y + a * x
    add_scaled(y, a, x)
    np.testing.assert_allclose(y, expected, rtol=1e-15)
    np.testing.assert_allclose(inner_product(X, x), np.vdot(X, x), rtol=1e-14)


def test_empty_vectors():
    y = np.zeros(0)
    add_scaled(y, 2.0, np.zeros(0))
    assert y.shape == (0,)
    assert inner_product(y, y) == 0.0


@pytest.mark.parametrize("lengths", [(12, 11), (11, 12), (0, 3), (3, 0)])
def test_vectors_of_unequal_lengths(lengths):
    y, x = (np.ones(n) for n in lengths)
    with pytest.raises(ValueError, match="broadcast"):
        add_scaled(y, 2.0, x)
    with pytest.raises(ValueError, match="broadcast"):
        inner_product(y, x)


@pytest.mark.parametrize("of_x", LAYOUTS)
@pytest.mark.parametrize("of_y", LAYOUTS)
def test_inner_products(of_x, of_y):
    x, y = LAYOUTS[of_x](), LAYOUTS[of_y]()
    found = inner_product(x, y)
    assert type(found) is float
    np.testing.assert_allclose(found, np.sum(x * y), rtol=1e-13, atol=1e-15)
