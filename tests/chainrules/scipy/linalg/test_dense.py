import numpy as np
import pytest
from scipy import linalg

import autodiff
from chainrules.refused import RefusedError, RefusedRule
from chainrules.scipy.linalg.singular import unitary
from chainrules_core import NotImplementedTangentError, frule, rrule
from tests.chainrules.scipy.linalg.cases import case, single, takes_lists
from tests.helpers import normal_draws

_, real, compl = normal_draws(4)


A, T, W = real(3, 3) + 2 * np.eye(3), real(5, 3), real(3, 5)
TZ, WZ = compl(4, 3), compl(3, 4)
S, H = A + A.T, TZ[:3] + TZ[:3].conj().T
FACTORED = (A, T, W, TZ, WZ)
CASES = [
    *[case(linalg.qr, a, mode=m) for a in FACTORED for m in ("full", "economic", "r")],
    *[case(linalg.qr, a, mode="economic", pivoting=True) for a in (T, WZ)],
    case(linalg.qr, T, pivoting=True),
    case(linalg.qr, T, pivoting=True, mode="r"),
    case(linalg.qr, *single(T), mode="economic"),
    case(linalg.qr, T.tolist(), mode="economic"),
    *[case(linalg.rq, a, mode=m) for a in FACTORED for m in ("full", "economic", "r")],
    case(linalg.rq, W.tolist(), mode="economic"),
    *[case(linalg.svd, a, full_matrices=False) for a in FACTORED],
    *[case(linalg.svd, a, compute_uv=False) for a in FACTORED],
    case(linalg.svd, T, False, lapack_driver="gesvd"),
    case(linalg.svd, *single(T), full_matrices=False),
    case(linalg.svd, T.tolist(), compute_uv=False),
    *[case(linalg.svdvals, a) for a in (A, TZ)],
    case(linalg.svdvals, T.tolist()),
    *[case(linalg.norm, a) for a in (A, TZ, real(4), T.tolist())],
    *[case(linalg.norm, T, ord=o) for o in ("fro", 1, -1, 2, -2, np.inf, -np.inf)],
    case(linalg.norm, T, 3, 0, True),
    *[case(linalg.det, a) for a in (A, TZ[:3], *single(A), A.tolist())],
    *[case(linalg.pinv, a) for a in (*FACTORED, *single(T), T.tolist())],
    case(linalg.pinv, T, return_rank=True, atol=0.01, rtol=0.01),
    *[case(linalg.pinvh, a, lower=low) for a in (S, H) for low in (True, False)],
    case(linalg.pinvh, S, return_rank=True),
    case(linalg.pinvh, S.tolist()),
    *[case(linalg.lstsq, a, real(a.shape[0])) for a in (A, T, W)],
    *[case(linalg.lstsq, a, compl(a.shape[0], 2)) for a in (TZ, WZ)],
    case(linalg.lstsq, T, real(5, 2), cond=1e-9),
    case(linalg.lstsq, T, real(5), lapack_driver="gelsy"),
    case(linalg.lstsq, *single(T, real(5))),
    *(
        [case(linalg.lstsq, T.tolist(), real(5)), case(linalg.lstsq, T.tolist(), real(5).tolist())]
        if takes_lists(linalg.lstsq, [1.0])
        else []
    ),
    case(linalg.lstsq, T, real(5).tolist()),
    *[case(linalg.matrix_balance, A * np.array([1, 100, 0.01]), separate=s) for s in (False, True)],
]


@pytest.mark.parametrize("f, args, kwargs", CASES)
def test_rule(f, args, kwargs, check_case):
    plain = f in (linalg.svdvals, linalg.det, linalg.pinv) and not isinstance(args[0], list)
    check_case(f, args, kwargs, plain and args[0].dtype != np.float32)


def projector(q):
    return q @ q.conj().T


@pytest.mark.parametrize(
    "f, xs",
    [
        (lambda a: linalg.polar(a), (T,)),
        (lambda a: linalg.polar(a, side="left"), (WZ,)),
        (lambda a: projector(linalg.orth(a)), (T,)),
        (lambda a: projector(linalg.null_space(a)), (W,)),
        (lambda a, b: linalg.subspace_angles(a, b), (T[:, :2], real(5, 2))),
        (lambda a, b: linalg.orthogonal_procrustes(a, b), (T, real(5, 3))),
        (lambda a, c: linalg.qr_multiply(a, c), (T, real(2, 5))),
        (lambda a, c: linalg.qr_multiply(a, c, "left"), (T, real(3))),
        (lambda a, c: linalg.qr_multiply(a, c, "right", True, True)[0], (TZ, compl(2, 4))),
        (lambda a: linalg.qr(a, mode="r")[0], (A,)),
        (lambda a: linalg.matrix_balance(a)[0], (A,)),
    ],
)
def test_engine(f, xs, check_modes):
    check_modes(f, *xs)


@pytest.mark.parametrize("option", [{}, {"rng": 5}, {"seed": 5}])
def test_sketches(option, check_modes):
    check_modes(lambda a: linalg.clarkson_woodruff_transform(a, 3, **option or {"rng": 1}), T)
    check_modes(lambda a: linalg.clarkson_woodruff_transform(a, 3, 5), T)
    value = autodiff.value_and_gradient(
        lambda a: np.sum(linalg.clarkson_woodruff_transform(a, 3, 5)), T
    )[0]
    assert value == np.sum(linalg.clarkson_woodruff_transform(T, 3, 5))


EQUAL = [2 * np.eye(3), np.eye(4)[:, [2, 0]], np.eye(3)[:2]]


# SciPy 1.15 has no polar factors of stacks.
STACKS = [np.stack([A, A.T])] if hasattr(linalg.polar, "__wrapped__") else []


@pytest.mark.parametrize("a", [A, T, W, TZ, WZ, *STACKS, *EQUAL])
def test_unitary(a, check_case):
    check_case(unitary, (a,), {}, np.ndim(a) == 2)


@pytest.mark.parametrize("a", [A, T, W, TZ, *EQUAL])
@pytest.mark.parametrize("side", ["right", "left"])
def test_polar_factors_of_equal_singular_values(a, side, check_modes):
    check_modes(lambda a: linalg.polar(a, side), a)


@pytest.mark.parametrize("f", [linalg.solve_sylvester])
def test_no_solution_is_an_error(f):
    turn = np.array([[1.0, -2.0], [2.0, 1.3]])
    with pytest.raises(ValueError, match="all of them as complex"):
        autodiff.gradient(lambda q: np.sum(np.abs(f(np.eye(2) * (1 + 1j), turn, q))), np.eye(2))


@pytest.mark.parametrize(
    "f",
    [
        lambda a: linalg.cossin(a, 1, 1)[1],
        lambda a: linalg.blas.dgemm(1.0, a, a),
        lambda a: linalg.lapack.dgetrf(a)[0],
        lambda a: linalg.get_lapack_funcs(("getrf",), (A,))[0](a)[0],
    ],
)
def test_refused(f):
    with pytest.raises(RefusedError, match=r"Use|Call|call"):
        autodiff.gradient(lambda a: np.sum(f(a)), A)


def test_all_bare_routines_are_refused():
    for module in (linalg.blas, linalg.lapack):
        routines = [f for f in vars(module).values() if type(f).__name__ == "fortran"]
        assert len(routines) > 100
        for table in (rrule, frule):
            found = [type(rule) for f in routines for rule in table.entry(f).rules]
            assert found.count(RefusedRule) >= len({id(f) for f in routines})


def test_interpolative_is_refused():
    from scipy.linalg import interpolative

    with pytest.raises(RefusedError, match="random numbers"):
        autodiff.gradient(lambda a: np.sum(interpolative.interp_decomp(a, 2)[1]), A)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: linalg.qr(a, mode="raw")[0][0],
        lambda a: linalg.eigvals(a, homogeneous_eigvals=True).real,
        lambda a: linalg.schur(a + 1j * A)[1].real,
    ],
)
def test_missing(f):
    with pytest.raises(NotImplementedTangentError):
        autodiff.gradient(lambda a: np.sum(f(a)), A)


@pytest.mark.parametrize("f", [linalg.qr, linalg.rq])
def test_dependent_columns(f):
    with pytest.raises(NotImplementedTangentError, match="dependent"):
        autodiff.gradient(lambda a: np.sum(f(a)[0]), np.ones((3, 3)))


@pytest.mark.parametrize("f", [linalg.bandwidth, linalg.issymmetric, linalg.ishermitian])
def test_constant(f):
    assert np.all(autodiff.gradient(lambda a: np.sum(a) + np.sum(f(a)), A) == 1.0)
