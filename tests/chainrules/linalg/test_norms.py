import numpy as np
import pytest

import autodiff
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import (
    separated_singular_values,
    well_conditioned_matrix,
)
from chainrules_core.testing.inputs.seeds import const
from tests.helpers import compl, real

INF = np.inf
VECTOR_ORDERS = [2, 1, 0, INF, -INF, 3, 2.5, 0.5, -1, -2.5]
MATRIX_ORDERS = ["fro", "nuc", 1, -1, 2, -2, INF, -INF]


def case(f, *args, **kwargs):
    plain = [getattr(a, "primal", a) for a in args[1:]]
    options = ",".join(map(str, [*plain, *kwargs.values()]))
    return pytest.param(f, args, kwargs, id=f"{f.__name__}{args[0].shape}{options}")


V, Z = real(4), compl(4)
M, ZM = separated_singular_values(4, 3, rng=3), separated_singular_values(3, 4, complex, rng=4)
T, ZT = real(4, 2, 3), compl(4, 2, 3)
A, ZA = well_conditioned_matrix(3, rng=5), well_conditioned_matrix(3, complex, rng=6)
STRIDED = real(6, 8)[::2, ::-2]
# Large enough for one pair of singular vectors to be looked for alone.
L = separated_singular_values(36, 33, rng=7)
ZL = separated_singular_values(33, 40, complex, rng=8)
norm, vector_norm, matrix_norm = np.linalg.norm, np.linalg.vector_norm, np.linalg.matrix_norm

CASES = [
    # the default: all elements
    case(norm, V),
    case(norm, Z),
    case(norm, M),
    case(norm, T),
    case(norm, T, keepdims=True),
    case(norm, STRIDED),
    case(norm, V.astype(np.float32)),
    case(norm, np.array(2.5)),
    case(norm, np.zeros(0)),
    case(norm, np.zeros((0, 3)), None, 1),
    # axis
    case(norm, M, None, 0),
    case(norm, M, axis=-1, keepdims=True),
    case(norm, T, axis=(0, 2)),
    case(norm, ZT, axis=(2, 0), keepdims=True),
    case(norm, T, axis=(1,)),
    case(norm, T, "fro", (1, 2)),
    # orders
    *[case(norm, V, const(order)) for order in VECTOR_ORDERS],
    *[case(norm, Z, ord=order) for order in VECTOR_ORDERS],
    *[case(norm, M, const(order), 1, True) for order in VECTOR_ORDERS],
    *[case(norm, M, const(order)) for order in MATRIX_ORDERS],
    *[case(norm, ZM, ord=order, keepdims=True) for order in MATRIX_ORDERS],
    *[case(norm, ZT, ord=order, axis=(2, 0)) for order in MATRIX_ORDERS],
    *[case(norm, M.astype(np.float32), const(order)) for order in ("nuc", 2, 1)],
    *[case(norm, V.astype(np.float32), const(order)) for order in (1, 3, INF)],
    *[case(matrix_norm, ZT, ord=order) for order in MATRIX_ORDERS],
    *[case(norm, x, ord=order) for x in (L, ZL) for order in (2, -2)],
    *[case(norm, x, ord=order, axis=(1, 0), keepdims=True) for x in (L, ZL) for order in (2, -2)],
    case(matrix_norm, M),
    case(matrix_norm, T, keepdims=True),
    *[case(vector_norm, V, ord=order) for order in VECTOR_ORDERS],
    *[case(vector_norm, ZT, axis=(2, 0), ord=order) for order in VECTOR_ORDERS],
    case(vector_norm, T),
    case(vector_norm, T, axis=1, keepdims=True),
    case(vector_norm, T, keepdims=True),
    case(vector_norm, np.array(2.5)),
    # condition numbers
    case(np.linalg.cond, A),
    *[case(np.linalg.cond, A, const(order)) for order in MATRIX_ORDERS],
    *[case(np.linalg.cond, ZA, p=order) for order in MATRIX_ORDERS],
    *[case(np.linalg.cond, np.stack([A, A.T + 1]), const(order)) for order in MATRIX_ORDERS],
    *[case(np.linalg.cond, ZM, order) for order in (None, 2, -2)],
    case(np.linalg.cond, A.astype(np.float32)),
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs, second_order=True, gradient=autodiff.gradient)


@pytest.mark.parametrize("f", [norm, vector_norm])
@pytest.mark.parametrize("x", [-2.5, 1.5 - 2j, np.float32(3)])
def test_numbers(f, x):
    check_rule(f, x)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: norm(x),
        lambda x: norm(x, axis=0) * norm(x, 1),
        lambda x: norm(x, "nuc"),
        lambda x: norm(x, 2),
        lambda x: norm(x[0] - x[1], 3),
        lambda x: x / norm(x, axis=1, keepdims=True),
        lambda x: np.linalg.cond(x),
        lambda x: matrix_norm(x, ord=1) * vector_norm(x, ord=INF),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, A)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_scale_does_not_matter(scale):
    """Powers of the elements would over- or underflow; powers of their ratios do not."""
    x = np.array([3.0, 4.0]) * scale
    gradient = autodiff.gradient(lambda x: norm(x, 1.5), x)
    np.testing.assert_allclose(gradient, autodiff.gradient(lambda x: norm(x, 1.5), x / scale))


def test_nuclear_norm_where_singular_values_coincide(check_engine):
    """It has first and second derivatives there, unlike the singular vectors."""
    check_engine(lambda x: norm(x, "nuc"), np.array([[0.0, 2.0], [-2.0, 0.0]]))
    check_engine(lambda x: norm(x, "nuc"), 2 * np.eye(3)[:, :2])


@pytest.mark.parametrize(
    "x, order, expected",
    [
        ([3.0, -4.0, 1.0], np.inf, [0, -1, 0]),
        ([4.0, -4.0, 1.0], np.inf, [0.5, -0.5, 0]),
        ([4.0, -4.0, 1.0], -np.inf, [0, 0, 1]),
        ([0.0, 0.0], np.inf, [0, 0]),
        ([3 + 4j, 1.0], np.inf, [0.6 + 0.8j, 0]),
        ([[1.0, -5.0], [2.0, 3.0]], 1, [[0, -1], [0, 1]]),
        ([[1.0, -5.0], [2.0, 3.0]], -1, [[1, 0], [1, 0]]),
        ([[1.0, -5.0], [2.0, 4.0]], np.inf, [[0.5, -0.5], [0.5, 0.5]]),
        ([[1.0, -5.0], [2.0, 3.0]], -np.inf, [[0, 0], [1, 1]]),
    ],
)
def test_extremes(x, order, expected):
    x = np.array(x)
    found = autodiff.gradient(lambda x: np.linalg.norm(x, order), x)
    np.testing.assert_allclose(found, expected)
    assert found.dtype == x.dtype


@pytest.mark.parametrize("order", [2, -2, "nuc"])
@pytest.mark.parametrize("shape", [(2, 6), (40, 40)])
def test_the_gradient_is_nan_where_the_singular_values_are(order, shape):
    x = np.random.default_rng(0).normal(size=shape)
    x[1, 1] = np.inf
    try:
        value = np.linalg.norm(x, order)
    except np.linalg.LinAlgError:  # NumPy 2.5 does not return NaN
        with pytest.raises(np.linalg.LinAlgError):
            autodiff.gradient(lambda x: np.linalg.norm(x, order), x)
        return
    assert np.isnan(value)
    assert np.all(np.isnan(autodiff.gradient(lambda x: np.linalg.norm(x, order), x)))
