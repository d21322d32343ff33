import numpy as np
import pytest

from chainrules.indexing.diagonals import on_diagonal
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import COMPLEX, REAL
from tests.helpers import case

V = REAL.draw(3, rng=1)
X = REAL.draw((3, 4), rng=2)
X32 = REAL.draw((3, 4), np.float32, rng=3)
Z = COMPLEX.draw((3, 3), rng=4)
T = REAL.draw((2, 3, 4), rng=5)
STRIDED = REAL.draw((6, 8), rng=6)[::2, ::-2]
EMPTY = np.zeros((0, 3))


CASES = [
    case(np.diagonal, X),
    case(np.diagonal, X, 1),
    case(np.diagonal, X, offset=-2),
    case(np.diagonal, X, 9),
    case(np.diagonal, T),
    case(np.diagonal, T, 1, 2, 0),
    case(np.diagonal, T, offset=-1, axis1=-2, axis2=-1),
    case(np.diagonal, Z, -1),
    case(np.diagonal, X32),
    case(np.diagonal, STRIDED, 1),
    case(np.diagonal, EMPTY),
    case(np.linalg.diagonal, T),
    case(np.linalg.diagonal, T, offset=1),
    case(np.diag, V),
    case(np.diag, V, 2),
    case(np.diag, v=V, k=-1),
    case(np.diag, X),
    case(np.diag, X, 1),
    case(np.diag, X, k=-2),
    case(np.diag, Z),
    case(np.diag, X32),
    case(np.diag, np.zeros(0)),
    case(np.diagflat, X),
    case(np.diagflat, V, 1),
    case(np.diagflat, Z, k=-2),
    case(np.diagflat, 1.5),
    case(np.tril, X),
    case(np.tril, X, 1),
    case(np.tril, T, k=-1),
    case(np.tril, V),
    case(np.tril, m=Z),
    case(np.tril, STRIDED),
    case(np.triu, X),
    case(np.triu, X32, 1),
    case(np.triu, T, k=-1),
    case(np.triu, V, 1),
    case(np.triu, Z, 1),
    case(np.triu, EMPTY),
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


@pytest.mark.parametrize("offset, axis1, axis2, n", [(0, 0, 1, 2), (1, 1, 2, 3), (-1, 0, 2, 1)])
def test_on_diagonal(offset, axis1, axis2, n):
    d_bar = np.diagonal(T, offset, axis1, axis2).copy()
    assert d_bar.shape[-1] == n
    check_rule(on_diagonal, d_bar, offset, axis1, axis2, T.shape, T.dtype)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.diagonal(x, 1),
        lambda x: x.diagonal(),
        lambda x: np.diag(x),
        lambda x: np.diag(x[0], -1),
        lambda x: np.diagflat(x),
        lambda x: np.tril(x, 1),
        lambda x: np.triu(x),
        lambda x: np.triu(x[0]),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X)
