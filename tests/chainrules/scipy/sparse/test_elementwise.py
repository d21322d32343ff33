"""Entries one by one, sums and products by element, reductions."""

import numpy as np
import pytest
import scipy.sparse as sp

CLASSES = [sp.csr_array, sp.dia_array, sp.lil_matrix]
ARRAYS = [sp.csr_array, sp.coo_array, sp.dok_array]
D = np.cos(np.arange(16.0)).reshape(4, 4)
B = sp.csr_array(np.diag([1.0, 2.0, 3.0, 4.0], 0) + np.diag([0.5, 0.25, 0.125], 1))
X = np.array([1.0, -2.0, 0.5, 3.0])


def doubled(a):
    a = a.copy()
    a *= 2.0
    return a


def halved(a):
    a = a.copy()
    a /= 2.0
    return a


def added_to(a):
    a = a.copy()
    a += B
    return a


ALL = {
    "neg": lambda a: -a,
    "abs": lambda a: abs(-a),
    "add": lambda a: a + B,
    "radd": lambda a: B + a,
    "add itself": lambda a: a + a,
    "sub": lambda a: a - B * 2.0,
    "rsub": lambda a: 2.0 * B - a,
    "zero": lambda a: a + 0,
    "times": lambda a: a * 3.0,
    "rtimes": lambda a: 3.0 * a,
    "over": lambda a: a / 2.0,
    "traced factor": lambda a: a * a[0, 0] if hasattr(type(a), "__getitem__") else a * a.sum(),
    "multiply sparse": lambda a: a.multiply(B),
    "multiply dense": lambda a: a.multiply(D),
    "multiply row": lambda a: a.multiply(X),
    "multiply column": lambda a: a.multiply(X[:, None]),
    "sum": lambda a: a.sum(),
    "mean": lambda a: a.mean(),
    "trace": lambda a: a.trace(),
    "power": lambda a: a.power(3),
    "conj": lambda a: a.conj(),
    "real": lambda a: a.real * 2.0,
    "astype": lambda a: a.astype(np.float64),
    "imul": doubled,
    "itruediv": halved,
    "iadd": added_to,
}
OF_ARRAYS = {
    "add dense": lambda a: a + D,
    "dense sub": lambda a: D - a,
    "divide by dense": lambda a: a / (D**2 + 1),
    "pow": lambda a: a**2,
    "star": lambda a: a * B,
    "sum 0": lambda a: a.sum(axis=0),
    "sum 1": lambda a: a.sum(1),
    "mean -1": lambda a: a.mean(axis=-1),
}
OF_FULL = {
    "max": lambda a: a.max(),
    "min": lambda a: a.min(),
    "max 0": lambda a: a.max(axis=0),
    "min 1": lambda a: (-a).min(axis=1),
    "nanmax": lambda a: a.nanmax(),
    "explicit": lambda a: a.min(explicit=True),
    "maximum": lambda a: a.maximum(B * 0.7),
    "minimum": lambda a: a.minimum(B * 0.7),
    "maximum 0": lambda a: a.maximum(0.0),
    "maximum 1.5": lambda a: a.maximum(1.5),
    "eliminate": lambda a: eliminated(a),
    **{
        name: (lambda a, name=name: getattr(a * 0.11, name)())
        for name in (
            "sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "expm1",
            "log1p", "deg2rad", "rad2deg", "sqrt", "sign", "floor", "ceil", "trunc", "rint",
        )
    },
}  # fmt: skip


def eliminated(a):
    a = a * 2.0
    a.eliminate_zeros()
    return a


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("cls", CLASSES)
def test_every_format(check_sparse, filled, entries, cls, name):
    if name == "traced factor" and cls.__name__[:3] in ("coo", "bsr", "dia"):
        pytest.skip("it has no items")
    second = cls is sp.csr_array and name in ("add", "multiply sparse", "power", "traced factor")
    check_sparse(lambda v: ALL[name](filled(cls, v)), entries, second)


@pytest.mark.parametrize("name", OF_ARRAYS)
@pytest.mark.parametrize("cls", ARRAYS)
def test_arrays(check_sparse, filled, entries, cls, name):
    check_sparse(lambda v: OF_ARRAYS[name](filled(cls, v)), entries, second=False)


@pytest.mark.parametrize("name", OF_FULL)
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_data_formats(check_sparse, filled, entries, name):
    second = name in ("max", "maximum", "sin", "sqrt")
    check_sparse(lambda v: OF_FULL[name](filled(sp.csr_array, v)), entries, second)
