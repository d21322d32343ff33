"""Formats, slices, transposes and writes of traced sparse arrays; gradients of sparse arguments."""

import numpy as np
import pytest
import scipy.sparse as sp

import autodiff
from chainrules.refused import RefusedError

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
CLASSES = [getattr(sp, f"{f}_{kind}") for f in FORMATS for kind in ("array", "matrix")]
ARRAYS = [c for c in CLASSES if c.__name__.endswith("array")]
INDEXED = [sp.csr_array, sp.csc_array, sp.lil_array]
X = np.array([1.0, -2.0, 0.5, 3.0])


def written(a):
    a = a.copy()
    a[0, 1] = a[1, 1] * 2
    a[2, 3] = 5.0
    return a


def with_diagonal(a):
    a = a.copy()
    a.setdiag(X * a[0, 0])
    return a


def resized(a):
    a = a.copy()
    a.resize((3, 5))
    return a


MOVING = {
    "toarray": lambda a: a.toarray(),
    "T": lambda a: a.T,
    "transpose": lambda a: a.transpose(),
    "copy": lambda a: a.copy(),
    "tocsr": lambda a: a.tocsr(),
    "tocsc": lambda a: a.tocsc(),
    "tocoo": lambda a: a.tocoo(),
    "todia": lambda a: a.todia(),
    "tobsr": lambda a: a.tobsr(blocksize=(2, 2)),
    "tolil": lambda a: a.tolil(),
    "todok": lambda a: a.todok(),
    "asformat": lambda a: a.asformat("csc"),
    "diagonal": lambda a: a.diagonal(),
    "diagonal k": lambda a: a.diagonal(k=1),
    "reshape": lambda a: a.reshape((2, 8)),
    "reshape spread": lambda a: a.reshape(8, 2),
    "data": lambda a: a.tocsr().data ** 2,
    "nnz": lambda a: a.sum() * a.nnz,
    "find": lambda a: sp.find(a)[2],
}
INDEXING = {
    "row": lambda a: a[1],
    "element": lambda a: a[1, 3],
    "slice": lambda a: a[1:3],
    "columns": lambda a: a[:, [0, 3]],
    "block": lambda a: a[:, 1:3],
    "fancy": lambda a: a[[0, 1, 2], [1, 3, 1]],
    "last": lambda a: a[-1, -1],
    "mask": lambda a: a[np.array([True, False, True, False])],
    "setitem": written,
}


@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize("cls", ARRAYS)
def test_moving(check_sparse, filled, entries, cls, name):
    check_sparse(lambda v: MOVING[name](filled(cls, v)), entries, second=False)


@pytest.mark.parametrize("name", INDEXING)
@pytest.mark.parametrize("cls", INDEXED)
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_indexing(check_sparse, filled, entries, cls, name):
    check_sparse(lambda v: INDEXING[name](filled(cls, v)), entries, second=False)


@pytest.mark.parametrize("change", [with_diagonal, resized])
@pytest.mark.parametrize("cls", [sp.csr_array, sp.csc_matrix, sp.lil_array])
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_changes_in_place(check_sparse, filled, entries, cls, change):
    check_sparse(lambda v: change(filled(cls, v)), entries)


@pytest.mark.parametrize("cls", CLASSES)
def test_a_gradient_has_the_pattern_of_its_argument(matrix, cls):
    x = cls(matrix)
    bar = autodiff.gradient(lambda a: np.sum((a @ X) ** 2), x)
    expected = 2 * np.outer(matrix @ X, X)
    assert type(bar) is cls
    assert bar.shape == x.shape
    np.testing.assert_allclose(bar.toarray()[matrix != 0], expected[matrix != 0])
    if cls.__name__[:3] != "dia":
        assert bar.nnz == x.nnz


@pytest.mark.parametrize("form", [lambda a: a * 2.0, lambda a: a.toarray(), lambda a: a.tocoo()])
def test_tangents_of_any_form(matrix, form):
    x = sp.csr_array(matrix)
    _, push = autodiff.pushforward(lambda a: np.sum(a.toarray() ** 2), x)
    expected = 2 * np.sum(matrix * _dense(form(x)))
    np.testing.assert_allclose(push(form(x)), expected)


def _dense(a):
    return a.toarray() if sp.issparse(a) else a


def test_cotangents_of_any_form():
    def f(v):
        return sp.csr_array((v, ([0, 1], [1, 2])), shape=(3, 3)) * 2.0

    y, back = autodiff.pullback(f, np.array([1.0, 2.0]))
    assert type(y) is sp.csr_array
    np.testing.assert_array_equal(back(np.ones((3, 3))), [2.0, 2.0])
    np.testing.assert_array_equal(back(y), [4.0, 8.0])


def test_precision_stays(matrix):
    x = sp.csr_array(matrix.astype(np.float32))
    assert autodiff.gradient(lambda a: np.sum(a @ np.float32(X)), x).dtype == np.float32


def test_complex_entries(matrix):
    x = sp.csr_array(matrix * (1 + 1j))
    bar = autodiff.gradient(lambda a: np.sum(np.abs(a @ X) ** 2), x)
    expected = 2 * np.outer(x @ X, X)
    np.testing.assert_allclose(bar.toarray()[matrix != 0], expected[matrix != 0])


def test_comparisons_are_constant(matrix):
    x = sp.csr_array(matrix)
    bar = autodiff.gradient(lambda a: (a > 2).sum() * 1.0 + a.sum(), x)
    np.testing.assert_array_equal(bar.toarray(), (matrix != 0) * 1.0)


def test_sparse_arrays_inside_containers(matrix):
    given = {"a": sp.csr_array(matrix), "x": X}
    bar = autodiff.gradient(lambda d: np.sum(d["a"] @ d["x"]), given)
    np.testing.assert_allclose(bar["x"], matrix.sum(axis=0))
    np.testing.assert_allclose(bar["a"].toarray(), (matrix != 0) * X)


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.coo_matrix])
@pytest.mark.parametrize("name", ["todense", "sum", "mean"])
def test_results_that_are_np_matrix_are_refused(matrix, make, name):
    def f(a):
        return np.sum(a.todense() if name == "todense" else getattr(a, name)(axis=0))

    with pytest.raises(RefusedError, match=r"np\.matrix"):
        autodiff.gradient(f, make(matrix))


def test_lists_of_rows_and_columns_of_a_matrix_are_refused(matrix):
    with pytest.raises(RefusedError, match=r"np\.matrix"):
        autodiff.gradient(lambda a: np.sum(a[[0, 1], [1, 0]]), sp.csr_matrix(matrix))


@pytest.mark.parametrize("cls", [sp.dok_array, sp.dok_matrix])
def test_a_dictionary_keeps_the_order_in_which_its_keys_were_stored(cls):
    def last(values):
        x = cls((3, 3))
        for place, value in zip([(2, 1), (0, 2), (1, 0)], values, strict=True):
            x[place] = value
        x = 2.0 * x
        x.pop((1, 0))
        weights = [(1 + i) * value for i, value in enumerate(x.values())]
        key, value = x.popitem()
        assert key == (0, 2)
        assert len(x) == 1
        assert (2, 1) in x
        return sum(weights) + 10.0 * value

    values = np.array([0.3, -0.7, 0.55])
    plain = last(values)
    value, bars = autodiff.value_and_gradient(last, values)
    assert value == pytest.approx(plain)
    np.testing.assert_allclose(bars, [2.0, 24.0, 0.0])
    np.testing.assert_allclose(autodiff.jvp(last, (values,), (np.ones(3),))[1], 26.0)
