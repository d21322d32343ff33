"""A write into a sparse array, or into the array of its entries, is seen where SciPy shows it."""

import operator

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spl

import autodiff
from chainrules_core import NotImplementedTangentError

pytestmark = pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")

WEIGHTS = np.cos(np.arange(9.0)).reshape(3, 3)
X = np.array([0.3, 0.7, 1.1, 0.4])
ROWS, COLUMNS, STARTS = [0, 1, 2, 0], [1, 2, 0, 0], [0, 2, 3, 4]

MAKE = {
    "coo": lambda y: sp.coo_array((y, (np.array(ROWS), np.array(COLUMNS))), shape=(3, 3)),
    "csr": lambda y: sp.csr_array((y, np.array(ROWS), np.array(STARTS)), shape=(3, 3)),
    "csc, unordered": lambda y: sp.csc_array(
        (y, np.array([2, 0, 1, 1]), np.array(STARTS)), shape=(3, 3)
    ),
    "csr, twice": lambda y: sp.csr_array((y, np.array([1, 1, 2, 0]), np.array(STARTS)), (3, 3)),
    "csr, a copy": lambda y: sp.csr_array((y, np.array(ROWS), np.array(STARTS)), copy=True),
    "dia": lambda y: sp.dia_array((y[:3].reshape(1, 3), np.array([0])), shape=(3, 3)),
    "bsr": lambda y: sp.bsr_array((y.reshape(1, 2, 2), np.array([0]), np.array([0, 1]))),
}
DERIVE = {
    "itself": lambda a: a,
    "T": lambda a: a.T,
    "tocsr": lambda a: a.tocsr(copy=False),
    "tocoo": lambda a: a.tocoo(copy=False),
    "real": lambda a: a.real,
    "conj": lambda a: a.conj(copy=False),
    "astype": lambda a: a.astype(float, copy=False),
    "class": lambda a: type(a)(a),
    "copy": lambda a: a.copy(),
    "reshape": lambda a: a.reshape((1, a.shape[0] * a.shape[1])),
    "twice in LIL": lambda a: sp.lil_array(sp.lil_array(a)),
}


def _scale(y, a, b):
    b *= 2.0


def _scale_by_traced(y, a, b):
    b /= y[1]


def _write_entries(y, a, b):
    y[0] = 3 * y[1]


def _write_data(y, a, b):
    a.data[...] = a.data * a.data


def _write_element(y, a, b):
    b[0, 0] = y[2]


def _order(y, a, b):
    a.sort_indices()


def _add_up(y, a, b):
    a.sum_duplicates()


def _add_up_to_read(y, a, b):
    a.max()


def _drop_zeros(y, a, b):
    y[1] = 0.0
    a.eliminate_zeros()


def _exchange_indices(y, a, b):
    b.indices[:2] = b.indices[1::-1].copy()
    a.sum()
    _ = b != 0.1


WRITES = [_scale, _scale_by_traced, _write_entries, _write_data, _write_element, _order, _add_up,
          _add_up_to_read, _drop_zeros, _exchange_indices]  # fmt: skip


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("derive", DERIVE)
@pytest.mark.parametrize("make", MAKE)
def test_writes_are_seen(make, derive, write):
    def f(x):
        y = x.copy()
        a = MAKE[make](y)
        b = DERIVE[derive](a)
        write(y, a, b)
        read = sum(
            k * np.sum(np.sin(m) * np.resize(WEIGHTS, m.shape))
            for k, m in ((1.0, a.toarray()), (2.0, b.toarray()))
        )
        return read + np.cos(y) @ np.arange(1.0, 5.0)

    try:
        plain = f(X)
    except (AttributeError, NotImplementedError, ValueError, TypeError):
        pytest.skip("SciPy has no such method of this format")
    value, bar = autodiff.value_and_gradient(f, X)
    np.testing.assert_allclose(value, plain, rtol=1e-13)
    steps = 1e-5 * np.eye(4)
    expected = [(f(X + step) - f(X - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(bar, expected, rtol=1e-6, atol=1e-7)
    _, push = autodiff.pushforward(f, X)
    np.testing.assert_allclose([push(e) for e in np.eye(4)], expected, rtol=1e-6, atol=1e-7)


def test_a_plain_array_of_entries_with_another_name_is_refused():
    constants = np.array([1.0, 2.0, 3.0, 4.0])

    def f(x):
        y = constants * 1.0
        a = MAKE["csr"](y)
        a *= x[0]
        return a.sum() + y[0] * x[1]

    with pytest.raises(autodiff.MutationError):
        autodiff.gradient(f, X)


def test_zeros_that_are_dropped_are_an_error():
    def f(x):
        a = sp.csr_array((x, np.array(ROWS), np.array(STARTS)), shape=(3, 3))
        a.eliminate_zeros()
        return a.sum()

    with pytest.raises(NotImplementedTangentError, match="eliminate_zeros"):
        autodiff.gradient(f, np.array([0.0, 1.0, 2.0, 3.0]))


LARGER = {
    "half of an array": lambda x: np.stack([x, x])[1],
    "a third of one": lambda x: np.concatenate([x, x * x, x])[4:8],
    "all of one": lambda x: x[::1] * 1.0,
}
CHANGES = {
    "add up": lambda a: a.sum_duplicates(),
    "write a row": lambda a: a.__setitem__(0, 1.5),
    "write an element": lambda a: a.__setitem__((1, 2), 2.5),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("larger", LARGER)
@pytest.mark.parametrize("made", ["csr", "csr, twice", "csc, unordered"])
def test_entries_that_are_part_of_a_larger_array(made, larger, change):
    """SciPy copies entries that are left where the array behind them is much larger."""

    def f(x):
        y = LARGER[larger](x)
        a = MAKE[made](y)
        CHANGES[change](a)
        return np.sum(np.sin(y)) + np.sum(a.toarray() * WEIGHTS)

    value, bar = autodiff.value_and_gradient(f, X)
    assert value == pytest.approx(f(X), rel=1e-13)
    expected = [(f(X + step) - f(X - step)) / 2e-5 for step in 1e-5 * np.eye(4)]
    np.testing.assert_allclose(bar, expected, rtol=1e-6, atol=1e-7)
    moved, tangent = autodiff.jvp(f, (X,), (np.ones(4),))
    assert moved == pytest.approx(f(X), rel=1e-13)
    assert tangent == pytest.approx(np.sum(expected), rel=1e-6)


@pytest.mark.parametrize("larger", LARGER)
def test_zeros_are_dropped_of_entries_that_are_part_of_a_larger_array(larger):
    def f(x):
        y = LARGER[larger](x)
        a = MAKE["csr"](y)
        y[1] = 0.0
        a.eliminate_zeros()
        a *= 1.5  # into `y`, unless SciPy has copied the entries
        return np.sum(np.sin(y)) + np.sum(a.toarray() * WEIGHTS)

    value, bar = autodiff.value_and_gradient(f, X)
    assert value == pytest.approx(f(X), rel=1e-13)
    expected = [(f(X + step) - f(X - step)) / 2e-5 for step in 1e-5 * np.eye(4)]
    np.testing.assert_allclose(bar, expected, rtol=1e-6, atol=1e-7)


def _spread(x):
    y = np.array([0.5, 0.9, 1.3, 1.7, 2.0, 0.1])
    a = sp.spdiags(y[:4].reshape(1, 4), 1, 4, 4)
    y[1] = x[0]
    return np.sum(a.toarray()) + 0.0 * x[1]


def _filled(x):
    b = sp.coo_array((x, (np.array([0, 1, 2, 0]), np.array([1, 2, 0, 2]))), (4, 4)).todia()
    b.data.fill(0.5)
    return np.sum(b @ np.ones(4)) + x[0]


def _written_beside(x):
    b = sp.coo_array((x, (np.array([0, 1, 2, 0]), np.array([1, 2, 0, 2]))), (4, 4)).todia()
    b.data *= x[0]
    return np.sum(b.toarray() * np.arange(16.0).reshape(4, 4)) + b.sum() * x[0]


@pytest.mark.parametrize("f", [_spread, _filled, _written_beside])
def test_diagonals(f):
    """A constant array of diagonals, and what is written where DIA stores nothing of the array."""
    expected = [(f(X + step) - f(X - step)) / 2e-5 for step in 1e-5 * np.eye(4)]
    compiled = autodiff.compile(lambda x: autodiff.value_and_gradient(f, x))
    for slope in (autodiff.value_and_gradient, lambda f, x: compiled(x)):
        value, bar = slope(f, X)
        assert value == pytest.approx(f(X), rel=1e-13)
        np.testing.assert_allclose(bar, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("form", ["csr", "lil", "dok", "dia"])
@pytest.mark.parametrize("change", [operator.imul, operator.itruediv])
def test_functions_of_the_module_operator(form, change):
    def f(x):
        a = MAKE["csr"](x * 1.0).asformat(form)
        a = change(a, x[1])
        return np.sum(a.toarray() * WEIGHTS)

    value, bar = autodiff.value_and_gradient(f, X)
    assert value == pytest.approx(f(X), rel=1e-13)
    expected = [(f(X + step) - f(X - step)) / 2e-5 for step in 1e-5 * np.eye(4)]
    np.testing.assert_allclose(bar, expected, rtol=1e-6, atol=1e-7)


FUNCTIONS = {
    "expm": lambda a: spl.expm(a).sum(),
    "norm": lambda a: spl.norm(a),
    "norm by columns": lambda a: spl.norm(a, 1),
    "splu": lambda a: spl.splu(a).solve(np.arange(1.0, 4.0)).sum(),
    "spsolve": lambda a: spl.spsolve(a, np.arange(1.0, 4.0)).sum(),
    "inv": lambda a: spl.inv(a).sum(),
    "expm_multiply": lambda a: spl.expm_multiply(a, np.arange(1.0, 4.0)).sum(),
}


@pytest.mark.parametrize("size", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_functions_put_in_order_in_place(name, kind, size):
    """Entries of the argument are moved and added up where SciPy does so, and not elsewhere.

    Where that is, may depend on their size.
    """

    def f(x):
        a = kind((x, np.array([1, 0, 1, 1, 2, 0]), np.array([0, 2, 4, 6])), shape=(3, 3))
        return FUNCTIONS[name](a) + x @ np.arange(1.0, 7.0)

    x = size * np.array([0.3, 2.0, 1.5, 0.6, 1.1, 0.4])
    value, found = autodiff.value_and_gradient(f, x.copy())
    np.testing.assert_allclose(value, f(x.copy()), rtol=1e-12)
    h = 1e-6 * size
    steps = np.array([f(x + h * e) - f(x - h * e) for e in np.eye(6)]) / (2 * h)
    np.testing.assert_allclose(found, steps, rtol=1e-6, atol=1e-7 * np.abs(steps).max())


REDUCTIONS = {
    "sum": lambda a: a.sum(),
    "mean": lambda a: a.mean(),
    "max": lambda a: a.max(),
    "min": lambda a: -a.min(),
    "explicit": lambda a: a.max(explicit=True),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_places_that_another_array_has_added_up(name):
    """The other array shares the places: entries stay in memory that no place refers to."""

    def f(x):
        a = sp.csr_array((x, np.array([1, 1, 1, 0]), np.array([0, 2, 3, 4])), shape=(3, 3))
        sp.csr_array(a).sum_duplicates()
        return REDUCTIONS[name](a)

    x = np.array([0.3, 0.7, -0.2, 2.5])
    value, found = autodiff.value_and_gradient(f, x.copy())
    assert value == f(x.copy())
    steps = [f(x + 1e-6 * e) - f(x - 1e-6 * e) for e in np.eye(4)]
    np.testing.assert_allclose(found, np.array(steps) / 2e-6, rtol=0, atol=1e-8)
