import numpy as np
import pytest

import autodiff
from chainrules.linalg.singular import is_from_qr
from chainrules_core.testing.checks.check import check_rule
from chainrules_core.testing.inputs.domains import hermitian_matrix, separated_singular_values


def matrix(m, n, dtype=float, seed=1):
    return separated_singular_values(m, n, dtype, rng=[seed, m, n])


def stack(m, n, dtype=float):
    return np.stack([matrix(m, n, dtype, seed) for seed in (1, 2)])


def case(f, *args, **kwargs):
    options = ",".join(map(str, [*args[1:], *kwargs.values()]))
    return pytest.param(f, args, kwargs, id=f"{f.__name__}{args[0].dtype}{args[0].shape}{options}")


svd, svdvals = np.linalg.svd, np.linalg.svdvals
H, ZH = hermitian_matrix(3, rng=1), hermitian_matrix(4, complex, rng=2)

CASES = [
    # not gauge-invariant: signs, phases and the remaining space are those that LAPACK gives
    case(svd, matrix(3, 3)),
    case(svd, matrix(3, 3, complex)),
    case(svd, matrix(4, 3), False),
    case(svd, matrix(3, 4), full_matrices=False),
    case(svd, matrix(4, 3, complex), full_matrices=False),
    case(svd, matrix(2, 4, complex), full_matrices=False),
    case(svd, stack(4, 3), full_matrices=False),
    case(svd, stack(2, 3, complex)[:, None], full_matrices=False),
    case(svd, matrix(4, 3).astype(np.float32), full_matrices=False),
    case(svd, np.kron(matrix(3, 2), np.ones((2, 2)))[::2, 1::2], full_matrices=False),
    case(svd, matrix(4, 3)),
    case(svd, matrix(3, 4)),
    case(svd, matrix(5, 2)),
    case(svd, matrix(2, 5)),
    case(svd, matrix(5, 2, complex)),
    case(svd, matrix(2, 5, complex)),
    case(svd, stack(4, 2)),
    case(svd, stack(2, 4, complex)),
    case(svd, matrix(3, 1)),
    case(svd, np.array([[-2.5]])),
    case(svd, np.zeros((0, 2)), False),
    case(svd, matrix(4, 3), True, False),
    case(svd, matrix(3, 4, complex), compute_uv=False),
    case(svd, H, hermitian=True),
    case(svd, ZH, hermitian=True),
    case(svd, np.stack([H, H + 1]), hermitian=True),
    case(svd, ZH, compute_uv=False, hermitian=True),
    case(svd, H, full_matrices=False, hermitian=True),
    case(svd, H.astype(np.float32), hermitian=True),
    case(svdvals, matrix(3, 3)),
    case(svdvals, matrix(3, 4, complex)),
    case(svdvals, stack(4, 3)),
    case(svdvals, matrix(4, 3).astype(np.float32)),
    case(svdvals, np.zeros((0, 2))),
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs):
    check_rule(f, *args, fkwargs=kwargs, second_order=True, gradient=autodiff.gradient)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.linalg.svd(a)[0],
        lambda a: np.linalg.svd(a, full_matrices=False).Vh,
        lambda a: np.linalg.svd(a, full_matrices=False).S,
        lambda a: (lambda u, s, vh: (u * s**2) @ vh)(*np.linalg.svd(a, full_matrices=False)),
        lambda a: np.linalg.svdvals(a) ** 2,
        lambda a: np.linalg.svd(a, compute_uv=False)[0],
    ],
)
def test_engine(f, check_engine):
    check_engine(f, matrix(4, 3))


# ----------------------------------------------------------------------------- the remaining space

BETWEEN = matrix(6, 4)  # not tall enough for LAPACK to begin with a QR factorisation


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6)])
def test_the_projector_on_the_remaining_space(shape, dtype, check_engine):
    a = matrix(*shape, dtype)

    def projector(a):
        u, _, vh = np.linalg.svd(a)
        rest = u[:, 4:] if shape[0] > shape[1] else np.conj(vh[4:]).T
        return rest @ np.conj(rest).T

    check_engine(projector, a)


def test_forward_through_the_remaining_space():
    def projector(a):
        rest = np.linalg.svd(a)[0][:, 4:]
        return rest @ rest.T

    direction, h = matrix(6, 4, seed=2), 1e-6
    expected = (projector(BETWEEN + h * direction) - projector(BETWEEN - h * direction)) / (2 * h)
    _, push = autodiff.pushforward(projector, BETWEEN)
    np.testing.assert_allclose(push(direction), expected, atol=1e-8)


def test_the_basis_of_the_remaining_space_is_lapacks_secret():
    rest = np.linalg.svd(BETWEEN)[0][:, 4:]
    assert not is_from_qr(rest, BETWEEN)
    with pytest.raises(Exception, match="which basis"):
        autodiff.gradient(lambda a: np.linalg.svd(a)[0][0, 5], BETWEEN)
    a = matrix(6, 2)  # here it is not
    assert is_from_qr(np.linalg.svd(a)[0][:, 2:], a)


# -------------------------------------------------------------- where singular values coincide


def slope(f, a, direction, h=1e-5):
    return (f(a + h * direction) - f(a - h * direction)) / (2 * h)


TIED = np.array([[0.0, 2.0], [-2.0, 0.0], [0.0, 0.0]])
DIRECTION = np.array([[1.0, 2.0], [4.0, 5.0], [7.0, -8.0]])


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.sum(np.linalg.svdvals(a) ** 3),
        lambda a: np.sum(np.linalg.svd(a, full_matrices=False)[1] ** 3),
        lambda a: np.prod(np.linalg.svdvals(a)),
        lambda a: np.sum(DIRECTION * polar(a)),
    ],
)
def test_smooth_functions(f):
    """Symmetric functions of the values, and the polar factor U Vᴴ."""
    expected = slope(f, TIED, DIRECTION)
    assert np.sum(autodiff.gradient(f, TIED) * DIRECTION) == pytest.approx(expected, rel=1e-7)


def polar(a):
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return u @ vh


def test_deficient_rank():
    """What belongs to the singular values that are not zero has a derivative."""

    def loss(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return s[0] * u[0, 0] * vh[0, 1]

    a = np.outer([1.0, 2.0, 3.0], [2.0, -1.0, 0.5])
    direction = np.arange(9.0).reshape(3, 3) - 3.5
    gradient = autodiff.gradient(loss, a)
    assert np.sum(gradient * direction) == pytest.approx(slope(loss, a, direction), rel=1e-6)


def test_nothing_wrong_where_singular_values_coincide():
    gradient = autodiff.gradient(lambda a: np.linalg.svd(a, full_matrices=False)[0][0, 0], TIED)
    assert np.isnan(gradient).any()


SINGULAR = np.array([[1.0, 2.0, 0.0], [2.0, -1.0, 5.0], [4.0, 3.0, 5.0]])  # the last row follows
RANK_ONE = np.outer([1.0, 2.0, 3.0], [2.0, -1.0, 0.5])


def of_values(a, f, **options):
    u, s, vh = np.linalg.svd(a, full_matrices=False, **options)
    return (u * f(s)) @ vh


@pytest.mark.parametrize(
    "f",
    [
        lambda a: of_values(a, np.sin),
        lambda a: (lambda u, s, vh: u * s)(*np.linalg.svd(a)),
        lambda a: np.linalg.svdvals(a) ** 2,
    ],
)
@pytest.mark.parametrize("a", [SINGULAR, SINGULAR.T[[1, 0, 2]]])
def test_a_singular_value_of_zero_among_others(f, a, check_engine):
    """Left and right vectors keep the sign that belongs to it: the value goes on below zero."""
    check_engine(lambda a: 0.1 * f(a), a)


TALL = np.array([[1.0, 2.0, 1.0], [2.0, -1.0, 2.0], [4.0, 3.0, 4.0], [1.0, 1.0, 1.0]])


@pytest.mark.parametrize(
    "a",
    [RANK_ONE, np.zeros((3, 3)), TALL, TALL.T, SINGULAR + 0j],
)
def test_nothing_wrong_where_zero_may_turn(a):
    """The space of vectors of zero has more than one dimension, or they have phases."""
    weights = np.cos(np.arange(a.size)).reshape(a.shape)
    gradient = autodiff.gradient(lambda a: np.sum(weights * np.real(of_values(a, np.sin))), a)
    assert np.isnan(gradient).any()


def test_an_eigenvalue_of_zero(check_engine):
    q = np.linalg.qr(SINGULAR + 4 * np.eye(3))[0]
    check_engine(lambda a: of_values(a + a.T, np.sin, hermitian=True), (q * [0.0, 0.4, -0.7]) @ q.T)
    gradient = autodiff.gradient(
        lambda a: np.sum(SINGULAR * of_values(a + a.T, np.sin, hermitian=True)),
        (q * [0.0, 0.0, -0.7]) @ q.T,
    )
    assert np.isnan(gradient).any()
