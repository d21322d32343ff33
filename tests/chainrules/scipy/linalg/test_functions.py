import numpy as np
import pytest
from scipy import linalg

import autodiff
from chainrules_core import NotImplementedTangentError
from tests.chainrules.scipy.linalg.cases import case, single
from tests.helpers import normal_draws

_, real, compl = normal_draws(4)


EYE = np.eye(3)
A, B = 0.4 * real(3, 3), real(3, 3)
Z, C = 0.4 * compl(3, 3), compl(3, 3)
P, PZ = B @ B.T + EYE, C @ C.conj().T + EYE
TURN = np.array([[1.0, -2, 0.5], [2, 1.3, 0.3], [0.2, -0.1, 3]])
STABLE, STABLE_Z = A - 2 * EYE, Z - 2 * EYE
CONTROL, COST = real(3, 2), np.array([[2.0, 0.1], [0.1, 3.0]])
CASES = [
    *[case(linalg.expm, a) for a in (A, Z, *single(A), np.stack([A, B]), A.tolist())],
    *[case(linalg.expm_frechet, *x) for x in [(A, B), (Z, C), (9 * A, B), (A, B.tolist())]],
    case(linalg.expm_frechet, 5 * Z, C, compute_expm=False),
    case(linalg.expm_frechet, np.stack([A, 9 * B]), np.stack([B, A])),
    *[case(linalg.logm, a) for a in (P, TURN, PZ, P.tolist())],
    *[case(linalg.sqrtm, a) for a in (P, TURN, PZ, P.tolist())],
    *[case(linalg.signm, a) for a in (TURN - 1.5 * EYE, P - 2 * EYE, Z, TURN.tolist())],
    *[case(linalg.fractional_matrix_power, a, t) for a in (P, PZ) for t in (0.4, -1.5)],
    case(linalg.fractional_matrix_power, P.tolist(), 0.4),
    case(linalg.solve_sylvester, STABLE, STABLE[:2, :2], real(3, 2)),
    case(linalg.solve_sylvester, STABLE_Z, STABLE[:2, :2], compl(3, 2)),
    case(linalg.solve_sylvester, *single(STABLE, STABLE, B)),
    case(linalg.solve_continuous_lyapunov, STABLE, B),
    case(linalg.solve_continuous_lyapunov, STABLE_Z, C),
    *[case(linalg.solve_discrete_lyapunov, A, B, m) for m in ("direct", "bilinear")],
    *[case(linalg.solve_discrete_lyapunov, Z, C, m) for m in ("direct", "bilinear")],
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs, check_case):
    smooth = f not in (linalg.signm, linalg.logm) and not isinstance(args[-1], list)
    check_case(f, args, kwargs, smooth and np.ndim(args[0]) == 2)


def half(q):
    return (q + q.conj().T) / 2


ENGINE = [
    (lambda a: linalg.expm(a), (A,)),
    (lambda a, e: linalg.expm_frechet(a, e), (A, B)),
    (lambda a, e: linalg.expm_frechet(a, e, compute_expm=False), (Z, C)),
    (lambda a: linalg.logm(a), (P,)),
    (lambda t: linalg.fractional_matrix_power(P, t), (0.4,)),
    (lambda a: linalg.fractional_matrix_power(a, 2), (TURN,)),
    *[(f, (A,)) for f in (
        lambda a: linalg.cosm(a), lambda a: linalg.sinm(a), lambda a: linalg.tanm(a),
        lambda a: linalg.coshm(a), lambda a: linalg.sinhm(a), lambda a: linalg.tanhm(a),
    )],
    (lambda a: linalg.funm(a, np.sin), (TURN,)),
    (lambda a: linalg.funm(a, lambda z: z * np.exp(z)), (Z,)),
]  # fmt: skip


@pytest.mark.parametrize("f, xs", ENGINE)
def test_engine(f, xs, check_modes):
    check_modes(f, *xs)


def test_funm_of_a_closure():
    def loss(k):
        return np.sum(np.cos(linalg.funm(A, lambda z: np.exp(k * z))))

    expected = (loss(0.7 + 1e-5) - loss(0.7 - 1e-5)) / 2e-5
    assert autodiff.gradient(loss, 0.7) == pytest.approx(expected, rel=1e-8)
    assert autodiff.pushforward(loss, 0.7)[1](1.0) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("f", [linalg.sqrtm, linalg.logm])
def test_on_the_branch_cut(f, check_modes):
    check_modes(lambda a: f(a), -P, twice=False)


def test_expm_cond(check_modes):
    check_modes(lambda a: linalg.expm_cond(a), A[:2, :2], twice=False)


@pytest.mark.parametrize("f", [linalg.solve_continuous_are, linalg.solve_discrete_are])
@pytest.mark.parametrize("e", [None, EYE + 0.1 * A])
@pytest.mark.parametrize("s", [None, 0.1 * CONTROL])
def test_riccati(f, e, s, check_modes):
    given = [x for x in (e, s) if x is not None]

    def solved(a, b, q, r, *more):
        more = list(more)
        e_of = None if e is None else more.pop(0)
        return f(a, b, half(q), half(r), e_of, more[0] if more else None, False)

    check_modes(solved, A, CONTROL, P, COST, *given, twice=e is None and s is None)


@pytest.mark.parametrize("f", [linalg.solve_continuous_are, linalg.solve_discrete_are])
def test_complex_riccati(f, check_modes):
    xs = Z, CONTROL + 0j, PZ, COST + 0j
    check_modes(lambda a, b, q, r: f(a, b, half(q), half(r)), *xs, twice=False)


@pytest.mark.parametrize("a", [EYE, np.diag([1.0, 2.0, 2.0])])
def test_coinciding_eigenvalues(a, check_modes):
    for f in (linalg.expm, linalg.sqrtm):
        check_modes(lambda a, f=f: f(a), a)
    check_modes(lambda a: linalg.funm(a, np.exp), a, twice=False)


@pytest.mark.parametrize("f", [linalg.expm, linalg.lu, lambda a: linalg.expm(A=a)])
def test_plain_arguments_run_as_they_are(f, check_modes):
    """The body of a library's function with a rule is not traced where no argument is."""
    check_modes(lambda k: k * sum(np.sum(part) for part in f(P)), 0.7, twice=False)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: linalg.funm(a, np.sin),
        lambda a: linalg.sqrtm(-a),
        lambda a: linalg.logm(-a),
        lambda a: linalg.fractional_matrix_power(-a, 0.3),
    ],
)
def test_second_derivatives_at_a_symmetric_matrix(f, check_modes):
    """Perturbations need not be symmetric, and ``eigh`` reads one triangle alone."""
    check_modes(f, P)


@pytest.mark.parametrize("t", [1.5, 2.5, 3.0])
@pytest.mark.parametrize("values", [(0.0, 1.0, 2.0), (0.0, 0.0, 2.0)])
def test_powers_of_singular_matrices(values, t):
    basis = np.array([[1.0, 0.3, -0.2], [0.4, 1.0, 0.5], [-0.1, 0.2, 1.0]])
    a, a_dot = (basis @ np.diag(d) @ np.linalg.inv(basis) for d in (values, (0.3, 0.5, 0.2)))

    def f(a):
        return np.sum(B * np.real(linalg.fractional_matrix_power(a, t)))

    slopes = t * np.array(values) ** (t - 1) * np.array([0.3, 0.5, 0.2])
    expected = np.sum(B * (basis @ np.diag(slopes) @ np.linalg.inv(basis)))
    np.testing.assert_allclose(np.sum(autodiff.gradient(f, a) * a_dot), expected, rtol=1e-6)
    np.testing.assert_allclose(autodiff.jvp(f, (a,), (a_dot,))[1], expected, rtol=1e-6)


def test_no_number_at_a_singular_matrix():
    singular = np.diag([0.0, 1.0, 2.0])
    root = autodiff.gradient(lambda a: np.sum(linalg.fractional_matrix_power(a, 0.5)), singular)
    assert not np.all(np.isfinite(root))
    with pytest.raises(NotImplementedTangentError, match="sign of a singular matrix"):
        autodiff.gradient(lambda a: np.sum(linalg.signm(a)), singular)


def test_polar_factors_of_a_singular_matrix():
    """Both modes give the derivative without the jump of the vector that belongs to zero."""
    skew = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 2.0], [0.0, -2.0, 0.0]])
    for side in ("right", "left"):

        def f(a, side=side):
            u, p = linalg.polar(a, side)
            return np.sum(B * u) + np.sum(B.T * p)

        found = np.sum(autodiff.gradient(f, skew) * B)
        np.testing.assert_allclose(found, autodiff.jvp(f, (skew,), (B,))[1], rtol=1e-10)


# Functions whose bodies call LAPACK, which knows no list with traced values.
OF_LISTS = {
    "solve_banded": lambda a: linalg.solve_banded((1, 1), a, a[0]),
    "solveh_banded": lambda a: linalg.solveh_banded([a[0], [x + 20 for x in a[1]]], a[0]),
    "lu": lambda a: linalg.lu(a)[2],
    "lu_factor": lambda a: linalg.lu_solve(linalg.lu_factor(a), a[0]),
    "solve_sylvester": lambda a: linalg.solve_sylvester(a, a, a),
    "solve_continuous_lyapunov": lambda a: linalg.solve_continuous_lyapunov(a, a),
    "solve_discrete_lyapunov": lambda a: linalg.solve_discrete_lyapunov(a, a),
    "solve_continuous_are": lambda a: linalg.solve_continuous_are(a, a, EYE.tolist(), EYE),
    "fractional_matrix_power": lambda a: linalg.fractional_matrix_power(a, 0.5),
    "matrix_balance": lambda a: linalg.matrix_balance(a)[0],
    "khatri_rao": lambda a: linalg.khatri_rao(a, a),
}


@pytest.mark.parametrize("f", OF_LISTS.values(), ids=OF_LISTS)
def test_lists(f):
    def total(a):
        return np.sum(np.atleast_2d(f(a))[:3, :3] * B)

    expected = autodiff.gradient(total, P)
    np.testing.assert_allclose(autodiff.gradient(total, P.tolist()), expected, rtol=1e-9)


def test_one_matrix_and_a_stack_of_directions(check_modes):
    check_modes(lambda a, e: linalg.expm_frechet(a, e), A, np.stack([A, B]))


TURNING = np.array([[0.3, -0.6, 0.1], [0.6, 0.4, 0.1], [0.2, 0.1, 0.9]])  # of complex eigenvalues
SOLVERS = {
    "solve_sylvester": lambda a, q: linalg.solve_sylvester(a, np.diag([1.0, 2.0, 3.0]), q),
    "solve_continuous_lyapunov": linalg.solve_continuous_lyapunov,
    "solve_discrete_lyapunov": lambda a, q: linalg.solve_discrete_lyapunov(a, q, "bilinear"),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_mixtures_that_scipy_does_not_solve(name, check_engine):
    with pytest.raises(ValueError, match=f"{name} does not solve"):
        autodiff.gradient(lambda q: np.abs(SOLVERS[name](TURNING, q)[0, 0]), C)
    check_engine(lambda a, q: SOLVERS[name](a + 0j, q), TURNING, C)
    check_engine(lambda q: SOLVERS[name](np.triu(TURNING), q), C)
