"""Results are stored as SciPy stores them: class, format, places in order, dtype."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as graphs

import autodiff
from chainrules_core import NotImplementedTangentError

pytestmark = pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")

X = np.array([0.3, 0.7, -0.2, 2.5, 1.3])
DIRECTION = np.array([0.8, -0.6, 1.0, 0.5, -0.9])


def _dia(x, offsets):
    rows = np.stack([np.concatenate([x[:2], x[:1]]), x[2:]])
    return sp.dia_array((rows, np.array(offsets)), shape=(3, 3))


def _bsr(x, columns, starts):
    blocks = [x[:4].reshape(2, 2), x[1:].reshape(2, 2), x[1:].reshape(2, 2)]
    given = np.stack(blocks[: len(columns)]), np.array(columns), np.array(starts)
    return sp.bsr_array(given, shape=(4, 4))


def _compressed(make, x, columns):
    return make((x, np.array(columns), np.array([0, 2, 3, 5])), shape=(3, 3))


MAKE = {
    "csr": lambda x: _compressed(sp.csr_array, x, [0, 2, 1, 0, 2]),
    "csr, unordered": lambda x: _compressed(sp.csr_array, x, [2, 0, 1, 2, 0]),
    "csr, twice": lambda x: _compressed(sp.csr_array, x, [1, 1, 1, 2, 0]),
    "csc": lambda x: _compressed(sp.csc_array, x, [0, 2, 1, 0, 2]),
    "csc, unordered": lambda x: _compressed(sp.csc_array, x, [2, 0, 1, 2, 0]),
    "coo": lambda x: sp.coo_array(
        (x, (np.array([2, 0, 1, 0, 2]), np.array([0, 2, 1, 0, 2]))), shape=(3, 3)
    ),
    "coo, twice": lambda x: sp.coo_array(
        (x, (np.array([2, 0, 1, 0, 2]), np.array([0, 2, 1, 2, 2]))), shape=(3, 3)
    ),
    "coo, one axis": lambda x: sp.coo_array((x, (np.array([3, 0, 1, 5, 2]),)), shape=(6,)),
    "dia": lambda x: _dia(x, [0, 1]),
    "dia, others": lambda x: _dia(x, [1, -1]),
    "bsr": lambda x: _bsr(x, [1, 0], [0, 1, 2]),
    "bsr, unordered": lambda x: _bsr(x, [1, 0, 0], [0, 2, 3]),
    "lil": lambda x: MAKE["csr"](x).tolil(),
    "dok": lambda x: MAKE["csr"](x).todok(),
    "csr_matrix": lambda x: _compressed(sp.csr_matrix, x, [2, 0, 1, 2, 0]),
    "coo_matrix": lambda x: sp.coo_matrix(
        (x, (np.array([2, 0, 1, 0, 2]), np.array([0, 2, 1, 0, 2]))), shape=(3, 3)
    ),
}


def _other(a):
    """Return a constant array of the shape of another."""
    return (np.arange(np.prod(a.shape)).reshape(a.shape) * 7 % 5 - 1.25) * (
        np.arange(np.prod(a.shape)).reshape(a.shape) % 3 > 0
    )


OPERATIONS = {
    "a @ a": lambda a: a @ a,
    "a.T @ a": lambda a: a.T @ a,
    "a @ constant": lambda a: a @ sp.csc_array(_other(a)),
    "constant @ a": lambda a: sp.coo_array(_other(a)) @ a,
    "identity @ a": lambda a: sp.eye_array(a.shape[0]) @ a,
    "a @ vector": lambda a: a @ sp.coo_array(np.arange(a.shape[-1]) * 1.0),
    "vector @ a": lambda a: sp.coo_array(np.arange(a.shape[0]) * 1.0) @ a,
    "a @ array": lambda a: a @ _other(a),
    "array @ a": lambda a: _other(a) @ a,
    "a + a.T": lambda a: a + a.T,
    "a - constant": lambda a: a - sp.csr_array(_other(a)),
    "a - truths": lambda a: 0.9 * a - sp.csr_array(_other(a) != 0),
    "truths - a": lambda a: sp.csr_array(_other(a) != 0) - 0.9 * a,
    "integers - a": lambda a: sp.csc_array((_other(a) != 0).astype(np.uint8)) - 0.9 * a,
    "maximum of truths": lambda a: a.maximum(sp.csr_array(_other(a) != 0)),
    "minimum of truths": lambda a: a.minimum(sp.csr_array(_other(a) != 0)),
    "truths by a": lambda a: sp.csr_array(_other(a) != 0).multiply(a),
    "constant + a": lambda a: sp.csc_array(_other(a)) + a,
    "identity + a": lambda a: sp.eye_array(a.shape[0]) + a,
    "identity - a": lambda a: sp.eye_array(a.shape[0]) * 0.25 - a,
    "multiply": lambda a: a.multiply(a.T),
    "multiply by constant": lambda a: a.multiply(sp.csr_array(_other(a))),
    "multiply by array": lambda a: a.multiply(_other(a)),
    "multiply by row": lambda a: a.multiply(_other(a)[0]),
    "multiply by column": lambda a: a.multiply(_other(a)[:, :1]),
    "row by array": lambda a: a.tocsr()[[0]].multiply(_other(a)),
    "column by sparse row": lambda a: a.tocsr()[:, [0]].multiply(a.tocsr()[[0]]),
    "multiply by comparison": lambda a: a.multiply(a > 0.5),
    "by number": lambda a: 2 * a,
    "over number": lambda a: a / 3,
    "over array": lambda a: a / (_other(a) + 3),
    "negative": lambda a: -a,
    "abs": abs,
    "sin": lambda a: a.sin(),
    "power": lambda a: a.power(2),
    "conj": lambda a: a.conj(),
    "maximum": lambda a: a.maximum(sp.csr_array(_other(a))),
    "minimum": lambda a: a.minimum(sp.csr_array(_other(a))),
    "maximum of number": lambda a: a.maximum(-0.1),
    "minimum of number": lambda a: a.minimum(0.5),
    "kron": lambda a: sp.kron(a, np.eye(2)),
    "kron, right": lambda a: sp.kron(np.eye(2), a),
    "kron, sparse": lambda a: sp.kron(a, sp.csr_array(np.array([[0, 0, 1.0], [0, 0, 0]]))),
    "kron, both": lambda a: sp.kron(a, a),
    "kron, csr": lambda a: sp.kron(a, a, format="csr"),
    "kronsum": lambda a: sp.kronsum(a, a),
    "vstack": lambda a: sp.vstack([a, a]),
    "hstack": lambda a: sp.hstack([a, a], format="csc"),
    "tril": lambda a: sp.tril(a),
    "tocsr": lambda a: a.tocsr(),
    "tocoo": lambda a: a.tocoo(),
    "rows": lambda a: a[[2, 0]],
    "columns": lambda a: a[:, ::-1],
    "nonzero": lambda a: np.concatenate(a.nonzero()) * 1.0,
    "max": lambda a: a.max(axis=0),
    "spanning tree": graphs.minimum_spanning_tree,
    "edges": graphs.csgraph_to_dense,
    "array": lambda a: a.toarray(),
}


def _stored(a):
    """Return how a result is stored."""
    if not sp.issparse(a):
        return type(a), np.asarray(a).dtype
    places = {
        "coo": lambda: a.coords,
        "csr": lambda: (a.indices, a.indptr),
        "csc": lambda: (a.indices, a.indptr),
        "bsr": lambda: (a.indices, a.indptr),
        "dia": lambda: (a.offsets,),
        "dok": lambda: list(a.keys()),
        "lil": lambda: a.tocoo().coords,
    }[a.format]()
    return type(a), a.shape, a.dtype, [np.asarray(p).tolist() for p in places]


def _entries(a):
    if not sp.issparse(a):
        return np.asarray(a)
    return a.data if a.format not in ("lil", "dok") else a.tocoo().data


def _f(operation, make, x, seen):
    made = operation(make(x))
    seen.append(_stored(made))
    entries = _entries(made)
    weights = np.arange(1.0, 1 + np.size(entries)).reshape(np.shape(entries))
    return np.sum(entries * weights)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", OPERATIONS)
def test_results_are_stored_as_scipy_stores_them(name, dtype):
    operation, compared = OPERATIONS[name], 0
    x = X.astype(dtype)
    for kind, make in MAKE.items():
        plain, traced = [], []
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = _f(operation, make, x.copy(), plain)
        except (ValueError, TypeError, IndexError, AttributeError, NotImplementedError):
            continue  # SciPy has no such operation of this format
        try:
            value, found = autodiff.value_and_gradient(
                lambda x, make=make, traced=traced: _f(operation, make, x, traced), x.copy()
            )
        except NotImplementedTangentError:
            continue
        assert traced == plain, kind
        tolerance, step = (1e-5, 1e-6) if dtype is np.float64 else (5e-3, 2.0**-7)
        np.testing.assert_allclose(value, expected, rtol=tolerance / 100, err_msg=kind)
        h = step * DIRECTION.astype(dtype)
        ends = [_f(operation, make, x + h, []), _f(operation, make, x - h, [])]
        slope = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(found @ DIRECTION, slope, tolerance, tolerance, err_msg=kind)
        assert found.dtype == dtype
        compared += 1
    assert compared >= 6


def test_entries_of_one_axis_keep_their_places():
    """Putting them in order in SciPy's CSR does not move the places of the array itself."""

    def f(x):
        a = sp.coo_array((x, (np.array([3, 0, 1, 5, 2]),)), shape=(6,))
        return a.toarray() @ np.arange(1.0, 7.0)

    value, found = autodiff.value_and_gradient(f, X)
    assert value == f(X)
    np.testing.assert_array_equal(found, [4.0, 1.0, 2.0, 6.0, 3.0])


@pytest.mark.parametrize("other", [0.0, -0.5])
def test_zero_extrema_that_have_a_derivative_are_kept(other):
    x = np.array([0.0, 1.0, -1.0, 0.0])

    def stored(x, other):
        a = sp.csr_array((x, np.array([0, 1, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
        return a.maximum(other).sum() + a.maximum(2 * a.tocsc()).sum()

    def dense(x, other):
        return np.sum(np.maximum(x, other)) + np.sum(np.maximum(x, 2 * x))

    found, expected = (autodiff.gradient(f, x, other) for f in (stored, dense))
    np.testing.assert_array_equal(found[0], expected[0])
    assert found[1] == expected[1]
    np.testing.assert_array_equal(autodiff.gradient(lambda x: stored(x, other), x), expected[0])
