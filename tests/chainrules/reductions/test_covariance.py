import numpy as np
import pytest

import autodiff
from chainrules_core.testing import COMPLEX, POSITIVE, REAL, check_rule
from tests.helpers import case

V, U = REAL.draw(6, rng=1), REAL.draw(6, rng=2)
X, Y = REAL.draw((3, 6), rng=3), REAL.draw((2, 6), rng=4)
X32 = REAL.draw((3, 6), np.float32, rng=5)
Z, W = COMPLEX.draw((3, 6), rng=6), COMPLEX.draw((2, 6), rng=7)
REPEATS = np.array([1, 2, 1, 3, 0, 1])
A = POSITIVE.draw(6, rng=8)


COVARIANCES = [
    case(np.cov, V),
    case(np.cov, X[:1]),
    case(np.cov, X),
    case(np.cov, m=X, bias=True),
    case(np.cov, X, ddof=0),
    case(np.cov, X, None, True, False, 2),
    case(np.cov, X.T, rowvar=False),
    case(np.cov, V, U),
    case(np.cov, X, Y),
    case(np.cov, X, U),
    case(np.cov, V, y=Y),
    case(np.cov, X.T, Y.T, False),
    case(np.cov, X.T, U, rowvar=False),
    case(np.cov, X.T, Y[:1], rowvar=False),
    case(np.cov, V, U, rowvar=False),
    case(np.cov, X32),
    case(np.cov, X32, Y),
    case(np.cov, X, dtype=np.float32),
    case(np.cov, Z),
    case(np.cov, Z, W),
    case(np.cov, Z, Y),
    case(np.cov, X, fweights=REPEATS),
    case(np.cov, X, Y, True, False, 0, REPEATS),
    case(np.cov, X, None, True, False, None, None, A),
    case(np.cov, X, None, True, True, None, None, A),
    case(np.cov, X, Y, True, False, 0, None, A),
    case(np.cov, X, Y, True, False, 2, REPEATS, A),
    case(np.cov, Z, None, True, False, 1, REPEATS, A),
    case(np.cov, Z, None, True, False, 0, REPEATS, A),
    case(np.cov, X, aweights=A + 0.5j),
    case(np.cov, [[1.0, 2.0, 4.0], [3.0, 1.0, 1.0]]),
    case(np.cov, [1.0, 2.0, 4.0], U[:3]),
    case(np.cov, U[:3], [1.0, 2.0, 4.0], aweights=[1.0, 2.0, 1.0]),
]
CORRELATIONS = [
    case(np.corrcoef, V),
    case(np.corrcoef, V, U),
    case(np.corrcoef, X),
    case(np.corrcoef, x=X, y=Y),
    case(np.corrcoef, X, U),
    case(np.corrcoef, X, None),
    case(np.corrcoef, V, None),
    case(np.corrcoef, X.T, Y.T, False),
    case(np.corrcoef, X.T, rowvar=False),
    case(np.corrcoef, X32),
    case(np.corrcoef, Z),
    case(np.corrcoef, Z, Y),
    case(np.corrcoef, [1.0, 2.0, 4.0], U[:3]),
]


@pytest.mark.filterwarnings("ignore:Casting complex")  # a complex mean, complex weights
@pytest.mark.parametrize("f, args, kwargs", COVARIANCES + CORRELATIONS)
def test_rule(f, args, kwargs):
    second = not any(type(a) in (list, tuple) for a in args)
    check_rule(f, *args, fkwargs=kwargs, second_order=second, gradient=autodiff.gradient)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.cov(x, ddof=0),
        lambda x: np.cov(x, aweights=x[0] ** 2 + 1),
        lambda x: np.corrcoef(x),
        lambda x: np.corrcoef(x[0], x[1] * x[2])[0, 1],
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X)
