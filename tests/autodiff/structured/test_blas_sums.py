"""Sums by BLAS: what NumPy gives, for every layout, length and special value."""

import subprocess
import sys

import numpy as np
import pytest

from autodiff.structured import blas_sums
from autodiff.structured.blas_sums import (
    add_part,
    add_scaled,
    add_to_part,
    columns_of,
    from_end_of,
    inner_product,
    inner_with_part,
)

X = np.cos(np.arange(12.0))
LAYOUTS = {
    "in a row": lambda: np.sin(np.arange(12.0)),
    "every other": lambda: np.sin(np.arange(24.0))[::2],
    "backwards": lambda: np.sin(np.arange(12.0))[::-1],
    "a column": lambda: np.sin(np.arange(60.0)).reshape(12, 5)[:, 2],
    "not aligned": lambda: _misaligned(np.sin(np.arange(12.0))),
}


@pytest.fixture(autouse=True, params=["by BLAS", "before it is loaded"])
def _by(request, monkeypatch):
    for name in ("daxpy", "ddot", "dgemm", "dtrsm"):
        monkeypatch.setattr(blas_sums, name, None)
    monkeypatch.setattr(blas_sums, "_waits", _waits if "BLAS" in request.param else lambda n: True)


def _waits(n):
    blas_sums._load()
    return False


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


MATRICES = {
    "rows": lambda: np.ones((6, 5)),
    "columns": lambda: np.ones((5, 6)).T,
    "parts": lambda: np.ones((12, 20))[2:8, 3:18:3],
    "a row": lambda: np.ones((8, 5))[::8],
    "planes": lambda: np.ones((6, 5, 3))[:, :, 1],
    "backwards": lambda: np.ones((6, 5))[::-1],
    "not aligned": lambda: _misaligned(np.ones(30)).reshape(6, 5),
}


@pytest.mark.parametrize("layout", MATRICES)
@pytest.mark.parametrize("a", [0.7, 0.0, np.nan])
def test_columns_as_parts_of_the_memory(layout, a):
    y = MATRICES[layout]()
    y += np.sin(np.arange(float(y.size))).reshape(y.shape)
    before = y.copy()
    for k in range(5):
        for start, stop in SLICES:
            _compare(y, before, a, columns_of(y), start, stop, k, np.s_[start:stop, k])


@pytest.mark.parametrize("step", [1, 3, -1])
@pytest.mark.parametrize("a", [0.7, 0.0, np.nan])
def test_vectors_from_the_end(step, a):
    y = np.ones(6 * abs(step))[::step]
    for start, stop in SLICES:
        at = np.arange(6)[start:stop][::-1]
        _compare(y, np.sin(np.arange(6.0)), a, from_end_of(y), start, stop, 0, at)


SLICES = ((0, 6), (1, 4), (3, 3), (2, 1), (2, 9), (7, 9), (0, 1))  # some are clipped


def _compare(y, before, a, memory, start, stop, k, at):
    part = before[at]
    x = np.cos(np.arange(float(len(part))))
    y[...] = before
    add_to_part(memory, start, stop, k, a, x)
    expected = before.copy()
    expected[at] += a * x
    np.testing.assert_allclose(y, expected, rtol=1e-14, atol=1e-15)
    y[...] = before
    np.testing.assert_allclose(inner_with_part(memory, start, stop, k, x), part @ x, rtol=1e-13)
    for z in (x.copy(), np.zeros((len(x), 2))[:, 0]):
        total = z + a * part
        add_part(z, a, memory, start, stop, k)
        np.testing.assert_allclose(z, total, rtol=1e-14, atol=1e-15)


def test_parts_of_other_lengths():
    y, x = from_end_of(np.ones(12)), np.ones(5)
    for n in (4, 6, 40):
        with pytest.raises(ValueError, match="broadcast"):
            add_to_part(y, 0, n, 0, 1.0, x)
        with pytest.raises(ValueError, match="broadcast"):
            add_part(x, 1.0, y, 0, n, 0)
        with pytest.raises(ValueError, match="broadcast"):
            inner_with_part(y, 0, n, 0, x)


def test_scipy_is_loaded_only_where_it_pays():
    code = """
import sys, numpy as np
from autodiff.structured import blas_sums
x, y = np.arange(3.0), np.ones(3)
blas_sums.add_scaled(y, 2.0, x)
assert blas_sums.inner_product(x, y) == 13.0 and "scipy.linalg" not in sys.modules
for _ in range(blas_sums._LOADING // blas_sums._CALL):
    blas_sums.add_scaled(y, 0.0, x)
assert blas_sums.daxpy is not None and y.tolist() == [1.0, 3.0, 5.0]
"""
    subprocess.run([sys.executable, "-c", code], check=True)
