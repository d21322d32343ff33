"""Entries put in order, and those of the same element found."""

import numpy as np
import pytest
import scipy.sparse as sp

from chainrules.scipy.sparse.merging import added_up


def given(n, size):
    rng = np.random.default_rng(0)
    places = rng.integers(0, size, (2, n))
    return rng.standard_normal(n), sp.coo_array((np.arange(1, n + 1), places), shape=(size, size))


@pytest.mark.parametrize("name", ["csr", "csc"])
@pytest.mark.parametrize("n, size", [(300, 9), (300, 1000), (1, 4), (0, 3)])
def test_what_is_added_up_is_what_scipy_adds_up(n, size, name):
    data, coo = given(n, size)
    made, weights = added_up(coo, name)
    expected = sp.coo_array((data, coo.coords), shape=coo.shape).asformat(name)
    expected.sort_indices()
    entries = data[made.data - 1] if weights is None else weights @ data
    assert (weights is None) == (expected.nnz == n)
    np.testing.assert_array_equal(made.indices, expected.indices)
    np.testing.assert_array_equal(made.indptr, expected.indptr)
    np.testing.assert_allclose(entries, expected.data, rtol=1e-12)
    assert made.has_canonical_format
    assert not coo.has_canonical_format  # what was given is as it was


def test_unordered_rows_without_anything_twice():
    x = sp.csr_array((np.array([1, 2, 3]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    made, weights = added_up(x, "csr")
    assert weights is None
    np.testing.assert_array_equal(made.data, [2, 1, 3])
