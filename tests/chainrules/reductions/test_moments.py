import numpy as np
import pytest

import autodiff
from chainrules_core.testing import COMPLEX, REAL, check_rule
from tests.helpers import case

V = REAL.draw(5, rng=1)
X = REAL.draw((2, 3, 4), rng=2)
X32 = REAL.draw((3, 4), np.float32, rng=3)
Z = COMPLEX.draw((3, 4), rng=4)
Z64 = COMPLEX.draw((2, 4), np.complex64, rng=5)
STRIDED = REAL.draw((4, 6), rng=6)[::2, ::-2]
GAPS = np.where(REAL.draw((3, 5), rng=7) > 1, np.nan, REAL.draw((3, 5), rng=8))
MASK = np.array([[True, False, True, True], [False, True, True, False], [True] * 4])


MOMENTS = [
    line
    for f in (np.var, np.std, np.nanvar, np.nanstd)
    for line in (
        case(f, V),
        case(f, X),
        case(f, X, 0),
        case(f, a=X, axis=-1),
        case(f, X, (0, 2)),
        case(f, X, axis=(2, 0), keepdims=True),
        case(f, X, 1, None, None, 1, True),
        case(f, V, ddof=1),
        case(f, V, ddof=0.5),
        case(f, X, 1, ddof=2),
        case(f, V, correction=1),
        case(f, X, axis=(0, 1), correction=1.5),
        case(f, X32),
        case(f, X32, 1, dtype=float),
        case(f, X32, 0, ddof=1),
        case(f, Z),
        case(f, Z, 0, ddof=1),
        case(f, Z64, 1),
        case(f, STRIDED, 1),
        case(f, X[0], where=MASK),
        case(f, X[0], axis=1, where=MASK, ddof=1),
        case(f, X32, 1, where=MASK),
        case(f, Z, axis=0, where=MASK, keepdims=True),
        case(f, X, axis=2, mean=np.mean(X, axis=2, keepdims=True)),
        case(f, X, mean=np.float64(0.25)),
        case(f, X, axis=1, ddof=1, mean=np.full((2, 1, 4), 0.25)),
        case(f, X, axis=1, ddof=1, mean=np.full((2, 1, 4), 0.25 + 0.5j)),
        case(f, Z, mean=np.array(0.25 + 0.5j)),
    )
] + [
    case(f, GAPS, **kwargs)
    for f in (np.nanvar, np.nanstd)
    for kwargs in ({}, {"axis": 0}, {"axis": 1, "keepdims": True, "ddof": 1})
]


@pytest.mark.filterwarnings("ignore:Casting complex")  # a complex mean, complex weights
@pytest.mark.parametrize("f, args, kwargs", MOMENTS)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs, second_order=True, gradient=autodiff.gradient)


@pytest.mark.parametrize("x", [1.5, np.array(1.5), np.array([[1.5]])], ids=repr)
@pytest.mark.parametrize("f", [np.var, np.nanvar])
def test_of_one_number(f, x):
    check_rule(f, x)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.var(),
        lambda x: x.std(axis=0),
        lambda x: x.std(1, ddof=1, keepdims=True),
        lambda x: x.var(axis=1, mean=x[:, :1] * 0.5, where=MASK),
        lambda x: x.std(axis=0, mean=x.mean(axis=0, keepdims=True), ddof=1),
        lambda x: np.nanvar(x, mean=x[0, 0]) * np.nanstd(x, axis=0, mean=0.5 * x[:1]),
        lambda x: (x - x.mean(axis=0)) / x.std(axis=0),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X[0])
