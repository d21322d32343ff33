import numpy as np
import pytest

import autodiff
from chainrules.linalg.cholesky import BLOCK, cholesky_adjoint, two_sided
from chainrules.linalg.matrices import half_triangle, onto_triangle
from chainrules.linalg.triangular import right_lower, right_upper, solve_lower, solve_upper
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import spd_matrix


def spd(n, dtype=float, seed=1):
    return spd_matrix(n, dtype, rng=seed)


def case(*args, **kwargs):
    return pytest.param(args, kwargs, id=f"{args[0].dtype}{np.shape(args[0])}{kwargs or ''}")


def large(n, dtype=float):
    rng = np.random.default_rng(2)
    a = rng.standard_normal((2, n, n)).astype(dtype)
    if dtype is complex:
        a = a + 1j * rng.standard_normal((2, n, n))
    return np.matmul(a, a.conj().mT) / n + np.eye(n)


STACK = np.stack([spd(3), spd(3, seed=2)])

CASES = [
    case(spd(3)),
    case(spd(3), upper=True),
    case(spd(4, complex)),
    case(spd(4, complex), upper=True),
    case(STACK),
    case(STACK[:, None], upper=True),
    case(np.stack([spd(2, complex), spd(2, complex, seed=2)])),
    case(spd(3).astype(np.float32)),
    case(np.array([[2.5]])),
    case(np.zeros((0, 0))),
    case(np.zeros((0, 2, 2))),
    case(np.kron(spd(3), np.ones((2, 2)))[::2, ::2]),
]


@pytest.mark.parametrize("args, kwargs", CASES)
def test_rule(args, kwargs):
    check_rule(
        np.linalg.cholesky, *args, fkwargs=kwargs, second_order=True, gradient=autodiff.gradient
    )


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("n", [BLOCK - 1, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 5])
def test_blocks(n, dtype):
    """Going back block by block is the closed form."""
    lower = np.linalg.cholesky(large(n, dtype))
    lower_bar = np.random.default_rng(3).standard_normal((2, n, n)).astype(dtype)
    s = two_sided(lower, half_triangle(np.matmul(lower.conj().mT, lower_bar)))
    np.testing.assert_allclose(
        cholesky_adjoint(lower, lower_bar), onto_triangle(s), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("n", [3, 150])
def test_triangular_systems(n, dtype):
    lower = np.linalg.cholesky(large(n, dtype))
    upper, b = lower.mT, large(n, dtype)[:, :, :4]
    np.testing.assert_allclose(lower @ solve_lower(lower, b), b, atol=1e-12)
    np.testing.assert_allclose(upper @ solve_upper(upper, b), b, atol=1e-12)
    np.testing.assert_allclose(right_lower(b.mT, lower) @ lower, b.mT, atol=1e-12)
    np.testing.assert_allclose(right_upper(b.mT, upper) @ upper, b.mT, atol=1e-12)


@pytest.mark.parametrize("dtype", [float, complex])
def test_the_adjoint_has_derivatives(dtype):
    lower = np.linalg.cholesky(spd(3, dtype))
    lower_bar = np.tril(spd(3, dtype, seed=4)) + 0.5
    check_rule(cholesky_adjoint, lower, lower_bar, second_order=True, gradient=autodiff.gradient)


def test_only_one_triangle_is_read():
    """The gradient is with respect to what is read, and zero elsewhere."""
    gradient = autodiff.gradient(lambda a: np.sum(np.linalg.cholesky(a)), spd(3))
    assert np.all(np.triu(gradient, 1) == 0)
    gradient = autodiff.gradient(lambda a: np.sum(np.linalg.cholesky(a, upper=True)), spd(3))
    assert np.all(np.tril(gradient, -1) == 0)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.linalg.cholesky(a),
        lambda a: np.linalg.cholesky(a @ a.T + a, upper=True),
        lambda a: np.linalg.solve(np.linalg.cholesky(a), a[0]),
        lambda a: np.sum(np.log(np.diagonal(np.linalg.cholesky(a)))),
    ],
)
def test_engine(f, check_engine):
    check_engine(f, spd(3))


def test_large_matrices_in_the_engine():
    """A blocked adjoint in use: log det A = 2 Σ log L_ii has the gradient A⁻¹."""
    a = large(BLOCK + 20)[0]
    gradient = autodiff.gradient(
        lambda a: 2 * np.sum(np.log(np.diagonal(np.linalg.cholesky(a)))), a
    )
    symmetric = (gradient + gradient.T) / 2
    np.testing.assert_allclose(symmetric, np.linalg.inv(a), rtol=1e-9, atol=1e-12)
