"""Sparse arrays, and the linear algebra and graphs of scipy.sparse."""

import itertools

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spl

from autodiff import gradient, ignore_derivatives
from chainrules.refused import RefusedError
from tools.errors.entries import entry

# -- arrays and matrices ---------------------------------------------------------------------------


@entry("A sparse matrix whose result is a np.matrix", RefusedError)
def result_is_a_matrix() -> None:
    gradient(lambda a: np.sum(a.sum(axis=0)), sp.csr_matrix([[1.0, 2.0], [0.0, 3.0]]))


@result_is_a_matrix.instead("Use a sparse array")
def sum_of_a_sparse_array() -> None:
    g = gradient(lambda a: a.sum(axis=0)[1], sp.csr_array([[1.0, 2.0], [0.0, 3.0]]))
    assert np.allclose(g.toarray(), [[0.0, 1.0], [0.0, 1.0]])


@entry("A sparse matrix made dense by todense", RefusedError)
def dense_as_a_matrix() -> None:
    gradient(lambda a: np.sum(a.todense()), sp.csr_matrix([[1.0, 2.0], [0.0, 3.0]]))


@dense_as_a_matrix.instead("Use toarray")
def dense_as_an_array() -> None:
    gradient(lambda a: np.sum(a.toarray()), sp.csr_matrix([[1.0, 2.0], [0.0, 3.0]]))


@entry("A sparse matrix indexed by lists of rows and columns", RefusedError)
def matrix_indexed_by_lists() -> None:
    gradient(lambda a: np.sum(a[[0, 1], [1, 1]]), sp.csr_matrix([[1.0, 2.0], [0.0, 3.0]]))


@matrix_indexed_by_lists.instead("Use a sparse array")
def array_indexed_by_lists() -> None:
    gradient(lambda a: np.sum(a[[0, 1], [1, 1]]), sp.csr_array([[1.0, 2.0], [0.0, 3.0]]))


@entry("A sparse matrix plus an array", RefusedError)
def matrix_plus_an_array() -> None:
    gradient(lambda a: np.sum(a + np.ones((2, 2))), sp.csr_matrix([[1.0, 2.0], [0.0, 3.0]]))


@matrix_plus_an_array.instead("Use a sparse array")
def sparse_array_plus_an_array() -> None:
    gradient(lambda a: np.sum(a + np.ones((2, 2))), sp.csr_array([[1.0, 2.0], [0.0, 3.0]]))


@entry("The extrema of the stored entries of each row", RefusedError)
def extrema_of_stored_entries() -> None:
    a = sp.csr_array([[1.0, 2.0], [0.0, 3.0]])
    gradient(lambda a: np.sum(a.max(axis=1, explicit=True).toarray()), a)


@extrema_of_stored_entries.instead("Take the extremum of each row's data")
def extrema_of_the_data() -> None:
    def f(a):
        ends = a.indptr
        return sum(np.max(a.data[i:j]) for i, j in itertools.pairwise(ends))

    g = gradient(f, sp.csr_array([[1.0, 2.0], [0.0, 3.0]]))
    assert np.allclose(g.toarray(), [[0.0, 1.0], [0.0, 1.0]])


@entry("The product of a sparse array and an array of three axes", RefusedError)
def product_of_three_axes() -> None:
    a = sp.csr_array([[1.0, 2.0], [0.0, 3.0]])
    gradient(lambda a: np.sum(a @ np.ones((4, 2, 2))), a)


@product_of_three_axes.instead("Multiply matrix by matrix")
def products_of_two_axes() -> None:
    a = sp.csr_array([[1.0, 2.0], [0.0, 3.0]])
    gradient(lambda a: sum(np.sum(a @ b) for b in np.ones((4, 2, 2))), a)


# -- solvers ---------------------------------------------------------------------------------------


@entry("An iterative solver that has not converged", RefusedError)
def iterative_solver_stopped() -> None:
    a = sp.csr_array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    gradient(lambda b: spl.cg(a, b, maxiter=1)[0][0], np.array([1.0, 2.0, 3.0]))


@iterative_solver_stopped.instead("Give a larger maxiter")
def iterative_solver_converged() -> None:
    a = sp.csr_array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    g = gradient(lambda b: spl.cg(a, b, rtol=1e-12)[0][0], np.array([1.0, 2.0, 3.0]))
    assert np.allclose(g, np.linalg.inv(a.toarray())[0])


@iterative_solver_stopped.instead("Use spsolve")
def direct_solver() -> None:
    a = sp.csc_array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    g = gradient(lambda b: spl.spsolve(a, b)[0], np.array([1.0, 2.0, 3.0]))
    assert np.allclose(g, np.linalg.inv(a.toarray())[0])


@entry("Least squares with a matrix that lacks full rank", RefusedError)
def least_squares_without_full_rank() -> None:
    a = sp.csr_array([[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    gradient(lambda b: spl.lsqr(a, b)[0][0], np.array([1.0, 2.0, 3.0]))


@least_squares_without_full_rank.instead("Leave out columns until the others are independent")
def least_squares_with_full_rank() -> None:
    a = sp.csr_array([[1.0], [1.0], [2.0]])
    g = gradient(lambda b: spl.lsqr(a, b)[0][0], np.array([1.0, 2.0, 3.0]))
    assert np.allclose(g, np.array([1.0, 1.0, 2.0]) / 6)


@entry("A norm that lsqr estimates", RefusedError)
def estimate_of_lsqr() -> None:
    a = sp.csr_array([[1.0, 0.0], [1.0, 1.0], [2.0, 3.0]])
    gradient(lambda b: spl.lsqr(a, b)[7] * 1.0, np.array([1.0, 2.0, 4.0]))


@estimate_of_lsqr.instead("Compute it from A, b and x")
def norm_of_the_gradient() -> None:
    a = sp.csr_array([[1.0, 0.0], [1.0, 1.0], [2.0, 3.0]])

    def f(b):
        x = spl.lsqr(a, b, damp=0.5)[0]
        return np.linalg.norm(a.T @ (a @ x - b))

    gradient(f, np.array([1.0, 2.0, 4.0]))


@entry("An incomplete factorisation", RefusedError)
def incomplete_factorisation() -> None:
    b = np.array([1.0, 2.0])
    gradient(lambda a: np.sum(spl.spilu(a).solve(b)), sp.csc_array([[4.0, 1.0], [1.0, 3.0]]))


@incomplete_factorisation.instead("Use splu")
def complete_factorisation() -> None:
    b = np.array([1.0, 2.0])
    gradient(lambda a: np.sum(spl.splu(a).solve(b)), sp.csc_array([[4.0, 1.0], [1.0, 3.0]]))


@incomplete_factorisation.instead("As a preconditioner, make it of a constant")
def constant_preconditioner() -> None:
    def f(a):
        made = spl.spilu(ignore_derivatives(a))
        preconditioner = spl.LinearOperator((2, 2), made.solve)
        return np.sum(spl.cg(a, np.array([1.0, 2.0]), M=preconditioner, rtol=1e-12)[0])

    gradient(f, sp.csc_array([[4.0, 1.0], [1.0, 3.0]]))


# -- eigenvalues -----------------------------------------------------------------------------------


@entry("Equal eigenvalues of a sparse array", RefusedError)
def equal_eigenvalues() -> None:
    a = sp.diags_array([2.0, 2.0, 1.0, 0.5])
    gradient(lambda a: spl.eigsh(a, k=2, v0=np.ones(4))[0][0], sp.csr_array(a))


@equal_eigenvalues.instead("Differentiate a function that does not tell them apart")
def trace_of_a_sparse_array() -> None:
    a = sp.diags_array([2.0, 2.0, 1.0, 0.5])
    gradient(lambda a: a.trace(), sp.csr_array(a))


@entry("Eigenvalues that an iteration has not reached", RefusedError)
def unconverged_eigenvalues() -> None:
    a = sp.diags_array(np.arange(1.0, 31.0)) + sp.eye_array(30, k=1) + sp.eye_array(30, k=-1)
    start = np.cos(np.arange(60.0)).reshape(30, 2)
    gradient(lambda a: spl.lobpcg(a, start, maxiter=2)[0][0], sp.csr_array(a))


@unconverged_eigenvalues.instead("Give a larger maxiter")
def converged_eigenvalues() -> None:
    a = sp.diags_array(np.arange(1.0, 31.0)) + sp.eye_array(30, k=1) + sp.eye_array(30, k=-1)
    start = np.cos(np.arange(60.0)).reshape(30, 2)
    gradient(lambda a: spl.lobpcg(a, start, maxiter=200)[0][0], sp.csr_array(a))


@entry("A singular value of zero", RefusedError)
def zero_singular_value() -> None:
    a = sp.csr_array(np.outer(np.arange(1.0, 5.0), np.ones(3)))
    gradient(lambda a: spl.svds(a, k=2, v0=np.arange(1.0, 4.0))[1][1], a)


@zero_singular_value.instead("Ask for fewer singular values")
def positive_singular_values() -> None:
    a = sp.csr_array(np.outer(np.arange(1.0, 5.0), np.ones(3)))
    g = gradient(lambda a: spl.svds(a, k=1, v0=np.ones(3))[1][0], a)
    assert np.allclose(g.toarray() ** 2 * 90, np.arange(1.0, 5.0)[:, None] ** 2)


@entry("lobpcg with constraints", RefusedError)
def lobpcg_with_constraints() -> None:
    a = sp.csr_array(np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    start, fixed = np.ones((6, 1)), np.eye(6)[:, 5:]
    gradient(lambda a: spl.lobpcg(a, start, Y=fixed)[0][0], a)


@lobpcg_with_constraints.instead("Ask for more pairs, and choose among them")
def pair_chosen() -> None:
    a = sp.csr_array(np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    g = gradient(lambda a: spl.eigsh(a, k=2, which="LA", v0=np.ones(6))[0][0], a)
    assert np.allclose(g.toarray(), np.diag(np.eye(6)[4]))


@entry("lobpcg of a function", RefusedError)
def lobpcg_of_a_function() -> None:
    def f(d):
        return spl.lobpcg(lambda x: d[:, None] * x, np.ones((6, 1)), maxiter=100)[0][0]

    gradient(f, np.arange(1.0, 7.0))


@lobpcg_of_a_function.instead("Give a matrix")
def lobpcg_of_a_matrix() -> None:
    start = np.ones((6, 1))

    def f(d):
        return spl.lobpcg(sp.diags_array(d), start, maxiter=100, tol=1e-9)[0][0]

    assert np.allclose(gradient(f, np.arange(1.0, 7.0)), np.eye(6)[5], atol=1e-6)
