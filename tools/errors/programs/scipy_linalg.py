"""Factorisations of scipy.linalg that have no derivative, or no rule."""

import numpy as np
from scipy import linalg

from autodiff import gradient
from chainrules.refused import RefusedError
from chainrules_core import NotImplementedTangentError
from tools.errors.entries import entry


@entry("A QR factor of which the matrix determines only some columns", RefusedError)
def free_columns_of_q() -> None:
    a = np.array([[2.0, 1.0], [1.0, 3.0], [0.0, 1.0], [1.0, 1.0]])

    def f(a):
        q, _ = linalg.qr_update(*linalg.qr(a), a[:, 0], np.array([1.0, 0.5]))
        return q[0, 0]

    gradient(f, a)


@free_columns_of_q.instead("Call qr for the changed matrix, with mode='economic'")
def qr_of_the_changed_matrix() -> None:
    a = np.array([[2.0, 1.0], [1.0, 3.0], [0.0, 1.0], [1.0, 1.0]])

    def f(a):
        changed = a + np.outer(a[:, 0], np.array([1.0, 0.5]))
        return linalg.qr(changed, mode="economic")[0][0, 0]

    gradient(f, a)


@entry("An update of economic QR factors", RefusedError)
def update_of_economic_factors() -> None:
    q, r = linalg.qr(np.array([[2.0, 1.0], [1.0, 3.0], [0.0, 1.0]]), mode="economic")
    gradient(lambda r: linalg.qr_delete(q, r, 0, which="col")[1][0, 0], r)


@update_of_economic_factors.instead("Call qr for the changed matrix")
def qr_without_the_column() -> None:
    q, r = linalg.qr(np.array([[2.0, 1.0], [1.0, 3.0], [0.0, 1.0]]), mode="economic")
    gradient(lambda r: linalg.qr((q @ r)[:, 1:], mode="economic")[1][0, 0], r)


@entry("A decomposition of a unitary matrix", RefusedError)
def decomposition_of_a_unitary_matrix() -> None:
    c, s = np.cos(0.3), np.sin(0.3)
    gradient(lambda u: linalg.cossin(u, 1, 1)[1][0, 0], np.array([[c, -s], [s, c]]))


@decomposition_of_a_unitary_matrix.instead("Take the singular values of a block")
def singular_values_of_a_block() -> None:
    c, s = np.cos(0.3), np.sin(0.3)
    g = gradient(lambda u: linalg.svdvals(u[:1, :1])[0], np.array([[c, -s], [s, c]]))
    assert np.allclose(g, [[1.0, 0.0], [0.0, 0.0]])


@entry("The scales of alpha and beta of ordqz", NotImplementedTangentError)
def scales_of_ordqz() -> None:
    b = np.array([[2.0, 0.0], [1.0, 1.0]])
    gradient(lambda a: np.sum(linalg.ordqz(a, b)[3]), np.array([[1.0, 5.0], [-5.0, 2.0]]))


@scales_of_ordqz.instead("Take the complex form")
def complex_form_of_ordqz() -> None:
    b = np.array([[2.0, 0.0], [1.0, 1.0]])

    def f(a):
        _, _, alpha, beta, _, _ = linalg.ordqz(a, b, output="complex")
        return np.sum(np.real(alpha / beta))

    assert np.allclose(gradient(f, np.array([[1.0, 5.0], [-5.0, 2.0]])), linalg.inv(b).T)


@entry("A routine of BLAS or LAPACK", RefusedError)
def routine_of_blas() -> None:
    gradient(lambda a: np.sum(linalg.blas.dgemm(1.0, a, a)), np.eye(2))


@routine_of_blas.instead("Use the function of NumPy that is made of it")
def matrix_product() -> None:
    assert np.allclose(gradient(lambda a: np.sum(a @ a), np.eye(2)), 2.0)


@entry("scipy.linalg.interpolative", RefusedError)
def interpolative_decomposition() -> None:
    from scipy.linalg import interpolative

    a = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.5, 1.0, 4.0]])
    gradient(lambda a: np.sum(interpolative.interp_decomp(a, 2, rng=1)[1]), a)


@interpolative_decomposition.instead("Use svd")
def truncated_svd() -> None:
    a = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.5, 1.0, 4.0]])
    gradient(lambda a: np.sum(linalg.svd(a)[1][:2]), a)
