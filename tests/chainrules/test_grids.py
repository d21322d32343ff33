import numpy as np
import pytest

from chainrules.grids import sum_and_moment
from chainrules_core import NoTangent, ZeroTangent, frule, rrule
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import COMPLEX, NEGATIVE, POSITIVE, REAL
from tests.helpers import case

V = REAL.draw(3, rng=1)
W = REAL.draw(3, rng=2)
X = REAL.draw((2, 3), rng=3)
X32 = REAL.draw((2, 3), np.float32, rng=4)
Z = COMPLEX.draw(3, rng=5)
P = POSITIVE.draw(3, rng=6)
Q = POSITIVE.draw((2, 3), rng=7)
N = NEGATIVE.draw(3, rng=8)


LINSPACE = [
    case(np.linspace, 1.0, 2.5),
    case(np.linspace, 1.0, 2.5, 5),
    case(np.linspace, 1.0, 2.5, num=4, endpoint=False),
    case(np.linspace, 1.0, 2.5, 5, True, False, np.float32),
    case(np.linspace, 1.0, 2.5, 1),
    case(np.linspace, 1.0, 2.5, 1, endpoint=False),
    case(np.linspace, 1.0, 2.5, 0),
    case(np.linspace, 1, 2.5, 3),
    case(np.linspace, V, W, 4),
    case(np.linspace, V, X, 4, axis=1),
    case(np.linspace, X, 2.0, 4, axis=-1),
    case(np.linspace, [1.0, 2.0], 3.0, 3),
    case(np.linspace, start=Z, stop=V, num=3),
    case(np.linspace, X32, X32 + 1, 3),
    case(np.linspace, 1.0, 2.5, 5, retstep=True),
    case(np.linspace, V, X, 4, endpoint=False, retstep=True, axis=1),
    case(np.linspace, 1.0, 2.5, 5, retstep=True, dtype=np.float32),
    case(np.linspace, 1.0, 9.0, 5, dtype=int),
]
LOGSPACE = [
    case(np.logspace, 0.5, 1.0),
    case(np.logspace, 0.5, 1.0, 4),
    case(np.logspace, 0.5, 1.0, num=4, endpoint=False, base=2.5),
    case(np.logspace, V, W, 4, True, 2.0),
    case(np.logspace, V, X, 4, base=2.0, axis=-1),
    case(np.logspace, 0.5, 1.0, 3, base=P),
    case(np.logspace, 0.5, 1.0, 3, base=P, axis=1),
    case(np.logspace, V, 1.0, 3, base=P),
    case(np.logspace, V, 1.0, 3, base=Q, axis=1),
    case(np.logspace, 0.5, 1.0, 3, base=2, dtype=np.float32),
    case(np.logspace, 0.5, 1.0, 3, dtype=int),
    case(np.logspace, 0.5 + 1j, 1.0, 3),
]
GEOMSPACE = [
    case(np.geomspace, 1.0, 8.0, 4),
    case(np.geomspace, 1.0, 8.0, 4, endpoint=False),
    case(np.geomspace, 8.0, 1.0),
    case(np.geomspace, -1.0, -8.0, num=4),
    case(np.geomspace, P, 9.0, 3),
    case(np.geomspace, Q, P, 3, axis=-1),
    case(np.geomspace, N, -9.0, 3),
    case(np.geomspace, Z, 3.0 + 1j, 3),
    case(np.geomspace, [1.0, 2.0], [3.0, 4.0], 3),
    case(np.geomspace, 1.0, 8.0, 1),
    case(np.geomspace, 1.0, 8.0, 4, dtype=np.float32),
]
GRIDS = [
    case(np.meshgrid, V, W[:2]),
    case(np.meshgrid, V, W[:2], indexing="ij"),
    case(np.meshgrid, V, W[:2], sparse=True),
    case(np.meshgrid, V, [1.0, 2.0], np.array(1.5), indexing="xy"),
    case(np.meshgrid, V, 2.5, W, sparse=True, copy=False, indexing="ij"),
    case(np.meshgrid, V),
    case(np.meshgrid, X, Z),
    case(np.meshgrid, V.astype(np.float32), V),
    case(np.vander, V),
    case(np.vander, V, 5),
    case(np.vander, V, N=2, increasing=True),
    case(np.vander, V, 1),
    case(np.vander, V, 0),
    case(np.vander, np.array([0.0, 1.0, -2.0]), 4, True),
    case(np.vander, Z, 3),
    case(np.vander, V.astype(np.float32), 3),
    case(np.vander, np.zeros(0), 2),
]


@pytest.mark.parametrize("f, args, kwargs", LINSPACE + LOGSPACE + GEOMSPACE + GRIDS)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs)


# A float step that divides the range exactly would put a number in or out: these do not.
@pytest.mark.parametrize(
    "args, kwargs",
    [
        ((4.5,), {}),
        ((0.5, 4.2), {}),
        ((0.5, 4.2, 0.3), {}),
        ((4.2, 0.5, -0.3), {}),
        ((1, 4.2, 0.3), {}),
        ((0.5, 4.2), {"step": 0.3}),
        ((0.5, 4.2, 0.3), {"dtype": np.float32}),
        ((np.float32(0.5), 4.2), {"dtype": complex}),
        ((4.0, 0.5), {}),
    ],
)
def test_arange(args, kwargs):
    check_rule(np.arange, *args, fkwargs=kwargs)


def test_arange_of_integers_is_constant():
    assert rrule(np.arange, 1.5, 4.5, dtype=int)[1](np.ones(3))[1] == ZeroTangent()
    assert frule((NoTangent(), 1.0, 1.0), np.arange, 1.5, 4.5, dtype=int)[1] == ZeroTangent()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.linspace(x[0], x[1] * x[1], 4),
        lambda x: np.linspace(x, x * x, 3, retstep=True, axis=1)[1],
        lambda x: np.logspace(x[0], x[1], 4, base=2.5),
        lambda x: np.logspace(x[0], x[1], 3, base=x),
        lambda x: np.geomspace(x, x * x, 3),
        lambda x: tuple(np.meshgrid(x, x * x)),
        lambda x: np.vander(x, 4),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, P)


@pytest.mark.parametrize("n", [0, 1, 1023, 2048, 5000])
def test_sum_and_moment(n):
    x = REAL.draw(n, rng=9)
    total, moment = sum_and_moment(x)
    np.testing.assert_allclose(total, np.sum(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(moment, np.sum(np.arange(n) * x), rtol=1e-12, atol=1e-9)


def test_arange_of_many():
    check_rule(np.arange, 0.5, 2999.6, 1.0)
