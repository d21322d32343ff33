import numpy as np
import pytest

import autodiff
from chainrules.reductions.permutations import put_back
from chainrules_core import NoTangent, Tangent, frule, rrule
from chainrules_core.testing import COMPLEX, REAL, check_rule
from tests.helpers import case

V = REAL.draw(6, rng=1)
X = REAL.draw((2, 3, 4), rng=2)
X32 = REAL.draw((3, 4), np.float32, rng=3)
Z = COMPLEX.draw((3, 4), rng=4)
STRIDED = REAL.draw((4, 6), rng=6)[::2, ::-2]
LONG = REAL.draw(3000, rng=10)


SORT = [
    case(np.sort, V),
    case(np.sort, X),
    case(np.sort, X, 0),
    case(np.sort, a=X, axis=1),
    case(np.sort, X, None),
    case(np.sort, X, kind="stable"),
    case(np.sort, X, stable=True),
    case(np.sort, X32, 0),
    case(np.sort, Z),
    case(np.sort, STRIDED),
    case(np.sort, np.zeros((0, 3)), 0),
    case(np.sort_complex, V),
    case(np.sort_complex, X),
    case(np.sort_complex, Z),
    case(np.partition, V, 2),
    case(np.partition, V, (1, 3)),
    case(np.partition, X, 1),
    case(np.partition, a=X, kth=1, axis=0),
    case(np.partition, X, 7, axis=None),
    case(np.partition, X32, 2, 1, "introselect"),
    case(np.partition, Z, 1, 0),
    case(np.partition, LONG, 100),
]
PUT_BACK = [
    case(put_back, V, np.array([2, 0, 1, 5, 4, 3]), None),
    case(put_back, X[0], np.argsort(X[0], axis=0), 0),
    case(put_back, Z, np.argsort(Z, axis=1), -1),
]
UNIQUE = [
    case(np.unique_values, V[:1]),
    case(np.unique, V),
    case(np.unique, X),
    case(np.unique, X32),
    case(np.unique, Z),
    case(np.unique, V, True, True, True),
    case(np.unique, V, return_counts=True),
    case(np.unique, X, axis=0),
    case(np.unique, X, axis=-1, return_inverse=True),
    case(np.unique, V, axis=0),
    case(np.unique, 2.5),
    case(np.unique, np.zeros(0)),
    case(np.unique_all, X),
    case(np.unique_counts, X32),
    case(np.unique_inverse, Z),
    case(np.unique_all, V[:1]),
]


@pytest.mark.parametrize("f, args, kwargs", SORT + PUT_BACK + UNIQUE)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs, second_order=True, gradient=autodiff.gradient)


def test_equal_elements_keep_their_order():
    x = np.array([2.0, 1.0, 2.0, 1.0])
    _, pullback = rrule(np.sort, x)
    assert pullback(np.array([1.0, 2.0, 3.0, 4.0]))[1].tolist() == [3, 1, 4, 2]


def test_partition_of_equal_elements():
    """Each element of the result has one cause, and as its value says."""
    x = np.array([2.0, 1.0, 2.0, 1.0, 3.0, 0.5])
    y, pullback = rrule(np.partition, x, 2)
    x_bar = pullback(np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0]))[1]
    assert sorted(x_bar) == [1, 2, 4, 8, 16, 32]
    assert [y[int(np.log2(b))] for b in x_bar] == x.tolist()


def test_nans_come_last():
    x = np.array([np.nan, 2.0, np.nan, 1.0])
    _, pullback = rrule(np.sort, x)
    assert pullback(np.array([1.0, 2.0, 3.0, 4.0]))[1].tolist() == [3, 2, 4, 1]
    _, pullback = rrule(np.unique, x)
    assert pullback(np.array([1.0, 2.0, 4.0]))[1].tolist() == [2, 2, 2, 1]
    _, pullback = rrule(np.unique, x, equal_nan=False)
    assert pullback(np.array([1.0, 2.0, 3.0, 4.0]))[1].tolist() == [3, 2, 4, 1]


@pytest.mark.parametrize("f", [np.unique_values, lambda x: np.unique(x, sorted=False)])
@pytest.mark.parametrize("x", [V, X, np.append(V, V[:3])], ids=lambda x: str(x.shape))
def test_unsorted_unique(f, x, check_engine):
    """These return the values in an order that has no meaning."""
    y = f(x)
    weights = {value: i + 1.0 for i, value in enumerate(np.sort(y))}
    y_bar = np.array([weights[value] for value in y])
    x_bar = autodiff.gradient(lambda x: np.sum(f(x) * y_bar), x)
    shares = [weights[v] / np.count_nonzero(x == v) for v in x.flat]
    assert x_bar.ravel().tolist() == shares


@pytest.mark.parametrize("f", [np.unique, np.unique_values])
def test_copies_share(f):
    x = np.array([3.0, 1.0, 3.0, 3.0, 2.0])
    y, pullback = rrule(f, x)
    y_bar = np.array([{1.0: 10.0, 2.0: 20.0, 3.0: 60.0}[v] for v in y])
    assert pullback(y_bar)[1].tolist() == [20, 10, 20, 20, 20]
    y_dot = frule((NoTangent(), np.array([1.0, 5.0, 2.0, 6.0, 7.0])), f, x)[1]
    assert dict(zip(y.tolist(), y_dot.tolist(), strict=True)) == {1: 5, 2: 7, 3: 3}


def test_equal_rows_share():
    x = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    _, pullback = rrule(np.unique, x, axis=0)
    assert pullback(np.array([[2.0, 4.0], [6.0, 8.0]]))[1].tolist() == [[1, 2], [6, 8], [1, 2]]
    assert frule((NoTangent(), x * x), np.unique, x, axis=0)[1].tolist() == [[1, 4], [9, 16]]


def test_indices_have_no_tangent():
    y, y_dot = frule((NoTangent(), V), np.unique, V, return_index=True)
    assert isinstance(y_dot, Tangent)
    assert y_dot[1] is NoTangent()
    y, y_dot = frule((NoTangent(), V), np.unique_all, V)
    assert y_dot.counts is NoTangent()
    assert y_dot.values.tolist() == y.values.tolist()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sort(x, axis=0),
        lambda x: np.sort(x, axis=None)[-3:],
        lambda x: np.partition(x, 2)[..., :3],
        lambda x: np.unique(x)[:5],
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X[0])


def test_engine_sorts_in_place():
    def f(x):
        x = x * 1.0
        x.sort()
        return np.sum(x * np.array([1.0, 10.0, 100.0]))

    assert autodiff.gradient(f, np.array([3.0, 1.0, 2.0])).tolist() == [100, 1, 10]


SETS = [  # written in Python by NumPy: the engine differentiates that
    (lambda x: np.union1d(x, np.array([0.0, x[0] * 0 + 9.5])), 7),
    (lambda x: np.intersect1d(x, np.append(x[:3], 99.0)), 3),
    (lambda x: np.setdiff1d(x, x[:2]), 4),
    (lambda x: np.setxor1d(x, np.append(x[:2], 99.0)), 5),
    (lambda x: np.trim_zeros(np.append(x, [0.0, 0.0])), 6),
]


@pytest.mark.parametrize("f, n", SETS)
def test_sets(f, n):
    weights = 1.0 + np.arange(np.size(f(V)))
    found = autodiff.gradient(lambda x: np.sum(weights * f(x) ** 2), V)
    h, expected = 1e-6, []
    for step in h * np.eye(len(V)):
        up, down = [np.sum(weights * f(V + d) ** 2) for d in (step, -step)]
        expected.append((up - down) / (2 * h))
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)


def numbers(n, kind):
    rng = np.random.default_rng(n)
    x = rng.standard_normal(n)
    return {
        "normal": x,
        "ties": np.round(3 * x),
        "all the same": np.ones(n),
        "near": 1 + 1e-15 * np.round(x * 4),
        "infinite": np.where(x > 1, np.inf, x),
        "nan": np.where(x > 1, np.nan, x),
        "zeros": np.where(x > 0, 0.0, -0.0),
        "float32": x.astype(np.float32),
        "strided": rng.standard_normal(2 * n)[::-2],
    }[kind]


@pytest.mark.parametrize("n, kth", [(2, 0), (9, 4), (300, [7, 200]), (5000, 60)])
@pytest.mark.parametrize(
    "kind",
    ["normal", "ties", "all the same", "near", "infinite", "nan", "zeros", "float32", "strided"],
)
def test_partition_sends_each_cotangent_to_an_element_of_its_value(n, kth, kind):
    x = numbers(n, kind)
    y_bar = np.arange(1.0, n + 1).astype(x.dtype)
    y, pullback = rrule(np.partition, x, kth)
    np.testing.assert_array_equal(y, np.partition(x, kth))
    x_bar = pullback(y_bar)[1]
    assert sorted(x_bar) == sorted(y_bar)
    np.testing.assert_array_equal(y[x_bar.astype(int) - 1], x)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_partition_along_an_axis_of_many_elements(axis):
    x = np.random.default_rng(0).standard_normal((70, 90))
    y_bar = np.random.default_rng(1).standard_normal(np.partition(x, 30, axis).shape)
    x_bar = rrule(np.partition, x, 30, axis=axis)[1](y_bar)[1]
    y_dot = frule((NoTangent(), x_bar, NoTangent()), np.partition, x, 30, axis=axis)[1]
    np.testing.assert_array_equal(y_dot, y_bar)  # a permutation is undone by its adjoint


@pytest.mark.parametrize("x", [[3.0, 1.0, 3.0, 2.0, 1.0], [[2.0, 1.0], [1.0, 2.0]], [], [5.0]])
def test_copies_share_equally(x):
    x = np.array(x)
    values = np.unique(x)
    y_bar = 10.0 ** np.arange(len(values))
    counts = np.array([np.count_nonzero(x == v) for v in values])
    expected = np.zeros_like(x)
    for value, share in zip(values, y_bar / counts if len(values) else [], strict=True):
        expected[x == value] = share
    np.testing.assert_array_equal(rrule(np.unique, x)[1](y_bar)[1], expected)


def test_sort_complex_of_real_numbers():
    y, pullback = rrule(np.sort_complex, V)
    np.testing.assert_array_equal(y, np.sort_complex(V))
    assert y.dtype == np.sort_complex(V).dtype
    assert pullback(y * 1j)[1].dtype == float
    for dtype in (np.float32, np.complex64, np.int8, int):
        assert rrule(np.sort_complex, V.astype(dtype))[0].dtype == complex_of(dtype)


def complex_of(dtype):
    return np.sort_complex(np.zeros(1, dtype)).dtype
