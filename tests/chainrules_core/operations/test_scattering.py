"""Adding into elements that an index names, against np.add.at."""

import sys

import numpy as np
import pytest

from chainrules_core.operations import scattering

ROWS = [
    ((9,), 40),
    ((7, 5), 20),
    ((7, 64), 30),
    ((3, 300), 4),
    ((50, 2), 60_000),
    ((4, 2, 3), 9),
    ((2, 0), 4),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
@pytest.mark.parametrize("shape, n", ROWS)
@pytest.mark.parametrize("is_fresh", [True, False])
@pytest.mark.parametrize("has_scipy", [True, False])
def test_rows_with_repeats(shape, n, dtype, is_fresh, has_scipy, monkeypatch):
    if has_scipy:
        pytest.importorskip("scipy.sparse")
    else:
        monkeypatch.delitem(sys.modules, "scipy.sparse", raising=False)
    rng = np.random.default_rng(0)
    indices = rng.integers(-shape[0], shape[0], n)
    y_bar = rng.standard_normal((n, *shape[1:])).astype(dtype)
    y_bar = y_bar * dtype(1j) if dtype(0).dtype.kind == "c" else y_bar
    x_bar = np.full(shape, 0 if is_fresh else 2, dtype)
    expected = x_bar.astype(complex)
    np.add.at(expected, indices, y_bar)
    found = scattering.scatter_into(x_bar, y_bar, None, indices, is_fresh)
    assert found is x_bar
    digits = np.finfo(dtype).precision - 2
    np.testing.assert_allclose(found, expected, rtol=10.0**-digits * n, atol=10.0**-digits * n)


@pytest.mark.parametrize("seed", [np.ones((6, 3)).T[::-1].T, np.broadcast_to(1.0, (6, 3))])
def test_seeds_that_are_not_contiguous(seed):
    x_bar = scattering.scatter_into(np.zeros((4, 3)), seed, None, np.array([0, 1, 1, 3, 3, 3]))
    np.testing.assert_array_equal(x_bar, np.repeat([[1.0], [2], [0], [3]], 3, axis=1))


def test_an_index_out_of_bounds_is_not_written_to():
    assert not scattering.add_rows(np.zeros((4, 3)), np.ones((2, 3)), np.array([0, 4]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.float16])
@pytest.mark.parametrize("shape, n", [((300, 250), 260), ((3, 40, 900), 700), ((2, 9), 40_000)])
@pytest.mark.parametrize("is_fresh", [True, False])
@pytest.mark.parametrize("has_scipy", [True, False])
def test_columns_with_repeats(shape, n, dtype, is_fresh, has_scipy, monkeypatch):
    if has_scipy:
        pytest.importorskip("scipy.sparse")
    else:
        monkeypatch.delitem(sys.modules, "scipy.sparse", raising=False)
    rng = np.random.default_rng(1)
    index = (..., rng.integers(-shape[-1], shape[-1], n))
    # Whole numbers, whose sums are exact.
    y_bar = rng.integers(-2, 3, (*shape[:-1], n)).astype(dtype)
    x_bar = np.full(shape, 0 if is_fresh else 2, dtype)
    expected = x_bar.copy()
    np.add.at(expected, index, y_bar)
    found = scattering.scatter_into(x_bar, y_bar, None, index, is_fresh)
    assert found is x_bar
    np.testing.assert_array_equal(found, expected)
