"""Sparse arrays from traced entries, blocks and diagonals."""

import numpy as np
import pytest
import scipy.sparse as sp

import autodiff
from chainrules_core import NotImplementedTangentError

X = np.array([1.0, -2.0, 0.5, 3.0])
B = sp.csr_array(np.diag([1.0, 2.0, 3.0, 4.0], 0) + np.diag([0.5, 0.25, 0.125], 1))
D = np.cos(np.arange(8.0)).reshape(2, 4)
TWICE = ([0, 0, 1, 1], [1, 1, 2, 2])


def lil(z):
    a = sp.lil_array((4, 4))
    a[0, 1] = z[0]
    a[1] = z
    a[2, 2] += z[2]
    return a


def dok(z):
    a = sp.dok_matrix((4, 4))
    for i in range(4):
        a[i, (i * 2) % 4] = z[i] ** 2
    return a.tocsr()


def given_data(z):
    a = B[:, :4].tocsc()[:, [0]].tocsr().copy()
    a.data = z[:1] * 2.0
    return a


FROM_ENTRIES = {
    **{
        f"{name} from places": lambda z, name=name: getattr(sp, name)(
            (z, ([0, 1, 2, 3], [1, 0, 2, 2])), shape=(4, 4)
        )
        for name in ("csr_array", "csc_matrix", "coo_array", "bsr_array")
    },
    "csr from pointers": lambda z: sp.csr_array((z, [0, 1, 2, 3], [0, 2, 2, 4, 4]), shape=(4, 4)),
    "no shape": lambda z: sp.csc_matrix((z, ([0, 1, 2, 3], [1, 0, 2, 2]))),
    "dtype": lambda z: sp.coo_array((z, ([0, 1, 2, 3], [1, 0, 2, 2])), dtype=np.complex128).real,
    "added up": lambda z: sp.csr_array((z, TWICE), shape=(4, 4)).data,
    "added up later": lambda z: sp.coo_array((z, TWICE), shape=(4, 4)).tocsc(),
    "added up for abs": lambda z: abs(sp.coo_array((z, TWICE), shape=(4, 4))),
    "dia": lambda z: sp.dia_array((np.stack([z, z * 2]), [0, 1]), shape=(4, 4)),
    "bsr": lambda z: sp.bsr_array((z.reshape(1, 2, 2), [1], [0, 1, 1]), shape=(4, 4)),
    "dense": lambda z: sp.csr_array(np.outer(z, z)),
    "lists": lambda z: sp.csc_matrix([[z[0], z[1]], [z[2], 1.0]]),
    "another format": lambda z: sp.lil_array(sp.csr_array(np.diag(z))),
    "blocks of diagonals": lambda z: sp.block_diag([np.diag(z), B]),
    "lil": lil,
    "dok": dok,
    "data": given_data,
    "diags": lambda z: sp.diags([z, z[1:], z[:3]], [0, 1, -1]),
    "diags of numbers": lambda z: sp.diags([1.0, z[0], -2.0], [-1, 0, 1], shape=(4, 4)).tocsr(),
    "diags_array": lambda z: sp.diags_array(z, offsets=0, format="csr"),
    "diags_array of two": lambda z: sp.diags_array([z[:3], z], offsets=[1, 0]),
    "spdiags": lambda z: sp.spdiags(np.stack([z, z * 2]), [0, 1], 4, 4),
    "identity": lambda z: sp.identity(4) * z[0] + sp.eye_array(4) * z[1],
}
FROM_BLOCKS = {
    "hstack": lambda a: sp.hstack([a, B]),
    "vstack": lambda a: sp.vstack([B, a], format="csc"),
    "bmat": lambda a: sp.bmat([[a, None], [B, a]]),
    "block_array": lambda a: sp.block_array([[a, B], [None, a]], format="csr"),
    "block_diag": lambda a: sp.block_diag([a, D, B]),
    "tril": lambda a: sp.tril(a),
    "triu": lambda a: sp.triu(a, k=1, format="csr"),
}


@pytest.mark.parametrize("name", FROM_ENTRIES)
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_from_entries(check_sparse, name):
    check_sparse(FROM_ENTRIES[name], X, name in ("dense", "lil", "diags"))


@pytest.mark.parametrize("name", FROM_BLOCKS)
@pytest.mark.parametrize("cls", [sp.csr_array, sp.csc_matrix, sp.dia_array, sp.dok_array])
def test_from_blocks(check_sparse, filled, entries, cls, name):
    check_sparse(lambda v: FROM_BLOCKS[name](filled(cls, v)), entries, False)


@pytest.mark.parametrize("name", ["expand_dims", "permute_dims", "swapaxes"])
def test_axes(check_sparse, filled, entries, name, value_of):
    f = value_of(getattr, sp, name)
    args = {"expand_dims": {"axis": 0}, "permute_dims": {"axes": (1, 0)}}.get(
        name, {"axis1": 0, "axis2": 1}
    )
    check_sparse(lambda v: f(filled(sp.coo_array, v), **args), entries)


def test_zeros_of_a_dense_array_are_not_stored():
    x = np.array([[1.0, 0.0], [2.0, 3.0]])

    def of_all(d):
        return sp.csr_array(d).sum()

    with pytest.raises(NotImplementedTangentError, match="made sparse"):
        autodiff.gradient(of_all, x)
    with pytest.raises(NotImplementedTangentError, match="made sparse"):
        autodiff.pushforward(of_all, x)[1](x + 1.0)
    assert autodiff.pushforward(of_all, x)[1](x) == 6.0

    def of_those_that_are_not_0(d):
        return sp.csr_array(d * (d != 0)).sum() + sp.csr_array(np.diag(d[:, 0])).sum()

    bar = autodiff.gradient(of_those_that_are_not_0, x)
    np.testing.assert_array_equal(bar, [[2.0, 0.0], [2.0, 1.0]])


def test_zeros_on_a_diagonal_are_entries():
    x = np.array([1.0, 0.0, 2.0])
    bar = autodiff.gradient(lambda d: np.sum(sp.diags_array(d).tocsr() @ np.ones(3)), x)
    np.testing.assert_array_equal(bar, [1.0, 1.0, 1.0])


STACKS = {
    "hstack": lambda a, **options: sp.hstack([a, a], **options),
    "hstack of one": lambda a, **options: sp.hstack([a], **options),
    "vstack": lambda a, **options: sp.vstack([a, 2 * a], **options),
    "block_array": lambda a, **options: sp.block_array([[a, None], [a, a]], **options),
    "block_diag": lambda a, **options: sp.block_diag([a, a], **options),
}


@pytest.mark.parametrize("format", [None, "csc", "csr", "coo"])
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("cls", [sp.csc_array, sp.csr_array])
def test_entries_that_are_stored_twice_are_added_up_where_scipy_does(cls, stack, format):
    """SciPy stacks arrays of one format as they are stored."""

    def f(x):
        a = cls((x, [1, 1, 1, 0, 3, 3], [0, 2, 3, 4, 6]), shape=(4, 4))
        return np.sum(STACKS[stack](a, format=format).data ** 3)

    x = 0.5 + 0.4 * np.sin(np.arange(6.0) + 5.0)
    value, bar = autodiff.value_and_gradient(f, x)
    assert value == pytest.approx(f(x), rel=1e-14)
    expected = [(f(x + step) - f(x - step)) / 2e-5 for step in 1e-5 * np.eye(6)]
    np.testing.assert_allclose(bar, expected, rtol=1e-6, atol=1e-7)
