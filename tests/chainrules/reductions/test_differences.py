import numpy as np
import pytest

import autodiff
from chainrules.reductions.differences import diff_adjoint
from chainrules_core.engine import STEPS
from chainrules_core.testing import COMPLEX, POSITIVE, REAL, check_rule
from tests.helpers import case

V = REAL.draw(6, rng=1)
X = REAL.draw((3, 4, 5), rng=2)
X32 = REAL.draw((3, 4), np.float32, rng=3)
Z = COMPLEX.draw((3, 4), rng=4)
STRIDED = REAL.draw((4, 6), rng=6)[::2, ::-2]
T = np.cumsum(POSITIVE.draw(6, rng=10))


DIFF = [
    case(np.diff, V),
    case(np.diff, X),
    case(np.diff, X, 2),
    case(np.diff, X, 0),
    case(np.diff, X, n=3, axis=1),
    case(np.diff, a=X, axis=0),
    case(np.diff, X32, 2),
    case(np.diff, Z, 1, 0),
    case(np.diff, STRIDED),
    case(np.diff, V[:1]),
    case(np.diff, V[:0]),
    case(np.diff, X[:, :0], 2),
    case(np.diff, X[:, :1], 3, prepend=X[:, :1]),
    case(np.diff, V, 6),
    case(np.diff, V, 1, -1, 1.5),
    case(np.diff, V, 1, -1, 1.5, 2.5),
    case(np.diff, V, 2, -1, np._NoValue, 2.5),
    case(np.diff, V, 1, -1, V[:2], V[1:]),
    case(np.diff, X, 1, 1, X[:, :2], 1.5),
    case(np.diff, X, 2, 0, 1.5, X[:1]),
    case(np.diff, X, prepend=0),
    case(np.diff, X32, append=0),
    case(np.diff, X32, 1, -1, np.float32(0.5)),
    case(np.diff, Z, 1, -1, 1.5),
    case(np.diff, V, 1, -1, [0.5, 1.0]),
    case(np.diff, V, 0, -1, 1.5),
    case(np.diff, [1.0, 3.0, 4.0], 1, -1, V[:1]),
    case(np.ediff1d, V),
    case(np.ediff1d, X32),
    case(np.ediff1d, V[:1]),
    case(np.ediff1d, V[:0]),
    case(np.ediff1d, V, 1.5),
    case(np.ediff1d, V, 1.5, V[:2]),
    case(np.ediff1d, X32, None, np.float32([[0.5, 1.0]])),
    case(np.ediff1d, Z, Z[0], 1.5),
    case(np.ediff1d, V, [1.5, 2.0]),
    case(np.ediff1d, V, to_begin=0, to_end=1),
]
ADJOINTS = [
    case(diff_adjoint, V, 0),
    case(diff_adjoint, X, 1),
    case(diff_adjoint, Z, -1),
    case(diff_adjoint, V[:0], 0),
]
GRADIENTS = [
    line
    for order in (1, 2)
    for line in (
        case(np.gradient, V, edge_order=order),
        case(np.gradient, V[: order + 1], edge_order=order),
        case(np.gradient, V, 0.5, edge_order=order),
        case(np.gradient, V, T, edge_order=order),
        case(np.gradient, V[: order + 1], T[: order + 1], edge_order=order),
        case(np.gradient, V[:4], T[:4], edge_order=order),
        case(np.gradient, V, np.arange(6.0), edge_order=order),
        case(np.gradient, V, np.arange(6), edge_order=order),
        case(np.gradient, X, edge_order=order),
        case(np.gradient, f=X, axis=1, edge_order=order),
        case(np.gradient, X, 0.5, edge_order=order),
        case(np.gradient, X, 0.5, 1.5, T[:5], edge_order=order),
        case(np.gradient, X, T[:4], 0.5, axis=(1, 0), edge_order=order),
        case(np.gradient, X, 0.5, axis=(-1, 0), edge_order=order),
        case(np.gradient, X32, edge_order=order),
        case(np.gradient, X32, 0.5, T[:4].astype(np.float32), edge_order=order),
        case(np.gradient, X32[0], T[:4], edge_order=order),
        case(np.gradient, Z, edge_order=order),
        case(np.gradient, Z, 0.5, T[:4], edge_order=order),
        case(np.gradient, STRIDED.T[:, :1] * STRIDED[1], edge_order=order),
        case(np.gradient, Z[0], T[: Z.shape[1]] + 0.3j * V[0], edge_order=order),
        case(np.gradient, Z[0], np.cumsum(Z[1] + 3), edge_order=order),
        case(np.gradient, Z[0], 0.5 + 0.3j, edge_order=order),
        case(np.gradient, [1.0, 4.0, 2.0], edge_order=order),
        case(np.gradient, V[:3], [0.0, 1.0, 3.0], edge_order=order),
    )
]


@pytest.mark.parametrize("f, args, kwargs", DIFF + ADJOINTS + GRADIENTS)
def test_rule(f, args, kwargs):
    second = not any(type(a) in (list, tuple) for a in args)
    check_rule(f, *args, fkwargs=kwargs, second_order=second, gradient=autodiff.gradient)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.diff(x, axis=0),
        lambda x: np.diff(x, prepend=x[:, 1:3], append=x[0, 0]),
        lambda x: np.ediff1d(x, to_begin=x[0]),
        lambda x: np.gradient(x),
        lambda x: np.gradient(x[0], np.exp(x[1])),
        lambda x: np.gradient(x, x[0, 0] ** 2 + 1, axis=0, edge_order=2),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X[0])


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (3, 1), (0, 2)])
def test_the_adjoint_in_steps(shape, axis):
    y_bar = np.random.default_rng(0).standard_normal(shape)
    np.testing.assert_array_equal(STEPS[diff_adjoint](y_bar, axis), diff_adjoint(y_bar, axis))
