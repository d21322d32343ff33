import numpy as np
import pytest
from scipy import linalg

import autodiff
from chainrules.scipy.linalg.factors.hessenberg import turning, turning_adjoint
from chainrules.scipy.linalg.factors.schur import below_blocks, below_blocks_adjoint
from chainrules_core import NotImplementedTangentError
from tests.chainrules.scipy.linalg.cases import case
from tests.helpers import normal_draws

_, real, compl = normal_draws(4)


EYE = np.eye(3)
A, B = real(3, 3) + np.diag([1.0, 3, 6]), real(3, 3) + 4 * EYE
Z = compl(3, 3) + np.diag([1.0, 3, 6])
S, P = A + A.T, B @ B.T + EYE
H, PZ = Z + Z.conj().T, Z @ Z.conj().T + EYE
TURN = np.array([[1.0, -2, 0.5], [2, 1.3, 0.3], [0.2, -0.1, 3]])
LOW, UP = real(2, 4) + np.array([[3.0, 6, 9, 13], [0] * 4]), None
UP = LOW[::-1]
D, E = np.array([1.0, 3.0, 6.0, 10.0]), real(3)
HERMITIAN = [(S, P), (H, PZ)]
HELPERS = (turning, turning_adjoint)
STACKS = [real(2, 3, 3)] if hasattr(linalg.hessenberg, "__wrapped__") else []  # of newer versions
STAIRS = np.diag([1.0, 2, 3, 4, 5])
FORMS = [(real(5, 5) + STAIRS, real(5, 5)), (compl(5, 5) + STAIRS, compl(5, 5))]
PAIRS = 2 * np.diag([1.0, 0, 0, 1], -1)
CASES = [
    *[case(f, a) for f in (linalg.eig, linalg.eigvals) for a in (A, TURN, Z, S)],
    case(linalg.eig, TURN, left=True),
    case(linalg.eig, Z, left=True, right=False),
    case(linalg.eig, A, right=False),
    case(linalg.eig, S, P),
    case(linalg.eig, S, P, left=True),
    case(linalg.eigvals, A, B),
    case(linalg.eigvals, Z, B),
    *[case(linalg.eigh, a, lower=low, driver="evd") for a, _ in HERMITIAN for low in (True, False)],
    *[case(linalg.eigvalsh, a, lower=low) for a, _ in HERMITIAN for low in (True, False)],
    *[
        case(linalg.eigh, a, b, lower=low, type=t, driver="gvd")
        for a, b in HERMITIAN
        for low in (True, False)
        for t in (1, 2, 3)
    ],
    *[case(linalg.eigvalsh, a, b, type=t) for a, b in HERMITIAN for t in (1, 2, 3)],
    case(linalg.eigh, S, eigvals_only=True),
    case(linalg.eigvalsh, S, subset_by_index=[1, 2]),
    case(linalg.eigvalsh, S, P, subset_by_index=[0, 1]),
    *[case(f, S.tolist()) for f in (linalg.eigvals, linalg.eigvalsh)],
    case(linalg.eig, A.tolist()),
    case(linalg.eigh, S.tolist(), eigvals_only=True),
    *[case(linalg.eigvals_banded, LOW, lower=True), case(linalg.eigvals_banded, UP)],
    case(linalg.eigvals_banded, UP + 1j * real(2, 4) * np.array([[1], [0]])),
    case(linalg.eigvals_banded, LOW, lower=True, select="i", select_range=(1, 2)),
    case(linalg.eig_banded, LOW, lower=True),
    case(linalg.eig_banded, UP),
    *[case(f, LOW.tolist(), lower=True) for f in (linalg.eig_banded, linalg.eigvals_banded)],
    case(linalg.eigh_tridiagonal, D, E, lapack_driver="stev"),
    case(linalg.eigvalsh_tridiagonal, D, E),
    case(linalg.eigvalsh_tridiagonal, D, E, select="v", select_range=(2, 20)),
    *[
        case(f, d, e)
        for f in (linalg.eigh_tridiagonal, linalg.eigvalsh_tridiagonal)
        for d, e in [(D.tolist(), E), (D.tolist(), E.tolist()), (D, E.tolist())]
    ],
    case(linalg.schur, S),
    case(linalg.schur, TURN),
    case(linalg.schur, S, sort="rhp"),
    *[case(linalg.hessenberg, a) for a in (real(5, 5), compl(4, 4), compl(2, 2), *STACKS)],
    case(linalg.hessenberg, A.tolist()),
    *[case(linalg.hessenberg, a, calc_q=True) for a in (real(4, 4), compl(4, 4), real(1, 1))],
    *[case(f, np.triu(a, -1), b) for a, b in FORMS for f in (turning, turning_adjoint)],
    case(linalg.schur.__wrapped__ if hasattr(linalg.schur, "__wrapped__") else linalg.schur, S),
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs, check_case):
    plain = f in (linalg.eigvals, linalg.eigvalsh, linalg.schur, *HELPERS) or "hess" in f.__name__
    plain = plain and (len(args) == 1 or f in HELPERS)
    check_case(f, args, kwargs, plain and not isinstance(args[0], list))


def sizes(parts):
    return [np.abs(part) for part in parts]


@pytest.mark.parametrize(
    "f, xs",
    [
        (lambda a: sizes(linalg.eigh(a, subset_by_index=[1, 2])), (S,)),
        (lambda a: sizes(linalg.eigh(a, subset_by_value=[2.5, np.inf])), (S,)),
        (lambda a, b: sizes(linalg.eigh(a, b, subset_by_index=[0, 1])), (S, P)),
        (lambda a: sizes(linalg.eigh(a)), (H,)),
        (lambda a, b: sizes(linalg.eig(a, b)), (Z, B + 0j)),
        (lambda a: sizes(linalg.eig_banded(a, select="i", select_range=(0, 1))), (UP,)),
        (lambda d, e: sizes(linalg.eigh_tridiagonal(d, e, False, "i", (1, 2))), (D, E)),
        (lambda a: sizes(linalg.schur(a, output="complex")), (TURN,)),
        (lambda a: np.abs(linalg.rsf2csf(*linalg.schur(a))[0]), (TURN,)),
        (lambda a: linalg.cdf2rdf(*linalg.eig(a)), (TURN,)),
    ],
)
def test_engine(f, xs, check_modes):
    check_modes(f, *xs, twice=False)


@pytest.mark.parametrize("f", [below_blocks, below_blocks_adjoint])
@pytest.mark.parametrize("t, x, more", [(*FORMS[0], 0), (*FORMS[1], 0), (*FORMS[0], PAIRS)])
def test_equations_of_schur_forms(f, t, x, more, check_modes):
    check_modes(lambda t, x: f(np.triu(t) + more, x), t, x)


def test_vectors_of_a_singular_pencil():
    """B⁻¹ A, by which vectors have derivatives, is lost in rounding; the finite values are not."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 4)), rng.normal(size=(4, 2)) @ rng.normal(size=(2, 4))
    assert np.linalg.cond(b) > 1e15

    def of_values(found):
        return np.min(np.abs(found))

    expected = autodiff.gradient(lambda a: of_values(linalg.eigvals(a, b)), a)
    for options in ({}, {"left": True}, {"left": True, "right": False}):
        found = autodiff.gradient(lambda a, o=options: of_values(linalg.eig(a, b, **o)[0]), a)
        np.testing.assert_allclose(found, expected, rtol=1e-8)
        with pytest.raises(NotImplementedTangentError, match="singular b"):
            autodiff.gradient(lambda a, o=options: np.abs(linalg.eig(a, b, **o)[1][0, 0]), a)
