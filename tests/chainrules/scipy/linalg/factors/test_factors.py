import numpy as np
import pytest
from scipy import linalg

import autodiff
from chainrules.scipy.linalg.factors.cholesky import cho_solution
from chainrules.scipy.linalg.factors.lu import lu_solution
from chainrules.scipy.linalg.toeplitz import in_steps, sums_of_steps, toeplitz_solution
from chainrules_core import NotImplementedTangentError
from chainrules_core.testing import check_rule
from tests.chainrules.scipy.linalg.cases import case, single, takes_lists
from tests.helpers import normal_draws

_, real, compl = normal_draws(4)


TAKES_LISTS = takes_lists(linalg.cho_factor)
EYE = np.eye(3)
A, Z = real(3, 3) + 4 * EYE, compl(3, 3) + 4 * EYE
P, PZ = A @ A.T + EYE, Z @ Z.conj().T + EYE
TALL, WIDE = real(4, 3), compl(3, 4)
LU, PIVOTS = linalg.lu_factor(TALL[:3])
INDEFINITE = np.array([[0, 1.0, 2, 0.3], [1, 0, 0.5, 0.2], [2, 0.5, 0, 1], [0.3, 0.2, 1, 0]])
LARGE = real(70, 70) / 20 + np.eye(70)
STACK = np.stack([LARGE, LARGE.T])
STACKS = [STACK] if np.ndim(linalg.lu_factor(STACK)[1]) == 2 else []  # SciPy 1.15 has none
PAIRS = np.kron(np.eye(75), [[0.1, 1.0], [1.0, -0.2]])[1:, 1:]
PAIRS = PAIRS + (lambda x: x + x.T)(real(149, 149)) / 200
CASES = [
    *[case(linalg.lu, a, p_indices=True) for a in (A, TALL, WIDE, Z, np.stack([A, A + 1]))],
    case(linalg.lu, TALL),
    case(linalg.lu, WIDE, permute_l=True),
    case(linalg.lu, TALL, True),
    case(linalg.lu, *single(A)),
    *[case(linalg.lu_factor, a) for a in (A, TALL[:3], Z, *single(A))],
    *[case(linalg.cholesky, a, low) for a in (P, PZ, *single(P)) for low in (False, True)],
    *[case(linalg.cho_factor, a, lower=low) for a in (P, PZ) for low in (False, True)],
    *[case(cho_solution, P, real(3, 2), lower=low) for low in (False, True)],
    *[case(cho_solution, PZ, compl(3, 2), lower=low) for low in (False, True)],
    *[case(lu_solution, LU, real(3, 2), pivots=PIVOTS, trans=t) for t in (0, 1, 2)],
    *[case(lu_solution, LU + 0.3j, compl(3, 2), pivots=PIVOTS, trans=t) for t in (0, 1, 2)],
    case(toeplitz_solution, np.array([5.0, 1, 2]), real(3), real(3, 2)),
    case(toeplitz_solution, np.array([5.0, 1j, 2]), compl(3), compl(3, 1)),
    *[case(in_steps, compl(2, 6), 2, back) for back in (False, True)],
    *[case(sums_of_steps, real(2, *n), True) for n in ((2, 3), (40, 33), (3, 2))],
    case(toeplitz_solution, np.array([5.0, 1j, 2]), compl(3), compl(3, 2)),
    case(linalg.cholesky, P.tolist()),
    *([case(linalg.cho_factor, P.tolist())] if TAKES_LISTS else []),
    *[case(linalg.ldl, a, low) for a in (A + A.T - 8 * EYE, INDEFINITE) for low in (True, False)],
    case(linalg.ldl, Z + Z.conj().T),
    case(linalg.ldl, Z + Z.T, lower=False, hermitian=False),
    case(linalg.ldl, P.tolist()),
    case(linalg.ldl, INDEFINITE + 1j * (np.tri(4) - np.tri(4).T)),
    *[case(linalg.lu, a) for a in (np.stack([LARGE, LARGE.T]), compl(70, 68) + 9 * LARGE[:, :68])],
    *[case(linalg.lu_factor, a) for a in (LARGE, LARGE[:, :69], LARGE[:69], LARGE * (1 + 0.1j))],
    *[case(linalg.lu_factor, a) for a in STACKS],
    *[case(linalg.ldl, a) for a in (PAIRS, PAIRS[1:, 1:], LARGE + LARGE.T)],
    *[case(linalg.cho_factor, LARGE @ LARGE.T, lower=low) for low in (True, False)],
    *[case(linalg.cholesky, a @ a.conj().T, True) for a in (LARGE, LARGE + 0.1j * LARGE.T)],
    case(linalg.ldl, PAIRS + 1j * np.triu(PAIRS[0] / 9, 1) - 1j * np.triu(PAIRS[0] / 9, 1).T),
]


@pytest.mark.filterwarnings("ignore:scipy.linalg.ldl")  # the step takes the diagonal off the axis
@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs, check_case):
    names = ("cho_solution", "lu_solution", "toeplitz_solution")
    second = f in (linalg.cholesky, linalg.lu) or f.__name__ in names
    check_case(f, args, kwargs, second and not isinstance(args[0], list))


C, R = np.array([5.0, 1.0, -0.5]), np.array([9.0, 0.3, 0.7])


@pytest.mark.parametrize(
    "f, xs",
    [
        (lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b), (A, real(3))),
        (lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, trans=1), (A, real(3, 2))),
        (lambda a, b: linalg.cho_solve(linalg.cho_factor(a), b), (P, real(3))),
        (lambda a, b: linalg.cho_solve((linalg.cholesky(a, lower=True), True), b), (P, real(3, 2))),
        (lambda c: linalg.toeplitz(c), (C,)),
        (lambda c: linalg.toeplitz(c), (C + 1j * R,)),
        (lambda c, r: linalg.toeplitz(c, r), (C, real(2))),
        (lambda c: linalg.circulant(c), (C,)),
        (lambda c: linalg.hankel(c), (C,)),
        (lambda c, r: linalg.hankel(c, r=r), (C, R)),
        (lambda c: linalg.convolution_matrix(c, 4, mode="same"), (C,)),
        (lambda c: linalg.convolution_matrix(c, 4), (C,)),
        (lambda c, r, b: linalg.solve_toeplitz((c, r), b), (C, R, real(3))),
        (lambda c, b: linalg.solve_toeplitz(c, b), (C + 0.1j * R, compl(3, 2))),
        (lambda c, x: linalg.matmul_toeplitz(c, x), (C, real(3))),
        (lambda c, r, x: linalg.matmul_toeplitz((c, r), x), (C, R, real(3, 2))),
        (lambda c, b: linalg.solve_circulant(c, b), (C, real(3))),
        (lambda c: linalg.companion(c), (C,)),
        (lambda c, s: linalg.leslie(c, s), (C, real(2))),
        (lambda c: linalg.fiedler(c), (C,)),
        (lambda c: linalg.fiedler_companion(c), (np.array([3.0, 0.5, -0.2, 0.4]),)),
        (lambda a, b: linalg.block_diag(a, b, 2.0), (A, C)),
        (lambda a, b: linalg.khatri_rao(a, b), (A, TALL)),
        (lambda s: linalg.diagsvd(s, 3, 5), (C,)),
    ],
)
def test_engine(f, xs, check_modes):
    check_modes(f, *xs)


def test_cho_solve_reads_one_triangle():
    a_bar = autodiff.gradient(lambda a: np.sum(linalg.cho_solve(linalg.cho_factor(a), EYE)), P)
    assert np.all(np.tril(a_bar, -1) == 0)
    assert np.all(a_bar[np.triu_indices(3)] != 0)


@pytest.mark.parametrize("a, b", [(A, TALL), (Z, TALL), (TALL, compl(2, 3)), single(A, TALL)])
def test_khatri_rao(a, b):
    check_rule(linalg.khatri_rao, a, b)


@pytest.mark.parametrize("a", [np.eye(3), np.diag([2.0, 2.0, 1.0]), np.zeros((3, 3))])
def test_arbitrary_columns_are_not_used_in_vain(a):
    def product(a):
        h, q = linalg.hessenberg(a, calc_q=True)
        return np.matmul(np.matmul(q, h), q.T)

    with pytest.raises(NotImplementedTangentError, match="zero in its subdiagonal"):
        autodiff.gradient(lambda a: np.sum(product(a) * np.arange(9.0).reshape(3, 3)), a)


@pytest.mark.parametrize(
    "a", [np.eye(3)[[1, 2, 0]], np.array([[0.0, 1, 2], [-1, 0, 3], [-2, -3, 0]])]
)
def test_schur_forms_with_rotations(a):
    weights = np.arange(9.0).reshape(3, 3) ** 2

    def product(a):
        t, z = linalg.schur(a)
        return z @ t @ z.T

    found = autodiff.gradient(lambda a: np.sum(product(a) * weights), a)
    np.testing.assert_allclose(found, weights, atol=1e-8)
    assert np.isnan(autodiff.pushforward(product, a)[1](weights)).any()
    assert np.isnan(autodiff.gradient(lambda a: np.sum(linalg.schur(a)[1] * weights), a)).any()
