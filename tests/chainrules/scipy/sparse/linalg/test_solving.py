"""Direct and iterative solvers, least squares, eigenvalues and functions of sparse matrices."""

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse as sp
import scipy.sparse.linalg as spl

import autodiff
from chainrules.refused import RefusedError
from chainrules.scipy.sparse.linalg.solving import Solver, solved
from chainrules.scipy.sparse.products import Pattern
from chainrules_core import NotImplementedTangentError
from chainrules_core.testing import check_rule

B = np.array([1.0, -2.0, 0.5, 3.0])
C = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, -1.0], [0.5, 0.2]])
ONES = np.ones(4)
TIGHT = {"atol": 1e-14, "btol": 1e-14}
M = sp.diags_array([1.0, 2.0, 3.0, 4.0]).tocsc()


def tall(a):
    return sp.vstack([a, a * 0.3 + sp.eye_array(4)])


def dense_factors(a, **options):
    lu = spl.splu(a.tocsc(), **options)
    return lu.L.toarray(), lu.U.toarray()


CASES = {
    "spsolve": lambda a: spl.spsolve(a, B),
    "spsolve matrix": lambda a: spl.spsolve(a, C),
    "spsolve column": lambda a: spl.spsolve(a, C[:, :1]),
    "spsolve sparse": lambda a: spl.spsolve(a, sp.csc_array(C)),
    "spsolve options": lambda a: spl.spsolve(a, B, permc_spec="NATURAL", use_umfpack=False),
    "spsolve both": lambda a: spl.spsolve(a, a.T @ B),
    "splu": lambda a: spl.splu(a.tocsc()).solve(B),
    "splu T": lambda a: spl.splu(a.tocsc()).solve(C, "T"),
    "splu H": lambda a: spl.splu(a.tocsc()).solve(B, trans="H"),
    "splu factors": lambda a: dense_factors(a),
    "splu factors by columns": lambda a: dense_factors(a, permc_spec="COLAMD"),
    "splu determinant": lambda a: np.log(np.abs(spl.splu(a.tocsc()).U.diagonal())),
    "factorized": lambda a: spl.factorized(a.tocsc())(B),
    "lower": lambda a: spl.spsolve_triangular(sp.tril(a, format="csr"), B),
    "upper": lambda a: spl.spsolve_triangular(sp.triu(a, format="csc"), C, lower=False),
    "unit": lambda a: spl.spsolve_triangular(sp.tril(a, format="csr"), B, unit_diagonal=True),
    "inv": lambda a: spl.inv(a.tocsc()),
    "lsqr": lambda a: spl.lsqr(a, B, **TIGHT)[0],
    "lsqr damp": lambda a: spl.lsqr(a, B, 0.5, **TIGHT)[0],
    "lsqr tall": lambda a: spl.lsqr(tall(a), np.concatenate([B, B * 2]), **TIGHT)[0],
    "lsqr residual": lambda a: spl.lsqr(tall(a), np.concatenate([B, B * 2]), **TIGHT)[3],
    "lsqr wide": lambda a: spl.lsqr(a[:2], B[:2], **TIGHT)[0],
    "lsqr x0": lambda a: spl.lsqr(a, B, x0=ONES, **TIGHT)[0],
    "lsmr": lambda a: spl.lsmr(a, B, **TIGHT)[0],
    "lsmr damp": lambda a: spl.lsmr(a, B, damp=0.3, **TIGHT)[0],
    "svds": lambda a: spl.svds(a, k=2, v0=ONES, tol=1e-14)[1],
    "svds vectors": lambda a: [np.abs(p) for p in spl.svds(a, k=2, v0=ONES, tol=1e-14)],
    "eigs": lambda a: np.abs(spl.eigs(a, k=1, v0=ONES, return_eigenvectors=False, tol=1e-14)),
    "eigs vectors": lambda a: np.abs(spl.eigs(a, k=1, v0=ONES, tol=1e-14)[1]),
    "expm": lambda a: spl.expm(a.tocsc() * 0.3),
    "expm_multiply": lambda a: spl.expm_multiply(a * 0.3, B),
    "expm_multiply times": lambda a: spl.expm_multiply(a * 0.3, C, start=0.0, stop=1.0, num=3),
    "funm_multiply_krylov": lambda a: krylov(a),
    "matrix_power": lambda a: spl.matrix_power(a, 3),
    "norm": lambda a: spl.norm(a),
    "norm 1": lambda a: spl.norm(a, 1),
    "norm -inf": lambda a: spl.norm(a, -np.inf),
    "norm inf": lambda a: spl.norm(a, np.inf),
    "norm 2": lambda a: spl.norm(a, 2),
    "norm rows": lambda a: spl.norm(a, axis=1),
    "norm columns 1": lambda a: spl.norm(a, ord=1, axis=0),
    "norm columns inf": lambda a: spl.norm(a, ord=np.inf, axis=0),
    "onenormest": lambda a: spl.onenormest(a),
    "aslinearoperator": lambda a: spl.aslinearoperator(a) @ B,
    "rmatvec": lambda a: spl.aslinearoperator(a).rmatvec(B),
    "matmat": lambda a: spl.aslinearoperator(a).matmat(C),
    "adjoint operator": lambda a: spl.aslinearoperator(a).H @ B,
    "operator arithmetic": lambda a: (spl.aslinearoperator(a) * 2.0 + spl.aslinearoperator(M)) @ B,
    "operator of a function": lambda a: operator(a).matvec(B),
    "operator by a matrix": lambda a: operator(a) @ np.eye(4),
    "solver with an operator": lambda a: spl.gmres(operator(a), B, rtol=1e-13)[0],
    "solver with an adjoint": lambda a: spl.gmres(spl.aslinearoperator(a).H, B, rtol=1e-13)[0],
    "solver with a transpose": lambda a: spl.gmres(spl.aslinearoperator(a).T, B, rtol=1e-13)[0],
    "adjoint of an adjoint": lambda a: spl.gmres(spl.aslinearoperator(a).H.H, B, rtol=1e-13)[0],
    "lsqr with an operator": lambda a: spl.lsqr(spl.aslinearoperator(a), B, **TIGHT)[0],
    "preconditioned": lambda a: spl.gmres(a, B, rtol=1e-13, M=sp.diags_array(1 / a.diagonal()))[0],
    "callback": lambda a: spl.bicgstab(a, B, rtol=1e-13, callback=lambda x: None)[0],
    **{
        name: (lambda a, name=name: getattr(spl, name)(a, B, rtol=1e-13, atol=0.0)[0])
        for name in ("bicg", "bicgstab", "cgs", "gmres", "lgmres", "qmr", "tfqmr", "gcrotmk")
    },
}  # fmt: skip
TWICE = (
    "spsolve", "splu H", "lower", "inv", "gmres", "lsqr", "svds vectors", "expm_multiply", "norm",
    "operator of a function",
)  # fmt: skip
SYMMETRIC = {
    "cg": lambda a: spl.cg(a, B, rtol=1e-13)[0],
    "cg start": lambda a: spl.cg(a, B, ONES, rtol=1e-13)[0],
    "minres": lambda a: spl.minres(a, B, rtol=1e-14)[0],
    "minres shift": lambda a: spl.minres(a, B, rtol=1e-14, shift=0.1)[0],
    "eigsh": lambda a: spl.eigsh(a, k=2, v0=ONES, tol=1e-14)[0],
    "eigsh vectors": lambda a: np.abs(spl.eigsh(a, k=2, v0=ONES, tol=1e-14)[1]),
    "eigsh values": lambda a: spl.eigsh(a, 2, which="SA", v0=ONES, return_eigenvectors=False),
    "eigsh sigma": lambda a: spl.eigsh(a, k=2, sigma=0.5, v0=ONES)[0],
    "eigsh M": lambda a: spl.eigsh(a, k=2, M=M, v0=ONES, tol=1e-14)[0],
    "eigsh M vectors": lambda a: np.abs(spl.eigsh(a, k=2, M=M, v0=ONES, tol=1e-14)[1]),
    "eigsh dense": lambda a: spl.eigsh(a.toarray(), k=1, v0=ONES)[0],
    "lobpcg": lambda a: spl.lobpcg(a, np.eye(4)[:, :1], maxiter=200, tol=1e-12)[0],
}


def operator(a):
    return spl.LinearOperator((4, 4), matvec=lambda x: a @ x, dtype=float)


def krylov(a):
    if not hasattr(spl, "funm_multiply_krylov"):
        return a @ B
    return spl.funm_multiply_krylov(sl.expm, a * 0.3, B)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::scipy.sparse.SparseEfficiencyWarning")
def test_functions_of_a_matrix(check_sparse, filled, entries, name):
    second = name in TWICE
    if name in ("lower", "upper", "unit"):
        try:
            CASES[name](filled(sp.csc_array, entries))
        except TypeError:
            pytest.skip("this SciPy does not solve with indices of 64 bits")
    check_sparse(lambda v: CASES[name](filled(sp.csc_array, v)), entries, second, rtol=1e-5)


@pytest.mark.parametrize("name", ["spsolve", "splu", "gmres", "lsqr", "norm 1", "expm_multiply"])
@pytest.mark.parametrize("cls", [sp.csr_matrix, sp.coo_array, sp.lil_array])
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::scipy.sparse.SparseEfficiencyWarning")
def test_other_formats(check_sparse, filled, entries, cls, name):
    check_sparse(lambda v: CASES[name](filled(cls, v)), entries, False, rtol=1e-5)


@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::scipy.sparse.SparseEfficiencyWarning")
def test_functions_of_a_symmetric_matrix(check_sparse, filled, entries, name):
    def f(v):
        a = filled(sp.csr_array, v) + M
        return SYMMETRIC[name]((a + a.T) * 0.5)

    check_sparse(f, entries, name in ("cg", "eigsh vectors"), rtol=1e-5)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: spl.spsolve(a, b),
        lambda a, b: spl.splu(a).solve(b),
        lambda a, b: spl.splu(a).solve(b, "T"),
        lambda a, b: spl.factorized(a)(b),
        lambda a, b: spl.spilu(a).solve(b),
        lambda a, b: spl.gmres(a, b, rtol=1e-13)[0],
        lambda a, b: spl.lsqr(a, b, **TIGHT)[0],
        lambda a, b: spl.expm_multiply(a, b),
        lambda a, b: spl.spsolve_triangular(sp.tril(a, format="csr"), b),
        lambda a, b: spl.aslinearoperator(a) @ b,
        lambda a, b: operator(a).matvec(b),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_right_hand_side(check_sparse, matrix, f):
    a = sp.csc_array(matrix)
    check_sparse(lambda b: f(a, b), B, rtol=1e-5)


def test_complex_systems(matrix):
    a = sp.csc_array(matrix * (1 + 0.5j))
    bar = autodiff.gradient(lambda a: np.sum(np.abs(spl.spsolve(a, B)) ** 2), a)
    x = np.linalg.solve(a.toarray(), B)
    expected = -2 * np.outer(np.linalg.solve(a.toarray().conj().T, x), x.conj())
    np.testing.assert_allclose(bar.toarray()[matrix != 0], expected[matrix != 0])


def refused_cases(a):
    return {
        "spilu": lambda: spl.spilu(a).solve(B),
        "not converged": lambda: spl.cg(a + a.T, B, maxiter=1)[0],
        "an estimate": lambda: np.add(spl.lsqr(a, B)[5], 1.0),
        "equal eigenvalues": lambda: spl.eigsh(a * 0.0 + sp.eye_array(4), k=2)[0],
        "constraints": lambda: spl.lobpcg(a + a.T, C, Y=np.eye(4)[:, :1])[0],
    }


@pytest.mark.parametrize("name", list(refused_cases(None)))
@pytest.mark.filterwarnings("ignore")
def test_refused(matrix, name):
    def f(a):
        return np.sum(refused_cases(a)[name]())

    with pytest.raises(RefusedError):
        autodiff.gradient(f, sp.csc_array(matrix))


@pytest.mark.parametrize("name", ["lsqr", "lsmr"])
def test_least_squares_without_full_rank_are_refused(name):
    a = sp.csr_array(np.ones((3, 2)))
    with pytest.raises(RefusedError, match=f"{name}.*Leave out columns"):
        autodiff.gradient(lambda b: getattr(spl, name)(a, b)[0][0], B[:3])


def test_singular_matrices_are_an_error():
    with pytest.raises(RuntimeError, match="singular"):
        autodiff.gradient(lambda a: np.sum(spl.spsolve(a, B[:2])), sp.csc_array(np.ones((2, 2))))


@pytest.mark.parametrize("trans", ["N", "T", "H"])
@pytest.mark.parametrize("factor", [1.0, 1.0 + 0.5j])
def test_superlu_rule(matrix, factor, trans):
    lu = spl.splu(sp.csc_array(matrix * factor))
    check_rule(spl.SuperLU.solve, lu, B * factor, trans)


@pytest.mark.parametrize("options", [{}, {"turned": True}])
@pytest.mark.parametrize("factor", [1.0, 1.0 + 0.5j])
@pytest.mark.parametrize("b", [B, C, B * 1j])
def test_solved_rule(matrix, factor, b, options):
    a = sp.csr_array(matrix * factor)
    check_rule(solved, a.data, b, fkwargs={"solver": Solver(Pattern(a)), **options})


def linear(*rows):
    return np.array(rows, float)


# Elements of the inverse that are 0 for these numbers alone, and for all numbers in these places.
CANCELS = linear([1, 1, 0], [1, 1, 1], [0, 1, 1])
NEVER = {
    "triangular": linear([2, 1, 0], [0, 3, 1], [0, 0, 1.5]),
    "no diagonal": linear([0, 2], [3, 0]),
    "blocks": linear([2, 1, 0, 0], [1, 3, 0, 0], [0, 0, 1, 2], [0, 0, 0.5, 4]),
    "blocks in another order": linear([0, 0, 1, 2], [2, 1, 0, 0], [0, 0, 0.5, 4], [1, 3, 0, 0]),
}
DENSE = {
    "inv": (spl.inv, np.linalg.inv),
    "expm": (spl.expm, sl.expm),
    "spsolve": (
        lambda a: spl.spsolve(a, sp.csc_array(np.diag(np.arange(a.shape[0]) + 1.0))),
        lambda a: np.linalg.solve(a, np.diag(np.arange(a.shape[0]) + 1.0)),
    ),
}


def weighed(f, a):
    """A function of the entries of a sparse matrix, and the same of the dense one."""
    places = np.nonzero(a)
    sparse, dense = f
    weights = np.cos(np.arange(a.size)).reshape(a.shape)

    def of_sparse(entries):
        return np.sum(weights * sparse(sp.csc_array((entries, places), shape=a.shape)).toarray())

    def of_dense(entries):
        whole = np.zeros(a.shape)
        whole[places] = entries
        return np.sum(weights * dense(whole))

    return of_sparse, of_dense, a[places]


@pytest.mark.parametrize("f", DENSE)
@pytest.mark.parametrize("a", NEVER)
def test_zeros_of_all_numbers(f, a):
    of_sparse, of_dense, entries = weighed(DENSE[f], NEVER[a])
    steps = 1e-6 * np.eye(len(entries))
    expected = np.array([of_dense(entries + h) - of_dense(entries - h) for h in steps]) / 2e-6
    np.testing.assert_allclose(autodiff.gradient(of_sparse, entries), expected, atol=1e-7)
    _, push = autodiff.pushforward(of_sparse, entries)
    ones = np.ones_like(entries)
    np.testing.assert_allclose(push(ones), expected @ ones, atol=1e-7)


@pytest.mark.parametrize("f", ["inv", "spsolve"])
def test_zeros_of_these_numbers(f):
    of_sparse, of_dense, entries = weighed(DENSE[f], CANCELS)
    assert abs(of_sparse(entries) - of_dense(entries)) < 1e-12
    with pytest.raises(NotImplementedTangentError, match="exactly 0"):
        autodiff.gradient(of_sparse, entries)
    with pytest.raises(NotImplementedTangentError, match="exactly 0"):
        autodiff.jvp(of_sparse, (entries,), (np.cos(entries + np.arange(len(entries))),))


def test_a_zero_of_an_exponential():
    a = linear([0, 2, -1], [0, 0, 1], [0, 0, 0])
    places = np.nonzero(a)

    def f(entries):
        return np.sum(spl.expm(sp.csc_array((entries, places), shape=a.shape)).toarray())

    entries = a[places]
    assert f(entries) == 6.0  # c + b d / 2 is 0 in the corner
    with pytest.raises(NotImplementedTangentError, match="exactly 0"):
        autodiff.gradient(f, entries)


def test_factors_in_which_an_element_happens_to_be_zero():
    """SciPy does not store it, but it changes with the matrix."""
    a = np.array([[4.0, 4.0, 4.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]])

    def upper(a):
        return spl.splu(sp.csc_array(a), permc_spec="NATURAL").U.toarray()[1, 2]

    assert upper(a) == 0.0
    step = np.zeros((3, 3))
    step[1, 2] = 1e-6
    found = autodiff.gradient(upper, a)
    np.testing.assert_allclose(found[1, 2], (upper(a + step) - upper(a - step)) / 2e-6)
