import numpy as np
import pytest

import autodiff
from chainrules_core.testing import COMPLEX, POSITIVE, REAL, check_rule
from tests.helpers import case

V = REAL.draw(5, rng=1)
X = REAL.draw((2, 3, 4), rng=2)
X32 = REAL.draw((3, 4), np.float32, rng=3)
Z = COMPLEX.draw((3, 4), rng=4)
STRIDED = REAL.draw((4, 6), rng=6)[::2, ::-2]
GAPS = np.where(REAL.draw((3, 4), rng=8) > 1, np.nan, REAL.draw((3, 4), rng=9))
T = np.cumsum(POSITIVE.draw(4, rng=10))
TT = np.cumsum(POSITIVE.draw((2, 3, 4), rng=11), axis=1)


RUNNING = [
    line
    for f in (np.cumsum, np.nancumsum)
    for line in (
        case(f, V),
        case(f, X),
        case(f, X, 0),
        case(f, a=X, axis=-2),
        case(f, X32),
        case(f, X32, 1),
        case(f, X32, 1, dtype=float),
        case(f, Z),
        case(f, Z, 0),
        case(f, STRIDED, 1),
        case(f, np.array(1.5)),
        case(f, 2.5),
        case(f, 2.5, -1),
        case(f, np.array(1.5), axis=0),
        case(f, np.zeros((0, 3)), 0),
        case(f, np.zeros((0, 3))),
    )
] + [
    case(np.nancumsum, GAPS),
    case(np.nancumsum, GAPS, 1),
    case(np.cumulative_sum, V),
    case(np.cumulative_sum, V, include_initial=True),
    case(np.cumulative_sum, X, axis=1),
    case(np.cumulative_sum, X, axis=-1, include_initial=True),
    case(np.cumulative_sum, Z, axis=0, include_initial=True, dtype=np.complex64),
]
TRAPEZOIDS = [
    case(np.trapezoid, V),
    case(np.trapezoid, V[:0]),
    case(np.trapezoid, V[:0], V[:0]),
    case(np.trapezoid, V[:1]),
    case(np.trapezoid, X),
    case(np.trapezoid, X, T),
    case(np.trapezoid, y=X, x=T),
    case(np.trapezoid, X, T[:3], axis=1),
    case(np.trapezoid, X, T[:2], 1.0, 0),
    case(np.trapezoid, X, None, 0.5),
    case(np.trapezoid, X, dx=0.5, axis=1),
    case(np.trapezoid, X, None, POSITIVE.draw(3, rng=12)),
    case(np.trapezoid, X, None, POSITIVE.draw((2, 2, 1), rng=12), 1),
    case(np.trapezoid, X, TT, axis=1),
    case(np.trapezoid, X[0], TT, axis=-1),
    case(np.trapezoid, X32, 0.5 * np.arange(4)),
    case(np.trapezoid, X32, T.astype(np.float32)),
    case(np.trapezoid, Z, T),
    case(np.trapezoid, Z, Z[0]),
    case(np.trapezoid, [1.0, 2.0, 4.0, 0.0], T),
    case(np.trapezoid, V[:3], [0.0, 1.0, 4.0]),
    case(np.trapezoid, V[:1]),
]


@pytest.mark.parametrize("f, args, kwargs", RUNNING + TRAPEZOIDS)
def test_rule(f, args, kwargs):
    second = not any(type(a) in (list, tuple) for a in args)
    check_rule(f, *args, fkwargs=kwargs, second_order=second, gradient=autodiff.gradient)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.cumsum(),
        lambda x: x.cumsum(axis=0),
        lambda x: np.trapezoid(x * x, x),
        lambda x: np.trapezoid(x, dx=x[0, 0], axis=0),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, X[0])
