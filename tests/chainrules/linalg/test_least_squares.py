import numpy as np
import pytest
from scipy import linalg

import autodiff
from chainrules_core import NotImplementedTangentError
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import (
    COMPLEX,
    REAL,
    hermitian_matrix,
    separated_singular_values,
)
from chainrules_core.testing.inputs.seeds import const
from tests.helpers import compl, real


def full_rank(m, n, dtype=float, seed=3):
    return separated_singular_values(m, n, dtype, rng=seed)


def case(f, *args, **kwargs):
    return pytest.param(f, args, kwargs, id=f"{f.__name__}{np.shape(args[0])}{kwargs}")


STACK = np.stack([full_rank(4, 3), full_rank(4, 3, seed=4)])
SMALL = np.diag([3.0, 2.0, 1e-9])

CASES = [
    case(np.linalg.pinv, full_rank(3, 3)),
    case(np.linalg.pinv, full_rank(4, 3)),
    case(np.linalg.pinv, full_rank(3, 4, complex)),
    case(np.linalg.pinv, full_rank(4, 3, complex)),
    case(np.linalg.pinv, STACK),
    case(np.linalg.pinv, STACK, const(np.array([1e-10, 1e-12]))),
    case(np.linalg.pinv, full_rank(4, 3), const(1e-10)),
    case(np.linalg.pinv, full_rank(4, 3), rtol=1e-10),
    case(np.linalg.pinv, full_rank(4, 3), rtol=None),
    case(np.linalg.pinv, hermitian_matrix(3, rng=4), hermitian=True),
    case(np.linalg.pinv, hermitian_matrix(3, complex, rng=4), hermitian=True),
    case(np.linalg.pinv, full_rank(4, 3).astype(np.float32)),
    case(np.linalg.pinv, full_rank(1, 3)),
    case(np.linalg.pinv, np.zeros((0, 3))),
    case(np.linalg.lstsq, full_rank(5, 3), real(5)),
    case(np.linalg.lstsq, full_rank(5, 3), real(5, 2)),
    case(np.linalg.lstsq, full_rank(5, 3, complex), compl(5, 2)),
    case(np.linalg.lstsq, full_rank(3, 3), real(3)),
    case(np.linalg.lstsq, full_rank(3, 5), real(3, 2)),
    case(np.linalg.lstsq, full_rank(3, 5, complex), compl(3)),
    case(np.linalg.lstsq, full_rank(5, 3), real(5), None),
    case(np.linalg.lstsq, full_rank(5, 3), real(5), rcond=1e-10),
    case(np.linalg.lstsq, full_rank(5, 3), real(5), rcond=-1),
    case(np.linalg.lstsq, full_rank(5, 3).astype(np.float32), real(5, dtype=np.float32)),
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs, second_order=True, gradient=autodiff.gradient)


# Of deficient rank: along matrices of the same rank, as finite differences cannot leave it.


@pytest.mark.parametrize("shape", [(5, 2, 3), (3, 2, 5), (4, 2, 4)])
@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: np.linalg.pinv(a, 1e-9) @ b,
        lambda a, b: np.linalg.lstsq(a, b, 1e-9)[0],
    ],
)
def test_deficient_rank(f, dtype, shape, check_engine):
    m, r, n = shape
    b = REAL.draw((m, 2), dtype, rng=5) if dtype is float else COMPLEX.draw((m, 2), rng=5)
    check_engine(lambda x, y, b: f(x @ y, b), full_rank(m, r, dtype), full_rank(r, n, dtype), b)


def test_small_values_are_cut_off():
    """The gradient is that of the truncated inverse, not of the true one."""
    gradient = autodiff.gradient(lambda a: np.linalg.pinv(a, rcond=1e-6)[0, 0], SMALL)
    np.testing.assert_allclose(gradient, np.diag([-1 / 9, 0, 0]), atol=1e-12)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: np.linalg.pinv(a) @ b,
        lambda a, b: np.linalg.lstsq(a, b)[0],
        lambda a, b: np.linalg.lstsq(a, b)[1],
        lambda a, b: np.linalg.lstsq(a, b)[3] * b[0],
        lambda a, b: np.linalg.lstsq(a, b)[0] * np.linalg.lstsq(a, b)[2],
    ],
)
def test_engine(f, check_engine):
    check_engine(f, full_rank(5, 3), real(5))


BETWEEN = 0.6
"""A tolerance, relative to the largest, that cuts off one or two of the singular values."""


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
def test_large_values_are_cut_off(shape, dtype, check_engine):
    stack, (m, n) = shape[:-2], shape[-2:]
    a = np.stack([full_rank(m, n, dtype, seed) for seed in range(np.prod(stack, dtype=int) or 1)])
    a = a.reshape(shape)
    s = np.linalg.svdvals(a)
    assert np.all(s[..., -1] < BETWEEN * s[..., 0])
    check_engine(lambda a: np.linalg.pinv(a, rcond=BETWEEN), a)
    if not stack:
        b = np.arange(2.0 * m).reshape(m, 2)
        check_engine(lambda a, b: np.linalg.lstsq(a, b, BETWEEN)[0], a, b)
        check_engine(lambda a, b: linalg.lstsq(a, b, BETWEEN, lapack_driver="gelss")[0], a, b[:, 0])
        check_engine(lambda a: linalg.pinv(a, rtol=BETWEEN), a)
    if m == n:
        check_engine(lambda a: np.linalg.pinv(a + np.conj(a).T, BETWEEN, hermitian=True), a)
        check_engine(lambda a: linalg.pinvh(a + np.conj(a).T, rtol=BETWEEN), a)


def test_columns_that_a_pivoted_factorisation_drops():
    a, b = full_rank(5, 3), real(5)

    def loss(a, cond):
        return np.sum(linalg.lstsq(a, b, cond, lapack_driver="gelsy")[0])

    assert np.all(np.isfinite(autodiff.gradient(loss, a, None, argnums=0)))
    for derivative in (
        autodiff.gradient,
        lambda *args, **how: autodiff.pushforward(*args, **how)[1](a),
    ):
        with pytest.raises(NotImplementedTangentError, match="pivoted"):
            derivative(loss, a, BETWEEN, argnums=0)
