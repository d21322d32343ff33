"""Sparse arrays at empty patterns, stored zeros, repeated entries and ties: gradients as numbers.

The gradient is by the entries that the pattern of [[a, 0], [b, c]] stores, in the order of rows.
"""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spl
from scipy.sparse import csgraph

import autodiff

ROWS, COLUMNS = np.array([0, 1, 1]), np.array([0, 0, 1])
B = np.array([1.0, 2.0])


def lower(v):
    return sp.csr_array((v, (ROWS, COLUMNS)), shape=(2, 2))


VALUES = [
    # function of the entries, x, gradient of the sum of its values
    (lambda v: lower(v).sum(), [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]),
    (lambda v: lower(v).sum(axis=0), [1.0, 2.0, 3.0], [1.0, 1.0, 1.0]),
    (lambda v: lower(v).mean(), [1.0, 2.0, 3.0], [0.25, 0.25, 0.25]),
    (lambda v: lower(v) @ B, [1.0, 2.0, 3.0], [1.0, 1.0, 2.0]),
    (lambda v: lower(v).T @ B, [1.0, 2.0, 3.0], [1.0, 2.0, 2.0]),
    (lambda v: (lower(v) @ lower(v)).sum(), [1.0, 0.0, 0.0], [2.0, 1.0, 0.0]),
    (lambda v: (lower(v) ** 2).sum(), [1.0, 0.0, 3.0], [2.0, 0.0, 6.0]),
    (lambda v: abs(lower(v)).sum(), [-2.0, 0.0, 3.0], [-1.0, 0.0, 1.0]),
    (lambda v: lower(v).maximum(lower(2 * v)).sum(), [0.0, 1.0, -1.0], [1.5, 2.0, 1.0]),
    (lambda v: lower(v).max(), [3.0, 3.0, 1.0], [0.5, 0.5, 0.0]),
    (lambda v: lower(v).max(), [-3.0, -3.0, -1.0], [0.0, 0.0, 0.0]),
    (lambda v: lower(v).min(), [3.0, 3.0, -1.0], [0.0, 0.0, 1.0]),
    (lambda v: lower(v).multiply(lower(v)).sum(), [0.0, 1.0, 2.0], [0.0, 2.0, 4.0]),
    (lambda v: lower(v).power(1).data, [2.0, 1.0, 2.0], [1.0, 1.0, 1.0]),
    (lambda v: lower(v).diagonal(), [1.0, 2.0, 3.0], [1.0, 0.0, 1.0]),
    (lambda v: lower(v).trace(), [1.0, 2.0, 3.0], [1.0, 0.0, 1.0]),
    (lambda v: lower(v)[0, 1], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]),
    (lambda v: lower(v)[1, 0], [1.0, 2.0, 3.0], [0.0, 1.0, 0.0]),
    (lambda v: lower(v)[1].sum(), [1.0, 2.0, 3.0], [0.0, 1.0, 1.0]),
    (lambda v: sp.triu(lower(v)).sum(), [1.0, 2.0, 3.0], [1.0, 0.0, 1.0]),
    (lambda v: sp.tril(lower(v), -1).sum(), [1.0, 2.0, 3.0], [0.0, 1.0, 0.0]),
    (lambda v: sp.kron(lower(v), lower(v)).sum(), [1.0, 1.0, 1.0], [6.0, 6.0, 6.0]),
    (lambda v: sp.vstack([lower(v), lower(v)]).sum(), [1.0, 2.0, 3.0], [2.0, 2.0, 2.0]),
    (lambda v: sp.diags_array(v).sum(), [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]),
    (lambda v: sp.diags_array([v, v[:2]], offsets=[0, 1]).sum(), [1.0, 1.0, 1.0], [2.0, 2.0, 1.0]),
    (lambda v: sp.csr_array([v * (v != 0)]).sum(), [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]),
    (lambda v: sp.coo_array((v, ([0, 0, 0], [1, 1, 0]))).toarray()[0, 1] ** 2, [1.0, 2.0, 5.0],
     [6.0, 6.0, 0.0]),
    (lambda v: sp.coo_array((v, ([0, 0, 0], [1, 1, 0]))).tocsr().max(), [1.0, 2.0, 5.0],
     [0.0, 0.0, 1.0]),
    (lambda v: sp.csr_array((v[:0], ([], [])), shape=(2, 2)).sum(), [1.0, 2.0, 3.0], [0.0] * 3),
    (lambda v: spl.norm(lower(v)), [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    (lambda v: spl.norm(lower(v)), [3.0, 0.0, 4.0], [0.6, 0.0, 0.8]),
    (lambda v: spl.norm(lower(v), 1), [1.0, -1.0, 2.0], [0.5, -0.5, 0.5]),
    (lambda v: spl.norm(lower(v), np.inf), [1.0, 0.0, 1.0], [0.5, 0.0, 0.5]),
    (lambda v: spl.spsolve(lower(v).tocsc(), B), [1.0, 0.0, 1.0], [-1.0, -1.0, -2.0]),
    (lambda v: spl.spsolve_triangular(lower(v), B), [1.0, 0.0, 1.0], [-1.0, -1.0, -2.0]),
    (lambda v: spl.splu(lower(v).tocsc()).solve(B, "T"), [1.0, 0.0, 1.0], [-1.0, -2.0, -2.0]),
    (lambda v: spl.inv(lower(v).tocsc()).sum(), [1.0, 1.0, 1.0], [0.0, -1.0, 0.0]),
    (lambda v: spl.expm_multiply(lower(v).tocsc(), B), [0.0, 0.0, 0.0], [1.0, 1.0, 2.0]),
    (lambda v: spl.matrix_power(lower(v), 0).sum() * v[0], [1.0, 2.0, 3.0], [2.0, 0.0, 0.0]),
    (lambda v: csgraph.shortest_path(lower(v))[1, 0], [1.0, 2.0, 3.0], [0.0, 1.0, 0.0]),
    (lambda v: csgraph.laplacian(lower(v).tocsc()).toarray(), [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]),
]  # fmt: skip


@pytest.mark.parametrize("f, x, expected", VALUES)
@pytest.mark.filterwarnings(
    "ignore::scipy.sparse.SparseEfficiencyWarning", "ignore::RuntimeWarning"
)
def test_gradient(f, x, expected):
    x, expected = np.array(x), np.array(expected)
    bar = autodiff.gradient(lambda x: np.sum(f(x)), x)
    np.testing.assert_allclose(bar, expected, atol=1e-14)
    v = np.cos(1.0 + np.arange(x.size))
    y_dot = autodiff.pushforward(lambda x: np.sum(f(x)), x)[1](v)
    np.testing.assert_allclose(y_dot, np.sum(expected * v), atol=1e-14)
