"""Products of sparse arrays with everything."""

import numpy as np
import pytest
import scipy.sparse as sp

from chainrules.scipy.sparse import products
from chainrules.scipy.sparse.entries import weighed
from chainrules.scipy.sparse.products import Pairs, Pattern, by_sparse, paired, product
from chainrules_core.testing import check_rrule, check_rule

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
CLASSES = [getattr(sp, f"{f}_{kind}") for f in FORMATS for kind in ("array", "matrix")]
D = np.cos(np.arange(12.0)).reshape(4, 3)
B = sp.csr_array(np.diag([1.0, 2.0, 3.0, 4.0], 0) + np.diag([0.5, 0.25, 0.125], 1))
X = np.array([1.0, -2.0, 0.5, 3.0])
P = Pattern(sp.csr_array(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]])))
V = np.array([1.0, 2.0, 3.0])
Z = V + 1j * V[::-1]

CASES = {
    "vector": lambda a: a @ X,
    "matrix": lambda a: a @ D,
    "row": lambda a: X @ a,
    "from the left": lambda a: D.T @ a,
    "itself": lambda a: a @ a,
    "sparse": lambda a: a @ B,
    "sparse from the left": lambda a: B @ a,
    "dot": lambda a: a.dot(X),
    "turned": lambda a: a.T @ X,
    "both": lambda a: (a @ X) @ (a.T @ X),
}
TWICE = ("vector", "row", "itself", "both")
OF_MATRICES = {
    "star": lambda a: a * X,
    "star sparse": lambda a: a * B,
    "power": lambda a: a**3,
    "star from the left": lambda a: X * a,
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("cls", [sp.csr_array, sp.csc_matrix, sp.bsr_array, sp.dok_array])
def test_products(check_sparse, filled, entries, cls, name):
    check_sparse(
        lambda v: CASES[name](filled(cls, v)), entries, second=cls is sp.csr_array and name in TWICE
    )


@pytest.mark.parametrize("name", OF_MATRICES)
@pytest.mark.parametrize("cls", [sp.csr_matrix, sp.coo_matrix])
def test_operators_of_matrices(check_sparse, filled, entries, cls, name):
    check_sparse(lambda v: OF_MATRICES[name](filled(cls, v)), entries)


@pytest.mark.parametrize("cls", CLASSES)
def test_the_dense_side(check_traced, matrix, cls):
    a = cls(matrix)
    check_traced(lambda x: a @ x, X)
    check_traced(lambda x: x @ a, X)
    check_traced(lambda x: a.dot(x), np.stack([X, X**2], axis=1))


@pytest.mark.parametrize(
    "f",
    [
        lambda v: sp.csr_array(v) @ B,
        lambda v: sp.coo_array(v).dot(sp.coo_array(v)),
        lambda v: B @ sp.coo_array(v),
    ],
)
def test_one_axis(check_sparse, f):
    check_sparse(f, X)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: sp.kron(a, B),
        lambda a: sp.kron(np.eye(2), a, format="csr"),
        lambda a: sp.kron(a, a, "csc"),
        lambda a: sp.kronsum(a, B),
    ],
)
@pytest.mark.parametrize("cls", [sp.csr_array, sp.coo_matrix, sp.lil_array])
def test_kronecker(check_sparse, filled, entries, cls, f):
    check_sparse(lambda v: f(filled(cls, v)), entries)


@pytest.mark.parametrize("v", [V, Z])
@pytest.mark.parametrize("b", [V, np.stack([V, V * 2], axis=1), Z])
def test_product_rule(v, b):
    check_rule(product, v, b, fkwargs={"pattern": P})


@pytest.mark.parametrize("v", [V, Z])
def test_turned_product_rule(v):
    check_rule(product, v, np.array([1.0, -2.0]), fkwargs={"pattern": P, "turned": True})


@pytest.mark.parametrize("v", [V, Z, np.float32(V)])
def test_weighed_rule(v):
    check_rule(
        weighed,
        v,
        fkwargs={"weights": sp.csr_array(np.array([[1.0, 0, 2], [0, 1, 1]], v.real.dtype))},
    )


@pytest.mark.parametrize("turned", [False, True])
def test_product_with_many_columns(turned):
    rng = np.random.default_rng(0)
    a = sp.csr_array(rng.standard_normal((60, 60)))
    assert a.nnz * 40 > 2 * products._BLOCK
    b = rng.standard_normal((60, 40)) + 1j * rng.standard_normal((60, 40))
    check_rrule(product, a.data, b, fkwargs={"pattern": Pattern(a), "turned": turned})


@pytest.mark.parametrize("side", [-1, 0, 1])
@pytest.mark.parametrize("dtype", [float, complex, np.float32])
def test_rule_of_pairs(side, dtype):
    a = sp.csr_array(np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 1.0]], dtype))
    b = sp.csr_array(np.array([[0.0, 2.0], [1.0, 3.0], [4.0, 0.0]], dtype))
    pairs = Pairs(a, b)
    y = (a @ b).data if dtype is not complex else (a @ b).data * (1 - 2j)
    u, v = ((a.data, b.data), (y, b.data), (y, a.data))[side + 1]
    check_rule(paired, u, v, fkwargs={"pairs": pairs, "side": side})


@pytest.mark.parametrize("dtype", [float, np.float32, complex])
def test_product_is_the_one_of_scipy(dtype):
    rng = np.random.default_rng(1)
    rows, columns = rng.integers(0, 30, (2, 200))
    a = sp.csr_array((rng.standard_normal(200).astype(dtype), (rows, columns)), shape=(30, 30))
    expected = a @ a.T
    expected.sort_indices()
    found = by_sparse(a, a.T)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.data, expected.data)
    assert found.data.dtype == dtype
