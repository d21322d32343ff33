import numpy as np
import pytest

import autodiff
from chainrules_core import NoTangent, ZeroTangent, frule, rrule
from chainrules_core.testing import COMPLEX, NONZERO, check_rule
from tests.helpers import case

V = NONZERO.draw(5, rng=1)
X = NONZERO.draw((2, 3, 4), rng=2)
X32 = NONZERO.draw((3, 4), np.float32, rng=3)
Z = COMPLEX.draw((3, 4), rng=4)
STRIDED = NONZERO.draw((4, 6), rng=6)[::2, ::-2]
EMPTY = np.zeros((0, 3))
POINT = np.array(1.5)
GAPS = np.where(NONZERO.draw((3, 4), rng=7) > 1, np.nan, NONZERO.draw((3, 4), rng=8))
MASK = np.array([[True, False, True, True], [False, False, True, False], [True] * 4])


def zeros_at(a, *places):
    a = a.copy()
    for place in places:
        a[place] = 0
    return a


ONE_ZERO = zeros_at(V, 2)
TWO_ZEROS = zeros_at(V, 1, 3)
ZEROS = zeros_at(X, (0, 1, 1), (0, 1, 3), (1, 2, 0), (1, 0, 3))  # 2, 1, 1 and no zero in a row
Z_ZERO = zeros_at(Z, (0, 1), (2, 2), (2, 3))


MANY = np.exp(0.05 * NONZERO.draw((4, 40), rng=9))  # where the zeros are looked for
MANY_Z = MANY * np.exp(1j * NONZERO.draw((4, 40), rng=10))
ONE_EACH = zeros_at(MANY, (0, 3), (1, 0), (2, 39), (3, 20), (3, 21))  # 1, 1, 1 and 2 in a row


PRODUCTS = [
    line
    for f in (np.prod, np.nanprod)
    for line in (
        case(f, V),
        case(f, X),
        case(f, X, 0),
        case(f, a=X, axis=-1),
        case(f, X, (0, 2)),
        case(f, X, axis=(2, 0), keepdims=True),
        case(f, X, 1, None, None, True),
        case(f, X32),
        case(f, X32, 1),
        case(f, X32, 1, dtype=float),
        case(f, Z),
        case(f, Z, 0),
        case(f, STRIDED, 1),
        case(f, POINT),
        case(f, 2.5),
        case(f, V[:1]),
        case(f, EMPTY),
        case(f, EMPTY, 0),
        case(f, EMPTY, 1),
        case(f, X[0], where=MASK),
        case(f, X[0], axis=1, where=MASK, keepdims=True),
        case(f, Z, axis=0, where=MASK),
        case(f, X, (0, 2), None, None, True, 1.5),
        case(f, X, 1, None, None, np._NoValue, np._NoValue),
        case(f, X[0], 1, None, None, False, 1.5, MASK),
        case(f, X[0], 1, None, None, False, 0.0),
        case(f, Z, 0, None, None, False, 1.5 + 1j),
        case(f, ONE_ZERO),
        case(f, TWO_ZEROS),
        case(f, np.zeros(3)),
        case(f, np.zeros(1)),
        case(f, ZEROS, 2),
        case(f, ZEROS, (0, 2)),
        case(f, ZEROS),
        case(f, Z_ZERO, 1),
        case(f, zeros_at(X32, (1, 1)), 0),
        case(f, ONE_ZERO, None, None, None, False, 1.5),
        case(f, ONE_ZERO, None, None, None, False, 0.0),
        case(f, ZEROS, 2, None, None, True, 1.5),
        case(f, ZEROS[0], where=MASK),
        case(f, ONE_EACH, 1),
        case(f, ONE_EACH, -1, keepdims=True),
        case(f, ONE_EACH[:1]),
        case(f, ONE_EACH[:2]),
        case(f, ONE_EACH.T, 0),
        case(f, ONE_EACH, 1, None, None, False, 1.5),
        case(f, ONE_EACH, 0),
        case(f, zeros_at(MANY_Z, (0, 3), (1, 2), (2, 2), (2, 3), (3, 0)), 1),
    )
] + [
    case(np.nanprod, GAPS),
    case(np.nanprod, GAPS, 0),
    case(np.nanprod, zeros_at(GAPS, (0, 0), (1, 2)), 1, keepdims=True),
    case(np.nanprod, GAPS, 1, where=MASK),
]
RUNNING = [
    case(f, x, **kwargs)
    for f in (np.cumprod, np.nancumprod)
    for x, kwargs in (
        (V, {}),
        (X, {}),
        (X, {"axis": 0}),
        (X, {"axis": -2}),
        (X32, {"axis": 1}),
        (X32, {"axis": 1, "dtype": float}),
        (Z, {}),
        (Z, {"axis": 0}),
        (STRIDED, {"axis": 1}),
        (POINT, {}),
        (2.5, {}),
        (V[:1], {}),
        (EMPTY, {}),
        (EMPTY, {"axis": 1}),
        (ONE_ZERO, {}),
        (TWO_ZEROS, {}),
        (zeros_at(V, 0), {}),
        (zeros_at(V, 4), {}),
        (np.zeros(3), {}),
        (ZEROS, {"axis": 2}),
        (ZEROS, {"axis": 0}),
        (Z_ZERO, {"axis": 1}),
        (zeros_at(X32, (1, 1)), {"axis": 0}),
        (zeros_at(MANY[:2], (0, 5)), {}),
        (zeros_at(MANY[:2], (0, 5), (1, 7)), {}),
        (zeros_at(MANY[:2], (0, 0)), {}),
        (zeros_at(MANY[:2], (1, 39)), {}),
        (zeros_at(MANY_Z[:2], (0, 30)), {}),
    )
] + [
    case(np.cumprod, X, 1),
    case(np.nancumprod, GAPS),
    case(np.nancumprod, zeros_at(GAPS, (1, 2)), 1),
    case(np.cumulative_prod, V),
    case(np.cumulative_prod, X, axis=1),
    case(np.cumulative_prod, X, axis=-1, include_initial=True),
    case(np.cumulative_prod, V, include_initial=True),
    case(np.cumulative_prod, ZEROS, axis=2, include_initial=True),
    case(np.cumulative_prod, Z, axis=0, dtype=np.complex128),
]


@pytest.mark.parametrize("f, args, kwargs", PRODUCTS + RUNNING)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs, second_order=True, gradient=autodiff.gradient)


@pytest.mark.parametrize(
    "x",
    [
        [1e-200, 1e-200, 3.0],  # the product underflows
        [1e200, 1e100, 2.0],  # it is near the largest float
        [1e-160, 1e-160],  # it is subnormal
    ],
)
def test_products_beyond_the_range_of_floats(x):
    x = np.array(x)
    with np.errstate(over="ignore"):
        expected = [np.prod(np.delete(x, i)) for i in range(len(x))]
        x_bar = rrule(np.prod, x)[1](1.0)[1]
        y_dot = frule((NoTangent(), np.eye(len(x))[0]), np.prod, x)[1]
    assert x_bar == pytest.approx(expected, rel=1e-12)
    assert y_dot == pytest.approx(expected[0], rel=1e-12)


def test_a_product_in_integers_is_a_step():
    x = np.array([1.5, 2.5])
    bars = rrule(np.prod, x, None, int, None, False, 2.0)[1](1.0)
    assert bars[1] is bars[6] is ZeroTangent()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.prod(),
        lambda x: x.prod(axis=0),
        lambda x: x.cumprod(axis=1),
        lambda x: np.prod(x, axis=1, where=MASK),
        lambda x: np.prod(x, initial=x[0, 0]),
    ],
)
@pytest.mark.parametrize("x", [X[0], ZEROS[0]], ids=["ordinary", "zeros"])
def test_engine(f, x, check_engine):
    check_engine(f, x)


def test_third_derivative_at_zeros():
    """x y z at 0: all derivatives vanish but the mixed third one, which is 1."""

    def along(x, v):
        return np.sum(autodiff.gradient(np.prod, x) * v)

    def twice(x, v, w):
        return np.sum(autodiff.gradient(lambda x: along(x, v), x) * w)

    e = np.eye(3)
    third = autodiff.gradient(lambda x: twice(x, e[0], e[1]), np.zeros(3))
    assert third.tolist() == [0, 0, 1]
